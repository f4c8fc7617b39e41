//! The folder of a backup: the newest state, which is a store of its own, and the states before it that are kept.
//!
//! ```text
//! OUT/loci.redb, OUT/segments/          the newest state
//! OUT/generations/42/loci.redb, …       an earlier one, of generation 42: a store of its own, too
//! ```
//!
//! Files of segments never change, so a state that is set aside shares them with the newest where the disk can give a
//! file two names. A folder of a generation that has no database is what a stopped backup left, and goes with the next.
//!
//! Always true: a whole state is in the folder from the first backup on. It is set aside, by a rename, only once the
//! next one is whole and verified beside it.
//!
//! Start reading at [`Target::open`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backup::{IDENTITY, copy_part, listed, names, verify};
use crate::database_file::{Database, DatabaseFile};
use crate::dir::{SegmentDir, create_folder};
use crate::disk::{Disk, in_memory_over};
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::lock::Lock;
use crate::records::{ManifestRecord, PartEntry};
use crate::rewrite::NAME_NEW;
use crate::rows::{Rows, missing, read};
use crate::snapshot::{MANIFEST, Tables};
use crate::store::{DATABASE, SEGMENTS};
use crate::tables::Table;
use crate::unfinished::{self, Filling, UNFINISHED};

/// The folder of earlier states.
const GENERATIONS: &str = "generations";

/// Bytes of rows of an earlier backup that are kept cached while it is looked at.
const CACHE_BYTES: usize = 16 << 20;

/// Names that a folder may hold to be backed up to.
const KNOWN: [&str; 6] = [
    DATABASE,
    NAME_NEW,
    SEGMENTS,
    GENERATIONS,
    UNFINISHED,
    "LOCK",
];

/// A folder that is backed up to, locked.
pub(crate) struct Target {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    segments: SegmentDir,
    newest: Option<Earlier>,
    _lock: Lock,
}

/// The newest state of an earlier backup.
struct Earlier {
    generation: u64,
    parts: Vec<(PartEntry, String)>,
}

impl Target {
    /// Locks `folder`, clears what a stopped backup left there, and refuses one that holds anything but earlier backups
    /// of the store that `rows` are of.
    pub(crate) fn open(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        rows: &dyn Rows,
        manifest: &ManifestRecord,
    ) -> Result<Target, StoreError> {
        create_folder(&**disk, folder)?;
        let lock = Lock::acquire(&**disk, folder)?;
        let names = names(disk, folder)?;
        if let Some(name) = names.iter().find(|name| !KNOWN.contains(&&name[..])) {
            let why = format!("holds {name}, which is no backup's: give a folder of its own");
            return Err(wrong(folder, &why));
        }
        let mark = unfinished::read(&**disk, folder)?;
        // Of a mark that was cut when it was written, nobody knows whose it is; all else here is a backup's.
        if mark.is_some_and(|by| ![Filling::Backup, Filling::Other].contains(&by)) {
            unfinished::refuse(&**disk, folder)?;
        }
        let newest = if exists(disk, &folder.join(DATABASE))? {
            Some(look(disk, folder, rows, manifest)?)
        } else {
            if let Some(older) = older(disk, folder)?.first() {
                look(disk, &older.1, rows, manifest)?;
            }
            None
        };
        let segments = SegmentDir::open(Arc::clone(disk), folder.join(SEGMENTS))?;
        let target = Target {
            disk: Arc::clone(disk),
            folder: folder.to_path_buf(),
            segments,
            newest,
            _lock: lock,
        };
        target.clear()?;
        if target.newest.is_none() {
            unfinished::begin(&**disk, folder, Filling::Backup)?;
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
        if !exists(&self.disk, &folder)? {
            return Ok(());
        }
        for name in names(&self.disk, &folder)? {
            let folder = folder.join(&name);
            if name.parse::<u64>().is_ok() && !exists(&self.disk, &folder.join(DATABASE))? {
                remove(&self.disk, &folder)?;
            }
        }
        Ok(())
    }

    /// Sets the newest state aside, unless it is of this generation; `false` where there was none, or it was damaged.
    /// Until the next one takes its place the folder has a mark.
    pub(crate) fn set_aside(&self, generation: u64) -> Result<bool, StoreError> {
        let newest = self.newest.as_ref();
        let Some(newest) = newest.filter(|newest| newest.generation != generation) else {
            return Ok(false);
        };
        let to = self.generation(newest.generation);
        if exists(&self.disk, &to.join(DATABASE))? {
            return Ok(false);
        }
        let segments = SegmentDir::open(Arc::clone(&self.disk), to.join(SEGMENTS))?;
        for (entry, name) in &newest.parts {
            match share(&self.segments, &segments, entry, name) {
                Ok(()) => {}
                // What is damaged is not worth keeping.
                Err(StoreError::Part { .. }) => {
                    remove(&self.disk, &to)?;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        let failed = || StoreError::io(format!("setting {} aside", self.folder.display()));
        self.disk
            .sync_folder(&to.join(SEGMENTS))
            .map_err(failed())?;
        unfinished::begin(&*self.disk, &self.folder, Filling::Backup)?;
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
    pub(crate) fn settle(
        &self,
        keep: Option<usize>,
        parts: &[(PartEntry, String)],
    ) -> Result<Vec<u64>, StoreError> {
        unfinished::end(&*self.disk, &self.folder)?;
        let failed = |what: &str| StoreError::io(format!("{what} {}", self.folder.display()));
        for name in self.segments.list().map_err(failed("listing"))? {
            if !parts.iter().any(|(_, listed)| *listed == name) {
                self.segments.remove(&name).map_err(failed("cleaning"))?;
            }
        }
        let older = older(&self.disk, &self.folder)?;
        let keep = keep.map_or(usize::MAX, |keep| keep.saturating_sub(1));
        let mut kept = Vec::new();
        for (n, (generation, folder)) in older.into_iter().enumerate() {
            if n < keep {
                kept.push(generation)
            } else {
                // Somebody looks something up there: it goes with the next backup.
                match Lock::acquire(&*self.disk, &folder) {
                    Ok(_lock) => remove(&self.disk, &folder)?,
                    Err(StoreError::Locked { .. }) => kept.push(generation),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(kept)
    }

    fn generation(&self, generation: u64) -> PathBuf {
        self.folder.join(GENERATIONS).join(generation.to_string())
    }
}

/// The folder of the state that `generation` asks for, or of the newest.
pub(crate) fn source(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    generation: Option<u64>,
) -> Result<PathBuf, StoreError> {
    let newest = exists(disk, &folder.join(DATABASE))?;
    let older = older(disk, folder)?;
    let Some(wanted) = generation else {
        // A backup that was stopped between two renames has its states there alone.
        return match (newest, older.into_iter().next()) {
            (false, Some((_, older))) => Ok(older),
            _ => Ok(folder.to_path_buf()),
        };
    };
    if let Some((_, older)) = older.iter().find(|(of, _)| *of == wanted) {
        return Ok(older.clone());
    }
    let of = if newest {
        Some(manifest_of(disk, folder)?.generation)
    } else {
        None
    };
    if of == Some(wanted) {
        return Ok(folder.to_path_buf());
    }
    let there: Vec<String> = of
        .into_iter()
        .chain(older.into_iter().map(|(of, _)| of))
        .map(|of| of.to_string())
        .collect();
    let why = format!(
        "has no generation {wanted}; there are: {}",
        there.join(", ")
    );
    Err(wrong(folder, &why))
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
fn older(disk: &Arc<dyn Disk>, folder: &Path) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let folder = folder.join(GENERATIONS);
    if !exists(disk, &folder)? {
        return Ok(Vec::new());
    }
    let mut older = Vec::new();
    for name in names(disk, &folder)? {
        let path = folder.join(&name);
        if let Ok(generation) = name.parse()
            && exists(disk, &path.join(DATABASE))?
        {
            older.push((generation, path));
        }
    }
    older.sort_unstable_by(|a, b| b.cmp(a));
    Ok(older)
}

/// Looks whether a state in a folder is an earlier one of the store that `rows` are of.
fn look(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    rows: &dyn Rows,
    manifest: &ManifestRecord,
) -> Result<Earlier, StoreError> {
    let ours = rows.get(Table::Meta, IDENTITY)?;
    let found = with_rows(disk, folder, |earlier| {
        let theirs = earlier.get(Table::Meta, IDENTITY)?;
        let both = ours.as_deref().zip(theirs.as_deref());
        if both.is_none_or(|(ours, theirs)| ours != theirs) {
            return Ok(None);
        }
        let of: ManifestRecord =
            read(earlier, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))?;
        Ok(Some(Earlier {
            generation: of.generation,
            parts: listed(&of, earlier)?,
        }))
    });
    let found = found.map_err(|error| match error {
        error @ (StoreError::Locked { .. } | StoreError::Io { .. }) => error,
        error => {
            let why = format!(
                "the earlier backup cannot be read ({error}): delete it, or give another folder"
            );
            wrong(folder, &why)
        }
    })?;
    let Some(earlier) = found else {
        let why = "holds another store, or a backup of one: give a folder of its own";
        return Err(wrong(folder, why));
    };
    if earlier.generation > manifest.generation {
        let why = format!(
            "holds generation {} of this store, which is at {}: a backup is not put back in time",
            earlier.generation, manifest.generation
        );
        Err(wrong(folder, &why))
    } else {
        Ok(earlier)
    }
}

fn manifest_of(disk: &Arc<dyn Disk>, folder: &Path) -> Result<ManifestRecord, StoreError> {
    with_rows(disk, folder, |rows| {
        read(rows, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))
    })
}

/// Reads the rows of a store that is closed; nothing of it is written to.
fn with_rows<T>(
    disk: &Arc<dyn Disk>,
    folder: &Path,
    work: impl FnOnce(&Tables) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let path = folder.join(DATABASE);
    let file = in_memory_over(Arc::clone(disk)).open(&path);
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
fn share(
    from: &SegmentDir,
    to: &SegmentDir,
    entry: &PartEntry,
    name: &str,
) -> Result<(), StoreError> {
    verify(from, entry, name)?;
    match from.link(to, name) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => verify(to, entry, name),
        Err(_) => copy_part(from, to, entry, name).map(drop),
    }
}

/// Deletes a state that is set aside; its database first, so that what a crash leaves is no state.
fn remove(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), StoreError> {
    let failed = || StoreError::io(format!("deleting {}", folder.display()));
    let database = folder.join(DATABASE);
    if exists(disk, &database)? {
        disk.remove(&database)
            .and_then(|()| disk.sync_folder(folder))
            .map_err(failed())?;
    }
    for folder in [&folder.join(SEGMENTS), folder] {
        if !exists(disk, folder)? {
            continue;
        }
        for name in names(disk, folder)? {
            if name != SEGMENTS {
                disk.remove(&folder.join(name)).map_err(failed())?;
            }
        }
        disk.remove_folder(folder).map_err(failed())?;
    }
    Ok(())
}

fn exists(disk: &Arc<dyn Disk>, path: &Path) -> Result<bool, StoreError> {
    let there = disk.exists(path);
    there.map_err(StoreError::io(format!("looking for {}", path.display())))
}

fn wrong(folder: &Path, why: &str) -> StoreError {
    StoreError::Invalid(format!("{}: {why}", folder.display()))
}
