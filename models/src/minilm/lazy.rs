//! A model in a folder that is read when its first vector is needed: a store is opened, and searched by text alone,
//! without it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::FolderEmbedder;
use crate::embedder::{EmbedError, Embedder};

/// The expected model of a folder, and the model once it was read. A folder that could not be read is tried again.
pub struct LazyFolderEmbedder {
    folder: PathBuf,
    name: String,
    dim: usize,
    loaded: Mutex<Option<Arc<FolderEmbedder>>>,
}

impl LazyFolderEmbedder {
    /// The model `name` of `dim` numbers, in `folder`.
    pub fn new(folder: PathBuf, name: String, dim: usize) -> LazyFolderEmbedder {
        LazyFolderEmbedder {
            folder,
            name,
            dim,
            loaded: Mutex::new(None),
        }
    }

    fn load(&self) -> Result<Arc<FolderEmbedder>, EmbedError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*loaded {
            return Ok(Arc::clone(model));
        }
        let model = FolderEmbedder::open(&self.folder);
        let model = model.map_err(|error| EmbedError::Unavailable {
            reason: error.to_string(),
        })?;
        if model.model() != self.name || model.dim() != self.dim {
            return Err(EmbedError::InvalidOutput {
                reason: format!(
                    "{} holds the model {}, and what is there was embedded by {}: put that back, or switch to the new one",
                    self.folder.display(),
                    model.model(),
                    self.name
                ),
            });
        }
        Ok(Arc::clone(loaded.insert(Arc::new(model))))
    }
}

impl Embedder for LazyFolderEmbedder {
    fn dim(&self) -> usize {
        self.dim
    }

    fn model(&self) -> &str {
        &self.name
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.load()?.embed(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_folder_is_reported_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let away = folder.path().join("away");
        let model = LazyFolderEmbedder::new(away, "onnx-1:0".into(), 384);
        assert_eq!((model.model(), model.dim()), ("onnx-1:0", 384));
        let error = model.embed(&["water"]).unwrap_err();
        assert!(matches!(error, EmbedError::Unavailable { .. }));
        assert!(error.to_string().contains("away"), "{error}");
    }
}
