//! The folder of a backup: the newest state, which is a store of its own, and the states before it that are kept.
//!
//! ```text
//! OUT/loci.redb, OUT/segments/          the newest state
//! OUT/generations/42/loci.redb, …       an earlier one, of generation 42: a store of its own, too
//! ```
//!
//! Files of segments never change, so a state that is set aside shares them with the newest where the disk can give a
//! file two names. The next backup deletes a folder of a generation without a database, which a stopped backup left.
//!
//! Always true: a whole state is in the folder from the first backup on. It is set aside, by a rename, only once the
//! next one is whole and verified beside it.
//!
//! Start reading at [`BackupTarget::open`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::database::file::{Database, DatabaseFile};
use crate::database::read_tables::Tables;
use crate::error::{FolderOperation, StoreError};
use crate::failpoint::reach;
use crate::files::disk::{Disk, in_memory_overlay};
use crate::files::folder::{create_folder, exists, file_names};
use crate::files::lock::StoreLock;
use crate::files::names::{DATABASE, DATABASE_COPY, LOCK, MARKER, SEGMENTS};
use crate::files::segment_dir::SegmentDir;
use crate::files::unfinished;
use crate::rows::keys::{MANIFEST, STORE_ID_KEY};
use crate::rows::records::{ManifestRecord, PartEntry};
use crate::rows::tables::Table;
use crate::rows::{Rows, missing, read};
use crate::segment::files::{copy_part, listed_part_files, verify_part};

/// The folder of earlier states.
const GENERATIONS: &str = "generations";

/// Bytes of rows of an earlier backup that are kept cached while it is looked at.
const CACHE_BYTES: usize = 16 << 20;

/// Names that a folder may hold to be backed up to.
const BACKUP_FILE_NAMES: [&str; 6] = [DATABASE, DATABASE_COPY, SEGMENTS, GENERATIONS, MARKER, LOCK];

/// A folder that is backed up to, locked.
pub(crate) struct BackupTarget {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    segments: SegmentDir,
    newest: Option<EarlierState>,
    _lock: StoreLock,
}

/// The newest state of an earlier backup.
struct EarlierState {
    generation: u64,
    parts: Vec<(PartEntry, String)>,
}

impl BackupTarget {
    /// Locks `folder`, clears what a stopped backup left there, and refuses one that holds anything but earlier backups
    /// of the store that `rows` are of.
    pub(crate) fn open(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        rows: &dyn Rows,
        manifest: &ManifestRecord,
    ) -> Result<BackupTarget, StoreError> {
        create_folder(&**disk, folder)?;
        let lock = StoreLock::acquire(&**disk, folder)?;
        let names = file_names(&**disk, folder)?;
        if let Some(name) = names
            .iter()
            .find(|name| !BACKUP_FILE_NAMES.contains(&&name[..]))
        {
            let why = format!("holds {name}, which is no backup's: give a folder of its own");
            return Err(invalid_folder(folder, &why));
        }
        let mark = unfinished::read_marker(&**disk, folder)?;
        // Of a mark that was cut when it was written, nobody knows whose it is; all else here is a backup's.
        if mark.is_some_and(|by| ![FolderOperation::Backup, FolderOperation::Other].contains(&by)) {
            unfinished::check_complete(&**disk, folder)?;
        }
        let newest = if exists(&**disk, &folder.join(DATABASE))? {
            Some(read_earlier_state(disk, folder, rows, manifest)?)
        } else {
            if let Some(older) = earlier_states(disk, folder)?.first() {
                read_earlier_state(disk, &older.1, rows, manifest)?;
            }
            None
        };
        let segments = SegmentDir::open(Arc::clone(disk), folder.join(SEGMENTS))?;
        let target = BackupTarget {
            disk: Arc::clone(disk),
            folder: folder.to_path_buf(),
            segments,
            newest,
            _lock: lock,
        };
        target.clear()?;
        if target.newest.is_none() {
            unfinished::write_marker(&**disk, folder, FolderOperation::Backup)?;
        }
        Ok(target)
    }

    /// Where parts of the newest state lie.
    pub(crate) fn segments(&self) -> &SegmentDir {
        &self.segments
    }

    /// Deletes what a stopped backup left.
    fn clear(&self) -> Result<(), StoreError> {
        clear_unfinished(&self.segments)?;
        let folder = self.folder.join(GENERATIONS);
        if !exists(&*self.disk, &folder)? {
            return Ok(());
        }
        for name in file_names(&*self.disk, &folder)? {
            let folder = folder.join(&name);
            if name.parse::<u64>().is_ok() && !exists(&*self.disk, &folder.join(DATABASE))? {
                delete_state(&self.disk, &folder)?;
            }
        }
        Ok(())
    }

    /// Sets the newest state aside, unless it is of this generation; `false` where there was none, or it was damaged.
    /// Until the next one takes its place the folder has a mark.
    pub(crate) fn archive_newest(&self, generation: u64) -> Result<bool, StoreError> {
        let newest = self.newest.as_ref();
        let Some(newest) = newest.filter(|newest| newest.generation != generation) else {
            return Ok(false);
        };
        let to = self.generation_folder(newest.generation);
        if exists(&*self.disk, &to.join(DATABASE))? {
            return Ok(false);
        }
        let segments = SegmentDir::open(Arc::clone(&self.disk), to.join(SEGMENTS))?;
        for (entry, name) in &newest.parts {
            match link_or_copy_part(&self.segments, &segments, entry, name) {
                Ok(()) => {}
                // What is damaged is not worth keeping.
                Err(StoreError::Part { .. }) => {
                    delete_state(&self.disk, &to)?;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        let failed = || StoreError::io(format!("setting {} aside", self.folder.display()));
        self.disk
            .sync_folder(&to.join(SEGMENTS))
            .map_err(failed())?;
        unfinished::write_marker(&*self.disk, &self.folder, FolderOperation::Backup)?;
        reach("backup-linked");
        self.disk
            .rename(&self.folder.join(DATABASE), &to.join(DATABASE))
            .and_then(|()| self.disk.sync_folder(&to))
            .and_then(|()| self.disk.sync_folder(&self.folder))
            .map_err(failed())?;
        reach("backup-set-aside");
        Ok(true)
    }

    /// After the new state took its place, and lists `parts`: all but the newest `keep` states go, and files that no
    /// state lists. `None` keeps all that there are. Returns the earlier generations that are kept, newest first.
    pub(crate) fn prune(
        &self,
        keep: Option<usize>,
        parts: &[(PartEntry, String)],
    ) -> Result<Vec<u64>, StoreError> {
        unfinished::remove_marker(&*self.disk, &self.folder)?;
        let failed = |what: &str| StoreError::io(format!("{what} {}", self.folder.display()));
        for name in self.segments.list().map_err(failed("listing"))? {
            if !parts.iter().any(|(_, listed)| *listed == name) {
                self.segments.remove(&name).map_err(failed("cleaning"))?;
            }
        }
        let older = earlier_states(&self.disk, &self.folder)?;
        let keep = keep.map_or(usize::MAX, |keep| keep.saturating_sub(1));
        let mut retained = Vec::new();
        for (n, (generation, folder)) in older.into_iter().enumerate() {
            if n < keep {
                retained.push(generation)
            } else {
                // Another process reads it: the next backup deletes it.
                match StoreLock::acquire(&*self.disk, &folder) {
                    Ok(_lock) => delete_state(&self.disk, &folder)?,
                    Err(StoreError::Locked { .. }) => retained.push(generation),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(retained)
    }

    fn generation_folder(&self, generation: u64) -> PathBuf {
        self.folder.join(GENERATIONS).join(generation.to_string())
    }
}

/// The folder of the state that `generation` asks for, or of the newest.
pub(crate) fn find_state_folder(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    generation: Option<u64>,
) -> Result<PathBuf, StoreError> {
    let newest = exists(&**disk, &folder.join(DATABASE))?;
    let older = earlier_states(disk, folder)?;
    let Some(requested) = generation else {
        // A backup that was stopped between two renames has its states there alone.
        return match (newest, older.into_iter().next()) {
            (false, Some((_, older))) => Ok(older),
            _ => Ok(folder.to_path_buf()),
        };
    };
    if let Some((_, older)) = older.iter().find(|(of, _)| *of == requested) {
        return Ok(older.clone());
    }
    let newest_generation = if newest {
        Some(read_manifest(disk, folder)?.generation)
    } else {
        None
    };
    if newest_generation == Some(requested) {
        return Ok(folder.to_path_buf());
    }
    let available: Vec<String> = newest_generation
        .into_iter()
        .chain(older.into_iter().map(|(of, _)| of))
        .map(|of| of.to_string())
        .collect();
    let why = format!(
        "has no generation {requested}; there are: {}",
        available.join(", ")
    );
    Err(invalid_folder(folder, &why))
}

/// Deletes unfinished parts: a stopped copy left them, and the next makes them again under the same names.
pub(crate) fn clear_unfinished(segments: &SegmentDir) -> Result<(), StoreError> {
    let names = segments.list();
    for name in names.map_err(StoreError::io("listing segments"))? {
        if name.ends_with(".tmp") {
            let removed = segments.remove(&name);
            removed.map_err(StoreError::io(format!("removing {name}")))?;
        }
    }
    Ok(())
}

/// Earlier states that are whole, newest first.
fn earlier_states(disk: &Arc<dyn Disk>, folder: &Path) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let folder = folder.join(GENERATIONS);
    if !exists(&**disk, &folder)? {
        return Ok(Vec::new());
    }
    let mut older = Vec::new();
    for name in file_names(&**disk, &folder)? {
        let path = folder.join(&name);
        if let Ok(generation) = name.parse()
            && exists(&**disk, &path.join(DATABASE))?
        {
            older.push((generation, path));
        }
    }
    older.sort_unstable_by(|a, b| b.cmp(a));
    Ok(older)
}

/// Looks whether a state in a folder is an earlier one of the store that `rows` are of.
fn read_earlier_state(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    rows: &dyn Rows,
    manifest: &ManifestRecord,
) -> Result<EarlierState, StoreError> {
    let ours = rows.get(Table::Meta, STORE_ID_KEY)?;
    let found = with_closed_store_rows(disk, folder, |earlier| {
        let theirs = earlier.get(Table::Meta, STORE_ID_KEY)?;
        let both = ours.as_deref().zip(theirs.as_deref());
        if both.is_none_or(|(ours, theirs)| ours != theirs) {
            return Ok(None);
        }
        let earlier_manifest: ManifestRecord =
            read(earlier, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))?;
        Ok(Some(EarlierState {
            generation: earlier_manifest.generation,
            parts: listed_part_files(&earlier_manifest, earlier)?,
        }))
    });
    let found = found.map_err(|error| match error {
        error @ (StoreError::Locked { .. } | StoreError::Io { .. }) => error,
        error => {
            let why = format!(
                "the earlier backup cannot be read ({error}): delete it, or give another folder"
            );
            invalid_folder(folder, &why)
        }
    })?;
    let Some(earlier) = found else {
        let why = "holds another store, or a backup of one: give a folder of its own";
        return Err(invalid_folder(folder, why));
    };
    if earlier.generation > manifest.generation {
        let why = format!(
            "holds generation {} of this store, which is at {}: a backup is not put back in time",
            earlier.generation, manifest.generation
        );
        Err(invalid_folder(folder, &why))
    } else {
        Ok(earlier)
    }
}

fn read_manifest(disk: &Arc<dyn Disk>, folder: &Path) -> Result<ManifestRecord, StoreError> {
    with_closed_store_rows(disk, folder, |rows| {
        read(rows, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))
    })
}

/// Reads the rows of a store that is closed; nothing of it is written to.
fn with_closed_store_rows<T>(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    work: impl FnOnce(&Tables) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let path = folder.join(DATABASE);
    let file = in_memory_overlay(Arc::clone(disk)).open(&path);
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => StoreError::Locked {
            path: folder.to_path_buf(),
            holders: disk.lock_holders(&path),
        },
        _ => StoreError::io(format!("opening {}", path.display()))(error),
    })?;
    let (file, failure) = DatabaseFile::new(file);
    // A state whose list of free pages is damaged could not be written to once it is restored.
    let database = Database::open(file, CACHE_BYTES)?;
    failure.check()?;
    work(&Tables::open(&database)?)
}

/// Gives a part a second name in another folder, or a copy there.
fn link_or_copy_part(
    from: &SegmentDir,
    to: &SegmentDir,
    entry: &PartEntry,
    name: &str,
) -> Result<(), StoreError> {
    verify_part(from, entry, name)?;
    match from.link(to, name) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => verify_part(to, entry, name),
        Err(_) => copy_part(from, to, entry, name).map(drop),
    }
}

/// Deletes a state that is set aside; its database first, so that what a crash leaves is no state.
fn delete_state(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), StoreError> {
    let failed = || StoreError::io(format!("deleting {}", folder.display()));
    let database = folder.join(DATABASE);
    if exists(&**disk, &database)? {
        disk.remove(&database)
            .and_then(|()| disk.sync_folder(folder))
            .map_err(failed())?;
    }
    for folder in [&folder.join(SEGMENTS), folder] {
        if !exists(&**disk, folder)? {
            continue;
        }
        for name in file_names(&**disk, folder)? {
            if name != SEGMENTS {
                disk.remove(&folder.join(name)).map_err(failed())?;
            }
        }
        disk.remove_folder(folder).map_err(failed())?;
    }
    Ok(())
}

fn invalid_folder(folder: &Path, why: &str) -> StoreError {
    StoreError::Invalid(format!("{}: {why}", folder.display()))
}
