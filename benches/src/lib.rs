//! Benchmarks of a store on prepared data folders: bulk load, retrieval quality and latency.
//!
//! | to | read |
//! | --- | --- |
//! | read a prepared data folder | [`folder`] |
//! | store one | [`load`] |
//! | ask its questions and evaluate the answers | [`eval`], [`metrics`] |
//! | measure one part | [`vector`], [`text`], [`graph`] |
//! | measure a whole store | [`search`], [`hybrid`], [`store`] |

pub mod clock;
pub mod eval;
pub mod folder;
pub mod graph;
pub mod hybrid;
mod line;
pub mod load;
pub mod metrics;
pub mod search;
pub mod store;
pub mod text;
pub mod vector;

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A file of the folder cannot be read. Check the path.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A file of the folder has a wrong format.
    #[error("{file}, line {line}: {why}")]
    Format {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The problem.
        why: String,
    },
    /// The folder lacks an input of the measurement.
    #[error("{0}")]
    MissingInput(String),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] locidb::Error),
    /// The vectors cannot be indexed.
    #[error(transparent)]
    Vectors(#[from] loci_index::vector::VectorError),
    /// The text cannot be indexed or searched.
    #[error(transparent)]
    Text(#[from] loci_index::text::TextError),
    /// The graph that was just written cannot be read.
    #[error(transparent)]
    Graph(#[from] locidb::graph::GraphError),
    /// The segment that was just written cannot be read.
    #[error(transparent)]
    Part(#[from] loci_storage::segment::PartError),
}

impl BenchError {
    fn io(file: impl Into<String>, source: std::io::Error) -> BenchError {
        BenchError::Io {
            file: file.into(),
            source,
        }
    }
}
