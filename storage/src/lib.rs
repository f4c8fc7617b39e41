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
//! | find chunks in a committed state | [`snapshot`], [`segment`], [`segment_reader`] |
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
pub mod concept_edits;
mod database_file;
mod dir;
pub mod disk;
mod envelope;
mod error;
pub mod export;
pub mod failpoint;
mod generations;
mod group;
mod items;
pub mod keys;
pub mod limits;
mod lock;
mod lock_holders;
mod lock_note;
mod map;
pub mod metadata;
mod overlay;
mod pages;
mod parts;
pub mod permissions;
mod publish;
#[cfg(test)]
mod publish_tests;
pub mod records;
mod repair;
mod retrievals;
mod rewrite;
pub mod rows;
mod schema;
pub mod segment;
pub mod segment_reader;
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
pub use concept_edits::ResolvedConcept;
pub use disk::{Disk, OsDisk};
pub use error::StoreError;
pub use keys::{ChunkKey, DocumentKey};
pub use loci_types::ids::{
    self, ConceptId, DocumentId, EditId, ItemId, Local, Ordinal, ResponseId, SegmentId, SpaceId,
    WorkId,
};
pub use lock_note::write_server_note;
pub use map::ever_lost as ever_lost_pages;
pub use parts::NewPart;
pub use repair::{DerivedIndex, LostIndex};
pub use rows::Rows;
pub use segment_reader::{ScoredChunk, SegmentReader};
pub use snapshot::Snapshot;
pub use staging::Staging;
pub use store::{IndexFactory, Store, StoreOptions};
pub use tables::Table;
pub use unfinished::FolderOperation;
