use proptest::prelude::*;

use super::*;

fn terms(text: &str) -> Vec<String> {
    Analyzer::new().terms(text)
}

#[test]
fn words_become_the_terms_that_the_table_promises() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        (" -- … ", &[]),
        ("The cats are running.", &["the", "cat", "are", "run"]),
        ("Cafés CAFÉ cafe\u{301}", &["cafe", "cafe", "cafe"]),
        (
            "3.14 and 1,000 in 1.2.3",
            &["3.14", "and", "1000", "in", "1.2.3"],
        ),
        (
            "parseHttpRequest",
            &["parsehttprequest", "pars", "http", "request"],
        ),
        ("snake_cases", &["snake_cases", "snake", "case"]),
        ("the U.S.A. e.g. here", &["the", "usa", "eg", "here"]),
        ("state-of-the-art", &["state", "of", "the", "art"]),
        ("Schrödinger\u{2019}s equation", &["schroding", "equat"]),
        ("[1,2]", &["1,2"]),
        ("end.Next", &["end.next", "end", "next"]),
        ("東京都", &["東京", "京都"]),
        ("年", &["年"]),
        ("2024年の東京", &["2024", "年の", "の東", "東京"]),
        ("สวัสดี", &["สวั", "วัส", "สดี"]),
        ("слова и слово", &["слова", "и", "слово"]),
    ];
    for (text, expected) in cases {
        assert_eq!(terms(text), *expected, "{text}");
    }
}

#[test]
fn long_words_are_cut() {
    let long = "ab1".repeat(1000);
    assert_eq!(terms(&long), [&long[..TERM_CHARS_MAX]]);
    let parts = "Abcdef".repeat(1000);
    assert!(terms(&parts).len() <= WORD_CHARS_MAX);
}

#[test]
fn memory_is_bounded_and_does_not_change_terms() {
    let mut analyzer = Analyzer::new();
    for i in 0..MEMO_WORDS_MAX + 10 {
        analyzer.for_each_term(&format!("w{i}"), |_| {});
    }
    assert!(analyzer.memo.len() <= MEMO_WORDS_MAX);
    assert_eq!(analyzer.terms("w1 w1"), ["w1", "w1"]);
}

#[test]
fn a_phrase_has_its_words_at_consecutive_places() {
    let places = |text: &str| -> Vec<(String, u32, String)> {
        let mut told = Vec::new();
        Analyzer::new().for_each_token(text, |token| {
            let written = text[token.span].to_owned();
            told.push((token.term.to_owned(), token.position, written));
        });
        told
    };
    let own = |list: &[(&str, u32, &str)]| -> Vec<(String, u32, String)> {
        let own = |&(term, place, written): &(&str, u32, &str)| {
            (term.to_owned(), place, written.to_owned())
        };
        list.iter().map(own).collect()
    };
    assert_eq!(
        places("A parseHttp, caf\u{e9}s!"),
        own(&[
            ("a", 0, "A"),
            ("parsehttp", 1, "parseHttp"),
            ("pars", 1, "parseHttp"),
            ("http", 2, "parseHttp"),
            ("cafe", 3, "caf\u{e9}s"),
        ])
    );
    assert_eq!(
        places("x \u{6771}\u{4eac}\u{90fd} y"),
        own(&[
            ("x", 0, "x"),
            ("\u{6771}\u{4eac}", 1, "\u{6771}\u{4eac}"),
            ("\u{4eac}\u{90fd}", 2, "\u{4eac}\u{90fd}"),
            ("y", 3, "y"),
        ])
    );
}

proptest! {
    #[test]
    fn terms_depend_on_the_text_alone(before in "\\PC{0,40}", text in "\\PC{0,40}") {
        let mut used = Analyzer::new();
        used.terms(&before);
        prop_assert_eq!(used.terms(&text), terms(&text));
        prop_assert_eq!(used.terms(&text), terms(&text));
    }

    #[test]
    fn no_text_breaks_the_bounds_of_a_term(text in any::<String>()) {
        for term in terms(&text) {
            prop_assert!(!term.is_empty());
            prop_assert!(term.chars().count() <= TERM_CHARS_MAX, "{term:?}");
        }
    }

    #[test]
    fn tokens_come_in_order_and_lie_inside_the_text(text in any::<String>()) {
        let (mut last, mut end) = (0, 0);
        Analyzer::new().for_each_token(&text, |token| {
            assert!(text.get(token.span.clone()).is_some_and(|written| !written.is_empty()));
            assert!(token.position >= last || token.span.start < end);
            (last, end) = (token.position, token.span.end);
        });
    }

    #[test]
    fn spaces_part_a_text(a in "[a-zA-Z0-9_.]{0,12}", b in "[a-zA-Z0-9_.]{0,12}") {
        let mut both = terms(&a);
        both.extend(terms(&b));
        prop_assert_eq!(terms(&format!("{a} {b}")), both);
    }
}
