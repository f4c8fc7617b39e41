//! A file that a caller sends: parsed as the program says, cut and stored, as `loci ingest` does it.

use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use loci_ingest::chunk::Chunking;
use loci_ingest::documents::Kind;
use loci_ingest::pipeline::{self, FileError, IngestOptions, Outcome, Reporter, Status};
use loci_protocol::call::File;
use loci_protocol::fault::{Code, Fault};
use locidb::Progress;
use locidb::storage::DocumentKey;
use parking_lot::Mutex;

use super::maintenance::ProgressReporter;
use super::writes::check_document_key;
use super::{CallOutput, Caller, Task, fault_of, faults};

/// Bytes of a file's name at most.
const NAME_LEN_MAX: usize = 255;

/// Parses, cuts and stores a file; gives the line that `loci ingest --json` prints for it. A file that cannot be read
/// is no fault: its line has the reason.
pub(super) fn ingest(caller: &Caller, file: File, task: Task<'_>) -> Result<CallOutput, Fault> {
    let options = options(caller, &file)?;
    let database = caller.store.database()?;
    let folder = tempfile::tempdir().map_err(|error| faults::internal(&error))?;
    let path = folder.path().join(name_of(&file.name)?);
    fs::write(&path, &file.bytes).map_err(|error| faults::internal(&error))?;
    drop(file);
    let parser = caller.store.parser().build();
    let parser = parser.map_err(|error| faults::internal(&error))?;
    let reporter = FileReporter {
        progress: ProgressReporter::for_caller(caller, task),
        outcome: Mutex::default(),
    };
    let paths = [path];
    let summary = pipeline::ingest(&database, &paths, &options, &*parser, &reporter);
    let outcome = reporter.outcome.lock().take();
    match (summary, outcome) {
        (Ok(_), Some(outcome)) => Ok(outcome_view(Outcome {
            // The server's temporary folder is not shown.
            path: paths[0]
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            ..outcome
        })),
        (Ok(_), None) => Err(task.check().err().unwrap_or_else(|| {
            Fault::new(
                Code::Cancelled,
                "the file was not stored: the call was stopped",
            )
        })),
        (Err(pipeline::IngestError::Database(error)), _) => Err(fault_of(error)),
        (Err(error), _) => Err(faults::internal(&error)),
    }
}

/// The line of a file.
fn outcome_view(mut outcome: Outcome) -> CallOutput {
    if let Some(error @ FileError::UnknownKind) = &outcome.error {
        let advice = "give its kind, or save it as one of the kinds that are read";
        outcome.error = Some(FileError::Other(format!("{error}: {advice}")));
    }
    match outcome.status {
        Status::Failed => CallOutput::UnreadableFile(Box::new(outcome)),
        _ => CallOutput::view(outcome),
    }
}

fn options(caller: &Caller, file: &File) -> Result<IngestOptions, Fault> {
    let invalid = |why: String| Fault::new(Code::Invalid, why);
    let user = match (&caller.user, &file.user[..]) {
        (Some(own), "") => own.clone(),
        (_, user) => user.to_owned(),
    };
    let key = file.key.as_deref().unwrap_or(&file.name);
    let key = DocumentKey::new(user, &file.collection[..], key)
        .map_err(|error| invalid(error.to_string()))?;
    let key = check_document_key(caller, key)?;
    let kind = match file.kind.as_deref() {
        None | Some("auto" | "code") => None,
        Some(name) => Some(Kind::from_name(name).ok_or_else(|| {
            invalid(format!(
                "kind: there is no kind of file {name:?}; leave it out"
            ))
        })?),
    };
    let chunking = match file.chunking.as_deref() {
        None | Some("auto") => Chunking::Auto,
        Some("hierarchical") => Chunking::Hierarchical,
        Some("three-level") => Chunking::ThreeLevel,
        Some("sentence") => Chunking::Sentence,
        Some(name) => {
            let why =
                format!("chunking: {name:?} is none of auto, hierarchical, three-level, sentence");
            return Err(invalid(why));
        }
    };
    Ok(IngestOptions {
        key: Some(key.key),
        user: key.user,
        collection: key.collection,
        kind,
        chunking,
        force: file.force,
        is_upload: true,
        jobs: 1,
        ..IngestOptions::default()
    })
}

/// The last part of a path that a caller gives, as the name of a file in a folder of its own.
fn name_of(name: &str) -> Result<&OsStr, Fault> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_name = Path::new(last).file_name() == Some(OsStr::new(last));
    if last.len() > NAME_LEN_MAX {
        let why = format!("name: a file's name has {NAME_LEN_MAX} bytes at most");
        return Err(Fault::new(Code::TooLarge, why));
    }
    if !is_name || last.contains('\0') {
        let why = format!("name: {name:?} is no file's name");
        return Err(Fault::new(Code::Invalid, why));
    }
    Ok(OsStr::new(last))
}

/// Tells the progress of one file, and keeps what became of it.
struct FileReporter<'t> {
    progress: ProgressReporter<'t>,
    outcome: Mutex<Option<Outcome>>,
}

impl Progress for FileReporter<'_> {
    fn report(&self, step: &str, done: u64, total: u64) -> ControlFlow<()> {
        self.progress.report(step, done, total)
    }
}

impl Reporter for FileReporter<'_> {
    fn report_outcome(&self, outcome: &Outcome) {
        if outcome.status != Status::Deleted {
            *self.outcome.lock() = Some(outcome.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(name_of("a/b/../c.pdf").unwrap(), "c.pdf");
        assert_eq!(name_of("C:\\papers\\p.pdf").unwrap(), "p.pdf");
        for wrong in ["", "..", ".", "a/..", "/", "a/", "x\0y", &"x".repeat(256)] {
            assert!(name_of(wrong).is_err(), "{wrong}");
        }
    }
}
