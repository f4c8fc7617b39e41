//! Which run of chunks belongs to which document. `docs/format.md` has the bytes.

use crate::error::PartError;
use loci_types::ids::{DocumentId, LocalOrdinal};

const ROW_LEN: usize = 16;

/// A document's chunks in a segment: `first..first + count`, in pre-order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentRun {
    /// The document.
    pub document: DocumentId,
    /// Its first chunk.
    pub first: LocalOrdinal,
    /// How many chunks it has.
    pub count: u32,
}

impl DocumentRun {
    /// One past the last local number of the run.
    pub fn end(&self) -> LocalOrdinal {
        LocalOrdinal(self.first.0 + self.count)
    }
}

/// Collects the runs of a segment.
#[derive(Debug, Default)]
pub struct DocumentsBuilder {
    bytes: Vec<u8>,
}

impl DocumentsBuilder {
    /// Adds a run. Documents ascend; a run starts where the one before it ends.
    pub fn push(&mut self, run: DocumentRun) {
        self.bytes.extend(run.document.0.to_le_bytes());
        self.bytes.extend(run.first.0.to_le_bytes());
        self.bytes.extend(run.count.to_le_bytes());
    }

    /// The section's bytes.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// The runs of a segment, checked.
#[derive(Debug)]
pub struct Documents<B> {
    bytes: B,
}

impl<B: AsRef<[u8]>> Documents<B> {
    /// Checks that documents ascend and that the runs cover `chunk_count` chunks. Costs one pass.
    pub fn new(bytes: B, chunk_count: u32) -> Result<Documents<B>, PartError> {
        if !bytes.as_ref().len().is_multiple_of(ROW_LEN) {
            return Err(PartError::Malformed("documents: a row is cut".into()));
        }
        let documents = Documents { bytes };
        let (mut last, mut end) = (None, 0u32);
        for run in documents.iter() {
            let next = end.checked_add(run.count);
            if run.first.0 != end || last >= Some(run.document) || next.is_none() {
                return Err(PartError::Malformed(
                    "documents: runs are out of order".into(),
                ));
            }
            (last, end) = (Some(run.document), next.unwrap_or(end));
        }
        if end != chunk_count {
            return Err(PartError::Malformed(format!(
                "documents: {end} of {chunk_count} chunks"
            )));
        }
        Ok(documents)
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        self.bytes.as_ref().len() / ROW_LEN
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The run at `index`, if there is one.
    pub fn get(&self, index: usize) -> Option<DocumentRun> {
        let row = self
            .bytes
            .as_ref()
            .get(index * ROW_LEN..)?
            .first_chunk::<ROW_LEN>()?;
        let word = |at: usize| u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]);
        Some(DocumentRun {
            document: DocumentId(u64::from(word(0)) | u64::from(word(4)) << 32),
            first: LocalOrdinal(word(8)),
            count: word(12),
        })
    }

    /// All runs, in order.
    pub fn iter(&self) -> impl Iterator<Item = DocumentRun> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The run of `document`, if it is here. Costs a binary search.
    pub fn find(&self, document: DocumentId) -> Option<DocumentRun> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let run = self.get(middle)?;
            match run.document.cmp(&document) {
                std::cmp::Ordering::Equal => return Some(run),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn section(runs: &[(u64, u32)]) -> (Vec<u8>, u32) {
        let (mut builder, mut first) = (DocumentsBuilder::default(), 0);
        for &(document, count) in runs {
            builder.push(DocumentRun {
                document: DocumentId(document),
                first: LocalOrdinal(first),
                count,
            });
            first += count;
        }
        (builder.finish(), first)
    }

    #[test]
    fn runs_are_found_by_document() {
        let (bytes, chunks) = section(&[(2, 3), (5, 0), (9, 1)]);
        let documents = Documents::new(bytes, chunks).unwrap();
        let found = documents.find(DocumentId(9)).unwrap();
        assert_eq!(
            (found.first, found.end()),
            (LocalOrdinal(3), LocalOrdinal(4))
        );
        assert_eq!(documents.find(DocumentId(4)), None);
        assert_eq!(documents.len(), 3);
    }

    #[test]
    fn invalid_document_runs_are_rejected() {
        let (bytes, chunks) = section(&[(2, 3), (5, 1)]);
        assert!(Documents::new(&bytes[..], chunks + 1).is_err());
        assert!(Documents::new(&bytes[..17], chunks).is_err());
        let (bytes, chunks) = section(&[(5, 3), (2, 1)]);
        assert!(Documents::new(bytes, chunks).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes: Vec<u8>, chunks: u32, document: u64) {
            if let Ok(documents) = Documents::new(bytes, chunks) {
                documents.find(DocumentId(document));
            }
        }
    }
}
