//! The segments that a section of the analysis was computed from, four words each: id (two words), dead chunks, the
//! ordinal of the first chunk.

use loci_storage::SegmentId;

use crate::u32_slice::U32Slice;

/// Words of a segment.
pub(crate) const SEGMENT_WORDS: usize = 4;

/// The words of a segment.
pub(crate) fn encode(id: SegmentId, dead: u32, base: u32) -> [u32; SEGMENT_WORDS] {
    [id.0 as u32, (id.0 >> 32) as u32, dead, base]
}

/// How many segments `words` list.
pub(crate) fn len(words: U32Slice<'_>) -> usize {
    words.len() / SEGMENT_WORDS
}

/// Id, dead chunks and first ordinal of a listed segment.
pub(crate) fn get(words: U32Slice<'_>, index: usize) -> (SegmentId, u64, u64) {
    let word = |i: usize| u64::from(words.get(index * SEGMENT_WORDS + i).unwrap_or(0));
    (SegmentId(word(0) | word(1) << 32), word(2), word(3))
}
