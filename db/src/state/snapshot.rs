//! One committed state: what searches read, and what makes vectors of questions.

use std::sync::{Arc, OnceLock};

use loci_query::ReadView;
use loci_storage::snapshot::Snapshot;
use loci_storage::{Rows, StoreError};

use crate::embedders::external_model::ExternalModel;
use crate::embedders::projector::Projector;
use crate::error::Error;
use crate::settings::{self, Settings};

/// One committed state, ready to be searched.
#[derive(Debug)]
pub struct DatabaseSnapshot {
    pub(crate) read_view: ReadView,
    pub(crate) projector: Option<Arc<Projector>>,
    /// The external model of the active space, where the database has it.
    pub(crate) external_model: Option<ExternalModel>,
    /// The settings among its rows, once they were read.
    settings: OnceLock<Settings>,
}

impl DatabaseSnapshot {
    pub(crate) fn new(
        read_view: ReadView,
        projector: Option<Arc<Projector>>,
        external_model: Option<ExternalModel>,
    ) -> DatabaseSnapshot {
        DatabaseSnapshot {
            read_view,
            projector,
            external_model,
            settings: OnceLock::new(),
        }
    }

    /// What searches read.
    pub fn read_view(&self) -> &ReadView {
        &self.read_view
    }

    /// Rows, manifest and segments.
    pub fn snapshot(&self) -> &Snapshot {
        self.read_view.snapshot()
    }

    /// The settings of the store. They are read once.
    pub(crate) fn settings(&self) -> Result<&Settings, StoreError> {
        match self.settings.get() {
            Some(settings) => Ok(settings),
            None => {
                let settings = settings::read(self.rows())?;
                Ok(self.settings.get_or_init(|| settings))
            }
        }
    }

    /// Whether the space has an embedder.
    pub(crate) fn can_embed(&self) -> bool {
        self.projector.is_some() || self.external_model.is_some()
    }

    /// The vector of a text in the active space; `None` where there is no embedder, or no word of it is known.
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
