//! The answer to a search, as it is printed: one JSON object whose names and order are fixed.
//!
//! Options that are absent are left out. Fields are only ever added, and all of this is read back
//! by clients.
//!
//! Start reading at [`Answer`].

pub use loci_types::answer::{
    Answer, AnswerText, ArmScores, CommunityHit, ConceptHit, ConceptSource, ExplainStep,
    GraphArmScore, Hit, Method, ParentHit, PartialReason, RelationHit, Suggestion,
};

use crate::community::CommunityDigest;
use crate::fuse::{ArmHit, Fused};

impl From<CommunityDigest> for CommunityHit {
    fn from(digest: CommunityDigest) -> CommunityHit {
        CommunityHit {
            digest: digest.text(),
            id: digest.id,
            level: digest.level as u32,
        }
    }
}

impl From<ArmHit> for Method {
    fn from(found: ArmHit) -> Method {
        Method {
            rank: found.rank,
            score: found.score,
        }
    }
}

/// What the arms say of `fused`; `path` is how the graph reached it.
pub(crate) fn methods(fused: &Fused, path: Vec<String>) -> ArmScores {
    let graph = fused
        .graph
        .map(|ArmHit { rank, score }| GraphArmScore { rank, score, path });
    ArmScores {
        text: fused.text.map(Method::from),
        vector: fused.vector.map(Method::from),
        graph,
    }
}

#[cfg(test)]
mod tests {
    use loci_storage::Ordinal;

    use super::*;

    #[test]
    fn a_hit_says_which_arms_found_it() {
        let found = ArmHit {
            rank: 1,
            score: 0.5,
        };
        let fused = Fused {
            ordinal: Ordinal(0),
            score: 0.5,
            text: Some(found),
            vector: None,
            graph: Some(found),
        };
        let methods = methods(&fused, vec!["spin".into()]);
        assert_eq!(methods.text, Some(found.into()));
        assert_eq!(methods.vector, None);
        assert_eq!(methods.graph.unwrap().path, ["spin"]);
    }
}
