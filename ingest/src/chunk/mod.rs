//! A parsed file cut into parents and passages.
//!
//! Always true of what [`chunk`] returns:
//!
//! - it is a function of the file and the settings alone;
//! - parents stand before their children, and a subtree is a run;
//! - `text` is exactly the document's text at `location.chars`;
//! - passages (level `Paragraph`) are the leaves; each lies inside its parent's text, and together
//!   they cover every character that is not white space;
//! - no section has more than [`ChunkSettings::parent_tokens`] tokens and no passage more than
//!   [`ChunkSettings::hard_tokens`] (a few tokens more only where one word had to be cut).
//!
//! How it goes: [`units`] cuts the text into sentences and whole blocks, [`outline`] groups them
//! into parents by headings, [`pack`] fills each parent with passages. For source code a unit is a
//! definition, the file is the parent, and passages are groups of definitions.
//! Start reading at [`chunk`].

pub(crate) mod marks;
pub(crate) mod numbering;
mod outline;
mod pack;
pub(crate) mod positions;
#[cfg(test)]
mod tests;
pub(crate) mod units;

use std::ops::Range;

use locidb::NewChunk;
use locidb::storage::records::{ChunkRecord, ChunkType, ContentType, FileType, Level};

use crate::tree::{BlockKind, ParsedDocument};
use crate::{classify, prose, terms, tokens};
use marks::Marks;
use numbering::place;
use outline::{Outline, Piece, PieceLimits, plan};
use pack::{Bags, PackLimits, pack};
use positions::Positions;
use units::{Limits, Unit, UnitKind, units};

/// How a file is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunking {
    /// By the kind of file: source code by definitions, everything else by headings.
    #[default]
    Auto,
    /// By headings, whatever the kind of file.
    Hierarchical,
}

/// Sizes are in tokens as [`tokens::count`] estimates them.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    pub fn hard_tokens(&self) -> u32 {
        self.child_tokens
            .saturating_mul(2)
            .max(self.code_tokens)
            .min(self.parent_tokens)
    }

    /// The settings with every value brought into the range in which chunks make sense.
    fn sane(mut self) -> Self {
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

    /// Whether `parsed` is cut by definitions.
    pub(crate) fn by_definitions(&self, parsed: &ParsedDocument) -> bool {
        self.mode == Chunking::Auto && parsed.file_type == FileType::Code
    }

    fn unit_limits(&self, by_definitions: bool) -> Limits {
        match by_definitions {
            true => Limits {
                hard: self.code_tokens,
                piece: self.code_tokens,
            },
            false => Limits {
                hard: self.hard_tokens(),
                piece: self.child_tokens,
            },
        }
    }

    fn pack_limits(&self, by_definitions: bool) -> PackLimits {
        let share = |part: f32| (self.child_tokens as f32 * part) as u32;
        match by_definitions {
            true => PackLimits {
                target: self.code_tokens,
                hard: self.code_tokens,
                overlap: 0,
                similarity_min: 0.0,
            },
            false => PackLimits {
                target: self.child_tokens,
                hard: self.hard_tokens(),
                overlap: share(self.overlap),
                similarity_min: self.similarity_min,
            },
        }
    }
}

/// Cuts `parsed` into its chunk tree, in pre-order. An empty text gives no chunks.
///
/// Fills every field of the records but `suffix` and `content_hash`, which are the store's, and
/// `citation_count`. Linear in the text.
///
/// The ranges of `parsed` must be valid ([`ParsedDocument::validate`]); it panics otherwise.
pub fn chunk(parsed: &ParsedDocument, settings: &ChunkSettings) -> Vec<NewChunk> {
    let settings = settings.sane();
    let by_definitions = settings.by_definitions(parsed);
    let units = units(parsed, settings.unit_limits(by_definitions));
    let outline = Outline::new(&units);
    let limits = PieceLimits {
        max: settings.parent_tokens,
        small: settings.child_tokens / 2,
    };
    let mut pieces = plan(&units, &outline, limits);
    let bags = match by_definitions {
        true => Bags::none(),
        false => Bags::new(&parsed.text, parsed.file_type, &units),
    };
    if by_definitions {
        // The file is the parent of everything in it.
        pieces
            .iter_mut()
            .skip(1)
            .for_each(|piece| piece.parent = Some(0));
    }
    let maker = Maker::new(parsed, &units, &outline);
    let mut chunks: Vec<NewChunk> = Vec::new();
    let mut places = Vec::with_capacity(pieces.len());
    for Piece {
        units: run,
        parent,
        has_leaves,
    } in pieces
    {
        let own = place_of(&chunks);
        places.push(own);
        chunks.push(maker.section(run.clone(), parent.map(|piece| places[piece])));
        if has_leaves {
            let leaves = pack(&units, &bags, run, settings.pack_limits(by_definitions));
            chunks.extend(
                leaves
                    .into_iter()
                    .map(|leaf| maker.passage(leaf.repeated..leaf.end, leaf.own, own)),
            );
        }
    }
    close_subtrees(&mut chunks);
    chunks
}

fn place_of(chunks: &[NewChunk]) -> u32 {
    u32::try_from(chunks.len()).expect("a text of fewer than 2^32 chunks")
}

/// Sets `subtree_end`: one past the last chunk that descends from a chunk.
fn close_subtrees(chunks: &mut [NewChunk]) {
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
struct Maker<'a> {
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

impl<'a> Maker<'a> {
    fn new(parsed: &'a ParsedDocument, units: &'a [Unit], outline: &'a Outline) -> Maker<'a> {
        let block = |heading: usize| &parsed.blocks[units[heading].block];
        let title = |heading: usize| {
            visible_title(&parsed.text[block(heading).range.clone()], parsed.file_type)
        };
        let titles = outline
            .sections
            .iter()
            .map(|s| s.heading.map(title).unwrap_or_default());
        Maker {
            parsed,
            units,
            outline,
            positions: Positions::new(&parsed.text),
            marks: Marks::new(parsed),
            titles: titles.collect(),
        }
    }

    fn section(&self, run: Range<usize>, parent: Option<u32>) -> NewChunk {
        let section = self.outline.common(self.units, run.clone());
        self.make(run, section, Level::Section, parent)
    }

    /// `own`: the first unit that is not repeated from the passage before.
    fn passage(&self, run: Range<usize>, own: usize, parent: u32) -> NewChunk {
        let section = self.outline.common(self.units, own..run.end);
        self.make(run, section, Level::Paragraph, Some(parent))
    }

    fn make(
        &self,
        run: Range<usize>,
        section: usize,
        level: Level,
        parent: Option<u32>,
    ) -> NewChunk {
        let (first, last) = (&self.units[run.start], &self.units[run.end - 1]);
        let range = first.range.start..last.range.end;
        let text = &self.parsed.text[range.clone()];
        let token_count = tokens::count(text);
        let symbols = self.symbols(run.clone());
        let mut heading_path = self.heading_path(section);
        let place = place(&heading_path);
        let mut told = self.terms(
            run.clone(),
            heading_path.last().map(String::as_str),
            token_count,
        );
        if !symbols.is_empty() {
            heading_path.extend(qualifier(&symbols));
            told.terms.key_terms = symbols
                .iter()
                .map(|s| (*s).to_owned())
                .take(terms::KEY_TERMS_MAX)
                .collect();
        }
        let word_count = tokens::words(text);
        let record = ChunkRecord {
            parent,
            level,
            content_type: self.content_type(run),
            chunk_type: told.chunk_type,
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
            summary: told.terms.summary,
            keywords: told.terms.keywords,
            key_terms: told.terms.key_terms,
            equations: told.terms.equations,
            figure_refs: told.terms.figure_refs,
            has_diagrams: told.terms.has_diagrams,
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

    fn terms(&self, run: Range<usize>, heading: Option<&str>, token_count: u32) -> Told {
        let mut passage = terms::Passage::default();
        let bounds = self.units[run.start].range.start..self.units[run.end - 1].range.end;
        for unit in &self.units[run] {
            let text = &self.parsed.text[unit.range.clone()];
            match unit.kind {
                // Comments of a source file are read by what they document, not as prose.
                UnitKind::Sentence if self.parsed.file_type == FileType::Code => {}
                UnitKind::Sentence => passage
                    .sentences
                    .push(prose::visible(text, self.parsed.file_type)),
                UnitKind::Atom(ContentType::Text) => passage.displayed.push(text.trim().to_owned()),
                _ => {}
            }
            let block = self.parsed.blocks.get(unit.block).map(|block| &block.kind);
            passage.has_figure |= matches!(block, Some(BlockKind::Caption | BlockKind::Figure));
        }
        let marked = self
            .marks
            .inside(bounds)
            .map(|mark| &self.parsed.text[mark.range.clone()]);
        passage.marked = marked
            .map(|text| prose::visible(text, self.parsed.file_type))
            .collect();
        let chunk_type = match passage.sentences.is_empty() {
            true => ChunkType::Other,
            false => classify::classify(heading, &passage.sentences),
        };
        Told {
            terms: terms::terms(&passage, token_count),
            chunk_type,
        }
    }
}

/// A heading without markup, cut to [`HEADING_CHARS_MAX`].
fn visible_title(text: &str, file_type: FileType) -> String {
    let first: String = text.chars().take(4 * HEADING_CHARS_MAX).collect();
    prose::visible(&first, file_type)
        .chars()
        .take(HEADING_CHARS_MAX)
        .collect()
}

/// What a passage tells of itself.
struct Told {
    terms: terms::Terms,
    chunk_type: ChunkType,
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
