//! Locating chunks in the text of their document, where the caller gave no offsets and the text occurs once.
//!
//! Invariant: offsets that a caller gave stay; those that are found here have exactly the chunk's text; the work is
//! bounded, however many chunks there are.
//!
//! Start reading at [`locate`].

use std::collections::HashMap;
use std::ops::Range;

use loci_storage::records::ChunkRecord;

/// Bytes that are compared for one document. Chunks that are not found by then get no offsets.
const COMPARED_BYTES_MAX: usize = 64 << 20;
/// Length of the prefixes of chunks that are searched for in one pass; shorter chunks are searched for one by one.
const PREFIX_LEN: usize = 16;
/// More positions with one prefix are sorted by this many bytes, so that few of them are compared with a chunk.
const UNSORTED_POSITIONS_MAX: usize = 32;
const SORT_KEY_LEN: usize = 256;
/// Characters between two checkpoints of an index.
const CHECKPOINT_CHARS: usize = 1024;

/// Sets the offsets of each chunk that has none and whose text occurs in `text` once: within its parent, where that
/// has offsets.
pub(crate) fn locate(text: &str, chunks: &mut [ChunkRecord]) {
    let lacks_offsets =
        |chunk: &ChunkRecord| chunk.location.chars == (0, 0) && !chunk.text.is_empty();
    if text.is_empty() || !chunks.iter().any(lacks_offsets) {
        return;
    }
    let index = CharIndex::new(text);
    let mut left = COMPARED_BYTES_MAX;
    let unlocated = chunks.iter().filter(|chunk| lacks_offsets(chunk));
    let starts = PrefixIndex::new(text, unlocated.map(|chunk| &chunk.text[..]), &mut left);
    for place in 0..chunks.len() {
        if !lacks_offsets(&chunks[place]) {
            continue;
        }
        let parent = chunks[place].parent.map(|parent| parent as usize);
        let parent = parent.filter(|parent| *parent < place);
        let within = parent.and_then(|parent| index.byte_range(chunks[parent].location.chars));
        let chunk = &mut chunks[place];
        let found = match within {
            None => starts.find_unique(text, &chunk.text, &mut left),
            Some(within) => find_unique(&text[within.clone()], &chunk.text, &mut left)
                .map(|at| within.start + at),
        };
        if let Some(at) = found {
            let start = index.char_offset(at);
            chunk.location.chars = (start, start + chunk.text.chars().count() as u64);
        }
    }
}

/// Where `part` begins in `text`, when it occurs once; subtracts the bytes that are searched from `left`.
fn find_unique(text: &str, part: &str, left: &mut usize) -> Option<usize> {
    *left = left.checked_sub(text.len())?;
    let first = text.find(part)?;
    let width = part.chars().next()?.len_utf8();
    let again = text.get(first + width..)?.find(part);
    again.is_none().then_some(first)
}

/// The positions of prefixes in a text, all found in one pass.
struct PrefixIndex {
    /// By prefix: the positions where a chunk may begin.
    positions: HashMap<[u8; PREFIX_LEN], PrefixPositions>,
}

/// The positions of one prefix: in order of the text, or sorted by the [`SORT_KEY_LEN`] bytes there.
#[derive(Default)]
struct PrefixPositions {
    positions: Vec<usize>,
    is_sorted: bool,
}

impl PrefixPositions {
    /// Sorts them where they are many and that costs no more than is `left`.
    fn sort(&mut self, text: &str, left: &mut usize) {
        let count = self.positions.len();
        let cost = count.saturating_mul(count.max(1).ilog2() as usize * PREFIX_LEN);
        if let Some(less) = left
            .checked_sub(cost)
            .filter(|_| count > UNSORTED_POSITIONS_MAX)
        {
            *left = less;
            self.is_sorted = true;
            self.positions
                .sort_unstable_by_key(|&at| bytes_at(text, at, SORT_KEY_LEN));
        }
    }

    /// Those where `part` may begin.
    fn candidates(&self, text: &str, part: &str) -> &[usize] {
        if !self.is_sorted {
            return &self.positions;
        }
        let sort_key = bytes_at(part, 0, SORT_KEY_LEN);
        let bytes = |at: usize| bytes_at(text, at, sort_key.len());
        let first = self.positions.partition_point(|&at| bytes(at) < sort_key);
        let count = self.positions[first..].partition_point(|&at| bytes(at) == sort_key);
        &self.positions[first..first + count]
    }
}

/// `len` bytes from `at` on, or as many as there are.
fn bytes_at(text: &str, at: usize, len: usize) -> &[u8] {
    let bytes = &text.as_bytes()[at..];
    &bytes[..len.min(bytes.len())]
}

impl PrefixIndex {
    /// Finds the prefixes of those of `parts` that are not too short.
    fn new<'t>(text: &str, parts: impl Iterator<Item = &'t str>, left: &mut usize) -> PrefixIndex {
        let starts = parts.filter_map(prefix);
        let mut positions: HashMap<_, PrefixPositions> = starts
            .map(|start| (start, PrefixPositions::default()))
            .collect();
        if !positions.is_empty() {
            // Two bytes exclude most positions without a look-up.
            let mut pairs = vec![false; 1 << 16];
            positions
                .keys()
                .for_each(|start| pairs[first_two_bytes(start)] = true);
            for at in 0..text.len() {
                let Some(start) = text.as_bytes()[at..]
                    .first_chunk()
                    .filter(|of| pairs[first_two_bytes(of)])
                else {
                    continue;
                };
                let Some(found) = positions.get_mut(start) else {
                    continue;
                };
                // Each costs memory; a prefix that occurs everywhere soon exhausts the limit.
                let Some(less) = left.checked_sub(PREFIX_LEN) else {
                    break;
                };
                *left = less;
                found.positions.push(at);
            }
        }
        for found in positions.values_mut() {
            found.sort(text, left);
        }
        PrefixIndex { positions }
    }

    /// Where `part` begins in `text`, when it occurs once.
    fn find_unique(&self, text: &str, part: &str, left: &mut usize) -> Option<usize> {
        let Some(start) = prefix(part) else {
            return find_unique(text, part, left);
        };
        let mut found = None;
        for &at in self.positions.get(&start)?.candidates(text, part) {
            let pairs = text.as_bytes()[at..].iter().zip(part.as_bytes());
            let same = pairs.take_while(|(here, there)| here == there).count();
            *left = left.checked_sub(same.max(PREFIX_LEN))?;
            if same < part.len() {
                continue;
            }
            if found.replace(at).is_some() {
                return None;
            }
        }
        found
    }
}

/// The prefix that a chunk is searched by; `None` for one that is too short.
fn prefix(part: &str) -> Option<[u8; PREFIX_LEN]> {
    part.as_bytes().first_chunk().copied()
}

fn first_two_bytes(start: &[u8; PREFIX_LEN]) -> usize {
    usize::from(start[0]) << 8 | usize::from(start[1])
}

/// Which character of a text begins at which byte.
struct CharIndex<'t> {
    text: &'t str,
    /// Where every [`CHECKPOINT_CHARS`]th character begins.
    checkpoints: Vec<usize>,
}

impl<'t> CharIndex<'t> {
    fn new(text: &'t str) -> CharIndex<'t> {
        let starts = text.char_indices().step_by(CHECKPOINT_CHARS);
        CharIndex {
            text,
            checkpoints: starts.map(|(start, _)| start).collect(),
        }
    }

    /// The characters before the byte `at`, where one begins.
    fn char_offset(&self, at: usize) -> u64 {
        let mark = self.checkpoints.partition_point(|mark| *mark <= at);
        let mark = mark.saturating_sub(1);
        let start = self.checkpoints.get(mark).copied().unwrap_or_default();
        let beyond = self.text.get(start..at).unwrap_or_default();
        (mark * CHECKPOINT_CHARS + beyond.chars().count()) as u64
    }

    /// The bytes of some characters; `None` where there are none, or the text has fewer.
    fn byte_range(&self, chars: (u64, u64)) -> Option<Range<usize>> {
        let range = self.byte_offset(chars.0)?..self.byte_offset(chars.1)?;
        (range.start < range.end).then_some(range)
    }

    fn byte_offset(&self, at: u64) -> Option<usize> {
        let at = usize::try_from(at).ok()?;
        let start = *self.checkpoints.get(at / CHECKPOINT_CHARS)?;
        let rest = self.text.get(start..)?;
        let mut starts = rest.char_indices().map(|(start, _)| start);
        let within = starts.nth(at % CHECKPOINT_CHARS);
        let is_end = || rest.chars().count() == at % CHECKPOINT_CHARS;
        match within {
            Some(within) => Some(start + within),
            None => is_end().then_some(self.text.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunk(parent: Option<u32>, text: &str) -> ChunkRecord {
        ChunkRecord {
            parent,
            text: text.into(),
            ..ChunkRecord::default()
        }
    }

    /// Where each text is found, as chunks of one document.
    fn located(text: &str, chunks: &[(Option<u32>, &str)]) -> Vec<(u64, u64)> {
        let chunks = chunks.iter().map(|(parent, text)| chunk(*parent, text));
        let mut chunks: Vec<ChunkRecord> = chunks.collect();
        locate(text, &mut chunks);
        chunks.iter().map(|chunk| chunk.location.chars).collect()
    }

    #[test]
    fn chunk_gets_offsets_when_its_text_is_unique() {
        let text = "Größe. Ferns grow. Ferns. Mosses: aaa.";
        let cases: &[(&str, (u64, u64))] = &[
            ("Größe.", (0, 6)),
            ("Ferns grow.", (7, 18)),
            ("Ferns", (0, 0)),
            ("aa", (0, 0)),
            ("Lichens", (0, 0)),
            (text, (0, 38)),
        ];
        for (part, want) in cases {
            assert_eq!(located(text, &[(None, part)]), [*want], "{part}");
        }
        let within = [(None, "Ferns grow."), (Some(0), "Ferns")];
        assert_eq!(located(text, &within), [(7, 18), (7, 12)]);
        assert_eq!(located("", &[(None, "Ferns")]), [(0, 0)]);
    }

    #[test]
    fn given_offsets_are_preserved() {
        let mut given = chunk(None, "Ferns");
        given.location.chars = (1, 3);
        let mut chunks = [given, chunk(Some(9), "grow")];
        locate("Ferns grow", &mut chunks);
        let places = chunks.map(|chunk| chunk.location.chars);
        assert_eq!(places, [(1, 3), (6, 10)]);
    }

    #[test]
    fn every_paragraph_of_a_large_text_is_located() {
        let paragraph = |n: u32| {
            format!(
                "Paragraph {n} says something that no other does: {}.\n\n",
                n * 7919
            )
        };
        let paragraphs: Vec<String> = (0..40_000).map(paragraph).collect();
        let text = paragraphs.concat();
        assert!(text.len() > 2 << 20);
        let chunks: Vec<(Option<u32>, &str)> =
            paragraphs.iter().map(|of| (None, &of[..])).collect();
        let found = located(&text, &chunks);
        let mut at = 0;
        for (paragraph, (start, end)) in paragraphs.iter().zip(found) {
            assert_eq!((start, end), (at, at + paragraph.len() as u64));
            at = end;
        }
    }

    #[test]
    fn log_lines_with_shared_prefixes_are_located() {
        let filler = "x".repeat(400);
        let line = |n: u32| format!("{{\"timestamp\":\"2026-01-01T00:00:{n:08}\",{filler}}}\n");
        let lines: Vec<String> = (0..4_000).map(line).collect();
        let text = lines.concat();
        let chunks: Vec<(Option<u32>, &str)> = lines.iter().map(|of| (None, &of[..])).collect();
        let found = located(&text, &chunks);
        let len = lines[0].len() as u64;
        for (n, (start, end)) in (0..).zip(found) {
            assert_eq!((start, end), (n * len, (n + 1) * len));
        }
    }

    #[test]
    fn repetitive_text_stays_within_work_limit() {
        let text = "x".repeat(4 << 20);
        let part = "x".repeat(1000);
        let chunks = vec![(None, &part[..]); 1000];
        assert!(located(&text, &chunks).iter().all(|chars| *chars == (0, 0)));
    }

    #[test]
    fn many_chunks_stay_within_work_limit() {
        let text = "x".repeat(1 << 20);
        let chunks = vec![(None, "y"); 100_000];
        let found = located(&text, &chunks);
        assert!(found.iter().all(|chars| *chars == (0, 0)));
    }

    proptest! {
        #[test]
        fn what_is_found_has_the_text_of_the_chunk(
            text in "[aé量 ]{0,3000}", from in 0usize..3000, len in 1usize..40,
        ) {
            let part: String = text.chars().skip(from).take(len).collect();
            let (start, end) = located(&text, &[(None, &part)])[0];
            if (start, end) != (0, 0) {
                let found: String =
                    text.chars().skip(start as usize).take((end - start) as usize).collect();
                prop_assert_eq!(&found, &part);
                let index = CharIndex::new(&text);
                let bytes = index.byte_range((start, end)).unwrap();
                prop_assert_eq!(&text[bytes], &part);
            }
        }
    }
}
