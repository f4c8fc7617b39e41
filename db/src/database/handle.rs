//! The handle that applications hold: open, write, search, close.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use loci_models::{Embedder, Generator, Tokenizer};
use loci_query::{Answer, SearchRequest, Searcher};
use loci_storage::snapshot::DamagedPart;
use loci_storage::staging::Staging;
use loci_storage::{Disk, Durability, LostIndex, Store, StoreOptions};

use crate::error::Error;
use crate::maintenance::thread::Maintenance;
use crate::progress::NoProgress;
use crate::settings::Settings;
use crate::state::factory::SnapshotFactory;
use crate::state::inner::{Inner, PageWatch};
use crate::state::snapshot::DatabaseSnapshot;
use crate::write::transaction::WriteTransaction;

/// How to open a database.
#[derive(Clone)]
pub struct Options {
    /// Whether a store is created where there is none.
    pub create: bool,
    /// Bytes of rows that may be cached.
    pub cache_bytes: usize,
    /// Where its files are: the file system by default.
    pub disk: Arc<dyn Disk>,
    /// Bytes of an index part that may be stored in the database's file; a larger one gets a file of its own,
    /// which costs two more syncs.
    pub inline_len_max: usize,
    /// Whether the store is only read: nothing on disk is changed, so the medium may be read-only, several processes
    /// may read it at a time, and writes are refused. What opening it has to repair is repaired in memory.
    pub read_only: bool,
    /// The model that the store was switched to by [`Database::switch_embedder`], if it was: it
    /// embeds questions, and new text when [`Database::finish`] is called.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// What writes the answers of [`Database::ask`]; without one they consist of sentences of the documents.
    pub generator: Option<Arc<dyn Generator>>,
    /// What the tokens of budgets are counted by: of contexts, prompts and answers. Without one they are estimated
    /// ([`loci_query::tokens`]); sizes of chunks always are.
    pub tokenizer: Option<Arc<dyn Tokenizer>>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("create", &self.create)
            .field("cache_bytes", &self.cache_bytes)
            .field("disk", &self.disk)
            .field("inline_len_max", &self.inline_len_max)
            .field("read_only", &self.read_only)
            .field("embedder", &self.embedder.as_ref().map(|e| e.model()))
            .field("generator", &self.generator.as_ref().map(|g| g.name()))
            .field("tokenizer", &self.tokenizer.as_ref().map(|t| t.name()))
            .finish()
    }
}

impl Default for Options {
    fn default() -> Self {
        let store = StoreOptions::default();
        Options {
            create: store.create,
            cache_bytes: store.cache_bytes,
            disk: store.disk,
            inline_len_max: store.inline_len_max,
            read_only: store.read_only,
            embedder: None,
            generator: None,
            tokenizer: None,
        }
    }
}

/// An open store: documents, vectors, text and concept graph under one transaction.
///
/// Share it between threads behind an `Arc`. Searches never wait for writers; writers are grouped
/// into commits by one thread.
///
/// ```
/// use locidb::storage::records::{ChunkRecord, DocumentRecord};
/// use locidb::{Database, NewChunk, NewDocument, SearchRequest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let database = Database::open(folder.path())?;
/// let text = "The method of loci recalls a fact by walking to the place where it was put.";
/// database.write(move |tx| {
///     let passage = ChunkRecord { text: text.into(), ..ChunkRecord::default() };
///     tx.put_document(NewDocument {
///         record: DocumentRecord { key: "loci.txt".into(), ..DocumentRecord::default() },
///         original: text.into(),
///         chunks: vec![NewChunk { record: passage, vector: None }],
///         ..NewDocument::default()
///     })
/// })?;
/// let answer = database.search(&SearchRequest::new("walking to a place"))?;
/// assert_eq!(answer.hits[0].chunk, "loci.txt#0");
/// database.close();
/// # Ok(())
/// # }
/// ```
pub struct Database {
    // Dropped before the store, which it writes to.
    maintenance: Maintenance,
    inner: Arc<Inner>,
}

impl Database {
    /// Opens the database in `folder`, and creates it where there is none.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Locked`] at once when another process has it open.
    pub fn open(folder: impl AsRef<Path>) -> Result<Database, Error> {
        Self::open_with(folder, &Options::default())
    }

    /// Opens the database in `folder` as `options` say.
    ///
    /// # Errors
    /// As [`Database::open`]; [`loci_storage::StoreError::Missing`] where there is none and none may be created.
    pub fn open_with(folder: impl AsRef<Path>, options: &Options) -> Result<Database, Error> {
        let views = SnapshotFactory::default();
        if let Some(embedder) = &options.embedder {
            views.models.add(embedder);
        }
        let generator = options.generator.clone();
        let searcher = match options.tokenizer.clone() {
            Some(tokenizer) => Searcher::new(Box::new(move |text| tokenizer.count(text))),
            None => Searcher::default(),
        };
        let options = StoreOptions {
            create: options.create,
            cache_bytes: options.cache_bytes,
            disk: Arc::clone(&options.disk),
            inline_len_max: options.inline_len_max,
            read_only: options.read_only,
        };
        let store = Store::open(folder.as_ref(), &options, |_| Ok(views))?;
        let inner = Arc::new(Inner::new(store, searcher, generator));
        let maintenance = Maintenance::start(&inner)?;
        Ok(Database { inner, maintenance })
    }

    /// Runs `work` in the committing thread. When this returns `Ok`, its changes are durable and
    /// every later search sees all of them; on an error they are dropped.
    ///
    /// `work` must write to the database through its transaction only: another write is refused.
    ///
    /// # Errors
    /// What `work` returns; [`loci_storage::StoreError::ReadOnly`] once a commit failed.
    pub fn write<R, F>(&self, work: F) -> Result<R, Error>
    where
        R: Send + 'static,
        F: FnOnce(&mut WriteTransaction<'_, '_>) -> Result<R, Error> + Send + 'static,
    {
        self.write_with(Durability::Immediate, work)
    }

    /// As [`Database::write`], acknowledged as `durability` says: with
    /// [`Durability::Eventual`] when later searches see the changes, and durable soon after.
    pub fn write_with<R, F>(&self, durability: Durability, work: F) -> Result<R, Error>
    where
        R: Send + 'static,
        F: FnOnce(&mut WriteTransaction<'_, '_>) -> Result<R, Error> + Send + 'static,
    {
        let run = move |staging: &mut Staging<'_>| Ok(WriteTransaction::run(staging, work)?);
        let result = self.inner.write(durability, run);
        self.maintenance.wake();
        result
    }

    /// As [`Database::write`], in a commit of its own: for work that waits for something while it runs. Other
    /// writers wait for its end, but are not in its commit and do not fail with it.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub fn write_alone<R, F>(&self, work: F) -> Result<R, Error>
    where
        R: Send + 'static,
        F: FnOnce(&mut WriteTransaction<'_, '_>) -> Result<R, Error> + Send + 'static,
    {
        let run = move |staging: &mut Staging<'_>| Ok(WriteTransaction::run(staging, work)?);
        let result = self.inner.edit(run);
        self.maintenance.wake();
        result
    }

    /// Makes every write that was acknowledged durable.
    pub fn flush(&self) -> Result<(), Error> {
        Ok(self.inner.store.flush()?)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// Asks the background to look for work.
    pub(crate) fn wake_maintenance(&self) {
        self.maintenance.wake();
    }

    /// Answers a question over the newest committed state.
    ///
    /// Options that the request leaves unset are those of the store's settings ([`Settings::over`]). A question
    /// without a vector gets one from the store's embedder, where it has one. If an external model fails, text and
    /// graph answer, and [`Answer::partial`] has the reason.
    ///
    /// # Errors
    /// [`Error::Query`] for a vector of another dimension, or a strategy that needs an arm the
    /// store does not have.
    pub fn search(&self, request: &SearchRequest) -> Result<Answer, Error> {
        let view = self.snapshot();
        self.search_in(&view, request)
    }

    /// As [`Database::search`], over a view that the caller holds.
    pub fn search_in(
        &self,
        view: &DatabaseSnapshot,
        request: &SearchRequest,
    ) -> Result<Answer, Error> {
        self.search_without_settings(view, view.settings()?.over(request.clone()))
    }

    /// As [`Database::search_in`], for a request that has the settings of the store already.
    pub(crate) fn search_without_settings(
        &self,
        view: &DatabaseSnapshot,
        request: SearchRequest,
    ) -> Result<Answer, Error> {
        let search = || Ok(self.inner.searcher.search(&view.read_view, request)?);
        self.with_page_check(view, search)
    }

    /// As [`Inner::with_page_check`]; what lost pages is rebuilt in the background.
    pub(crate) fn with_page_check<R>(
        &self,
        view: &DatabaseSnapshot,
        read: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        self.wake_on_lost_pages(self.inner.with_page_check(view, read))
    }

    fn wake_on_lost_pages<R>(&self, result: Result<R, Error>) -> Result<R, Error> {
        if result.as_ref().is_err_and(Error::is_lost_pages) {
            self.maintenance.wake();
        }
        result
    }

    /// Begins to watch for files of the store that are cut, or whose disk fails, while they are read: for callers that
    /// read a [`DatabaseSnapshot`] other than by [`Database::search_in`]. Pass what is returned to
    /// [`Database::check_pages`] before you use what was read.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Part`] where that has happened, until the background has removed what is damaged.
    pub fn watch_pages(&self) -> Result<PageWatch, Error> {
        self.wake_on_lost_pages(self.inner.watch_pages())
    }

    /// An error when a file of the store lost pages since `watch` began: discard what was read meanwhile.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Part`].
    pub fn check_pages(&self, watch: PageWatch) -> Result<(), Error> {
        self.wake_on_lost_pages(self.inner.check_pages(watch))
    }

    /// The newest committed state. Holding it pins what it needs on disk.
    pub fn snapshot(&self) -> Arc<DatabaseSnapshot> {
        self.inner.store.latest_snapshot()
    }

    /// The settings of the store.
    pub fn settings(&self) -> Result<Settings, Error> {
        Ok(self.snapshot().settings()?.clone())
    }

    /// Changes a setting; see [`Settings::with`]. `chunk_preset` sets all sizes of chunks
    /// ([`Settings::chunk_preset`]); `model` switches to the model in that folder
    /// ([`Database::use_model`]), and to the built-in embedder where it is empty.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        let with = || Ok::<_, Error>(self.settings()?.with(name, value)?);
        match name {
            "embedder" => return self.use_embedder(with()?.embedder),
            "model" => {
                let settings = with()?;
                return match &settings.model[..] {
                    "" => self.use_embedder(settings.embedder),
                    folder => self.use_model(folder, &NoProgress),
                };
            }
            _ => {}
        }
        let (name, value) = (name.to_string(), value.to_string());
        self.write(move |tx| tx.set(&name, &value))
    }

    /// Whether it was opened to be read.
    pub fn is_read_only(&self) -> bool {
        self.inner.store.is_read_only()
    }

    /// The damage that was found in the list of free pages of `loci.redb`; the store is then read-only. Export it and
    /// import that into another folder, or restore it from a backup.
    pub fn damaged_free_pages(&self) -> Option<String> {
        self.inner.store.damaged_free_pages()
    }

    /// Index parts that could not be used when the database was opened: the background rebuilds them from rows. Until
    /// that is done ([`Stats::missing_chunks`](crate::Stats::missing_chunks), [`Database::rebuild`]) searches find
    /// the rest, and report it in [`Answer::partial`].
    pub fn damaged(&self) -> &[DamagedPart] {
        self.inner.store.damaged()
    }

    /// What is derived from the whole store and was missing when the database was opened, as it was damaged then or
    /// before: the background rebuilds it ([`Database::recover`]). Until then searches go without it, and report that
    /// in [`Answer::partial`].
    pub fn lost(&self) -> &[LostIndex] {
        self.inner.store.lost_indexes()
    }

    pub(crate) fn merge_error(&self) -> Option<String> {
        self.inner.merge_error.lock().clone()
    }

    pub(crate) fn rebuild_error(&self) -> Option<String> {
        self.inner.rebuild_error.lock().clone()
    }

    /// Waits until no merge of segments is due.
    pub fn wait_for_merges(&self) -> Result<(), Error> {
        self.maintenance.run_until_idle(&self.inner)
    }

    /// Waits for writers and closes. Snapshots that are still held stay readable, and the store stays
    /// locked until they are dropped.
    pub fn close(self) {}
}
