//! One committed state: what searches read, and what makes vectors of questions.

use std::sync::Arc;

use loci_query::ReadView;
use loci_storage::Rows;
use loci_storage::snapshot::Snapshot;

use crate::embedders::external_model::ExternalModel;
use crate::embedders::projector::Projector;
use crate::error::Error;

/// One committed state, ready to be searched.
#[derive(Debug)]
pub struct DatabaseSnapshot {
    pub(crate) read_view: ReadView,
    pub(crate) projector: Option<Arc<Projector>>,
    /// The external model of the active space, where the database has it.
    pub(crate) external_model: Option<ExternalModel>,
}

impl DatabaseSnapshot {
    /// What searches read.
    pub fn read_view(&self) -> &ReadView {
        &self.read_view
    }

    /// Rows, manifest and segments.
    pub fn snapshot(&self) -> &Snapshot {
        self.read_view.snapshot()
    }

    /// Whether there is something that makes vectors of texts.
    pub(crate) fn can_embed(&self) -> bool {
        self.projector.is_some() || self.external_model.is_some()
    }

    /// The vector of a text in the active space; `None` where nothing makes one, or no word of it is known.
    pub fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, Error> {
        match (&self.projector, &self.external_model) {
            (Some(projector), _) => Ok(projector.embed(text, self.read_view.languages())),
            (None, Some(external)) => external.embed(text),
            (None, None) => Ok(None),
        }
    }

    pub(crate) fn rows(&self) -> &dyn Rows {
        self.snapshot().rows()
    }
}
