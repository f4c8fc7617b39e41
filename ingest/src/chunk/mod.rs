//! A parsed file cut into parents and passages.
//!
//! Always true of what [`chunk`] returns:
//!
//! - it is a function of the file and the settings alone;
//! - parents stand before their children, and a subtree is a run;
//! - `text` is exactly the document's text at `location.chars`, but for a summary, and for a proposition whose opening
//!   pronoun was resolved;
//! - a passage (level `Paragraph`) lies inside its parent's text, and together passages cover every character that is not
//!   white space; in the three-level mode sections do;
//! - no section has more than [`ChunkSettings::parent_tokens`] tokens and no passage more than
//!   [`ChunkSettings::hard_tokens`] (a few tokens more only where one word had to be cut).
//!
//! How it goes: [`units`] cuts the text into sentences and whole blocks, a [`Way`] groups them into parents, and [`pack`]
//! fills each parent with passages.
//!
//! | way | parent | passage |
//! | --- | --- | --- |
//! | papers and books ([`outline`]) | section of up to 1,024 tokens, split at subsections when larger | 256 tokens of whole sentences, a fifth repeated |
//! | pages: Markdown, HTML | section under a heading of level 2 | the same, but never across a heading |
//! | slides ([`slides`]) | slide with its notes, or adjacent ones of like titles | text, table, picture or note of one slide |
//! | chats ([`exchanges`]) | exchange: question, answer, what follows up | turn |
//! | source code | file | definitions of about 512 tokens |
//! | three levels ([`statements`]) | summary of the document, over sections of 200 to 400 tokens | propositions of 50 to 150 tokens |
//!
//! In the sentence mode each sentence of a passage is a chunk below it.
//! Start reading at [`chunk`].

mod exchanges;
pub(crate) mod marks;
pub(crate) mod numbering;
mod outline;
mod pack;
pub(crate) mod positions;
mod slides;
mod statements;
#[cfg(test)]
mod tests;
pub(crate) mod units;

use std::ops::Range;

use loci_documents::{BlockKind, Kind, ParsedDocument};
use locidb::NewChunk;
use locidb::storage::records::{ChunkRecord, ContentType, Level};
use serde::{Deserialize, Serialize};

use crate::summary::summary;
use crate::{classify, kinds, prose, terms, tokens};
use marks::Marks;
use numbering::section_numbers;
use outline::{Outline, ParentLimits, ParentSpan, plan};
use pack::{Leaf, PackLimits, WordBags, pack};
use positions::Positions;
use units::{Unit, UnitKind, UnitLimits, units};

/// How a file is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chunking {
    /// By the kind of file: source code by definitions, everything else by headings.
    #[default]
    Auto,
    /// By headings, whatever the kind of file.
    Hierarchical,
    /// A summary of the document, sections, and propositions; source code as by [`Chunking::Auto`].
    ThreeLevel,
    /// As [`Chunking::Auto`], with the sentences of each passage below it.
    Sentence,
}

/// How the units of a file become parents and passages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkStrategy {
    Hierarchical,
    WebPages,
    Slides,
    Exchanges,
    Definitions,
    ThreeLevel,
}

impl ChunkStrategy {
    fn for_document(parsed: &ParsedDocument, mode: Chunking) -> ChunkStrategy {
        match (mode, parsed.kind) {
            (Chunking::Hierarchical, _) => ChunkStrategy::Hierarchical,
            (_, Kind::Code(_)) => ChunkStrategy::Definitions,
            (Chunking::ThreeLevel, _) => ChunkStrategy::ThreeLevel,
            (_, Kind::Pptx) => ChunkStrategy::Slides,
            (_, Kind::Markdown | Kind::Html) => ChunkStrategy::WebPages,
            _ if exchanges::is_conversation(parsed) => ChunkStrategy::Exchanges,
            _ => ChunkStrategy::Hierarchical,
        }
    }
}

/// Sizes are in tokens as [`tokens::count`] estimates them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChunkSettings {
    /// The most that a section holds.
    pub parent_tokens: u32,
    /// What passages of prose aim at.
    pub child_tokens: u32,
    /// What passages of source code aim at.
    pub code_tokens: u32,
    /// Share of `child_tokens` that a passage may repeat of the one before, in 0..=0.5.
    pub overlap: f32,
    /// A passage of half its target ends where the cosine of the words on both sides of a gap falls
    /// below this. Corpus-independent, so that a file is always cut alike; 0 never ends one.
    pub similarity_min: f32,
    /// How files are cut.
    pub mode: Chunking,
}

impl Default for ChunkSettings {
    /// Parents of 1,024 tokens, passages of 256 with a fifth of overlap.
    fn default() -> Self {
        ChunkSettings {
            parent_tokens: 1024,
            child_tokens: 256,
            code_tokens: 512,
            overlap: 0.20,
            similarity_min: 0.08,
            mode: Chunking::Auto,
        }
    }
}

impl ChunkSettings {
    /// The preset of passages of 512 with 50 repeated, in parents of 2,048.
    pub fn large() -> Self {
        ChunkSettings {
            parent_tokens: 2048,
            child_tokens: 512,
            overlap: 50.0 / 512.0,
            ..Self::default()
        }
    }

    /// The most that a passage holds: a code block, table or equation up to this size stays whole.
    pub fn passage_tokens_max(&self) -> u32 {
        self.child_tokens
            .saturating_mul(2)
            .max(self.code_tokens)
            .min(self.parent_tokens)
    }

    /// The settings with every value brought into the range in which chunks make sense.
    fn clamped(mut self) -> Self {
        self.child_tokens = self.child_tokens.clamp(8, 1 << 20);
        self.code_tokens = self.code_tokens.clamp(8, 1 << 20);
        self.parent_tokens = self
            .parent_tokens
            .max(self.child_tokens.max(self.code_tokens));
        self.overlap = if self.overlap.is_finite() {
            self.overlap.clamp(0.0, 0.5)
        } else {
            0.0
        };
        self
    }

    fn unit_limits(&self, strategy: ChunkStrategy) -> UnitLimits {
        match strategy {
            ChunkStrategy::Definitions => UnitLimits {
                tokens_max: self.code_tokens,
                split_tokens: self.code_tokens,
            },
            ChunkStrategy::ThreeLevel => UnitLimits {
                tokens_max: SECTION_LIMITS.tokens_max,
                split_tokens: SECTION_LIMITS.target_tokens,
            },
            _ => UnitLimits {
                tokens_max: self.passage_tokens_max(),
                split_tokens: self.child_tokens,
            },
        }
    }

    fn pack_limits(&self, strategy: ChunkStrategy) -> PackLimits {
        let child_tokens_part = |part: f32| (self.child_tokens as f32 * part) as u32;
        let prose = PackLimits {
            target_tokens: self.child_tokens,
            tokens_max: self.passage_tokens_max(),
            overlap: child_tokens_part(self.overlap),
            similarity_min: self.similarity_min,
            heading_min: self.child_tokens / 4,
            tail_min: self.child_tokens / 8,
            merges_headed_tail: false,
        };
        match strategy {
            ChunkStrategy::Hierarchical => prose,
            ChunkStrategy::WebPages => PackLimits {
                heading_min: HEADED_TOKENS_MIN.min(prose.heading_min),
                ..prose
            },
            ChunkStrategy::Slides | ChunkStrategy::Exchanges => PackLimits {
                overlap: 0,
                ..prose
            },
            ChunkStrategy::Definitions => PackLimits {
                target_tokens: self.code_tokens,
                tokens_max: self.code_tokens,
                overlap: 0,
                similarity_min: 0.0,
                heading_min: self.code_tokens / 4,
                tail_min: self.code_tokens / 8,
                merges_headed_tail: false,
            },
            ChunkStrategy::ThreeLevel => PackLimits {
                similarity_min: self.similarity_min,
                ..SECTION_LIMITS
            },
        }
    }
}

/// Tokens from which on a passage of a page ends before a heading.
const HEADED_TOKENS_MIN: u32 = 30;

/// Sections of the three-level mode.
const SECTION_LIMITS: PackLimits = PackLimits {
    target_tokens: 400,
    tokens_max: 500,
    overlap: 50,
    similarity_min: 0.0,
    heading_min: 150,
    tail_min: 150,
    merges_headed_tail: true,
};

/// Tokens of the summary of a document.
const SUMMARY_TOKENS: Range<u32> = 100..200;

/// Cuts `parsed` into its chunk tree, in pre-order. An empty text gives no chunks.
///
/// Fills every field of the records but `suffix` and `content_hash`, which are the store's, and
/// `citation_count`. Linear in the text.
///
/// The ranges of `parsed` must be valid ([`ParsedDocument::validate`]); it panics otherwise.
pub fn chunk(parsed: &ParsedDocument, settings: &ChunkSettings) -> Vec<NewChunk> {
    let settings = settings.clamped();
    let strategy = ChunkStrategy::for_document(parsed, settings.mode);
    let units = units(parsed, settings.unit_limits(strategy));
    let outline = Outline::new(&units);
    let bags = match strategy {
        ChunkStrategy::Definitions => WordBags::empty(),
        _ => WordBags::new(&parsed.text, parsed.kind, &units),
    };
    let maker = ChunkBuilder::new(parsed, &units, &outline);
    let limits = settings.pack_limits(strategy);
    let mut chunks = match strategy {
        ChunkStrategy::ThreeLevel => maker.three_levels(&bags, limits),
        _ => maker.two_levels(&bags, limits, strategy, &settings),
    };
    set_subtree_ends(&mut chunks);
    chunks
}

fn next_ordinal(chunks: &[NewChunk]) -> u32 {
    u32::try_from(chunks.len()).expect("a text of fewer than 2^32 chunks")
}

/// Sets `subtree_end`: one past the last chunk that descends from a chunk.
fn set_subtree_ends(chunks: &mut [NewChunk]) {
    for i in (0..chunks.len()).rev() {
        let end = chunks[i].record.subtree_end.max(i as u32 + 1);
        chunks[i].record.subtree_end = end;
        if let Some(parent) = chunks[i].record.parent {
            let above = &mut chunks[parent as usize].record.subtree_end;
            *above = (*above).max(end);
        }
    }
}

/// Makes records of runs of units.
struct ChunkBuilder<'a> {
    parsed: &'a ParsedDocument,
    units: &'a [Unit],
    outline: &'a Outline,
    positions: Positions<'a>,
    marks: Marks<'a>,
    /// The visible title of every section.
    titles: Vec<String>,
}

/// The longest heading that a path quotes, in characters.
const HEADING_CHARS_MAX: usize = 200;

impl<'a> ChunkBuilder<'a> {
    fn new(
        parsed: &'a ParsedDocument,
        units: &'a [Unit],
        outline: &'a Outline,
    ) -> ChunkBuilder<'a> {
        let block = |heading: usize| &parsed.blocks[units[heading].block];
        let title =
            |heading: usize| visible_title(&parsed.text[block(heading).range.clone()], parsed.kind);
        let titles = outline
            .sections
            .iter()
            .map(|s| s.heading.map(title).unwrap_or_default());
        ChunkBuilder {
            parsed,
            units,
            outline,
            positions: Positions::new(&parsed.text),
            marks: Marks::new(parsed),
            titles: titles.collect(),
        }
    }

    /// Parents and passages, and sentences where they are wanted.
    fn two_levels(
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
    fn three_levels(&self, bags: &WordBags, limits: PackLimits) -> Vec<NewChunk> {
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

    fn kind_of(&self, unit: usize) -> Option<&BlockKind> {
        let block = self.parsed.blocks.get(self.units.get(unit)?.block)?;
        Some(&block.kind)
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

    fn build(
        &self,
        run: Range<usize>,
        section: usize,
        level: Level,
        parent: Option<u32>,
    ) -> NewChunk {
        let range = self.units[run.start].range.start..self.units[run.end - 1].range.end;
        self.build_at(range, run, section, level, parent)
    }

    /// `range`: the text, within the units `run`.
    fn build_at(
        &self,
        range: Range<usize>,
        run: Range<usize>,
        section: usize,
        level: Level,
        parent: Option<u32>,
    ) -> NewChunk {
        let (first, last) = (&self.units[run.start], &self.units[run.end - 1]);
        let text = &self.parsed.text[range.clone()];
        let token_count = tokens::count(text);
        let symbols = self.symbols(run.clone());
        let mut heading_path = self.heading_path(section);
        let place = section_numbers(&heading_path);
        let mut terms = self.terms(run.clone(), token_count);
        let heading = heading_path.last().map(String::as_str);
        let passage = classify::Passage::from_range(self.parsed, range.clone(), heading);
        if !symbols.is_empty() {
            heading_path.extend(qualifier(&symbols));
            terms.key_terms = symbols
                .iter()
                .map(|s| (*s).to_owned())
                .take(terms::KEY_TERMS_MAX)
                .collect();
        }
        let word_count = tokens::words(text);
        let record = ChunkRecord {
            parent,
            level,
            section_type: match level {
                Level::Section => {
                    let heading = heading_path.last().map(String::as_str);
                    Some(kinds::section_type(heading, self.composition(run.clone())))
                }
                _ => None,
            },
            content_type: self.content_type(run),
            chunk_type: classify::classify(&passage),
            text: text.to_owned(),
            heading_path,
            location: self
                .positions
                .location(self.parsed, range, first.block..last.block + 1),
            token_count,
            word_count,
            reading_time_s: Some(tokens::reading_time_s(word_count)),
            chapter_number: place.chapter_number,
            chapter_title: place.chapter_title,
            section_number: place.section_number,
            section_title: place.section_title,
            summary: terms.summary,
            keywords: terms.keywords,
            key_terms: terms.key_terms,
            equations: terms.equations,
            figure_refs: terms.figure_refs,
            has_diagrams: terms.has_diagrams,
            symbol: common_symbol(&symbols),
            images: self.images(first.block..last.block + 1),
            ..ChunkRecord::default()
        };
        NewChunk {
            record,
            vector: None,
        }
    }

    /// Names of the pictures in some blocks, each once.
    fn images(&self, blocks: Range<usize>) -> Vec<String> {
        let blocks = self.parsed.blocks.get(blocks).unwrap_or_default();
        let mut images: Vec<String> = Vec::new();
        for image in blocks.iter().flat_map(|block| &block.images) {
            if !images.contains(image) {
                images.push(image.clone());
            }
        }
        images
    }

    fn heading_path(&self, section: usize) -> Vec<String> {
        let titles = self
            .outline
            .path(section)
            .into_iter()
            .map(|section| &self.titles[section]);
        titles.filter(|title| !title.is_empty()).cloned().collect()
    }

    /// What most of the tokens are.
    fn content_type(&self, run: Range<usize>) -> ContentType {
        let total: u32 = self.units[run.clone()].iter().map(|unit| unit.tokens).sum();
        let share = |kind: ContentType| {
            let of_kind = self.units[run.clone()]
                .iter()
                .filter(|unit| unit.kind == UnitKind::Atom(kind));
            of_kind.map(|unit| unit.tokens).sum::<u32>()
        };
        let mostly = |kind: &ContentType| share(*kind) * 2 > total;
        [ContentType::Code, ContentType::Table, ContentType::Image]
            .into_iter()
            .find(mostly)
            .unwrap_or_default()
    }

    fn composition(&self, run: Range<usize>) -> kinds::SectionComposition {
        let mut makeup = kinds::SectionComposition::default();
        for unit in &self.units[run] {
            makeup.tokens += unit.tokens;
            match unit.kind {
                UnitKind::Sentence => {
                    let text = &self.parsed.text[unit.range.clone()];
                    let visible = prose::visible(text, self.parsed.kind);
                    makeup.sentences += 1;
                    makeup.imperatives += usize::from(kinds::is_imperative(&visible));
                }
                UnitKind::Atom(ContentType::Table) => makeup.tabular_tokens += unit.tokens,
                UnitKind::Atom(ContentType::Code) => makeup.code_tokens += unit.tokens,
                _ => {}
            }
        }
        makeup
    }

    /// Names of the definitions in a run, each once.
    fn symbols(&self, run: Range<usize>) -> Vec<&str> {
        let mut symbols: Vec<&str> = Vec::new();
        for unit in &self.units[run] {
            let block = self.parsed.blocks.get(unit.block).map(|block| &block.kind);
            if let Some(BlockKind::Definition { symbol, .. }) = block
                && !symbol.is_empty()
                && !symbols.contains(&symbol.as_str())
            {
                symbols.push(symbol);
            }
        }
        symbols
    }

    fn terms(&self, run: Range<usize>, token_count: u32) -> terms::PassageTerms {
        let mut passage = terms::PassageText::default();
        let bounds = self.units[run.start].range.start..self.units[run.end - 1].range.end;
        for unit in &self.units[run] {
            let text = &self.parsed.text[unit.range.clone()];
            match unit.kind {
                // Comments of a source file are read by what they document, not as prose.
                UnitKind::Sentence if self.parsed.kind.is_code() => {}
                UnitKind::Sentence => passage
                    .sentences
                    .push(prose::visible(text, self.parsed.kind)),
                UnitKind::Atom(ContentType::Text) => passage.displayed.push(text.trim().to_owned()),
                _ => {}
            }
            let block = self.parsed.blocks.get(unit.block).map(|block| &block.kind);
            passage.has_figure |= matches!(block, Some(BlockKind::Caption | BlockKind::Figure));
        }
        let marked = self
            .marks
            .within(bounds)
            .map(|mark| &self.parsed.text[mark.range.clone()]);
        passage.marked = marked
            .map(|text| prose::visible(text, self.parsed.kind))
            .collect();
        terms::terms(&passage, token_count)
    }
}

/// Gives a chunk a text that its document does not have.
fn set_text(record: &mut ChunkRecord, text: String) {
    record.token_count = tokens::count(&text);
    record.word_count = tokens::words(&text);
    record.reading_time_s = Some(tokens::reading_time_s(record.word_count));
    record.text = text;
}

/// A heading without markup, cut to [`HEADING_CHARS_MAX`].
fn visible_title(text: &str, kind: Kind) -> String {
    let first: String = text.chars().take(4 * HEADING_CHARS_MAX).collect();
    prose::visible(&first, kind)
        .chars()
        .take(HEADING_CHARS_MAX)
        .collect()
}

/// The symbol of a passage of code: its only one, or what all of them belong to, or the first.
fn common_symbol(symbols: &[&str]) -> Option<String> {
    match symbols {
        [] => None,
        [one] => Some((*one).to_owned()),
        [first, ..] => qualifier(symbols).or_else(|| Some((*first).to_owned())),
    }
}

/// What all of `symbols` belong to: `Stack` of `Stack::push` and `Stack::pop`.
fn qualifier(symbols: &[&str]) -> Option<String> {
    let owner = |symbol: &str| {
        symbol
            .rfind("::")
            .or_else(|| symbol.rfind('.'))
            .map(|end| symbol[..end].to_owned())
    };
    let first = symbols.first().and_then(|symbol| owner(symbol))?;
    symbols
        .iter()
        .all(|&s| s == first || owner(s).as_deref() == Some(&first))
        .then_some(first)
}
