//! Little-endian numbers at any offset of bytes that may be anything at all.
//!
//! Every function answers `None` in place of reading past the end.

/// `len` bytes from `offset`.
pub(crate) fn slice(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let end = offset.checked_add(len)?;
    bytes.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)
}

/// The two bytes at `offset`.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// The four bytes at `offset`.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// The eight bytes at `offset`.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_past_the_end() {
        let bytes = [1, 0, 0, 0, 0, 0, 0, 0, 2];
        assert_eq!(u64_at(&bytes, 0), Some(1));
        assert_eq!(u64_at(&bytes, 2), None);
        assert_eq!(u32_at(&bytes, 6), None);
        assert_eq!(u16_at(&bytes, 7), Some(0x0200));
        assert_eq!(u16_at(&bytes, usize::MAX), None);
        assert_eq!(slice(&bytes, 8, 1), Some(&[2][..]));
        assert_eq!(slice(&bytes, 8, 2), None);
        assert_eq!(slice(&bytes, u64::MAX, 2), None);
    }
}
