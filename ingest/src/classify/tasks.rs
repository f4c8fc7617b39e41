//! Whether a passage sets its reader tasks: exercises, problems, questions to be answered.
//!
//! A passage that merely contains `find` does not: an imperative counts where it opens a sentence, and one question among
//! many statements is not enough.

use super::cues::defines;
use super::passage::{Passage, Sentence, words};

/// What the heading says outright.
const HEADING_WEIGHT: f32 = 3.0;
/// What it says of a part only: `Discussion and exercises`.
const SHARED_HEADING_WEIGHT: f32 = 0.5;
/// How the first sentence opens: a task speaks for tasks, a definition against them.
const OPENING_WEIGHT: f32 = 2.0;
/// All sentences set tasks.
const DENSITY_WEIGHT: f32 = 4.5;
/// What a question mark is worth beside an imperative: many a text asks what it goes on to answer.
const QUESTION_WEIGHT: f32 = 0.4;
/// Less evidence than this is none.
const SCORE_MIN: f32 = 1.0;

/// Whether a passage sets tasks.
pub(super) fn is_exercise(passage: &Passage) -> bool {
    let Some(first) = passage.sentences.first() else {
        return false;
    };
    let opening = match first {
        _ if is_labelled(first) || is_task(first) => OPENING_WEIGHT,
        _ if defines(first) => -OPENING_WEIGHT,
        _ => 0.0,
    };
    let worth = |sentence: &Sentence| match sentence {
        _ if sentence.is_question() => QUESTION_WEIGHT,
        _ if is_task(sentence) || is_labelled(sentence) => 1.0,
        _ => 0.0,
    };
    let worth: f32 = passage.sentences.iter().map(worth).sum();
    // One of two or three sentences may be a coincidence.
    let density = DENSITY_WEIGHT * worth / passage.sentences.len().max(3) as f32;
    heading_score(&passage.heading) + opening + density >= SCORE_MIN
}

fn heading_score(heading: &str) -> f32 {
    let words = words(heading);
    let names_tasks = HEADINGS
        .iter()
        .any(|word| words.contains(&format!(" {word} ")));
    match names_tasks && !words.contains(" exercise of ") {
        true if words.contains(" and ") => SHARED_HEADING_WEIGHT,
        true => HEADING_WEIGHT,
        false => 0.0,
    }
}

/// `Exercise 3.`, `Q: …`.
fn is_labelled(sentence: &Sentence) -> bool {
    sentence.is_labelled(&["exercise", "exercises", "problem", "question", "q"])
}

fn is_task(sentence: &Sentence) -> bool {
    !sentence.is_question() && sentence.opens_with(IMPERATIVES)
}

#[rustfmt::skip]
const HEADINGS: &[&str] = &[
    "exercise", "exercises", "questions", "problems", "quiz", "homework",
];

/// Verbs that set a task when they open a sentence.
#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "solve", "calculate", "find", "determine", "prove", "compute", "show that", "derive",
    "evaluate", "sketch", "explain why", "explain how", "describe how", "write a program",
    "write a function", "modify", "implement", "verify that", "estimate", "simplify", "construct",
    "design", "discuss", "give an example", "justify",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_recognized_by_heading_opening_and_density() {
        let cases = [
            ("4.8 Exercises", "The kernel is mapped. It grows.", true),
            ("Exercise of powers", "The trustee acts. He reports.", false),
            (
                "Discussion and exercises",
                "Hashing is old. It is in use.",
                false,
            ),
            (
                "Discussion and exercises",
                "Hashing is old. Is it in use? Why?",
                true,
            ),
            ("", "Exercise 3. The kernel is mapped.", true),
            ("", "1. Find it. 2. Prove it. 3. Sketch it.", true),
            ("", "How large is it? How old? It grows.", true),
            ("", "It has to find a spot. It marks it. It goes on.", false),
            (
                "",
                "Why is that? It is mapped. It grows. It is read. None writes. All is safe.",
                false,
            ),
            (
                "Question 130",
                "A list is sorted. It is then searched.",
                false,
            ),
            ("Exercises", "", false),
            (
                "",
                "It is fair. Exercise 3. A list grows. Exercise 4. It ends.",
                true,
            ),
            ("", "A heap is a tree. It grows. Prove it.", false),
        ];
        for (heading, text, expected) in cases {
            let passage = Passage::plain(heading, text);
            assert_eq!(is_exercise(&passage), expected, "{heading:?} / {text:?}");
        }
    }
}
