use proptest::prelude::*;

use super::*;
use crate::text::digest;

fn parts(text: &str, rule: SentenceRule) -> Vec<&str> {
    let ranges = sentences(text, rule).into_iter();
    ranges.map(|range| &text[range]).collect()
}

#[test]
fn reader_rule_splits_as_a_reader_would() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        (" \n ", &[]),
        ("One. Two.", &["One.", "Two."]),
        ("No full stop", &["No full stop"]),
        (
            "Pi is 3.14 and e is 2.71. Both go on.",
            &["Pi is 3.14 and e is 2.71.", "Both go on."],
        ),
        (
            "Dr. Smith met J. R. Jones. They spoke.",
            &["Dr. Smith met J. R. Jones.", "They spoke."],
        ),
        (
            "See Fig. 3 and Eq. 2. Then go on.",
            &["See Fig. 3 and Eq. 2.", "Then go on."],
        ),
        (
            "Some, e.g. Rust, do. Others, i.e. C, do not.",
            &["Some, e.g. Rust, do.", "Others, i.e. C, do not."],
        ),
        (
            "He said “Stop.” Then he left.",
            &["He said “Stop.”", "Then he left."],
        ),
        ("(It is so.) Indeed.", &["(It is so.)", "Indeed."]),
        ("**Be bold.** Then go.", &["**Be bold.**", "Then go."]),
        ("Is it? Yes! Good…", &["Is it?", "Yes!", "Good…"]),
        (
            "Call `a. B.c()` now. Next.",
            &["Call `a. B.c()` now.", "Next."],
        ),
        ("First part\n\nSecond part", &["First part", "Second part"]),
        ("Items:\n- one\n- two", &["Items:", "- one", "- two"]),
        (
            "1. First do this. 2. Then that.",
            &["1. First do this.", "2. Then that."],
        ),
        (
            "> Quoted text. More\n> of it. End.",
            &["> Quoted text.", "More\n> of it.", "End."],
        ),
        (
            "In the U.S. Army it is so. Yes.",
            &["In the U.S. Army it is so.", "Yes."],
        ),
        (
            "Take plan B. The rest waits.",
            &["Take plan B.", "The rest waits."],
        ),
        (
            "Smith et al. showed it. Fine.",
            &["Smith et al. showed it.", "Fine."],
        ),
        (
            "これは本です。あれもです。",
            &["これは本です。", "あれもです。"],
        ),
        (
            "It is _out (LIFO)_. Think.",
            &["It is _out (LIFO)_.", "Think."],
        ),
        ("Wait . . . Go.", &["Wait . . . Go."]),
        (
            "a lone ` tick. Then more.",
            &["a lone ` tick.", "Then more."],
        ),
    ];
    for (text, expected) in cases {
        let got = parts(text, SentenceRule::Reader);
        assert_eq!(got, *expected, "in {text:?}");
    }
}

#[test]
fn unicode_rule_ends_at_capitals_and_isolated_full_stops() {
    let cases: &[(&str, &[&str])] = &[
        ("One is. Two is.", &["One is. ", "Two is."]),
        ("one is . two is .", &["one is . ", "two is ."]),
        ("", &[]),
    ];
    for (text, want) in cases {
        assert_eq!(parts(text, SentenceRule::Unicode), *want);
    }
}

#[test]
fn quotations_are_complete() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("nothing", "", &[]),
        (
            "two",
            "One is here. Two is there. ",
            &["One is here.", "Two is there."],
        ),
        (
            "a broken line",
            "The level of the\nriver rose. It fell again.",
            &["The level of the\nriver rose.", "It fell again."],
        ),
        (
            "paragraphs",
            "without a stop here\n\nAnother one is here",
            &["without a stop here", "Another one is here"],
        ),
        (
            "a heading",
            "# Rivers and lakes here\nThe level rose fast.\n\n## More about it\n",
            &["The level rose fast."],
        ),
        (
            "a list",
            "- one item is here\n- two items are here\n1. three items are here",
            &[
                "one item is here",
                "two items are here",
                "1. three items are here",
            ],
        ),
        (
            "abbreviations",
            "It is due to Dr. Ada King. As J. Smith said, Fig. A shows it.",
            &[
                "It is due to Dr. Ada King.",
                "As J. Smith said, Fig. A shows it.",
            ],
        ),
        ("short ones", "Yes. No, never.", &["Yes.", "No, never."]),
        (
            "bold",
            "**Rivers** rise in spring.",
            &["**Rivers** rise in spring."],
        ),
    ];
    for (name, text, want) in cases {
        assert_eq!(parts(text, SentenceRule::Quotation), *want, "{name}");
    }
}

/// The sample documents of the command line, and texts of every rule's markers in many orders.
fn texts() -> impl Iterator<Item = String> {
    const PIECES: &[&str] = &[
        ". ", ".", " . ", "! ", "? ", "…", "。", "\n", "\n\n", "\r\n", "\u{2028}", " ", "- ", "* ",
        "1. ", "12) ", "# ", "> ", "| ", "`", "**", "_", "(", ")", "“", "”", "The", "river",
        "rose", "Dr", "J", "Fig", "3", "e.g", "p.m", "plan", "B", "al", "no", "Jan", "日本", "É",
        ":", ",",
    ];
    let samples = [
        "memory-palaces.md",
        "transactions.txt",
        "inverted-index.html",
        "ring_buffer.rs",
    ]
    .map(|name| format!("{}/../cli/samples/{name}", env!("CARGO_MANIFEST_DIR")))
    .map(|path| std::fs::read_to_string(path).unwrap());
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut piece = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        PIECES[(state % PIECES.len() as u64) as usize]
    };
    let generated = (0..20_000).map(move |_| (0..24).map(|_| piece()).collect::<String>());
    samples.into_iter().chain(generated)
}

/// Stored chunks, digests and answers are cut by these: a change is a change of what is stored.
#[test]
fn texts_are_cut_as_they_are_stored() {
    let of = |rule| {
        let bounds = |range: Range<usize>| format!("{range:?}");
        digest(texts().flat_map(|text| sentences(&text, rule).into_iter().map(bounds)))
    };
    let rules = [
        SentenceRule::Reader,
        SentenceRule::Unicode,
        SentenceRule::Quotation,
    ];
    assert_eq!(
        rules.map(of),
        [
            17_602_088_061_930_726_348,
            235_343_789_170_986_865,
            2_189_689_805_089_745_739
        ]
    );
}

proptest! {
    #[test]
    fn reader_rule_covers_all_but_white_space(text in "[ a-zA-Z0-9.!?\n`*_>()“”。é-]{0,120}") {
        let mut end = 0;
        for span in sentences(&text, SentenceRule::Reader) {
            prop_assert!(span.start >= end && span.end > span.start);
            prop_assert!(text[end..span.start].trim().is_empty());
            prop_assert_eq!(text[span.clone()].trim(), &text[span.clone()]);
            end = span.end;
        }
        prop_assert!(text[end..].trim().is_empty());
    }

    #[test]
    fn unicode_rule_covers_the_text(text in "[a-zA-Z0-9.!? \n#*é日-]{0,120}") {
        prop_assert_eq!(parts(&text, SentenceRule::Unicode).concat(), text);
    }

    #[test]
    fn quotations_are_trimmed_and_ascend(text in "[a-zA-Z0-9.!? \n#*é日-]{0,120}") {
        let mut past = 0;
        for range in sentences(&text, SentenceRule::Quotation) {
            prop_assert!(range.start >= past && range.end > range.start);
            prop_assert_eq!(text[range.clone()].trim(), &text[range.clone()]);
            past = range.end;
        }
    }
}
