//! Any bytes are a manifest or a typed error; a store that has it opens and answers, or says why not.
//!
//! The bytes are patches of a valid manifest, or, after a byte that is odd, all of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_fuzz::patched;
use loci_fuzz::store::{Row, SAMPLE, read_everything};
use loci_storage::Table;
use loci_storage::records::{ManifestRecord, PartEntry};
use loci_storage::rows::decode;

const KEY: &[u8] = b"manifest";

fuzz_target!(init: loci_fuzz::ignore_caught_panics(), |bytes: &[u8]| {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let sample = SAMPLE.rows.iter().find(|row| row.key == KEY).expect("a store has a manifest");
    let payload = if kind % 2 == 1 { bytes.to_vec() } else { patched(&sample.payload, bytes) };
    let Ok(manifest) = decode::<ManifestRecord>(Table::Meta, KEY, &payload) else { return };
    let files: Vec<&PartEntry> = manifest.parts().filter(|part| part.file.is_some()).collect();
    assert!(files.len() <= manifest.segments.len() * 3 + 1);
    if let Ok(disk) = SAMPLE.with(&[Row { payload, ..sample.clone() }]) {
        let _ = read_everything(&disk);
    }
});
