//! Options of requests by name: `--set NAME=VALUE`.

use locidb::SearchRequest;
use locidb::query::QueryError;

use crate::UsageError;

/// Parses `NAME=VALUE`, and checks names and values.
pub(super) fn parse(flag: &str, texts: &[String]) -> Result<Vec<(String, String)>, UsageError> {
    let pair = |text: &String| {
        let wrong = |why: String| UsageError(format!("{flag} {text}: {why}"));
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| wrong("give NAME=VALUE".into()))?;
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        if ["question", "vector"].contains(&&name[..]) {
            return Err(wrong("that is the question itself, not an option".into()));
        }
        let with = SearchRequest::default().with(&name, &value);
        with.map_err(|error| wrong(error.to_string()))?;
        Ok((name, value))
    };
    texts.iter().map(pair).collect()
}

/// `request` with these options changed, in their order.
pub(super) fn apply(
    request: &SearchRequest,
    options: &[(String, String)],
) -> Result<SearchRequest, QueryError> {
    options
        .iter()
        .try_fold(request.clone(), |request, (name, value)| {
            Ok(request.with(name, value)?)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_checked_before_anything_is_asked() {
        let given = ["k=3".to_owned(), "filter = year >= 1990".to_owned()];
        let options = parse("--set", &given).unwrap();
        let request = apply(&SearchRequest::new("q"), &options).unwrap();
        assert_eq!(request.k, 3);
        assert_eq!(request.filter.unwrap().to_string(), "year >= 1990");
        for (wrong, says) in [
            ("k", "NAME=VALUE"),
            ("kk=1", "no such option"),
            ("k=many", "k: "),
            ("question=x", "not an option"),
        ] {
            let error = parse("--set", &[wrong.to_owned()]).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains(wrong), "{error}");
        }
    }
}
