//! Helpers that the fuzz targets in `fuzz_targets/` share, one target for each format that LociDB reads.
//!
//! Start reading at a target; [`data`], [`rows`] and [`store`] build its inputs.

pub mod data;
pub mod rows;
pub mod store;

use std::panic;

/// Crates that panic on damaged bytes; LociDB catches these panics and returns errors.
const PANICKING_CRATES: [&str; 3] = ["/fst-", "/redb-", "/pdf_oxide-"];

/// Keeps a run alive when one of [`PANICKING_CRATES`] panics and the panic is caught. Call it once, when the target
/// starts.
pub fn ignore_caught_panics() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |location| location.file());
        if !PANICKING_CRATES.iter().any(|name| file.contains(name)) {
            previous(panic);
        }
    }));
}

/// `whole` with some of its bytes overwritten: for sections that are too large to be built from the input. A patch is an
/// offset (u32, taken modulo the length), a length (u8) and that many bytes.
pub fn patched(whole: &[u8], mut patches: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    while let Some((&[a, b, c, d, len], rest)) = patches.split_first_chunk::<5>() {
        let (patch, rest) = rest.split_at(rest.len().min(usize::from(len)));
        let at = u32::from_le_bytes([a, b, c, d]) as usize % bytes.len().max(1);
        for (to, from) in bytes[at..].iter_mut().zip(patch) {
            *to = *from;
        }
        patches = rest;
    }
    bytes
}

/// Splits `bytes` into `N` pieces: each but the last has its length (u16) in front.
pub fn pieces<const N: usize>(mut bytes: &[u8]) -> [&[u8]; N] {
    let mut at = 0;
    [(); N].map(|()| {
        at += 1;
        if at == N {
            return bytes;
        }
        let (piece, rest) = piece(bytes);
        bytes = rest;
        piece
    })
}

/// The first piece of `bytes`, which has its length (u16) in front, and what follows.
pub fn piece(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some((&len, rest)) = bytes.split_first_chunk::<2>() else {
        return (&[], &[]);
    };
    rest.split_at(rest.len().min(usize::from(u16::from_le_bytes(len))))
}

/// The inverse of [`pieces`].
pub fn joined(pieces: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        if at + 1 < pieces.len() {
            bytes.extend((piece.len() as u16).to_le_bytes());
        }
        bytes.extend_from_slice(piece);
    }
    bytes
}

/// Repairs the checksum of a transducer: its last four bytes, a masked CRC-32C of the others.
pub fn repair_transducer_checksum(bytes: &mut [u8]) {
    let Some((body, checksum)) = bytes.split_last_chunk_mut::<4>() else {
        return;
    };
    let crc = body.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & 0u32.wrapping_sub(crc & 1))
        })
    });
    *checksum = (!crc)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
        .to_le_bytes();
}
