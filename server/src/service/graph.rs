//! A graph of another program that a caller sends: read and stored, as `loci graph import` does it.

use std::time::Duration;

use loci_ingest::exchange::{ExchangeError, Neo4jImport};
use loci_ingest::import::{self, ImportError};
use loci_protocol::call::GraphFiles;
use loci_protocol::fault::{Code, Fault};
use locidb::storage::DocumentKey;
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;

use super::maintenance::ProgressReporter;
use super::writes::check_document_key;
use super::{CallOutput, Caller, Task};

/// Bytes of all files of a graph at most.
pub(crate) const GRAPH_LEN_MAX: usize = 32 << 20;
/// Bytes that its rows, and what is made of them, may take.
const IMPORT_MEMORY_MAX: usize = 512 << 20;

/// How often who waits for their turn looks whether they are still wanted.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Graphs take turns: each takes many times the memory of its files while it is read.
static IMPORT_LOCK: Mutex<()> = Mutex::new(());

/// Stores a graph in place of what an import under its key stored.
pub(super) fn import(
    caller: &Caller,
    graph: GraphFiles,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    let invalid = |why: String| Fault::new(Code::Invalid, why);
    let len: usize = graph.files.iter().map(|file| file.bytes.len()).sum();
    if len > GRAPH_LEN_MAX {
        let why = format!(
            "a graph of {len} bytes: {GRAPH_LEN_MAX} at most; import it where the store lies"
        );
        return Err(Fault::new(Code::TooLarge, why));
    }
    let user = match (&caller.user, &graph.user[..]) {
        (Some(own), "") => own,
        (_, _) => &graph.user,
    };
    let document_key = DocumentKey::new(&user[..], &graph.collection[..], &graph.key[..])
        .map_err(|error| invalid(error.to_string()))?;
    let document_key = check_document_key(caller, document_key)?;
    let _turn = lock_import(task)?;
    let read = read(&graph)?;
    drop(graph);
    task.check()?;
    let documents = read
        .documents(&document_key)
        .map_err(|error| exchange_fault(&error))?;
    let (nodes, relationships) = read.len();
    drop(read);
    let progress = ProgressReporter::for_caller(caller, task);
    let database = caller.store.database()?;
    match import::import(&database, &document_key, documents, &progress) {
        Ok(()) => Ok(CallOutput::view(
            json!({ "nodes": nodes, "relationships": relationships }),
        )),
        Err(ImportError::Database(error)) => Err(progress.fault(error)),
        Err(error @ ImportError::KeyConflict(_)) => {
            Err(Fault::new(Code::Conflict, error.to_string()))
        }
        Err(error @ ImportError::Empty) => Err(invalid(error.to_string())),
    }
}

/// Waits until no other graph is read.
fn lock_import(task: Task<'_>) -> Result<MutexGuard<'static, ()>, Fault> {
    loop {
        task.check()?;
        if let Some(guard) = IMPORT_LOCK.try_lock_for(CANCEL_POLL_INTERVAL) {
            return Ok(guard);
        }
    }
}

fn exchange_fault(error: &ExchangeError) -> Fault {
    let code = match error {
        ExchangeError::TooLarge { .. } => Code::TooLarge,
        _ => Code::Invalid,
    };
    Fault::new(code, error.to_string())
}

/// The rows of the files.
fn read(graph: &GraphFiles) -> Result<Neo4jImport, Fault> {
    let delimiter = match graph.delimiter {
        0 => b',',
        byte => byte,
    };
    let mut read = Neo4jImport::with_bytes_max(IMPORT_MEMORY_MAX);
    for kind in graph.files.chunk_by(|_, next| next.continues_previous) {
        let files = kind.iter().map(|file| (&file.name[..], &file.bytes[..]));
        let files: Vec<(&str, &[u8])> = files.collect();
        read.read_bytes(&files, delimiter)
            .map_err(|error| exchange_fault(&error))?;
    }
    Ok(read)
}
