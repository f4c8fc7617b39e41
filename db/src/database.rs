//! The handle that applications hold: open, write, search, close.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loci_models::{Embedder, Generator, Tokenizer};
use loci_query::{Answer, SearchRequest, Searcher};
use loci_storage::segment::PartError;
use loci_storage::snapshot::DamagedPart;
use loci_storage::staging::{ManifestEdit, Staging};
use loci_storage::{DerivedIndex, Disk, Durability, LostIndex, Store, StoreError, StoreOptions};

use crate::error::Error;
use crate::external_model::ExternalModel;
use crate::local_model;
use crate::maintenance::Maintenance;
use crate::progress::{NoProgress, Progress};
use crate::recovery::mark_recovered;
use crate::settings::{EmbedderChoice, Settings};
use crate::snapshot::{DatabaseSnapshot, SnapshotFactory};
use crate::space;
use crate::switch::{self, Target};
use crate::transaction::WriteTransaction;

/// How to open a database.
#[derive(Clone)]
pub struct Options {
    /// Whether a store is made where there is none.
    pub create: bool,
    /// Bytes of rows that may be kept cached.
    pub cache_bytes: usize,
    /// Where its files lie: the file system, unless told otherwise.
    pub disk: Arc<dyn Disk>,
    /// Bytes of an index part that may lie in the database's file; a larger one gets a file of its own,
    /// which costs two more syncs.
    pub inline_len_max: usize,
    /// Whether the store is only read: nothing on disk is changed, so it may lie where nothing can be, several processes
    /// may read it at a time, and writes are refused. What opening it has to put right is put right in memory.
    pub read_only: bool,
    /// The model that the store was switched to by [`Database::switch_embedder`], if it was: it
    /// embeds questions, and new text when [`Database::finish`] is called.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// What writes the answers of [`Database::ask`]; without one they are made of sentences of the documents.
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
    // Stopped before the store is: it writes to it.
    maintenance: Maintenance,
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Store<SnapshotFactory>,
    pub(crate) searcher: Searcher,
    /// What writes answers.
    pub(crate) generator: Option<Arc<dyn Generator>>,
    /// Held by whoever merges segments, so that one merge is made at a time.
    pub(crate) merge_lock: parking_lot::Mutex<()>,
    /// Held by whoever changes the vector space.
    pub(crate) switch_lock: parking_lot::Mutex<()>,
    /// Held by whoever builds again what was damaged.
    pub(crate) rebuild_lock: parking_lot::Mutex<()>,
    /// Whether the database is being closed: work in the background gives up.
    pub(crate) stop: AtomicBool,
    /// Texts that models from outside embedded.
    pub(crate) embedded_texts: AtomicU64,
    /// Why the last merge in the background failed.
    pub(crate) merge_error: parking_lot::Mutex<Option<String>>,
    /// Why what was damaged could not all be built again.
    pub(crate) rebuild_error: parking_lot::Mutex<Option<String>>,
}

/// Notices that files of a store lose pages while they are read.
#[derive(Clone, Copy, Debug)]
pub struct PageWatch {
    lost_pages: u64,
}

impl Inner {
    /// What `read` returns of `view`, unless pages of the view's files vanished until it returned: then whatever it read
    /// may be zeros that nobody wrote.
    pub(crate) fn with_page_check<R>(
        &self,
        view: &DatabaseSnapshot,
        read: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        let result = catch_unwind(AssertUnwindSafe(read));
        view.snapshot().check_pages()?;
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// From now on, every file that loses pages is noticed.
    ///
    /// # Errors
    /// Where the newest view has one that has lost some.
    pub(crate) fn watch(&self) -> Result<PageWatch, Error> {
        let lost_pages = self.store.lost_pages();
        self.store.latest_snapshot().snapshot().check_pages()?;
        Ok(PageWatch { lost_pages })
    }

    /// An error where a file lost pages since [`Inner::watch`].
    pub(crate) fn check_watch(&self, watch: PageWatch) -> Result<(), Error> {
        // A cut within a page, which no fault tells of, is noticed here.
        self.store.latest_snapshot().snapshot().check_pages()?;
        if self.store.lost_pages() == watch.lost_pages {
            Ok(())
        } else {
            Err(lost_pages())
        }
    }

    pub(crate) fn edit(&self, edits: Vec<ManifestEdit>) -> Result<(), Error> {
        let edited = self.store.edit(move |staging| {
            edits.into_iter().for_each(|edit| staging.edit(edit));
            Ok(())
        });
        edited.map_err(Error::from_store_error)
    }
}

/// Some file lost pages, and may have been given up already.
fn lost_pages() -> Error {
    let name = "of a segment".to_owned();
    let source = PartError::LostPages;
    StoreError::Part { name, source }.into()
}

impl Database {
    /// Opens the database in `folder`, and makes it where there is none.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Locked`] at once when another process has it open.
    pub fn open(folder: impl AsRef<Path>) -> Result<Database, Error> {
        Self::open_with(folder, &Options::default())
    }

    /// Opens the database in `folder` as `options` say.
    ///
    /// # Errors
    /// As [`Database::open`]; [`loci_storage::StoreError::Missing`] where there is none and none may be made.
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
        let inner = Arc::new(Inner {
            store,
            searcher,
            generator,
            merge_lock: parking_lot::Mutex::new(()),
            switch_lock: parking_lot::Mutex::new(()),
            rebuild_lock: parking_lot::Mutex::new(()),
            stop: AtomicBool::new(false),
            embedded_texts: AtomicU64::new(0),
            merge_error: parking_lot::Mutex::new(None),
            rebuild_error: parking_lot::Mutex::new(None),
        });
        let maintenance = Maintenance::start(&inner)?;
        Ok(Database { inner, maintenance })
    }

    /// Runs `work` in the committing thread. When this returns `Ok`, its changes are durable and
    /// every later search sees them, whole; on an error they are dropped.
    ///
    /// `work` must not write to the database by another way than its transaction: that is refused.
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
        let result = self
            .inner
            .store
            .write_with(durability, move |staging| {
                Ok(WriteTransaction::run(staging, work)?)
            })
            .map_err(Error::from_store_error);
        self.maintenance.wake();
        result
    }

    /// As [`Database::write`], in a commit of its own: for work that waits for something while it runs. Who writes
    /// meanwhile waits for its end, but shares neither its commit nor its fate.
    ///
    /// # Errors
    /// As [`Database::write`].
    pub fn write_alone<R, F>(&self, work: F) -> Result<R, Error>
    where
        R: Send + 'static,
        F: FnOnce(&mut WriteTransaction<'_, '_>) -> Result<R, Error> + Send + 'static,
    {
        let run = move |staging: &mut Staging<'_>| Ok(WriteTransaction::run(staging, work)?);
        let result = self.inner.store.edit(run).map_err(Error::from_store_error);
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

    /// As [`Inner::over`]; what lost pages is given up in the background, and built again.
    pub(crate) fn with_page_check<R>(
        &self,
        view: &DatabaseSnapshot,
        read: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        let result = self.inner.with_page_check(view, read);
        if result.as_ref().is_err_and(Error::is_lost_pages) {
            self.maintenance.wake();
        }
        result
    }

    /// Begins to notice when files of the store are cut, or their disk fails, while they are read: for whoever reads a
    /// [`View`] otherwise than by [`Database::search_in`]. Hand what is returned to [`Database::check_pages`] before what
    /// was read is used.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Part`] where that has happened, until the background has given up what is damaged.
    pub fn watch_pages(&self) -> Result<PageWatch, Error> {
        let watch = self.inner.watch();
        if watch.is_err() {
            self.maintenance.wake();
        }
        watch
    }

    /// An error when a file of the store lost pages since `watch` began: what was read meanwhile is to be thrown away.
    ///
    /// # Errors
    /// [`loci_storage::StoreError::Part`].
    pub fn check_pages(&self, watch: PageWatch) -> Result<(), Error> {
        let checked = self.inner.check_watch(watch);
        if checked.is_err() {
            self.maintenance.wake();
        }
        checked
    }

    /// The newest committed state. Holding it pins what it needs on disk.
    pub fn snapshot(&self) -> Arc<DatabaseSnapshot> {
        self.inner.store.latest_snapshot()
    }

    /// Brings derived data up to date after writing: fits the built-in embedder when there is none
    /// yet or the corpus has doubled, calibrates the arms, merges what was written lately into few segments, ranks
    /// concepts and finds their communities.
    ///
    /// Searches go on with what they have until each is switched.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; the next call goes on from there.
    pub fn finish(&self, progress: &dyn Progress) -> Result<(), Error> {
        self.rebuild(progress)?;
        let _turn = self.inner.switch_lock.lock();
        let view = self.snapshot();
        if let Some(folder) = local_model::folder_to_switch_to(&view) {
            self.switch_to_folder(folder, progress)?;
        } else if let Some(external) = &view.external_model {
            switch::embed_missing(&self.inner, external, progress)?;
        } else if space::needs_fit(&view)? {
            switch::switch(&self.inner, &Target::Builtin, progress)?;
        }
        crate::compact::merge_recent(&self.inner, progress)?;
        mark_recovered(&self.inner, DerivedIndex::Projection)?;
        self.maintenance.wake();
        crate::analysis::update(&self.inner, progress)?;
        mark_recovered(&self.inner, DerivedIndex::Analysis)
    }

    /// Fits the built-in embedder anew, whether it is due or not, calibrates the arms, and switches
    /// to what was fitted, from whatever space there was. Searches and writes go on meanwhile. A refit that was interrupted, by a crash
    /// too, is taken up where it was.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so.
    pub fn refit(&self, progress: &dyn Progress) -> Result<(), Error> {
        self.rebuild(progress)?;
        let _turn = self.inner.switch_lock.lock();
        switch::switch(&self.inner, &Target::Builtin, progress)?;
        self.maintenance.wake();
        Ok(())
    }

    /// Switches to a model from outside: embeds all text that is to be embedded, measures the arms'
    /// shares, and then, in one commit, lets searches use the new vectors. Searches and writes go on
    /// meanwhile with what there is. A switch that was interrupted, by a crash too, is taken up where
    /// it was by calling this again.
    ///
    /// Hand the model to [`Options::embedder`] when the store is opened the next time.
    ///
    /// # Errors
    /// [`Error::Embed`] when the model fails; what it has embedded is kept for the next call.
    /// [`Error::Interrupted`] when `progress` says so.
    pub fn switch_embedder(
        &self,
        embedder: Arc<dyn Embedder>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        self.rebuild(progress)?;
        let _turn = self.inner.switch_lock.lock();
        self.inner.store.index_factory().models.add(&embedder);
        let target = Target::External {
            model: ExternalModel::new(embedder),
            folder: None,
        };
        switch::switch(&self.inner, &target, progress)?;
        self.maintenance.wake();
        Ok(())
    }

    /// Switches to the model in a folder, as [`Database::switch_embedder`] does, and keeps the folder in the setting
    /// `model`: from then on the store finds its model by itself, also when it is opened the next time. Where the
    /// store's vectors are of the same model already, text without one gets one, and the folder is noted.
    ///
    /// The folder holds `model.onnx` and `tokenizer.json`; programs are built with the feature `minilm`.
    ///
    /// # Errors
    /// As [`Database::switch_embedder`]; [`Error::Embed`] where the folder holds no model that embeds as it should.
    pub fn use_model(
        &self,
        folder: impl AsRef<Path>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let folder = folder.as_ref();
        let embed_error =
            |why: &dyn fmt::Display| Error::Embed(format!("{}: {why}", folder.display()));
        let folder = std::fs::canonicalize(folder).map_err(|error| embed_error(&error))?;
        let folder = folder
            .to_str()
            .ok_or_else(|| embed_error(&"its name is not UTF-8"))?;
        self.rebuild(progress)?;
        let _turn = self.inner.switch_lock.lock();
        self.switch_to_folder(folder.to_owned(), progress)
    }

    /// The caller holds `switching`.
    fn switch_to_folder(&self, folder: String, progress: &dyn Progress) -> Result<(), Error> {
        let model = local_model::open(Path::new(&folder))?;
        self.inner.store.index_factory().models.add(&model);
        let model = ExternalModel::new(model);
        let view = self.snapshot();
        let space = view.snapshot().active_space();
        if space.is_some_and(|space| model.matches_space(&space.record)) {
            switch::set_model_folder(&self.inner, folder)?;
            switch::embed_missing(&self.inner, &model, progress)?;
        } else {
            let folder = Some(folder);
            switch::switch(&self.inner, &Target::External { model, folder }, progress)?;
        }
        self.maintenance.wake();
        Ok(())
    }

    /// Makes a vector space for vectors that the caller brings, and switches to it.
    ///
    /// `model`: its name, for the record. `dim`: 1 to 8,192. A store that is in that space already
    /// stays in it.
    pub fn use_provided_vectors(&self, model: &str, dim: usize) -> Result<(), Error> {
        let _turn = self.inner.switch_lock.lock();
        space::use_provided_vectors(&self.inner, model, dim)?;
        self.maintenance.wake();
        Ok(())
    }

    /// Texts of the store that models from outside embedded since it was opened, whoever asked for it; those few that came
    /// while a switch was being committed are not counted.
    pub fn embedded_texts(&self) -> u64 {
        self.inner.embedded_texts.load(Ordering::Relaxed)
    }

    /// Chooses the store's own embedder. The space of another one is given up at once, and the built-in one is fitted by
    /// the next [`Database::finish`]; [`Database::refit`] fits it first and then switches.
    ///
    /// # Errors
    /// [`Error::Setting`] for [`EmbedderChoice::Folder`] where the settings name no folder: [`Database::use_model`] does.
    pub fn use_embedder(&self, choice: EmbedderChoice) -> Result<(), Error> {
        let _turn = self.inner.switch_lock.lock();
        space::set_embedder(&self.inner, choice)?;
        self.maintenance.wake();
        Ok(())
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

    /// What is wrong where `loci.redb` lists its free pages, as far as anybody looked: then the store is only read. Export
    /// it and import that into another folder, or restore it from a backup.
    pub fn damaged_free_pages(&self) -> Option<String> {
        self.inner.store.damaged_free_pages()
    }

    /// Views that could not be used when the database was opened: they are built again from rows in the background.
    /// Until that is done ([`Stats::missing_chunks`](crate::Stats::missing_chunks), [`Database::rebuild`]) searches find
    /// the rest, and say so in [`Answer::partial`].
    pub fn damaged(&self) -> &[DamagedPart] {
        self.inner.store.damaged()
    }

    /// What is derived from the whole store and was missing when the database was opened, as it was damaged then or
    /// before: the background builds it anew ([`Database::recover`]). Until then searches go without it, and say so in
    /// [`Answer::partial`].
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

    /// Waits for writers and closes. Views that are still held stay readable, and keep the store
    /// locked until they are dropped.
    pub fn close(self) {}
}
