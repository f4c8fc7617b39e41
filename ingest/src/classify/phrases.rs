//! Phrases of English that the cues look for, in lower case and without punctuation.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A list of phrases anywhere in a sentence, by what they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhraseList {
    /// Says that an example is given.
    Exemplifying,
    /// Shows code, output or a result.
    Showing,
    /// Speaks of writer and reader together.
    We,
    /// Speaks to the reader.
    You,
    /// Demands.
    Must,
    /// Says what something makes possible.
    Enabling,
    /// Tells what was.
    Past,
    /// Nouns for notions and their parts.
    Notions,
    /// Says that something holds in general.
    Generalising,
    /// Defines.
    Defining,
    /// Speaks of the text itself.
    OfItself,
    /// Says what there is to be had, as manuals do.
    Offering,
    /// Words of references.
    Citing,
}

/// The lists that a sentence has a phrase of: a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PhraseListSet(u32);

impl PhraseListSet {
    /// Looks for all phrases at once, a look-up for each word. `words`: between single blanks, with one at either end.
    pub(super) fn from_words(words: &str) -> PhraseListSet {
        let mut lists = PhraseListSet::default();
        let starts = words.match_indices(' ').map(|(blank, _)| blank + 1);
        for rest in starts.map(|start| &words[start..]) {
            let first = rest.split(' ').next().unwrap_or("");
            for (list, phrase) in BY_FIRST_WORD.get(first).into_iter().flatten() {
                let behind = rest.strip_prefix(phrase);
                if behind.is_some_and(|behind| behind.starts_with(' ')) {
                    lists.0 |= 1 << *list as u32;
                }
            }
        }
        lists
    }

    pub(super) fn has(self, list: PhraseList) -> bool {
        self.0 & 1 << list as u32 != 0
    }
}

/// Each phrase with its list, under its first word.
static BY_FIRST_WORD: LazyLock<HashMap<&str, Vec<(PhraseList, &str)>>> = LazyLock::new(|| {
    let mut phrases: HashMap<&str, Vec<(PhraseList, &str)>> = HashMap::new();
    for &(list, all) in LISTS {
        for phrase in all {
            let first = phrase.split(' ').next().unwrap_or("");
            phrases.entry(first).or_default().push((list, phrase));
        }
    }
    phrases
});

#[rustfmt::skip]
const LISTS: &[(PhraseList, &[&str])] = &[
    (PhraseList::Exemplifying, &["for example", "for instance", "as an example", "an example",
        "this example", "the following example", "to illustrate", "as an illustration",
        "our example", "the above example", "working example", "example of", "illustrates"]),
    (PhraseList::Showing, &["listing", "as follows", "shown below", "the following", "output",
        "prints", "printed", "the result", "this code", "the code", "compile", "run", "we have",
        "we get", "we see", "we can see", "gives", "error", "now"]),
    (PhraseList::We, &["we", "we'll", "we've", "we're", "let's", "us", "our"]),
    (PhraseList::You, &["you", "your", "you'll", "you've", "you're"]),
    (PhraseList::Must, &["must", "should", "shall", "required"]),
    (PhraseList::Enabling, &["can", "may", "allows", "allow", "provides", "provide", "ensures",
        "ensure", "enables", "enable", "supports", "support"]),
    (PhraseList::Past, &["was", "were", "had", "did", "became"]),
    (PhraseList::Notions, &["idea", "concept", "concepts", "principle", "abstraction",
        "abstractions", "mechanism", "mechanisms", "approach", "property", "properties", "problem",
        "purpose", "goal", "notion", "technique", "strategy", "policy", "requirement", "kind of",
        "type of", "types of", "kinds of", "form of", "interface", "structure", "object", "objects",
        "system", "systems"]),
    (PhraseList::Generalising, &["in general", "generally", "usually", "typically", "often", "most",
        "common", "commonly", "always", "any", "every", "never", "many", "fundamental", "basic",
        "simplest"]),
    (PhraseList::Defining, &["is defined as", "are defined as", "is defined to be",
        "are defined by", "is defined by", "we define", "refers to", "refer to", "is known as",
        "are known as", "known as", "by definition", "the law of", "the principle of",
        "states that", "is the study of", "the theorem", "is said to", "we say that", "stands for",
        "means that", "consists of", "consisting of", "the idea of", "abbreviation for", "key idea",
        "fundamental principle"]),
    (PhraseList::OfItself, &["in this chapter", "this chapter", "this section", "in this section",
        "the next section", "the previous section", "this book", "this post", "blog post",
        "this paper", "we will", "we'll", "see section", "see chapter", "see appendix", "chapter",
        "handbook", "manual"]),
    (PhraseList::Offering, &["available", "provided", "package", "packages", "version", "versions",
        "software", "default", "command line", "option", "options"]),
    (PhraseList::Citing, &["doi", "isbn", "retrieved", "archived", "pp", "eds", "et al", "vol",
        "press"]),
];

/// Headings and labels of examples.
#[rustfmt::skip]
pub(super) const EXAMPLES: &[&str] = &[
    "example", "examples", "worked", "demonstration", "walkthrough", "sample session",
    "sample problem", "case study", "tutorial",
];

/// Words of headings under which notions are explained.
#[rustfmt::skip]
pub(super) const DEFINITIONS: &[&str] = &[
    "definition", "definitions", "theorem", "lemma", "law", "laws", "principle", "principles",
    "axioms", "concepts", "terminology", "overview", "key idea", "rules",
];

/// Labels of what is stated formally.
#[rustfmt::skip]
pub(super) const THEOREMS: &[&str] = &[
    "definition", "theorem", "lemma", "corollary", "axiom", "law", "principle",
];

/// How a case to be thought through opens.
#[rustfmt::skip]
pub(super) const SUPPOSING: &[&str] = &[
    "suppose", "consider", "imagine", "let's", "let us", "say", "assume", "now let's",
    "first let's", "here's", "here is", "try", "say we",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_as_whole_words() {
        let found = |words| PhraseListSet::from_words(words);
        assert!(found(" say for example twice ").has(PhraseList::Exemplifying));
        assert!(found(" in short this example ").has(PhraseList::Exemplifying));
        assert!(!found(" for examples abound ").has(PhraseList::Exemplifying));
        assert_eq!(found(" weather report "), PhraseListSet::default());
        assert_eq!(found(" "), PhraseListSet::default());
    }

    #[test]
    fn each_phrase_is_found_as_its_list() {
        for &(list, phrases) in LISTS {
            for phrase in phrases {
                assert!(
                    PhraseListSet::from_words(&format!(" so {phrase} it ")).has(list),
                    "{phrase}"
                );
            }
        }
    }
}
