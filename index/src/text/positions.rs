//! Where in its fields a chunk has a term: written, skipped and read.
//!
//! A position is `field · 2^24 + place in the field`. The positions of one chunk ascend and end by
//! themselves: each is a varint of twice its distance from the one before, plus 1 if another follows.

use super::{POSITION_BITS, TextError};

const DAMAGED: TextError = TextError::Malformed("positions end in the middle");

/// Bytes that a varint of 32 bits and one has at most.
const VARINT_LEN_MAX: usize = 5;

/// Appends `positions`, which ascend, to `out`.
pub(super) fn write(positions: impl ExactSizeIterator<Item = u32>, out: &mut Vec<u8>) {
    let (mut before, mut left) = (0, positions.len());
    for position in positions {
        left -= 1;
        let more = u64::from(left > 0);
        write_varint(u64::from(position - before) << 1 | more, out);
        before = position;
    }
}

fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The number at the start of `bytes`, and what follows it.
fn read_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    for (i, &byte) in bytes.iter().enumerate().take(VARINT_LEN_MAX) {
        number |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Some((number, &bytes[i + 1..]));
        }
    }
    None
}

/// The positions of chunk after chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionLists<'a>(pub(super) &'a [u8]);

impl PositionLists<'_> {
    /// Passes over the positions of the next chunk.
    pub(super) fn skip(&mut self) -> Result<(), TextError> {
        loop {
            let (number, rest) = read_varint(self.0).ok_or(DAMAGED)?;
            self.0 = rest;
            if number & 1 == 0 {
                return Ok(());
            }
        }
    }

    /// Replaces `out` by the positions of the next chunk.
    pub(super) fn read(&mut self, out: &mut Vec<u32>) -> Result<(), TextError> {
        out.clear();
        self.for_each(|position| out.push(position))
    }

    /// Calls `f` with each position of the next chunk.
    pub(super) fn for_each(&mut self, mut f: impl FnMut(u32)) -> Result<(), TextError> {
        let mut position = 0u64;
        loop {
            let (number, rest) = read_varint(self.0).ok_or(DAMAGED)?;
            self.0 = rest;
            position += number >> 1;
            f(u32::try_from(position).map_err(|_| DAMAGED)?);
            if number & 1 == 0 {
                return Ok(());
            }
        }
    }
}

/// The number of the field of a position.
pub(super) fn field_number(position: u32) -> u8 {
    (position >> POSITION_BITS) as u8
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn positions_round_trip(lists in prop::collection::vec(
            prop::collection::btree_set(any::<u32>(), 1..20), 1..10,
        )) {
            let mut bytes = Vec::new();
            for list in &lists {
                write(list.iter().copied().collect::<Vec<_>>().into_iter(), &mut bytes);
            }
            let (mut read, mut skipped) = (PositionLists(&bytes), PositionLists(&bytes));
            let mut positions = Vec::new();
            for list in &lists {
                read.read(&mut positions).unwrap();
                prop_assert_eq!(&positions.iter().copied().collect::<BTreeSet<_>>(), list);
                skipped.skip().unwrap();
                prop_assert_eq!(skipped.0.len(), read.0.len());
            }
            prop_assert!(read.0.is_empty() && read.skip().is_err());
        }

        #[test]
        fn any_bytes_are_positions_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let (mut lists, mut positions) = (PositionLists(&bytes), Vec::new());
            while lists.read(&mut positions).is_ok() {
                prop_assert!(positions.is_sorted());
            }
        }
    }
}
