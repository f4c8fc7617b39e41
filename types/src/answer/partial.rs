//! Why an answer lacks something.
//!
//! In JSON and on the wire a reason is its text. A reason that is read from there is [`PartialReason::Other`]: clients
//! show it, and branch on nothing.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What could not be searched or answered, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
#[non_exhaustive]
pub enum PartialReason {
    /// The embedder knows no word of the question, so vector search found nothing.
    UnknownWords,
    /// The store's vectors come from the caller, and the question has none.
    NoQuestionVector,
    /// The embedder failed, with this message.
    EmbedderFailed(String),
    /// The projection of the built-in embedder was damaged. It is fitted again.
    ProjectionLost,
    /// Vectors of damaged segments are being rebuilt.
    VectorsRebuilding,
    /// Ranks and communities of concepts were damaged. They are computed again.
    AnalysisLost,
    /// Chunks of damaged segments are not found until the segments are rebuilt: how many, and of how many; `None` where
    /// a filter hides the numbers.
    ChunksMissing(Option<(u64, u64)>),
    /// So many terms of the question were not counted, as time was limited.
    TermsSkipped(usize),
    /// A hit whose row is damaged.
    DamagedHit(String),
    /// A concept whose row is damaged.
    DamagedConcept(String),
    /// So many sentences of digests are in no chunk.
    DigestSentencesMissing(usize),
    /// Communities have no digests, so another strategy answered.
    NoDigests,
    /// No community has a digest that answers in words, so hits answer.
    NoDigestAnswers,
    /// So many references of a generator to passages that do not exist were removed.
    ReferencesRemoved(usize),
    /// The generator of this name failed, with this message.
    GeneratorFailed {
        /// The name.
        generator: String,
        /// The message.
        error: String,
    },
    /// The text of a reason that was read.
    Other(String),
}

impl PartialReason {
    /// Whether vector search is what the answer lacks.
    pub const fn is_about_vectors(&self) -> bool {
        use PartialReason::*;
        matches!(
            self,
            UnknownWords
                | NoQuestionVector
                | EmbedderFailed(_)
                | ProjectionLost
                | VectorsRebuilding
        )
    }
}

impl fmt::Display for PartialReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PartialReason::*;
        match self {
            UnknownWords => f.write_str("vectors: the embedder knows no word of the question"),
            NoQuestionVector => f.write_str("vectors: the question has none"),
            EmbedderFailed(error) => write!(f, "vectors: embedder: {error}"),
            ProjectionLost => f.write_str(
                "vectors: the embedder's projection was damaged and is to be fitted again; text and graph answer alone",
            ),
            VectorsRebuilding => {
                f.write_str("vectors: those of damaged segments are being built again")
            }
            AnalysisLost => f.write_str(
                "graph: ranks and communities of concepts were damaged, and are to be computed anew",
            ),
            ChunksMissing(None) => f.write_str(
                "segments: some chunks are not found until damaged segments are built again",
            ),
            ChunksMissing(Some((missing, all))) => write!(
                f,
                "segments: {missing} of {all} chunks are not found until damaged segments are built again"
            ),
            TermsSkipped(count) => {
                write!(f, "text: for time, {count} of the question's terms not counted")
            }
            DamagedHit(error) => write!(f, "left out: a hit: {error}"),
            DamagedConcept(error) => write!(f, "left out: a concept: {error}"),
            DigestSentencesMissing(count) => write!(
                f,
                "left out: {count} sentences of digests are in no chunk; `loci check` tells of damage, `loci analyze` writes the digests again"
            ),
            NoDigests => f.write_str(
                "communities: they have no digests yet; `loci analyze` writes them",
            ),
            NoDigestAnswers => {
                f.write_str("communities: there are no digests of them, so hits answer")
            }
            ReferencesRemoved(1) => f.write_str(
                "answer: a reference to a passage that does not exist was removed",
            ),
            ReferencesRemoved(count) => write!(
                f,
                "answer: {count} references to passages that do not exist were removed"
            ),
            GeneratorFailed { generator, error } => write!(
                f,
                "answer: {generator}: {error}; sentences of the documents answer instead"
            ),
            Other(text) => f.write_str(text),
        }
    }
}

impl From<String> for PartialReason {
    fn from(text: String) -> PartialReason {
        PartialReason::Other(text)
    }
}

impl From<PartialReason> for String {
    fn from(reason: PartialReason) -> String {
        reason.to_string()
    }
}

impl FromStr for PartialReason {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<PartialReason, Infallible> {
        Ok(PartialReason::Other(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_its_text_in_json_and_is_read_back_as_text() {
        let reason = PartialReason::ChunksMissing(Some((2, 9)));
        let text = "segments: 2 of 9 chunks are not found until damaged segments are built again";
        let json = serde_json::to_string(&reason).unwrap();
        assert_eq!(json, format!("{text:?}"));
        let read: PartialReason = serde_json::from_str(&json).unwrap();
        assert_eq!(read, PartialReason::Other(text.into()));
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }

    #[test]
    fn only_reasons_about_vectors_begin_with_vectors() {
        let error = || "down".to_owned();
        let reasons = [
            PartialReason::UnknownWords,
            PartialReason::NoQuestionVector,
            PartialReason::EmbedderFailed(error()),
            PartialReason::ProjectionLost,
            PartialReason::VectorsRebuilding,
            PartialReason::AnalysisLost,
            PartialReason::ChunksMissing(None),
            PartialReason::TermsSkipped(3),
            PartialReason::DamagedHit(error()),
            PartialReason::DamagedConcept(error()),
            PartialReason::DigestSentencesMissing(1),
            PartialReason::NoDigests,
            PartialReason::NoDigestAnswers,
            PartialReason::ReferencesRemoved(1),
            PartialReason::GeneratorFailed {
                generator: "g".into(),
                error: error(),
            },
        ];
        for reason in reasons {
            let text = reason.to_string();
            assert_eq!(
                reason.is_about_vectors(),
                text.starts_with("vectors: "),
                "{text}"
            );
        }
    }
}
