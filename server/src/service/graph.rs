//! A graph of another program that a caller sends: read and stored, as `loci graph import` does it.

use std::time::Duration;

use loci_ingest::exchange::{ExchangeError, Neo4j};
use loci_ingest::import::{self, ImportError};
use loci_protocol::call::GraphFiles;
use loci_protocol::fault::{Code, Fault};
use locidb::storage::DocumentKey;
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;

use super::care::Told;
use super::writing::key_of;
use super::{Caller, Given, Task};

/// Bytes of all files of a graph at most.
pub(crate) const GRAPH_LEN_MAX: usize = 32 << 20;
/// Bytes that its rows, and what is made of them, may take.
const MADE_LEN_MAX: usize = 512 << 20;

/// How often who waits for their turn looks whether they are still wanted.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Graphs take turns: each takes many times the memory of its files while it is read.
static TURN: Mutex<()> = Mutex::new(());

/// Stores a graph in place of what an import under its key stored.
pub(super) fn import(caller: &Caller, graph: GraphFiles, task: Task<'_>) -> Result<Given, Fault> {
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
    let named = DocumentKey::new(&user[..], &graph.collection[..], &graph.key[..])
        .map_err(|error| invalid(error.to_string()))?;
    let named = key_of(caller, named)?;
    let _turn = turn(task)?;
    let read = read(&graph)?;
    drop(graph);
    task.check()?;
    let documents = read.documents(&named).map_err(|error| wrong(&error))?;
    let (nodes, relationships) = read.len();
    drop(read);
    let told = Told::to(caller, task);
    let database = caller.store.database()?;
    match import::import(&database, &named, documents, &told) {
        Ok(()) => Given::json(&json!({ "nodes": nodes, "relationships": relationships })),
        Err(ImportError::Database(error)) => Err(told.fault(error)),
        Err(error @ ImportError::Taken(_)) => Err(Fault::new(Code::Conflict, error.to_string())),
        Err(error @ ImportError::Empty) => Err(invalid(error.to_string())),
    }
}

/// Waits until no other graph is read.
fn turn(task: Task<'_>) -> Result<MutexGuard<'static, ()>, Fault> {
    loop {
        task.check()?;
        if let Some(turn) = TURN.try_lock_for(ASK_EVERY) {
            return Ok(turn);
        }
    }
}

fn wrong(error: &ExchangeError) -> Fault {
    let code = match error {
        ExchangeError::TooLarge { .. } => Code::TooLarge,
        _ => Code::Invalid,
    };
    Fault::new(code, error.to_string())
}

/// The rows of the files.
fn read(graph: &GraphFiles) -> Result<Neo4j, Fault> {
    let delimiter = match graph.delimiter {
        0 => b',',
        byte => byte,
    };
    let mut read = Neo4j::bounded(MADE_LEN_MAX);
    for kind in graph.files.chunk_by(|_, next| next.goes_on) {
        let files = kind.iter().map(|file| (&file.name[..], &file.bytes[..]));
        let files: Vec<(&str, &[u8])> = files.collect();
        read.read_bytes(&files, delimiter)
            .map_err(|error| wrong(&error))?;
    }
    Ok(read)
}
