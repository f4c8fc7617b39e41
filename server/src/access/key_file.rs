//! The file that keeps the keys of a store: `keys.json` beside its rows, readable by its owner alone.
//!
//! It is replaced whole: written beside, synced, renamed. Whoever changes it holds a lock, so that the server and the
//! command line do not lose each other's changes. It is not part of backups and exports.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[cfg(unix)]
use locidb::storage::permissions::umask;
use serde::{Deserialize, Serialize};

use super::{AccessError, KeyRecord, Keys};

const NAME: &str = "keys.json";
const LOCK_NAME: &str = "keys.lock";
/// The form of the file.
const VERSION: u32 = 1;
/// Bytes that the file has at most.
const LEN_MAX: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyFileContent {
    version: u32,
    keys: Vec<KeyRecord>,
}

/// The file of a store's keys.
#[derive(Clone, Debug)]
pub struct KeyFile {
    folder: PathBuf,
}

/// Which state of the file it was: equal for the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64, Option<SystemTime>);

impl KeyFile {
    /// That of the store in `folder`.
    pub fn in_folder(folder: &Path) -> KeyFile {
        KeyFile {
            folder: folder.to_path_buf(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(NAME)
    }

    /// What tells whether the file was replaced since.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let metadata = fs::metadata(self.path()).ok()?;
        Some(Stamp(metadata.len(), metadata.modified().ok()))
    }

    /// The keys; none where there is no file.
    ///
    /// # Errors
    /// [`AccessError::Damaged`] for a file that is none: nobody is let in by half a file. [`AccessError::Writable`] for one
    /// that others may write: they could let themselves in.
    pub fn read(&self) -> Result<Keys, AccessError> {
        let path = self.path();
        let damaged = |why: String| AccessError::Damaged {
            path: path.display().to_string(),
            why,
        };
        let file = match nonblocking_open_options().read(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Keys::default()),
            file => file.map_err(io_error("opening", &path))?,
        };
        let metadata = file.metadata().map_err(io_error("reading", &path))?;
        if !metadata.is_file() {
            return Err(damaged("it is no file".into()));
        }
        if metadata.len() > LEN_MAX {
            return Err(damaged("too large".into()));
        }
        if is_writable_by_others(&metadata) {
            return Err(AccessError::Writable {
                path: path.display().to_string(),
            });
        }
        let mut text = String::new();
        let read = file.take(LEN_MAX).read_to_string(&mut text);
        read.map_err(io_error("reading", &path))?;
        let form: KeyFileContent =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if form.version != VERSION {
            return Err(damaged(format!("version {}", form.version)));
        }
        Ok(Keys { records: form.keys })
    }

    /// Changes the keys; what `change` gives, once the file is durable. An error of `change` leaves it as it was.
    pub fn change<R>(
        &self,
        change: impl FnOnce(&mut Keys) -> Result<R, AccessError>,
    ) -> Result<R, AccessError> {
        let _held = self.lock()?;
        let mut keys = self.read()?;
        let given = change(&mut keys)?;
        self.write(&keys)?;
        Ok(given)
    }

    fn lock(&self) -> Result<File, AccessError> {
        let path = self.folder.join(LOCK_NAME);
        let mut options = nonblocking_open_options();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(io_error("opening", &path))?;
        file.lock().map_err(io_error("locking", &path))?;
        Ok(file)
    }

    fn write(&self, keys: &Keys) -> Result<(), AccessError> {
        let form = KeyFileContent {
            version: VERSION,
            keys: keys.records.clone(),
        };
        let text = serde_json::to_string_pretty(&form).map_err(|error| AccessError::Io {
            what: "writing keys".into(),
            source: error.into(),
        })?;
        let path = self.path();
        let beside = self.folder.join(format!("{NAME}.tmp"));
        let written = write_private(&beside, text.as_bytes())
            .and_then(|()| fs::rename(&beside, &path))
            .and_then(|()| File::open(&self.folder)?.sync_all());
        written.map_err(io_error("writing", &path))
    }
}

/// How a file is opened in whose place there may be a pipe: nobody may ever be at its other end.
fn nonblocking_open_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    options
}

/// Whether somebody other than this user and root may write the file: it is theirs, or its mode lets all do so, or its
/// group where the umask that files are made with does not.
#[cfg(unix)]
fn is_writable_by_others(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    const GROUP: u32 = 0o020;
    const OTHERS: u32 = 0o002;
    let refused = OTHERS | (GROUP & umask());
    let owners = [0, rustix::process::geteuid().as_raw()];
    !owners.contains(&metadata.uid()) || metadata.mode() & refused != 0
}

#[cfg(not(unix))]
fn is_writable_by_others(_: &fs::Metadata) -> bool {
    false
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn io_error<'p>(what: &'p str, path: &'p Path) -> impl FnOnce(io::Error) -> AccessError + 'p {
    move |source| AccessError::Io {
        what: format!("{what} {}", path.display()),
        source,
    }
}

#[cfg(test)]
mod tests {
    use loci_protocol::call::Role;

    use super::*;
    use crate::access::NewKey;

    #[cfg(unix)]
    #[cfg(unix)]
    #[test]
    fn reading_a_pipe_instead_of_the_key_file_fails_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let mkfifo = std::process::Command::new("mkfifo")
            .arg(folder.path().join(NAME))
            .status();
        assert!(mkfifo.unwrap().success());
        let error = KeyFile::in_folder(folder.path()).read().err().unwrap();
        assert!(error.to_string().contains("no file"), "{error}");
    }

    #[test]
    fn key_file_writable_by_others_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::in_folder(folder.path());
        let added = file.change(|keys| keys.add(NewKey::new(Role::Write, "a"), 7));
        added.unwrap();
        for (mode, is_refused) in [(0o600, false), (0o644, false), (0o620, true), (0o602, true)] {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(file.path(), permissions).unwrap();
            let refused = matches!(file.read(), Err(AccessError::Writable { .. }));
            assert_eq!(refused, is_refused, "{mode:o}");
        }
    }

    #[test]
    fn key_file_round_trips_and_is_readable_by_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::in_folder(folder.path());
        assert_eq!(file.read().unwrap(), Keys::default());
        assert_eq!(file.stamp(), None);
        let key = file
            .change(|keys| keys.add(NewKey::new(Role::Write, "a"), 7))
            .unwrap();
        let first = file.stamp().unwrap();
        let keys = KeyFile::in_folder(folder.path()).read().unwrap();
        assert_eq!(keys.check(&key).unwrap().created_at_ms, 7);
        file.change(|keys| Ok(keys.revoke(key.id()))).unwrap();
        assert!(file.read().unwrap().check(&key).is_none());
        assert_ne!(file.stamp(), Some(first));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(file.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0);
        }
    }

    #[test]
    fn failed_change_leaves_the_key_file_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::in_folder(folder.path());
        file.change(|keys| keys.add(NewKey::new(Role::Read, ""), 1))
            .unwrap();
        let before = file.read().unwrap();
        let failed = file.change(|keys| {
            keys.revoke(&before.records()[0].id);
            Err::<(), _>(AccessError::Malformed)
        });
        assert!(failed.is_err());
        assert_eq!(file.read().unwrap(), before);
    }

    #[test]
    fn concurrent_changes_are_all_stored() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let file = KeyFile::in_folder(folder.path());
                    file.change(|keys| keys.add(NewKey::new(Role::Read, ""), 1))
                        .unwrap();
                });
            }
        });
        let keys = KeyFile::in_folder(folder.path()).read().unwrap();
        assert_eq!(keys.records().len(), 8);
    }

    #[test]
    fn truncated_key_file_authenticates_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::in_folder(folder.path());
        file.change(|keys| keys.add(NewKey::new(Role::Read, ""), 1))
            .unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        for wrong in [
            &text[..text.len() / 2],
            "",
            "{}",
            &text.replace("\"version\": 1", "\"version\": 2"),
        ] {
            fs::write(file.path(), wrong).unwrap();
            assert!(
                matches!(file.read(), Err(AccessError::Damaged { .. })),
                "{wrong}"
            );
        }
    }
}
