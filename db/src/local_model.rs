//! The model in a folder that a store's settings name (`model`, with `embedder = folder`).
//!
//! Always true: the setting and the space that was made with the model change in one commit, and the folder is read when
//! its first vector is wanted, so opening a store costs nothing of it.

use std::path::Path;
use std::sync::Arc;

use loci_models::Embedder;
#[cfg(feature = "minilm")]
use loci_models::{FolderEmbedder, LazyFolderEmbedder};
use loci_storage::Rows;
use loci_storage::records::SpaceRecord;

use crate::error::Error;
use crate::settings::{self, EmbedderChoice};
use crate::snapshot::DatabaseSnapshot;

/// The folder that the settings name; `None` where they want another embedder.
fn configured_folder(rows: &dyn Rows) -> Option<String> {
    let settings = settings::read(rows).ok()?;
    (settings.embedder == EmbedderChoice::Folder).then_some(settings.model)
}

/// The folder whose model the settings want, where the store has no space of a model or of vectors that it was given.
pub(crate) fn folder_to_switch_to(view: &DatabaseSnapshot) -> Option<String> {
    let space = view.snapshot().active_space();
    let is_free = space.is_none_or(|space| space.record.builtin);
    is_free.then(|| configured_folder(view.rows())).flatten()
}

/// What embeds for a space that was made with the model in the folder that the settings name.
#[cfg(feature = "minilm")]
pub(crate) fn embedder_for(rows: &dyn Rows, space: &SpaceRecord) -> Option<Arc<dyn Embedder>> {
    if space.builtin || space.given {
        return None;
    }
    let folder = configured_folder(rows)?.into();
    let model = LazyFolderEmbedder::new(folder, space.model.clone(), space.dim as usize);
    Some(Arc::new(model))
}

/// What embeds for a space that was made with the model in the folder that the settings name.
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
        "{folder}: models in folders need the feature minilm of locidb, and this program was built without it"
    )))
}
