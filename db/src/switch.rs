//! Changing the vector space of a live store.
//!
//! The new space is built beside the active one, in steps that are each a commit: its record and
//! projection, rows of vectors that a model from outside computes, the vectors of one segment after
//! another. Searches and writes use the active space until one last commit switches: projection, vectors
//! and the arms' share change together, or not at all. After a crash the steps that are committed are
//! not done again.
//!
//! Start reading at [`switch`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use loci_storage::failpoint;
use loci_storage::records::SpaceRecord;
use loci_storage::rows::{encode, missing, read};
use loci_storage::segment::{Layer, PartBuilder, PartKind, SectionId};
use loci_storage::snapshot::{OpenSegment, OpenSpace};
use loci_storage::staging::{ManifestEdit, indexed_text};
use loci_storage::{
    DocumentId, Durability, LocalOrdinal, NewPart, Rows, SegmentId, SpaceId, Staging, StoreError,
    Table, keys,
};

use serde_json::Value;

use crate::calibrate::{CalibrationTarget, calibrate};
use crate::corpus::Corpus;
use crate::database::Inner;
use crate::error::Error;
use crate::external_model::{ExternalModel, embed_texts};
use crate::progress::Progress;
use crate::segment::{VectorSource, chunk_layer, is_embedded};
use crate::settings::{self, EmbedderChoice};
use crate::snapshot::DatabaseSnapshot;
use crate::space::{
    Projector, build_segment_vectors, calibrated_record, fit_projection, open_unlisted_projection,
};

/// Texts that a model from outside is given at once.
const EMBED_BATCH_LEN: usize = 128;
/// Chunks below which nothing is measured anew.
const CALIBRATION_CHUNKS_MIN: u64 = 8;
/// Chunks of segments that came too late to be built ahead, which the switching commit may build in
/// the first round; in each later one twice as many.
const LATE_CHUNKS_MAX: u64 = 2048;
/// Rounds before that commit may have texts embedded by a model from outside, for which writers wait.
const ROUNDS_AHEAD: u32 = 4;
/// Texts that it may have embedded in the first round after those; in each later one twice as many.
const LATE_TEXTS_MAX: usize = 16;

/// What a store is switched to.
pub(crate) enum Target {
    /// The built-in embedder, fitted on the newest view.
    Builtin,
    /// A model from outside.
    External {
        /// The model.
        model: ExternalModel,
        /// The folder that it lies in, for the settings.
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
    /// What the arms' share is measured to be; `None` where the record says it already.
    calibration: Option<SpaceRecord>,
}

/// Builds the space of `target` and switches to it. The caller holds `switching`.
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
        if progress
            .report("switching", round.into(), round.into())
            .is_break()
        {
            return Err(Error::Interrupted);
        }
        // A merge drops what was built of its segments, so late rounds let none begin.
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

/// The space that an interrupted switch to the same target left, if it is still worth its while.
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

/// Where the vectors of segments in a space come from.
fn vector_source(space: &OpenSpace) -> Result<VectorSource, StoreError> {
    let projector = match &space.projection {
        Some(part) => {
            let section = part
                .section(SectionId::Projection, 0)
                .map_err(StoreError::index)?;
            let number = part.header().part;
            Some(Arc::new(Projector::open(number, section)?))
        }
        None => None,
    };
    Ok(VectorSource {
        space: space.id,
        dim: space.record.dim as usize,
        projector,
    })
}

/// Fits the built-in embedder, measures the arms' share, and commits both as the space that is being
/// built. `None` when there is too little to fit on.
fn prepare_builtin(inner: &Inner, progress: &dyn Progress) -> Result<Option<VectorSource>, Error> {
    let view = inner.store.latest_snapshot();
    let seed = settings::read(view.rows())?.seed;
    let corpus = Corpus::read(&view, progress)?;
    view.snapshot().check_pages()?;
    let Some(projection) = fit_projection(&corpus, None, seed, progress)? else {
        return Ok(None);
    };
    let projector = Arc::new(open_unlisted_projection(&projection)?);
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
    if !(1..=8192).contains(&dim) {
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
    let prepared = inner.store.edit(move |staging| {
        let space = staging.new_space_id();
        staging.edit(ManifestEdit::PrepareSpace {
            space,
            record: Box::new(record),
            projection,
        });
        Ok(space)
    });
    prepared.map_err(Error::from_store_error)
}

/// Changes where the model of the active space lies.
pub(crate) fn set_model_folder(inner: &Inner, folder: String) -> Result<(), Error> {
    let set = inner
        .store
        .edit(move |staging| set_folder(staging, Some(folder)));
    set.map_err(Error::from_store_error)
}

/// Embeds what new text has no vector yet in the active space, which `outside` made, gives segments their vectors,
/// and measures the arms' shares anew where there is twice as much as when they were measured.
pub(crate) fn embed_missing(
    inner: &Inner,
    external: &ExternalModel,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let view = inner.store.latest_snapshot();
    let Some(space) = view
        .snapshot()
        .active_space()
        .filter(|s| external.matches_space(&s.record))
    else {
        return Ok(());
    };
    let source = vector_source(space)?;
    let segments = view.snapshot().segments().iter();
    embed_rows(inner, &view, segments, source.space, external, progress)?;
    {
        // A merge from an older view would put segments without these vectors in their place.
        let _turn = inner.merge_lock.lock();
        let view = inner.store.latest_snapshot();
        for segment in view.snapshot().segments() {
            if lacks_stored_vectors(&view, segment, source.space)? {
                put_vectors(inner, &view, segment, &source)?;
            }
        }
    }
    recalibrate_if_grown(inner, source.space, external, progress)
}

/// Measures the arms' shares where there is twice as much as when they were measured.
fn recalibrate_if_grown(
    inner: &Inner,
    space: SpaceId,
    external: &ExternalModel,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let view = inner.store.latest_snapshot();
    let chunks = view.snapshot().manifest().chunk_count;
    let Some(active) = view
        .snapshot()
        .active_space()
        .filter(|active| active.id == space)
    else {
        return Ok(());
    };
    if chunks < CALIBRATION_CHUNKS_MIN || chunks < 2 * active.record.fitted_chunks {
        return Ok(());
    }
    let measured = calibrate_external(&view, space, external, progress)?;
    let put = inner
        .store
        .edit(move |staging| match staging.manifest().active_space {
            Some(active) if active == space.0 => update_space_record(staging, space, measured),
            _ => Ok(()),
        });
    put.map_err(Error::from_store_error)
}

/// Whether a chunk of a segment has a vector among the rows, and none in the segment.
fn lacks_stored_vectors(
    view: &DatabaseSnapshot,
    segment: &OpenSegment,
    space: SpaceId,
) -> Result<bool, StoreError> {
    let mut there = HashSet::new();
    for layer in Layer::ALL {
        let vectors = view.read_view.vectors(layer).into_iter();
        for placed in vectors.filter(|placed| placed.base == segment.base) {
            there.extend(placed.reader.flat().locals());
        }
    }
    for id in segment.live_documents() {
        let (Some(document), Some(run)) = (view.rows().document(id)?, segment.documents.find(id))
        else {
            continue;
        };
        for (place, chunk) in (0u32..).zip(&view.rows().chunks(id)?) {
            if there.contains(&LocalOrdinal(run.first.0 + place))
                || !is_embedded(document.embed, chunk_layer(place, chunk))
            {
                continue;
            }
            let vector = view.rows().vector(space, chunk.content_hash)?;
            if vector.is_some_and(|vector| vector.iter().any(|&x| x != 0.0)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Stores a row for every content of `segments` that is to be embedded and has no vector in `space`.
fn embed_rows<'v>(
    inner: &Inner,
    view: &'v DatabaseSnapshot,
    segments: impl Iterator<Item = &'v OpenSegment>,
    space: SpaceId,
    external: &ExternalModel,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let mut batch: HashMap<[u8; 16], String> = HashMap::new();
    let (mut done, total) = (0, view.snapshot().manifest().document_count);
    for id in segments.flat_map(OpenSegment::live_documents) {
        batch.extend(texts_to_embed(view.rows(), id, space)?);
        done += 1;
        if (batch.len() >= EMBED_BATCH_LEN || done % 256 == 0)
            && progress.report("embedding", done, total).is_break()
        {
            return Err(Error::Interrupted);
        }
        if batch.len() >= EMBED_BATCH_LEN {
            store_vectors(inner, space, external, &mut batch)?;
        }
    }
    store_vectors(inner, space, external, &mut batch)
}

/// What is to be embedded of a document and has no vector in `space`, by content.
fn texts_to_embed(
    rows: &dyn Rows,
    id: DocumentId,
    space: SpaceId,
) -> Result<Vec<([u8; 16], String)>, StoreError> {
    let document = rows.document(id)?;
    let document = document.ok_or_else(|| missing(Table::Documents, &keys::document(id)))?;
    let mut texts = Vec::new();
    for (place, chunk) in (0u32..).zip(&rows.chunks(id)?) {
        let key = keys::vector(space, chunk.content_hash);
        if is_embedded(document.embed, chunk_layer(place, chunk))
            && rows.get(Table::Vectors, &key)?.is_none()
        {
            texts.push((chunk.content_hash, indexed_text(&document, chunk)));
        }
    }
    Ok(texts)
}

fn store_vectors(
    inner: &Inner,
    space: SpaceId,
    external: &ExternalModel,
    batch: &mut HashMap<[u8; 16], String>,
) -> Result<(), Error> {
    let (hashes, texts): (Vec<_>, Vec<String>) = batch.drain().unzip();
    for (hashes, texts) in hashes
        .chunks(EMBED_BATCH_LEN)
        .zip(texts.chunks(EMBED_BATCH_LEN))
    {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embed_texts(external.model(), &texts)?;
        let rows: Vec<_> = hashes.iter().copied().zip(vectors).collect();
        inner
            .store
            .write_with(Durability::Immediate, move |staging| {
                rows.into_iter()
                    .try_for_each(|(hash, vector)| put_vector(staging, space, hash, &vector))
            })
            .map_err(Error::from_store_error)?;
        let count = texts.len() as u64;
        inner.embedded_texts.fetch_add(count, Ordering::Relaxed);
    }
    Ok(())
}

/// Stores a vector, unless its content or its space is gone by now.
fn put_vector(
    staging: &mut Staging<'_>,
    space: SpaceId,
    hash: [u8; 16],
    vector: &[f32],
) -> Result<(), StoreError> {
    let manifest = staging.manifest();
    let is_current_space = [manifest.active_space, manifest.pending_space].contains(&Some(space.0));
    if is_current_space && staging.rows().get(Table::Contents, &hash)?.is_some() {
        let payload = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
        staging.put(Table::Vectors, keys::vector(space, hash), payload);
    }
    Ok(())
}

/// The arms' share in a space of a model from outside.
fn calibrate_external(
    view: &DatabaseSnapshot,
    space: SpaceId,
    external: &ExternalModel,
    progress: &dyn Progress,
) -> Result<SpaceRecord, Error> {
    let seed = settings::read(view.rows())?.seed;
    let corpus = Corpus::read(view, progress)?;
    let of = CalibrationTarget::External {
        space,
        model: external.model(),
    };
    let calibration = calibrate(view, &corpus, &of, seed, progress)?;
    Ok(SpaceRecord {
        fitted_chunks: view.snapshot().manifest().chunk_count,
        ..calibrated_record(calibration)
    })
}

/// Builds the vectors of those of `segments` that have none in the space, and commits each. Others that
/// `view` has may hold text that was not embedded yet.
fn build_segments(
    inner: &Inner,
    view: &DatabaseSnapshot,
    segments: &[SegmentId],
    source: &VectorSource,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let listed = view.snapshot().segments().iter();
    let lacking = listed.filter(|s| segments.contains(&s.id) && lacks_vectors(s, source.space));
    let lacking: Vec<&OpenSegment> = lacking.collect();
    for (done, segment) in (0..).zip(&lacking) {
        let total = lacking.len() as u64;
        if progress.report("building vectors", done, total).is_break() {
            return Err(Error::Interrupted);
        }
        put_vectors(inner, view, segment, source)?;
    }
    Ok(())
}

fn put_vectors(
    inner: &Inner,
    view: &DatabaseSnapshot,
    segment: &OpenSegment,
    source: &VectorSource,
) -> Result<(), Error> {
    let part = inner.with_page_check(view, || {
        Ok(build_segment_vectors(view.rows(), segment, source)?)
    })?;
    let part = inner.store.prepare_part(part)?;
    inner.edit(vec![ManifestEdit::SetVectors {
        space: source.space,
        parts: vec![(segment.id, part)],
    }])
}

fn lacks_vectors(segment: &OpenSegment, space: SpaceId) -> bool {
    let mut built = segment.vectors.iter().chain(&segment.pending_vectors);
    !built.any(|(of, _)| *of == space)
}

/// Switches, and builds what came since the segments were built; `false` when that is too much to do
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
    let switched = inner.store.edit(move |staging| {
        if staging.manifest().pending_space != Some(source.space.0) {
            let why = "the space that was being built was given up; start the switch anew";
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
    });
    switched.map_err(Error::from_store_error)
}

/// Keeps where the model of the active space lies, and that it is none in a folder any more.
pub(crate) fn set_folder(
    staging: &mut Staging<'_>,
    folder: Option<String>,
) -> Result<(), StoreError> {
    let was_folder = settings::read(staging.rows())?.embedder == EmbedderChoice::Folder;
    if folder.is_some() || was_folder {
        let embedder = folder.is_some().then(|| "\"folder\"".to_owned());
        staging.put_setting("embedder", embedder);
        staging.put_setting(
            "model",
            folder.map(|folder| Value::String(folder).to_string()),
        );
    }
    Ok(())
}

/// Embeds the texts of segments that came last; `false` when they are too many.
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

/// Completes the record of a space with what was measured since.
fn update_space_record(
    staging: &mut Staging<'_>,
    space: SpaceId,
    measured: SpaceRecord,
) -> Result<(), StoreError> {
    let key = space.0.to_be_bytes();
    let record: Option<SpaceRecord> = read(staging.rows(), Table::Spaces, &key)?;
    let record = record.ok_or_else(|| missing(Table::Spaces, &key))?;
    let record = SpaceRecord {
        model: record.model,
        builtin: record.builtin,
        given: record.given,
        dim: record.dim,
        projection: record.projection,
        ..measured
    };
    staging.put(Table::Spaces, key.to_vec(), encode(&record)?);
    Ok(())
}
