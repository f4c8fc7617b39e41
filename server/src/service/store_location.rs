//! The folders of the stores that a server hosts.

use std::fs;
use std::path::{Path, PathBuf};

use crate::access::AccessError;

/// The file that a folder with a store has.
pub(super) const DATABASE_NAME: &str = "loci.redb";

/// Where stores are.
#[derive(Clone, Debug)]
pub(crate) enum StoreLocation {
    /// One store.
    Single(PathBuf),
    /// Every store in this folder, by its own folder's name.
    Root(PathBuf),
}

/// A store's name and folder.
#[derive(Clone, Debug)]
pub(crate) struct StoreFolder {
    /// Its name: that of its folder.
    pub(crate) name: String,
    /// Its folder.
    pub(crate) folder: PathBuf,
}

impl StoreFolder {
    /// Whether there is a store in it.
    pub(crate) fn has_store(&self) -> bool {
        self.folder.join(DATABASE_NAME).is_file()
    }
}

impl StoreLocation {
    /// The stores that there are; the one store also where it is not there yet.
    ///
    /// # Errors
    /// [`AccessError`] where there is no such folder.
    pub(crate) fn folders(&self) -> Result<Vec<StoreFolder>, AccessError> {
        let root = match self {
            StoreLocation::Single(folder) => return Ok(vec![single_folder(folder)]),
            StoreLocation::Root(root) => root,
        };
        let failed = |source| AccessError::Io {
            what: format!("looking for stores in {}", root.display()),
            source,
        };
        let mut found = Vec::new();
        for entry in fs::read_dir(root).map_err(failed)? {
            let folder = entry.map_err(failed)?.path();
            let name = folder.file_name().and_then(|name| name.to_str());
            let Some(name) = name.map(str::to_owned) else {
                continue;
            };
            let of = StoreFolder { name, folder };
            if of.has_store() {
                found.push(of);
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

fn single_folder(folder: &Path) -> StoreFolder {
    let name = folder.canonicalize().ok();
    let name = name.as_deref().or(Some(folder)).and_then(Path::file_name);
    let name = name.map_or_else(
        || "store".into(),
        |name| name.to_string_lossy().into_owned(),
    );
    StoreFolder {
        name,
        folder: folder.to_owned(),
    }
}
