//! A store under power failures, faults and random histories, beside a plain model of it.
//!
//! | module | what |
//! | --- | --- |
//! | [`sim`] | a disk in memory that knows what a power failure could leave of it |
//! | [`faulty`] | a disk whose n-th operation fails |
//! | [`counting`] | the file system, with its syncs counted |
//! | [`heap`] | the binary's allocator, with the bytes counted that it has given out |
//! | [`bulk`] | documents in any number |
//! | [`documents`] | the documents that are written |
//! | [`ops`] | what is done to a store: lists of operations, drawn from a seed or from bytes |
//! | [`model`] | what a store must hold, in plain maps |
//! | [`check`] | one state of a store beside a model |
//! | [`world`] | a store and its model, driven by operations |
//! | [`shrink`] | the shortest part of a list that still fails |
//! | [`notes`] | Markdown notes in versions, and a store beside those that it must hold |
//! | [`suites`] | what the binary runs, and what each suite promises |
//!
//! A seed gives the same operations, disks and choices each time. Only the store's own threads run as
//! they like, so a failure that needs one of them at a certain moment may take several runs to
//! show again.

pub mod bulk;
pub mod check;
mod content;
pub mod counting;
pub mod documents;
pub mod faulty;
pub mod heap;
pub mod model;
pub mod notes;
pub mod ops;
pub mod panics;
pub mod report;
pub mod shrink;
pub mod sim;
pub mod source;
pub mod suites;
pub mod world;

pub use report::{Report, Rounds, Violation};
