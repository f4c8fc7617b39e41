//! The files that were given, and those in folders that were: without hidden ones, links and stores, each once, with a key
//! of its own.
//!
//! Always true: a file that is stored keeps its key, however it is named this time: alone, in a folder, through a link.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use locidb::{Database, DatabaseSnapshot};

use super::open::FileId;
use super::options::IngestOptions;
use super::origin;
use super::outcome::{FileError, IngestError};

/// A file to store.
pub(super) struct SourceFile {
    /// As given, or within the folder as given.
    pub(super) path: PathBuf,
    /// Its canonical path.
    pub(super) canonical_path: PathBuf,
    pub(super) key: String,
    pub(super) len: u64,
    /// Which file it was when it was found.
    pub(super) id: Option<FileId>,
    /// What the store remembers it by; `None` where that is not to be remembered.
    pub(super) origin: Option<String>,
    /// Why it cannot be, known before it is read.
    pub(super) rejection: Option<FileError>,
    /// Whether `key` is that of the document that was read from it before.
    is_stored: bool,
}

impl SourceFile {
    fn new(
        path: PathBuf,
        canonical_path: PathBuf,
        key: String,
        metadata: Option<&Metadata>,
    ) -> SourceFile {
        SourceFile {
            len: metadata.map_or(0, Metadata::len),
            id: metadata.and_then(FileId::from_metadata),
            origin: Some(origin::from_path(&canonical_path)),
            path,
            canonical_path,
            key,
            rejection: None,
            is_stored: false,
        }
    }
}

pub(super) fn find_files(
    database: &Database,
    paths: &[PathBuf],
    options: &IngestOptions,
) -> Result<Vec<SourceFile>, IngestError> {
    let mut files = Vec::new();
    for path in paths {
        let failed = |source| IngestError::Path {
            path: path.clone(),
            source,
        };
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            let real = fs::canonicalize(path).map_err(failed)?;
            walk_folder(path, &real, &mut files);
        } else {
            let name = path.file_name().unwrap_or(path.as_os_str());
            let key = name.to_string_lossy().into_owned();
            let is_file = metadata.is_file();
            // What is no file may have no canonical path, as a pipe of the shell's.
            let real = if is_file {
                fs::canonicalize(path).map_err(failed)?
            } else {
                path.clone()
            };
            files.push(SourceFile {
                rejection: (!is_file).then(|| FileError::other("it is no regular file")),
                ..SourceFile::new(path.clone(), real, key, Some(&metadata))
            });
        }
    }
    remove_duplicates(&mut files);
    if options.is_upload {
        files.iter_mut().for_each(|file| file.origin = None);
    }
    if let Some(key) = &options.key {
        match &mut files[..] {
            [one] => one.key.clone_from(key),
            _ => return Err(IngestError::OneKey(files.len())),
        }
    } else {
        assign_stored_keys(&database.snapshot(), &mut files, options)?;
    }
    reject_duplicate_keys(&mut files);
    Ok(files)
}

fn walk_folder(folder: &Path, real: &Path, files: &mut Vec<SourceFile>) {
    let walk = ignore::WalkBuilder::new(folder)
        .standard_filters(false)
        .hidden(true)
        .filter_entry(|entry| !is_store(entry.path()))
        .sort_by_file_path(Path::cmp)
        .build();
    for entry in walk {
        let found = match entry {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                let relative = entry.path().strip_prefix(folder).unwrap_or(entry.path());
                let parts = relative
                    .components()
                    .map(|part| part.as_os_str().to_string_lossy());
                let key = parts.collect::<Vec<_>>().join("/");
                // No link is on the way from the folder to the file.
                let real = real.join(relative);
                let metadata = entry.metadata().ok();
                SourceFile::new(entry.into_path(), real, key, metadata.as_ref())
            }
            Ok(_) => continue,
            Err(error) => SourceFile {
                rejection: Some(FileError::other(error)),
                ..SourceFile::new(
                    folder.to_path_buf(),
                    real.to_path_buf(),
                    String::new(),
                    None,
                )
            },
        };
        files.push(found);
    }
}

/// Whether a folder is a store, perhaps the very one that is written to.
fn is_store(folder: &Path) -> bool {
    folder.join("loci.redb").is_file()
}

/// A file that was given or found twice is stored once.
fn remove_duplicates(files: &mut Vec<SourceFile>) {
    let mut seen = HashSet::new();
    files.retain(|file| file.rejection.is_some() || seen.insert(file.canonical_path.clone()));
}

/// Gives each file that is stored the key of its document.
fn assign_stored_keys(
    view: &DatabaseSnapshot,
    files: &mut [SourceFile],
    options: &IngestOptions,
) -> Result<(), locidb::Error> {
    for file in files.iter_mut().filter(|file| file.rejection.is_none()) {
        let Some(origin) = &file.origin else { continue };
        let mut keys = stored_keys(view, origin, options)?;
        keys.sort();
        let is_stored = |key: &String| *key == file.key;
        if let Some(first) = keys.first().cloned() {
            if !keys.iter().any(is_stored) {
                file.key = first;
            }
            file.is_stored = true;
        }
    }
    Ok(())
}

/// The keys of the documents of this user and collection that were read from a file.
fn stored_keys(
    view: &DatabaseSnapshot,
    origin: &str,
    options: &IngestOptions,
) -> Result<Vec<String>, locidb::Error> {
    let mut keys = Vec::new();
    for id in view.documents_from(origin)? {
        let document = view.snapshot().rows().document(id)?;
        let is_ours =
            |user: &str, collection: &str| user == options.user && collection == options.collection;
        let document = document.filter(|of| is_ours(&of.user, &of.collection));
        keys.extend(document.map(|document| document.key));
    }
    Ok(keys)
}

/// Two files that would be one document are an error, not a race. The one that is stored has the key.
fn reject_duplicate_keys(files: &mut [SourceFile]) {
    let mut first: HashMap<String, PathBuf> = HashMap::new();
    for of_stored in [true, false] {
        let files = files
            .iter_mut()
            .filter(|file| file.rejection.is_none() && file.is_stored == of_stored);
        for file in files {
            if let Some(other) = first.get(&file.key) {
                file.rejection = Some(FileError::KeyCollision {
                    key: file.key.clone(),
                    other: other.clone(),
                });
            } else {
                first.insert(file.key.clone(), file.path.clone());
            }
        }
    }
}
