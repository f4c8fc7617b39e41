use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

fn text(text: &str) -> FacetValue {
    FacetValue::Text(text.to_owned())
}

fn is(field: &str, test: Test) -> Expr {
    Expr::Is(Comparison {
        field: field.to_owned(),
        test,
    })
}

#[test]
fn filters_are_parsed() {
    let year = || is("year", Test::AtLeast(2020));
    let cases: Vec<(&str, Expr)> = vec![
        (
            "page = 42",
            is("page", Test::Equal(FacetValue::Integer(42))),
        ),
        ("user_id = 7", is("user_id", Test::Equal(text("7")))),
        ("year>=2020", year()),
        ("page in 10..20", is("page", Test::Between(10, 20))),
        ("page in -3 .. 20", is("page", Test::Between(-3, 20))),
        (
            "level in (paragraph, SENTENCE)",
            is(
                "level",
                Test::OneOf(vec![text("paragraph"), text("sentence")]),
            ),
        ),
        (
            "topic in [a,b]",
            is("topic", Test::OneOf(vec![text("a"), text("b")])),
        ),
        (
            "topics has databases",
            is("topic", Test::Has(text("databases"))),
        ),
        ("doi has", is("doi", Test::Exists)),
        (
            "key prefix \"lectures/week3/\"",
            is("document", Test::Prefix("lectures/week3/".into())),
        ),
        (
            "key prefix lectures/week3/",
            is("document", Test::Prefix("lectures/week3/".into())),
        ),
        (
            "author = 'O\\'Reilly'",
            is("author", Test::Equal(text("O'Reilly"))),
        ),
        (
            "section_number = 3.2",
            is("section_number", Test::Equal(text("3.2"))),
        ),
        (
            "has_equations = yes",
            is("has_equations", Test::Equal(text("true"))),
        ),
        ("confidence > 0.75", is("confidence", Test::Above(750))),
        (
            "meta.course = \"CS 186\"",
            is("meta.course", Test::Equal(text("CS 186"))),
        ),
        (
            "meta.\"my key\" != x",
            is("meta.my key", Test::NotEqual(text("x"))),
        ),
        ("meta.week < 3", is("meta.week", Test::Below(3))),
        ("title = \"and\"", is("title", Test::Equal(text("and")))),
        (
            "not not year >= 2020",
            Expr::Not(Box::new(Expr::Not(Box::new(year())))),
        ),
        (
            "slide = 1 OR year >= 2020 and not line = 3",
            Expr::Or(vec![
                is("slide", Test::Equal(FacetValue::Integer(1))),
                Expr::And(vec![
                    year(),
                    Expr::Not(Box::new(is("line", Test::Equal(FacetValue::Integer(3))))),
                ]),
            ]),
        ),
        (
            "time in 1:00..90.5",
            is("time", Test::Between(60_000, 90_500)),
        ),
        ("timestamp < 90", is("time", Test::Below(90_000))),
        ("chars in 3..9", is("char", Test::Between(3, 9))),
        (
            "images has \"fig1.png\"",
            is("image", Test::Has(text("fig1.png"))),
        ),
        (
            "ingested_at >= 1970-01-02",
            is("ingested_at", Test::AtLeast(86_400_000)),
        ),
        (
            "ingested_at <= 1970-01-02",
            is("ingested_at", Test::AtMost(2 * 86_400_000 - 1)),
        ),
        (
            "ingested_at = 1970-01-01T00:00:01",
            is("ingested_at", Test::Between(1000, 1999)),
        ),
        (
            "ingested_at in 1970-01-01..86400000",
            is("ingested_at", Test::Between(0, 86_400_000)),
        ),
        (
            "ingested_at in (1970-01-01, 1970-01-03)",
            Expr::Or(vec![
                is("ingested_at", Test::Between(0, 86_399_999)),
                is("ingested_at", Test::Between(172_800_000, 259_199_999)),
            ]),
        ),
        (
            "ingested_at != 1970-01-01",
            Expr::And(vec![
                is("ingested_at", Test::Exists),
                Expr::Not(Box::new(is("ingested_at", Test::Between(0, 86_399_999)))),
            ]),
        ),
        ("(((year >= 2020)))", year()),
        (
            "doi has and year >= 2020",
            Expr::And(vec![is("doi", Test::Exists), year()]),
        ),
    ];
    for (filter, want) in cases {
        assert_eq!(Expr::parse(filter).as_ref(), Ok(&want), "{filter}");
        assert_eq!(Expr::parse(&want.to_string()), Ok(want), "{filter}");
    }
}

#[test]
fn errors_name_the_column_and_what_was_expected() {
    let deep = format!("{}page = 1", "not ".repeat(DEPTH_MAX));
    let cases = [
        (
            "",
            "column 1: expected a field, `not` or `(`, found the end",
        ),
        ("page = ", "column 8: expected a value, found the end"),
        (
            "page in 20..10",
            "column 9: the range is empty: its ends are in the wrong order",
        ),
        (
            "page in 20",
            "column 11: expected `..` and the range's end, found the end",
        ),
        (
            "page in",
            "column 8: expected a range low..high or a list (a, b, …), found the end",
        ),
        (
            "chapter_title = Two words",
            "column 21: expected `and`, `or` or the end, found `words`",
        ),
        (
            "pge = 3",
            "column 1: no field is called \"pge\"; did you mean page?",
        ),
        ("é = 3", "column 1: no field is called \"é\""),
        (
            "level = chapter",
            "column 9: level is never \"chapter\"; it can be summary, section, paragraph, \
             proposition, sentence, citation",
        ),
        (
            "page = two",
            "column 8: page is never \"two\"; it can be a whole number",
        ),
        (
            "confidence > 2",
            "column 14: confidence is never \"2\"; it can be a number from 0 to 1",
        ),
        (
            "ingested_at > soon",
            "column 15: ingested_at is never \"soon\"; it can be a date such as 2026-01-31 or \
             2026-01-31T09:30, in UTC, or milliseconds since 1970",
        ),
        (
            "ingested_at prefix 2026",
            "column 13: ingested_at is not text; prefix is for text",
        ),
        (
            "ingested_at 2026",
            "column 13: expected = != < <= > >= in has or prefix, found `2026`",
        ),
        (
            "ingested_at in 2026..2025",
            "column 16: the range is empty: its ends are in the wrong order",
        ),
        (
            "time > 1:99",
            "column 8: time is never \"1:99\"; it can be a number of seconds, or h:mm:ss",
        ),
        (
            "title < \"M\"",
            "column 7: title is text, which has no order here; use prefix, = or in (…)",
        ),
        (
            "year prefix 20",
            "column 6: year is not text; prefix is for text",
        ),
        (
            "(page = 3 or page = 4",
            "column 1: the parenthesis is not closed",
        ),
        ("page in (3, 4", "column 9: the parenthesis is not closed"),
        ("title = \"über", "column 9: the quotation is not closed"),
        (
            "page = 3)",
            "column 9: expected `and`, `or` or the end, found `)`",
        ),
        (
            "page 3",
            "column 6: expected = != < <= > >= in has or prefix, found `3`",
        ),
        (
            "page = 3 and and",
            "column 14: expected a field, `not` or `(`, found `and`",
        ),
        (
            "! page = 3",
            "column 1: expected a field or a value, found !",
        ),
        (
            &deep,
            "column 257: parentheses and `not` nest more than 64 deep",
        ),
    ];
    for (filter, want) in cases {
        assert_eq!(
            Expr::parse(filter).unwrap_err().to_string(),
            want,
            "{filter}"
        );
    }
    let long = "x".repeat(FILTER_LEN_MAX + 1);
    assert!(matches!(
        Expr::parse(&long).unwrap_err().problem,
        Problem::TooLong { .. }
    ));
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
fn holds(expr: &Expr, chunk: &Chunk) -> bool {
    match expr {
        Expr::And(parts) => parts.iter().all(|part| holds(part, chunk)),
        Expr::Or(parts) => parts.iter().any(|part| holds(part, chunk)),
        Expr::Not(part) => !holds(part, chunk),
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
    fn any_text_gives_a_filter_or_an_error(filter in "[ -~ü]{0,40}|([a-z]{0,5}|page|title|[=<>!()\\[\\].,\"' ]|in|not){0,12}") {
        if let Ok(expr) = Expr::parse(&filter) {
            prop_assert_eq!(Expr::parse(&expr.to_string()), Ok(expr));
        }
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
            universe.iter().filter(|&i| holds(&expr, &chunks[i as usize])).collect();
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
