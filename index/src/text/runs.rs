//! The longest run of consecutive words of a text in given chunks; a phrase query finds it for all chunks.
//!
//! A run of more than half of the words has those in the middle. A chunk that lacks one of these is done with after a
//! look-up or two, and the positions of the others are read only where they can make a run that is long enough.
//!
//! Start reading at [`longest_word_runs`].

use std::ops::Range;

use loci_storage::{Ordinal, SegmentReader};

use super::cursor::TermCursor;
use super::{TextError, TextReader};

/// For each of `chunks`, how many words of a text it has in a row; 0 where these are fewer than `least`.
///
/// - `text`: its terms, each with its place there, ascending; a word that is read in several ways has several terms at
///   one place.
/// - `chunks`: ascending.
///
/// # Errors
/// [`TextError::Malformed`].
///
/// # Cost
/// A binary search for each word and chunk at most; with `least` above half of the words, for most chunks one or two.
pub fn longest_word_runs<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    text: &[(u32, &str)],
    chunks: &[Ordinal],
    least: usize,
) -> Result<Vec<usize>, TextError> {
    let words = group_by_position(text);
    let mut found = vec![0; chunks.len()];
    if least == 0 || least > words.len() {
        return Ok(found);
    }
    for segment in segments {
        let end = segment.base.0 + segment.chunk_count;
        let first = chunks.partition_point(|chunk| *chunk < segment.base);
        let after = chunks.partition_point(|chunk| chunk.0 < end);
        let mut text = TextCursors::new(segment.reader, &words);
        for at in first..after {
            let local = chunks[at].0 - segment.base.0;
            found[at] = text.longest_run_in(local, least)?;
        }
    }
    Ok(found)
}

/// A word of the text.
struct TextWord<'t> {
    position: u32,
    /// The ways to read it.
    terms: Vec<&'t str>,
}

fn group_by_position<'t>(text: &[(u32, &'t str)]) -> Vec<TextWord<'t>> {
    let words = text.chunk_by(|(a, _), (b, _)| a == b);
    let word = |readings: &[(u32, &'t str)]| TextWord {
        position: readings[0].0,
        terms: readings.iter().map(|&(_, term)| term).collect(),
    };
    words.map(word).collect()
}

/// The words of a text in one segment, each looked up when it is first asked for.
struct TextCursors<'r, 't, B> {
    reader: &'r TextReader<B>,
    words: &'t [TextWord<'t>],
    cursors: Vec<Option<Vec<TermCursor<'r>>>>,
    positions: Vec<u32>,
}

impl<'r, 't, B: AsRef<[u8]>> TextCursors<'r, 't, B> {
    fn new(reader: &'r TextReader<B>, words: &'t [TextWord<'t>]) -> Self {
        TextCursors {
            reader,
            words,
            cursors: words.iter().map(|_| None).collect(),
            positions: Vec::new(),
        }
    }

    /// The words in a row in a chunk; 0 where these are fewer than `least`.
    fn longest_run_in(&mut self, local: u32, least: usize) -> Result<usize, TextError> {
        let range = self.candidate_range(local, least)?;
        if range.len() < least {
            return Ok(0);
        }
        let longest = self.longest_run(local, range)?;
        Ok(if longest < least { 0 } else { longest })
    }

    /// The words around those that each run of `least` words has, as far as the chunk has all of them; all words where
    /// two runs may have none in common.
    fn candidate_range(&mut self, local: u32, least: usize) -> Result<Range<usize>, TextError> {
        let count = self.words.len();
        let (mut from, mut to) = (count - least, least);
        if from >= to {
            return Ok(0..count);
        }
        for word in from..to {
            if !self.has_word(word, local)? {
                return Ok(0..0);
            }
        }
        while from > 0 && self.has_word(from - 1, local)? {
            from -= 1;
        }
        while to < count && self.has_word(to, local)? {
            to += 1;
        }
        Ok(from..to)
    }

    /// The longest run of the words of `range` in a chunk.
    fn longest_run(&mut self, local: u32, range: Range<usize>) -> Result<usize, TextError> {
        // Where the text would begin if the word at hand were where it stands in the chunk, with the run up to it.
        let mut before: Vec<(i64, usize)> = Vec::new();
        let mut longest = 0;
        for word in range {
            let place = i64::from(self.words[word].position);
            let mut starts = self.aligned_starts(word, local, place)?;
            starts.sort_unstable();
            starts.dedup();
            let run = |start: i64| {
                let known = before.binary_search_by_key(&start, |&(start, _)| start);
                (start, 1 + known.map_or(0, |at| before[at].1))
            };
            let here: Vec<(i64, usize)> = starts.into_iter().map(run).collect();
            longest = here.iter().fold(longest, |most, &(_, run)| most.max(run));
            before = here;
        }
        Ok(longest)
    }

    fn aligned_starts(
        &mut self,
        word: usize,
        local: u32,
        place: i64,
    ) -> Result<Vec<i64>, TextError> {
        let mut positions = std::mem::take(&mut self.positions);
        let mut starts = Vec::new();
        for cursor in self.cursors(word)? {
            cursor.positions(local, &mut positions)?;
            starts.extend(positions.iter().map(|&at| i64::from(at) - place));
        }
        self.positions = positions;
        Ok(starts)
    }

    fn has_word(&mut self, word: usize, local: u32) -> Result<bool, TextError> {
        let cursors = self.cursors(word)?;
        Ok(cursors.iter().any(|cursor| cursor.tf(local) > 0))
    }

    fn cursors(&mut self, word: usize) -> Result<&mut [TermCursor<'r>], TextError> {
        if self.cursors[word].is_none() {
            let mut cursors = Vec::new();
            for term in &self.words[word].terms {
                if let Some(term) = self.reader.term(term)? {
                    cursors.push(TermCursor::new(self.reader, term)?);
                }
            }
            self.cursors[word] = Some(cursors);
        }
        Ok(self.cursors[word].as_deref_mut().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use loci_storage::LocalOrdinal;
    use proptest::prelude::*;
    use roaring::RoaringBitmap;

    use super::super::TextBuilder;
    use super::*;

    /// [`runs`] of one chunk, written down again: slowly, from its words.
    fn reference(chunk: &[String], text: &[String], least: usize) -> usize {
        let starts = 0..text.len();
        let all = starts.flat_map(|from| (from..=text.len()).map(move |to| from..to));
        let is_in_chunk = |run: &Range<usize>| {
            run.is_empty() || chunk.windows(run.len()).any(|of| of == &text[run.clone()])
        };
        let longest = all
            .filter(is_in_chunk)
            .map(|run| run.len())
            .max()
            .unwrap_or(0);
        if longest < least { 0 } else { longest }
    }

    fn any_text(len_max: usize) -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-d]", 0..len_max)
    }

    proptest! {
        #[test]
        fn longest_runs_agree_with_reference(
            chunks in prop::collection::vec(any_text(40), 1..90),
            cut in 0..90usize,
            text in any_text(14),
            asked in prop::collection::btree_set(0..90u32, 0..20),
            least in 0..16usize,
        ) {
            let cut = cut.min(chunks.len());
            let readers = [&chunks[..cut], &chunks[cut..]].map(|chunks| {
                let mut builder = TextBuilder::new();
                for (local, chunk) in (0..).zip(chunks) {
                    builder.push(LocalOrdinal(local), chunk).unwrap();
                }
                TextReader::new(builder.finish()).unwrap()
            });
            let dead = RoaringBitmap::new();
            let bases = [0, cut as u32];
            let ends = [cut as u32, chunks.len() as u32];
            let segments: Vec<_> = (0..2).map(|at| SegmentReader {
                base: Ordinal(bases[at]),
                chunk_count: ends[at] - bases[at],
                dead: &dead,
                reader: &readers[at],
            }).collect();
            let placed: Vec<(u32, &str)> = (3..).zip(text.iter().map(String::as_str)).collect();
            let asked: Vec<Ordinal> =
                asked.into_iter().filter(|&at| at < chunks.len() as u32).map(Ordinal).collect();
            let found = longest_word_runs(&segments, &placed, &asked, least).unwrap();
            let want: Vec<usize> = asked.iter().map(|at| match least {
                0 => 0,
                least => reference(&chunks[at.0 as usize], &text, least),
            }).collect();
            prop_assert_eq!(found, want);
        }
    }
}
