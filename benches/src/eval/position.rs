//! Lost in the middle: whether chunks in the middle of a document, or in a long one, are found less often.
//!
//! Every relevant chunk of every question counts once: as found when it is among the first 5. Its place is that of
//! its middle character. A chunk that is all of its document has no place and counts by length alone; so does a
//! document that is judged as a whole, of however many chunks.

use std::collections::HashMap;

use locidb::storage::{ChunkKey, DocumentKey, Rows, StoreError};
use locidb::{DatabaseSnapshot, Error};
use serde::Serialize;

use super::{StrategyRun, round};
use crate::BenchError;
use crate::folder::Folder;

/// Ranks within which a chunk is found.
const FIRST: usize = 5;
const POSITIONS: usize = 5;
const LENGTHS: usize = 4;

/// Recall by place and by length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LostInTheMiddle {
    /// The requested strategy.
    pub strategy: String,
    /// Whether no document of a relevant chunk has another one: a reason why there are no places.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub single_chunk_documents: bool,
    /// From the first fifth of the document to the last; empty where there are no places.
    pub by_position: Vec<RecallBucket>,
    /// From the shortest quarter of the documents with relevant chunks to the longest.
    pub by_length: Vec<RecallBucket>,
}

/// The relevant chunks of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecallBucket {
    /// Shortest and longest document, in characters; for lengths only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars: Option<(u64, u64)>,
    /// How many there are, over all questions.
    pub relevant: usize,
    /// Share of them among the first 5 hits; `None` where there are none.
    #[serde(rename = "recall@5")]
    pub recall_5: Option<f64>,
    #[serde(skip)]
    found: usize,
}

impl RecallBucket {
    fn count(&mut self, is_found: bool) {
        self.relevant += 1;
        self.found += usize::from(is_found);
        self.recall_5 = Some(round(self.found as f64 / self.relevant as f64));
    }
}

/// The position of a relevant chunk.
#[derive(Clone, Copy, Debug)]
struct RelevantChunk {
    /// The place of its middle in the document, 0..=1; `None` where it is all of it, or the document is judged.
    relative_position: Option<f64>,
    /// Whether the document has no other chunk.
    is_single: bool,
    /// Characters of the document.
    char_count: u64,
}

/// Tells what place and length did to what was `asked` over `view`, which the folder was loaded into. Relevant
/// chunks that are not stored are left out.
pub fn lost_in_the_middle(
    view: &DatabaseSnapshot,
    folder: &Folder,
    run: &StrategyRun,
) -> Result<LostInTheMiddle, BenchError> {
    let rows = view.snapshot().rows();
    let lines = StoredKeys::new(folder);
    let mut positions: HashMap<&str, Option<RelevantChunk>> = HashMap::new();
    let mut counted = Vec::new();
    for question in &run.questions {
        let judged = folder.judgements[question.line].iter();
        for (id, _) in judged.filter(|(_, gain)| **gain > 0.0) {
            let position = match positions.get(&id[..]) {
                Some(known) => *known,
                None => {
                    let found = lines.locate(rows, id).map_err(Error::from)?;
                    positions.insert(id, found);
                    found
                }
            };
            let is_found = question.ranked.iter().take(FIRST).any(|hit| hit == id);
            counted.extend(position.map(|position| (position, is_found)));
        }
    }
    let lengths = positions.values().flatten().map(|of| of.char_count);
    let bounds = Bounds::new(lengths.collect());
    let mut report = LostInTheMiddle {
        strategy: run.strategy.clone(),
        by_position: vec![RecallBucket::default(); POSITIONS],
        by_length: bounds.shares(),
        ..LostInTheMiddle::default()
    };
    for (position, is_found) in counted {
        if let Some(place) = position.relative_position {
            let fifth = (place * POSITIONS as f64) as usize;
            report.by_position[fifth.min(POSITIONS - 1)].count(is_found);
        }
        report.by_length[bounds.quartile_of(position.char_count)].count(is_found);
    }
    if report.by_position.iter().all(|share| share.relevant == 0) {
        report.by_position.clear();
        let mut documents = positions.values().flatten();
        report.single_chunk_documents = documents.all(|of| of.is_single);
    }
    report.by_length.retain(|share| share.relevant > 0);
    Ok(report)
}

/// The lengths up to which documents lie in each quarter.
struct Bounds {
    shortest: u64,
    ends: [u64; LENGTHS],
}

impl Bounds {
    fn new(mut lengths: Vec<u64>) -> Bounds {
        lengths.sort_unstable();
        let end = |quarter: usize| {
            let rank = ((quarter + 1) * lengths.len()).div_ceil(LENGTHS);
            lengths.get(rank.wrapping_sub(1)).copied().unwrap_or(0)
        };
        Bounds {
            shortest: lengths.first().copied().unwrap_or(0),
            ends: std::array::from_fn(end),
        }
    }

    /// The quarter of a document.
    fn quartile_of(&self, length: u64) -> usize {
        self.ends
            .partition_point(|&end| end < length)
            .min(LENGTHS - 1)
    }

    fn shares(&self) -> Vec<RecallBucket> {
        let starts = self.ends.iter().map(|end| end + 1);
        let starts = [self.shortest].into_iter().chain(starts);
        let spans = starts.zip(self.ends);
        spans
            .map(|chars| RecallBucket {
                chars: Some(chars),
                ..RecallBucket::default()
            })
            .collect()
    }
}

/// How the lines of a folder are called in the store; see [`crate::load`].
struct StoredKeys<'f> {
    by_id: HashMap<&'f str, Line>,
}

#[derive(Clone, Copy)]
struct Line {
    parent: Option<usize>,
    suffix: u32,
}

impl<'f> StoredKeys<'f> {
    fn new(folder: &'f Folder) -> StoredKeys<'f> {
        let mut children = vec![0; folder.parents.len()];
        let line = |chunk: &'f crate::folder::ChunkLine| {
            let parent = chunk.parent.filter(|&parent| parent < children.len());
            let suffix = match parent {
                Some(parent) => {
                    children[parent] += 1;
                    children[parent]
                }
                None => 0,
            };
            (&chunk.id[..], Line { parent, suffix })
        };
        StoredKeys {
            by_id: folder.chunks.iter().map(line).collect(),
        }
    }

    /// The position of the chunk of a line; `None` if it is not stored.
    fn locate(&self, rows: &dyn Rows, id: &str) -> Result<Option<RelevantChunk>, StoreError> {
        let Some(line) = self.by_id.get(id) else {
            return Ok(None);
        };
        let key = match line.parent {
            Some(parent) => format!("parent-{parent}"),
            None => id.to_owned(),
        };
        let document = DocumentKey::new("", "", key)?;
        let Some(of) = rows.document_id(&document)? else {
            return Ok(None);
        };
        let Some(record) = rows.document(of)? else {
            return Ok(None);
        };
        let whole = RelevantChunk {
            relative_position: None,
            is_single: record.chunk_count <= 1,
            char_count: record.char_count,
        };
        if line.parent.is_none() {
            return Ok(Some(whole));
        }
        let suffix = line.suffix;
        let Some((_, place)) = rows.find_chunk(&ChunkKey { document, suffix })? else {
            return Ok(None);
        };
        let Some(chunk) = rows.chunk(of, place)? else {
            return Ok(None);
        };
        // A section and its only passage are one chunk twice.
        let is_single = record.chunk_count <= 2;
        let (start, end) = chunk.location.chars;
        let middle = (start + end) as f64 / 2.0;
        let place = middle / record.char_count.max(1) as f64;
        Ok(Some(RelevantChunk {
            relative_position: Some(place).filter(|_| !is_single),
            is_single,
            ..whole
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_have_as_many_documents_each_as_far_as_lengths_differ() {
        let bounds = Bounds::new((1..=8).rev().collect());
        let quarters: Vec<usize> = (1..=8).map(|length| bounds.quartile_of(length)).collect();
        assert_eq!(quarters, [0, 0, 1, 1, 2, 2, 3, 3]);
        let spans: Vec<_> = bounds
            .shares()
            .iter()
            .map(|share| share.chars.unwrap())
            .collect();
        assert_eq!(spans, [(1, 2), (3, 4), (5, 6), (7, 8)]);
        let alike = Bounds::new(vec![7; 3]);
        assert_eq!(alike.quartile_of(7), 0);
        assert_eq!(Bounds::new(Vec::new()).quartile_of(0), 0);
    }

    #[test]
    fn a_share_is_of_what_was_counted() {
        let mut share = RecallBucket::default();
        assert_eq!(share.recall_5, None);
        for is_found in [true, false, false] {
            share.count(is_found);
        }
        assert_eq!((share.relevant, share.recall_5), (3, Some(0.3333)));
    }
}
