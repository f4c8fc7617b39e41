//! External models: whatever implements [`Embedder`] and was given to the database.

use std::fmt;
use std::sync::Arc;

use loci_index::analysis::Languages;
use loci_models::Embedder;
use loci_query::view::QuestionEmbedder;
use loci_storage::Rows;
use loci_storage::records::SpaceRecord;
use parking_lot::Mutex;

use crate::embedders::folder_model;
use crate::error::Error;

/// An external model. A space belongs to it when both have the same name and dimension.
#[derive(Clone)]
pub(crate) struct ExternalModel(Arc<dyn Embedder>);

impl fmt::Debug for ExternalModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ExternalModel({})", self.0.model())
    }
}

impl ExternalModel {
    pub(crate) fn new(model: Arc<dyn Embedder>) -> ExternalModel {
        ExternalModel(model)
    }

    /// The model.
    pub(crate) fn model(&self) -> &dyn Embedder {
        &*self.0
    }

    /// Whether the vectors of a space are its own.
    pub(crate) fn matches_space(&self, space: &SpaceRecord) -> bool {
        !space.builtin
            && !space.given
            && space.model == self.0.model()
            && space.dim as usize == self.0.dim()
    }

    /// The vector of a question; `None` when the model returns zeros.
    pub(crate) fn embed(&self, text: &str) -> Result<Option<Vec<f32>>, Error> {
        let vector = embed_texts(self.model(), &[text])?.pop();
        Ok(vector.filter(|vector| vector.iter().any(|&x| x != 0.0)))
    }
}

impl QuestionEmbedder for ExternalModel {
    fn embed(&self, question: &str, _: Languages) -> Result<Option<Vec<f32>>, String> {
        self.embed(question).map_err(|error| match error {
            Error::Embed(why) => why,
            error => error.to_string(),
        })
    }
}

/// The models that were given to a database.
#[derive(Default)]
pub(crate) struct ModelRegistry(Mutex<Vec<ExternalModel>>);

impl ModelRegistry {
    /// Adds a model, in the place of the one with its name.
    pub(crate) fn add(&self, model: &Arc<dyn Embedder>) {
        let mut models = self.0.lock();
        models.retain(|known| known.0.model() != model.model());
        models.push(ExternalModel(Arc::clone(model)));
    }

    /// The model of a space: one that was given to the database, or the one in the folder that the settings in
    /// `rows` name.
    pub(crate) fn find_for_space(
        &self,
        rows: &dyn Rows,
        space: &SpaceRecord,
    ) -> Option<ExternalModel> {
        let mut models = self.0.lock();
        if let Some(known) = models.iter().find(|model| model.matches_space(space)) {
            return Some(known.clone());
        }
        let model = ExternalModel(folder_model::embedder_for(rows, space)?);
        models.push(model.clone());
        Some(model)
    }
}

/// The vectors of `texts`: as many, of the promised length, finite.
///
/// # Errors
/// [`Error::Embed`] when the model fails or breaks that promise.
pub(crate) fn embed_texts(model: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
    let failed = |why: String| Error::Embed(format!("{}: {why}", model.model()));
    let vectors = model
        .embed(texts)
        .map_err(|error| failed(error.to_string()))?;
    let right =
        |vector: &Vec<f32>| vector.len() == model.dim() && vector.iter().all(|x| x.is_finite());
    if vectors.len() == texts.len() && vectors.iter().all(right) {
        return Ok(vectors);
    }
    Err(failed(format!(
        "{} texts did not get a vector of {} finite numbers each",
        texts.len(),
        model.dim()
    )))
}
