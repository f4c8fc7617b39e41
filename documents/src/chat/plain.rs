//! Chats as plain text: `User: …`, `**Assistant:** …`, `[12:03] Ann: …`, `1/2/23, 9:14 PM - Ann: …`.
//!
//! A file is taken for a chat by its content only when its first line begins a turn, and two or more speakers alternate
//! at least three times. Their names must be those of a chat (`User`, `AI`, `Q`), or are behind a time: a play and an
//! interview have names as well.

use std::ops::Range;

use super::{blocks_of, is_prose, malformed};
use crate::decode::Decoded;
use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, ParsedDocument};
use crate::writing::blocks::Blocks;

/// Names that only people and programs in a chat have.
const ROLES: &str = "user assistant human ai bot chatbot system chatgpt gpt gpt-4 gpt-4o claude gemini \
    copilot llama model tool me you q a question answer customer agent prompt response";
/// Changes of the speaker that make a chat.
const CHANGES_MIN: usize = 3;
const NAME_LEN_MAX: usize = 40;
const STAMP_LEN_MAX: usize = 30;
/// A recording's first turn is said within this time; clocks show more.
const FIRST_OFFSET_MAX_MS: u64 = 10 * 60 * 1000;

/// A line that begins a turn.
struct Label<'s> {
    speaker: &'s str,
    stamp: Option<&'s str>,
    /// Where its line begins.
    line: usize,
    /// What is before the text, without space and marks around it.
    range: Range<usize>,
    /// Where the text begins.
    content: usize,
}

/// Whether text, of which the start is enough, is a chat.
pub(crate) fn is_chat(head: &str) -> bool {
    let is_sure = |label: &Label<'_>| label.stamp.is_some() || is_role(label.speaker);
    let first = head.lines().find(|line| !line.trim().is_empty());
    if !first.is_some_and(|line| label(line, 0).is_some_and(|label| is_sure(&label))) {
        return false;
    }
    let labels = labels(head);
    let speakers: Vec<&str> = labels
        .iter()
        .filter(|label| is_sure(label))
        .map(|label| label.speaker)
        .collect();
    let changes = speakers
        .windows(2)
        .filter(|pair| pair[0] != pair[1])
        .count();
    changes >= CHANGES_MIN
}

/// Whether the first line begins a turn, whoever speaks.
pub(super) fn begins_turn(source: &str) -> bool {
    let first = source.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| label(line, 0).is_some())
}

pub(super) fn parse(decoded: Decoded, limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let text = &decoded.text;
    let labels = trusted_labels(text, decoded.start);
    let Some(first) = labels.first() else {
        return Err(malformed(
            "no line begins with a speaker's name and a colon",
        ));
    };
    let mut out = Blocks::new(limits);
    for mut block in blocks_of(&text[decoded.start..first.line.max(decoded.start)], limits)? {
        block.shift(decoded.start);
        out.push_block(block)?;
    }
    let times = times(&labels);
    for (i, label) in labels.iter().enumerate() {
        let end = labels.get(i + 1).map_or(text.len(), |next| next.line);
        let mut blocks = blocks_of(&text[label.content..end], limits)?;
        let time_ms = times.as_ref().and_then(|times| times.get(i).copied());
        let speaker = label.speaker.to_owned();
        let kind = BlockKind::Turn { speaker };
        match blocks.first_mut().filter(|block| is_prose(block)) {
            Some(first) => first.kind = kind,
            None => out.push_block(Block {
                kind,
                range: label.range.clone(),
                time_ms,
                ..Block::default()
            })?,
        }
        for mut block in blocks {
            block.shift(label.content);
            block.time_ms = time_ms;
            out.push_block(block)?;
        }
    }
    Ok(ParsedDocument {
        blocks: out.finish(),
        text_is_original: true,
        text: decoded.text,
        ..ParsedDocument::default()
    })
}

/// The labels whose names are trusted: those of a chat, behind a time, or used more than once.
fn trusted_labels(text: &str, start: usize) -> Vec<Label<'_>> {
    let mut labels = labels(text);
    labels.retain(|label| label.range.start >= start);
    let mut counts = std::collections::HashMap::new();
    for label in &labels {
        *counts.entry(label.speaker).or_insert(0_usize) += 1;
    }
    let is_stamped = labels.iter().filter(|label| label.stamp.is_some()).count() * 2 > labels.len();
    labels.retain(|label| {
        if is_stamped {
            label.stamp.is_some()
        } else {
            is_role(label.speaker) || counts[label.speaker] > 1
        }
    });
    labels
}

fn labels(text: &str) -> Vec<Label<'_>> {
    let mut labels = Vec::new();
    let (mut at, mut in_code) = (0, false);
    for line in text.split_inclusive('\n') {
        let found = if in_code { None } else { label(line, at) };
        let content = found
            .as_ref()
            .map_or(line, |label| &text[label.content..at + line.len()]);
        in_code ^= content.trim_start().starts_with("```");
        labels.extend(found);
        at += line.len();
    }
    labels
}

fn is_role(name: &str) -> bool {
    let name = name.to_lowercase();
    ROLES.split(' ').any(|role| role == name)
}

/// The label that a line begins with, which starts at byte `at` of the text.
fn label(line: &str, at: usize) -> Option<Label<'_>> {
    let marks =
        |c: char| c.is_whitespace() || matches!(c, '*' | '#' | '>' | '_' | '\u{feff}' | '\u{200e}');
    let start = line.len() - line.trim_start_matches(marks).len();
    let (stamp, rest) = match stamped(&line[start..]) {
        Some((stamp, rest)) => (Some(stamp), rest.trim_start_matches(marks)),
        None => (None, &line[start..]),
    };
    let colon = rest.bytes().take(NAME_LEN_MAX).position(|b| b == b':')?;
    let name = rest[..colon].trim_matches(marks);
    let is_name = name.starts_with(char::is_alphabetic)
        && name.split_whitespace().count() <= 4
        && !name.contains([
            '.', ',', ';', '?', '!', '"', '(', '/', '=', '`', '<', '{', '[',
        ]);
    let after = &rest[colon + 1..];
    let content = after.trim_start_matches(['*', '_']);
    let is_apart = content.is_empty() || content.starts_with(char::is_whitespace);
    if !is_name || !is_apart {
        return None;
    }
    let end = line.len() - after.len();
    let content = line.len() - content.trim_start_matches([' ', '\t']).len();
    Some(Label {
        speaker: name,
        stamp,
        line: at,
        range: at + start..at + end,
        content: at + content,
    })
}

/// A time before a name, and what follows it: `[12:03] `, `(00:12:03) `, `1/2/23, 9:14 PM - `.
fn stamped(line: &str) -> Option<(&str, &str)> {
    let has_time =
        |stamp: &str| stamp.contains(':') && stamp.starts_with(|c: char| c.is_ascii_digit());
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(inner) = line.strip_prefix(open) {
            let (stamp, rest) = inner.split_once(close)?;
            return (stamp.len() <= STAMP_LEN_MAX && has_time(stamp)).then_some((stamp, rest));
        }
    }
    let (stamp, rest) = line.split_once(" - ")?;
    (stamp.len() <= STAMP_LEN_MAX && has_time(stamp)).then_some((stamp, rest))
}

/// When each turn is said, where all are stamped with the time since a recording began.
fn times(labels: &[Label<'_>]) -> Option<Vec<(u64, u64)>> {
    let starts: Option<Vec<u64>> = labels.iter().map(|label| offset_ms(label.stamp?)).collect();
    let starts = starts?;
    let is_offset = starts
        .first()
        .is_some_and(|first| *first <= FIRST_OFFSET_MAX_MS)
        && starts.is_sorted()
        && starts.last() > starts.first();
    let ends = starts.iter().skip(1).chain(starts.last());
    is_offset.then(|| starts.iter().copied().zip(ends.copied()).collect())
}

/// `12:03` and `01:12:03` in milliseconds.
fn offset_ms(stamp: &str) -> Option<u64> {
    let mut seconds: u64 = 0;
    let parts: Vec<&str> = stamp.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    for part in parts {
        let is_number = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let value: u64 = is_number.then(|| part.parse().ok())??;
        seconds = seconds.checked_mul(60)?.checked_add(value)?;
    }
    seconds.checked_mul(1000)
}
