//! The mark of a folder that is being filled, and has no whole store yet.
//!
//! A restore, an import and a first backup write it before anything else, durably, and remove it after the database has
//! its name. So a folder that has the mark and no database is what a stopped command left: it is opened by nobody, and
//! the same command, run again, begins anew there. A folder that has both was stopped after its last step that matters,
//! and is whole.
//!
//! Start reading at [`begin`] and [`refuse`].

use std::path::Path;

use crate::disk::Disk;
use crate::error::StoreError;
use crate::rewrite::NAME_NEW;
use crate::store::{DATABASE, SEGMENTS};

/// The file's name.
pub(crate) const UNFINISHED: &str = "UNFINISHED";

/// The folder within a store's in which an import is made.
pub(crate) const ROOM: &str = "importing";

/// What fills a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// A backup is made there.
    Backup,
    /// A backup is put back there.
    Restore,
    /// An export is made a store there.
    Import,
    /// A command that this build does not know.
    Other,
}

impl Filling {
    const KNOWN: [Filling; 3] = [Filling::Backup, Filling::Restore, Filling::Import];

    /// The command's name.
    pub fn name(self) -> &'static str {
        match self {
            Filling::Backup => "backup",
            Filling::Restore => "restore",
            Filling::Import => "import",
            Filling::Other => "copy",
        }
    }
}

/// Marks a folder, durably, whatever mark it had before.
pub(crate) fn begin(disk: &dyn Disk, folder: &Path, by: Filling) -> Result<(), StoreError> {
    if read(disk, folder)? == Some(by) {
        return Ok(());
    }
    let path = folder.join(UNFINISHED);
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
pub(crate) fn end(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(UNFINISHED);
    let failed = || StoreError::io(format!("removing {}", path.display()));
    if !disk.exists(&path).map_err(failed())? {
        return Ok(());
    }
    disk.remove(&path)
        .and_then(|()| disk.sync_folder(folder))
        .map_err(failed())
}

/// The mark of a folder.
pub(crate) fn read(disk: &dyn Disk, folder: &Path) -> Result<Option<Filling>, StoreError> {
    let path = folder.join(UNFINISHED);
    let failed = || StoreError::io(format!("reading {}", path.display()));
    if !disk.exists(&path).map_err(failed())? {
        return Ok(None);
    }
    let bytes = disk.map(&path).map_err(failed())?;
    let first = bytes.as_ref().split(|&byte| byte == b'\n').next();
    let first = first.unwrap_or_default();
    // What was cut when it was written says no more than that there is one.
    let by = Filling::KNOWN
        .into_iter()
        .find(|by| by.name().as_bytes() == first);
    Ok(Some(by.unwrap_or(Filling::Other)))
}

/// An import of an earlier build left no mark but the folder that it worked in.
fn earlier(disk: &dyn Disk, folder: &Path) -> Result<Option<Filling>, StoreError> {
    let path = folder.join(ROOM);
    let there = disk.exists(&path);
    let there = there.map_err(StoreError::io(format!("looking for {}", path.display())))?;
    Ok(there.then_some(Filling::Import))
}

/// Refuses a folder that a stopped command left without a database.
pub(crate) fn refuse(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let Some(by) = read(disk, folder)?.or(earlier(disk, folder)?) else {
        return Ok(());
    };
    let path = folder.join(DATABASE);
    let there = disk.exists(&path);
    if there.map_err(StoreError::io(format!("looking for {}", path.display())))? {
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
pub(crate) fn clear(disk: &dyn Disk, folder: &Path, by: Filling) -> Result<(), StoreError> {
    let mark = read(disk, folder)?;
    let names = names(disk, folder)?;
    let is_there = |wanted: &str| names.iter().any(|name| name == wanted);
    let is_marked = is_there(UNFINISHED);
    let is_left = |name: &String| match &name[..] {
        "LOCK" | UNFINISHED | ROOM => true,
        SEGMENTS => {
            let is_empty = || self::names(disk, &folder.join(SEGMENTS)).map(|of| of.is_empty());
            is_marked || is_there(ROOM) || is_empty().unwrap_or_default()
        }
        // A store that was stopped while it was made.
        NAME_NEW => is_marked || !is_there(DATABASE),
        // After its last step the same command was stopped, and left all of it.
        DATABASE => mark == Some(by),
        _ => false,
    };
    if let Some(name) = names.iter().find(|name| !is_left(name)) {
        return Err(StoreError::Invalid(format!(
            "{} is not empty (it holds {name}): give a folder that is missing or empty",
            folder.display()
        )));
    }
    if is_there(ROOM) {
        remove_store(disk, &folder.join(ROOM))?;
    }
    clear_store(disk, &folder.join(SEGMENTS))?;
    clear_store(disk, folder)
}

/// Deletes a store that was being made in a folder, and the folder.
pub(crate) fn remove_store(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let segments = folder.join(SEGMENTS);
    clear_store(disk, folder)?;
    clear_store(disk, &segments)?;
    for folder in [&*segments, folder] {
        let failed = || StoreError::io(format!("deleting {}", folder.display()));
        let lock = folder.join("LOCK");
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
fn clear_store(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let there = disk.exists(folder);
    if !there.map_err(StoreError::io(format!("looking for {}", folder.display())))? {
        return Ok(());
    }
    let mut names = names(disk, folder)?;
    names.sort_unstable_by_key(|name| name != DATABASE);
    for name in names {
        let is_ours = [DATABASE, NAME_NEW].contains(&&name[..]);
        if is_ours || name.ends_with(".seg") || name.ends_with(".tmp") {
            let removed = disk.remove(&folder.join(&name));
            removed.map_err(StoreError::io(format!("deleting {name}")))?;
        }
    }
    Ok(())
}

fn names(disk: &dyn Disk, folder: &Path) -> Result<Vec<String>, StoreError> {
    let names = disk.names(folder);
    names.map_err(StoreError::io(format!("listing {}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;

    #[test]
    fn marker_round_trips_and_blocks_opening_a_folder_without_a_database() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert_eq!(read(&OsDisk, folder).unwrap(), None);
        refuse(&OsDisk, folder).unwrap();
        for by in [Filling::Restore, Filling::Import, Filling::Import] {
            begin(&OsDisk, folder, by).unwrap();
            assert_eq!(read(&OsDisk, folder).unwrap(), Some(by));
        }
        for cut in ["", "rest", "a later command\n"] {
            std::fs::write(folder.join(UNFINISHED), cut).unwrap();
            let refused = refuse(&OsDisk, folder).unwrap_err();
            let StoreError::Unfinished { by, .. } = refused else {
                panic!("{refused}");
            };
            assert_eq!(by, Filling::Other);
        }
        std::fs::write(folder.join(DATABASE), "whole").unwrap();
        refuse(&OsDisk, folder).unwrap();
        // A whole store is deleted for the command alone that left it.
        begin(&OsDisk, folder, Filling::Backup).unwrap();
        assert!(clear(&OsDisk, folder, Filling::Restore).is_err());
        assert!(folder.join(DATABASE).exists());
        begin(&OsDisk, folder, Filling::Restore).unwrap();
        clear(&OsDisk, folder, Filling::Restore).unwrap();
        assert!(!folder.join(DATABASE).exists());
        end(&OsDisk, folder).unwrap();
        end(&OsDisk, folder).unwrap();
        assert_eq!(read(&OsDisk, folder).unwrap(), None);
    }
}
