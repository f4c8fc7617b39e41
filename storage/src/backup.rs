//! Backups: a copy of a store in another folder, made while the store is read and written.
//!
//! A backup is a store of its own, of one committed state. Files of segments never change and no two have one
//! name, so a backup that is made again copies those that it lacks, then the rows, then forgets the files that the
//! new state does not list. Until its database has its name, the folder holds the backup that it held before; states
//! before it may be set aside ([`crate::generations`]).
//!
//! Always true: a damaged store is not backed up, and says what is damaged. Every page of its database is verified, every
//! row with what it says of others on its way, and the copy is read back before it takes the place of the one before.
//!
//! Start reading at [`Store::backup`], then [`restore`].

use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{self, Path};
use std::sync::Arc;

use crate::check;
use crate::database_file::{Database, DatabaseFile};
use crate::dir::{SegmentDir, create_folder};
use crate::disk::{Disk, NewFile};
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::generations::{BackupTarget, find_state_folder};
use crate::ids::SpaceId;
use crate::lock::StoreLock;
use crate::records::{ManifestRecord, PartEntry};
use crate::rewrite::{DATABASE_COPY_NAME, DatabaseCopy, ProgressFn, check_pages};
use crate::rows::Rows;
use crate::segment::{Part, PartError};
use crate::snapshot::{Snapshot, Tables};
use crate::store::{DATABASE, IndexFactory, SEGMENTS, Store, check_format};
use crate::tables::Table;
use crate::unfinished::{self, FolderOperation};
use crate::verify::Verifier;

/// Bytes that are handed to a file at once.
const COPY_BUFFER_LEN: usize = 1 << 20;

/// Bytes of rows that a copy keeps cached.
const CACHE_BYTES: usize = 64 << 20;

/// What a backup did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct BackupReport {
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
    /// Generations of earlier states that the folder keeps, newest first.
    pub earlier: Vec<u64>,
}

impl<V: IndexFactory> Store<V> {
    /// Copies the newest state to the folder `to`, which is missing, empty, or holds earlier backups of this store.
    /// `keep`: how many states the folder keeps, this one included; the one before is set aside, the oldest go.
    /// `None`: the one before is replaced, and what is set aside stays.
    ///
    /// `report` is told (rows copied, rows in all); break ends it, and leaves the earlier backup as it was: then
    /// `None` is returned.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a folder with other files, or inside of the store's, or a backup of another store, or
    /// of a later state of this one; [`StoreError::Locked`] for one that is open; [`StoreError::Unfinished`] for one that
    /// a restore or an import was stopped in; what is damaged in the store, and whatever `check` would find in its rows.
    ///
    /// # Cost
    /// Reads the database's file and all rows, with a lookup or two for each; writes and reads back all rows, and the
    /// files that are new. Searches go on; writes wait while the file's pages are read. Room that the state at hand takes
    /// is not given back meanwhile.
    pub fn backup(
        &self,
        to: &Path,
        keep: Option<NonZeroUsize>,
        report: &mut ProgressFn<'_>,
    ) -> Result<Option<BackupReport>, StoreError> {
        let disk = self.copy_disk();
        refuse_store_folder(self.segment_dir().store_folder(), to)?;
        self.check_row_pages()?;
        let view = self.latest_snapshot();
        let snapshot = self.index_factory().snapshot(&view);
        let (tables, manifest) = (snapshot.tables(), snapshot.manifest());
        let target = BackupTarget::open(disk, to, tables, manifest)?;
        let mut done = BackupReport {
            generation: manifest.generation,
            rows: tables.len()?,
            ..BackupReport::default()
        };
        check_segments_match_rows(snapshot)?;
        let listed = listed_part_files(manifest, tables)?;
        for (entry, name) in &listed {
            match copy_part(self.segment_dir(), target.segments(), entry, name)? {
                Some(bytes) => {
                    done.files_copied += 1;
                    done.bytes_copied += bytes;
                }
                None => done.files_kept += 1,
            }
        }
        reach("backup-parts-copied");
        let mut copy = DatabaseCopy::create(disk, to, DATABASE, CACHE_BYTES)?;
        let mut verifier = Verifier::new(tables, manifest);
        if !copy.copy_rows(tables, Some(&mut verifier), report)? {
            return Ok(None);
        }
        verifier.finish()?;
        copy.verify_copy(done.rows)?;
        reach("backup-rows-copied");
        if keep.is_some_and(|keep| keep.get() > 1) {
            target.archive_newest(manifest.generation)?;
        }
        drop(copy.install()?);
        reach("backup-renamed");
        done.earlier = target.prune(keep.map(NonZeroUsize::get), &listed)?;
        Ok(Some(done))
    }
}

/// Copies a state of the backup in `from` to the folder `to`, so that it can be opened as a store: the newest, or
/// `generation`. `to` is missing or empty, or what a restore that was stopped left. The backup stays as it is. Until all
/// is there, verified and durable, `to` holds no database, and a mark that keeps everything else from opening it.
///
/// # Errors
/// [`StoreError::Invalid`] where `to` holds anything else, or no state is of that generation; [`StoreError::Missing`]
/// where there is no backup; [`StoreError::Unfinished`] where the first backup was stopped; [`StoreError::Locked`] where
/// one of the two is open; what is damaged in the backup.
pub fn restore(
    disk: &Arc<dyn Disk>,
    from: &Path,
    generation: Option<u64>,
    to: &Path,
) -> Result<(), StoreError> {
    let source = find_state_folder(disk, from, generation)?;
    let database = source.join(DATABASE);
    let there = disk.exists(&database);
    if !there.map_err(StoreError::io(format!(
        "looking for {}",
        database.display()
    )))? {
        unfinished::check_complete(&**disk, &source)?;
        return Err(StoreError::Missing {
            path: from.to_path_buf(),
        });
    }
    let _newest = StoreLock::acquire(&**disk, from)?;
    let _source = if source == from {
        None
    } else {
        Some(StoreLock::acquire(&**disk, &source)?)
    };
    create_folder(&**disk, to)?;
    let _to = StoreLock::acquire(&**disk, to)?;
    unfinished::delete_leftovers(&**disk, to, FolderOperation::Restore)?;
    unfinished::write_marker(&**disk, to, FolderOperation::Restore)?;
    reach("restore-marked");
    let restored = copy_store(disk, &source, to);
    if restored.is_err() {
        // What cannot be removed is marked, and goes with the next restore.
        let _ = unfinished::delete_leftovers(&**disk, to, FolderOperation::Restore)
            .and_then(|()| unfinished::remove_marker(&**disk, to));
    }
    restored
}

/// Copies a state to a folder that is locked, marked and empty.
fn copy_store(disk: &Arc<dyn Disk>, from: &Path, to: &Path) -> Result<(), StoreError> {
    let failed = |what: &str, path: &Path| StoreError::io(format!("{what} {}", path.display()));
    let database = from.join(DATABASE);
    let bytes = disk.map(&database).map_err(failed("reading", &database))?;
    let unfinished = to.join(DATABASE_COPY_NAME);
    let copied = disk.create(&unfinished).and_then(|mut file| {
        append_buffered(bytes.as_ref(), &mut *file)?;
        file.sync()
    });
    copied.map_err(failed("writing", &unfinished))?;
    reach("restore-rows-copied");
    copy_listed(disk, from, to)?;
    reach("restore-parts-copied");
    disk.rename(&unfinished, &to.join(DATABASE))
        .and_then(|()| disk.sync_folder(to))
        .map_err(failed("naming", &unfinished))?;
    reach("restore-renamed");
    unfinished::remove_marker(&**disk, to)
}

/// Verifies the unfinished copy of a database in `to`, and copies the parts that it lists.
fn copy_listed(disk: &Arc<dyn Disk>, from: &Path, to: &Path) -> Result<(), StoreError> {
    let mut database = open_database(disk, &to.join(DATABASE_COPY_NAME))?;
    let manifest = check_format(&database)?;
    check_pages(&mut database)?;
    let tables = Tables::open(&database)?;
    let mut verifier = Verifier::new(&tables, &manifest);
    for table in Table::ALL {
        tables.scan(table, &[], None, &mut |key, payload| {
            verifier.verify_row(table, key, payload)?;
            Ok(ControlFlow::Continue(()))
        })?;
        verifier.finish_table(table)?;
    }
    verifier.finish()?;
    let backed_up = SegmentDir::open(Arc::clone(disk), from.join(SEGMENTS))?;
    let segments = SegmentDir::open(Arc::clone(disk), to.join(SEGMENTS))?;
    for (entry, name) in listed_part_files(&manifest, &tables)? {
        copy_part(&backed_up, &segments, &entry, &name)?;
    }
    Ok(())
}

fn open_database(disk: &Arc<dyn Disk>, path: &Path) -> Result<Database, StoreError> {
    let file = disk.open(path);
    let file = file.map_err(StoreError::io(format!("opening {}", path.display())))?;
    let (file, failure) = DatabaseFile::new(file);
    let database = Database::open(file, CACHE_BYTES)?;
    failure.check()?;
    Ok(database)
}

/// Every document lies in one segment with as many chunks as its row says. What is being built again may lack some.
fn check_segments_match_rows(snapshot: &Snapshot) -> Result<(), StoreError> {
    let mut first = None;
    check::check_segments(snapshot, &mut |finding| {
        first.get_or_insert(finding);
    });
    match first {
        Some(finding) => Err(StoreError::DamagedRow {
            table: Table::Documents.name(),
            key: finding.key,
            why: format!("{}: {}", finding.section, finding.finding),
        }),
        None => Ok(()),
    }
}

/// The key of what tells a store from all others: 16 bytes of chance.
pub(crate) const STORE_ID_KEY: &[u8] = b"identity";

pub(crate) fn file_names(disk: &Arc<dyn Disk>, folder: &Path) -> Result<Vec<String>, StoreError> {
    let names = disk.names(folder);
    names.map_err(StoreError::io(format!("listing {}", folder.display())))
}

/// All parts with files that a state lists, with their names.
pub(crate) fn listed_part_files(
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
fn refuse_store_folder(store: Option<&Path>, to: &Path) -> Result<(), StoreError> {
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
pub(crate) fn copy_part(
    from: &SegmentDir,
    into: &SegmentDir,
    entry: &PartEntry,
    name: &str,
) -> Result<Option<u64>, StoreError> {
    match verify_part(into, entry, name) {
        Ok(()) => return Ok(None),
        Err(StoreError::Part {
            source: PartError::Io(error),
            ..
        }) if error.kind() == io::ErrorKind::NotFound => {}
        Err(_) => into
            .remove(name)
            .map_err(StoreError::io(format!("removing {name}")))?,
    }
    verify_part(from, entry, name)?;
    let bytes = from.open_part(name);
    let bytes = bytes.map_err(StoreError::io(format!("reading {name}")))?;
    let copied = into.publish(name, |file| append_buffered(bytes.as_ref(), file));
    copied.map_err(StoreError::io(format!("writing {name}")))?;
    verify_part(into, entry, name)?;
    Ok(Some(bytes.as_ref().len() as u64))
}

/// Verifies that a part is the one that is listed, and all of its checksums.
pub(crate) fn verify_part(
    dir: &SegmentDir,
    entry: &PartEntry,
    name: &str,
) -> Result<(), StoreError> {
    let bytes = dir.open_part(name).map_err(PartError::from);
    let part = bytes.and_then(Part::new).and_then(|part| {
        let header = part.header();
        if header.part != entry.id || header.len != entry.len {
            return Err(PartError::Malformed(
                "it is another part than the manifest lists".into(),
            ));
        }
        part.verify()
    });
    part.map_err(|source| StoreError::Part {
        name: name.to_owned(),
        source,
    })
}

fn append_buffered(bytes: &[u8], file: &mut dyn NewFile) -> std::io::Result<()> {
    bytes
        .chunks(COPY_BUFFER_LEN)
        .try_for_each(|piece| file.append(piece))
}
