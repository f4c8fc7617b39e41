//! Requests of callers: checked against bounds, and restricted to what their key may see.

use loci_protocol::fault::{Code, Fault};
use locidb::query::filter::{Comparison, FacetValue, Test};
use locidb::{Expr, SearchRequest};

use super::Caller;

/// Hits that may be asked for.
pub(crate) const HITS_MAX: usize = 1_000;
/// Bytes of a question at most.
const QUESTION_LEN_MAX: usize = 64 << 10;
/// Hits that arms may bring.
const CANDIDATES_MAX: usize = 10_000;
/// Tokens of a context at most.
const CONTEXT_TOKENS_MAX: usize = 200_000;
/// What else is counted in a request, at most.
const COUNT_MAX: usize = 1_000;
/// Seeds of a walk at most.
const SEEDS_MAX: usize = 256;

/// The request as it is answered for this caller: restricted to what the caller may see.
///
/// # Errors
/// [`Code::Invalid`] for numbers out of bounds.
pub(super) fn prepare(caller: &Caller, request: SearchRequest) -> Result<SearchRequest, Fault> {
    check(&request)?;
    let request = without_defaults(request);
    let Some(user) = &caller.user else {
        return Ok(request);
    };
    let own = user_filter(user);
    let filter = match request.filter {
        Some(requested) => Expr::And(vec![own, requested]),
        None => own,
    };
    Ok(SearchRequest {
        filter: Some(filter),
        // Steps count what they looked at, which may be other users'.
        explain: false,
        ..request
    })
}

/// The filter that keeps the documents of a user alone.
pub(super) fn user_filter(user: &str) -> Expr {
    Expr::Is(Comparison {
        field: "user_id".into(),
        test: Test::Equal(FacetValue::Text(user.to_owned())),
    })
}

/// A number equal to its default counts as not given, over HTTP as on the wire, where the two are the same bytes.
fn without_defaults(request: SearchRequest) -> SearchRequest {
    let given = |value: Option<usize>, default| value.filter(|value| *value != default);
    SearchRequest {
        hops: given(request.hops, SearchRequest::HOPS),
        neighbours: given(request.neighbours, SearchRequest::NEIGHBOURS),
        query_concepts: given(request.query_concepts, SearchRequest::QUERY_CONCEPTS),
        ..request
    }
}

/// Whether all numbers of a request are within bounds.
///
/// # Errors
/// [`Code::Invalid`] for the first that is not.
pub(super) fn check(request: &SearchRequest) -> Result<(), Fault> {
    let by_level = request.level_limits.iter().map(|(_, limit)| *limit);
    let by_level = by_level.fold(0, usize::saturating_add);
    let (documents, sections, propositions) = request.stages;
    let bounds = [
        ("question: bytes", request.question.len(), QUESTION_LEN_MAX),
        ("k", request.k.max(by_level), HITS_MAX),
        (
            "candidates",
            request.candidates.unwrap_or(0),
            CANDIDATES_MAX,
        ),
        (
            "context_tokens",
            request.context_tokens.unwrap_or(0),
            CONTEXT_TOKENS_MAX,
        ),
        (
            "query_concepts",
            request.query_concepts.unwrap_or(0),
            COUNT_MAX,
        ),
        ("neighbours", request.neighbours.unwrap_or(0), COUNT_MAX),
        ("seeds.hits", request.seeds.hits, COUNT_MAX),
        ("seeds.concepts", request.seeds.concepts.len(), SEEDS_MAX),
        (
            "stages",
            documents.max(sections).max(propositions),
            COUNT_MAX,
        ),
        ("communities", request.communities, COUNT_MAX),
    ];
    for (name, value, most) in bounds {
        if value > most {
            let why = format!("{name}: {value} is more than {most}");
            return Err(Fault::new(Code::Invalid, why));
        }
    }
    if request.k == 0 && request.level_limits.is_empty() {
        return Err(Fault::new(Code::Invalid, "k: give 1 or more"));
    }
    request
        .check()
        .map_err(|error| Fault::new(Code::Invalid, error.to_string()))
}

#[cfg(test)]
mod tests {
    use locidb::storage::records::Level;

    use super::*;

    #[test]
    fn out_of_range_numbers_are_rejected_by_name() {
        let request = || SearchRequest::new("q");
        let wrong = [
            ("k", SearchRequest { k: 0, ..request() }),
            (
                "k",
                SearchRequest {
                    k: 1_001,
                    ..request()
                },
            ),
            (
                "k",
                SearchRequest {
                    level_limits: vec![(Level::Section, usize::MAX), (Level::Sentence, 2)],
                    ..request()
                },
            ),
            (
                "question",
                SearchRequest::new("x".repeat(QUESTION_LEN_MAX + 1)),
            ),
            (
                "candidates",
                SearchRequest {
                    candidates: Some(usize::MAX),
                    ..request()
                },
            ),
            (
                "context_tokens",
                SearchRequest {
                    context_tokens: Some(usize::MAX),
                    ..request()
                },
            ),
            (
                "stages",
                SearchRequest {
                    stages: (1, 2_000, 1),
                    ..request()
                },
            ),
            (
                "diversity",
                SearchRequest {
                    diversity: Some(f32::NAN),
                    ..request()
                },
            ),
        ];
        for (name, request) in wrong {
            let fault = check(&request).unwrap_err();
            assert_eq!(fault.code, Code::Invalid);
            assert!(fault.message.starts_with(name), "{fault}");
        }
        check(&request()).unwrap();
    }

    #[test]
    fn numbers_equal_to_their_defaults_are_left_to_the_settings() {
        let request = SearchRequest {
            hops: Some(SearchRequest::HOPS),
            neighbours: Some(7),
            ..SearchRequest::new("q")
        };
        let left = without_defaults(request);
        assert_eq!((left.hops, left.neighbours), (None, Some(7)));
        assert_eq!(left.query_concepts, None);
    }
}
