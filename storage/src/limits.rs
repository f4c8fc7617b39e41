//! The limits of the store, in one place.

use std::time::Duration;

/// Chunks in one snapshot, tombstoned ones included: an `Ordinal` is a u32.
pub const CHUNKS_MAX: u64 = u32::MAX as u64;
/// Bytes of one part that may lie in a row, unless the store is opened otherwise.
pub const INLINE_PART_LEN_MAX: usize = 256 << 10;
/// Bytes of all parts that may lie in rows.
pub const INLINE_PARTS_LEN_MAX: u64 = 4 << 20;
/// Bytes of parts up to which a store is verified whole when it is opened; of a larger one the parts up to
/// [`VERIFY_PART_LEN_MAX`] are, and the others in the background, which begins at once.
pub const VERIFY_AT_OPEN_LEN_MAX: u64 = 64 << 20;
/// Parts up to this size are always verified when they are opened.
pub const VERIFY_PART_LEN_MAX: u64 = 1 << 20;
/// Bytes of a document's original or text.
pub const DOCUMENT_LEN_MAX: u64 = 1 << 30;
/// Bytes of all assets of a document.
pub const ASSETS_LEN_MAX: u64 = 1 << 30;
/// Assets of a document.
pub const ASSETS_MAX: usize = 65_536;
/// Bytes of a document's key, user or collection, and of an asset's name.
pub use loci_types::keys::KEY_LEN_MAX;
/// Bytes of a document's origin: a path, each byte of it perhaps escaped.
pub const ORIGIN_LEN_MAX: usize = 16 << 10;
/// Writers that may wait for the committing thread before the next one blocks.
pub const QUEUE_LEN_MAX: usize = 256;
/// Writers that one commit acknowledges at most.
pub const GROUP_LEN_MAX: usize = 256;
/// Bytes of staged rows after which a group commits.
pub const GROUP_BYTES_MAX: usize = 32 << 20;
/// How long a write with [`crate::Durability::Eventual`] may wait to be durable.
pub const EVENTUAL_DELAY_MAX: Duration = Duration::from_millis(200);
/// Bytes of rows that are copied in one transaction when the database is written anew.
pub const REWRITE_BYTES_MAX: usize = 8 << 20;
/// Bytes of rows that one commit of an import takes, and of a projection that one line of an export has.
pub const IMPORT_BYTES_MAX: usize = 16 << 20;
/// Likewise.
pub const EXPORT_PIECE_LEN: usize = 1 << 20;
/// Chunks of a segment that an import builds, unless one document has more.
pub const IMPORT_CHUNKS_MAX: u64 = 1 << 16;
/// Rows of a dropped vector space that one commit deletes.
pub const SWEEP_ROWS_MAX: usize = 4096;
/// Bytes of rows from which the segments of a group are built on all cores.
pub const PARALLEL_BYTES_MIN: usize = 1 << 20;
/// Rows that a copy of the database may be behind when writers are made to wait for it.
pub const CATCH_UP_ROWS_MAX: usize = 4096;
/// Times that a copy is brought up to date before writers are made to wait however many rows are left.
pub const CATCH_UP_ROUNDS_MAX: usize = 8;
/// A group waits for the writers of the last one for this part of the time that its commit took …
pub const GATHER_DELAY_DIVISOR: u32 = 4;
/// … and never longer than this.
pub const GATHER_DELAY_MAX: Duration = Duration::from_millis(2);
