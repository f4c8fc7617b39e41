//! The model in a folder that a store's settings name (`model`, with `embedder = folder`).
//!
//! Invariant: the setting and the space of the model change in one commit. The folder is read for the first vector, so
//! opening a store does not pay for it.

use std::path::Path;
use std::sync::Arc;

use loci_models::Embedder;
#[cfg(feature = "minilm")]
use loci_models::{FolderEmbedder, LazyFolderEmbedder};
use loci_storage::Rows;
use loci_storage::records::SpaceRecord;

use crate::error::Error;
use crate::settings::{self, EmbedderChoice};

/// The folder that the settings name; `None` where they name another embedder.
pub(crate) fn configured_folder(rows: &dyn Rows) -> Option<String> {
    let settings = settings::read(rows).ok()?;
    (settings.embedder == EmbedderChoice::Folder).then_some(settings.model)
}

/// The embedder of a space whose model is in the folder that the settings name.
#[cfg(feature = "minilm")]
pub(crate) fn embedder_for(rows: &dyn Rows, space: &SpaceRecord) -> Option<Arc<dyn Embedder>> {
    if space.builtin || space.given {
        return None;
    }
    let folder = configured_folder(rows)?.into();
    let model = LazyFolderEmbedder::new(folder, space.model.clone(), space.dim as usize);
    Some(Arc::new(model))
}

/// The embedder of a space whose model is in the folder that the settings name.
#[cfg(not(feature = "minilm"))]
pub(crate) fn embedder_for(_: &dyn Rows, _: &SpaceRecord) -> Option<Arc<dyn Embedder>> {
    None
}

/// Reads the model in a folder.
#[cfg(feature = "minilm")]
pub(crate) fn open(folder: &Path) -> Result<Arc<dyn Embedder>, Error> {
    let model = FolderEmbedder::open(folder).map_err(|error| Error::Embed(error.to_string()))?;
    Ok(Arc::new(model))
}

/// Reads the model in a folder.
#[cfg(not(feature = "minilm"))]
pub(crate) fn open(folder: &Path) -> Result<Arc<dyn Embedder>, Error> {
    let folder = folder.display();
    Err(Error::Embed(format!(
        "{folder}: this program was built without the feature minilm, which reads models from folders"
    )))
}
