//! Opening the snapshot of each commit, and building its segments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_query::ReadView;
use loci_query::view::{CheckedSegment, QuestionEmbedder};
use loci_storage::build::{SegmentBuilder, SegmentDocument};
use loci_storage::segment::PartBuilder;
use loci_storage::snapshot::{OpenSegment, Snapshot};
use loci_storage::{IndexFactory, Rows, SpaceId, StoreError};
use parking_lot::Mutex;

use crate::embedders::external_model::ModelRegistry;
use crate::embedders::projector::Projector;
use crate::segments::merge_sources::MergeSources;
use crate::segments::vectors::{GraphSource, VectorSource};
use crate::segments::writer::{AnalyzerPool, SegmentWriter};
use crate::settings;
use crate::state::snapshot::DatabaseSnapshot;

/// Opens [`DatabaseSnapshot`]s.
#[derive(Default)]
pub(crate) struct SnapshotFactory {
    /// External models that spaces may belong to.
    pub(crate) models: ModelRegistry,
    analyzers: AnalyzerPool,
    /// Segments that were checked while the store is being opened: the first snapshot uses them.
    checked: Mutex<Vec<CheckedSegment>>,
    /// Whether there was a snapshot.
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
        Ok(DatabaseSnapshot::new(read_view, projector, external_model))
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
        SegmentWriter::new(vector_source(view), weights, &self.analyzers)
    }

    /// A builder whose segment copies from `merge_sources` and `graph_source`, the segments that it replaces; it
    /// stops where `stop` is set.
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

/// Where the vectors of new segments come from.
fn vector_source(view: &DatabaseSnapshot) -> Option<VectorSource> {
    let space = view.snapshot().active_space()?;
    let has_vectors = !space.record.builtin || view.projector.is_some();
    has_vectors.then(|| VectorSource::new(space, view.projector.clone()))
}

/// Opens the projection of the active space, or shares it.
fn projector(
    snapshot: &Snapshot,
    previous: Option<&DatabaseSnapshot>,
) -> Result<Option<Arc<Projector>>, StoreError> {
    let space = snapshot.active_space();
    let Some(part) = space.and_then(|space| space.projection.as_ref()) else {
        return Ok(None);
    };
    let known = previous.and_then(|view| view.projector.as_ref());
    match known.filter(|known| known.part() == part.header().part) {
        Some(known) => Ok(Some(Arc::clone(known))),
        None => Projector::open(part).map(Some),
    }
}

/// A builder that could not be created: it returns the error when it is asked to build.
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
