//! The levels of chunks: parents over passages, or a summary over sections over propositions.

use std::ops::Range;

use loci_documents::BlockKind;
use locidb::NewChunk;
use locidb::storage::records::{ContentType, Level};

use super::outline::{ParentLimits, ParentSpan, plan};
use super::pack::{Leaf, PackLimits, WordBags, pack};
use super::records::{ChunkBuilder, set_text};
use super::settings::{ChunkSettings, Chunking};
use super::strategy::ChunkStrategy;
use super::units::UnitKind;
use super::{exchanges, slides, statements};
use crate::classify::kinds;
use crate::text::prose;
use crate::text::summary::summary;

/// Tokens of the summary of a document.
const SUMMARY_TOKENS: Range<u32> = 100..200;

fn next_ordinal(chunks: &[NewChunk]) -> u32 {
    u32::try_from(chunks.len()).expect("a text of fewer than 2^32 chunks")
}

/// Sets `subtree_end`: one past the last chunk that descends from a chunk.
pub(super) fn set_subtree_ends(chunks: &mut [NewChunk]) {
    for i in (0..chunks.len()).rev() {
        let end = chunks[i].record.subtree_end.max(i as u32 + 1);
        chunks[i].record.subtree_end = end;
        if let Some(parent) = chunks[i].record.parent {
            let above = &mut chunks[parent as usize].record.subtree_end;
            *above = (*above).max(end);
        }
    }
}

impl ChunkBuilder<'_> {
    /// Parents and passages, and sentences where they are wanted.
    pub(super) fn two_levels(
        &self,
        bags: &WordBags,
        limits: PackLimits,
        strategy: ChunkStrategy,
        settings: &ChunkSettings,
    ) -> Vec<NewChunk> {
        let pieces = self.parent_spans(strategy, settings);
        let speakers = match strategy {
            ChunkStrategy::Exchanges => exchanges::speakers(self.parsed),
            _ => Vec::new(),
        };
        let mut chunks: Vec<NewChunk> = Vec::new();
        let mut places = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let own = next_ordinal(&chunks);
            places.push(own);
            let parent = piece.parent.map(|piece| places[piece]);
            chunks.push(self.section(piece.units.clone(), parent));
            if !piece.has_leaves {
                continue;
            }
            for part in self.split_at_boundaries(strategy, piece.units) {
                for leaf in pack(self.units, bags, part, limits) {
                    let passage = next_ordinal(&chunks);
                    chunks.push(self.passage(&leaf, own, &speakers));
                    if settings.mode == Chunking::Sentence {
                        chunks.extend(self.sentences(leaf.start..leaf.end, passage));
                    }
                }
            }
        }
        chunks
    }

    fn parent_spans(&self, strategy: ChunkStrategy, settings: &ChunkSettings) -> Vec<ParentSpan> {
        let max = settings.parent_tokens;
        let limits = ParentLimits {
            max,
            merge_below: settings.child_tokens / 2,
            whole_level_min: match strategy {
                ChunkStrategy::WebPages => 2,
                _ => 0,
            },
        };
        match strategy {
            ChunkStrategy::Slides => slides::parent_spans(self.parsed, self.units, max),
            ChunkStrategy::Exchanges => exchanges::parent_spans(self.parsed, self.units, max),
            ChunkStrategy::Definitions => {
                let mut pieces = plan(self.units, self.outline, limits);
                // The file is the parent of everything in it.
                let others = pieces.iter_mut().skip(1);
                others.for_each(|piece| piece.parent = Some(0));
                pieces
            }
            _ => plan(self.units, self.outline, limits),
        }
    }

    /// The parts of a parent that no passage reaches beyond.
    fn split_at_boundaries(&self, strategy: ChunkStrategy, run: Range<usize>) -> Vec<Range<usize>> {
        match strategy {
            ChunkStrategy::Slides => slides::parts(self.parsed, self.units, run),
            ChunkStrategy::Exchanges => exchanges::parts(self.parsed, self.units, run),
            _ => vec![run],
        }
    }

    /// A summary, sections below it, and propositions below these.
    pub(super) fn three_levels(&self, bags: &WordBags, limits: PackLimits) -> Vec<NewChunk> {
        let mut chunks: Vec<NewChunk> = Vec::new();
        chunks.extend(self.summary());
        let root = (!chunks.is_empty()).then_some(0);
        for leaf in pack(self.units, bags, 0..self.units.len(), limits) {
            let own = next_ordinal(&chunks);
            let section = self
                .outline
                .common_section(self.units, leaf.start..leaf.end);
            chunks.push(self.build(leaf.overlap_start..leaf.end, section, Level::Section, root));
            let ranges = statements::statements(
                self.parsed,
                self.units,
                leaf.start..leaf.end,
                statements::STATEMENT_SIZES,
            );
            chunks.extend(ranges.into_iter().map(|range| self.proposition(range, own)));
        }
        chunks
    }

    /// The sentences that say most of the whole; `None` where there is no prose.
    fn summary(&self) -> Option<NewChunk> {
        let is_prose = |at: &usize| self.units[*at].kind == UnitKind::Sentence;
        let prose: Vec<usize> = (0..self.units.len()).filter(is_prose).collect();
        let text = |at: &usize| {
            let text = &self.parsed.text[self.units[*at].range.clone()];
            prose::visible(text, self.parsed.kind)
        };
        let sentences: Vec<String> = prose.iter().map(text).collect();
        let chosen = summary(&sentences, SUMMARY_TOKENS.start, SUMMARY_TOKENS.end);
        let (first, last) = (prose[*chosen.first()?], prose[*chosen.last()?]);
        let mut chunk = self.build(first..last + 1, 0, Level::Summary, None);
        let record = &mut chunk.record;
        let selected = chosen.iter().map(|&at| &sentences[at][..]);
        set_text(record, selected.collect::<Vec<_>>().join(" "));
        record.location.boxes.clear();
        record.heading_path.clear();
        record.images.clear();
        record.content_type = ContentType::Text;
        Some(chunk)
    }

    /// A statement at a range of the text.
    fn proposition(&self, range: Range<usize>, parent: u32) -> NewChunk {
        let first = self
            .units
            .partition_point(|unit| unit.range.end <= range.start);
        let end = self
            .units
            .partition_point(|unit| unit.range.start < range.end);
        let run = first..end.max(first + 1);
        let section = self.outline.common_section(self.units, run.clone());
        let mut chunk = self.build_at(range, run, section, Level::Proposition, Some(parent));
        let is_list = self.kind_of(first) == Some(&BlockKind::ListItem);
        let record = &mut chunk.record;
        if record.content_type != ContentType::Text {
            return chunk;
        }
        record.content_type = ContentType::Proposition;
        let subject = statements::heading_subject(&record.heading_path);
        let resolved =
            subject.and_then(|subject| statements::resolve_pronoun(&record.text, &subject));
        if let Some(resolved) = resolved {
            set_text(record, resolved);
        }
        let visible = prose::visible(&record.text, self.parsed.kind);
        record.proposition_type = Some(kinds::proposition_type(&visible, is_list));
        record.verifiable = Some(kinds::is_verifiable(&visible));
        record.confidence = kinds::confidence(&visible);
        let is_name = |term: &&String| term.starts_with(char::is_uppercase);
        record.entities = record.key_terms.iter().filter(is_name).cloned().collect();
        chunk
    }

    /// The sentences among some units, below a passage.
    fn sentences(&self, run: Range<usize>, parent: u32) -> impl Iterator<Item = NewChunk> {
        let prose = run.filter(|&at| self.units[at].kind == UnitKind::Sentence);
        prose.map(move |at| {
            let section = self.outline.common_section(self.units, at..at + 1);
            let mut chunk = self.build(at..at + 1, section, Level::Sentence, Some(parent));
            let record = &mut chunk.record;
            let visible = prose::visible(&record.text, self.parsed.kind);
            let heading = record.heading_path.last().map(String::as_str);
            record.sentence_type = Some(kinds::sentence_type(&visible, heading));
            chunk
        })
    }

    fn section(&self, run: Range<usize>, parent: Option<u32>) -> NewChunk {
        let section = self.outline.common_section(self.units, run.clone());
        self.build(run, section, Level::Section, parent)
    }

    /// `speakers`: of the blocks of a chat.
    fn passage(&self, leaf: &Leaf, parent: u32, speakers: &[Option<&str>]) -> NewChunk {
        let section = self
            .outline
            .common_section(self.units, leaf.start..leaf.end);
        let run = leaf.overlap_start..leaf.end;
        let mut chunk = self.build(run.clone(), section, Level::Paragraph, Some(parent));
        let speaker = exchanges::speaker(self.parsed, speakers, self.units, &run);
        if let Some(speaker) = speaker.filter(|_| !speakers.is_empty()) {
            let speaker = ("speaker".to_owned(), speaker.to_owned());
            chunk.record.metadata.push(speaker);
        }
        chunk
    }
}
