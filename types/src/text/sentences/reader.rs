//! The sentences of a document as a reader sees them.

use std::ops::Range;

use super::abbreviations::{is_before_number, is_before_word};
use super::number_len;

pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
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
    (1..=3).contains(&number_len(line))
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
            is_before_word(&lower) || (next.is_numeric() && is_before_number(&lower))
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

fn is_time(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "a.m" | "p.m")
}
