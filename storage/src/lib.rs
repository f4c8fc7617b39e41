//! The truth of LociDB: rows, segments, manifest, snapshots.
//!
//! One redb file holds the rows (documents, chunks, contributions, vectors); everything that is
//! searched lies in immutable segments that are rebuilt from rows when lost. A commit writes its
//! rows and one small segment in one redb transaction, so redb's commit is the only commit there is.
//!
//! This crate knows no index: it moves bytes of sections that `index` and `graph` build and read.
//!
//! | to | read |
//! | --- | --- |
//! | open, write, take views | [`store`] |
//! | put files elsewhere | [`disk`] |
//! | change rows | [`staging`] |
//! | read rows | [`rows`], [`records`], [`keys`] |
//! | find chunks in a committed state | [`snapshot`], [`segment`], [`placed`] |
//! | build a segment | [`build`] |
//! | copy a store, and put it back | [`backup`] |
//! | tell a store as JSON, and make one of it | [`export`] |
//! | bring an earlier format up | [`upgrade`] |
//! | look for damage | [`check`] |
//! | see what takes room | [`usage`] |

pub mod backup;
pub mod build;
pub mod check;
mod commit;
mod database_file;
mod dir;
pub mod disk;
mod envelope;
mod error;
pub mod export;
pub mod failpoint;
mod generations;
mod group;
pub mod heads;
mod holders;
mod items;
pub mod keys;
pub mod limits;
mod lock;
mod map;
pub mod moves;
mod overlay;
mod pages;
mod parts;
pub mod permissions;
pub mod placed;
mod publish;
#[cfg(test)]
mod publish_tests;
pub mod records;
mod repair;
mod retrievals;
mod rewrite;
pub mod rows;
pub mod segment;
mod shapes;
pub mod snapshot;
mod staged;
pub mod staging;
pub mod store;
mod sync;
mod tables;
mod unfinished;
pub mod upgrade;
pub mod usage;
mod verify;

pub use commit::Durability;
pub use disk::{Disk, OsDisk};
pub use error::StoreError;
pub use keys::{ChunkKey, DocumentKey};
pub use loci_types::ids::{
    self, ConceptId, DocumentId, EditId, ItemId, Local, Ordinal, ResponseId, SegmentId, SpaceId,
    WorkId,
};
pub use map::ever_lost as ever_lost_pages;
pub use moves::Resolved;
pub use parts::NewPart;
pub use placed::{Placed, Scored};
pub use repair::{Derived, Lost};
pub use rows::Rows;
pub use snapshot::Snapshot;
pub use staging::Staging;
pub use store::{Store, StoreOptions, Views};
pub use tables::Table;
pub use unfinished::Filling;
