//! The truth of LociDB: rows, segments, manifest, snapshots.
//!
//! One redb file holds the rows (documents, chunks, contributions, vectors); everything that is
//! searched lies in immutable segments that are rebuilt from rows when lost. A commit writes its
//! rows and one small segment in one redb transaction, so redb's commit is the only commit there is.
//!
//! This crate knows no index: it moves bytes of sections that `index` and `graph` build and read.
//!
//! Start reading at [`ids`], then [`records`], then `segment`.

pub mod ids;
pub mod placed;
pub mod records;

pub use ids::{ConceptId, DocumentId, Local, Ordinal, SegmentId, SpaceId};
pub use placed::{Placed, Scored};
