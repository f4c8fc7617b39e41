//! Phrases of English that the cues look for, in lower case and without punctuation.

/// Headings and labels of examples.
pub(super) const EXAMPLES: &[&str] = &[
    "example",
    "examples",
    "worked",
    "demonstration",
    "walkthrough",
    "sample session",
    "sample problem",
    "case study",
    "tutorial",
];

/// Words of headings under which notions are explained.
pub(super) const DEFINITIONS: &[&str] = &[
    "definition",
    "definitions",
    "theorem",
    "lemma",
    "law",
    "laws",
    "principle",
    "principles",
    "axioms",
    "concepts",
    "terminology",
    "overview",
    "key idea",
    "rules",
];

/// Labels of what is stated formally.
pub(super) const THEOREMS: &[&str] = &[
    "definition",
    "theorem",
    "lemma",
    "corollary",
    "axiom",
    "law",
    "principle",
];

/// What says that an example is given.
pub(super) const EXEMPLIFYING: &[&str] = &[
    "for example",
    "for instance",
    "as an example",
    "an example",
    "this example",
    "the following example",
    "to illustrate",
    "as an illustration",
    "our example",
    "the above example",
    "working example",
    "example of",
    "illustrates",
];

/// How a case to be thought through opens.
pub(super) const SUPPOSING: &[&str] = &[
    "suppose",
    "consider",
    "imagine",
    "let's",
    "let us",
    "say",
    "assume",
    "now let's",
    "first let's",
    "here's",
    "here is",
    "try",
    "say we",
];

/// What shows code, output or a result.
pub(super) const SHOWING: &[&str] = &[
    "listing",
    "as follows",
    "shown below",
    "the following",
    "output",
    "prints",
    "printed",
    "the result",
    "this code",
    "the code",
    "compile",
    "run",
    "we have",
    "we get",
    "we see",
    "we can see",
    "gives",
    "error",
    "now",
];

/// What says what something makes possible.
pub(super) const ENABLING: &[&str] = &[
    "can", "may", "allows", "allow", "provides", "provide", "ensures", "ensure", "enables",
    "enable", "supports", "support",
];

/// Nouns for notions and their parts.
pub(super) const NOTIONS: &[&str] = &[
    "idea",
    "concept",
    "concepts",
    "principle",
    "abstraction",
    "abstractions",
    "mechanism",
    "mechanisms",
    "approach",
    "property",
    "properties",
    "problem",
    "purpose",
    "goal",
    "notion",
    "technique",
    "strategy",
    "policy",
    "requirement",
    "kind of",
    "type of",
    "types of",
    "kinds of",
    "form of",
    "interface",
    "structure",
    "object",
    "objects",
    "system",
    "systems",
];

/// What says that something holds in general.
pub(super) const GENERALISING: &[&str] = &[
    "in general",
    "generally",
    "usually",
    "typically",
    "often",
    "most",
    "common",
    "commonly",
    "always",
    "any",
    "every",
    "never",
    "many",
    "fundamental",
    "basic",
    "simplest",
];

/// Phrases that define.
pub(super) const DEFINING: &[&str] = &[
    "is defined as",
    "are defined as",
    "is defined to be",
    "are defined by",
    "is defined by",
    "we define",
    "refers to",
    "refer to",
    "is known as",
    "are known as",
    "known as",
    "by definition",
    "the law of",
    "the principle of",
    "states that",
    "is the study of",
    "the theorem",
    "is said to",
    "we say that",
    "stands for",
    "means that",
    "consists of",
    "consisting of",
    "the idea of",
    "abbreviation for",
    "key idea",
    "fundamental principle",
];

/// How a text speaks of itself.
pub(super) const OF_ITSELF: &[&str] = &[
    "in this chapter",
    "this chapter",
    "this section",
    "in this section",
    "the next section",
    "the previous section",
    "this book",
    "this post",
    "blog post",
    "this paper",
    "we will",
    "we'll",
    "see section",
    "see chapter",
    "see appendix",
    "chapter",
    "handbook",
    "manual",
];

/// What a manual says of what there is to be had.
pub(super) const OFFERING: &[&str] = &[
    "available",
    "provided",
    "package",
    "packages",
    "version",
    "versions",
    "software",
    "default",
    "command line",
    "option",
    "options",
];
