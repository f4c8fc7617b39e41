//! A store whose rows are any bytes opens and answers, or says why not.
//!
//! The bytes: rows that are changed, each a number (u16) among those of the sample store, a byte, and patches of the row
//! or, where the byte is odd, all of it, with their length (u16) in front.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_fuzz::store::{Row, SAMPLE, read_everything};
use loci_fuzz::{patched, piece};

/// Rows that are changed at most.
const ROWS_MAX: usize = 4;

fuzz_target!(init: loci_fuzz::ignore_caught_panics(), |bytes: &[u8]| {
    let mut bytes = bytes;
    let mut rows: Vec<Row> = Vec::new();
    while let Some((&[low, high, kind], rest)) = bytes.split_first_chunk::<3>() {
        let (piece, rest) = piece(rest);
        let row = &SAMPLE.rows[usize::from(u16::from_le_bytes([low, high])) % SAMPLE.rows.len()];
        let payload = if kind % 2 == 1 { piece.to_vec() } else { patched(&row.payload, piece) };
        rows.push(Row { payload, ..row.clone() });
        bytes = rest;
        if rows.len() == ROWS_MAX {
            break;
        }
    }
    if !rows.is_empty() && let Ok(disk) = SAMPLE.with(&rows) {
        let _ = read_everything(&disk);
    }
});
