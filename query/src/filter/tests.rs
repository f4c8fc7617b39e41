use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

fn is(field: &str, test: Test) -> Expr {
    Expr::Is(Comparison {
        field: field.to_owned(),
        test,
    })
}

/// What chunks hold: field → values.
type Chunk = BTreeMap<&'static str, Vec<FacetValue>>;

const FIELD_SAMPLE: [&str; 4] = ["page", "line", "topic", "meta.my key"];

fn satisfies(value: &FacetValue, predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Equal(wanted) => value == wanted,
        Predicate::In(wanted) => wanted.contains(value),
        Predicate::Range { low, high } => {
            let above = match low {
                Bound::Included(low) => value >= low,
                Bound::Excluded(low) => value > low,
                Bound::Unbounded => true,
            };
            let below = match high {
                Bound::Included(high) => value <= high,
                Bound::Excluded(high) => value < high,
                Bound::Unbounded => true,
            };
            above && below
        }
        Predicate::Prefix(prefix) => {
            matches!(value, FacetValue::Text(text) if text.starts_with(prefix))
        }
        Predicate::Has => true,
    }
}

/// Plainly right: one chunk at a time, straight from the meaning of the operators.
fn chunk_satisfies(expr: &Expr, chunk: &Chunk) -> bool {
    match expr {
        Expr::And(parts) => parts.iter().all(|part| chunk_satisfies(part, chunk)),
        Expr::Or(parts) => parts.iter().any(|part| chunk_satisfies(part, chunk)),
        Expr::Not(part) => !chunk_satisfies(part, chunk),
        Expr::Is(Comparison { field, test }) => {
            let values = chunk.get(&field[..]).map_or(&[][..], Vec::as_slice);
            let number = |test: &dyn Fn(i64) -> bool| {
                values
                    .iter()
                    .any(|value| matches!(value, FacetValue::Integer(n) if test(*n)))
            };
            match test {
                Test::Equal(wanted) | Test::Has(wanted) => values.contains(wanted),
                Test::NotEqual(wanted) => !values.is_empty() && !values.contains(wanted),
                Test::Below(high) => number(&|n| n < *high),
                Test::AtMost(high) => number(&|n| n <= *high),
                Test::Above(low) => number(&|n| n > *low),
                Test::AtLeast(low) => number(&|n| n >= *low),
                Test::Between(low, high) => number(&|n| (*low..=*high).contains(&n)),
                Test::OneOf(wanted) => values.iter().any(|value| wanted.contains(value)),
                Test::Exists => !values.is_empty(),
                Test::Prefix(prefix) => values.iter().any(
                    |value| matches!(value, FacetValue::Text(text) if text.starts_with(prefix)),
                ),
            }
        }
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{0,2}",
        "[a-c.\"'\\\\ ü()-]{0,5}",
        Just("and".to_owned())
    ]
}

fn any_test(field: &'static str) -> BoxedStrategy<Test> {
    let any_number = || 0i64..4;
    let value = move || match field {
        "page" | "line" => any_number().prop_map(FacetValue::Integer).boxed(),
        _ => any_text().prop_map(FacetValue::Text).boxed(),
    };
    let common = prop_oneof![
        value().prop_map(Test::Equal),
        value().prop_map(Test::NotEqual),
        value().prop_map(Test::Has),
        prop::collection::vec(value(), 1..4).prop_map(Test::OneOf),
        Just(Test::Exists),
    ];
    let ordered = prop_oneof![
        any_number().prop_map(Test::Below),
        any_number().prop_map(Test::AtMost),
        any_number().prop_map(Test::Above),
        any_number().prop_map(Test::AtLeast),
        (any_number(), any_number()).prop_map(|(a, b)| Test::Between(a.min(b), a.max(b))),
    ];
    match field {
        "page" | "line" => prop_oneof![common, ordered].boxed(),
        _ => prop_oneof![common, any_text().prop_map(Test::Prefix)].boxed(),
    }
}

fn any_expr() -> impl Strategy<Value = Expr> {
    let leaf = prop::sample::select(&FIELD_SAMPLE[..])
        .prop_flat_map(|field| any_test(field).prop_map(move |test| is(field, test)));
    leaf.prop_recursive(4, 16, 3, |part| {
        prop_oneof![
            prop::collection::vec(part.clone(), 2..4).prop_map(Expr::And),
            prop::collection::vec(part.clone(), 2..4).prop_map(Expr::Or),
            part.prop_map(|part| Expr::Not(Box::new(part))),
        ]
    })
}

fn any_chunk() -> impl Strategy<Value = Chunk> {
    let pages = prop::collection::vec((0i64..4).prop_map(FacetValue::Integer), 0..3);
    let texts = || prop::collection::vec(any_text().prop_map(FacetValue::Text), 0..3);
    let lines = (0i64..4, 0i64..4).prop_map(|(a, b)| {
        // None where they are in the wrong order.
        (a..=b).map(FacetValue::Integer).collect::<Vec<_>>()
    });
    (pages, lines, texts(), texts()).prop_map(|(pages, lines, topics, free)| {
        FIELD_SAMPLE
            .into_iter()
            .zip([pages, lines, topics, free])
            .collect()
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_parsed_back(expr in any_expr()) {
        let printed = expr.to_string();
        prop_assert_eq!(Expr::parse(&printed).map_err(|e| format!("{printed}: {e}")), Ok(expr));
    }

    #[test]
    fn sets_agree_with_looking_at_every_chunk(
        expr in any_expr(),
        chunks in prop::collection::vec(any_chunk(), 0..12),
        dead in prop::collection::vec(0u32..12, 0..4),
    ) {
        let mut universe: RoaringBitmap = (0..chunks.len() as u32).collect();
        for chunk in dead {
            universe.remove(chunk);
        }
        let chunks_with = |field: &str, predicate: &Predicate| {
            let values = |chunk: &Chunk| match field {
                "line.first" => chunk["line"].first().cloned().into_iter().collect(),
                "line.last" => chunk["line"].last().cloned().into_iter().collect(),
                field => chunk[field].clone(),
            };
            let with = |chunk: &Chunk| values(chunk).iter().any(|value| satisfies(value, predicate));
            let all = (0u32..).zip(&chunks).filter(|(_, chunk)| with(chunk));
            Ok::<_, Infallible>(all.map(|(i, _)| i).collect::<RoaringBitmap>())
        };
        let got = evaluate(&expr, &chunks_with, &universe).unwrap();
        let want: RoaringBitmap =
            universe.iter().filter(|&i| chunk_satisfies(&expr, &chunks[i as usize])).collect();
        prop_assert_eq!(got, want);
    }
}

#[test]
fn evaluation_stops_when_no_chunk_is_left() {
    let asked = Cell::new(0);
    let none = |_: &str, _: &Predicate| {
        asked.set(asked.get() + 1);
        Ok::<_, Infallible>(RoaringBitmap::new())
    };
    let expr = Expr::parse("page = 1 and title = x and (year = 3 or slide = 2)").unwrap();
    assert!(
        evaluate(&expr, &none, &(0..9).collect())
            .unwrap()
            .is_empty()
    );
    assert_eq!(asked.get(), 1);
}

#[test]
fn index_errors_are_propagated() {
    let broken = |_: &str, _: &Predicate| Err::<RoaringBitmap, _>("damaged");
    let expr = Expr::parse("not page = 1").unwrap();
    assert_eq!(evaluate(&expr, &broken, &(0..9).collect()), Err("damaged"));
}
