//! What the store publishes after each commit: the indexes of a snapshot, and the projection of
//! its vector space.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use loci_query::ReadView;
use loci_query::view::{CheckedSegment, QuestionEmbedder};
use loci_storage::build::{SegmentBuilder, SegmentDocument};
use loci_storage::segment::{PartBuilder, SectionId};
use loci_storage::snapshot::{OpenSegment, Snapshot};
use loci_storage::{IndexFactory, Rows, SpaceId, StoreError};
use parking_lot::Mutex;

use crate::edits::{self, ConceptEdit};
use crate::error::Error;
use crate::external_model::{ExternalModel, ModelRegistry};
use crate::segment::{AnalyzerPool, GraphSource, MergeSources, SegmentWriter, VectorSource};
use crate::settings::{self, Settings};
use crate::space::Projector;

/// One committed state, ready to be searched.
#[derive(Debug)]
pub struct DatabaseSnapshot {
    pub(crate) read_view: ReadView,
    pub(crate) projector: Option<Arc<Projector>>,
    /// The model from outside that the space was made with, where it was handed to the database.
    pub(crate) external_model: Option<ExternalModel>,
    /// The settings among its rows, once they were read.
    settings: OnceLock<Settings>,
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

    /// Merges and splits of concepts by hand that were not undone, oldest first.
    pub fn concept_edits(&self) -> Result<Vec<ConceptEdit>, Error> {
        edits::list(self.rows())
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

    /// Where the vectors of new segments come from.
    pub(crate) fn vector_source(&self) -> Option<VectorSource> {
        let space = self.snapshot().active_space()?;
        if space.record.builtin && self.projector.is_none() {
            return None;
        }
        Some(VectorSource {
            space: space.id,
            dim: space.record.dim as usize,
            projector: self.projector.clone(),
        })
    }
}

/// Makes [`View`]s.
#[derive(Default)]
pub(crate) struct SnapshotFactory {
    /// Models from outside that spaces may have been made with.
    pub(crate) models: ModelRegistry,
    analyzers: AnalyzerPool,
    /// Segments that were checked while the store is being opened: the first view takes them over.
    checked: Mutex<Vec<CheckedSegment>>,
    /// Whether there was a view.
    is_open: AtomicBool,
}

impl IndexFactory for SnapshotFactory {
    type IndexedSnapshot = DatabaseSnapshot;

    fn check(&self, segment: &OpenSegment) -> Result<(), StoreError> {
        let checked = ReadView::check(segment)?;
        if !self.is_open.load(Ordering::Relaxed) {
            self.checked.lock().push(checked);
        }
        Ok(())
    }

    fn open(
        &self,
        snapshot: Snapshot,
        previous: Option<&DatabaseSnapshot>,
    ) -> Result<DatabaseSnapshot, StoreError> {
        // Without it the store answers by text and graph, and the next `finish` fits it anew.
        let projector = projector(&snapshot, previous).unwrap_or_default();
        self.is_open.store(true, Ordering::Relaxed);
        let checked = std::mem::take(&mut *self.checked.lock());
        let mut read_view = match previous {
            Some(previous) => ReadView::open(snapshot, Some(&previous.read_view))?,
            None => ReadView::open_first(snapshot, checked)?,
        };
        let space = read_view.snapshot().active_space();
        let rows = read_view.snapshot().rows();
        let external_model =
            space.and_then(|space| self.models.find_for_space(rows, &space.record));
        read_view.set_embedder(match (&projector, &external_model) {
            (Some(projector), _) => Some(Arc::clone(projector) as Arc<dyn QuestionEmbedder>),
            (None, Some(external)) => Some(Arc::new(external.clone())),
            (None, None) => None,
        });
        Ok(DatabaseSnapshot {
            read_view,
            projector,
            external_model,
            settings: OnceLock::new(),
        })
    }

    fn snapshot<'v>(&self, view: &'v DatabaseSnapshot) -> &'v Snapshot {
        view.snapshot()
    }

    fn builder<'v>(&'v self, view: &'v DatabaseSnapshot) -> Box<dyn SegmentBuilder + 'v> {
        boxed(self.writer(view))
    }
}

fn boxed<'v>(writer: Result<SegmentWriter<'v>, StoreError>) -> Box<dyn SegmentBuilder + 'v> {
    match writer {
        Ok(writer) => Box::new(writer),
        Err(error) => Box::new(FailedBuilder(Some(error))),
    }
}

impl SnapshotFactory {
    fn writer<'v>(&'v self, view: &'v DatabaseSnapshot) -> Result<SegmentWriter<'v>, StoreError> {
        let weights = settings::weights(view.rows())?;
        SegmentWriter::new(view.vector_source(), weights, &self.analyzers)
    }

    /// A builder whose segment takes the place of `replaced`, and of `donor` among them; it gives up where
    /// `stop` is set.
    pub(crate) fn merge_builder<'v>(
        &'v self,
        view: &'v DatabaseSnapshot,
        merge_sources: Option<MergeSources<'v>>,
        graph_source: Option<GraphSource<'v>>,
        stop: &'v AtomicBool,
    ) -> Box<dyn SegmentBuilder + 'v> {
        let writer = self.writer(view);
        boxed(writer.map(|writer| writer.with_merge_sources(merge_sources, graph_source, stop)))
    }
}

/// Opens the projection of the active space, or shares it.
fn projector(
    snapshot: &Snapshot,
    previous: Option<&DatabaseSnapshot>,
) -> Result<Option<Arc<Projector>>, StoreError> {
    let Some(space) = snapshot.active_space() else {
        return Ok(None);
    };
    let Some(part) = &space.projection else {
        return Ok(None);
    };
    let known = previous.and_then(|view| view.projector.as_ref());
    if let Some(known) = known.filter(|known| known.part() == part.header().part) {
        return Ok(Some(Arc::clone(known)));
    }
    let section = part
        .section(SectionId::Projection, 0)
        .map_err(StoreError::index)?;
    Ok(Some(Arc::new(Projector::open(
        part.header().part,
        section,
    )?)))
}

/// A builder that could not be made: it tells why when it is asked to build.
struct FailedBuilder(Option<StoreError>);

impl SegmentBuilder for FailedBuilder {
    fn push(&mut self, _: &dyn Rows, _: &SegmentDocument) -> Result<(), StoreError> {
        Err(self.0.take().unwrap_or(StoreError::Closed))
    }

    fn finish(
        self: Box<Self>,
        _: &mut PartBuilder,
    ) -> Result<Option<(SpaceId, PartBuilder)>, StoreError> {
        Err(self.0.unwrap_or(StoreError::Closed))
    }
}
