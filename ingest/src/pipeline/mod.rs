//! Files and folders into a database: found, parsed in parallel, stored in order.
//!
//! Always true: a document is stored whole or not at all, and a file that fails leaves what was
//! stored of it before as it was. The order of commits follows the sorted paths, whatever the number
//! of jobs. Stopped at any moment and started again, it goes on where it was: what is stored
//! unchanged is skipped. A file takes the place of the document that was read from it, and of no other unless
//! the caller says so.
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
