//! Changing the vector space of a live store.
//!
//! The new space is built beside the active one, in steps that are each a commit: its record and
//! projection, rows of vectors that an external model computes, the vectors of one segment after
//! another. Searches and writes use the active space until one last commit switches: projection, vectors
//! and their weight change together, or not at all. After a crash the steps that are committed are
//! not repeated.
//!
//! Start reading at [`switch`].

use loci_storage::records::SpaceRecord;
use loci_storage::segment::{PartBuilder, PartKind, SectionId};
use loci_storage::snapshot::{OpenSegment, OpenSpace};
use loci_storage::staging::ManifestEdit;
use loci_storage::{NewPart, SegmentId, SpaceId, Staging, StoreError, failpoint};

use crate::embedders::external_model::{ExternalModel, embed_texts};
use crate::embedders::projector::Projector;
use crate::error::Error;
use crate::progress::{self, Progress};
use crate::segments::vectors::{VectorSource, build_segment_vectors};
use crate::settings;
use crate::spaces::calibrate::{
    CalibrationTarget, calibrate, calibrate_external, calibrated_record, update_space_record,
};
use crate::spaces::choice::{DIMS, set_folder};
use crate::spaces::corpus::Corpus;
use crate::spaces::fit::fit_projection;
use crate::spaces::vectors::{
    build_segments, embed_rows, lacks_vectors, put_vector, texts_to_embed,
};
use crate::state::inner::Inner;

/// Chunks of segments that were written too late to be built ahead, which the switching commit may build in
/// the first round; in each later one twice as many.
const LATE_CHUNKS_MAX: u64 = 2048;
/// Rounds before that commit may have texts embedded by an external model, for which writers wait.
const ROUNDS_AHEAD: u32 = 4;
/// Texts that it may have embedded in the first round after those; in each later one twice as many.
const LATE_TEXTS_MAX: usize = 16;

/// What a store is switched to.
pub(crate) enum Target {
    /// The built-in embedder, fitted on the newest view.
    Builtin,
    /// An external model.
    External {
        /// The model.
        model: ExternalModel,
        /// Its folder, for the settings.
        folder: Option<String>,
    },
}

impl Target {
    fn external_model(&self) -> Option<&ExternalModel> {
        match self {
            Target::Builtin => None,
            Target::External { model, .. } => Some(model),
        }
    }

    fn folder(&self) -> Option<&str> {
        match self {
            Target::Builtin => None,
            Target::External { folder, .. } => folder.as_deref(),
        }
    }
}

/// A space that is being built.
struct PendingSpace {
    source: VectorSource,
    /// The measured weight of vectors; `None` where the record has it already.
    calibration: Option<SpaceRecord>,
}

/// Builds the space of `target` and switches to it. The caller holds `switch_lock`.
///
/// A corpus that is too small for the built-in embedder, or has no term twice, gets no space, and that
/// is no error.
pub(crate) fn switch(inner: &Inner, target: &Target, progress: &dyn Progress) -> Result<(), Error> {
    let resumed = resume(inner, target)?;
    let source = match resumed {
        Some(source) => source,
        None => match target {
            Target::Builtin => match prepare_builtin(inner, progress)? {
                Some(source) => source,
                None => return Ok(()),
            },
            Target::External { model, .. } => prepare_external(inner, model)?,
        },
    };
    failpoint::reach("space-prepared");
    let mut pending = PendingSpace {
        source,
        calibration: None,
    };
    for round in 0.. {
        progress::report(progress, "switching", round.into(), round.into())?;
        // A merge drops the pending vectors of its segments, so late rounds let none begin.
        let _turn = (round >= ROUNDS_AHEAD).then(|| inner.merge_lock.lock());
        let mut view = inner.store.latest_snapshot();
        let segments: Vec<SegmentId> = view.snapshot().segments().iter().map(|s| s.id).collect();
        if let Some(external) = target.external_model() {
            let space = pending.source.space;
            let lacking = view.snapshot().segments().iter();
            let lacking = lacking.filter(|segment| lacks_vectors(segment, space));
            embed_rows(inner, &view, lacking, space, external, progress)?;
            view = inner.store.latest_snapshot();
            if pending.calibration.is_none() {
                let space = pending.source.space;
                pending.calibration = Some(calibrate_external(&view, space, external, progress)?);
            }
        }
        build_segments(inner, &view, &segments, &pending.source, progress)?;
        failpoint::reach("space-built");
        if try_switch(inner, &pending, target, round)? {
            break;
        }
    }
    Ok(())
}

/// The space that an interrupted switch to the same target left, unless the store has outgrown it.
fn resume(inner: &Inner, target: &Target) -> Result<Option<VectorSource>, Error> {
    let view = inner.store.latest_snapshot();
    let Some(pending) = view.snapshot().pending_space() else {
        return Ok(None);
    };
    let chunks = view.snapshot().manifest().chunk_count;
    let fits = match target {
        Target::Builtin => pending.record.builtin && chunks < 2 * pending.record.fitted_chunks,
        Target::External { model, .. } => model.matches_space(&pending.record),
    };
    if fits {
        Ok(Some(vector_source(pending)?))
    } else {
        Ok(None)
    }
}

/// The source of vectors in a space that was prepared before.
fn vector_source(space: &OpenSpace) -> Result<VectorSource, StoreError> {
    let projector = space.projection.as_ref().map(Projector::open).transpose()?;
    Ok(VectorSource::new(space, projector))
}

/// Fits the built-in embedder, measures the weight of its vectors, and commits both as the space that is being
/// built. `None` when there is too little to fit on.
fn prepare_builtin(inner: &Inner, progress: &dyn Progress) -> Result<Option<VectorSource>, Error> {
    let view = inner.store.latest_snapshot();
    let seed = settings::read(view.rows())?.seed;
    let corpus = Corpus::read(&view, progress)?;
    view.snapshot().check_pages()?;
    let Some(projection) = fit_projection(&corpus, None, seed, progress)? else {
        return Ok(None);
    };
    let projector = Projector::open_unlisted(&projection)?;
    let dim = projector.dim();
    let calibration = calibrate(
        &view,
        &corpus,
        &CalibrationTarget::Builtin { dim },
        seed,
        progress,
    )?;
    let record = SpaceRecord {
        model: projector.model(),
        builtin: true,
        dim: dim as u32,
        fitted_chunks: view.snapshot().manifest().chunk_count,
        ..calibrated_record(calibration)
    };
    let mut part = PartBuilder::new(PartKind::Projection, 0, 0);
    part.push(SectionId::Projection, 0, projection);
    let part = inner.store.prepare_part(part)?;
    view.snapshot().check_pages()?;
    let space = prepare_space(inner, record, Some(part))?;
    Ok(Some(VectorSource {
        space,
        dim,
        projector: Some(projector),
    }))
}

fn prepare_external(inner: &Inner, external: &ExternalModel) -> Result<VectorSource, Error> {
    let (model, dim) = (external.model().model(), external.model().dim());
    if !DIMS.contains(&dim) {
        let why = format!("{model} has {dim} dimensions; 1 to 8192 are allowed");
        return Err(StoreError::Invalid(why).into());
    }
    let record = SpaceRecord {
        model: model.into(),
        dim: dim as u32,
        ..SpaceRecord::default()
    };
    Ok(VectorSource {
        space: prepare_space(inner, record, None)?,
        dim,
        projector: None,
    })
}

fn prepare_space(
    inner: &Inner,
    record: SpaceRecord,
    projection: Option<NewPart>,
) -> Result<SpaceId, Error> {
    inner.edit(move |staging| {
        let space = staging.new_space_id();
        staging.edit(ManifestEdit::PrepareSpace {
            space,
            record: Box::new(record),
            projection,
        });
        Ok(space)
    })
}

/// Switches, and builds the vectors of segments that were written since; `false` when that is too much to do
/// while writers wait.
fn try_switch(
    inner: &Inner,
    pending: &PendingSpace,
    target: &Target,
    round: u32,
) -> Result<bool, Error> {
    let chunks_max = LATE_CHUNKS_MAX << round.min(32);
    let texts_max = match round.checked_sub(ROUNDS_AHEAD) {
        Some(late) => LATE_TEXTS_MAX << late.min(16),
        None => 0,
    };
    let source = pending.source.clone();
    let measured = pending.calibration.clone();
    let external = target.external_model().cloned();
    let folder = target.folder().map(str::to_owned);
    inner.edit(move |staging| {
        if staging.manifest().pending_space != Some(source.space.0) {
            let why = "the pending space was abandoned; start the switch again";
            return Err(StoreError::Invalid(why.into()));
        }
        let lacking = staging.segments().iter();
        let lacking: Vec<OpenSegment> = lacking
            .filter(|segment| lacks_vectors(segment, source.space))
            .cloned()
            .collect();
        let chunks: u64 = lacking.iter().map(|s| u64::from(s.chunk_count)).sum();
        let few = chunks <= chunks_max;
        if !few || !embed_late(staging, &lacking, &source, external.as_ref(), texts_max)? {
            return Ok(false);
        }
        let parts = build_late(staging, &lacking, &source)?;
        staging.edit(ManifestEdit::SetVectors {
            space: source.space,
            parts,
        });
        if let Some(measured) = measured {
            update_space_record(staging, source.space, measured)?;
        }
        set_folder(staging, folder)?;
        staging.edit(ManifestEdit::SwitchSpace);
        Ok(true)
    })
}

/// Embeds the texts of segments that were written last; `false` when they are too many.
fn embed_late(
    staging: &mut Staging<'_>,
    lacking: &[OpenSegment],
    source: &VectorSource,
    external: Option<&ExternalModel>,
    texts_max: usize,
) -> Result<bool, StoreError> {
    let Some(external) = external else {
        return Ok(true);
    };
    let mut batch = Vec::new();
    for id in lacking.iter().flat_map(OpenSegment::live_documents) {
        batch.extend(texts_to_embed(staging.rows(), id, source.space)?);
    }
    if batch.is_empty() || batch.len() > texts_max {
        return Ok(batch.is_empty());
    }
    let texts: Vec<&str> = batch.iter().map(|(_, text)| &text[..]).collect();
    let vectors = embed_texts(external.model(), &texts)?;
    for ((hash, _), vector) in batch.iter().zip(&vectors) {
        put_vector(staging, source.space, *hash, vector)?;
    }
    Ok(true)
}

fn build_late(
    staging: &Staging<'_>,
    lacking: &[OpenSegment],
    source: &VectorSource,
) -> Result<Vec<(SegmentId, NewPart)>, StoreError> {
    let built = lacking.iter().map(|segment| {
        let part = build_segment_vectors(staging.rows(), segment, source)?;
        Ok((segment.id, part.into()))
    });
    built.collect()
}
