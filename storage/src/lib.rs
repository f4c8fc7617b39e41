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

mod commit;
mod database;
mod error;
pub mod failpoint;
mod files;
pub mod limits;
mod maintenance;
mod map;
mod progress;
mod publish;
pub mod rows;
mod section;
pub mod segment;
pub mod snapshot;
pub mod staging;
pub mod store;

pub use commit::host::Durability;
pub use error::{FolderOperation, StoreError};
pub use files::disk::{Disk, OsDisk};
pub use files::{disk, permissions};
pub use loci_types::ids::{
    self, ConceptEditId, ConceptId, DocumentId, ItemId, LocalOrdinal, Ordinal, ResponseId,
    SegmentId, SpaceId, WorkId,
};
pub use maintenance::{backup, check, export, upgrade, usage};
pub use map::ever_lost as ever_lost_pages;
pub use rows::concept_aliases::ResolvedConcept;
pub use rows::keys::{ChunkKey, DocumentKey};
pub use rows::tables::Table;
pub use rows::{Rows, keys, metadata, records};
pub use segment::{NewPart, ScoredChunk, SegmentReader, build};
pub use snapshot::{DerivedIndex, LostIndex, Snapshot};
pub use staging::Staging;
pub use store::{IndexFactory, Store, StoreOptions};
