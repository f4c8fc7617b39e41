//! Chats: a parent is an exchange (a question, its answer, what follows up on it), a passage a turn.
//!
//! An exchange begins where whoever spoke first in the conversation speaks again. It goes on over a question that only
//! makes sense after what precedes it, and over exchanges about the same.

use std::ops::Range;

use super::outline::ParentSpan;
use super::slides::{cosine, split_run, token_count, word_counts};
use super::units::{Unit, UnitKind};
use crate::text::prose;
use loci_documents::{Block, BlockKind, ParsedDocument};

/// Cosine of the words of two exchanges from which on they are about the same.
const SIMILARITY_MIN: f32 = 0.45;
/// A question of so few words that begins with one of these only makes sense after what precedes it.
const FOLLOW_UP_WORDS_MAX: usize = 12;
#[rustfmt::skip]
const FOLLOW_UPS: &[&str] = &[
    "it", "its", "this", "that", "these", "those", "they", "them", "he", "she", "why", "and", "but",
    "so", "then", "ok", "okay", "thanks", "yes", "no", "what about", "how about", "can you",
    "could you", "please", "now", "again", "shorter", "more", "continue", "go on", "explain",
    "rewrite", "elaborate",
];
/// Who sets the scene rather than asks.
const SYSTEM_ROLES: &[&str] = &["system", "tool", "developer"];

/// Whether several speakers take turns in a document.
pub(super) fn is_conversation(parsed: &ParsedDocument) -> bool {
    let mut speakers = parsed.blocks.iter().filter_map(|block| match &block.kind {
        BlockKind::Turn { speaker } if !speaker.is_empty() => Some(speaker),
        _ => None,
    });
    speakers
        .next()
        .is_some_and(|first| speakers.any(|other| other != first))
}

/// A run of units that one speaker says.
struct Turn {
    units: Range<usize>,
    /// Whether a conversation begins with it.
    starts_conversation: bool,
    speaker: String,
}

/// The parents: exchanges of at most `max` tokens, one that is larger in pieces.
pub(super) fn parent_spans(parsed: &ParsedDocument, units: &[Unit], max: u32) -> Vec<ParentSpan> {
    let turns = turns(parsed, units, 0..units.len());
    let mut exchanges: Vec<(Range<usize>, bool)> = Vec::new();
    let mut asker: Option<&str> = None;
    for turn in &turns {
        if turn.starts_conversation {
            asker = None;
        }
        let is_scene = SYSTEM_ROLES.contains(&&turn.speaker[..]);
        if !is_scene && asker.is_none() {
            asker = Some(&turn.speaker);
        }
        let after_scene = exchanges
            .last()
            .is_some_and(|(_, has_question)| !has_question);
        let begins = !after_scene && (is_scene || asker == Some(&turn.speaker[..]));
        match exchanges
            .last_mut()
            .filter(|_| !turn.starts_conversation && !begins)
        {
            Some((exchange, has_question)) => {
                exchange.end = turn.units.end;
                *has_question |= !is_scene;
            }
            None => exchanges.push((turn.units.clone(), !is_scene)),
        }
    }
    let merged = merge_related(parsed, units, &turns, exchanges, max);
    let cut = merged
        .into_iter()
        .flat_map(|run| split_run(units, run, max));
    cut.map(|run| ParentSpan {
        units: run,
        parent: None,
        has_leaves: true,
    })
    .collect()
}

/// Joins exchanges that follow up on the one before, or are about the same.
fn merge_related(
    parsed: &ParsedDocument,
    units: &[Unit],
    turns: &[Turn],
    exchanges: Vec<(Range<usize>, bool)>,
    max: u32,
) -> Vec<Range<usize>> {
    let text = |run: &Range<usize>| {
        let prose = units[run.clone()]
            .iter()
            .filter(|unit| unit.kind == UnitKind::Sentence);
        let prose = prose.map(|unit| &parsed.text[unit.range.clone()]);
        prose.collect::<Vec<_>>().join(" ")
    };
    let mut merged: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    for (exchange, _) in exchanges {
        let first = turns.binary_search_by_key(&exchange.start, |turn| turn.units.start);
        let first = first.ok().map(|at| &turns[at]);
        let question = first.map_or(String::new(), |turn| text(&turn.units));
        let words = word_counts(&text(&exchange));
        let joins = first.is_some_and(|turn| !turn.starts_conversation)
            && (is_follow_up(&question)
                || before
                    .as_ref()
                    .is_some_and(|before| cosine(before, &words) >= SIMILARITY_MIN));
        let fits =
            |group: &&mut Range<usize>| token_count(&units[group.start..exchange.end]) <= max;
        match merged.last_mut().filter(|_| joins).filter(fits) {
            Some(group) => group.end = exchange.end,
            None => merged.push(exchange),
        }
        before = Some(words);
    }
    merged
}

fn is_follow_up(question: &str) -> bool {
    let words: Vec<String> = prose::words(question)
        .iter()
        .map(|word| word.surface.to_lowercase())
        .collect();
    let opening = words
        .iter()
        .take(2)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ");
    let opens = |cue: &&str| {
        opening == *cue
            || opening
                .strip_prefix(*cue)
                .is_some_and(|rest| rest.starts_with(' '))
    };
    words.len() <= FOLLOW_UP_WORDS_MAX && FOLLOW_UPS.iter().any(opens)
}

/// The parts of a parent that passages stay within: turns.
pub(super) fn parts(
    parsed: &ParsedDocument,
    units: &[Unit],
    run: Range<usize>,
) -> Vec<Range<usize>> {
    turns(parsed, units, run)
        .into_iter()
        .map(|turn| turn.units)
        .collect()
}

fn turns(parsed: &ParsedDocument, units: &[Unit], run: Range<usize>) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    // A turn that is only the heading of its conversation takes the words that follow along.
    let mut is_bare = false;
    for at in run {
        let is_first = at == 0 || units[at - 1].block != units[at].block;
        let kind = parsed.blocks.get(units[at].block).map(|block| &block.kind);
        let speaker = match kind {
            Some(BlockKind::Turn { speaker }) if is_first => Some(speaker.to_lowercase()),
            _ => None,
        };
        let is_heading = matches!(kind, Some(BlockKind::Heading(1))) && is_first;
        match (turns.last_mut(), speaker) {
            (Some(turn), Some(speaker)) if is_bare => {
                turn.units.end = at + 1;
                turn.speaker = speaker;
            }
            (Some(turn), None) if !is_heading => turn.units.end = at + 1,
            (Some(turn), Some(speaker)) if turn.speaker == speaker => turn.units.end = at + 1,
            (last, speaker) => {
                let opens = is_heading || last.is_none();
                turns.push(Turn {
                    units: at..at + 1,
                    starts_conversation: opens,
                    speaker: speaker.unwrap_or_default(),
                });
            }
        }
        is_bare = units[at].is_heading() && (is_heading || is_bare);
    }
    turns
}

/// Who speaks in each block: the speaker of the last turn before it that has a name, in its conversation.
pub(super) fn speakers(parsed: &ParsedDocument) -> Vec<Option<&str>> {
    let mut speakers = Vec::with_capacity(parsed.blocks.len());
    let mut speaking = None;
    for block in &parsed.blocks {
        speaking = match block_speaker(block) {
            None if block.kind == BlockKind::Heading(1) => None,
            None => speaking,
            named => named,
        };
        speakers.push(speaking);
    }
    speakers
}

fn block_speaker(block: &Block) -> Option<&str> {
    match &block.kind {
        BlockKind::Turn { speaker } if !speaker.is_empty() => Some(speaker),
        _ => None,
    }
}

/// Who speaks in a run of units, where it is one. `speakers`: of all blocks.
pub(super) fn speaker<'p>(
    parsed: &'p ParsedDocument,
    speakers: &[Option<&'p str>],
    units: &[Unit],
    run: &Range<usize>,
) -> Option<&'p str> {
    let first = units.get(run.start)?.block;
    let last = units.get(run.end.checked_sub(1)?)?.block;
    let own = parsed.blocks.get(first..=last)?;
    let before = first
        .checked_sub(1)
        .and_then(|at| speakers.get(at).copied().flatten());
    own.iter().find_map(block_speaker).or(before)
}
