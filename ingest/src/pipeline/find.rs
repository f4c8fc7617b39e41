//! The files that were given, and those in folders that were: without hidden ones, links and stores, each once, with a key
//! of its own.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{IngestError, IngestOptions};

/// A file to store.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) key: String,
    pub(super) len: u64,
    /// Why it cannot be, known before it is read.
    pub(super) refused: Option<String>,
}

pub(super) fn find(paths: &[PathBuf], options: &IngestOptions) -> Result<Vec<Found>, IngestError> {
    let mut files = Vec::new();
    for path in paths {
        let failed = |source| IngestError::Path {
            path: path.clone(),
            source,
        };
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            walk(path, &mut files);
        } else {
            let name = path.file_name().unwrap_or(path.as_os_str());
            let key = name.to_string_lossy().into_owned();
            files.push(Found {
                path: path.clone(),
                key,
                len: metadata.len(),
                refused: (!metadata.is_file()).then(|| "it is no regular file".into()),
            });
        }
    }
    drop_repeats(&mut files);
    if let Some(key) = &options.key {
        match &mut files[..] {
            [one] => one.key.clone_from(key),
            _ => return Err(IngestError::OneKey(files.len())),
        }
    }
    refuse_repeats(&mut files);
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<Found>) {
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
                let len = entry.metadata().map_or(0, |metadata| metadata.len());
                Found {
                    path: entry.into_path(),
                    key,
                    len,
                    refused: None,
                }
            }
            Ok(_) => continue,
            Err(error) => Found {
                path: folder.to_path_buf(),
                key: String::new(),
                len: 0,
                refused: Some(error.to_string()),
            },
        };
        files.push(found);
    }
}

/// Whether a folder is a store, perhaps the very one that is written to.
fn is_store(folder: &Path) -> bool {
    folder.join("loci.redb").is_file()
}

/// A file that was given or found twice under one key is stored once.
fn drop_repeats(files: &mut Vec<Found>) {
    let mut seen = HashSet::new();
    files.retain(|file| {
        let path = fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
        file.refused.is_some() || seen.insert((path, file.key.clone()))
    });
}

/// Two files that would be one document are an error, not a race.
fn refuse_repeats(files: &mut [Found]) {
    let mut first: HashMap<String, PathBuf> = HashMap::new();
    for file in files.iter_mut().filter(|file| file.refused.is_none()) {
        if let Some(other) = first.get(&file.key) {
            file.refused = Some(format!(
                "its key {} is that of {} too; ingest their common folder, or use --collection",
                file.key,
                other.display()
            ));
        } else {
            first.insert(file.key.clone(), file.path.clone());
        }
    }
}
