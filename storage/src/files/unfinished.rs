//! The marker of a folder that a command is filling and that has no complete store yet.
//!
//! A restore, an import and a first backup write the marker durably before anything else, and remove it after the
//! database has its name. A folder with a marker and no database was left by a stopped command: nothing opens it, and
//! the same command, run again, starts over there. A folder with both is complete.
//!
//! Start reading at [`write_marker`] and [`check_complete`].

use std::path::Path;

use crate::error::{FolderOperation, StoreError};
use crate::files::disk::Disk;
use crate::files::folder::{exists, file_names};
use crate::files::names::{DATABASE, DATABASE_COPY, IMPORT_FOLDER, LOCK, MARKER, SEGMENTS};

/// Marks a folder, durably, whatever mark it had before.
pub(crate) fn write_marker(
    disk: &dyn Disk,
    folder: &Path,
    by: FolderOperation,
) -> Result<(), StoreError> {
    if read_marker(disk, folder)? == Some(by) {
        return Ok(());
    }
    let path = folder.join(MARKER);
    let failed = || StoreError::io(format!("writing {}", path.display()));
    if disk.exists(&path).map_err(failed())? {
        disk.remove(&path).map_err(failed())?;
    }
    let name = by.name();
    let text = format!(
        "{name}\n`loci {name}` has not finished in this folder: run it again, or delete the folder.\n"
    );
    let written = disk.create(&path).and_then(|mut file| {
        file.append(text.as_bytes())?;
        file.sync()
    });
    written
        .and_then(|()| disk.sync_folder(folder))
        .map_err(failed())
}

/// Removes the mark, if there is one, durably.
pub(crate) fn remove_marker(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(MARKER);
    let failed = || StoreError::io(format!("removing {}", path.display()));
    if !disk.exists(&path).map_err(failed())? {
        return Ok(());
    }
    disk.remove(&path)
        .and_then(|()| disk.sync_folder(folder))
        .map_err(failed())
}

/// The mark of a folder.
pub(crate) fn read_marker(
    disk: &dyn Disk,
    folder: &Path,
) -> Result<Option<FolderOperation>, StoreError> {
    let path = folder.join(MARKER);
    let failed = || StoreError::io(format!("reading {}", path.display()));
    if !disk.exists(&path).map_err(failed())? {
        return Ok(None);
    }
    let bytes = disk.map(&path).map_err(failed())?;
    let first = bytes.as_ref().split(|&byte| byte == b'\n').next();
    let first = first.unwrap_or_default();
    // What was cut when it was written says no more than that there is one.
    let by = FolderOperation::KNOWN
        .into_iter()
        .find(|by| by.name().as_bytes() == first);
    Ok(Some(by.unwrap_or(FolderOperation::Other)))
}

/// An import of an earlier build left no mark but the folder that it worked in.
fn read_legacy_marker(
    disk: &dyn Disk,
    folder: &Path,
) -> Result<Option<FolderOperation>, StoreError> {
    let path = folder.join(IMPORT_FOLDER);
    Ok(exists(disk, &path)?.then_some(FolderOperation::Import))
}

/// Refuses a folder that a stopped command left without a database.
pub(crate) fn check_complete(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let Some(by) = read_marker(disk, folder)?.or(read_legacy_marker(disk, folder)?) else {
        return Ok(());
    };
    if exists(disk, &folder.join(DATABASE))? {
        return Ok(());
    }
    Err(StoreError::Unfinished {
        path: folder.to_path_buf(),
        by,
    })
}

/// Deletes what a command that was stopped left in `folder`, which is locked, for `by`, which begins there. The mark
/// stays. A whole store that another command left is not deleted.
///
/// Fails with [`StoreError::Invalid`] where the folder holds anything else.
pub(crate) fn delete_leftovers(
    disk: &dyn Disk,
    folder: &Path,
    by: FolderOperation,
) -> Result<(), StoreError> {
    let mark = read_marker(disk, folder)?;
    let names = file_names(disk, folder)?;
    let has_file = |file_name: &str| names.iter().any(|name| name == file_name);
    let is_marked = has_file(MARKER);
    let is_leftover = |name: &String| match &name[..] {
        LOCK | MARKER | IMPORT_FOLDER => true,
        SEGMENTS => {
            let is_empty = || file_names(disk, &folder.join(SEGMENTS)).map(|of| of.is_empty());
            is_marked || has_file(IMPORT_FOLDER) || is_empty().unwrap_or_default()
        }
        // A store that was stopped while it was made.
        DATABASE_COPY => is_marked || !has_file(DATABASE),
        // After its last step the same command was stopped, and left all of it.
        DATABASE => mark == Some(by),
        _ => false,
    };
    if let Some(name) = names.iter().find(|name| !is_leftover(name)) {
        return Err(StoreError::Invalid(format!(
            "{} is not empty (it holds {name}): give a folder that is missing or empty",
            folder.display()
        )));
    }
    if has_file(IMPORT_FOLDER) {
        remove_store(disk, &folder.join(IMPORT_FOLDER))?;
    }
    delete_store_files(disk, &folder.join(SEGMENTS))?;
    delete_store_files(disk, folder)
}

/// Deletes a store that was being made in a folder, and the folder.
pub(crate) fn remove_store(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let segments = folder.join(SEGMENTS);
    delete_store_files(disk, folder)?;
    delete_store_files(disk, &segments)?;
    for folder in [&*segments, folder] {
        let failed = || StoreError::io(format!("deleting {}", folder.display()));
        let lock = folder.join(LOCK);
        if disk.exists(&lock).map_err(failed())? {
            disk.remove(&lock).map_err(failed())?;
        }
        if disk.exists(folder).map_err(failed())? {
            disk.remove_folder(folder).map_err(failed())?;
        }
    }
    Ok(())
}

/// Deletes the files of a store in a folder: what has names of ours. Its database goes first.
fn delete_store_files(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    if !exists(disk, folder)? {
        return Ok(());
    }
    let mut names = file_names(disk, folder)?;
    names.sort_unstable_by_key(|name| name != DATABASE);
    for name in names {
        let is_ours = [DATABASE, DATABASE_COPY].contains(&&name[..]);
        if is_ours || name.ends_with(".seg") || name.ends_with(".tmp") {
            let removed = disk.remove(&folder.join(&name));
            removed.map_err(StoreError::io(format!("deleting {name}")))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::disk::OsDisk;

    #[test]
    fn marker_round_trips_and_blocks_opening_a_folder_without_a_database() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(read_marker(&OsDisk, folder).unwrap(), None);
        check_complete(&OsDisk, folder).unwrap();
        for by in [
            FolderOperation::Restore,
            FolderOperation::Import,
            FolderOperation::Import,
        ] {
            write_marker(&OsDisk, folder, by).unwrap();
            assert_eq!(read_marker(&OsDisk, folder).unwrap(), Some(by));
        }
        for cut in ["", "rest", "a later command\n"] {
            std::fs::write(folder.join(MARKER), cut).unwrap();
            let refused = check_complete(&OsDisk, folder).unwrap_err();
            let StoreError::Unfinished { by, .. } = refused else {
                panic!("{refused}");
            };
            assert_eq!(by, FolderOperation::Other);
        }
        std::fs::write(folder.join(DATABASE), "whole").unwrap();
        check_complete(&OsDisk, folder).unwrap();
        // A whole store is deleted for the command alone that left it.
        write_marker(&OsDisk, folder, FolderOperation::Backup).unwrap();
        assert!(delete_leftovers(&OsDisk, folder, FolderOperation::Restore).is_err());
        assert!(folder.join(DATABASE).exists());
        write_marker(&OsDisk, folder, FolderOperation::Restore).unwrap();
        delete_leftovers(&OsDisk, folder, FolderOperation::Restore).unwrap();
        assert!(!folder.join(DATABASE).exists());
        remove_marker(&OsDisk, folder).unwrap();
        remove_marker(&OsDisk, folder).unwrap();
        assert_eq!(read_marker(&OsDisk, folder).unwrap(), None);
    }
}
