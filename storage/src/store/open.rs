//! Opening a store: its lock, its database, its newest snapshot, and what a crash left behind.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use crossbeam_channel::bounded;
use parking_lot::Mutex;

use super::Store;
use super::options::{IndexFactory, StoreOptions};
use super::rebuild::drop_damaged;
use super::shared::{CommittedState, Files, Shared};
use crate::commit;
use crate::commit::host::Host;
use crate::database::file::{Database, DatabaseFile, WriteFailure};
use crate::database::format::{check_format, create_tables};
use crate::database::read_tables::Tables;
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::files::disk::Disk;
use crate::files::folder::{create_folder, exists};
use crate::files::lock::StoreLock;
use crate::files::names::{DATABASE, DATABASE_COPY, SEGMENTS};
use crate::files::overlay::in_memory_overlay;
use crate::files::segment_dir::{SegmentDir, parse_generation};
use crate::files::unfinished;
use crate::limits::QUEUE_LEN_MAX;
use crate::publish::{Pins, Published, Unlisted};
use crate::rows::Rows;
use crate::rows::records::ManifestRecord;
use crate::segment::files::listed_part_files;
use crate::segment::new_part::PartAllocator;
use crate::snapshot::{self, PreviousSnapshot};

impl<V: IndexFactory> Store<V> {
    /// Opens the store in `folder`, and creates it where there is none and `options` say so.
    ///
    /// Deletes what a crash left. Removes unusable indexes from the manifest ([`Store::damaged`] lists them), to be
    /// rebuilt by [`Store::rebuild`].
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Missing`], [`StoreError::Format`],
    /// [`StoreError::StaleDatabase`], and whatever the disk says.
    pub fn open(
        folder: &Path,
        options: &StoreOptions,
        create_factory: impl FnOnce(&dyn Rows) -> Result<V, StoreError>,
    ) -> Result<Store<V>, StoreError> {
        if options.read_only {
            let disk = in_memory_overlay(Arc::clone(&options.disk));
            let over = StoreOptions {
                disk,
                create: false,
                ..options.clone()
            };
            return Store::open_with_disk(folder, &over, &options.disk, create_factory);
        }
        Store::open_with_disk(folder, options, &options.disk, create_factory)
    }

    fn open_with_disk(
        folder: &Path,
        options: &StoreOptions,
        copy_disk: &Arc<dyn Disk>,
        create_factory: impl FnOnce(&dyn Rows) -> Result<V, StoreError>,
    ) -> Result<Store<V>, StoreError> {
        let path = folder.join(DATABASE);
        let disk = &options.disk;
        let there = exists(&**disk, &path)?;
        if !there {
            refuse_unfinished(disk, folder)?;
        }
        if !there && !options.create {
            return Err(StoreError::Missing {
                path: folder.to_path_buf(),
            });
        }
        create_folder(&**disk, folder)?;
        let lock = Arc::new(StoreLock::acquire(&**disk, folder)?);
        let dir = SegmentDir::open(Arc::clone(disk), folder.join(SEGMENTS))?;
        let (database, failure) = open_database(folder, &path, options)?;
        reach("opened-database");
        let manifest = check_format(&database)?;
        let sync = || {
            disk.sync_folder(folder)
                .map_err(StoreError::io("syncing the folder"))
        };
        delete_orphan_files(&dir, &manifest, &Tables::open(&database)?, sync)?;
        delete_database_copy(&**disk, folder)?;
        // Whatever filled the folder was stopped after its last step.
        unfinished::remove_marker(&**disk, folder)?;
        reach("cleared-orphans");
        let (database, pins) = (Arc::new(database), Pins::new());
        let mut opened =
            snapshot::open(&database, &dir, &lock, &pins, PreviousSnapshot::default())?;
        let index_factory = create_factory(opened.snapshot.rows())?;
        opened.drop_unusable(|segment| index_factory.check(segment));
        let committed = CommittedState::from_snapshot(&opened.snapshot);
        let view = index_factory.open(opened.snapshot, None)?;
        let files = Files {
            disk: Arc::clone(disk),
            copy_disk: Arc::clone(copy_disk),
            folder: folder.to_path_buf(),
            cache_bytes: options.cache_bytes,
        };
        let shared = Arc::new(Shared {
            index_factory,
            view: Published::new(view),
            pins,
            database: Mutex::new((database, failure)),
            is_name_synced: AtomicBool::new(false),
            rewriting: Mutex::new(()),
            commit_thread: OnceLock::new(),
            files,
            dir,
            part_allocator: PartAllocator::new(&manifest, options.inline_len_max),
            committed: Mutex::new(committed),
            unlisted: Mutex::new(Unlisted::new()),
            lock,
        });
        let (sender, jobs) = bounded(QUEUE_LEN_MAX);
        let host = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("loci-commit".into())
            .spawn(move || commit::run(&*host, &jobs))
            .map_err(StoreError::io("starting the committing thread"))?;
        let _ = shared.commit_thread.set(thread.thread().id());
        let mut store = Store {
            shared,
            sender: Some(sender),
            thread: Some(thread),
            damaged: opened.damaged,
            lost_indexes: Vec::new(),
            read_only: options.read_only,
        };
        if !store.damaged.is_empty() {
            drop_damaged(&store, &store.damaged)?;
        }
        let view = store.latest_snapshot();
        store.lost_indexes = store
            .index_factory()
            .snapshot(&view)
            .lost_indexes()
            .to_vec();
        drop(view);
        store.shared.check()?;
        Ok(store)
    }
}

/// Refuses a folder that a stopped command left; one that is at work there has it locked.
fn refuse_unfinished(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), StoreError> {
    if disk.exists(folder).unwrap_or_default()
        && unfinished::check_complete(&**disk, folder).is_err()
    {
        let _lock = StoreLock::acquire(&**disk, folder)?;
        unfinished::check_complete(&**disk, folder)?;
    }
    Ok(())
}

/// Refuses a folder whose database is gone: a new one in its place would take what is left for leftovers of its own.
fn refuse_missing_database(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), StoreError> {
    let segments = SegmentDir::open(Arc::clone(disk), folder.join(SEGMENTS))?;
    let names = segments
        .list()
        .map_err(StoreError::io("listing segments"))?;
    if names.iter().any(|name| parse_generation(name).is_some()) {
        Err(StoreError::NoDatabase {
            path: folder.to_path_buf(),
        })
    } else {
        Ok(())
    }
}

/// Opens the database. A new one is made whole under another name first: what a kill in the middle of
/// making it leaves is none.
fn open_database(
    folder: &Path,
    path: &Path,
    options: &StoreOptions,
) -> Result<(Database, Arc<WriteFailure>), StoreError> {
    let disk = &options.disk;
    // Looked for again, under the lock: another process may have made it meanwhile.
    let new_path = if exists(&**disk, path)? {
        None
    } else {
        unfinished::check_complete(&**disk, folder)?;
        refuse_missing_database(disk, folder)?;
        delete_database_copy(&**disk, folder)?;
        Some(folder.join(DATABASE_COPY))
    };
    let at = new_path.as_deref().unwrap_or(path);
    let file = disk.open(at).map_err(|source| match source.kind() {
        io::ErrorKind::WouldBlock => StoreError::Locked {
            path: folder.to_path_buf(),
            holders: disk.lock_holders(at),
        },
        _ => StoreError::io(format!("opening {}", at.display()))(source),
    })?;
    let (file, failure) = DatabaseFile::new(file);
    failure.buffer_unsynced();
    let open = if options.read_only {
        Database::open_in_memory
    } else {
        Database::open
    };
    let database = open(file, options.cache_bytes)?;
    failure.check()?;
    if let Some(new_path) = new_path {
        create_tables(&database)?;
        failure.check()?;
        disk.rename(&new_path, path)
            .and_then(|()| disk.sync_folder(folder))
            .map_err(StoreError::io(format!("renaming {}", new_path.display())))?;
    }
    Ok((database, failure))
}

/// Deletes files that no manifest lists, unless they say that the database is an older copy. `sync` makes its name
/// durable before: the database that had it until then may list them.
fn delete_orphan_files(
    dir: &SegmentDir,
    manifest: &ManifestRecord,
    rows: &dyn Rows,
    sync: impl FnOnce() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let names = dir.list().map_err(StoreError::io("listing segments"))?;
    let newest = manifest.generation.saturating_add(1);
    let newer = |name: &&String| parse_generation(name).is_some_and(|of| of > newest);
    if let Some(segment) = names.iter().find(newer) {
        let (store, segment) = (manifest.generation, segment.clone());
        return Err(StoreError::StaleDatabase { store, segment });
    }
    let listed = listed_part_files(manifest, rows)?;
    let listed: HashSet<String> = listed.into_iter().map(|(_, name)| name).collect();
    let orphans: Vec<&String> = names
        .iter()
        .filter(|name| !listed.contains(*name))
        .collect();
    if !orphans.is_empty() {
        sync()?;
    }
    for name in orphans {
        dir.remove(name)
            .map_err(StoreError::io(format!("removing {name}")))?;
    }
    Ok(())
}

/// Deletes a copy of the database that a crash left.
fn delete_database_copy(disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(DATABASE_COPY);
    let failed = || StoreError::io(format!("removing {}", path.display()));
    if disk.exists(&path).map_err(failed())? {
        disk.remove(&path).map_err(failed())?;
    }
    Ok(())
}
