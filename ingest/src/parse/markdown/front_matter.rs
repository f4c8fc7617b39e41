//! Front matter: the part of YAML that documents use for it.
//!
//! ```text
//! key: value            value may be quoted
//! key: [one, two]
//! key:
//!   - one
//!   - two
//! ```
//!
//! Whatever else YAML allows is passed over; it never fails.

use crate::tree::ParsedDocument;

/// Fills in what the lines say about the document. A stated title wins over the one it has.
pub(super) fn apply(yaml: &str, document: &mut ParsedDocument) {
    for (key, values) in entries(yaml) {
        match key.to_ascii_lowercase().as_str() {
            "title" => document.title = values.into_iter().next().or(document.title.take()),
            "author" | "authors" => document.authors.extend(values),
            "year" | "date" => {
                let year = values.first().and_then(|value| year(value));
                document.year = document.year.or(year);
                document.metadata.push((key.to_owned(), values.join(", ")));
            }
            _ => document.metadata.push((key.to_owned(), values.join(", "))),
        }
    }
}

/// Keys that have a value, with their values.
fn entries(yaml: &str) -> Vec<(&str, Vec<String>)> {
    let mut entries: Vec<(&str, Vec<String>)> = Vec::new();
    for line in yaml.lines() {
        let trimmed = line.trim();
        if let Some(item) = trimmed.strip_prefix("- ") {
            if let Some((_, values)) = entries.last_mut() {
                values.extend(scalar(item));
            }
        } else if line.starts_with(char::is_alphanumeric)
            && let Some((key, value)) = trimmed.split_once(':')
        {
            entries.push((key.trim(), values(value.trim())));
        }
    }
    entries.retain(|(_, values)| !values.is_empty());
    entries
}

fn values(value: &str) -> Vec<String> {
    match value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
        Some(list) => list.split(',').filter_map(scalar).collect(),
        None => scalar(value).into_iter().collect(),
    }
}

fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    let quoted = ['"', '\''].iter().find_map(|&q| {
        let inner = value.strip_prefix(q)?.strip_suffix(q)?;
        Some(inner)
    });
    let value = quoted.unwrap_or(value).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// The first group of exactly four digits that can be a year: 1400 to 2199.
pub(in crate::parse) fn year(text: &str) -> Option<i32> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|digits| digits.len() == 4)
        .filter_map(|digits| digits.parse().ok())
        .find(|year| (1400..2200).contains(year))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_values_and_lists_are_read() {
        let yaml = "title: \"On Ducks\"\nauthors:\n  - Ann Lee\n  - 'Bo Ek'\ndate: 2021-03-04\n\
                    tags: [a, b]\nempty:\n  nested: 1\n";
        let mut document = ParsedDocument::default();
        apply(yaml, &mut document);
        assert_eq!(document.title.as_deref(), Some("On Ducks"));
        assert_eq!(document.authors, ["Ann Lee", "Bo Ek"]);
        assert_eq!(document.year, Some(2021));
        let metadata = [("date", "2021-03-04"), ("tags", "a, b")];
        assert_eq!(
            document.metadata,
            metadata.map(|(k, v)| (k.to_owned(), v.to_owned()))
        );
    }
}
