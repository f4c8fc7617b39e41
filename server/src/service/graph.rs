//! A graph of another program that a caller sends: read and stored, as `loci graph import` does it.

use loci_ingest::exchange::Neo4j;
use loci_ingest::import::{self, ImportError};
use loci_protocol::call::GraphFiles;
use loci_protocol::fault::{Code, Fault};
use locidb::storage::DocumentKey;
use serde_json::json;

use super::care::Told;
use super::writing::key_of;
use super::{Caller, Given, Task};

/// Bytes of all files of a graph at most: their rows take many times as much memory while they are read.
const GRAPH_LEN_MAX: usize = 32 << 20;

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
    let read = read(&graph).map_err(invalid)?;
    drop(graph);
    task.check()?;
    let documents = read.documents(&named);
    let documents = documents.map_err(|error| invalid(error.to_string()))?;
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

/// The rows of the files.
fn read(graph: &GraphFiles) -> Result<Neo4j, String> {
    let delimiter = match graph.delimiter {
        0 => b',',
        byte => byte,
    };
    let mut read = Neo4j::default();
    for kind in graph.files.chunk_by(|_, next| next.goes_on) {
        let files = kind.iter().map(|file| (&file.name[..], &file.bytes[..]));
        let files: Vec<(&str, &[u8])> = files.collect();
        read.read_bytes(&files, delimiter)
            .map_err(|error| error.to_string())?;
    }
    Ok(read)
}
