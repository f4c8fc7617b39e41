//! The concept graph in files of other programs: out to GraphML and Cypher, in from Neo4j's CSV.
//!
//! Written graphs hold what is alive in one view, in the order of concepts, so the same graph gives the same bytes.
//! Files that are read may be anything: an error names the file and the line.
//!
//! Start reading at [`graphml`], [`cypher`] and [`Neo4jImport`].

mod concepts;
mod cypher;
mod graphml;
pub mod import;
mod neo4j;
mod neo4j_documents;

use std::io;
use std::path::PathBuf;

use locidb::storage::StoreError;

pub use cypher::cypher;
pub use graphml::graphml;
pub use neo4j::Neo4jImport;

/// The parser that documents of an import name.
pub const PARSER: &str = "neo4j-csv 1";

/// Why a graph cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database cannot.
    #[error(transparent)]
    Database(#[from] locidb::Error),
    /// The file cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file cannot be read.
    #[error("{}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// What is made of the files takes more bytes than it may.
    #[error("the graph takes more than {most} bytes when it is read: import it in parts")]
    TooLarge {
        /// So many are allowed.
        most: usize,
    },
    /// A row is not what its header says.
    #[error("{}, line {line}: {why}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
}
