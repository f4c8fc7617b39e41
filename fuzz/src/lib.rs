//! What fuzz targets share.

pub mod data;
pub mod rows;
pub mod store;

use std::panic;

/// Crates that panic over damaged bytes, which those that call them turn into errors.
const FORGIVEN: [&str; 3] = ["/fst-", "/redb-", "/pdf_oxide-"];

/// Has a panic of a crate whose callers catch it end no run, as long as they do catch it. To be called once, when
/// the target starts.
pub fn forgive_caught_panics() {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let file = panic.location().map_or("", |location| location.file());
        if !FORGIVEN.iter().any(|name| file.contains(name)) {
            told(panic);
        }
    }));
}

/// `whole` with some of its bytes overwritten: for sections that are too large to be made of nothing. A patch is a
/// place (u32, taken modulo the length), a length (u8) and as many bytes.
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

/// Cuts `bytes` into `N` pieces: each but the last has its length (u16) in front.
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

/// What [`pieces`] cuts into these.
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

/// Makes the checksum of a transducer right: its last four bytes, a CRC-32C of the others, masked.
pub fn mend_transducer(bytes: &mut [u8]) {
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
