//! Subtitles and timed transcripts: SubRip, WebVTT, and JSON lists of timed sentences.
//!
//! The text is new. Cues are joined to passages of one to three sentences, at most half a minute each, so that every
//! passage has its own time: a [`BlockKind::Turn`] from the start of its first cue to the end of its last, with the
//! speaker where the file names one. A passage also ends at a pause of two seconds and where the speaker changes.
//!
//! Start reading at [`parse`]; cues are read by [`cues`] and [`timed`].

use crate::decode::decode;
use crate::kind::Kind;
use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, ParsedDocument};
use crate::writing::running::RunningText;
use crate::writing::writer::Writer;

mod cues;
mod timed;

pub(super) use cues::is_subtitles;
pub(super) use timed::is_timed;

/// A silence that ends a passage.
const PAUSE_MS: u64 = 2_000;
/// Longest passage.
const PASSAGE_MS_MAX: u64 = 30_000;
const PASSAGE_WORDS_MAX: usize = 80;
/// A passage of this length ends with its sentence.
const PASSAGE_MS_ENOUGH: u64 = 12_000;
const PASSAGE_WORDS_ENOUGH: usize = 40;
const PASSAGE_SENTENCES: usize = 3;

/// What is shown for a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cue {
    start_ms: u64,
    end_ms: u64,
    /// Who speaks; empty where the file does not say.
    speaker: String,
    text: String,
    /// Whether somebody else begins to speak, though the file does not say who.
    is_change: bool,
}

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let decoded = decode(bytes)?;
    let source = &decoded.text[decoded.start..];
    let mut document = ParsedDocument {
        kind: Kind::Subtitles,
        ..ParsedDocument::default()
    };
    let cues = if source.trim_start().starts_with(['{', '[']) {
        timed::read(source, &mut document)?
    } else {
        cues::read(source, &mut document, limits)?
    };
    if cues.iter().all(|cue| cue.text.trim().is_empty()) {
        return Err(ParseError::Empty);
    }
    let mut out = Writer::new(limits);
    let mut passage = Passage::default();
    for cue in &cues {
        if !passage.takes(cue) {
            std::mem::take(&mut passage).write(&mut out)?;
        }
        passage.add(cue);
        if passage.is_done() {
            std::mem::take(&mut passage).write(&mut out)?;
        }
    }
    passage.write(&mut out)?;
    out.finish_into(&mut document);
    Ok(document)
}

fn malformed(reason: impl Into<String>) -> ParseError {
    let (kind, reason) = (Kind::Subtitles, reason.into());
    ParseError::Malformed { kind, reason }
}

/// Some sentences that are said in a row.
#[derive(Default)]
struct Passage {
    cue: Cue,
    running: RunningText,
    words: usize,
    sentences: usize,
}

impl Passage {
    /// Whether the cue may be a part of it.
    fn takes(&self, cue: &Cue) -> bool {
        let pause = cue.start_ms.saturating_sub(self.cue.end_ms);
        let length = cue.end_ms.saturating_sub(self.cue.start_ms);
        self.running.is_blank()
            || (cue.speaker == self.cue.speaker
                && !cue.is_change
                && pause <= PAUSE_MS
                && length <= PASSAGE_MS_MAX)
    }

    fn add(&mut self, cue: &Cue) {
        if self.running.is_blank() {
            self.cue = cue.clone();
        }
        self.cue.end_ms = self.cue.end_ms.max(cue.end_ms);
        self.running.space();
        self.running.push(&cue.text);
        self.words += cue.text.split_whitespace().count();
        self.sentences += cue
            .text
            .split_whitespace()
            .filter(|word| ends_sentence(word))
            .count();
    }

    fn is_done(&self) -> bool {
        let length = self.cue.end_ms - self.cue.start_ms;
        let is_enough = length >= PASSAGE_MS_ENOUGH
            || self.words >= PASSAGE_WORDS_ENOUGH
            || self.sentences >= PASSAGE_SENTENCES;
        self.words >= PASSAGE_WORDS_MAX || (is_enough && ends_sentence(self.running.as_str()))
    }

    fn write(self, out: &mut Writer<'_>) -> Result<(), ParseError> {
        let block = Block {
            kind: BlockKind::Turn {
                speaker: self.cue.speaker,
            },
            time_ms: Some((self.cue.start_ms, self.cue.end_ms)),
            ..Block::default()
        };
        out.write_block(block, self.running)
    }
}

fn ends_sentence(text: &str) -> bool {
    let closing = ['"', '\'', '”', '’', '»', ')', ']', '♪', ' '];
    let text = text.trim_end_matches(closing);
    text.ends_with(['.', '?', '!', '…', '。', '？', '！'])
}

#[cfg(test)]
mod tests;
