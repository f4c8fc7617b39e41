//! Backups: a copy of a store in another folder, made while the store is read and written.
//!
//! A backup is a store of its own, of one committed state. Files of segments never change and no two have one
//! name, so a backup that is made again copies those that it lacks, then the rows, then forgets the files that the
//! new state does not list. Until its database has its name, the folder holds the backup that it held before; states
//! before it may be set aside (`backup_folder`).
//!
//! Always true: a damaged store is not backed up, and says what is damaged. Every page of its database is verified, every
//! row with what it says of others on its way, and the copy is read back before it takes the place of the one before.
//!
//! Start reading at [`Store::backup`], then [`restore`].

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{self, Path};
use std::sync::Arc;

use crate::database::copy::{DatabaseCopy, check_pages};
use crate::database::file::open_file;
use crate::database::format::check_format;
use crate::database::read_tables::Tables;
use crate::database::verify::Verifier;
use crate::error::{FolderOperation, StoreError};
use crate::failpoint::reach;
use crate::files::disk::Disk;
use crate::files::folder::{create_folder, exists};
use crate::files::lock::StoreLock;
use crate::files::names::{DATABASE, DATABASE_COPY, SEGMENTS};
use crate::files::segment_dir::SegmentDir;
use crate::files::unfinished;
use crate::maintenance::backup_folder::{BackupTarget, find_state_folder};
use crate::maintenance::check;
use crate::progress::ProgressFn;
use crate::rows::Rows;
use crate::rows::tables::Table;
use crate::segment::files::{append_buffered, copy_part, listed_part_files};
use crate::snapshot::Snapshot;
use crate::store::{IndexFactory, Store};

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
    /// `report` is called with (rows copied, rows in all); break stops it and leaves the earlier backup as it was: then
    /// `None` is returned.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a folder with other files, or inside of the store's, or a backup of another store, or
    /// of a later state of this one; [`StoreError::Locked`] for one that is open; [`StoreError::Unfinished`] for one that
    /// a restore or an import was stopped in; what is damaged in the store, and whatever `check` would find in its rows.
    ///
    /// # Cost
    /// Reads the database's file and all rows, with a lookup or two for each; writes and reads back all rows, and the
    /// files that are new. Searches go on; writes wait while the file's pages are read. Space that the
    /// copied state takes is not freed meanwhile.
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
    if !exists(&**disk, &database)? {
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
        // What cannot be removed is marked, and deleted by the next restore.
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
    let unfinished = to.join(DATABASE_COPY);
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
    let (mut database, _failure) = open_file(&**disk, &to.join(DATABASE_COPY), CACHE_BYTES)?;
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

/// Every document is in one segment with as many chunks as its row says. A rebuild in progress may lack some.
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
