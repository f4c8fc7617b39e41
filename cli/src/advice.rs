//! What the caller of the program can do about an error of a library, in flags and commands of this program.

use loci_ingest::pipeline::{FileError, IngestError, Outcome};
use locidb::storage::StoreError;

/// What to do about a command that failed; `None` where the error says it.
pub(crate) fn for_error(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        if let Some(IngestError::OneKey(_)) = cause.downcast_ref() {
            return Some("--key names one document: give one file");
        }
        let store = match cause.downcast_ref() {
            Some(IngestError::Database(error)) => of_database(error),
            _ => cause.downcast_ref().and_then(of_database),
        };
        for_store(store.or_else(|| cause.downcast_ref())?)
    })
}

fn of_database(error: &locidb::Error) -> Option<&StoreError> {
    match error {
        locidb::Error::Store(error) => Some(error),
        _ => None,
    }
}

fn for_store(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::DamagedDatabase { .. } => {
            Some("`loci check` is the check, `loci ingest --force` ingests a file again")
        }
        _ => None,
    }
}

/// An outcome whose error and warnings say what to do.
pub(crate) fn outcome_with_advice(outcome: &Outcome) -> Outcome {
    let mut outcome = outcome.clone();
    let advice = outcome.error.as_ref().and_then(for_file);
    if let (Some(error), Some(advice)) = (&outcome.error, advice) {
        outcome.error = Some(FileError::Other(format!("{error}: {advice}")));
    }
    if outcome.lacks_captions {
        let advice = "ingest the file again with --force once the captioner works";
        outcome.warnings.push(advice.to_owned());
    }
    outcome
}

fn for_file(error: &FileError) -> Option<&'static str> {
    match error {
        FileError::KeyCollision { .. } => Some(
            "ingest it by itself with --key, put it into another --collection, or ingest their common folder",
        ),
        FileError::Conflict { .. } => Some(
            "store it with --key NAME or in another --collection, or replace the document with --replace",
        ),
        FileError::UnknownKind => Some("give --kind, or save it as one of the kinds that are read"),
        _ => None,
    }
}
