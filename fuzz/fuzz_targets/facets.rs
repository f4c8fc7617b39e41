//! Any bytes are facets or a typed error; what opens is listed and filtered with every predicate.
#![no_main]

use std::ops::Bound;

use libfuzzer_sys::fuzz_target;
use loci_index::facets::{FacetReader, FacetValue, Kind, Predicate, select};
use loci_storage::{Ordinal, SegmentReader};
use roaring::RoaringBitmap;

fn predicates(kind: Kind) -> Vec<Predicate> {
    let value = |at: i64| match kind {
        Kind::Integer => FacetValue::Integer(at),
        Kind::Text => FacetValue::Text(["", "a", "draft", "\u{10ffff}"][at as usize % 4].into()),
    };
    let range = |low, high| Predicate::Range { low, high };
    vec![
        Predicate::Has,
        Predicate::Equal(value(2)),
        Predicate::In(vec![value(1), value(3), value(3)]),
        Predicate::Prefix("d".into()),
        Predicate::Prefix(String::new()),
        range(Bound::Included(value(1)), Bound::Excluded(value(3))),
        range(Bound::Excluded(value(3)), Bound::Included(value(0))),
        range(Bound::Unbounded, Bound::Included(value(2))),
        range(Bound::Excluded(value(0)), Bound::Unbounded),
    ]
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = FacetReader::new(bytes) else {
        return;
    };
    let (dead, chunk_count): (RoaringBitmap, u32) = ([1].into(), 64);
    let one = SegmentReader {
        base: Ordinal(0),
        chunk_count,
        dead: &dead,
        reader: &reader,
    };
    let placed = [
        one,
        SegmentReader {
            base: Ordinal(chunk_count),
            ..one
        },
    ];
    for field in reader.fields().iter().take(16) {
        let _ = reader.values(&field.name);
        for predicate in predicates(field.kind) {
            if let Ok(locals) = reader.select(&field.name, &predicate) {
                assert!(locals.max().is_none_or(|last| last < reader.local_end()));
            }
            if let Ok(ordinals) = select(&placed, &field.name, &predicate) {
                assert!(ordinals.max().is_none_or(|last| last < 2 * chunk_count));
            }
        }
    }
});
