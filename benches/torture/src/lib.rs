//! A store under power failures, faults and random histories, compared with a plain model.
//!
//! | module | what |
//! | --- | --- |
//! | [`sim`] | a disk in memory that simulates power failures |
//! | [`faulty`] | a disk whose n-th operation fails |
//! | [`counting`] | the file system, with its syncs counted |
//! | [`heap`] | the binary's allocator, with allocated bytes counted |
//! | [`bulk`] | documents in any number |
//! | [`documents`] | the documents that are written |
//! | [`ops`] | lists of operations, drawn from a seed or from bytes |
//! | [`model`] | the expected content of a store, in plain maps |
//! | [`check`] | comparison of one state of a store with a model |
//! | [`integrity`] | checks of a store that need no model |
//! | [`world`] | a store and its model, driven by operations |
//! | [`shrink`] | the shortest part of a list that still fails |
//! | [`notes`] | versions of Markdown notes, and comparison of a store with them |
//! | [`suites`] | the suites that the binary runs, and what each verifies |
//!
//! A seed gives the same operations, disks and choices each time. The store's own threads are scheduled
//! by the operating system, so a failure that depends on their timing may need several runs to
//! reproduce.
//!
//! Start reading at [`suites`], then at [`world::World`].

pub mod bulk;
pub mod check;
mod content;
pub mod counting;
pub mod documents;
pub mod faulty;
pub mod heap;
pub mod integrity;
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
