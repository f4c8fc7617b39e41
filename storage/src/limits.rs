//! The limits of the store, in one place.

/// Chunks in one view, tombstoned ones included: an `Ordinal` is a u32.
pub const CHUNKS_MAX: u64 = u32::MAX as u64;
/// Bytes of one part that may lie in a row.
pub const INLINE_PART_LEN_MAX: usize = 64 << 10;
/// Bytes of all parts that may lie in rows.
pub const INLINE_PARTS_LEN_MAX: u64 = 4 << 20;
/// Parts up to this size are verified whole when opened, larger ones in the background.
pub const VERIFY_AT_OPEN_LEN_MAX: usize = 64 << 20;
/// Bytes of a document's original or text.
pub const DOCUMENT_LEN_MAX: u64 = 1 << 30;
/// Bytes of a document's key, user or collection.
pub const KEY_LEN_MAX: usize = 1024;
/// Writers that may wait for the committing thread before the next one blocks.
pub const QUEUE_LEN_MAX: usize = 256;
/// Writers that one commit acknowledges at most.
pub const GROUP_LEN_MAX: usize = 256;
/// Bytes of staged rows after which a group commits.
pub const GROUP_BYTES_MAX: usize = 32 << 20;
