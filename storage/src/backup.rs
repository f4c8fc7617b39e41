//! Backups: a copy of a store in another folder, made while the store is read and written.
//!
//! A backup is a store of its own, of one committed state. Files of segments never change and no two have one
//! name, so a backup that is made again copies those that it lacks, then the rows, then forgets the files that the
//! new state does not list. Until its database has its name, the folder holds the backup that it held before.
//!
//! Always true: every row is verified on its way and every segment's file after it; a damaged store is not backed
//! up, and says what is damaged.
//!
//! Start reading at [`Store::backup`], then [`restore`].

use std::collections::HashSet;
use std::path::{self, Path};
use std::sync::Arc;

use crate::database_file::{Database, DatabaseFile};
use crate::dir::{SegmentDir, create_folder};
use crate::disk::{Disk, NewFile};
use crate::error::StoreError;
use crate::ids::SpaceId;
use crate::lock::Lock;
use crate::records::{ManifestRecord, PartEntry};
use crate::rewrite::{NAME_NEW, Report, Rewritten};
use crate::rows::{Rows, missing, read};
use crate::segment::{Part, PartError};
use crate::snapshot::{MANIFEST, Tables};
use crate::store::{DATABASE, SEGMENTS, Store, Views, check_format};
use crate::tables::Table;

/// Bytes that are handed to a file at once.
const PIECE_LEN: usize = 1 << 20;

/// Bytes of rows that a copy keeps cached.
const CACHE_BYTES: usize = 64 << 20;

/// Names that a folder may hold to be backed up to.
const KNOWN: [&str; 4] = [DATABASE, NAME_NEW, SEGMENTS, "LOCK"];

/// What a backup did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Backup {
    /// The state that was copied.
    pub generation: u64,
    /// Files of segments that were copied, and their bytes.
    pub files_copied: usize,
    /// Likewise.
    pub bytes_copied: u64,
    /// Files that an earlier backup in the folder had already.
    pub files_kept: usize,
    /// Rows that were copied.
    pub rows: u64,
}

impl<V: Views> Store<V> {
    /// Copies the newest state to the folder `to`, which is missing, empty, or holds an earlier backup of this store.
    ///
    /// `report` is told (rows copied, rows in all); break ends it, and leaves the earlier backup as it was: then
    /// `None` is returned.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a folder with other files, or inside of the store's, or a backup of another store, or
    /// of a later state of this one; [`StoreError::Locked`] for one that is open; what is damaged in the store.
    ///
    /// # Cost
    /// Reads and writes all rows, and the files that are new. Searches and writes go on; room that the state at hand
    /// takes is not given back meanwhile.
    pub fn backup(&self, to: &Path, report: &mut Report<'_>) -> Result<Option<Backup>, StoreError> {
        let disk = self.disk();
        refuse_inside(self.segment_dir().of_store(), to)?;
        create_folder(&**disk, to)?;
        let _lock = Lock::acquire(&**disk, to)?;
        let view = self.view();
        let snapshot = self.views().snapshot(&view);
        let manifest = snapshot.manifest();
        check_target(disk, to, snapshot.tables(), manifest)?;
        let from = self.segment_dir();
        let into = SegmentDir::open(Arc::clone(disk), to.join(SEGMENTS))?;
        let mut done = Backup {
            generation: manifest.generation,
            rows: snapshot.tables().len()?,
            ..Backup::default()
        };
        let listed = listed(manifest, snapshot.rows())?;
        for (entry, name) in &listed {
            match copy_part(from, &into, entry, name)? {
                Some(bytes) => {
                    done.files_copied += 1;
                    done.bytes_copied += bytes;
                }
                None => done.files_kept += 1,
            }
        }
        let mut copy = Rewritten::create(disk, to, DATABASE, CACHE_BYTES)?;
        if !copy.fill(snapshot.tables(), true, report)? {
            return Ok(None);
        }
        drop(copy.take_place()?);
        let names: HashSet<&str> = listed.iter().map(|(_, name)| &name[..]).collect();
        let failed = |what: &str| StoreError::io(format!("{what} {}", to.display()));
        for name in into.list().map_err(failed("listing"))? {
            if !names.contains(&name[..]) {
                into.remove(&name).map_err(failed("cleaning"))?;
            }
        }
        Ok(Some(done))
    }
}

/// Copies the backup in `from` to the folder `to`, which is missing or empty, so that it can be opened as a store.
/// The backup stays as it is. Until all is there, durably, `to` holds no database.
///
/// # Errors
/// [`StoreError::Invalid`] where `to` holds anything; [`StoreError::Missing`] where there is no backup;
/// [`StoreError::Locked`] where one of the two is open; what is damaged in the backup's files of segments. Rows
/// are verified when they are read.
pub fn restore(disk: &Arc<dyn Disk>, from: &Path, to: &Path) -> Result<(), StoreError> {
    let database = from.join(DATABASE);
    let there = disk.exists(&database);
    if !there.map_err(StoreError::io(format!(
        "looking for {}",
        database.display()
    )))? {
        return Err(StoreError::Missing {
            path: from.to_path_buf(),
        });
    }
    let _from = Lock::acquire(&**disk, from)?;
    create_folder(&**disk, to)?;
    let _to = Lock::acquire(&**disk, to)?;
    let names = names(disk, to)?;
    let is_ours = |name: &String| name == "LOCK" || (name == SEGMENTS && is_empty(disk, to));
    if let Some(name) = names.iter().find(|name| !is_ours(name)) {
        return Err(StoreError::Invalid(format!(
            "{} is not empty (it holds {name}): give a folder that is missing or empty",
            to.display()
        )));
    }
    let failed = |what: &str, path: &Path| StoreError::io(format!("{what} {}", path.display()));
    let bytes = disk.map(&database).map_err(failed("reading", &database))?;
    let unfinished = to.join(NAME_NEW);
    let copied = disk.create(&unfinished).and_then(|mut file| {
        in_pieces(bytes.as_ref(), &mut *file)?;
        file.sync()
    });
    let placed = copied
        .map_err(failed("writing", &unfinished))
        .and_then(|()| {
            copy_listed(disk, from, to)?;
            let named = disk.rename(&unfinished, &to.join(DATABASE));
            let named = named.and_then(|()| disk.sync_folder(to));
            named.map_err(failed("naming", &unfinished))
        });
    placed.inspect_err(|_| {
        // What cannot be removed is deleted when a store is made there.
        let _ = disk.remove(&unfinished);
    })
}

/// Copies the parts that the unfinished copy of a database in `to` lists.
fn copy_listed(disk: &Arc<dyn Disk>, from: &Path, to: &Path) -> Result<(), StoreError> {
    let database = open_database(disk, &to.join(NAME_NEW))?;
    let manifest = check_format(&database)?;
    let backed_up = SegmentDir::open(Arc::clone(disk), from.join(SEGMENTS))?;
    let segments = SegmentDir::open(Arc::clone(disk), to.join(SEGMENTS))?;
    for (entry, name) in listed(&manifest, &Tables::open(&database)?)? {
        copy_part(&backed_up, &segments, &entry, &name)?;
    }
    Ok(())
}

/// Refuses a folder that holds anything but an earlier backup of the store that `rows` are of.
fn check_target(
    disk: &Arc<dyn Disk>,
    to: &Path,
    rows: &dyn Rows,
    manifest: &ManifestRecord,
) -> Result<(), StoreError> {
    let wrong = |why: String| Err(StoreError::Invalid(format!("{}: {why}", to.display())));
    let names = names(disk, to)?;
    if let Some(name) = names.iter().find(|name| !KNOWN.contains(&&name[..])) {
        return wrong(format!(
            "holds {name}, which is no backup's: give a folder of its own"
        ));
    }
    if !names.iter().any(|name| name == DATABASE) {
        return Ok(());
    }
    let database = open_database(disk, &to.join(DATABASE))?;
    let earlier = Tables::open(&database)?;
    let ours = rows.get(Table::Meta, IDENTITY)?;
    let theirs = earlier.get(Table::Meta, IDENTITY)?;
    let both = ours.as_deref().zip(theirs.as_deref());
    if both.is_none_or(|(ours, theirs)| ours != theirs) {
        return wrong("holds another store, or a backup of one: give a folder of its own".into());
    }
    let of: ManifestRecord =
        read(&earlier, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))?;
    match of.generation > manifest.generation {
        true => wrong(format!(
            "holds generation {} of this store, which is at {}: a backup is not put back in time",
            of.generation, manifest.generation
        )),
        false => Ok(()),
    }
}

fn open_database(disk: &Arc<dyn Disk>, path: &Path) -> Result<Database, StoreError> {
    let file = disk.open(path);
    let file = file.map_err(StoreError::io(format!("opening {}", path.display())))?;
    let (file, failure) = DatabaseFile::new(file);
    let database = Database::open(file, CACHE_BYTES)?;
    failure.check()?;
    Ok(database)
}

/// The key of what tells a store from all others: 16 bytes of chance.
pub(crate) const IDENTITY: &[u8] = b"identity";

fn names(disk: &Arc<dyn Disk>, folder: &Path) -> Result<Vec<String>, StoreError> {
    let names = disk.names(folder);
    names.map_err(StoreError::io(format!("listing {}", folder.display())))
}

/// Whether a folder's segments are none.
pub(crate) fn is_empty(disk: &Arc<dyn Disk>, folder: &Path) -> bool {
    disk.names(&folder.join(SEGMENTS))
        .is_ok_and(|names| names.is_empty())
}

/// All parts with files that a state lists, with their names.
fn listed(
    manifest: &ManifestRecord,
    rows: &dyn Rows,
) -> Result<Vec<(PartEntry, String)>, StoreError> {
    let mut parts: Vec<PartEntry> = manifest.parts().cloned().collect();
    let spaces = [manifest.active_space, manifest.pending_space];
    for id in spaces.into_iter().flatten() {
        let space = rows.space(SpaceId(id))?;
        parts.extend(space.and_then(|space| space.projection));
    }
    let named = parts.into_iter().filter_map(|entry| {
        let name = entry.file.clone()?;
        Some((entry, name))
    });
    Ok(named.collect())
}

/// A store is not backed up into itself.
fn refuse_inside(store: Option<&Path>, to: &Path) -> Result<(), StoreError> {
    let absolute = |folder: &Path| path::absolute(folder).ok();
    let store = store.and_then(absolute);
    match store.zip(absolute(to)) {
        Some((store, folder)) if folder.starts_with(&store) => Err(StoreError::Invalid(format!(
            "{} lies in the store's own folder: give another",
            to.display()
        ))),
        _ => Ok(()),
    }
}

/// Copies a part's file unless it is there; returns the bytes that were copied.
fn copy_part(
    from: &SegmentDir,
    into: &SegmentDir,
    entry: &PartEntry,
    name: &str,
) -> Result<Option<u64>, StoreError> {
    let failed = |what: &str| StoreError::io(format!("{what} {name}"));
    if let Ok(there) = into.open_part(name) {
        let is_whole = there.as_ref().len() as u64 == entry.len;
        drop(there);
        if is_whole && verify(into, name).is_ok() {
            return Ok(None);
        }
        into.remove(name).map_err(failed("removing"))?;
    }
    verify(from, name)?;
    let bytes = from.open_part(name).map_err(failed("reading"))?;
    let copied = into.publish(name, |file| in_pieces(bytes.as_ref(), file));
    copied.map_err(failed("writing"))?;
    Ok(Some(bytes.as_ref().len() as u64))
}

/// Verifies all checksums of a part.
fn verify(dir: &SegmentDir, name: &str) -> Result<(), StoreError> {
    let bytes = dir.open_part(name).map_err(PartError::from);
    let part = bytes.and_then(Part::new).and_then(|part| part.verify());
    part.map_err(|source| StoreError::Part {
        name: name.to_owned(),
        source,
    })
}

fn in_pieces(bytes: &[u8], file: &mut dyn NewFile) -> std::io::Result<()> {
    bytes
        .chunks(PIECE_LEN)
        .try_for_each(|piece| file.append(piece))
}
