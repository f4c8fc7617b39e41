//! A file that an export writes: it gets its name once it is complete.
//!
//! Invariants: the file of a killed export is deleted by the next export to the same name, and no export deletes a file
//! that another is writing.
//!
//! Start reading at [`PartialFile::create`].

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::Context;
use tempfile::NamedTempFile;

/// The end of the name of an unfinished export, after the random characters of the library `tempfile`.
const SUFFIX: &str = ".export-tmp";
const RANDOM_LEN: usize = 6;

/// A new file beside `OUT`, which becomes `OUT`. Dropped before, it is deleted.
pub(crate) struct PartialFile {
    file: NamedTempFile,
}

impl PartialFile {
    /// Creates the file, and deletes files of killed exports to the same name.
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
            // Locked while it is written: a file without a lock is left by a killed export.
            file.as_file().lock().with_context(failed)?;
            // Another export may have deleted it before it was locked.
            if file.path().try_exists().with_context(failed)? {
                return Ok(PartialFile { file });
            }
        }
    }

    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Renames it durably; fails if a file of that name exists by now.
    pub(crate) fn publish_new(self, to: &Path) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file
            .persist_noclobber(to)
            .map_err(|error| error.error)?;
        sync_folder(to)
    }

    /// Renames it durably, replacing an existing file.
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

/// Deletes files of killed exports to the same name, as far as possible.
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
        // Locked until it is deleted, so that an export that just created it waits and creates another.
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
