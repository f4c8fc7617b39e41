//! Where sentences begin and end.
//!
//! Always true: spans are ascending, do not overlap, neither start nor end with white space, and
//! cover every character that is not white space.
//!
//! A sentence ends at `.`, `!`, `?` or `…` (with closing quotes, brackets and markup after it) when
//! white space follows, what follows can open a sentence, and what precedes is no abbreviation,
//! initial or list number; at ideographic full stops; at an empty line; and before a line that
//! opens a list item. Text in back quotes is never split.

use std::ops::Range;

/// The sentences of `text`, as byte ranges of it. One pass over the characters.
pub fn spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = 0;
    let mut ticks = BacktickState::default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = at + c.len_utf8();
        if c == '`' {
            ticks.toggle(text, at);
        }
        let end = match c {
            '\n' => is_line_break(&text[after..]).then_some(at),
            _ if ticks.open => None,
            '。' | '！' | '？' => Some(after + closing_len(&text[after..])),
            '.' | '!' | '?' | '…' => {
                let stop = after + closing_len(&text[after..]);
                is_sentence_end(text, start, at, c, stop).then_some(stop)
            }
            _ => None,
        };
        let Some(end) = end else { continue };
        ticks.open = false;
        push_trimmed(text, start..end, &mut spans);
        start = end;
        while chars.next_if(|&(i, _)| i < end).is_some() {}
    }
    push_trimmed(text, start..text.len(), &mut spans);
    spans
}

/// Whether code in back quotes is open. An unmatched quote opens nothing.
#[derive(Default)]
struct BacktickState {
    open: bool,
    /// Where the paragraph ends that was looked at last.
    paragraph_end: usize,
}

impl BacktickState {
    fn toggle(&mut self, text: &str, at: usize) {
        if self.paragraph_end <= at {
            self.paragraph_end = text[at..].find("\n\n").map_or(text.len(), |n| at + n);
        }
        self.open = !self.open && text[at + 1..self.paragraph_end].contains('`');
    }
}

fn push_trimmed(text: &str, range: Range<usize>, spans: &mut Vec<Range<usize>>) {
    let part = &text[range.clone()];
    let trimmed = part.trim();
    if trimmed.is_empty() {
        return;
    }
    let start = range.start + (part.len() - part.trim_start().len());
    spans.push(start..start + trimmed.len());
}

/// Bytes of closing quotes, brackets and markup at the start of `rest`.
fn closing_len(rest: &str) -> usize {
    let closes = |c: char| {
        matches!(
            c,
            '"' | '\'' | '”' | '’' | '»' | ')' | ']' | '*' | '_' | '」' | '』'
        )
    };
    rest.find(|c| !closes(c)).unwrap_or(rest.len())
}

/// Whether a line break followed by `rest` parts two sentences.
fn is_line_break(rest: &str) -> bool {
    let line = rest.split('\n').next().unwrap_or("");
    let line = line.trim_start_matches(['>', ' ', '\t']);
    line.trim().is_empty() || starts_list_item(line)
}

/// Whether a line starts with a bullet or a number such as `3.` or `b)`.
fn starts_list_item(line: &str) -> bool {
    let mut chars = line.chars();
    if matches!(chars.next(), Some('-' | '*' | '+' | '•' | '–' | '◦' | '▪')) {
        return chars.next() == Some(' ');
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (1..=3).contains(&digits) && matches!(line.as_bytes()[digits..], [b'.' | b')', b' ', ..])
}

/// Whether the terminator `c` at `at` ends the sentence that began at `start`. `stop`: where its
/// closing characters end.
fn is_sentence_end(text: &str, start: usize, at: usize, c: char, stop: usize) -> bool {
    let rest = &text[stop..];
    if !rest.starts_with(char::is_whitespace) {
        return rest.is_empty();
    }
    let next = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
    let Some(first) = next.trim_start_matches(is_opener).chars().next() else {
        return true;
    };
    if first.is_lowercase() && stop == at + c.len_utf8() {
        return c != '.' && c != '…' && rest.starts_with('\n');
    }
    if first.is_lowercase() {
        return false;
    }
    c != '.' || !is_abbreviated(&text[start..at], first)
}

fn is_opener(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '“' | '‘' | '«' | '(' | '[' | '*' | '_' | '`' | '「' | '『'
    )
}

/// Whether a full stop after `before` belongs to an abbreviation rather than ending a sentence.
fn is_abbreviated(before: &str, next: char) -> bool {
    let word = before
        .rsplit(|c: char| c.is_whitespace() || is_opener(c))
        .next()
        .unwrap_or("");
    let mut letters = word.chars();
    let (first, second) = (letters.next(), letters.next());
    let alone = word.len() == before.trim().len();
    match (first, second) {
        // A full stop of its own, as in `. . .`; but `_markup_.`
        (None, _) => before.is_empty() || before.ends_with(char::is_whitespace),
        // An initial: `J. Smith`; but `vitamin C. The`.
        (Some(c), None) if c.is_uppercase() => next.is_uppercase() && !ends_with_noun(before, word),
        // A number that opens a list item or heading: `3. Then`.
        (Some(c), _) if alone && c.is_numeric() => word.chars().all(|c| c.is_numeric() || c == '.'),
        // `U.S`, `e.g`, `i.e`, `p.m`.
        (Some(_), Some('.')) => {
            word.split('.').all(|part| part.chars().count() == 1) && !is_time(word)
        }
        _ => {
            let lower = word.to_lowercase();
            let titled = TITLES.contains(&lower.as_str());
            titled || (NUMBERED.contains(&lower.as_str()) && next.is_numeric())
        }
    }
}

/// Whether a lower-case word stands before a single capital, which then is a name of something
/// (`plan B`) and not an initial.
fn ends_with_noun(before: &str, word: &str) -> bool {
    let head = before[..before.len() - word.len()].trim_end();
    let last = head.rsplit(char::is_whitespace).next().unwrap_or("");
    last.chars().count() > 3 && last.chars().all(char::is_lowercase)
}

/// Whether a word with a full stop behind it stands before a name: `Mr`, `St`, `Mt`.
pub(crate) fn is_title(word: &str) -> bool {
    TITLES.contains(&word.to_lowercase().as_str())
}

fn is_time(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "a.m" | "p.m")
}

/// Words that end in a full stop and stand before a name or a further word.
const TITLES: &[&str] = &[
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "rev", "gen", "col", "lt", "capt", "sgt",
    "hon", "vs", "cf", "al", "e.g", "i.e", "viz", "approx", "resp", "ed", "eds", "transl", "dept",
    "univ", "assoc", "mt", "jan", "feb", "mar", "apr", "aug", "sept", "oct", "nov", "dec", "eg",
    "ie", "esp", "incl",
];

/// Words that end in a full stop and stand before a number.
const NUMBERED: &[&str] = &[
    "fig", "figs", "eq", "eqs", "eqn", "no", "nos", "vol", "pp", "p", "ch", "chap", "sec", "sect",
    "tab", "ref", "refs", "art", "def", "thm", "lem", "prop", "cor", "ex", "app", "ver", "v", "ca",
    "c", "par",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn splits_as_a_reader_would() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \n ", &[]),
            ("One. Two.", &["One.", "Two."]),
            ("No full stop", &["No full stop"]),
            (
                "Pi is 3.14 and e is 2.71. Both go on.",
                &["Pi is 3.14 and e is 2.71.", "Both go on."],
            ),
            (
                "Dr. Smith met J. R. Jones. They spoke.",
                &["Dr. Smith met J. R. Jones.", "They spoke."],
            ),
            (
                "See Fig. 3 and Eq. 2. Then go on.",
                &["See Fig. 3 and Eq. 2.", "Then go on."],
            ),
            (
                "Some, e.g. Rust, do. Others, i.e. C, do not.",
                &["Some, e.g. Rust, do.", "Others, i.e. C, do not."],
            ),
            (
                "He said “Stop.” Then he left.",
                &["He said “Stop.”", "Then he left."],
            ),
            ("(It is so.) Indeed.", &["(It is so.)", "Indeed."]),
            ("**Be bold.** Then go.", &["**Be bold.**", "Then go."]),
            ("Is it? Yes! Good…", &["Is it?", "Yes!", "Good…"]),
            (
                "Call `a. B.c()` now. Next.",
                &["Call `a. B.c()` now.", "Next."],
            ),
            ("First part\n\nSecond part", &["First part", "Second part"]),
            ("Items:\n- one\n- two", &["Items:", "- one", "- two"]),
            (
                "1. First do this. 2. Then that.",
                &["1. First do this.", "2. Then that."],
            ),
            (
                "> Quoted text. More\n> of it. End.",
                &["> Quoted text.", "More\n> of it.", "End."],
            ),
            (
                "In the U.S. Army it is so. Yes.",
                &["In the U.S. Army it is so.", "Yes."],
            ),
            (
                "Take plan B. The rest waits.",
                &["Take plan B.", "The rest waits."],
            ),
            (
                "Smith et al. showed it. Fine.",
                &["Smith et al. showed it.", "Fine."],
            ),
            (
                "これは本です。あれもです。",
                &["これは本です。", "あれもです。"],
            ),
            (
                "It is _out (LIFO)_. Think.",
                &["It is _out (LIFO)_.", "Think."],
            ),
            ("Wait . . . Go.", &["Wait . . . Go."]),
            (
                "a lone ` tick. Then more.",
                &["a lone ` tick.", "Then more."],
            ),
        ];
        for (text, expected) in cases {
            let got: Vec<&str> = spans(text).into_iter().map(|span| &text[span]).collect();
            assert_eq!(&got, expected, "in {text:?}");
        }
    }

    proptest! {
        #[test]
        fn spans_cover_all_but_white_space(text in "[ a-zA-Z0-9.!?\n`*_>()“”。é-]{0,120}") {
            let mut end = 0;
            for span in spans(&text) {
                prop_assert!(span.start >= end && span.end > span.start);
                prop_assert!(text[end..span.start].trim().is_empty());
                prop_assert_eq!(text[span.clone()].trim(), &text[span.clone()]);
                end = span.end;
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }
}
