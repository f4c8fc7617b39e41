//! A disk in memory that knows what a power failure could leave of it.
//!
//! It keeps apart what programs see and what is durable:
//!
//! | | seen after | durable after |
//! | --- | --- | --- |
//! | bytes and length of a file | the write | [`RandomFile::sync`] or [`NewFile::sync`] of that file |
//! | a name, made, given or removed | the call | [`Disk::sync_folder`] of the folder that holds it |
//!
//! Invariant: an image shares nothing with the disk that it was taken of, so both go on by
//! themselves; pages are copied on write, so an image costs little.
//!
//! Start reading at [`SimDisk::crash_image`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use locidb::storage::disk::{Disk, FileLock, NewFile, RandomAccessFile};
use locidb::storage::segment::PartBytes;
use parking_lot::Mutex;

use crate::content::{Change, Content, SECTOR_LEN};
use crate::source::Source;

/// A disk in memory. Clones are handles to one disk.
#[derive(Clone, Default)]
pub struct SimDisk {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    hook: Mutex<Option<Hook>>,
}

/// Called before each operation that changes the disk or makes something durable.
pub type Hook = Arc<dyn Fn(&SimDisk, &Operation) + Send + Sync>;

/// An operation that is about to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its number, from 0, among those of this disk.
    pub number: u64,
    /// What it does.
    pub kind: OperationKind,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// Makes a folder.
    CreateFolder,
    /// Makes the names in a folder durable.
    SyncFolder,
    /// Makes a file.
    Create,
    /// Writes bytes.
    Write,
    /// Cuts or lengthens a file.
    SetLen,
    /// Makes a file's bytes durable.
    Sync,
    /// Gives a file another name.
    Rename,
    /// Forgets a name.
    Remove,
}

#[derive(Clone, Default)]
struct State {
    folders: BTreeMap<PathBuf, Folder>,
    files: BTreeMap<u64, Inode>,
    next: u64,
    locked: BTreeSet<PathBuf>,
    operations: u64,
}

/// The names in a folder: as they are seen, as they are durable, and what lies between.
#[derive(Clone, Debug, Default)]
struct Folder {
    seen: Names,
    durable: Names,
    unsynced: Vec<NameChange>,
}

type Names = BTreeMap<String, Node>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    File(u64),
    Folder,
}

#[derive(Clone, Debug)]
enum NameChange {
    Add(String, Node),
    Remove(String),
    Rename(String, String, Node),
}

/// A file: as it is seen, as it is durable, and the changes that are not.
#[derive(Clone, Debug, Default)]
struct Inode {
    seen: Content,
    durable: Content,
    unsynced: Vec<Change>,
    /// Whether a failed sync left bytes that are seen and never become durable.
    tainted: bool,
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        match self {
            NameChange::Add(name, node) => {
                names.insert(name.clone(), *node);
            }
            NameChange::Remove(name) => {
                names.remove(name);
            }
            NameChange::Rename(from, to, node) => {
                if names.get(from) == Some(node) {
                    names.remove(from);
                }
                names.insert(to.clone(), *node);
            }
        }
    }
}

impl Inode {
    fn change(&mut self, change: Change) {
        self.seen.apply(&change);
        self.unsynced.push(change);
    }

    fn sync(&mut self) {
        if self.tainted {
            for change in self.unsynced.drain(..) {
                self.durable.apply(&change);
            }
        } else {
            self.unsynced.clear();
            self.durable = self.seen.clone();
        }
    }

    /// What a failed sync does: the changes will never be durable, seen or not.
    fn lose_unsynced(&mut self, keep_seen: bool) {
        self.unsynced.clear();
        self.tainted = keep_seen;
        if !keep_seen {
            self.seen = self.durable.clone();
        }
    }

    fn settled(content: Content) -> Inode {
        Inode {
            seen: content.clone(),
            durable: content,
            ..Inode::default()
        }
    }
}

impl SimDisk {
    /// An empty disk with one folder, `/`.
    pub fn new() -> SimDisk {
        let disk = SimDisk::default();
        disk.shared
            .state
            .lock()
            .folders
            .insert("/".into(), Folder::default());
        disk
    }

    /// Calls `hook` before each operation from now on; `None` removes it. It runs in the thread
    /// that operates, and may take images.
    pub fn set_hook(&self, hook: Option<Hook>) {
        *self.shared.hook.lock() = hook;
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.shared.state.lock().operations
    }

    /// A disk as a power failure at this instant could leave it: of what is not durable, anything may be
    /// kept or lost.
    ///
    /// Each 512-byte sector of a file is as it was after some write since the last sync, or at the
    /// sync itself; writes may reach the disk in any order and torn. Each change of a name is there
    /// whole or not at all, whichever others are. Locks are gone.
    pub fn crash_image(&self, source: &mut Source<'_>) -> SimDisk {
        let state = self.shared.state.lock();
        let mut image = State::default();
        let fate = CrashOutcome::draw(source);
        survive(&state, Path::new("/"), fate, source, &mut image);
        SimDisk::from_state(image)
    }

    /// A disk as the death of the process at this instant leaves it: all that was written is seen,
    /// durable or not as before. Locks are gone.
    pub fn kill_image(&self) -> SimDisk {
        let state = self.shared.state.lock();
        SimDisk::from_state(State {
            locked: BTreeSet::new(),
            operations: 0,
            ..state.clone()
        })
    }

    /// What a failed sync of a file or folder may do: what was not durable never will be. With
    /// `keep_seen` it is read as written until the power fails, else it is gone at once.
    pub fn lose_unsynced(&self, path: &Path, keep_seen: bool) {
        let mut state = self.shared.state.lock();
        if let Some(folder) = state.folders.get_mut(path) {
            // Names stay as they are seen: no file system forgets them while it runs.
            folder.unsynced.clear();
        } else if let Some(Node::File(file)) = state.node(path)
            && let Some(inode) = state.files.get_mut(&file)
        {
            inode.lose_unsynced(keep_seen);
        }
    }

    fn from_state(state: State) -> SimDisk {
        SimDisk {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                hook: Mutex::new(None),
            }),
        }
    }

    /// Counts an operation, calls the hook, and performs it.
    fn operate<R>(
        &self,
        kind: OperationKind,
        work: impl FnOnce(&mut State) -> io::Result<R>,
    ) -> io::Result<R> {
        let number = {
            let mut state = self.shared.state.lock();
            state.operations += 1;
            state.operations - 1
        };
        let hook = self.shared.hook.lock().clone();
        if let Some(hook) = hook {
            hook(self, &Operation { number, kind });
        }
        work(&mut self.shared.state.lock())
    }
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimDisk({} operations)", self.operations())
    }
}

/// How likely an unsynced change survives a power failure. Extremes are drawn often: they are what
/// most real failures look like.
#[derive(Clone, Copy)]
enum CrashOutcome {
    None,
    All,
    /// Percent of changes, and of those how many are torn.
    Some {
        kept_percent: u32,
        torn_percent: u32,
    },
    /// All before a point in time, nothing after.
    Prefix {
        percent: u32,
    },
}

impl CrashOutcome {
    fn draw(source: &mut Source<'_>) -> CrashOutcome {
        match source.below(8) {
            0 => CrashOutcome::None,
            1 => CrashOutcome::All,
            2 => CrashOutcome::Prefix {
                percent: source.below(101),
            },
            3 => CrashOutcome::Some {
                kept_percent: 5,
                torn_percent: 20,
            },
            4 => CrashOutcome::Some {
                kept_percent: 95,
                torn_percent: 20,
            },
            5 => CrashOutcome::Some {
                kept_percent: 90,
                torn_percent: 0,
            },
            _ => CrashOutcome::Some {
                kept_percent: 50,
                torn_percent: 20,
            },
        }
    }

    /// How much of the change at `place` of `count` survives.
    fn survival(self, place: usize, count: usize, source: &mut Source<'_>) -> Survival {
        let keep = |keep| {
            if keep {
                Survival::Whole
            } else {
                Survival::Lost
            }
        };
        match self {
            CrashOutcome::None => Survival::Lost,
            CrashOutcome::All => Survival::Whole,
            CrashOutcome::Prefix { percent } => keep(place * 100 < count * percent as usize),
            CrashOutcome::Some {
                kept_percent,
                torn_percent,
            } => {
                let is_kept = source.below(100) < kept_percent;
                if is_kept && torn_percent > 0 && source.below(100) < torn_percent {
                    Survival::Torn
                } else {
                    keep(is_kept)
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Survival {
    Lost,
    Whole,
    Torn,
}

/// Copies what survives of a folder and all below it.
fn survive(from: &State, path: &Path, fate: CrashOutcome, source: &mut Source<'_>, to: &mut State) {
    let Some(folder) = from.folders.get(path) else {
        return;
    };
    let mut names = folder.durable.clone();
    let count = folder.unsynced.len();
    for (place, change) in folder.unsynced.iter().enumerate() {
        // A name is never torn.
        if fate.survival(place, count, source) != Survival::Lost {
            change.apply(&mut names);
        }
    }
    for (name, node) in &names {
        match node {
            Node::Folder => survive(from, &path.join(name), fate, source, to),
            Node::File(file) => {
                if let Some(inode) = from.files.get(file) {
                    let content = surviving_content(inode, fate, source);
                    to.files.insert(*file, Inode::settled(content));
                }
            }
        }
    }
    to.next = from.next;
    to.folders.insert(
        path.to_path_buf(),
        Folder {
            seen: names.clone(),
            durable: names,
            unsynced: Vec::new(),
        },
    );
}

/// What survives of a file's bytes.
fn surviving_content(inode: &Inode, fate: CrashOutcome, source: &mut Source<'_>) -> Content {
    match fate {
        CrashOutcome::None => return inode.durable.clone(),
        CrashOutcome::All if !inode.tainted => return inode.seen.clone(),
        _ => {}
    }
    let mut left = inode.durable.clone();
    // The file as it was seen after each change: sectors reach the disk as they are at some time.
    let mut seen = inode.durable.clone();
    let count = inode.unsynced.len();
    for (place, change) in inode.unsynced.iter().enumerate() {
        seen.apply(change);
        let survival = fate.survival(place, count, source);
        match (change, survival) {
            (_, Survival::Lost) => {}
            (Change::SetLen(len), _) => left.set_len(*len),
            (Change::Write { offset, bytes }, Survival::Whole) => {
                left.copy(&seen, *offset, bytes.len() as u64);
            }
            (Change::Write { offset, bytes }, Survival::Torn) => {
                tear(&mut left, &seen, *offset, bytes.len() as u64, source);
            }
        }
    }
    left
}

/// Copies about half of the sectors of a write.
fn tear(left: &mut Content, seen: &Content, offset: u64, len: u64, source: &mut Source<'_>) {
    let end = offset + len;
    let mut at = offset;
    while at < end {
        let next = ((at / SECTOR_LEN + 1) * SECTOR_LEN).min(end);
        if source.one_in(2) {
            left.copy(seen, at, next - at);
        }
        at = next;
    }
}

impl State {
    fn folder(&mut self, path: &Path) -> io::Result<&mut Folder> {
        self.folders
            .get_mut(path)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn node(&self, path: &Path) -> Option<Node> {
        if self.folders.contains_key(path) {
            return Some(Node::Folder);
        }
        let (folder, name) = split(path).ok()?;
        self.folders.get(folder)?.seen.get(name).copied()
    }

    fn file(&self, path: &Path) -> io::Result<u64> {
        match self.node(path) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Folder) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn inode(&mut self, file: u64) -> io::Result<&mut Inode> {
        self.files
            .get_mut(&file)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn change_name(&mut self, folder: &Path, change: NameChange) -> io::Result<()> {
        let folder = self.folder(folder)?;
        change.apply(&mut folder.seen);
        folder.unsynced.push(change);
        Ok(())
    }

    fn create(&mut self, path: &Path) -> io::Result<u64> {
        if self.node(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let (folder, name) = split(path)?;
        let file = self.next;
        self.change_name(folder, NameChange::Add(name.into(), Node::File(file)))?;
        self.next += 1;
        self.files.insert(file, Inode::default());
        Ok(file)
    }

    fn open(&mut self, path: &Path) -> io::Result<u64> {
        match self.node(path) {
            None => self.create(path),
            Some(_) => self.file(path),
        }
    }
}

fn split(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    match (path.parent(), name) {
        (Some(folder), Some(name)) => Ok((folder, name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

impl Disk for SimDisk {
    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.shared.state.lock().node(path).is_some())
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        let mut state = self.shared.state.lock();
        let file = state.file(path)?;
        Ok(state.inode(file)?.seen.len())
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.operate(OperationKind::CreateFolder, |state| {
            if state.node(path).is_some() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let (above, name) = split(path)?;
            state.change_name(above, NameChange::Add(name.into(), Node::Folder))?;
            state.folders.insert(path.to_path_buf(), Folder::default());
            Ok(())
        })
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.operate(OperationKind::SyncFolder, |state| {
            let folder = state.folder(path)?;
            for change in folder.unsynced.drain(..) {
                change.apply(&mut folder.durable);
            }
            Ok(())
        })
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut state = self.shared.state.lock();
        let names = state.folder(folder)?.seen.iter();
        let files = names.filter(|(_, node)| matches!(node, Node::File(_)));
        Ok(files.map(|(name, _)| name.clone()).collect())
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn RandomAccessFile>> {
        let there = self.exists(path)?;
        let file = if there {
            self.shared.state.lock().file(path)?
        } else {
            self.operate(OperationKind::Create, |state| state.open(path))?
        };
        Ok(Box::new(SimFile {
            disk: self.clone(),
            file,
        }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let file = self.operate(OperationKind::Create, |state| state.create(path))?;
        Ok(Box::new(SimNewFile {
            file: SimFile {
                disk: self.clone(),
                file,
            },
            len: 0,
        }))
    }

    fn map(&self, path: &Path) -> io::Result<PartBytes> {
        let mut state = self.shared.state.lock();
        let file = state.file(path)?;
        let content = &state.inode(file)?.seen;
        let mut bytes = vec![0; content.len() as usize];
        content.read(0, &mut bytes)?;
        Ok(PartBytes::copy(&bytes))
    }

    /// Within one folder.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate(OperationKind::Rename, |state| {
            let file = state.file(from)?;
            let (folder, name) = split(from)?;
            let (other, new) = split(to)?;
            if folder != other {
                return Err(io::ErrorKind::CrossesDevices.into());
            }
            let change = NameChange::Rename(name.into(), new.into(), Node::File(file));
            state.change_name(folder, change)
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.operate(OperationKind::Remove, |state| {
            state.file(path)?;
            let (folder, name) = split(path)?;
            state.change_name(folder, NameChange::Remove(name.into()))
        })
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        if !self.exists(path)? {
            self.operate(OperationKind::Create, |state| state.open(path))?;
        }
        if !self.shared.state.lock().locked.insert(path.to_path_buf()) {
            return Ok(None);
        }
        Ok(Some(Box::new(SimLock {
            disk: self.clone(),
            path: path.to_path_buf(),
        })))
    }
}

#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    file: u64,
}

impl SimFile {
    fn change(&self, kind: OperationKind, change: Change) -> io::Result<()> {
        self.disk.operate(kind, |state| {
            state.inode(self.file)?.change(change);
            Ok(())
        })
    }
}

impl RandomAccessFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.shared.state.lock().inode(self.file)?.seen.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(OperationKind::SetLen, Change::SetLen(len))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.disk.shared.state.lock();
        state.inode(self.file)?.seen.read(offset, out)
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let bytes = bytes.into();
        self.change(OperationKind::Write, Change::Write { offset, bytes })
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.operate(OperationKind::Sync, |state| {
            state.inode(self.file)?.sync();
            Ok(())
        })
    }
}

struct SimNewFile {
    file: SimFile,
    len: u64,
}

impl NewFile for SimNewFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write(self.len, bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

#[derive(Debug)]
struct SimLock {
    disk: SimDisk,
    path: PathBuf,
}

impl FileLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.shared.state.lock().locked.remove(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeded(seed: u64) -> Source<'static> {
        Source::seeded(seed)
    }

    fn bytes_of(disk: &SimDisk, path: &str) -> Option<Vec<u8>> {
        disk.map(Path::new(path))
            .ok()
            .map(|bytes| bytes.as_ref().to_vec())
    }

    #[test]
    fn what_is_synced_survives_every_failure() {
        let disk = SimDisk::new();
        let mut file = disk.create(Path::new("/a")).unwrap();
        file.append(&[7; 3000]).unwrap();
        file.sync().unwrap();
        disk.sync_folder(Path::new("/")).unwrap();
        file.append(&[8; 3000]).unwrap();
        for seed in 0..200 {
            let image = disk.crash_image(&mut seeded(seed));
            let bytes = bytes_of(&image, "/a").unwrap();
            assert_eq!(bytes[..3000], [7; 3000], "seed {seed}");
            assert!(bytes[3000..].iter().all(|&byte| byte == 8 || byte == 0));
        }
    }

    #[test]
    fn a_file_whose_name_is_not_synced_may_be_gone_and_may_be_there() {
        let disk = SimDisk::new();
        let mut file = disk.create(Path::new("/a.tmp")).unwrap();
        file.append(b"whole").unwrap();
        file.sync().unwrap();
        disk.rename(Path::new("/a.tmp"), Path::new("/a")).unwrap();
        let mut seen = BTreeSet::new();
        for seed in 0..200 {
            let image = disk.crash_image(&mut seeded(seed));
            seen.insert((bytes_of(&image, "/a.tmp"), bytes_of(&image, "/a")));
        }
        let whole = Some(b"whole".to_vec());
        let all = [(None, None), (None, whole.clone()), (whole, None)];
        assert_eq!(seen, all.into_iter().collect());
    }

    #[test]
    fn writes_are_torn_at_sectors_and_reordered() {
        let disk = SimDisk::new();
        let file = disk.open(Path::new("/a")).unwrap();
        file.set_len(2048).unwrap();
        file.sync().unwrap();
        disk.sync_folder(Path::new("/")).unwrap();
        file.write(0, &[1; 1024]).unwrap();
        file.write(1024, &[2; 1024]).unwrap();
        let mut seen = BTreeSet::new();
        for seed in 0..3000 {
            let bytes = bytes_of(&disk.crash_image(&mut seeded(seed)), "/a").unwrap();
            for sector in bytes.chunks(512) {
                assert!(
                    sector.iter().all(|byte| *byte == sector[0]),
                    "a torn sector"
                );
            }
            seen.insert([bytes[0], bytes[512], bytes[1024], bytes[1536]]);
        }
        for state in [
            [0, 0, 2, 2],
            [1, 0, 0, 0],
            [1, 1, 2, 2],
            [0, 0, 0, 0],
            [0, 1, 2, 2],
        ] {
            assert!(seen.contains(&state), "{state:?} of {seen:?}");
        }
    }

    #[test]
    fn a_kill_keeps_what_was_written_and_a_failure_after_it_may_not() {
        let disk = SimDisk::new();
        let file = disk.open(Path::new("/a")).unwrap();
        disk.sync_folder(Path::new("/")).unwrap();
        file.write(0, b"kept").unwrap();
        let killed = disk.kill_image();
        assert_eq!(bytes_of(&killed, "/a").unwrap(), b"kept");
        let lost = (0..50).any(|seed| {
            bytes_of(&killed.crash_image(&mut seeded(seed)), "/a").is_some_and(|b| b.is_empty())
        });
        assert!(lost);
    }

    #[test]
    fn what_a_failed_sync_lost_is_not_made_durable_by_the_next() {
        for keep_seen in [true, false] {
            let disk = SimDisk::new();
            let file = disk.open(Path::new("/a")).unwrap();
            disk.sync_folder(Path::new("/")).unwrap();
            file.write(0, &[1; 512]).unwrap();
            disk.lose_unsynced(Path::new("/a"), keep_seen);
            assert_eq!(file.len().unwrap() > 0, keep_seen);
            file.write(512, &[2; 512]).unwrap();
            file.sync().unwrap();
            let left = bytes_of(&disk.crash_image(&mut seeded(1)), "/a").unwrap();
            assert_eq!((left[0], left[512]), (0, 2), "{keep_seen}");
        }
    }

    #[test]
    fn a_lock_is_refused_while_it_is_held_and_gone_in_an_image() {
        let disk = SimDisk::new();
        let path = Path::new("/LOCK");
        let lock = disk.lock(path).unwrap();
        assert!(lock.is_some() && disk.lock(path).unwrap().is_none());
        assert!(disk.kill_image().lock(path).unwrap().is_some());
        drop(lock);
        assert!(disk.lock(path).unwrap().is_some());
    }
}
