//! Where in its document a chunk stands whose caller did not say it: where its text is, when it is there once.
//!
//! Always true: characters that a caller gave stay; those that are found here have exactly the chunk's text; the work is
//! bounded, however many chunks there are.
//!
//! Start reading at [`locate`].

use std::ops::Range;

use loci_storage::records::ChunkRecord;

/// Bytes of text that are looked through for one document. What is not found by then has no place.
const SEARCH_BYTES_MAX: usize = 64 << 20;
/// Characters between two marks of an index.
const MARK_CHARS: usize = 1024;

/// Gives each chunk without characters those of `text` that it is made of, where they stand there once: within its
/// parent, when that has a place.
pub(crate) fn locate(text: &str, chunks: &mut [ChunkRecord]) {
    let is_sought = |chunk: &ChunkRecord| chunk.location.chars == (0, 0) && !chunk.text.is_empty();
    if text.is_empty() || !chunks.iter().any(is_sought) {
        return;
    }
    let index = CharIndex::new(text);
    let mut left = SEARCH_BYTES_MAX;
    for place in 0..chunks.len() {
        if !is_sought(&chunks[place]) {
            continue;
        }
        let parent = chunks[place].parent.map(|parent| parent as usize);
        let parent = parent.filter(|parent| *parent < place);
        let within = parent.and_then(|parent| index.bytes(chunks[parent].location.chars));
        let within = within.unwrap_or(0..text.len());
        if within.len() > left {
            continue;
        }
        left -= within.len();
        let chunk = &mut chunks[place];
        if let Some(at) = find_once(&text[within.clone()], &chunk.text) {
            let start = index.char_at(within.start + at);
            chunk.location.chars = (start, start + chunk.text.chars().count() as u64);
        }
    }
}

/// Where `part` begins in `text`, when it is there once.
fn find_once(text: &str, part: &str) -> Option<usize> {
    let first = text.find(part)?;
    let width = part.chars().next()?.len_utf8();
    let again = text.get(first + width..)?.find(part);
    again.is_none().then_some(first)
}

/// Which character of a text begins at which byte.
struct CharIndex<'t> {
    text: &'t str,
    /// Where every [`MARK_CHARS`]th character begins.
    marks: Vec<usize>,
}

impl<'t> CharIndex<'t> {
    fn new(text: &'t str) -> CharIndex<'t> {
        let starts = text.char_indices().step_by(MARK_CHARS);
        CharIndex {
            text,
            marks: starts.map(|(start, _)| start).collect(),
        }
    }

    /// The characters before the byte `at`, where one begins.
    fn char_at(&self, at: usize) -> u64 {
        let mark = self.marks.partition_point(|mark| *mark <= at);
        let mark = mark.saturating_sub(1);
        let start = self.marks.get(mark).copied().unwrap_or_default();
        let beyond = self.text.get(start..at).unwrap_or_default();
        (mark * MARK_CHARS + beyond.chars().count()) as u64
    }

    /// The bytes of some characters; `None` where there are none, or the text has fewer.
    fn bytes(&self, chars: (u64, u64)) -> Option<Range<usize>> {
        let range = self.byte_of(chars.0)?..self.byte_of(chars.1)?;
        (range.start < range.end).then_some(range)
    }

    fn byte_of(&self, at: u64) -> Option<usize> {
        let at = usize::try_from(at).ok()?;
        let start = *self.marks.get(at / MARK_CHARS)?;
        let rest = self.text.get(start..)?;
        let mut starts = rest.char_indices().map(|(start, _)| start);
        let within = starts.nth(at % MARK_CHARS);
        let is_end = || rest.chars().count() == at % MARK_CHARS;
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
    fn a_chunk_has_the_place_where_its_text_stands_once() {
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
    fn a_place_that_was_given_stays() {
        let mut given = chunk(None, "Ferns");
        given.location.chars = (1, 3);
        let mut chunks = [given, chunk(Some(9), "grow")];
        locate("Ferns grow", &mut chunks);
        let places = chunks.map(|chunk| chunk.location.chars);
        assert_eq!(places, [(1, 3), (6, 10)]);
    }

    #[test]
    fn many_chunks_of_a_large_text_cost_no_more_than_the_bound() {
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
                let bytes = index.bytes((start, end)).unwrap();
                prop_assert_eq!(&text[bytes], &part);
            }
        }
    }
}
