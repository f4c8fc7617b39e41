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
fn filters_are_understood() {
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

proptest! {
    #[test]
    fn any_text_gives_a_filter_or_an_error(filter in "[ -~ü]{0,40}|([a-z]{0,5}|page|title|[=<>!()\\[\\].,\"' ]|in|not){0,12}") {
        if let Ok(expr) = Expr::parse(&filter) {
            prop_assert_eq!(Expr::parse(&expr.to_string()), Ok(expr));
        }
    }
}
