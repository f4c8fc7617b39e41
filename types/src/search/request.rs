//! A request: the question and how to answer it.
//!
//! A request is plain data: it is stored and sent as JSON, and any one of its options is changed by name
//! ([`SearchRequest::with`]), which is how two ways to answer are compared.
//!
//! Start reading at [`SearchRequest`].

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::as_text::{optional, whole};
use super::effort::Effort;
use super::fusion::Fusion;
use super::intent::Intent;
use super::options::{Climb, OptionError, Rerank, Seeds, Strategy, Walk};
use crate::filter::Expr;
use crate::records::Level;

/// A question and how to answer it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRequest {
    /// The question, in words.
    pub question: String,
    /// Its vector in the store's active space; `None` leaves the vector arm out.
    pub vector: Option<Vec<f32>>,
    /// How many hits to return at most, where levels have no limits of their own.
    pub k: usize,
    /// How many hits of a level to return at most, each level once. Not empty: only these levels are searched.
    pub level_limits: Vec<(Level, usize)>,
    /// Levels to search; empty for those that suit the question, which are passages (the leaves of the
    /// chunk trees) unless the strategy is `auto`.
    pub levels: Vec<Level>,
    /// Which arms answer.
    pub strategy: Strategy,
    /// Which chunks may be hits.
    #[serde(with = "optional")]
    pub filter: Option<Expr>,
    /// What kind of chunk the question asks for; `None`: detected from its words.
    pub intent: Option<Intent>,
    /// Tokens of the assembled context at most; `None` assembles none.
    pub context_tokens: Option<usize>,
    /// What hits are returned with: their parents, or whole documents.
    pub climb: Climb,
    /// How the arms become one list; `None`: the setting of the store.
    pub fusion: Option<Fusion>,
    /// Hits of each arm; `None`: 100, or twice `k` where that is more.
    pub candidates: Option<usize>,
    /// Where the graph arm starts.
    pub seeds: Seeds,
    /// How it walks from there.
    pub walk: Walk,
    /// Concepts recognised in the question at most; `None`: the setting of the store.
    pub query_concepts: Option<usize>,
    /// How near a concept's vector must be to the question's to be one of them, from -1 on; none is beyond 1.
    pub concept_similarity_min: f32,
    /// Hops of a walk from them, 1 to 3; `None`: the setting of the store.
    pub hops: Option<usize>,
    /// Concepts that the walk returns at most; `None`: the setting of the store.
    pub neighbours: Option<usize>,
    /// What moves hits after fusion.
    pub rerank: Rerank,
    /// How much being unlike the hits before it counts for a hit, 0..=1: maximal marginal relevance. `None`
    /// and 0 leave hits as they are ranked.
    pub diversity: Option<f32>,
    /// Documents, sections and propositions that the stages of [`Strategy::Staged`] select.
    pub stages: (usize, usize, usize),
    /// Communities whose digests are returned beside the hits; those that answer, 5 by default, for
    /// [`Strategy::Global`].
    pub communities: usize,
    /// Whether the answer is to be put in words: then the three best communities of the question's concepts are
    /// returned unless `communities` is set. `Database::ask` sets it.
    pub answer: bool,
    /// Whether an answer in words comes with a critique: how well the hits cover the question, and what they lack.
    pub critic: bool,
    /// Whether the answer names concepts: those of the question, the relations among those that the graph
    /// reached, and the path from the question to each hit. They are read for nothing else.
    pub concepts: bool,
    /// Whether the question is written in the language of text questions (phrases, fields, wildcards), for
    /// [`Strategy::Text`]; else, and for other strategies, all signs in it are text.
    pub syntax: bool,
    /// Whether hits have the characters that match the question.
    pub highlights: bool,
    /// How much of large segments vector search compares.
    #[serde(with = "whole")]
    pub effort: Effort,
    /// Whether the answer has what each operator did.
    pub explain: bool,
}

impl Default for SearchRequest {
    fn default() -> SearchRequest {
        SearchRequest::new("")
    }
}

impl SearchRequest {
    /// [`SearchRequest::hops`] where neither the request nor the store sets it.
    pub const HOPS: usize = 2;
    /// [`SearchRequest::neighbours`] where neither the request nor the store sets it.
    pub const NEIGHBOURS: usize = 20;
    /// [`SearchRequest::query_concepts`] where neither the request nor the store sets it.
    pub const QUERY_CONCEPTS: usize = 10;

    /// The ten best passages for `question`, by all arms.
    pub fn new(question: impl Into<String>) -> SearchRequest {
        SearchRequest {
            question: question.into(),
            vector: None,
            k: 10,
            level_limits: Vec::new(),
            levels: Vec::new(),
            strategy: Strategy::Auto,
            filter: None,
            intent: None,
            context_tokens: None,
            climb: Climb::default(),
            fusion: None,
            candidates: None,
            seeds: Seeds::default(),
            walk: Walk::default(),
            query_concepts: None,
            concept_similarity_min: 0.3,
            hops: None,
            neighbours: None,
            rerank: Rerank::default(),
            diversity: None,
            stages: (10, 20, 30),
            communities: 0,
            answer: false,
            concepts: true,
            critic: false,
            syntax: false,
            highlights: false,
            effort: Effort::default(),
            explain: false,
        }
    }

    /// This request with one option changed. `name`: as the fields are called, with a point for what is
    /// within (`rerank.types`, `fusion.vector_share`). `value`: JSON, or a bare word for a string.
    ///
    /// # Errors
    /// [`OptionError`] for an unknown name, or a value that the option does not take.
    pub fn with(&self, name: &str, value: &str) -> Result<SearchRequest, OptionError> {
        let wrong = |why: String| OptionError(format!("{name}: {why}"));
        let mut whole = serde_json::to_value(self).map_err(|why| wrong(why.to_string()))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.into()));
        if name.starts_with("fusion.") && whole["fusion"].is_null() {
            whole["fusion"] = serde_json::to_value(Fusion::default()).unwrap_or_default();
        }
        let mut place = &mut whole;
        for part in name.split('.') {
            let known: Vec<String> = match &*place {
                Value::Object(map) => map.keys().cloned().collect(),
                _ => Vec::new(),
            };
            place = place
                .get_mut(part)
                .ok_or_else(|| wrong(format!("no such option; there are {}", known.join(", "))))?;
        }
        *place = value;
        let changed: SearchRequest =
            serde_json::from_value(whole).map_err(|why| wrong(why.to_string()))?;
        changed.check()?;
        Ok(changed)
    }

    /// Whether every number is within the bounds of its field.
    ///
    /// # Errors
    /// [`OptionError`] for the first that does not.
    pub fn check(&self) -> Result<(), OptionError> {
        let Rerank {
            types: _,
            confidence,
            citations,
            cited,
        } = self.rerank;
        let wrong = |why: String| Err(OptionError(why));
        let least = self.concept_similarity_min;
        if least.is_nan() || least < -1.0 {
            return wrong(format!("concept_similarity_min: {least} is not from -1 on"));
        }
        for (name, value) in [
            ("diversity", self.diversity.unwrap_or(0.0)),
            ("rerank.confidence", confidence),
            ("rerank.citations", citations),
            ("rerank.cited", cited),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return wrong(format!("{name}: {value} is not between 0 and 1"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_is_changed_by_name() {
        let request = SearchRequest::new("q");
        let changed = [
            ("k", "3"),
            ("hops", "2"),
            ("strategy", "graph"),
            ("filter", "page = 3"),
            ("effort", "recall=0.9"),
            ("levels", "[\"section\"]"),
            ("rerank.types", "false"),
            ("fusion.vector_share", "0.25"),
            ("seeds.hits", "5"),
            ("diversity", "0.3"),
        ];
        let changed = changed.iter().fold(request, |request, (name, value)| {
            request.with(name, value).unwrap()
        });
        assert_eq!((changed.k, changed.hops), (3, Some(2)));
        assert_eq!(changed.strategy, Strategy::Graph);
        assert_eq!(changed.filter.unwrap().to_string(), "page = 3");
        assert_eq!(changed.effort, Effort::Recall(0.9));
        assert_eq!(changed.levels, [Level::Section]);
        assert!(!changed.rerank.types);
        assert!(matches!(changed.fusion, Some(Fusion::Mixture(m)) if m.vector_share == 0.25));
        assert_eq!((changed.seeds.hits, changed.diversity), (5, Some(0.3)));
    }

    #[test]
    fn invalid_option_error_lists_allowed_values() {
        for (name, value, says) in [
            ("kk", "3", "candidates"),
            ("k", "many", "k: "),
            ("rerank.type", "true", "confidence"),
            ("filter", "page =", "value"),
            ("diversity", "7", "between 0 and 1"),
            ("rerank.cited", "-0.5", "between 0 and 1"),
        ] {
            let error = SearchRequest::new("q").with(name, value).unwrap_err();
            assert!(error.to_string().contains(says), "{name}: {error}");
        }
    }

    #[test]
    fn request_round_trips_through_json() {
        let request = SearchRequest {
            filter: Some(Expr::parse("page in 3..5 and not collection = drafts").unwrap()),
            effort: Effort::Within(std::time::Duration::from_micros(500)),
            vector: Some(vec![0.5, -1.0]),
            ..SearchRequest::new("what?")
        };
        let json = serde_json::to_string(&request).unwrap();
        let back: SearchRequest = serde_json::from_str(&json).unwrap();
        assert_eq!(back, request);
    }
}
