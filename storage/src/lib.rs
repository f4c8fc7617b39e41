//! The storage of LociDB: rows, segments, manifest, snapshots.
//!
//! One redb file holds the rows (documents, chunks, contributions, vectors). Everything that is searched is
//! stored in immutable segments, which can be rebuilt from rows. A commit writes its rows and one small segment
//! in one redb transaction, so redb's commit is the only commit there is.
//!
//! This crate knows no index: it stores bytes of sections that `index` and `graph` build and read.
//!
//! Folders, lowest first; each uses only those above it in the table.
//!
//! | folder | contents | to | read |
//! | --- | --- | --- | --- |
//! | `map` | mapped files, and faults of reading them: the only `unsafe` code | | |
//! | `publish` | the newest snapshot, its readers, and files that none of them needs | | |
//! | `files` | every file operation: disks, locks, permissions, names | put files elsewhere | [`disk`] |
//! | `rows` | tables, keys, records, checksums, schema | read rows | [`rows`], [`records`], [`keys`] |
//! | `database` | the redb file: pages, format, verification, copies | | |
//! | `segment` | parts and their sections | build or read a segment | [`segment`], [`build`] |
//! | `snapshot` | one committed state | find chunks in it | [`snapshot`] |
//! | `staging` | the changes of one writer | change rows | [`staging`] |
//! | `commit` | the committing thread | | |
//! | `store` | opening, writing, rebuilding, rewriting | open a store, write, get snapshots | [`store`] |
//! | `maintenance` | what keeps a store safe | copy a store, and restore it | [`backup`] |
//! | | | write a store as JSON, and import it | [`export`] |
//! | | | upgrade an earlier format | [`upgrade`] |
//! | | | look for damage | [`check`] |
//! | | | measure disk usage | [`usage`] |

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
