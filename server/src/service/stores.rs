//! The stores that a server hosts: one, or every one in a folder.
//!
//! A store is opened when it is first needed, in milliseconds, and closed again when it was not used for a while or too
//! many are open. Its keys are known from the start, and read again when their file changes.
//!
//! Always true: a [`Store`] is the store that was in its folder when it was found. Once that is removed or replaced, it
//! answers nothing more, its keys are invalid, and a store in its place is found as another one.
//!
//! Start reading at [`Stores`].

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use loci_protocol::call::Role;
use loci_protocol::fault::{Code, Fault};
use locidb::storage::{StoreError, write_server_note};
use locidb::{Database, Error, Options, Settings};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Semaphore;

use super::{
    Caller, ConcurrencyLimits, ParserFactory, StoreFolder, StoreLocation, StoreSemaphores, fault_of,
};
use crate::access::limits::KeyRateLimiter;
use crate::access::{AccessError, Key, KeyFile, KeyLimits, KeyRecord, Keys, NewKey, Stamp};

/// The file by whose identity a store is known again: created with the store, and never replaced.
const LOCK_NAME: &str = "LOCK";
/// How long a store that is being closed is waited for.
const CLOSING_WAIT: Duration = Duration::from_millis(500);
/// How long a store that could not be opened is not tried again.
const OPEN_RETRY_DELAY: Duration = Duration::from_secs(2);
const CLOSING_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How stores are hosted.
#[derive(Clone, Debug)]
pub(crate) struct StoresOptions {
    /// Stores that are open at a time at most.
    pub(crate) open_max: usize,
    /// How long a store stays open without a call.
    pub(crate) idle: Duration,
    /// Where backups go, where there are to be any.
    pub(crate) backups: Option<PathBuf>,
    /// Whether callers without a key may do everything.
    pub(crate) without_keys: bool,
    /// How much keys may ask that do not say it themselves.
    pub(crate) limits: KeyLimits,
    /// How many calls of each may be in flight.
    pub(crate) concurrency: ConcurrencyLimits,
    /// Parses the files that callers send.
    pub(crate) parser: ParserFactory,
}

impl Default for StoresOptions {
    fn default() -> Self {
        StoresOptions {
            open_max: 256,
            idle: Duration::from_secs(600),
            backups: None,
            without_keys: false,
            limits: KeyLimits::default(),
            concurrency: ConcurrencyLimits::default(),
            parser: ParserFactory::default(),
        }
    }
}

/// All stores of a server.
#[derive(Debug)]
pub(crate) struct Stores {
    location: StoreLocation,
    options: StoresOptions,
    index: RwLock<StoreIndex>,
    /// Held while keys are sorted by store.
    reindex_lock: Mutex<()>,
    /// How often keys were created or revoked.
    keys_changed: Arc<AtomicU64>,
    /// The server's addresses, once it listens.
    addresses: Arc<OnceLock<Vec<String>>>,
}

#[derive(Debug, Default)]
struct StoreIndex {
    /// How often keys had been created or revoked before they were sorted so.
    keys_changed: u64,
    by_name: BTreeMap<String, Arc<Store>>,
    /// Stores by the ids of their keys: several where a store's folder was copied with its keys.
    by_key: HashMap<String, Vec<Arc<Store>>>,
}

impl Stores {
    /// Finds the stores and reads their keys. None is opened yet.
    ///
    /// # Errors
    /// [`AccessError`] where keys cannot be read, or there is no such folder.
    pub(crate) fn new(
        location: StoreLocation,
        options: StoresOptions,
    ) -> Result<Stores, AccessError> {
        let stores = Stores {
            location,
            options,
            index: RwLock::default(),
            reindex_lock: Mutex::default(),
            keys_changed: Arc::default(),
            addresses: Arc::default(),
        };
        stores.refresh()?;
        Ok(stores)
    }

    /// Names the addresses of the server in the lock file of each store while it is open, for processes that do not get its
    /// lock.
    pub(crate) fn announce(&self, addresses: Vec<String>) {
        let _ = self.addresses.set(addresses);
        for store in self.all() {
            if store.database_if_open().is_some() {
                store.announce();
            }
        }
    }

    /// Finds stores that appeared or disappeared, and keys that changed; closes idle stores.
    ///
    /// # Errors
    /// [`AccessError`] for the first file of keys that cannot be read; the keys before it stay in force for that store.
    pub(crate) fn refresh(&self) -> Result<(), AccessError> {
        let folders = self.location.folders()?;
        let mut by_name = BTreeMap::new();
        let mut failed = None;
        for StoreFolder { name, folder } in folders {
            let known = self.index.read().by_name.get(&name).cloned();
            let known = known.filter(|store| store.is_current());
            let store = known.unwrap_or_else(|| Arc::new(Store::new(&name, folder, self)));
            if let Err(error) = store.read_keys() {
                tracing::error!(store = name, %error, "keys cannot be read");
                failed = failed.or(Some(error));
            }
            by_name.insert(name, store);
        }
        for gone in self.reindex(Some(by_name)) {
            gone.detach();
        }
        self.close_idle();
        failed.map_or(Ok(()), Err)
    }

    /// Sorts the keys of these stores, or of those that are known; the stores that are known no more.
    fn reindex(&self, by_name: Option<BTreeMap<String, Arc<Store>>>) -> Vec<Arc<Store>> {
        // An index from before a key was created must not replace one from after it.
        let _one = self.reindex_lock.lock();
        let keys_changed = self.keys_changed.load(Ordering::Acquire);
        let before = self.index.read().by_name.clone();
        let by_name = by_name.unwrap_or_else(|| before.clone());
        let mut by_key: HashMap<String, Vec<Arc<Store>>> = HashMap::new();
        for store in by_name.values() {
            let ids = store.keys();
            let ids = ids.records().iter().map(|record| record.id.clone());
            for id in ids {
                by_key.entry(id).or_default().push(Arc::clone(store));
            }
        }
        let stays = |store: &Arc<Store>| {
            let now = by_name.get(store.name());
            now.is_some_and(|now| Arc::ptr_eq(now, store))
        };
        let gone = before.into_values().filter(|store| !stays(store));
        let gone = gone.collect();
        *self.index.write() = StoreIndex {
            keys_changed,
            by_name,
            by_key,
        };
        gone
    }

    fn close_idle(&self) {
        for store in self.all() {
            store.close_if_idle(self.options.idle);
        }
        self.close_least_recently_used();
    }

    /// Whether there is one store, and never another.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.location, StoreLocation::Single(_))
    }

    /// Whether callers without a key may do everything.
    pub(crate) fn is_without_keys(&self) -> bool {
        self.options.without_keys
    }

    /// All stores, by name.
    pub(crate) fn all(&self) -> Vec<Arc<Store>> {
        self.index.read().by_name.values().cloned().collect()
    }

    /// Creates an admin key for every store without keys; names of the stores and the keys, which are shown only now.
    ///
    /// # Errors
    /// [`AccessError`] where a key cannot be stored.
    pub(crate) fn create_first_keys(&self) -> Result<Vec<(String, Key)>, AccessError> {
        let mut created = Vec::new();
        for store in self.all() {
            if self.options.without_keys || !store.keys().records().is_empty() {
                continue;
            }
            let new = || NewKey::new(Role::Admin, "created at the first start");
            let key = store.change_keys(|keys, now_ms| keys.add(new(), now_ms))?;
            created.push((store.name().to_owned(), key));
        }
        self.refresh()?;
        Ok(created)
    }

    /// Whether callers show a key.
    pub(crate) fn requires_keys(&self) -> bool {
        !self.options.without_keys
    }

    /// Who has this key, where it is one. `store`: the one that is meant, or empty for the key's own. A wrong key takes
    /// the same work as an unknown one.
    pub(crate) fn authenticate(&self, key: &str, store: &str) -> Option<Caller> {
        if key.is_empty() && self.options.without_keys {
            return self.local(store);
        }
        let key: Key = key.parse().ok()?;
        if self.index.read().keys_changed != self.keys_changed.load(Ordering::Acquire) {
            self.reindex(None);
        }
        let known = self.index.read().by_key.get(key.id()).cloned();
        let mut meant = known.unwrap_or_default();
        meant.retain(|of| store.is_empty() || store == of.name);
        if meant.len() > 1 {
            let stores: Vec<&str> = meant.iter().map(|of| of.name()).collect();
            tracing::warn!(
                ?stores,
                key = key.id(),
                "several stores have one key: callers must name theirs"
            );
        }
        let [of] = &meant[..] else {
            let _ = Keys::default().check(&key);
            return None;
        };
        let keys = of.keys.load();
        let record = keys.1.check(&key)?;
        Some(of.caller(record))
    }

    fn local(&self, store: &str) -> Option<Caller> {
        let known = self.index.read();
        let of = match store {
            "" => known
                .by_name
                .values()
                .next()
                .filter(|_| known.by_name.len() == 1),
            name => known.by_name.get(name),
        };
        let of = Arc::clone(of?);
        Some(Caller {
            store: of,
            role: Role::Admin,
            user: None,
            key: "local".into(),
            rate_limiter: None,
            call_bytes_max: None,
            trace: None,
        })
    }

    /// Closes every store that no call uses, and makes what the others acknowledged durable.
    pub(crate) fn close(&self) {
        for store in self.all() {
            store.close_if_idle(Duration::ZERO);
        }
    }

    /// Closes those that were not used for longest, where too many are open.
    fn close_least_recently_used(&self) {
        let mut open: Vec<(Instant, Arc<Store>)> = Vec::new();
        for store in self.all() {
            open.extend(store.last_use().map(|last| (last, store)));
        }
        open.sort_by_key(|(last, _)| *last);
        let over = open.len().saturating_sub(self.options.open_max);
        for (_, store) in open.iter().take(over) {
            store.close_if_idle(Duration::ZERO);
        }
    }
}

/// One store of a server.
#[derive(Debug)]
pub(crate) struct Store {
    name: String,
    folder: PathBuf,
    /// The identity of the store in the folder; set when its file is first seen.
    identity: OnceLock<FileIdentity>,
    /// Whether it was removed or replaced.
    is_detached: AtomicBool,
    backups: Option<PathBuf>,
    addresses: Arc<OnceLock<Vec<String>>>,
    limits: KeyLimits,
    key_file: KeyFile,
    keys: ArcSwap<(Option<Stamp>, Keys)>,
    /// Held while the file of keys is read.
    reading_keys: Mutex<()>,
    keys_changed: Arc<AtomicU64>,
    rate_limiters: Mutex<HashMap<String, (KeyLimits, Option<Arc<KeyRateLimiter>>)>>,
    slot: Mutex<Slot>,
    semaphores: StoreSemaphores,
    parser: ParserFactory,
    /// Held by the transaction of a client that is open, or waits for the writer.
    transaction_turn: Arc<Semaphore>,
    /// The settings, as of a generation.
    settings: ArcSwap<Option<(u64, Settings)>>,
}

/// Distinguishes a file from one that replaces it under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    number: u64,
    /// Numbers of files are reused.
    created: Option<SystemTime>,
}

impl FileIdentity {
    /// That of the store in `folder`; `None` where there is none, or one that was never opened.
    fn from_folder(folder: &Path) -> Option<FileIdentity> {
        let metadata = fs::metadata(folder.join(LOCK_NAME)).ok()?;
        Some(FileIdentity {
            device: metadata.dev(),
            number: metadata.ino(),
            created: metadata.created().ok(),
        })
    }
}

/// A store's database: held while it is open, and known while somebody still uses it.
#[derive(Default)]
struct Slot {
    open: Option<Arc<Database>>,
    in_use: Weak<Database>,
    last_used: Option<Instant>,
    /// Why it could not be opened, and when.
    failed: Option<(Instant, Fault)>,
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot")
            .field("open", &self.open.is_some())
            .finish_non_exhaustive()
    }
}

impl Store {
    fn new(name: &str, folder: PathBuf, of: &Stores) -> Store {
        let options = &of.options;
        Store {
            keys_changed: Arc::clone(&of.keys_changed),
            name: name.to_owned(),
            key_file: KeyFile::in_folder(&folder),
            identity: FileIdentity::from_folder(&folder).map_or_else(OnceLock::new, OnceLock::from),
            is_detached: AtomicBool::new(false),
            folder,
            backups: options.backups.clone(),
            addresses: Arc::clone(&of.addresses),
            limits: options.limits,
            keys: ArcSwap::default(),
            reading_keys: Mutex::default(),
            rate_limiters: Mutex::default(),
            slot: Mutex::default(),
            semaphores: StoreSemaphores::new(options.concurrency),
            parser: options.parser.clone(),
            transaction_turn: Arc::new(Semaphore::new(1)),
            settings: ArcSwap::default(),
        }
    }

    /// Its name: that of its folder.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Permits for its calls.
    pub(crate) fn semaphores(&self) -> &StoreSemaphores {
        &self.semaphores
    }

    /// Parses the files that its callers send.
    pub(crate) fn parser(&self) -> &ParserFactory {
        &self.parser
    }

    /// Whose turn it is to have a transaction: one client's at a time, in the order of their calls.
    pub(crate) fn transaction_turn(&self) -> &Arc<Semaphore> {
        &self.transaction_turn
    }

    /// Where its backups go.
    pub(crate) fn backups(&self) -> Option<&Path> {
        self.backups.as_deref()
    }

    /// Whether it is still the store in its folder. Costs a stat of one file.
    fn is_current(&self) -> bool {
        let found = FileIdentity::from_folder(&self.folder);
        let known = match found {
            Some(found) => Some(*self.identity.get_or_init(|| found)),
            None => self.identity.get().copied(),
        };
        found == known && !self.is_detached.load(Ordering::Relaxed)
    }

    /// Refuses a call that would reach another store.
    fn check_current(&self) -> Result<(), Fault> {
        if self.is_current() {
            return Ok(());
        }
        let why = "the store was removed, or another is in its place: use a key of that store";
        Err(Fault::new(Code::Unavailable, why).with_retry_after(1_000))
    }

    /// Releases its keys and its database.
    fn detach(&self) {
        self.is_detached.store(true, Ordering::Relaxed);
        self.keys.store(Arc::default());
        let database = self.slot.lock().open.take();
        drop(database);
    }

    /// Its keys.
    pub(crate) fn keys(&self) -> Keys {
        self.keys.load().1.clone()
    }

    fn read_keys(&self) -> Result<(), AccessError> {
        // Keys from before a change must not replace those from after it.
        let _one = self.reading_keys.lock();
        let stamp = self.key_file.stamp();
        if stamp.is_some() && self.keys.load().0 == stamp {
            return Ok(());
        }
        let keys = self.key_file.read()?;
        self.keys.store(Arc::new((stamp, keys)));
        self.keys_changed.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Changes its keys, durably.
    ///
    /// # Errors
    /// Those of `change`, and where the file cannot be written.
    pub(crate) fn change_keys<R>(
        &self,
        change: impl FnOnce(&mut Keys, u64) -> Result<R, AccessError>,
    ) -> Result<R, AccessError> {
        if !self.is_current() {
            return Err(AccessError::Gone);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.map_or(0, |now| now.as_millis() as u64);
        let output = self.key_file.change(|keys| change(keys, now_ms))?;
        self.read_keys()?;
        Ok(output)
    }

    fn caller(self: &Arc<Store>, record: &KeyRecord) -> Caller {
        let limits = KeyLimits {
            calls_per_second: record
                .limits
                .calls_per_second
                .or(self.limits.calls_per_second),
            burst: record.limits.burst.or(self.limits.burst),
            call_bytes_max: record.limits.call_bytes_max.or(self.limits.call_bytes_max),
        };
        Caller {
            store: Arc::clone(self),
            role: record.role,
            user: record.user.clone(),
            key: record.id.clone(),
            rate_limiter: self.rate_limiter(&record.id, limits),
            call_bytes_max: limits.call_bytes_max,
            trace: None,
        }
    }

    /// The pace of a key, which all its connections share.
    fn rate_limiter(&self, id: &str, limits: KeyLimits) -> Option<Arc<KeyRateLimiter>> {
        let mut limiters = self.rate_limiters.lock();
        if let Some((known, pace)) = limiters.get(id)
            && *known == limits
        {
            return pace.clone();
        }
        let pace = KeyRateLimiter::new(limits.calls_per_second, limits.burst).map(Arc::new);
        limiters.insert(id.to_owned(), (limits, pace.clone()));
        pace
    }

    /// Whether a key that was right still is.
    pub(crate) fn is_key_valid(&self, id: &str) -> bool {
        let is_gone = self.is_detached.load(Ordering::Relaxed);
        (id == "local" && !is_gone) || self.keys.load().1.records().iter().any(|of| of.id == id)
    }

    /// Its database, opened where it is not.
    ///
    /// # Errors
    /// [`Code::Unavailable`] when it cannot be opened, or is not there any more.
    pub(crate) fn database(&self) -> Result<Arc<Database>, Fault> {
        self.check_current()?;
        let mut slot = self.slot.lock();
        slot.last_used = Some(Instant::now());
        if let Some(database) = slot.open.clone().or_else(|| slot.in_use.upgrade()) {
            slot.open = Some(Arc::clone(&database));
            return Ok(database);
        }
        if let Some((when, fault)) = &slot.failed
            && when.elapsed() < OPEN_RETRY_DELAY
        {
            return Err(fault.clone());
        }
        // A store that replaced it meanwhile may have been opened.
        let opened = self.open().and_then(|database| {
            self.check_current()?;
            Ok(database)
        });
        let database = match opened {
            Ok(database) => Arc::new(database),
            Err(fault) => {
                slot.failed = Some((Instant::now(), fault.clone()));
                return Err(fault);
            }
        };
        slot.failed = None;
        slot.in_use = Arc::downgrade(&database);
        slot.open = Some(Arc::clone(&database));
        Ok(database)
    }

    /// Opens it. A former user may still be closing it.
    fn open(&self) -> Result<Database, Fault> {
        let options = Options {
            create: false,
            ..Options::default()
        };
        let until = Instant::now() + CLOSING_WAIT;
        loop {
            match Database::open_with(&self.folder, &options) {
                Err(Error::Store(StoreError::Locked { .. })) if Instant::now() < until => {
                    thread::sleep(CLOSING_POLL_INTERVAL);
                }
                opened => {
                    let database = opened.map_err(fault_of)?;
                    self.warn_of_damage(&database);
                    self.announce();
                    return Ok(database);
                }
            }
        }
    }

    /// Writes the server's addresses into the lock file, which is for the messages of other processes alone.
    fn announce(&self) {
        if let Some(addresses) = self.addresses.get()
            && let Err(error) = write_server_note(&self.folder, addresses)
        {
            let store = &self.name[..];
            tracing::warn!(store, %error, "the server's addresses are not in the lock file");
        }
    }

    /// Logs what was damaged in it: the background builds it again.
    fn warn_of_damage(&self, database: &Database) {
        let store = &self.name[..];
        for damaged in database.damaged() {
            if let Some(segment) = damaged.segment {
                let (segment, error) = (segment.0, &damaged.error);
                tracing::warn!(store, segment, %error, "a segment is damaged and is built again from rows");
            }
        }
        for lost in database.lost() {
            let (what, error) = (lost.index.name(), &lost.why);
            tracing::warn!(
                store,
                what,
                error,
                "it is damaged and is built anew: until then searches go without it"
            );
        }
    }

    /// Its database where it is open; to look at it so is no use of it.
    pub(crate) fn database_if_open(&self) -> Option<Arc<Database>> {
        self.slot.try_lock()?.open.clone()
    }

    fn last_use(&self) -> Option<Instant> {
        // One that is being opened is in use.
        let slot = self.slot.try_lock()?;
        slot.last_used.filter(|_| slot.open.is_some())
    }

    /// Closes its database after so long without a call; calls in flight keep it open.
    fn close_if_idle(&self, idle: Duration) {
        let Some(mut slot) = self.slot.try_lock() else {
            return;
        };
        if slot.last_used.is_some_and(|last| last.elapsed() >= idle) {
            let database = slot.open.take();
            drop(slot);
            drop(database);
        }
    }

    /// Its settings. Costs a look at the generation, and after a commit a read of them.
    ///
    /// # Errors
    /// As [`Store::database`].
    pub(crate) fn settings(&self) -> Result<Settings, Fault> {
        let database = self.database()?;
        let generation = database.snapshot().snapshot().generation();
        if let Some((of, settings)) = &**self.settings.load()
            && *of == generation
        {
            return Ok(settings.clone());
        }
        let settings = database.settings().map_err(fault_of)?;
        self.settings
            .store(Arc::new(Some((generation, settings.clone()))));
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::super::store_location::DATABASE_NAME;
    use super::*;

    fn make(folder: &Path) {
        Database::open(folder).unwrap().close();
    }

    /// Removes what is in a folder, and leaves the folder.
    fn clear(folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let removed = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.unwrap();
        }
    }

    #[test]
    fn idle_store_is_closed_and_can_be_reopened_while_closing() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        let location = StoreLocation::Single(folder.path().to_path_buf());
        let options = StoresOptions {
            idle: Duration::ZERO,
            ..StoresOptions::default()
        };
        let stores = Stores::new(location, options).unwrap();
        let store = stores.all().remove(0);
        let used = store.database().unwrap();
        stores.refresh().unwrap();
        assert!(store.last_use().is_none());
        // Whoever has it still has it, and it is the same one for the next.
        assert!(Arc::ptr_eq(&used, &store.database().unwrap()));
        stores.refresh().unwrap();
        let view = used.snapshot();
        drop(used);
        // A view keeps the store locked for a moment longer.
        let waiter = thread::spawn(move || store.database().map(drop));
        thread::sleep(Duration::from_millis(50));
        drop(view);
        waiter.join().unwrap().unwrap();
    }

    #[test]
    fn new_key_is_valid_immediately_during_a_refresh() {
        let root = tempfile::tempdir().unwrap();
        for n in 0..20 {
            let folder = root.path().join(format!("s{n}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(DATABASE_NAME), "").unwrap();
        }
        let location = StoreLocation::Root(root.path().to_path_buf());
        let stores = Stores::new(location, StoresOptions::default()).unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    stores.refresh().unwrap();
                }
            });
            let store = stores.all().remove(0);
            let new = || NewKey::new(Role::Read, "");
            let refused = (0..100).filter(|_| {
                let key = store.change_keys(|keys, now_ms| keys.add(new(), now_ms));
                stores.authenticate(&key.unwrap().to_string(), "").is_none()
            });
            let refused = refused.count();
            over.store(true, Ordering::Relaxed);
            assert_eq!(refused, 0);
        });
    }

    #[test]
    fn store_that_replaces_another_folder_gets_a_new_identity() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a");
        let put = |setting: &str| {
            let database = Database::open(&folder).unwrap();
            database.set("language", setting).unwrap();
            database.close();
        };
        put("en");
        let location = StoreLocation::Root(root.path().to_path_buf());
        let stores = Stores::new(location, StoresOptions::default()).unwrap();
        let (_, first) = stores.create_first_keys().unwrap().remove(0);
        let before = stores.authenticate(&first.to_string(), "").unwrap();
        assert_eq!(before.store.settings().unwrap().language, "en");
        for replaced in ["the folder", "the files in it"] {
            let stale = stores.all().remove(0);
            match replaced {
                "the folder" => fs::remove_dir_all(&folder).unwrap(),
                _ => clear(&folder),
            }
            put("de");
            // Before it is noticed, nothing is answered and nothing changed.
            let opened = stale.database().map(drop);
            assert_eq!(opened.unwrap_err().code, Code::Unavailable);
            let added =
                stale.change_keys(|keys, now_ms| keys.add(NewKey::new(Role::Read, ""), now_ms));
            assert!(matches!(added, Err(AccessError::Gone)), "{replaced}");
            stores.refresh().unwrap();
            assert!(!stale.is_key_valid(first.id()), "{replaced}");
            assert!(
                stores.authenticate(&first.to_string(), "a").is_none(),
                "{replaced}"
            );
            let (_, next) = stores.create_first_keys().unwrap().remove(0);
            let after = stores.authenticate(&next.to_string(), "").unwrap();
            assert_eq!(after.store.settings().unwrap().language, "de", "{replaced}");
        }
    }

    #[test]
    fn removed_store_is_detached_and_moved_store_gets_its_new_name() {
        let root = tempfile::tempdir().unwrap();
        make(&root.path().join("a"));
        let location = StoreLocation::Root(root.path().to_path_buf());
        let stores = Stores::new(location, StoresOptions::default()).unwrap();
        let (_, key) = stores.create_first_keys().unwrap().remove(0);
        let stale = stores.all().remove(0);
        drop(stale.database().unwrap());
        fs::rename(root.path().join("a"), root.path().join("b")).unwrap();
        stores.refresh().unwrap();
        assert!(!stale.is_key_valid(key.id()) && stale.database().is_err());
        let caller = stores.authenticate(&key.to_string(), "").unwrap();
        assert_eq!(caller.store.name(), "b");
        drop(caller.store.database().unwrap());
        fs::remove_dir_all(root.path().join("b")).unwrap();
        stores.refresh().unwrap();
        assert!(stores.all().is_empty() && stores.authenticate(&key.to_string(), "").is_none());
    }

    #[test]
    fn least_recently_used_stores_are_closed_over_the_limit() {
        let root = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            make(&root.path().join(name));
        }
        fs::create_dir(root.path().join("no store")).unwrap();
        let options = StoresOptions {
            open_max: 2,
            ..StoresOptions::default()
        };
        let stores = Stores::new(StoreLocation::Root(root.path().to_path_buf()), options).unwrap();
        let all = stores.all();
        assert_eq!(all.len(), 3);
        for store in [&all[1], &all[0], &all[2]] {
            drop(store.database().unwrap());
        }
        stores.refresh().unwrap();
        let open: Vec<bool> = all.iter().map(|store| store.last_use().is_some()).collect();
        assert_eq!(open, [true, false, true]);
        make(&root.path().join("d"));
        stores.refresh().unwrap();
        assert_eq!(stores.all().len(), 4, "a store that comes is found");
        assert!(
            Arc::ptr_eq(&stores.all()[0], &all[0]),
            "the others stay as they were"
        );
    }

    #[test]
    fn key_is_valid_from_creation_until_revocation() {
        let root = tempfile::tempdir().unwrap();
        make(&root.path().join("a"));
        make(&root.path().join("b"));
        let location = StoreLocation::Root(root.path().to_path_buf());
        let stores = Stores::new(location, StoresOptions::default()).unwrap();
        let first = stores.create_first_keys().unwrap();
        assert_eq!(first.len(), 2);
        assert!(stores.create_first_keys().unwrap().is_empty());
        let store = stores.all().remove(1);
        let new = NewKey {
            limits: KeyLimits {
                calls_per_second: Some(1),
                ..KeyLimits::default()
            },
            ..NewKey::new(Role::Read, "")
        };
        let key = store
            .change_keys(|keys, now_ms| keys.add(new.clone(), now_ms))
            .unwrap();
        let text = key.to_string();
        let caller = stores.authenticate(&text, "").unwrap();
        assert_eq!((caller.store.name(), caller.role), ("b", Role::Read));
        assert!(stores.authenticate(&text, "b").is_some());
        assert!(stores.authenticate(&text, "a").is_none());
        assert!(stores.authenticate(&text, "c").is_none());
        assert!(stores.authenticate("", "b").is_none());
        // Connections of one key share its pace.
        let other = stores.authenticate(&text, "").unwrap();
        caller.rate_limiter.as_ref().unwrap().check().unwrap();
        assert!(other.rate_limiter.unwrap().check().is_err());
        store
            .change_keys(|keys, _| Ok(keys.revoke(key.id())))
            .unwrap();
        assert!(stores.authenticate(&text, "").is_none());
        assert!(!store.is_key_valid(key.id()));
    }
}
