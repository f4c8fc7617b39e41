//! What sentences, statements and sections do: by their words, and by the heading they are under.
//!
//! Rules look at the start of a sentence and at telling phrases, the more certain ones first. What carries no cue is
//! `Other`, or for a whole declarative sentence a claim.

use locidb::storage::records::{PropositionType, SectionType, SentenceType};

use crate::text::prose;

/// Whether `sentence`, in lower case, has any of these phrases as words.
fn has_phrase(sentence: &str, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| {
        sentence.match_indices(phrase).any(|(at, _)| {
            let before = sentence[..at].chars().next_back();
            let after = sentence[at + phrase.len()..].chars().next();
            let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
            !is_word(before) && !is_word(after)
        })
    })
}

#[rustfmt::skip]
const DEFINING: &[&str] = &[
    "is defined as", "are defined as", "is called", "are called", "refers to", "is known as",
    "are known as", "means that", "stands for", "is the process of", "is a type of", "is a kind of",
    "is a form of", "we define", "denotes", "is termed", "is the set of", "is any", "by definition",
];
#[rustfmt::skip]
const COMPARING: &[&str] = &[
    "than", "whereas", "unlike", "in contrast", "compared to", "compared with", "similar to",
    "differs from", "differ from", "on the other hand", "as opposed to", "the same as",
    "in comparison", "versus", "conversely",
];
#[rustfmt::skip]
const GIVING_EXAMPLES: &[&str] = &[
    "for example", "for instance", "e.g", "such as", "as an example", "consider the", "suppose",
    "an example of", "imagine",
];
#[rustfmt::skip]
const PROCEEDING: &[&str] = &[
    "first,", "then,", "next,", "finally,", "step", "steps", "you can", "you must", "you should",
    "you need to", "in order to", "must be", "should be", "make sure", "follow these",
];
#[rustfmt::skip]
const FINDING: &[&str] = &[
    "we found", "we find", "we show", "we observed", "we observe", "results show",
    "results indicate", "results suggest", "our results", "increased", "decreased", "significantly",
    "outperforms", "outperformed", "achieves", "achieved", "was found", "were found", "p <", "p =",
    "we obtained", "revealed", "resulted in", "accuracy of", "improved by",
];
#[rustfmt::skip]
const DOING: &[&str] = &[
    "we used", "we use", "was used", "were used", "we performed", "was performed", "were performed",
    "we measured", "was measured", "were measured", "we trained", "we collected", "were collected",
    "we propose", "we implemented", "we computed", "was computed", "were computed", "we calculated",
    "were calculated", "we analyzed", "we analysed", "were analyzed", "were analysed", "our method",
    "our approach", "we apply", "we applied", "according to the protocol", "using the",
    "we developed", "we introduce", "were obtained from", "were assigned",
];
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    "previous", "previously", "has been shown", "have been shown", "has been", "have been",
    "it is known", "is well known", "et al", "traditionally", "historically", "recent", "recently",
    "prior work", "in the past", "literature", "earlier studies",
];
#[rustfmt::skip]
const CLAIMING: &[&str] = &[
    "we argue", "we believe", "we conclude", "we hypothesize", "we hypothesise", "suggests",
    "suggest that", "therefore", "thus", "hence", "it follows", "must", "implies",
    "demonstrates that", "indicates that", "we claim", "in conclusion",
];
#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "use", "click", "run", "open", "add", "create", "install", "select", "set", "write", "press",
    "enter", "choose", "remove", "copy", "call", "check", "make", "put", "take", "turn", "type",
    "download", "start", "stop", "place", "apply", "mix", "connect", "repeat", "insert",
    "configure", "define", "note", "ensure", "try", "build", "replace", "save",
];

/// Words of headings over methods.
#[rustfmt::skip]
const METHOD_HEADINGS: &[&str] = &[
    "method", "methods", "materials", "methodology", "procedure", "setup",
];
/// Words of headings over results.
const RESULT_HEADINGS: &[&str] = &["results", "result", "findings", "evaluation"];
/// Words of headings over what was known before.
const BACKGROUND_HEADINGS: &[&str] = &["introduction", "background", "related work", "history"];
/// Words that weaken a statement.
#[rustfmt::skip]
const HEDGES: &[&str] = &[
    "may", "might", "perhaps", "probably", "i think", "we believe", "could",
];
/// Words that point to another place of the text.
#[rustfmt::skip]
const ELSEWHERE: &[&str] = &[
    "above", "below", "following", "previous section", "next section", "see figure",
];
/// Phrases that tell the reader to do something.
const ADDRESSING: &[&str] = &["you should", "you must", "you need to", "make sure"];
/// Words of headings over examples.
#[rustfmt::skip]
const EXAMPLE_HEADINGS: &[&str] = &[
    "example", "examples", "case study", "walkthrough", "demo", "worked", "sample",
];
/// Words of headings over instructions.
#[rustfmt::skip]
const TUTORIAL_HEADINGS: &[&str] = &[
    "tutorial", "how to", "getting started", "quick start", "quickstart", "guide", "installation",
    "install", "setup", "exercise", "exercises", "steps",
];
/// Words of headings over what is looked up.
#[rustfmt::skip]
const REFERENCE_HEADINGS: &[&str] = &[
    "reference", "references", "api", "parameters", "options", "glossary", "bibliography",
    "appendix", "index", "syntax", "arguments", "specification", "faq",
];

fn first_word(sentence: &str) -> &str {
    let bare = sentence.trim_start_matches(|c: char| !c.is_alphabetic());
    bare.split(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or("")
}

/// Whether a sentence is whole and declares something.
fn declares(sentence: &str) -> bool {
    let bare = sentence.trim_end_matches(['"', '”', ')', '*', '_', ']', '’']);
    bare.ends_with(['.', '!', '。']) && prose::words(sentence).len() >= 4
}

/// `X is a Y`, `X are Y`: X of a few words that opens the sentence.
fn is_definition(lower: &str) -> bool {
    if has_phrase(lower, DEFINING) {
        return true;
    }
    let copula = [" is a ", " is an ", " are the ", " are a ", " is the "];
    let at = copula.iter().filter_map(|of| lower.find(of)).min();
    at.is_some_and(|at| {
        let subject: Vec<&str> = lower[..at].split_whitespace().collect();
        let vague = [
            "it", "this", "that", "there", "he", "she", "which", "here", "what", "these", "one",
            "they", "and", "but",
        ];
        (1..=4).contains(&subject.len())
            && !vague.contains(&subject[0])
            && !lower[..at].contains(',')
    })
}

/// What a sentence does in an argument. `heading`: of the section that contains it.
pub(crate) fn sentence_type(sentence: &str, heading: Option<&str>) -> SentenceType {
    let lower = sentence.to_lowercase();
    if !declares(sentence) {
        return SentenceType::Other;
    }
    let under = heading.map(str::to_lowercase).unwrap_or_default();
    let cited = lower.contains(" et al") || has_citation(&lower);
    match () {
        () if is_definition(&lower) => SentenceType::Definition,
        () if has_phrase(&lower, FINDING) => SentenceType::Result,
        () if has_phrase(&lower, DOING) => SentenceType::Method,
        () if has_phrase(&under, METHOD_HEADINGS) => SentenceType::Method,
        () if has_phrase(&under, RESULT_HEADINGS) => SentenceType::Result,
        () if has_phrase(&lower, CLAIMING) => SentenceType::Claim,
        () if cited || has_phrase(&lower, KNOWN) => SentenceType::Background,
        () if has_phrase(&under, BACKGROUND_HEADINGS) => SentenceType::Background,
        () => SentenceType::Claim,
    }
}

/// `[12]`, `(Author, 2020)`.
fn has_citation(lower: &str) -> bool {
    let bracket = lower.split('[').skip(1).any(|rest| {
        let inside = rest.split(']').next().unwrap_or("");
        rest.len() > inside.len()
            && !inside.is_empty()
            && inside
                .chars()
                .all(|c| c.is_ascii_digit() || ", –-".contains(c))
    });
    let year = lower.split('(').skip(1).any(|rest| {
        let inside = rest.split(')').next().unwrap_or("");
        let year = inside.trim_end_matches(|c: char| c.is_ascii_lowercase());
        let digits = year.bytes().rev().take_while(u8::is_ascii_digit);
        year.contains(',') && digits.count() >= 4
    });
    bracket || year
}

/// What a statement of some sentences states.
pub(crate) fn proposition_type(statement: &str, is_list: bool) -> PropositionType {
    let lower = statement.to_lowercase();
    let steps = IMPERATIVES.contains(&first_word(&lower));
    let start: String = lower.chars().take(80).collect();
    match () {
        () if has_phrase(&start, GIVING_EXAMPLES) => PropositionType::Example,
        () if is_definition(&lower) => PropositionType::Definition,
        () if steps || is_list && has_phrase(&lower, PROCEEDING) => PropositionType::Procedure,
        () if has_phrase(&lower, COMPARING) => PropositionType::Comparison,
        () if has_phrase(&lower, PROCEEDING) => PropositionType::Procedure,
        () if has_phrase(&lower, GIVING_EXAMPLES) => PropositionType::Example,
        () if declares(statement) => PropositionType::Claim,
        () => PropositionType::Other,
    }
}

/// Whether what a statement says can be checked: it declares something of a name, a number or a date.
pub(crate) fn is_verifiable(statement: &str) -> bool {
    let words = prose::words(statement);
    let number = statement.contains(|c: char| c.is_ascii_digit());
    let named = words
        .iter()
        .skip(1)
        .any(|word| word.is_capitalised() && word.surface.len() > 1);
    let hedged = has_phrase(&statement.to_lowercase(), HEDGES);
    declares(statement) && (number || named) && !hedged
}

/// How sure it is that a statement is on its own: whole sentences, nothing left that points elsewhere.
pub(crate) fn confidence(statement: &str) -> f32 {
    let lower = statement.to_lowercase();
    let points =
        ["it", "they", "this", "these", "he", "she", "that", "those"].contains(&first_word(&lower));
    let elsewhere = has_phrase(&lower, ELSEWHERE);
    match (declares(statement), points) {
        (false, _) => 0.5,
        (true, true) => 0.6,
        (true, false) if elsewhere => 0.75,
        (true, false) => 0.9,
    }
}

/// How a section is made up, as far as it tells what it is for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SectionComposition {
    /// Sentences of prose.
    pub(crate) sentences: usize,
    /// Those that tell the reader to do something.
    pub(crate) imperatives: usize,
    /// Tokens of tables and code, and of everything.
    pub(crate) tabular_tokens: u32,
    /// Likewise.
    pub(crate) code_tokens: u32,
    /// Likewise.
    pub(crate) tokens: u32,
}

/// Whether a sentence tells its reader to do something.
pub(crate) fn is_imperative(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    IMPERATIVES.contains(&first_word(&lower)) || has_phrase(&lower, ADDRESSING)
}

/// What a section does for its reader.
pub(crate) fn section_type(heading: Option<&str>, makeup: SectionComposition) -> SectionType {
    let under = heading.map(str::to_lowercase).unwrap_or_default();
    let share = |part: u32| part * 2 > makeup.tokens;
    match () {
        () if has_phrase(&under, EXAMPLE_HEADINGS) => SectionType::Example,
        () if has_phrase(&under, TUTORIAL_HEADINGS) => SectionType::Tutorial,
        () if has_phrase(&under, REFERENCE_HEADINGS) => SectionType::Reference,
        () if share(makeup.tabular_tokens) => SectionType::Reference,
        () if makeup.imperatives >= 2 && makeup.imperatives * 3 >= makeup.sentences => {
            SectionType::Tutorial
        }
        () if makeup.sentences >= 2 && !share(makeup.code_tokens) => SectionType::Explanation,
        () => SectionType::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_classified_by_cues_and_by_their_section() {
        use SentenceType::*;
        for (sentence, heading, want) in [
            ("A heap is a region of memory.", None, Definition),
            ("We found that heaps grow by 20 %.", None, Result),
            ("Cells were collected from 12 mice.", None, Method),
            (
                "Samples stood at room temperature overnight.",
                Some("2 Methods"),
                Method,
            ),
            ("Memory has been studied for decades.", None, Background),
            (
                "Stacks were first described long ago (Bauer, 1957).",
                None,
                Background,
            ),
            ("Therefore every heap must end.", None, Claim),
            ("Heaps hold what outlives a call.", None, Claim),
            ("Figure 3", None, Other),
            ("Why do heaps grow?", None, Other),
            (
                "Call it (e.g., part of the application’s memory), and stop.",
                None,
                Claim,
            ),
        ] {
            assert_eq!(sentence_type(sentence, heading), want, "{sentence}");
        }
    }

    #[test]
    fn statements_are_classified_by_cues() {
        use PropositionType::*;
        for (statement, want) in [
            (
                "Photosynthesis is the process of making sugar from light.",
                Definition,
            ),
            ("For example, a fern makes sugar in its fronds.", Example),
            ("Open the lid. Then press the red button twice.", Procedure),
            (
                "A stack is faster than a heap in nearly all programs.",
                Comparison,
            ),
            ("Ferns have grown on Earth for 360 million years.", Claim),
            ("Ferns, mosses, and", Other),
        ] {
            assert_eq!(proposition_type(statement, false), want, "{statement}");
        }
        assert!(is_verifiable("The tower in Paris is 330 m high."));
        assert!(!is_verifiable("It may be that towers grow."));
        assert!(confidence("Ferns grow in damp woods.") > confidence("It grows in damp woods."));
    }

    #[test]
    fn sections_are_classified_by_heading_and_content() {
        let prose = SectionComposition {
            sentences: 8,
            tokens: 200,
            ..SectionComposition::default()
        };
        assert_eq!(
            section_type(Some("The Heap"), prose),
            SectionType::Explanation
        );
        assert_eq!(
            section_type(Some("Getting started"), prose),
            SectionType::Tutorial
        );
        assert_eq!(
            section_type(Some("API reference"), prose),
            SectionType::Reference
        );
        assert_eq!(
            section_type(Some("Worked example 3"), prose),
            SectionType::Example
        );
        let steps = SectionComposition {
            imperatives: 4,
            ..prose
        };
        assert_eq!(section_type(None, steps), SectionType::Tutorial);
        let table = SectionComposition {
            tabular_tokens: 150,
            ..prose
        };
        assert_eq!(section_type(None, table), SectionType::Reference);
        assert_eq!(
            section_type(None, SectionComposition::default()),
            SectionType::Other
        );
    }
}
