//! Giving vectors of an external model to text that was written since the switch to it.

use std::collections::HashSet;

use loci_storage::segment::Layer;
use loci_storage::snapshot::OpenSegment;
use loci_storage::{LocalOrdinal, SpaceId, StoreError};

use crate::embedders::external_model::ExternalModel;
use crate::error::Error;
use crate::progress::Progress;
use crate::segments::chunk::{chunk_layer, is_embedded};
use crate::segments::vectors::VectorSource;
use crate::spaces::calibrate::{calibrate_external, update_space_record};
use crate::spaces::vectors::{embed_rows, put_vectors};
use crate::state::inner::Inner;
use crate::state::snapshot::DatabaseSnapshot;

/// Chunks below which nothing is measured anew.
const CALIBRATION_CHUNKS_MIN: u64 = 8;

/// Embeds new text that has no vector in the active space, which is that of `external`, gives segments their vectors,
/// and measures the weight of vectors anew where the store has doubled since that was measured.
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
    let source = VectorSource::new(space, None);
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

/// Measures the weight of vectors anew where the store has doubled since that was measured.
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
    inner.edit(move |staging| match staging.manifest().active_space {
        Some(active) if active == space.0 => update_space_record(staging, space, measured),
        _ => Ok(()),
    })
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
