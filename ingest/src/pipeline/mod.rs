//! Ingests files and folders: finds them, parses them in parallel, stores them in order.
//!
//! Always true: a document is stored whole or not at all, and a file that fails leaves what was
//! stored of it before as it was. The order of commits follows the sorted paths, whatever the number
//! of jobs. A run that was stopped at any moment continues when it is started again, because unchanged files
//! are skipped. A file replaces the document that was read from it, and no other unless the caller requests it.
//!
//! Start reading at [`ingest`].

mod captioning;
mod find;
mod ingest;
mod open;
mod options;
mod ordered;
mod origin;
mod outcome;
mod prepare;
mod store;
#[cfg(test)]
mod tests;
mod watch;

pub use ingest::ingest;
pub use options::IngestOptions;
pub use outcome::{FileError, IngestError, IngestSummary, Outcome, Reporter, Status};
pub use watch::{WatchOptions, watch};
