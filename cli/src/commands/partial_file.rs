//! A file that an export writes: it has its name once it is whole.
//!
//! Always true: what a killed export leaves is deleted by the next to the same name, and no export deletes what another
//! is writing.
//!
//! Start reading at [`Unfinished::create`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::Context;
use tempfile::NamedTempFile;

/// How the name of an export that is being written ends, behind the characters that the library `tempfile` draws.
const SUFFIX: &str = ".export-tmp";
const RANDOM_LEN: usize = 6;

/// A new file beside `OUT`, which becomes `OUT`. Dropped before, it is deleted.
pub(crate) struct PartialFile {
    file: NamedTempFile,
}

impl PartialFile {
    /// Makes it, and deletes what was left by exports to the same name that were killed.
    pub(crate) fn create(to: &Path) -> anyhow::Result<PartialFile> {
        let failed = || format!("writing {}", to.display());
        let name = to.file_name().unwrap_or_default();
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let folder = parent_folder(to);
        delete_leftovers(folder, &prefix);
        loop {
            let file = create_temp_file(folder, &prefix).with_context(failed)?;
            // Held while it is written: who finds it without has found what a stopped export left.
            file.as_file().lock().with_context(failed)?;
            // Another one may have found it in between.
            if file.path().try_exists().with_context(failed)? {
                return Ok(PartialFile { file });
            }
        }
    }

    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives it its name, durably; fails where there is a file of that name by now.
    pub(crate) fn publish_new(self, to: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file
            .persist_noclobber(to)
            .map_err(|error| error.error)?;
        sync_folder(to)
    }

    /// Likewise, in the place of a file that is there.
    pub(crate) fn publish_over(self, to: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(to).map_err(|error| error.error)?;
        sync_folder(to)
    }
}

/// Makes a file's new name durable.
fn sync_folder(to: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(parent_folder(to))?.sync_all()?;
    Ok(())
}

fn create_temp_file(folder: &Path, prefix: &OsStr) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(SUFFIX);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

fn parent_folder(to: &Path) -> &Path {
    match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Deletes what exports to the same name left that were killed; as far as it can be.
fn delete_leftovers(folder: &Path, prefix: &OsStr) {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let prefix = prefix.as_encoded_bytes();
    for entry in entries {
        let name = entry.file_name();
        let random = name.as_encoded_bytes().strip_prefix(prefix);
        let random = random.and_then(|name| name.strip_suffix(SUFFIX.as_bytes()));
        let is_ours = random.is_some_and(|random| {
            random.len() == RANDOM_LEN && random.iter().all(u8::is_ascii_alphanumeric)
        });
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Locked until it is deleted, so that whoever made it just now waits, and makes another.
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
