//! Words whose full stop does not end a sentence, in lower case.

/// Words that stand before a name or a further word.
const BEFORE_WORDS: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "vs", "cf", "al", "approx", "resp", "ed", "eds",
];
/// More of them, which end a quotation nonetheless.
const MORE_BEFORE_WORDS: &[&str] = &[
    "jr", "sr", "rev", "gen", "col", "lt", "capt", "sgt", "hon", "e.g", "i.e", "viz", "transl",
    "dept", "univ", "assoc", "mt", "jan", "feb", "mar", "apr", "aug", "sept", "oct", "nov", "dec",
    "eg", "ie", "esp", "incl",
];

/// Words that stand before a number.
const BEFORE_NUMBERS: &[&str] = &[
    "fig", "figs", "eq", "eqs", "no", "nos", "vol", "pp", "ch", "sec", "ref", "refs",
];
/// More of them, which end a quotation nonetheless.
const MORE_BEFORE_NUMBERS: &[&str] = &[
    "eqn", "p", "chap", "sect", "tab", "art", "def", "thm", "lem", "prop", "cor", "ex", "app",
    "ver", "v", "ca", "c", "par",
];

/// Whether a full stop behind the lower-case word belongs to it before any further word: `Mr`, `St`, `e.g`.
pub fn is_before_word(lower: &str) -> bool {
    BEFORE_WORDS.contains(&lower) || MORE_BEFORE_WORDS.contains(&lower)
}

/// Whether it does before a number: `Fig`, `vol`.
pub(super) fn is_before_number(lower: &str) -> bool {
    BEFORE_NUMBERS.contains(&lower) || MORE_BEFORE_NUMBERS.contains(&lower)
}

/// Whether a quotation goes on behind the lower-case word with a full stop, whatever follows.
pub(super) fn continues_quotation(lower: &str) -> bool {
    BEFORE_WORDS.contains(&lower) || BEFORE_NUMBERS.contains(&lower)
}
