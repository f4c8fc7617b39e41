//! The bytes of a file that never changes: mapped, or copied to memory.

use std::sync::Arc;

use crate::map::{LostPages, MappedFile};

/// Bytes at whose multiples buffers and sections start: a cache line.
pub(crate) const ALIGN: usize = 64;

/// The bytes of a part: a map of a file, or a buffer that starts on a cache line.
#[derive(Debug)]
pub enum PartBytes {
    /// A mapped file.
    Mapped(MappedFile),
    /// A buffer.
    Owned(rkyv::util::AlignedVec<ALIGN>),
}

impl PartBytes {
    /// Whether pages were lost since it was mapped: what was read may be zeros that nobody wrote.
    pub fn has_lost_pages(&self) -> bool {
        match self {
            PartBytes::Mapped(map) => map.has_lost_pages(),
            PartBytes::Owned(_) => false,
        }
    }

    /// Has `counter` count it when it loses pages.
    pub(crate) fn count_with(&mut self, counter: &Arc<LostPages>) {
        if let PartBytes::Mapped(map) = self {
            map.count_with(counter);
        }
    }

    /// A copy of `bytes` that starts on a cache line.
    pub fn copy(bytes: &[u8]) -> PartBytes {
        let mut owned = rkyv::util::AlignedVec::with_capacity(bytes.len());
        owned.extend_from_slice(bytes);
        PartBytes::Owned(owned)
    }
}

impl AsRef<[u8]> for PartBytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            PartBytes::Mapped(map) => map.as_ref(),
            PartBytes::Owned(bytes) => bytes,
        }
    }
}
