//! The terms of every passage that is embedded, read once and stored as numbers.
//!
//! Memory: 4 bytes a term of a passage, and the distinct terms once.

use std::collections::HashMap;

use loci_index::analysis::Analyzer;
use loci_storage::records::{ChunkRecord, DocumentRecord};
use loci_storage::rows::missing;
use loci_storage::segment::Layer;
use loci_storage::staging::indexed_text;
use loci_storage::{DocumentId, Ordinal, StoreError, Table, keys};

use crate::error::Error;
use crate::progress::{self, Progress};
use crate::segments::chunk::{chunk_layer, is_embedded, stemming_language};
use crate::state::snapshot::DatabaseSnapshot;

/// The passages of a view, by ascending ordinal within each segment.
#[derive(Default)]
pub(crate) struct Corpus {
    vocabulary: Vec<String>,
    term_ids: HashMap<String, u32>,
    terms: Vec<u32>,
    passages: Vec<Passage>,
}

/// One passage.
pub(crate) struct Passage {
    pub(crate) ordinal: Ordinal,
    pub(crate) document: DocumentId,
    pub(crate) chunk_index: u32,
    terms_end: usize,
}

impl Corpus {
    /// Reads the passages of `view`: the leaves of the chunk trees that are to be embedded.
    pub(crate) fn read(view: &DatabaseSnapshot, progress: &dyn Progress) -> Result<Corpus, Error> {
        let mut corpus = Corpus::default();
        let mut analyzer = Analyzer::new();
        let (mut done, total) = (0, view.snapshot().manifest().document_count);
        for segment in view.snapshot().segments() {
            for id in segment.live_documents() {
                let Some(run) = segment.documents.find(id) else {
                    continue;
                };
                let base = segment.base.0 + run.first.0;
                for_each_passage(view, id, |place, document, chunk| {
                    analyzer.set_languages(stemming_language(document).into());
                    let terms = analyzer.terms(&indexed_text(document, chunk));
                    corpus.push(Ordinal(base + place), id, place, &terms);
                })?;
                done += 1;
                if done % 256 == 0 {
                    progress::report(progress, "reading terms", done, total)?;
                }
            }
        }
        Ok(corpus)
    }

    fn push(&mut self, ordinal: Ordinal, document: DocumentId, place: u32, terms: &[String]) {
        for term in terms {
            let number = match self.term_ids.get(term) {
                Some(&number) => number,
                None => {
                    let number = self.vocabulary.len() as u32;
                    self.vocabulary.push(term.clone());
                    self.term_ids.insert(term.clone(), number);
                    number
                }
            };
            self.terms.push(number);
        }
        self.passages.push(Passage {
            ordinal,
            document,
            chunk_index: place,
            terms_end: self.terms.len(),
        });
    }

    /// The passages.
    pub(crate) fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// The terms of the passage at `index`, in the order of the text.
    pub(crate) fn terms(&self, index: usize) -> impl Iterator<Item = &str> + Clone {
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.passages[before].terms_end);
        let numbers = &self.terms[start..self.passages[index].terms_end];
        numbers
            .iter()
            .map(|&number| &self.vocabulary[number as usize][..])
    }
}

/// Calls `visit` with place, document and chunk of each passage of a document that is embedded.
fn for_each_passage(
    view: &DatabaseSnapshot,
    id: DocumentId,
    mut visit: impl FnMut(u32, &DocumentRecord, &ChunkRecord),
) -> Result<(), StoreError> {
    let document = view.rows().document(id)?;
    let document = document.ok_or_else(|| missing(Table::Documents, &keys::document(id)))?;
    if !is_embedded(document.embed, Layer::Leaves) {
        return Ok(());
    }
    for (place, chunk) in (0u32..).zip(&view.rows().chunks(id)?) {
        if chunk_layer(place, chunk) == Layer::Leaves {
            visit(place, &document, chunk);
        }
    }
    Ok(())
}
