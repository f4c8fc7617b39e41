//! What a caller gives a store: how to open it, and what opens and builds its indexes.

use std::sync::Arc;

use crate::error::StoreError;
use crate::files::disk::{Disk, OsDisk};
use crate::limits::INLINE_PART_LEN_MAX;
use crate::segment::build::SegmentBuilder;
use crate::snapshot::{OpenSegment, Snapshot};

/// What a caller makes of snapshots, and what builds the segments that they consist of.
pub trait IndexFactory: Send + Sync + 'static {
    /// A snapshot with its indexes open.
    type IndexedSnapshot: Send + Sync + 'static;

    /// Whether the indexes of a segment can be opened. One that cannot is rebuilt from rows.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, segment: &OpenSegment) -> Result<(), StoreError>;

    /// Opens the indexes of a snapshot, sharing what did not change since `previous`.
    fn open(
        &self,
        snapshot: Snapshot,
        previous: Option<&Self::IndexedSnapshot>,
    ) -> Result<Self::IndexedSnapshot, StoreError>;

    /// The snapshot that a view was made of.
    fn snapshot<'v>(&self, view: &'v Self::IndexedSnapshot) -> &'v Snapshot;

    /// What writes the indexes of a new segment, in the vector space of `view`.
    fn builder<'v>(&'v self, view: &'v Self::IndexedSnapshot) -> Box<dyn SegmentBuilder + 'v>;
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Whether a store is made where there is none.
    pub create: bool,
    /// Bytes that redb may keep cached.
    pub cache_bytes: usize,
    /// Where its files lie.
    pub disk: Arc<dyn Disk>,
    /// Bytes of an index part that may lie in the database's file; a larger one gets a file of its own.
    pub inline_len_max: usize,
    /// Whether the store is only read: nothing on disk is changed, others may read it too, and what opening it has to put
    /// right is put right in memory.
    pub read_only: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            create: true,
            cache_bytes: 256 << 20,
            disk: Arc::new(OsDisk),
            inline_len_max: INLINE_PART_LEN_MAX,
            read_only: false,
        }
    }
}
