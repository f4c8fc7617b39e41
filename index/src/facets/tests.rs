use std::collections::BTreeSet;

use loci_storage::{LocalOrdinal, Ordinal, SegmentReader};
use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::*;

type Row = (u32, &'static str, FacetValue);

fn text(text: &str) -> FacetValue {
    FacetValue::Text(text.to_owned())
}

fn section(rows: &[Row]) -> Vec<u8> {
    let mut builder = FacetBuilder::new();
    for (local, field, value) in rows {
        builder.push(LocalOrdinal(*local), field, value.clone());
    }
    builder.finish()
}

/// What the documentation of [`Predicate`] says, word for word.
fn is_match(predicate: &Predicate, value: &FacetValue) -> bool {
    match predicate {
        Predicate::Equal(other) => value == other,
        Predicate::In(others) => others.contains(value),
        Predicate::Range { low, high } => {
            let fits =
                |bound: &Bound<FacetValue>, ok: fn(&FacetValue, &FacetValue) -> bool| match bound {
                    Bound::Unbounded => true,
                    Bound::Included(bound) => {
                        Kind::from(bound) == Kind::from(value)
                            && (ok(value, bound) || value == bound)
                    }
                    Bound::Excluded(bound) => {
                        Kind::from(bound) == Kind::from(value) && ok(value, bound)
                    }
                };
            fits(low, |value, bound| value > bound) && fits(high, |value, bound| value < bound)
        }
        Predicate::Prefix(prefix) => {
            matches!(value, FacetValue::Text(text) if text.starts_with(prefix.as_str()))
        }
        Predicate::Has => true,
    }
}

fn oracle(rows: &[Row], field: &str, predicate: &Predicate) -> RoaringBitmap {
    let fits = |row: &&Row| row.1 == field && is_match(predicate, &row.2);
    rows.iter().filter(fits).map(|row| row.0).collect()
}

fn any_value() -> impl Strategy<Value = FacetValue> {
    prop_oneof![
        (-3i64..4).prop_map(FacetValue::Integer),
        Just(FacetValue::Integer(i64::MIN)),
        "[abé]{0,3}".prop_map(FacetValue::Text),
    ]
}

fn any_bound() -> impl Strategy<Value = Bound<FacetValue>> {
    prop_oneof![
        Just(Bound::Unbounded),
        any_value().prop_map(Bound::Included),
        any_value().prop_map(Bound::Excluded),
    ]
}

fn any_predicate() -> impl Strategy<Value = Predicate> {
    prop_oneof![
        any_value().prop_map(Predicate::Equal),
        prop::collection::vec(any_value(), 0..4).prop_map(Predicate::In),
        (any_bound(), any_bound()).prop_map(|(low, high)| Predicate::Range { low, high }),
        "[abé]{0,2}".prop_map(Predicate::Prefix),
        Just(Predicate::Has),
    ]
}

fn any_rows() -> impl Strategy<Value = Vec<Row>> {
    let field = prop::sample::select(vec!["", "a", "year"]);
    prop::collection::vec((0u32..100, field, any_value()), 0..60)
}

#[test]
fn every_predicate_selects_matching_chunks() {
    let rows = [
        (0, "topic", text("Rust")),
        (1, "topic", text("rust")),
        (1, "topic", text("rustc")),
        (2, "year", FacetValue::Integer(1999)),
        (3, "year", FacetValue::Integer(2024)),
        (4, "year", text("unknown")),
    ];
    let reader = FacetReader::new(section(&rows)).unwrap();
    let year = |low, high| Predicate::Range { low, high };
    let number = FacetValue::Integer;
    let cases: &[(&str, Predicate, &[u32])] = &[
        ("topic", Predicate::Equal(text("rust")), &[1]),
        (
            "topic",
            Predicate::In(vec![text("Rust"), text("rustc"), number(1)]),
            &[0, 1],
        ),
        ("topic", Predicate::Prefix("rust".into()), &[1]),
        ("topic", Predicate::Prefix("".into()), &[0, 1]),
        ("topic", Predicate::Equal(number(1)), &[]),
        (
            "year",
            year(Bound::Included(number(1999)), Bound::Excluded(number(2024))),
            &[2],
        ),
        (
            "year",
            year(Bound::Excluded(number(1999)), Bound::Unbounded),
            &[3],
        ),
        (
            "year",
            year(Bound::Unbounded, Bound::Included(text("z"))),
            &[4],
        ),
        ("year", year(Bound::Unbounded, Bound::Unbounded), &[2, 3, 4]),
        (
            "year",
            year(Bound::Included(number(9)), Bound::Included(number(1))),
            &[],
        ),
        ("year", Predicate::Has, &[2, 3, 4]),
        ("absent", Predicate::Has, &[]),
    ];
    for (field, predicate, expected) in cases {
        let selected: Vec<u32> = reader.select(field, predicate).unwrap().iter().collect();
        assert_eq!(selected, *expected, "{field} {predicate:?}");
    }
}

#[test]
fn fields_and_values_are_listed_in_order() {
    let rows = [
        (7, "year", FacetValue::Integer(2)),
        (7, "year", text("b")),
        (3, "year", FacetValue::Integer(-1)),
        (4, "year", FacetValue::Integer(2)),
        (1, "a", text("x")),
    ];
    let reader = FacetReader::new(section(&rows)).unwrap();
    let info = |name: &str, kind, distinct| FieldInfo {
        name: name.into(),
        kind,
        distinct,
    };
    let expected = [
        info("a", Kind::Text, 1),
        info("year", Kind::Integer, 2),
        info("year", Kind::Text, 1),
    ];
    assert_eq!(reader.fields(), expected);
    let values = [
        (FacetValue::Integer(-1), 1),
        (FacetValue::Integer(2), 2),
        (text("b"), 1),
    ];
    assert_eq!(reader.values("year").unwrap(), values);
    assert_eq!(
        (reader.local_end(), reader.values("absent").unwrap().len()),
        (8, 0)
    );
}

#[test]
fn field_with_many_values_selects_like_field_with_few() {
    let many = BITMAPS_MAX as i64 + 10;
    let rows: Vec<Row> = (0..many)
        .map(|i| (i as u32 / 2, "n", FacetValue::Integer(i * 7 % many)))
        .collect();
    let reader = FacetReader::new(section(&rows)).unwrap();
    assert_eq!(reader.fields()[0].distinct as i64, many);
    let number = FacetValue::Integer;
    for predicate in [
        Predicate::Equal(number(77)),
        Predicate::In(vec![number(5), number(4000), number(5), number(-1)]),
        Predicate::Range {
            low: Bound::Excluded(number(10)),
            high: Bound::Included(number(99)),
        },
        Predicate::Has,
        Predicate::Equal(number(many)),
    ] {
        assert_eq!(
            reader.select("n", &predicate).unwrap(),
            oracle(&rows, "n", &predicate)
        );
    }
    let counts = reader.values("n").unwrap();
    assert!(counts.iter().all(|&(_, count)| count == 1) && counts.len() as i64 == many);
}

#[test]
fn select_merges_segments_without_deleted_chunks() {
    let reader = FacetReader::new(section(&[(0, "a", text("x")), (2, "a", text("y"))])).unwrap();
    let (none, dead) = (RoaringBitmap::new(), RoaringBitmap::from([0]));
    let place = |base, chunk_count, dead| SegmentReader {
        base: Ordinal(base),
        chunk_count,
        dead,
        reader: &reader,
    };
    let found = select(
        &[place(0, 3, &none), place(10, 3, &dead)],
        "a",
        &Predicate::Has,
    )
    .unwrap();
    assert_eq!(found, RoaringBitmap::from([0, 2, 12]));
    assert!(select(&[place(0, 2, &none)], "a", &Predicate::Has).is_err());
    assert!(
        select(
            &[place(5, 3, &none), place(0, 3, &none)],
            "a",
            &Predicate::Has
        )
        .is_err()
    );
}

/// A change here is a new format version, not a new expectation.
#[test]
fn bytes_are_those_of_version_1() {
    let bytes = section(&[(2, "n", FacetValue::Integer(-1))]);
    assert_eq!(
        bytes[..16],
        [1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]
    );
    let entry = [
        1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 56, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(bytes[16..40], entry);
    assert_eq!(
        bytes[40..56],
        [57, 0, 0, 0, 0, 0, 0, 0, 65, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!((bytes[56], &bytes[57..65]), (b'n', &[255; 8][..]));
    assert_eq!(
        bytes[65..81],
        [0, 0, 0, 0, 0, 0, 0, 0, 18, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(bytes.len(), 81 + 18);
}

fn exercise(bytes: Vec<u8>, predicates: &[Predicate]) {
    let Ok(reader) = FacetReader::new(bytes) else {
        return;
    };
    let names: BTreeSet<String> = reader
        .fields()
        .into_iter()
        .map(|field| field.name)
        .collect();
    for name in names {
        let _ = reader.values(&name);
        for predicate in predicates {
            if let Ok(selected) = reader.select(&name, predicate) {
                assert!(selected.max().is_none_or(|last| last < reader.local_end()));
            }
        }
    }
}

proptest! {
    #[test]
    fn select_agrees_with_full_scan(
        rows in any_rows(), predicates in prop::collection::vec(any_predicate(), 1..8),
    ) {
        let reader = FacetReader::new(section(&rows)).unwrap();
        for predicate in &predicates {
            for field in ["", "a", "year", "absent"] {
                prop_assert_eq!(
                    reader.select(field, predicate).unwrap(),
                    oracle(&rows, field, predicate),
                    "{} {:?}", field, predicate
                );
            }
        }
    }

    #[test]
    fn truncated_or_altered_bytes_never_panic(
        rows in any_rows(),
        predicates in prop::collection::vec(any_predicate(), 1..4),
        keep in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = section(&rows);
        exercise(bytes[..keep.index(bytes.len() + 1)].to_vec(), &predicates);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        exercise(bytes, &predicates);
    }
}
