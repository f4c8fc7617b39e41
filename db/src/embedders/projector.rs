//! The built-in embedder: a projection of terms, fitted on the store's own text.

use std::fmt;
use std::sync::Arc;

use loci_index::analysis::{Analyzer, Languages};
use loci_models::lsa::Projection;
use loci_query::view::QuestionEmbedder;
use loci_storage::StoreError;
use loci_storage::segment::{Part, PartBuilder, PartBytes, PartKind, Section, SectionId};
use parking_lot::Mutex;

/// Text to vector, by the built-in embedder.
pub(crate) struct Projector {
    projection: Projection<Section>,
    part: u64,
    analyzers: Mutex<Vec<Analyzer>>,
}

impl fmt::Debug for Projector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Projector(part {})", self.part)
    }
}

impl QuestionEmbedder for Projector {
    fn embed(&self, question: &str, languages: Languages) -> Result<Option<Vec<f32>>, String> {
        Ok(self.embed(question, languages))
    }
}

impl Projector {
    /// Opens the projection that `part` holds.
    pub(crate) fn open(part: &Arc<Part>) -> Result<Arc<Projector>, StoreError> {
        let section = part
            .section(SectionId::Projection, 0)
            .map_err(StoreError::index)?;
        let projection = Projection::new(section).map_err(StoreError::index)?;
        Ok(Arc::new(Projector {
            projection,
            part: part.header().part,
            analyzers: Mutex::new(Vec::new()),
        }))
    }

    /// Opens the bytes of a projection that no part holds yet.
    pub(crate) fn open_unlisted(projection: &[u8]) -> Result<Arc<Projector>, StoreError> {
        let mut part = PartBuilder::new(PartKind::Projection, 0, 0);
        part.push(SectionId::Projection, 0, projection.to_vec());
        let part = Part::new(PartBytes::copy(&part.finish(0, 0))).map_err(StoreError::index)?;
        Projector::open(&Arc::new(part))
    }

    /// The id of the part that holds the projection.
    pub(crate) fn part(&self) -> u64 {
        self.part
    }

    /// Name and version of what it was fitted to.
    pub(crate) fn model(&self) -> String {
        self.projection.model()
    }

    /// Numbers in a vector.
    pub(crate) fn dim(&self) -> usize {
        self.projection.dim()
    }

    /// The vector of a question in any of `languages`; `None` when no word of it is known.
    pub(crate) fn embed(&self, text: &str, languages: Languages) -> Option<Vec<f32>> {
        let mut analyzer = self.analyzers.lock().pop().unwrap_or_default();
        analyzer.set_languages(languages);
        let terms = analyzer.terms(text);
        self.analyzers.lock().push(analyzer);
        self.embed_terms(&terms)
    }

    /// The vector of a text's terms; `None` when none is known.
    pub(crate) fn embed_terms(&self, terms: &[String]) -> Option<Vec<f32>> {
        self.projection.embed_terms(terms)
    }
}
