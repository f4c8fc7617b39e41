//! Any bytes are names or a typed error; what opens is looked up, and links texts.
//!
//! The transducer's own checksum, its last four bytes, is repaired, so that the code behind the check is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_graph::link::{link_parts, lookup};
use loci_graph::{NamesReader, link};

const TEXT: &str = "Water and the method of Loci: neural networks, memory palaces in Rome. aa ab b";
/// Bytes before the transducer.
const HEADER_LEN: usize = 16;

fuzz_target!(init: loci_fuzz::ignore_caught_panics(), |bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if let Some(transducer) = bytes.get_mut(HEADER_LEN..) {
        loci_fuzz::repair_transducer_checksum(transducer);
    }
    let Ok(reader) = NamesReader::open(&bytes[..]) else { return };
    assert_eq!(reader.is_empty(), reader.len() == 0);
    for name in ["water", "method of loci", "", "a"] {
        assert_eq!(reader.get(name), lookup(&[&reader], name));
    }
    let readers = [&reader, &reader];
    let links = link(&readers, TEXT);
    link_parts(&readers, TEXT, &links, |_| true, |concept| concept.0 as f32);
});
