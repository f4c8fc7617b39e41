//! Computing what a space lacks: rows of vectors from an external model, and the vectors of segments.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use loci_storage::rows::missing;
use loci_storage::snapshot::OpenSegment;
use loci_storage::staging::{ManifestEdit, indexed_text};
use loci_storage::{
    DocumentId, Durability, Rows, SegmentId, SpaceId, Staging, StoreError, Table, keys,
};

use crate::embedders::external_model::{ExternalModel, embed_texts};
use crate::error::Error;
use crate::progress::{self, Progress};
use crate::segments::chunk::{chunk_layer, is_embedded};
use crate::segments::vectors::{VectorSource, build_segment_vectors};
use crate::state::inner::Inner;
use crate::state::snapshot::DatabaseSnapshot;

/// Texts that an external model is given at once.
const EMBED_BATCH_LEN: usize = 128;

/// Stores a row for every content of `segments` that is to be embedded and has no vector in `space`.
pub(crate) fn embed_rows<'v>(
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
        if batch.len() >= EMBED_BATCH_LEN || done % 256 == 0 {
            progress::report(progress, "embedding", done, total)?;
        }
        if batch.len() >= EMBED_BATCH_LEN {
            store_vectors(inner, space, external, &mut batch)?;
        }
    }
    store_vectors(inner, space, external, &mut batch)
}

/// The texts of a document that are to be embedded and have no vector in `space`, by content.
pub(crate) fn texts_to_embed(
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
        inner.write(Durability::Immediate, move |staging| {
            rows.into_iter()
                .try_for_each(|(hash, vector)| put_vector(staging, space, hash, &vector))
        })?;
        let count = texts.len() as u64;
        inner.embedded_texts.fetch_add(count, Ordering::Relaxed);
    }
    Ok(())
}

/// Stores a vector, unless its content or its space is gone by now.
pub(crate) fn put_vector(
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

/// Builds the vectors of those of `segments` that have none in the space, and commits each. Others that
/// `view` has may hold text that was not embedded yet.
pub(crate) fn build_segments(
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
        progress::report(progress, "building vectors", done, total)?;
        put_vectors(inner, view, segment, source)?;
    }
    Ok(())
}

pub(crate) fn put_vectors(
    inner: &Inner,
    view: &DatabaseSnapshot,
    segment: &OpenSegment,
    source: &VectorSource,
) -> Result<(), Error> {
    let part = inner.with_page_check(view, || {
        Ok(build_segment_vectors(view.rows(), segment, source)?)
    })?;
    let part = inner.store.prepare_part(part)?;
    inner.edit_manifest(vec![ManifestEdit::SetVectors {
        space: source.space,
        parts: vec![(segment.id, part)],
    }])
}

pub(crate) fn lacks_vectors(segment: &OpenSegment, space: SpaceId) -> bool {
    let mut built = segment.vectors.iter().chain(&segment.pending_vectors);
    !built.any(|(of, _)| *of == space)
}
