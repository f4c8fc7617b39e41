use proptest::prelude::*;

use super::*;
use crate::tests_of::check_cut_and_corrupted;

type TurnText<'t> = (&'t str, (u64, u64), &'t str);

fn read(source: &str) -> ParsedDocument {
    let document = parse(source.as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    document
}

/// Speaker, time and text of each block.
fn turns(document: &ParsedDocument) -> Vec<TurnText<'_>> {
    let blocks = document.blocks.iter().map(|block| {
        let BlockKind::Turn { speaker } = &block.kind else {
            panic!("{block:?}")
        };
        (
            &speaker[..],
            block.time_ms.unwrap(),
            &document.text[block.range.clone()],
        )
    });
    blocks.collect()
}

#[test]
fn cues_become_passages_with_their_times() {
    let cases: &[(&str, &str, &[TurnText<'_>])] = &[
        (
            "cues join until a pause",
            "1\n00:00:01,500 --> 00:00:03,000\nOne of\n\n2\n00:00:03,000 --> 00:00:04,000\nthe <i>many</i>.\n\n\
             3\r\n00:00:07,000 --> 00:00:08,250 X1:1\r\n{\\an8}Two &amp; &lt;3.\r\n",
            &[
                ("", (1500, 4000), "One of the many."),
                ("", (7000, 8250), "Two & <3."),
            ],
        ),
        (
            "speakers, notes and styles",
            "WEBVTT - A talk\nLanguage: en\n\nNOTE a --> b\n\nSTYLE\n::cue {}\n\nid-1\n00:01.000 --> 00:02.000 align:left\n<v.loud Ann>Hi.</v>\n\n\
             00:02.000 --> 00:03.000\n<v Bo>Oh.\n\n00:03.000 --> 00:04.000\n<v Bo>So <c.x>it</c> is.\n",
            &[
                ("Ann", (1000, 2000), "Hi."),
                ("Bo", (2000, 4000), "Oh. So it is."),
            ],
        ),
        (
            "rolling captions",
            "WEBVTT\n\n00:00.000 --> 00:02.000\nhello<00:00:01.000><c> world</c>\n\n00:02.000 --> 00:02.010\nhello world\n\n\
             00:02.010 --> 00:04.000\nhello world\nhow are\n\n00:04.000 --> 00:04.010\nhow are\n\n00:04.010 --> 00:06.000\nhow are\nyou all.\n",
            &[("", (0, 6000), "hello world how are you all.")],
        ),
        (
            "captions that grow",
            "00:00:00,000 --> 00:00:01,000\nwe go\n\n00:00:01,000 --> 00:00:02,000\nwe go to\n\n00:00:02,000 --> 00:00:03,000\nwe go to sea.\n",
            &[("", (0, 3000), "we go to sea.")],
        ),
        (
            "no empty line between cues",
            "1\n00:00:00,000 --> 00:00:01,000\na\n2\n00:00:01,000 --> 00:00:02,000\nb\n",
            &[("", (0, 2000), "a b")],
        ),
        (
            "signs of a change of the speaker",
            "00:00:00,000 --> 00:00:01,000\n>> Who?\n\n00:00:01,000 --> 00:00:02,000\n>> Me.\n",
            &[("", (0, 1000), "Who?"), ("", (1000, 2000), "Me.")],
        ),
        (
            "sentences with times",
            "[[\"One.\", 1.5, 2.25], [\"Two.\", 5, 6]]",
            &[("", (1500, 2250), "One."), ("", (5000, 6000), "Two.")],
        ),
        (
            "whisper",
            "{\"text\":\"x\",\"segments\":[{\"start\":0.0,\"end\":1.0,\"text\":\" A\"},{\"start\":1.0,\"end\":2.5,\"text\":\" b.\"}],\"language\":\"en\"}",
            &[("", (0, 2500), "A b.")],
        ),
        (
            "whisper.cpp",
            "{\"transcription\":[{\"offsets\":{\"from\":10,\"to\":20},\"text\":\"a\"}]}",
            &[("", (10, 20), "a")],
        ),
        (
            "lengths and speakers",
            "[{\"start\":1,\"duration\":2,\"text\":\"a.\",\"speaker\":\"S\"},{\"start\":\"4\",\"end\":5,\"text\":\"b\",\"speaker\":\"T\"}]",
            &[("S", (1000, 3000), "a."), ("T", (4000, 5000), "b")],
        ),
    ];
    for (name, source, want) in cases {
        assert_eq!(turns(&read(source)), *want, "{name}");
    }
    let talk = read(cases[1].1);
    assert_eq!(talk.title.as_deref(), Some("A talk"));
    assert_eq!(talk.facts.language.as_deref(), Some("en"));
}

#[test]
fn passages_are_short_and_end_with_sentences() {
    let cue = |i: u64, text: &str| {
        format!(
            "{i}\n00:{:02}:{:02},000 --> 00:{:02}:{:02},900\n{text}\n\n",
            i / 60,
            i % 60,
            i / 60,
            i % 60
        )
    };
    let sentences: String = (0..200)
        .map(|i| {
            cue(
                i,
                &format!("{i} {}", if i % 4 == 3 { "and so on." } else { "words" }),
            )
        })
        .collect();
    for (_, (start, end), text) in turns(&read(&sentences)) {
        assert!(
            end - start <= PASSAGE_MS_MAX && text.ends_with('.'),
            "{text}"
        );
    }
    let endless: String = (0..200)
        .map(|i| cue(i, &format!("{i} words without end")))
        .collect();
    let document = read(&endless);
    let passages = turns(&document);
    assert!(
        passages
            .iter()
            .all(|(_, (start, end), _)| end - start <= PASSAGE_MS_MAX)
    );
    assert!(passages.windows(2).all(|pair| pair[0].1.1 <= pair[1].1.0));
}

#[test]
fn subtitles_are_known_by_their_start() {
    let cases = [
        ("1\n00:00:01,000 --> 00:00:02,000\na", true),
        ("WEBVTT\n", true),
        ("1\n2\n", false),
        ("1. a --> b", false),
        ("", false),
    ];
    for (head, want) in cases {
        assert_eq!(is_subtitles(head), want, "{head}");
    }
    let cases = [
        ("[\n [\n \"In my \\\"last\\\", video\",\n 3.78,", true),
        ("[[\"a\",\"b\"]]", false),
        ("{\"segments\": [{\"start\": 0, \"end\": 1, \"text\"", true),
        ("{\"name\": \"x\"}", false),
    ];
    for (head, want) in cases {
        assert_eq!(is_timed(head), want, "{head}");
    }
}

#[test]
fn what_holds_no_times_says_so() {
    for source in ["prose", "WEBVTT\n\nprose", "{}", "[[1]]", "[\"a\"]", "{"] {
        let error = parse(source.as_bytes(), &Limits::default()).unwrap_err();
        assert!(
            matches!(error, ParseError::Malformed { .. }),
            "{source}: {error:?}"
        );
    }
    let huge =
        "99999999999999999999:00:00.000 --> 00:00:01.000\na\n00:00:01.000 --> 00:00:00.000\nb";
    assert_eq!(turns(&read(huge)), [("", (1000, 1000), "b")]);
    let silent = "00:00:01.000 --> 00:00:02.000\n<i></i>\n";
    assert_eq!(
        parse(silent.as_bytes(), &Limits::default()),
        Err(ParseError::Empty)
    );
}

#[test]
fn a_cut_file_is_an_error_or_a_smaller_document() {
    check_cut_and_corrupted(
        Kind::Subtitles,
        "WEBVTT é\n\n1\n00:01.000 --> 00:02.000\n<v Ann>a &amp; b\n>> c <00:01.5>d\n".as_bytes(),
    );
    check_cut_and_corrupted(
        Kind::Subtitles,
        br#"[["a", 1.5, 2], {"start": 1, "end": 2, "text": "b"}]"#,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_mix_of_lines_is_read_or_refused(parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..60)) {
        let result = crate::parse::parse(Kind::Subtitles, parts.concat().as_bytes(), None);
        prop_assert!(!matches!(result, Err(ParseError::Invalid { .. })), "{result:?}");
    }

    #[test]
    fn every_word_is_within_its_time(words in prop::collection::vec(("[a-z]{1,5}[.]?", 0_u64..4), 1..60)) {
        // Each word differs from the one before, so nothing looks repeated.
        let (mut source, mut at) = (String::new(), 0);
        for (i, (word, gap)) in words.iter().enumerate() {
            at += gap;
            source.push_str(&format!("00:{:02}:{:02}.000 --> 00:{:02}:{:02}.500\n{i}{word}\n\n", at / 60, at % 60, at / 60, at % 60));
            at += 1;
        }
        let document = crate::parse::parse(Kind::Subtitles, source.as_bytes(), None).unwrap();
        let mut at = 0;
        for (i, (word, gap)) in words.iter().enumerate() {
            at += gap;
            let word = format!("{i}{word}");
            let is_its = |block: &&Block| document.text[block.range.clone()].split(' ').any(|w| w == word);
            let block = document.blocks.iter().find(is_its).unwrap();
            let (start, end) = block.time_ms.unwrap();
            prop_assert!(start <= at * 1000 && at * 1000 + 500 <= end);
            at += 1;
        }
    }
}

const PARTS: &[&str] = &[
    "WEBVTT\n",
    "\n",
    "\n\n",
    "1\n",
    "00:01.000 --> 00:02.000\n",
    "00:02.000 --> 00:02.010\n",
    "00:00:05,5 --> 00:00:01,000\n",
    "00:00:05,5 --> ",
    "<v Ann>",
    "</v>",
    "<i>",
    "<",
    "{\\an8}",
    "{",
    "&amp;",
    "&",
    ">> ",
    "hello world",
    " again",
    "a.",
    "é",
    "漢",
    "NOTE x\n",
    "[",
    "]",
    "\"a\"",
    ",",
    "1.5",
];
