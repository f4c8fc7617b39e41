//! Turns parsed files into chunks, concepts and relations, and stores them.
//!
//! | module | what |
//! | --- | --- |
//! | [`pipeline`] | files and folders into a database: find, parse, store, watch |
//! | [`runner`] | parses a file in this process or in a child |
//! | [`process`] | child processes: supervision, confinement |
//! | [`document`] | a parsed file as the document that the store takes |
//! | [`captions`] | captions that a model writes for pictures |
//! | [`chunk`] | a parsed file divided into its chunk tree |
//! | [`cite`] | references and citations in the text |
//! | [`extract`] | concepts and relations |
//! | [`classify`] | types of passages, sections and sentences |
//! | `text` | words, key terms and summaries of a text |
//! | [`exchange`] | the concept graph in files of other programs |
//!
//! Start reading at [`pipeline::ingest`], for one file at [`document::build`].

mod build_error;
pub mod captions;
pub mod chunk;
pub mod cite;
pub mod classify;
pub mod document;
pub mod exchange;
pub mod extract;
pub mod pipeline;
pub mod process;
pub mod runner;
mod text;

pub use build_error::BuildError;
pub use exchange::import;
pub use loci_documents as documents;
pub use locidb::query::tokens;
pub use process::confinement;
