//! What a passage is for: a concept, an example, a question, or none of these.
//!
//! Cues are weighed, strongest first: the words of the heading, how the first sentence opens, and
//! what share of the sentences carry a cue. A passage that merely contains `find` is no question:
//! an imperative counts where it opens a sentence, and one question among many statements is not
//! enough.

use locidb::storage::records::ChunkType;

/// What the heading says outright.
const HEADING: f32 = 3.0;
/// What the heading lets expect.
const HINT: f32 = 0.5;
/// How the first sentence opens.
const OPENING: f32 = 2.0;
/// All sentences carry a cue.
const DENSITY: f32 = 4.5;
/// What a question mark is worth beside other cues: many a text asks what it goes on to answer.
const ASKING: f32 = 0.4;
/// Less evidence than this is none.
const ENOUGH: f32 = 1.0;

/// What a passage of the visible `sentences` under `heading` is for. Ties go to the concept, then
/// to the example.
pub fn classify(heading: Option<&str>, sentences: &[String]) -> ChunkType {
    let mut score = Score::default();
    if let Some(heading) = heading {
        let heading = heading.to_lowercase();
        score.add(heading_cue(&heading), HEADING);
        if heading.starts_with("what is ") || heading.starts_with("what are ") {
            score.add(ChunkType::Concept, HINT);
        }
    }
    let lower: Vec<String> = sentences.iter().map(|s| s.to_lowercase()).collect();
    if let Some(first) = lower.first() {
        score.add(opening_cue(first), OPENING);
    }
    // Of two or three sentences one may be chance.
    let share = DENSITY / lower.len().max(3) as f32;
    for sentence in &lower {
        let weight = if asks(sentence) { ASKING } else { 1.0 };
        score.add(sentence_cue(sentence), share * weight);
    }
    score.best()
}

#[derive(Default)]
struct Score {
    concept: f32,
    example: f32,
    question: f32,
}

impl Score {
    fn add(&mut self, cue: ChunkType, weight: f32) {
        match cue {
            ChunkType::Concept => self.concept += weight,
            ChunkType::Example => self.example += weight,
            ChunkType::Question => self.question += weight,
            ChunkType::Other => {}
        }
    }

    fn best(&self) -> ChunkType {
        let ranked = [
            (self.concept, ChunkType::Concept),
            (self.example, ChunkType::Example),
            (self.question, ChunkType::Question),
        ];
        let best = ranked.iter().fold((0.0, ChunkType::Other), |best, &next| {
            if next.0 > best.0 { next } else { best }
        });
        if best.0 >= ENOUGH {
            best.1
        } else {
            ChunkType::Other
        }
    }
}

fn heading_cue(heading: &str) -> ChunkType {
    let has = |cues: &[&str]| {
        heading
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| cues.contains(&word))
    };
    if has(&[
        "exercise",
        "exercises",
        "question",
        "questions",
        "problems",
        "quiz",
        "homework",
    ]) {
        return ChunkType::Question;
    }
    if has(&[
        "example",
        "examples",
        "worked",
        "demonstration",
        "walkthrough",
    ]) || heading.contains("sample problem")
        || heading.contains("case study")
    {
        return ChunkType::Example;
    }
    let concept = [
        "definition",
        "definitions",
        "theorem",
        "lemma",
        "law",
        "laws",
        "principle",
        "principles",
        "axioms",
    ];
    if has(&concept) || heading.contains("key idea") {
        return ChunkType::Concept;
    }
    ChunkType::Other
}

fn opening_cue(sentence: &str) -> ChunkType {
    let word = sentence
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty())
        .unwrap_or("");
    let numbered = sentence
        .trim_start_matches(char::is_alphabetic)
        .trim_start();
    let labelled = numbered.starts_with(|c: char| c.is_numeric() || c == ':' || c == '.');
    match word {
        "definition" | "theorem" | "lemma" | "corollary" | "axiom" | "law" | "principle"
            if labelled =>
        {
            ChunkType::Concept
        }
        "example" | "examples" if labelled => ChunkType::Example,
        "exercise" | "exercises" | "problem" | "question" | "q" if labelled => ChunkType::Question,
        // Many a plain text opens with a question that it goes on to answer.
        _ if asks(sentence) => ChunkType::Other,
        _ => sentence_cue(sentence),
    }
}

fn asks(sentence: &str) -> bool {
    sentence
        .trim_end_matches(['"', '”', ')', '*'])
        .ends_with('?')
}

/// What one sentence, in lower case, is a cue of.
fn sentence_cue(sentence: &str) -> ChunkType {
    let any = |cues: &[&str]| cues.iter().any(|cue| sentence.contains(cue));
    let opens = |cues: &[&str]| {
        let bare = after_label(sentence);
        cues.iter().any(|cue| {
            bare.strip_prefix(cue)
                .is_some_and(|rest| rest.starts_with([' ', ',', ':']))
        })
    };
    if asks(sentence) || opens(IMPERATIVES) {
        return ChunkType::Question;
    }
    if any(EXAMPLE_PHRASES) || opens(&["suppose", "consider", "imagine", "e.g."]) {
        return ChunkType::Example;
    }
    if any(DEFINING_PHRASES) || gives_name(sentence) || defines(sentence) {
        return ChunkType::Concept;
    }
    ChunkType::Other
}

/// The sentence behind `3.`, `(b)`, `- ` and the like.
fn after_label(sentence: &str) -> &str {
    let rest = sentence.trim_start_matches(['-', '•', '*', ' ']);
    let label = rest
        .trim_start_matches('(')
        .split(['.', ')', ' '])
        .next()
        .unwrap_or("");
    let is_label = !label.is_empty()
        && (label.bytes().all(|b| b.is_ascii_digit()) || label.len() == 1)
        && rest.trim_start_matches('(')[label.len()..].starts_with(['.', ')']);
    match is_label {
        true => rest.trim_start_matches('(')[label.len() + 1..].trim_start_matches(['.', ')', ' ']),
        false => rest,
    }
}

/// Whether something "is called X": a name, not a call of a function.
fn gives_name(sentence: &str) -> bool {
    let after = ["is called ", "are called "]
        .iter()
        .find_map(|c| sentence.split_once(c).map(|(_, rest)| rest));
    let next = after.and_then(|rest| rest.split_whitespace().next());
    next.is_some_and(|word| {
        word.len() > 1 && !crate::lexicon::is_stop(word) || matches!(word, "a" | "an" | "the")
    })
}

/// Whether the sentence has the form "X is a Y", X being short and no pronoun.
fn defines(sentence: &str) -> bool {
    let copulas = [
        " is a ",
        " is an ",
        " are a ",
        " is the process ",
        " is any ",
    ];
    let Some(subject) = copulas
        .iter()
        .filter_map(|c| sentence.find(c))
        .min()
        .map(|at| &sentence[..at])
    else {
        return false;
    };
    let words: Vec<&str> = subject.split_whitespace().collect();
    let pronoun = [
        "it", "this", "that", "there", "he", "she", "which", "here", "what", "these", "one", "the",
    ];
    (1..=4).contains(&words.len()) && !pronoun.contains(&words[0])
}

/// Verbs that set a task when they open a sentence.
const IMPERATIVES: &[&str] = &[
    "solve",
    "calculate",
    "find",
    "determine",
    "prove",
    "compute",
    "show that",
    "derive",
    "evaluate",
    "sketch",
    "explain why",
    "explain how",
    "describe how",
    "write a program",
    "write a function",
    "modify",
    "implement",
    "verify that",
    "estimate",
    "simplify",
    "construct",
    "design",
    "discuss",
    "give an example",
    "justify",
];

const EXAMPLE_PHRASES: &[&str] = &[
    "for example",
    "for instance",
    "let's consider",
    "let us consider",
    "let’s look at",
    "let's look at",
    "as an example",
    "worked example",
    "sample problem",
    "to illustrate",
    "as an illustration",
    "example of",
    "demonstration",
    "the following example",
    "this example",
    "in this example",
];

const DEFINING_PHRASES: &[&str] = &[
    "is defined as",
    "are defined as",
    "is defined to be",
    "we define",
    "refers to",
    "is known as",
    "are known as",
    "key idea",
    "by definition",
    "the law of",
    "the principle of",
    "states that",
    "is the study of",
    "fundamental principle",
    "the theorem",
    "is termed",
];

#[cfg(test)]
mod tests {
    use super::*;
    use ChunkType::{Concept, Example, Other, Question};

    fn of(heading: &str, text: &str) -> ChunkType {
        let spans = crate::sentences::spans(text);
        let sentences: Vec<String> = spans
            .into_iter()
            .map(|span| text[span].to_owned())
            .collect();
        classify((!heading.is_empty()).then_some(heading), &sentences)
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
            assert_eq!(of(heading, text), expected, "of {heading:?} / {text:?}");
        }
    }
}
