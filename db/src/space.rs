//! The vector space of a store: fitted on its own corpus, filled by a model from outside, or made for
//! vectors that a caller brings. [`crate::switch`] changes from one to another.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use loci_index::analysis::{Analyzer, Languages};
use loci_models::lsa::{FitError, FitOptions, Fitter, Projection};
use loci_query::calibrate::Calibration;
use loci_query::view::QuestionEmbedder;
use loci_storage::records::SpaceRecord;
use loci_storage::rows::missing;
use loci_storage::segment::{Part, PartBuilder, PartBytes, PartKind, Section, SectionId};
use loci_storage::snapshot::OpenSegment;
use loci_storage::staging::{ManifestEdit, indexed_text};
use loci_storage::{Local, Rows, StoreError, Table, keys};
use parking_lot::Mutex;

use crate::corpus::Corpus;
use crate::database::Inner;
use crate::error::Error;
use crate::progress::Progress;
use crate::segment::{VectorSource, VectorWriter, chunk_layer, is_embedded, language_of};
use crate::settings::{self, EmbedderChoice};
use crate::snapshot::DatabaseSnapshot;
use crate::switch::set_folder;

/// Passages below which a fit teaches nothing.
const FIT_CHUNKS_MIN: u64 = 8;

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

impl Projector {
    pub(crate) fn open(part: u64, section: Section) -> Result<Projector, StoreError> {
        let projection = Projection::new(section).map_err(StoreError::index)?;
        Ok(Projector {
            projection,
            part,
            analyzers: Mutex::new(Vec::new()),
        })
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

impl QuestionEmbedder for Projector {
    fn embed(&self, question: &str, languages: Languages) -> Result<Option<Vec<f32>>, String> {
        Ok(self.embed(question, languages))
    }
}

/// Whether the built-in embedder is wanted and was not fitted, or on less than half of what is there.
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

/// Switches to a space for vectors that the caller brings, unless it is the active one already.
pub(crate) fn use_provided_vectors(inner: &Inner, model: &str, dim: usize) -> Result<(), Error> {
    if !(1..=8192).contains(&dim) {
        return Err(StoreError::Invalid(format!("{dim} dimensions; 1 to 8192 are allowed")).into());
    }
    let view = inner.store.latest_snapshot();
    let same = view.snapshot().active_space().is_some_and(|space| {
        let record = &space.record;
        record.given && record.model == model && record.dim as usize == dim
    });
    if same {
        return Ok(());
    }
    let record = SpaceRecord {
        model: model.into(),
        dim: dim as u32,
        given: true,
        ..SpaceRecord::default()
    };
    let switched = inner.store.edit(move |staging| {
        let space = staging.new_space_id();
        set_folder(staging, None)?;
        staging.edit(ManifestEdit::AbandonPendingSpace);
        staging.edit(ManifestEdit::ActivateSpace {
            space,
            record: Box::new(record),
        });
        Ok(())
    });
    switched.map_err(Error::from_store_error)
}

/// Sets which embedder the store uses; a space of another one is given up.
pub(crate) fn set_embedder(inner: &Inner, choice: EmbedderChoice) -> Result<(), Error> {
    let view = inner.store.latest_snapshot();
    let settings = settings::read(view.rows())?;
    let space = view.snapshot().active_space();
    let other = space.is_some_and(|s| !s.record.builtin || choice == EmbedderChoice::None);
    let json = match choice {
        EmbedderChoice::Folder if settings.embedder == choice => return Ok(()),
        EmbedderChoice::Folder => {
            let why = "embedder: `folder` follows from `model`: set that to the folder";
            return Err(Error::Setting(why.into()));
        }
        _ if settings.embedder == choice && !other => return Ok(()),
        EmbedderChoice::Builtin => "\"builtin\"",
        EmbedderChoice::None => "\"none\"",
    };
    let abandoned = choice == EmbedderChoice::None;
    let changed = inner.store.edit(move |staging| {
        staging.put_setting("embedder", Some(json.into()));
        staging.put_setting("model", None);
        if abandoned {
            staging.edit(ManifestEdit::AbandonPendingSpace);
        }
        if other {
            staging.edit(ManifestEdit::DeactivateSpace);
        }
        Ok(())
    });
    changed.map_err(Error::from_store_error)
}

/// What a calibration found, as the space keeps it. In a store too small to measure anything
/// vectors count only where text finds nothing.
pub(crate) fn calibrated_record(calibration: Option<Calibration>) -> SpaceRecord {
    let Some(calibration) = calibration else {
        return SpaceRecord {
            vector_share: Some(0.0),
            ..SpaceRecord::default()
        };
    };
    SpaceRecord {
        vector_share: Some(calibration.vector_weight),
        calibration: calibration
            .metrics
            .iter()
            .map(|f| (f.vector_weight, f.mrr))
            .collect(),
        calibration_questions: calibration.questions as u32,
        ..SpaceRecord::default()
    }
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

/// Opens a projection that is not listed yet.
pub(crate) fn open_unlisted_projection(bytes: &[u8]) -> Result<Projector, Error> {
    let mut part = PartBuilder::new(PartKind::Projection, 0, 0);
    part.push(SectionId::Projection, 0, bytes.to_vec());
    let part = Part::new(PartBytes::copy(&part.finish(0, 0))).map_err(StoreError::index)?;
    let section = Arc::new(part)
        .section(SectionId::Projection, 0)
        .map_err(StoreError::index)?;
    Ok(Projector::open(0, section)?)
}

/// The vectors of one segment.
pub(crate) fn build_segment_vectors(
    rows: &dyn Rows,
    segment: &OpenSegment,
    source: &VectorSource,
) -> Result<PartBuilder, StoreError> {
    let mut writer = VectorWriter::new(source.clone())?;
    let mut analyzer = Analyzer::new();
    for id in segment.live_documents() {
        let document = rows.document(id)?;
        let document = document.ok_or_else(|| missing(Table::Documents, &keys::document(id)))?;
        let Some(run) = segment.documents.find(id) else {
            continue;
        };
        analyzer.set_languages(language_of(&document).into());
        for (place, chunk) in (0u32..).zip(&rows.chunks(id)?) {
            let layer = chunk_layer(place, chunk);
            if is_embedded(document.embed, layer) {
                let terms = analyzer.terms(&indexed_text(&document, chunk));
                writer.push(rows, Local(run.first.0 + place), layer, chunk, &terms)?;
            }
        }
    }
    writer.finish(segment.chunk_count, segment.documents.len() as u32)
}
