//! Unicode's sentence bounds, to measure a text by and, joined, to quote it by.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::abbreviations::continues_quotation;
use super::number_len;

pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
    const ISOLATED_STOP: &str = " . ";
    let mut sentences = Vec::new();
    for (at, sentence) in text.split_sentence_bound_indices() {
        let mut start = at;
        for (stop, _) in sentence.match_indices(ISOLATED_STOP) {
            let end = at + stop + ISOLATED_STOP.len();
            sentences.push(start..end);
            start = end;
        }
        let end = at + sentence.len();
        if start < end {
            sentences.push(start..end);
        }
    }
    sentences
}

pub(super) fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // A sentence that may go on.
    let mut open: Option<Range<usize>> = None;
    for piece in sentences(text) {
        open = match open {
            Some(open) if is_continued_by(&text[open.clone()], &text[piece.start..]) => {
                Some(open.start..piece.end)
            }
            open => {
                found.extend(open.and_then(|open| quotation(text, open)));
                Some(piece)
            }
        };
    }
    found.extend(open.and_then(|open| quotation(text, open)));
    found
}

/// Whether the sentence `before` a bound goes on in `rest`.
fn is_continued_by(before: &str, rest: &str) -> bool {
    let trimmed = before.trim_end();
    if trimmed.is_empty() {
        return true;
    }
    if before.ends_with(['\n', '\r', '\u{85}', '\u{2028}']) {
        let line = trimmed.rsplit(['\n', '\r']).next().unwrap_or(trimmed);
        let next = rest.split(['\n', '\r']).next().unwrap_or(rest);
        let breaks = before[trimmed.len()..].matches('\n').count();
        let is_over = trimmed.ends_with(['.', '!', '?', '…', ':', '。', '！', '？', '|']);
        let is_apart = is_block_start(line) && line.trim_start().starts_with('#');
        return breaks < 2
            && !is_over
            && !is_apart
            && !next.trim().is_empty()
            && !is_block_start(next);
    }
    let Some(stopped) = trimmed.strip_suffix('.') else {
        return false;
    };
    let word = stopped.rsplit(|c: char| !c.is_alphabetic()).next();
    let word = word.unwrap_or_default();
    let is_initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    is_initial || continues_quotation(&word.to_lowercase())
}

/// Whether a line opens a heading, a list item, a quotation, a table row or a fence.
fn is_block_start(line: &str) -> bool {
    let line = line.trim_start();
    let marked = line.starts_with(['#', '-', '*', '+', '•', '>', '|', '`', '~', '=']);
    (marked && !line.starts_with("**")) || number_len(line) > 0
}

/// What is quoted of a sentence.
fn quotation(text: &str, sentence: Range<usize>) -> Option<Range<usize>> {
    let whole = text[sentence.clone()].trim();
    if whole.starts_with('#') {
        return None;
    }
    let is_mark = |c: char| matches!(c, '-' | '*' | '+' | '•' | '>' | '–');
    let mut content = whole;
    while let Some(rest) = content.strip_prefix(is_mark).filter(|r| r.starts_with(' ')) {
        content = rest.trim_start();
    }
    let start = sentence.start + text[sentence].find(content)?;
    (!content.is_empty()).then(|| start..start + content.len())
}
