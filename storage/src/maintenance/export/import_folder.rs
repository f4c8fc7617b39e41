//! The folder in which an import builds a store until it is whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{FolderOperation, StoreError};
use crate::failpoint::reach;
use crate::files::disk::Disk;
use crate::files::folder::create_folder;
use crate::files::lock::StoreLock;
use crate::files::names::{DATABASE, IMPORT_FOLDER, SEGMENTS};
use crate::files::unfinished;

/// A locked folder for a store that an import builds.
///
/// Until [`ImportFolder::install`], the folder has no database. The next import deletes what a stopped one left there.
pub struct ImportFolder {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    _lock: StoreLock,
}

impl ImportFolder {
    /// Prepares `folder`, which is missing, empty, or was left by a stopped import or restore.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] where it holds anything else; [`StoreError::Locked`] where another import is at work.
    pub fn prepare(disk: &Arc<dyn Disk>, folder: &Path) -> Result<ImportFolder, StoreError> {
        create_folder(&**disk, folder)?;
        let lock = StoreLock::acquire(&**disk, folder)?;
        unfinished::delete_leftovers(&**disk, folder, FolderOperation::Import)?;
        unfinished::write_marker(&**disk, folder, FolderOperation::Import)?;
        reach("import-marked");
        Ok(ImportFolder {
            disk: Arc::clone(disk),
            folder: folder.to_path_buf(),
            _lock: lock,
        })
    }

    /// Where the import builds the store.
    pub fn store_path(&self) -> PathBuf {
        self.folder.join(IMPORT_FOLDER)
    }

    /// Moves the store that was built here, and is closed, to its final path, durably.
    pub fn install(self) -> Result<(), StoreError> {
        reach("import-built");
        let (disk, from, to) = (&self.disk, self.store_path(), &self.folder);
        let move_files = || {
            create_folder(&**disk, &to.join(SEGMENTS))?;
            let segments = disk.names(&from.join(SEGMENTS));
            let segments = segments.map_err(StoreError::io("listing segments"))?;
            let segment_names = segments.iter().map(|name| format!("{SEGMENTS}/{name}"));
            // The database comes last: with it the store is there.
            for name in segment_names.chain([DATABASE.to_owned()]) {
                if name == DATABASE {
                    let synced = disk.sync_folder(&to.join(SEGMENTS));
                    synced.map_err(StoreError::io("syncing segments"))?;
                }
                reach("import-moved");
                let renamed = disk.rename(&from.join(&name), &to.join(&name));
                renamed.map_err(StoreError::io(format!("moving {name}")))?;
            }
            disk.sync_folder(to)
                .map_err(StoreError::io("syncing the folder"))
        };
        move_files()?;
        reach("import-renamed");
        // What cannot be removed holds nothing, and does no harm.
        let _ = unfinished::remove_store(&**disk, &from);
        unfinished::remove_marker(&**disk, to)
    }

    /// Deletes what was built here. The next import deletes what cannot be deleted now.
    pub fn discard(self) {
        let cleared =
            unfinished::delete_leftovers(&*self.disk, &self.folder, FolderOperation::Import);
        let _ = cleared.and_then(|()| unfinished::remove_marker(&*self.disk, &self.folder));
    }
}
