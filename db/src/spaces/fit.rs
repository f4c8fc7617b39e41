//! Fitting the built-in embedder on the store's own passages.

use std::collections::HashMap;

use loci_models::lsa::{FitError, FitOptions, Fitter};

use crate::error::Error;
use crate::progress::Progress;
use crate::settings::{self, EmbedderChoice};
use crate::spaces::corpus::Corpus;
use crate::state::snapshot::DatabaseSnapshot;

/// Passages below which nothing is fitted.
const FIT_CHUNKS_MIN: u64 = 8;

/// Whether the built-in embedder is configured and was not fitted, or on less than half of the chunks.
pub(crate) fn needs_fit(view: &DatabaseSnapshot) -> Result<bool, Error> {
    let settings = settings::read(view.rows())?;
    let chunks = view.snapshot().manifest().chunk_count;
    Ok(match view.snapshot().active_space() {
        Some(space) if !space.record.builtin => false,
        _ if settings.embedder != EmbedderChoice::Builtin || chunks < FIT_CHUNKS_MIN => false,
        Some(_) if view.projector.is_none() => true,
        Some(space) => chunks >= 2 * space.record.fitted_chunks,
        None => true,
    })
}

/// The bytes of a projection fitted on `corpus`; the passages in `hidden` have the terms given there
/// instead of their own. `None` when the corpus is too small.
pub(crate) fn fit_projection(
    corpus: &Corpus,
    hidden: Option<&HashMap<usize, &[String]>>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Option<Vec<u8>>, Error> {
    let mut fitter = Fitter::new();
    for index in 0..corpus.passages().len() {
        let pushed = match hidden.and_then(|hidden| hidden.get(&index)) {
            Some(left) => fitter.push(*left),
            None => fitter.push(corpus.terms(index)),
        };
        pushed.map_err(|error| Error::Embed(error.to_string()))?;
    }
    let options = FitOptions {
        seed,
        ..FitOptions::default()
    };
    let step = if hidden.is_some() {
        "fitting a check"
    } else {
        "fitting"
    };
    match fitter.fit(&options, |share| {
        progress.report(step, (share * 100.0) as u64, 100)
    }) {
        Ok(fitted) => Ok(Some(fitted.into_bytes())),
        Err(FitError::Cancelled) => Err(Error::Interrupted),
        Err(FitError::NoTerms) => Ok(None),
        Err(error) => Err(Error::Embed(error.to_string())),
    }
}
