//! Folders and their files, with errors that name them.

use std::path::Path;

use crate::error::StoreError;
use crate::files::disk::Disk;

/// Whether there is a file or folder at `path`.
pub(crate) fn exists(disk: &dyn Disk, path: &Path) -> Result<bool, StoreError> {
    let found = disk.exists(path);
    found.map_err(StoreError::io(format!("looking for {}", path.display())))
}

/// The names of the files in a folder.
pub(crate) fn file_names(disk: &dyn Disk, folder: &Path) -> Result<Vec<String>, StoreError> {
    let names = disk.names(folder);
    names.map_err(StoreError::io(format!("listing {}", folder.display())))
}

/// Makes the folder with those above it, each durable in the one that holds it.
pub(crate) fn create_folder(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let failed = |what: &str| StoreError::io(format!("{what} {}", folder.display()));
    if disk.exists(folder).map_err(failed("looking for"))? {
        return Ok(());
    }
    let above = match folder.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    create_folder(disk, above)?;
    disk.create_folder(folder).map_err(failed("creating"))?;
    disk.sync_folder(above).map_err(failed("syncing above"))
}
