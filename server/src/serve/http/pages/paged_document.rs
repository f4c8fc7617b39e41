//! A document as it is read: which chunks are its text, on which pages they stand, and what of them is where.
//!
//! Always true: what is looked at grows with the document's outline and one part's text, and with neither's square.
//!
//! Start reading at [`Book`].

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use loci_protocol::call::{GetChunk, GetDocument};
use loci_protocol::fault::Fault;
use locidb::query::cite::Citation;
use locidb::storage::DocumentKey;
use locidb::storage::records::{FileType, Level};

use super::fields::percent_encode;
use super::principal::Principal;
use super::text_blocks::Style;
use crate::service;
use loci_views::documents::{ListedChunk, ShownDocument};

/// Chunks to each side that a call tells at most.
pub(super) const CONTEXT_MAX: usize = 10;
/// Estimated tokens of a part, about.
const PART_TOKENS: u64 = 6_000;
/// Characters of a chunk that are shown at most.
const CHUNK_CHARS_MAX: usize = 200_000;
/// Blanks between two chunks of code that are put in again at most.
const GAP_MAX: u64 = 400;

/// A document that is read.
#[derive(Debug)]
pub(super) struct PagedDocument {
    pub(super) outline: ShownDocument,
    /// Its key, as links have it.
    pub(super) encoded_key: String,
    /// The chunks whose texts are the document, one after another: places among its chunks.
    pub(super) spine: Vec<usize>,
    /// Which of these stand on a page together.
    pub(super) parts: Vec<Range<usize>>,
}

impl PagedDocument {
    /// Reads the outline of a document. Costs one call.
    ///
    /// # Errors
    /// Those of the call.
    pub(super) async fn load(
        principal: &Principal,
        key: DocumentKey,
    ) -> Result<PagedDocument, Fault> {
        let coded = percent_encode(&key.to_string());
        let shown = principal.view(GetDocument { key }).await?;
        let spine = reading_order(&shown.chunks);
        let parts = split_parts(&shown.chunks, &spine);
        Ok(PagedDocument {
            outline: shown,
            encoded_key: coded,
            spine,
            parts,
        })
    }

    /// A chunk by its place.
    pub(super) fn chunk(&self, index: usize) -> Option<&ListedChunk> {
        self.outline.chunks.get(index)
    }

    /// The part where a chunk is read: that of itself, or of what it is part of, or of the next that is read.
    pub(super) fn part_of(&self, chunk: usize) -> usize {
        let at = self.spine_position(chunk);
        let part = self.parts.partition_point(|part| part.end <= at);
        part.min(self.parts.len().saturating_sub(1))
    }

    /// The chunks that are read in a part.
    pub(super) fn part_chunks(&self, part: usize) -> &[usize] {
        let part = self.parts.get(part);
        part.map(|part| &self.spine[part.clone()])
            .unwrap_or_default()
    }

    fn spine_position(&self, chunk: usize) -> usize {
        let mut above = Some(chunk);
        while let Some(index) = above {
            if let Ok(at) = self.spine.binary_search(&index) {
                return at;
            }
            // A parent stands before its children, so that this ends.
            above = self
                .chunk(index)
                .and_then(|of| of.parent)
                .map(|of| of as usize)
                .filter(|of| *of < index);
        }
        let next = self.spine.partition_point(|index| *index < chunk);
        next.min(self.spine.len().saturating_sub(1))
    }

    /// The texts of a part. Costs one call.
    pub(super) async fn load_texts(
        &self,
        principal: &Principal,
        part: usize,
    ) -> Result<HashMap<String, String>, Fault> {
        let Some(part) = self.parts.get(part).filter(|part| !part.is_empty()) else {
            return Ok(HashMap::new());
        };
        let middle = part.start + part.len() / 2;
        let Some(chunk) = self.chunk(self.spine[middle]) else {
            return Ok(HashMap::new());
        };
        let key = chunk
            .chunk
            .parse()
            .map_err(|error| service::internal(&error))?;
        let context = (middle - part.start).max(part.end - 1 - middle) as u32;
        let shown = principal.view(GetChunk { key, context }).await?;
        let near = shown.before.into_iter().chain(shown.after);
        let mut texts: HashMap<String, String> = near.map(|near| (near.chunk, near.text)).collect();
        texts.insert(shown.chunk, shown.record.text);
        Ok(texts)
    }

    /// What is cited, where it is told in other words than the document's.
    pub(super) async fn cited_text(
        &self,
        principal: &Principal,
        cited: Option<usize>,
    ) -> Result<Option<String>, Fault> {
        let Some(cited) = cited.and_then(|index| self.chunk(index)) else {
            return Ok(None);
        };
        if matches!(
            cited.level,
            Level::Section | Level::Paragraph | Level::Sentence
        ) {
            return Ok(None);
        }
        let key = cited
            .chunk
            .parse()
            .map_err(|error| service::internal(&error))?;
        let shown = principal.view(GetChunk { key, context: 0 }).await?;
        Ok(Some(shown.record.text))
    }

    /// What a reader calls the document.
    pub(super) fn title(&self) -> &str {
        let path = self
            .outline
            .chunks
            .first()
            .and_then(|chunk| chunk.citation.path.first());
        let record = &self.outline.document;
        path.or(record.title.as_ref()).unwrap_or(&record.key)
    }

    /// The document's headings, each with how many are above it.
    pub(super) fn headings(&self) -> HashMap<&str, usize> {
        let paths = self.outline.chunks.iter().map(|chunk| &chunk.citation.path);
        let headings = paths.flat_map(|path| {
            path.iter()
                .enumerate()
                .map(|(above, title)| (title.trim(), above))
        });
        let mut all = HashMap::new();
        for (title, above) in headings.filter(|(title, _)| !title.is_empty()) {
            all.entry(title).or_insert(above);
        }
        all
    }

    /// The text of a chunk. `before`: the one before it, whose text it may repeat the end of.
    pub(super) fn chunk_text(
        &self,
        index: usize,
        texts: &HashMap<String, String>,
        before: Option<&Citation>,
    ) -> Option<ChunkText> {
        let listed = self.chunk(index)?;
        let text = texts.get(&listed.chunk)?;
        let (start, end) = listed.citation.chars;
        let mut chars: Vec<char> = text.chars().collect();
        let is_aligned = end.checked_sub(start) == Some(chars.len() as u64) && !chars.is_empty();
        let mut from = start;
        if let Some(before) = before.filter(|_| is_aligned) {
            let repeated = before.chars.1.saturating_sub(start).min(chars.len() as u64);
            chars.drain(..repeated as usize);
            from += repeated;
            if self.style() == Style::Code {
                let gap = whitespace_between(before, &listed.citation);
                from -= gap.len() as u64;
                chars.splice(0..0, gap);
            }
        }
        let is_cut = chars.len() > CHUNK_CHARS_MAX;
        chars.truncate(CHUNK_CHARS_MAX);
        Some(ChunkText {
            index,
            chars,
            first_char: is_aligned.then_some(from),
            is_cut,
        })
    }

    /// How its text is set.
    pub(super) fn style(&self) -> Style {
        match self.outline.document.file_type {
            FileType::Markdown => Style::Markdown,
            FileType::Code => Style::Code,
            _ => Style::Plain,
        }
    }

    /// What of a piece is cited.
    pub(super) fn cited_range(
        &self,
        piece: &ChunkText,
        cited: Option<usize>,
    ) -> Option<Range<usize>> {
        let cited = cited?;
        let whole = 0..piece.chars.len();
        let (start, end) = self.chunk(cited)?.citation.chars;
        match piece.first_char {
            Some(from) if end > start => {
                let within = |at: u64| at.saturating_sub(from).min(whole.end as u64) as usize;
                Some(within(start)..within(end)).filter(|range| !range.is_empty())
            }
            _ => {
                (self.spine.get(self.spine_position(cited)) == Some(&piece.index)).then_some(whole)
            }
        }
    }

    /// The chunks that begin within a piece, by where.
    pub(super) fn chunk_starts(&self, piece: &ChunkText) -> Vec<ChunkStart<'_>> {
        let own = self.chunk(piece.index);
        let whole = |chunk| ChunkStart::new(chunk, 0, piece.chars.len());
        let Some(from) = piece.first_char else {
            return own.map(whole).into_iter().collect();
        };
        let to = from + piece.chars.len() as u64;
        let is_read =
            |chunk: &&ListedChunk| matches!(chunk.level, Level::Section | Level::Paragraph);
        let chunks = self.outline.chunks.iter().filter(is_read);
        let mut stops: Vec<ChunkStart<'_>> = chunks
            .filter_map(|chunk| {
                let (start, end) = chunk.citation.chars;
                let is_within = end > start && (from..to).contains(&start);
                is_within
                    .then(|| ChunkStart::new(chunk, (start - from) as usize, (end - from) as usize))
            })
            .collect();
        // The start of what repeats the end of a chunk before lies in that one's text.
        stops.extend(own.filter(|own| own.citation.chars.0 < from).map(whole));
        // A picture is shown once, beside the shortest chunk that has it.
        stops.sort_by_key(|stop| stop.end - stop.at);
        let mut seen = HashSet::new();
        for stop in &mut stops {
            stop.images.retain(|name| seen.insert(*name));
        }
        stops.sort_by_key(|stop| (stop.at, Reverse(stop.end)));
        stops
    }
}

/// The text of a chunk as it is set.
#[derive(Debug)]
pub(super) struct ChunkText {
    /// Its place among the document's chunks.
    pub(super) index: usize,
    pub(super) chars: Vec<char>,
    /// Where it begins among the document's characters, where those are known to be its own.
    first_char: Option<u64>,
    /// Whether it goes on.
    pub(super) is_cut: bool,
}

/// A chunk that begins within a piece.
#[derive(Debug)]
pub(super) struct ChunkStart<'s> {
    /// Characters of the piece.
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) number: u32,
    /// The page, slide or time where it stands.
    pub(super) location: Option<String>,
    /// Pictures that are shown here.
    pub(super) images: Vec<&'s String>,
}

impl ChunkStart<'_> {
    fn new(chunk: &ListedChunk, at: usize, end: usize) -> ChunkStart<'_> {
        let citation = &chunk.citation;
        let page = citation.page.or(citation.pages.map(|(first, _)| first));
        let location = page.map(|page| format!("Page {page}"));
        let location = location.or_else(|| citation.slide.map(|slide| format!("Slide {slide}")));
        let location = location.or_else(|| {
            citation
                .timestamp
                .as_ref()?
                .split('–')
                .next()
                .map(str::to_owned)
        });
        ChunkStart {
            at,
            end,
            number: chunk_number(chunk),
            location,
            images: chunk.images.iter().collect(),
        }
    }
}

/// A chunk's number in its document.
pub(super) fn chunk_number(chunk: &ListedChunk) -> u32 {
    let number = chunk.chunk.rsplit('#').next();
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}

/// The chunks that are read one after another: sections, where they hold all passages; else passages, else whatever the
/// document has.
fn reading_order(chunks: &[ListedChunk]) -> Vec<usize> {
    let of = |level: Level| -> Vec<usize> {
        chunks
            .iter()
            .enumerate()
            .filter(|(_, chunk)| chunk.level == level)
            .map(|(index, _)| index)
            .collect()
    };
    let sections = of(Level::Section);
    let passages = of(Level::Paragraph);
    let is_within = |index: &usize| {
        let above = chunks[*index]
            .parent
            .and_then(|above| chunks.get(above as usize));
        above.is_some_and(|above| matches!(above.level, Level::Section | Level::Paragraph))
    };
    if !sections.is_empty() && passages.iter().all(is_within) {
        return sections;
    }
    if passages.is_empty() {
        chunks
            .first()
            .map(|first| of(first.level))
            .unwrap_or_default()
    } else {
        passages
    }
}

/// Which chunks of the spine stand on a page together.
fn split_parts(chunks: &[ListedChunk], spine: &[usize]) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut tokens = 0;
    for (at, index) in spine.iter().enumerate() {
        let more = u64::from(chunks[*index].tokens);
        match parts.last_mut() {
            Some(part) if tokens + more <= PART_TOKENS && part.len() <= 2 * CONTEXT_MAX => {
                part.end = at + 1;
                tokens += more;
            }
            _ => {
                parts.push(at..at + 1);
                tokens = more;
            }
        }
    }
    parts
}

/// What stands between two chunks of code: line ends and an indent, which are no part of either.
fn whitespace_between(before: &Citation, after: &Citation) -> Vec<char> {
    let blanks = after.chars.0.saturating_sub(before.chars.1).min(GAP_MAX);
    let lines = match (before.lines, after.lines) {
        (Some((_, last)), Some((first, _))) => u64::from(first.saturating_sub(last)).min(blanks),
        _ => blanks,
    };
    // Each chunk is set on lines of its own, which is the first line end.
    let ends = (1..lines).map(|_| '\n');
    ends.chain((lines..blanks).map(|_| ' ')).collect()
}

#[cfg(test)]
mod tests {
    use locidb::storage::records::{ChunkType, DocumentRecord};

    use super::*;

    fn listed(level: Level, parent: Option<u32>, chars: (u64, u64)) -> ListedChunk {
        ListedChunk {
            chunk: "d#0".into(),
            parent,
            level,
            chunk_type: ChunkType::Other,
            tokens: 1_000,
            images: Vec::new(),
            citation: Citation {
                chars,
                ..Citation::default()
            },
        }
    }

    fn book(chunks: Vec<ListedChunk>, file_type: FileType) -> PagedDocument {
        let spine = reading_order(&chunks);
        let parts = split_parts(&chunks, &spine);
        let document = DocumentRecord {
            file_type,
            ..DocumentRecord::default()
        };
        let shown = ShownDocument {
            document,
            chunks,
            assets: Vec::new(),
            records: Vec::new(),
        };
        PagedDocument {
            outline: shown,
            encoded_key: "d".into(),
            spine,
            parts,
        }
    }

    #[test]
    fn sections_are_the_reading_order_when_they_contain_all_passages() {
        use Level::{Paragraph, Section, Sentence, Summary};
        let cases: &[(&[(Level, Option<u32>)], &[usize])] = &[
            (&[], &[]),
            (
                &[(Section, None), (Paragraph, Some(0)), (Section, None)],
                &[0, 2],
            ),
            (
                &[(Section, None), (Paragraph, Some(0)), (Paragraph, None)],
                &[1, 2],
            ),
            (
                &[(Paragraph, None), (Sentence, Some(0)), (Paragraph, None)],
                &[0, 2],
            ),
            (&[(Summary, None), (Paragraph, Some(0))], &[1]),
            (&[(Sentence, None), (Sentence, None)], &[0, 1]),
        ];
        for (tree, want) in cases {
            let chunks = tree
                .iter()
                .map(|(level, parent)| listed(*level, *parent, (0, 0)));
            assert_eq!(
                reading_order(&chunks.collect::<Vec<_>>()),
                *want,
                "{tree:?}"
            );
        }
    }

    #[test]
    fn parts_fit_one_call_and_the_token_limit() {
        let chunks = |count, tokens| -> Vec<ListedChunk> {
            let chunk = || ListedChunk {
                tokens,
                ..listed(Level::Section, None, (0, 0))
            };
            (0..count).map(|_| chunk()).collect()
        };
        for (count, tokens, want) in [
            (0, 1, vec![]),
            (22, 1, vec![0..21, 21..22]),
            (7, 1_000, vec![0..6, 6..7]),
            (2, u32::MAX, vec![0..1, 1..2]),
        ] {
            let chunks = chunks(count, tokens);
            let spine = reading_order(&chunks);
            assert_eq!(
                split_parts(&chunks, &spine),
                want,
                "{count} chunks of {tokens}"
            );
        }
    }

    #[test]
    fn chunk_is_shown_in_its_own_part_or_that_of_its_parent() {
        let chunks = (0..30).flat_map(|at| {
            let section = listed(Level::Section, None, (0, 0));
            [section, listed(Level::Paragraph, Some(2 * at), (0, 0))]
        });
        let book = book(chunks.collect(), FileType::Text);
        assert_eq!(book.parts.len(), 5);
        assert_eq!(
            (book.part_of(0), book.part_of(1), book.part_of(12)),
            (0, 0, 1)
        );
        assert_eq!((book.part_of(59), book.part_of(1_000)), (4, 4));
        assert_eq!(book.part_chunks(1), [12, 14, 16, 18, 20, 22]);
    }

    #[test]
    fn overlapping_text_is_removed_and_code_indentation_is_restored() {
        let lines = |chunk: ListedChunk, lines| ListedChunk {
            citation: Citation {
                lines: Some(lines),
                ..chunk.citation
            },
            ..chunk
        };
        let texts: HashMap<String, String> = [("d#0".into(), "abcdef".into())].into();
        let shown = |before: (u64, u64), file_type| {
            let before = lines(listed(Level::Section, None, before), (1, 2));
            let chunk = lines(listed(Level::Section, None, (10, 16)), (4, 5));
            let book = book(vec![before, chunk], file_type);
            let piece = book
                .chunk_text(1, &texts, Some(&book.outline.chunks[0].citation))
                .unwrap();
            (piece.chars.iter().collect::<String>(), piece.first_char)
        };
        assert_eq!(shown((0, 12), FileType::Text), ("cdef".into(), Some(12)));
        assert_eq!(shown((0, 99), FileType::Text), (String::new(), Some(16)));
        assert_eq!(shown((0, 5), FileType::Text), ("abcdef".into(), Some(10)));
        assert_eq!(
            shown((0, 5), FileType::Code),
            ("\n   abcdef".into(), Some(6))
        );
        let unaligned = book(vec![listed(Level::Section, None, (0, 0))], FileType::Text);
        let piece = unaligned.chunk_text(0, &texts, None).unwrap();
        assert_eq!((piece.chars.len(), piece.first_char), (6, None));
        assert_eq!(unaligned.cited_range(&piece, Some(0)), Some(0..6));
    }
}
