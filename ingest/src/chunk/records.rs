//! Records of runs of units.

use std::ops::Range;

use loci_documents::{BlockKind, Kind, ParsedDocument};
use locidb::NewChunk;
use locidb::storage::records::{ChunkRecord, ContentType, Level};

use super::marks::Marks;
use super::numbering::section_numbers;
use super::outline::Outline;
use super::positions::Positions;
use super::units::{Unit, UnitKind};
use crate::classify::{self, kinds};
use crate::text::{prose, terms};
use crate::tokens;

/// Makes records of runs of units.
pub(super) struct ChunkBuilder<'a> {
    pub(super) parsed: &'a ParsedDocument,
    pub(super) units: &'a [Unit],
    pub(super) outline: &'a Outline,
    positions: Positions<'a>,
    marks: Marks<'a>,
    /// The visible title of every section.
    titles: Vec<String>,
}

/// The longest heading that a path quotes, in characters.
const HEADING_CHARS_MAX: usize = 200;

impl<'a> ChunkBuilder<'a> {
    pub(super) fn new(
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

    pub(super) fn kind_of(&self, unit: usize) -> Option<&BlockKind> {
        let block = self.parsed.blocks.get(self.units.get(unit)?.block)?;
        Some(&block.kind)
    }

    pub(super) fn build(
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
    pub(super) fn build_at(
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
pub(super) fn set_text(record: &mut ChunkRecord, text: String) {
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
