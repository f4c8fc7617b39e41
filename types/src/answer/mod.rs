//! The answer to a search, as it is printed: one JSON object whose names and order are fixed.
//!
//! Options that are absent are left out. Fields are only ever added, and all of this is read back
//! by clients.
//!
//! Start reading at [`Answer`].

mod citation;
mod context;
mod critique;
mod hit_name;
mod partial;
mod plan;
mod prompt;

use serde::{Deserialize, Serialize};

use crate::records::{ChunkType, Level};
use crate::search::Intent;

pub use citation::Citation;
pub use context::{Context, ContextSection};
pub use critique::{Critique, PARTIAL_MIN, Part, PartKind, SUFFICIENT_MIN, Verdict};
pub use hit_name::HitRef;
pub use partial::PartialReason;
pub use plan::{Extent, Operator};
pub use prompt::Prompt;

/// The answer to one question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The question.
    pub question: String,
    /// The strategy that answered: `hybrid`, `text`, `vector`, `graph`, …
    pub strategy: String,
    /// Why it is that one, where it was for the planner to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What kind of chunk the question is after.
    pub intent: Intent,
    /// Generation of the snapshot that answered.
    pub snapshot: u64,
    /// Microseconds from request to answer.
    pub took_us: u64,
    /// Hits, best first.
    pub hits: Vec<Hit>,
    /// Words of the question that no chunk contains, for text search alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub did_you_mean: Vec<Suggestion>,
    /// Concepts of the question.
    #[serde(default)]
    pub concepts: Vec<ConceptHit>,
    /// Relations among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<RelationHit>,
    /// Communities that they belong to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub communities: Vec<CommunityHit>,
    /// An answer in words, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerText>,
    /// How well the hits cover the question, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critique: Option<Critique>,
    /// What could not be searched, and why; empty for a whole answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partial: Vec<PartialReason>,
    /// Hits assembled within a budget, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// The plan as it ran, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explain: Option<Vec<ExplainStep>>,
    /// The operators as they were planned, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<Operator>>,
    /// What the answer is called, where it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<u64>,
}

/// One chunk that answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// From 1.
    pub rank: u32,
    /// No unit; compares within one answer.
    pub score: f32,
    /// The chunk's public key.
    pub chunk: String,
    /// The document's public key.
    pub document: String,
    /// The level of the chunk.
    pub level: Level,
    /// What it is for.
    pub chunk_type: ChunkType,
    /// Its text.
    pub text: String,
    /// First character, and the one after the last, of each match of the question in the text; if
    /// requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highlights: Option<Vec<(u32, u32)>>,
    /// Its location.
    pub citation: Citation,
    /// The chunk that it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentHit>,
    /// Which arms found it.
    pub methods: ArmScores,
}

/// A word that no chunk has, and one that some have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// As it was written.
    pub word: String,
    /// What it may have meant.
    pub meant: String,
}

/// The chunk that a hit is part of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParentHit {
    /// Its public key.
    pub chunk: String,
    /// Its text.
    pub text: String,
}

/// The rank and score of a hit in each arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmScores {
    /// By words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Method>,
    /// By similarity of vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<Method>,
    /// By concepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphArmScore>,
}

/// A place in an arm's list.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// From 1.
    pub rank: u32,
    /// The arm's own score.
    pub score: f32,
}

/// A place in the graph's list, and how it was reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphArmScore {
    /// From 1.
    pub rank: u32,
    /// The walk's score.
    pub score: f32,
    /// Names of concepts from the question to the chunk.
    pub path: Vec<String>,
}

/// A concept of the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConceptHit {
    /// Its name.
    pub name: String,
    /// How sure: 1 for the dictionary, similarity for vectors.
    pub score: f32,
    /// What found it.
    pub how: ConceptSource,
}

/// What found a concept in a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConceptSource {
    /// The question names it.
    Dictionary,
    /// Capitalised words of the question are part of its name.
    Capitalised,
    /// Its vector is near the question's.
    Vector,
    /// The best hits mention it.
    Hits,
}

/// A relation between concepts, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelationHit {
    /// Where it starts.
    pub source: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it leads.
    pub target: String,
}

/// A community of concepts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommunityHit {
    /// Its key.
    pub id: String,
    /// 0 is the finest.
    pub level: u32,
    /// What it is about.
    pub digest: String,
}

/// An answer in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnswerText {
    /// The answer; `[1]` refers to the first citation.
    pub text: String,
    /// What it rests on, in the order of the references.
    pub citations: Vec<Citation>,
}

/// One operator of the plan, as it ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExplainStep {
    /// Its name.
    pub operator: String,
    /// Chunks (or concepts) that it gave.
    pub candidates: u64,
    /// Microseconds that it took.
    pub took_us: u64,
    /// What else is worth knowing, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit() -> Hit {
        Hit {
            rank: 1,
            highlights: None,
            score: 0.5,
            chunk: "a#0".into(),
            document: "a".into(),
            level: Level::Paragraph,
            chunk_type: ChunkType::Other,
            text: "t".into(),
            citation: Citation {
                label: "Page 1".into(),
                link: "/note/a/chunk/a%230".into(),
                ..Citation::default()
            },
            parent: None,
            methods: ArmScores {
                text: Some(Method {
                    rank: 1,
                    score: 0.5,
                }),
                vector: None,
                graph: Some(GraphArmScore {
                    rank: 1,
                    score: 0.5,
                    path: vec!["spin".into()],
                }),
            },
        }
    }

    #[test]
    fn what_is_absent_is_left_out_and_the_order_is_the_contracts() {
        let answer = Answer {
            question: "q".into(),
            strategy: "hybrid".into(),
            hits: vec![hit()],
            ..Answer::default()
        };
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            concat!(
                r#"{"question":"q","strategy":"hybrid","intent":"mixed","snapshot":0,"took_us":0,"hits":["#,
                r#"{"rank":1,"score":0.5,"chunk":"a#0","document":"a","level":"paragraph","#,
                r#""chunk_type":"other","text":"t","citation":{"label":"Page 1","path":[],"#,
                r#""link":"/note/a/chunk/a%230"},"#,
                r#""methods":{"text":{"rank":1,"score":0.5},"graph":{"rank":1,"score":0.5,"path":["spin"]}}}"#,
                r#"],"concepts":[]}"#
            )
        );
    }

    #[test]
    fn a_full_answer_is_read_back() {
        let citation = Citation::default();
        let answer = Answer {
            hits: vec![Hit {
                parent: Some(ParentHit {
                    chunk: "a#1".into(),
                    text: "p".into(),
                }),
                ..hit()
            }],
            concepts: vec![ConceptHit {
                name: "spin".into(),
                score: 1.0,
                how: ConceptSource::Dictionary,
            }],
            relations: vec![RelationHit {
                source: "a".into(),
                kind: "USES".into(),
                target: "b".into(),
            }],
            communities: vec![CommunityHit {
                id: "c".into(),
                level: 0,
                digest: "d".into(),
            }],
            answer: Some(AnswerText {
                text: "x [1]".into(),
                citations: vec![citation],
            }),
            partial: vec![PartialReason::Other("vectors".into())],
            context: Some(Context::default()),
            explain: Some(vec![ExplainStep {
                operator: "text".into(),
                ..ExplainStep::default()
            }]),
            ..Answer::default()
        };
        let json = serde_json::to_string(&answer).unwrap();
        assert!(
            json.contains(r#""relations":[{"source":"a","type":"USES","target":"b"}]"#),
            "{json}"
        );
        assert!(json.contains(r#""how":"dictionary""#), "{json}");
        assert_eq!(serde_json::from_str::<Answer>(&json).unwrap(), answer);
    }
}
