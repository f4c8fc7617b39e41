//! The store: opens the folder, starts the committing thread, hands out views.
//!
//! A *view* is whatever the caller makes of a [`Snapshot`] (its opened indexes); the store
//! publishes the newest by one atomic pointer swap after each commit, and a reader that holds one
//! keeps it for as long as it likes. Start reading at [`Store::open`].

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use arc_swap::ArcSwap;
use crossbeam_channel::{Sender, bounded};
use parking_lot::Mutex;
use redb::Database;

use crate::build::{SegmentBuilder, build_segment};
use crate::commit::{self, Host, Job};
use crate::dir::{SegmentDir, create_folder, generation_of};
use crate::disk::{DatabaseFile, Disk, OsDisk};
use crate::envelope;
use crate::error::StoreError;
use crate::ids::{DocumentId, SpaceId};
use crate::limits::QUEUE_LEN_MAX;
use crate::lock::Lock;
use crate::records::ManifestRecord;
use crate::rows::{Rows, encode, missing, read};
use crate::segment::Part;
use crate::snapshot::{self, Damaged, MANIFEST, OpenSegment, Previous, Snapshot, Tables};
use crate::staging::{SegmentDraft, Staging};
use crate::tables::Table;

/// The format that this build reads and writes.
pub const FORMAT: u32 = 0;

const FORMAT_KEY: &[u8] = b"format";
const DATABASE: &str = "loci.redb";
const SEGMENTS: &str = "segments";

/// What a caller makes of snapshots, and what builds the segments that they consist of.
pub trait Views: Send + Sync + 'static {
    /// A snapshot with its indexes open.
    type View: Send + Sync + 'static;

    /// Whether the indexes of a segment can be opened. One that cannot is rebuilt from rows.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, segment: &OpenSegment) -> Result<(), StoreError>;

    /// Opens the indexes of a snapshot, sharing what did not change since `previous`.
    fn open(
        &self,
        snapshot: Snapshot,
        previous: Option<&Self::View>,
    ) -> Result<Self::View, StoreError>;

    /// The snapshot that a view was made of.
    fn snapshot<'v>(&self, view: &'v Self::View) -> &'v Snapshot;

    /// What writes the indexes of a new segment, in the vector space of `view`.
    fn builder<'v>(&'v self, view: &'v Self::View) -> Box<dyn SegmentBuilder + 'v>;
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Whether a store is made where there is none.
    pub create: bool,
    /// Bytes that redb may keep cached.
    pub cache_bytes: usize,
    /// Where its files lie.
    pub disk: Arc<dyn Disk>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            create: true,
            cache_bytes: 256 << 20,
            disk: Arc::new(OsDisk),
        }
    }
}

/// An open store.
pub struct Store<V: Views> {
    shared: Arc<Shared<V>>,
    sender: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    damaged: Vec<Damaged>,
}

struct Shared<V: Views> {
    views: V,
    view: ArcSwap<V::View>,
    database: Arc<Database>,
    dir: SegmentDir,
    /// The newest segments, so that the next snapshot shares their open parts.
    segments: Mutex<Listed>,
    // Held by every view too: until the last is gone no other process may touch the files.
    lock: Arc<Lock>,
}

#[derive(Clone, Default)]
struct Listed {
    manifest: ManifestRecord,
    segments: Vec<OpenSegment>,
    others: Vec<Arc<Part>>,
}

impl Listed {
    fn of(snapshot: &Snapshot) -> Listed {
        let projection = snapshot.space().and_then(|space| space.projection.clone());
        Listed {
            manifest: snapshot.manifest().clone(),
            segments: snapshot.segments().to_vec(),
            others: projection
                .into_iter()
                .chain(snapshot.analysis().cloned())
                .collect(),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Arc<Part>> {
        let segments = self.segments.iter();
        let parts = segments.flat_map(|segment| {
            [
                Some(&segment.part),
                segment.vectors.as_ref().map(|(_, part)| part),
            ]
        });
        parts.flatten().chain(&self.others)
    }
}

impl<V: Views> Store<V> {
    /// Opens the store in `folder`, and makes it where there is none and `options` say so.
    ///
    /// What a crash left is cleared away; views that cannot be used are rebuilt from rows before
    /// this returns ([`Store::repaired`] tells which).
    ///
    /// # Errors
    /// [`StoreError::Locked`], [`StoreError::Missing`], [`StoreError::Format`],
    /// [`StoreError::OldCopy`], and whatever the disk says.
    pub fn open(
        folder: &Path,
        options: &StoreOptions,
        make_views: impl FnOnce(&dyn Rows) -> Result<V, StoreError>,
    ) -> Result<Store<V>, StoreError> {
        let path = folder.join(DATABASE);
        let disk = &options.disk;
        let there = disk.exists(&path);
        let there = there.map_err(StoreError::io(format!("looking for {}", path.display())))?;
        if !there && !options.create {
            return Err(StoreError::Missing {
                path: folder.to_path_buf(),
            });
        }
        create_folder(&**disk, folder)?;
        let lock = Arc::new(Lock::acquire(&**disk, folder)?);
        let dir = SegmentDir::open(Arc::clone(disk), folder.join(SEGMENTS))?;
        let database = Arc::new(open_database(folder, &path, options)?);
        let manifest = init(&database)?;
        clear_orphans(&dir, &manifest, &Tables::open(&database)?)?;
        let mut opened = snapshot::open(&database, &dir, &lock, Previous::default())?;
        let views = make_views(opened.snapshot.rows())?;
        opened.set_aside(|segment| views.check(segment));
        let listed = Listed::of(&opened.snapshot);
        let view = views.open(opened.snapshot, None)?;
        let shared = Arc::new(Shared {
            views,
            view: ArcSwap::from_pointee(view),
            database,
            dir,
            segments: Mutex::new(listed),
            lock,
        });
        let (sender, jobs) = bounded(QUEUE_LEN_MAX);
        let host = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("loci-commit".into())
            .spawn(move || commit::run(&*host, &host.database, &host.dir, &jobs))
            .map_err(StoreError::io("starting the committing thread"))?;
        let mut store = Store {
            shared,
            sender: Some(sender),
            thread: Some(thread),
            damaged: opened.damaged,
        };
        if !store.damaged.is_empty() {
            crate::repair::rebuild(&mut store)?;
        }
        Ok(store)
    }

    /// The newest view. Costs one atomic read; holding it pins its files.
    pub fn view(&self) -> Arc<V::View> {
        self.shared.view.load_full()
    }

    /// What made the views.
    pub fn views(&self) -> &V {
        &self.shared.views
    }

    /// Parts that could not be used when the store was opened, and were rebuilt.
    pub fn repaired(&self) -> &[Damaged] {
        &self.damaged
    }

    /// Runs `work` in the committing thread; when this returns, its changes are durable and in the
    /// newest view, or dropped. After [`StoreError::ReadOnly`] which of both is not known until the
    /// store is opened again.
    ///
    /// Blocks while the queue is full.
    pub fn write<R, F>(&self, work: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        self.send(work, false)
    }

    /// As [`Store::write`], in a commit of its own: for work that edits what the manifest lists.
    pub fn edit<R, F>(&self, work: F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        self.send(work, true)
    }

    fn send<R, F>(&self, work: F, alone: bool) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let (done, wait) = bounded(1);
        let result = Arc::clone(&slot);
        let job = Job {
            work: Box::new(move |staging| {
                *result.lock() = Some(work(staging)?);
                Ok(())
            }),
            alone,
            done,
        };
        let sender = self.sender.as_ref().ok_or(StoreError::Closed)?;
        sender.send(job).map_err(|_| StoreError::Closed)?;
        wait.recv().map_err(|_| StoreError::Closed)??;
        slot.lock().take().ok_or(StoreError::Closed)
    }

    /// Waits for the writers in the queue and closes the store. Views that are still held stay
    /// readable, and keep the store locked until they are dropped.
    pub fn close(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the committing thread has been answered to its writers.
            let _ = thread.join();
        }
    }
}

impl<V: Views> Drop for Store<V> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<V: Views> Host for Shared<V> {
    fn segments(&self) -> Vec<OpenSegment> {
        self.segments.lock().segments.clone()
    }

    fn manifest(&self) -> ManifestRecord {
        self.segments.lock().manifest.clone()
    }

    fn build(&self, rows: &dyn Rows, documents: &[DocumentId]) -> Result<SegmentDraft, StoreError> {
        let view = self.view.load();
        build_segment(rows, documents, self.views.builder(&view))
    }

    fn publish(&self) -> Result<(), StoreError> {
        let before = self.segments.lock().clone();
        let previous = Previous {
            segments: &before.segments,
            parts: &before.others,
        };
        let opened = snapshot::open(&self.database, &self.dir, &self.lock, previous)?;
        if let Some(damaged) = opened.damaged.into_iter().next() {
            return Err(damaged.error);
        }
        let after = Listed::of(&opened.snapshot);
        let view = self.views.open(opened.snapshot, Some(&self.view.load()))?;
        self.view.store(Arc::new(view));
        retire_missing(&before, &after);
        *self.segments.lock() = after;
        Ok(())
    }
}

/// Parts that the newest manifest no longer lists go with their last reader.
fn retire_missing(before: &Listed, after: &Listed) {
    let kept: std::collections::HashSet<u64> =
        after.parts().map(|part| part.header().part).collect();
    for part in before
        .parts()
        .filter(|part| !kept.contains(&part.header().part))
    {
        part.retire();
    }
}

fn open_database(
    folder: &Path,
    path: &Path,
    options: &StoreOptions,
) -> Result<Database, StoreError> {
    let disk = &options.disk;
    let file = disk
        .open(path)
        .map_err(StoreError::io(format!("opening {}", path.display())))?;
    let database = Database::builder()
        .set_cache_size(options.cache_bytes)
        .create_with_backend(DatabaseFile(file))?;
    // redb syncs no directory.
    disk.sync_folder(folder)
        .map_err(StoreError::io(format!("syncing {}", folder.display())))?;
    Ok(database)
}

/// Makes the tables of a new store; checks the format of an old one. Returns its manifest.
fn init(database: &Database) -> Result<ManifestRecord, StoreError> {
    if is_new(database)? {
        create_tables(database)?;
    }
    let tables = Tables::open(database)?;
    let rows: &dyn Rows = &tables;
    let format = rows.get(Table::Meta, FORMAT_KEY)?;
    let format = format.ok_or_else(|| missing(Table::Meta, FORMAT_KEY))?;
    let found = format
        .first_chunk()
        .map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes));
    if found != FORMAT {
        return Err(StoreError::Format {
            found,
            ours: FORMAT,
        });
    }
    read(rows, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))
}

fn is_new(database: &Database) -> Result<bool, StoreError> {
    use redb::ReadableDatabase;
    Ok(database.begin_read()?.list_tables()?.next().is_none())
}

fn create_tables(database: &Database) -> Result<(), StoreError> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    for table in Table::ALL {
        transaction.open_table(table.definition())?;
    }
    let manifest = ManifestRecord {
        next_document: 1,
        next_segment: 1,
        next_part: 1,
        next_space: 1,
        ..ManifestRecord::default()
    };
    {
        let mut meta = transaction.open_table(Table::Meta.definition())?;
        let rows = [
            (FORMAT_KEY, FORMAT.to_le_bytes().to_vec()),
            (MANIFEST, encode(&manifest)?),
        ];
        for (key, payload) in rows {
            let value = envelope::seal(Table::Meta.number(), key, &payload);
            meta.insert(key, value.as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// Deletes files that no manifest lists, unless they say that the database is an older copy.
fn clear_orphans(
    dir: &SegmentDir,
    manifest: &ManifestRecord,
    rows: &dyn Rows,
) -> Result<(), StoreError> {
    let names = dir.list().map_err(StoreError::io("listing segments"))?;
    let newest = manifest.generation + 1;
    let newer = |name: &&String| generation_of(name).is_some_and(|of| of > newest);
    if let Some(segment) = names.iter().find(newer) {
        let (store, segment) = (manifest.generation, segment.clone());
        return Err(StoreError::OldCopy { store, segment });
    }
    let space = manifest
        .active_space
        .map(|id| rows.space(SpaceId(id)))
        .transpose()?
        .flatten();
    let projection = space.and_then(|space| space.projection);
    let mut listed = vec![projection.as_ref()];
    for entry in &manifest.segments {
        listed.extend([
            Some(&entry.base),
            entry.vectors.as_ref().map(|(_, part)| part),
        ]);
    }
    listed.push(manifest.analysis.as_ref());
    let listed: Vec<&str> = listed
        .into_iter()
        .flatten()
        .filter_map(|e| e.file.as_deref())
        .collect();
    for name in names.iter().filter(|name| !listed.contains(&name.as_str())) {
        dir.remove(name)
            .map_err(StoreError::io(format!("removing {name}")))?;
    }
    Ok(())
}
