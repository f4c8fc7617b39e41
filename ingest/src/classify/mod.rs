//! The chunk type of a passage: concept, example, question or other.
//!
//! Rules decide whether a passage sets tasks ([`tasks`]). A linear model over cues ([`cues`]) decides between the other
//! types: each cue adds its weight to each type, and the type with the highest sum wins. The example
//! `chunk_type_weights` computes the weights from labelled passages.
//!
//! Start reading at [`classify`].

pub mod cues;
pub(crate) mod kinds;
mod passage;
mod phrases;
mod tasks;
mod weights;

use locidb::storage::records::ChunkType;

use cues::cues;
pub use passage::Passage;
use weights::WEIGHTS;

/// The types that the model tells apart, in the order of the weights of a cue.
pub const MODELLED: [ChunkType; 3] = [ChunkType::Concept, ChunkType::Example, ChunkType::Other];

/// What a passage is for. Linear in its text.
pub fn classify(passage: &Passage) -> ChunkType {
    if tasks::is_exercise(passage) {
        return ChunkType::Question;
    }
    let mut sums = [0.0; MODELLED.len()];
    for (cue, (_, weights)) in cues(passage).iter().zip(WEIGHTS) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += cue * weight;
        }
    }
    let mut best = (ChunkType::Other, f32::MIN);
    for (of, sum) in MODELLED.into_iter().zip(sums) {
        if sum > best.1 {
            best = (of, sum);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChunkType::{Concept, Example, Other, Question};

    fn classify_text(heading: &str, text: &str) -> ChunkType {
        classify(&Passage::plain(heading, text))
    }

    #[test]
    fn cues_are_weighed() {
        let cases: &[(&str, &str, ChunkType)] = &[
            ("", "", Other),
            (
                "",
                "Ownership is a set of rules that govern memory. The compiler checks them.",
                Concept,
            ),
            ("Definition 3", "Let it be so. Then it goes.", Concept),
            (
                "Newton's second law",
                "A body accelerates. The mass resists.",
                Concept,
            ),
            (
                "",
                "Theorem 2.1. Every tree with n nodes has n - 1 edges.",
                Concept,
            ),
            (
                "",
                "Entropy is defined as the logarithm of the number of states. It grows.",
                Concept,
            ),
            (
                "Exercises",
                "The scheduler is a program. Modify it.",
                Question,
            ),
            (
                "",
                "1. Find the roots of x. 2. Prove that they are real. 3. Sketch the curve.",
                Question,
            ),
            (
                "",
                "What is the force? How large is it? The mass is 3 kg.",
                Question,
            ),
            (
                "",
                "The allocator has to find an empty spot. It marks it. It returns a pointer. The kernel runs on.",
                Other,
            ),
            (
                "",
                "You may wonder why? The page is shared. It is mapped twice. Both can read. None writes. So it is safe.",
                Other,
            ),
            (
                "Example 4",
                "The car moves at 3 m/s. It stops after 4 s.",
                Example,
            ),
            (
                "",
                "For example, a string owns its bytes. Consider `s` going out of scope.",
                Example,
            ),
            ("", "Example 2.3: a ball falls. It takes 2 s.", Example),
            (
                "",
                "A page is mapped. It can be read. It is kept. It is used, for example, by a shell. Later it is freed. \
              The rest stays. Nothing moves. The end is near.",
                Other,
            ),
            (
                "",
                "The trap is called from the kernel. It is called via a table. They are called by user code.",
                Other,
            ),
            (
                "",
                "Rust moves it here. This is called dangling prevention. The rest is kept.",
                Concept,
            ),
            ("Memory", "It was a bright day. They walked on.", Other),
        ];
        for &(heading, text, expected) in cases {
            assert_eq!(
                classify_text(heading, text),
                expected,
                "of {heading:?} / {text:?}"
            );
        }
    }

    #[test]
    fn weights_are_those_of_the_cues() {
        let weighed: Vec<&str> = WEIGHTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(weighed, cues::names());
    }

    #[test]
    fn a_text_without_prose_is_for_nothing() {
        assert_eq!(classify_text("", ""), Other);
        assert_eq!(classify_text("Exercises", ""), Other);
    }
}
