use proptest::prelude::*;

use super::*;
use crate::tests_of::{blocks, check_cut_and_corrupted};

fn read(source: &str) -> ParsedDocument {
    let document = parse(source.as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    document
}

fn turn(speaker: &str) -> BlockKind {
    let speaker = speaker.to_owned();
    BlockKind::Turn { speaker }
}

#[test]
fn every_format_gives_turns() {
    use BlockKind::{Code, Heading, ListItem, Paragraph};
    let cases: &[(&str, Vec<(BlockKind, &str)>)] = &[
        (
            r###"{"title":"Sorting","messages":[{"role":"system","content":"Be kind."},
                {"role":"user","content":[{"type":"text","text":"How?"},{"type":"image_url","image_url":{"url":"x"}}]},
                {"role":"assistant","content":"## So\n\n- a\n\n```rust\nfn a() {}\n```"},{"role":"user","content":null}]}"###,
            vec![
                (Heading(1), "Sorting"),
                (turn("system"), "Be kind."),
                (turn("user"), "How?"),
                (turn("assistant"), "So"),
                (ListItem, "- a"),
                (Code(Some("rust".into())), "fn a() {}"),
            ],
        ),
        (
            r#"[{"role":"user","content":"---\na: b\n---\nc"},{"role":"assistant","content":"```\nx\n```"}]"#,
            vec![
                (turn("user"), "a: b"),
                (Paragraph, "c"),
                (turn("assistant"), "assistant:"),
                (Code(None), "x"),
            ],
        ),
        (
            r#"[{"conversations":[{"from":"human","value":"Why is the sky blue?"},{"from":"gpt","value":"Light."}]},
                {"id":2,"conversations":[{"from":"human","value":"And the sea?"}]}]"#,
            vec![
                (Heading(1), "Why is the sky blue?"),
                (turn("human"), "Why is the sky blue?"),
                (turn("gpt"), "Light."),
                (Heading(1), "And the sea?"),
                (turn("human"), "And the sea?"),
            ],
        ),
        (
            "{\"question_id\":7,\"model_id\":\"gpt-4\",\"choices\":[{\"turns\":[\"One.\",\"Two.\"]}]}\n\n\
             {\"question_id\":8,\"category\":\"math\",\"turns\":[\"Q?\"]}\n",
            vec![
                (Heading(1), "Question 7"),
                (turn("gpt-4"), "One."),
                (turn("gpt-4"), "Two."),
                (Heading(1), "Question 8"),
                (turn("user"), "Q?"),
            ],
        ),
        (
            r#"[{"title":"Tree","create_time":1686286924.8,"current_node":"c","mapping":{
                "a":{"message":null,"parent":null,"children":["b"]},
                "b":{"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["Hi"]}},"parent":"a","children":["c","d"]},
                "c":{"message":{"author":{"role":"assistant"},"content":{"content_type":"code","text":"x = 1"}},"parent":"b","children":[]},
                "d":{"message":{"author":{"role":"assistant"},"content":{"parts":["Not this"]}},"parent":"b","children":[]}}}]"#,
            vec![
                (Heading(1), "Tree"),
                (turn("user"), "Hi"),
                (turn("assistant"), "assistant:"),
                (Code(None), "x = 1"),
            ],
        ),
        (
            r#"{"name":"C","chat_messages":[{"sender":"human","text":"Hi"},{"sender":"assistant","text":"",
                "content":[{"type":"text","text":"Hello"}]}]}"#,
            vec![
                (Heading(1), "C"),
                (turn("human"), "Hi"),
                (turn("assistant"), "Hello"),
            ],
        ),
        (
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}\n\
             {\"role\":\"tool\",\"content\":\"42\"}",
            vec![
                (turn("user"), "a"),
                (turn("assistant"), "Calls `f`:"),
                (Code(Some("json".into())), "{}"),
                (turn("tool"), "42"),
            ],
        ),
        (
            "User: hi\n\nthere\nAssistant: ok\n\n    x = 1\nUser: ```\ncode\nUser: not this\n```\n",
            vec![
                (turn("User"), "hi"),
                (Paragraph, "there"),
                (turn("Assistant"), "ok"),
                (Code(None), "x = 1"),
                (turn("User"), "User:"),
                (Code(None), "code\nUser: not this"),
            ],
        ),
        (
            "# Log\n\n**Ann Lee:** a\n\n**Bo:** b\n\n**Ann Lee:** c: d\n\n**Bo:** e\n",
            vec![
                (BlockKind::Paragraph, "Log"),
                (turn("Ann Lee"), "a"),
                (turn("Bo"), "b"),
                (turn("Ann Lee"), "c: d"),
                (turn("Bo"), "e"),
            ],
        ),
    ];
    for (source, want) in cases {
        let document = read(source);
        assert_eq!(blocks(&document), *want, "{source}");
    }
}

#[test]
fn facts_of_a_single_conversation_are_kept() {
    let source = r#"{"title":"T","create_time":1686286924.8,"model":"m","messages":[{"role":"user","content":"a"}]}"#;
    let document = read(source);
    assert_eq!(
        (document.title.as_deref(), document.year),
        (Some("T"), Some(2023))
    );
    assert_eq!(document.facts.created.as_deref(), Some("2023-06-09"));
    assert_eq!(document.facts.other["model"], "m");
}

#[test]
fn plain_text_stays_the_files_own() {
    let source = "\u{feff}[00:05] Ann: a\nb\n[01:10] Bo: c\n[02:00] Ann: d\n";
    let document = read(source);
    assert!(document.text_is_original);
    assert_eq!(document.text, source);
    assert_eq!(
        blocks(&document),
        [(turn("Ann"), "a\nb"), (turn("Bo"), "c"), (turn("Ann"), "d")]
    );
    let times: Vec<_> = document.blocks.iter().map(|block| block.time_ms).collect();
    assert_eq!(
        times,
        [
            Some((5_000, 70_000)),
            Some((70_000, 120_000)),
            Some((120_000, 120_000))
        ]
    );
    let clock = read("[14:05] Ann: a\n[14:06] Bo: c\n");
    assert_eq!(clock.blocks[0].time_ms, None);
}

#[test]
fn only_alternating_speakers_of_a_chat_make_a_chat() {
    let cases = [
        ("User: a\nAssistant: b\nUser: c\nAssistant: d\n", true),
        ("Q: a\n\nA: b\n\nQ: c\n\nA: d\n", true),
        (
            "[12:03] Ann: a\n[12:04] Bo: b\n[12:05] Ann: c\n[12:06] Bo: d\n",
            true,
        ),
        (
            "1/2/23, 9:14 PM - Ann: a\n1/2/23, 9:15 PM - Bo: b\n1/2/23, 9:15 PM - Ann: c\n1/2/23, 9:16 PM - Bo: d\n",
            true,
        ),
        (
            "HAMLET: a\nOPHELIA: b\nHAMLET: c\nOPHELIA: d\nHAMLET: e\n",
            false,
        ),
        ("Note: a\nWarning: b\nNote: c\nWarning: d\n", false),
        ("User: a\nUser: b\nUser: c\nUser: d\nUser: e\n", false),
        (
            "Some prose.\nUser: a\nAssistant: b\nUser: c\nAssistant: d\n",
            false,
        ),
        ("User: a\nAssistant: b\n", false),
        ("", false),
    ];
    for (source, want) in cases {
        assert_eq!(is_chat(source), want, "{source}");
    }
}

#[test]
fn values_without_a_message_are_reported() {
    let source = r#"{"messages":[{"role":"user","content":"Water?"}]}"#;
    let warnings = |source: &str| read(source).warnings;
    assert_eq!(warnings(source), Vec::<String>::new());
    let other = format!("{source}\n{{\"log\":1}}\n{source}\n[]\n");
    let warnings_of = warnings(&other);
    assert!(
        warnings_of[0].starts_with("2 of 4 values hold no message"),
        "{warnings_of:?}"
    );
}

#[test]
fn what_is_no_chat_says_so() {
    for source in ["{}", "[1, 2]", "{\"a\": ", "Just prose.", "[[[[1]]]]"] {
        let error = parse(source.as_bytes(), &Limits::default()).unwrap_err();
        assert!(
            matches!(error, ParseError::Malformed { .. }),
            "{source}: {error:?}"
        );
    }
    assert_eq!(parse(b" \n", &Limits::default()), Err(ParseError::Empty));
    let deep = "[".repeat(100_000);
    assert!(parse(deep.as_bytes(), &Limits::default()).is_err());
    let loops = r#"{"current_node":"a","mapping":{"a":{"message":{"role":"user","content":"x"},"parent":"a"}}}"#;
    assert_eq!(blocks(&read(loops)), [(turn("user"), "x")]);
}

#[test]
fn a_cut_file_is_an_error_or_a_smaller_document() {
    check_cut_and_corrupted(
        Kind::Chat,
        br#"[{"role":"user","content":"a\u00e9 `b`"},{"role":"x","content":"- c"}]"#,
    );
    check_cut_and_corrupted(
        Kind::Chat,
        "[0:05] Ann: *a* é\n[0:10] Bo: ```\nc\n```\n**Q**: d\n".as_bytes(),
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_mix_of_lines_is_read_or_refused(parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..40)) {
        let result = crate::parse::parse(Kind::Chat, parts.concat().as_bytes(), None);
        prop_assert!(!matches!(result, Err(ParseError::Invalid { .. })), "{result:?}");
    }

    #[test]
    fn any_message_is_kept(messages in prop::collection::vec("[-a-z#>*`| \n:é]{0,30}", 1..6)) {
        let chat: Vec<_> = messages.iter().map(|text| serde_json::json!({"role": "user", "content": text})).collect();
        let source = serde_json::Value::from(chat).to_string();
        match crate::parse::parse(Kind::Chat, source.as_bytes(), None) {
            Ok(document) => {
                let words = messages.iter().flat_map(|text| text.split_whitespace()).filter(|word| word.contains(char::is_alphabetic));
                for word in words {
                    prop_assert!(document.text.contains(word));
                }
            }
            Err(error) => prop_assert!(matches!(error, ParseError::Malformed { .. }), "{error:?}"),
        }
    }
}

const PARTS: &[&str] = &[
    "User: ",
    "Assistant: ",
    "Ann:",
    "[0:05] ",
    "[1:00] ",
    "**",
    "\n",
    "\n\n",
    "```",
    "- ",
    "# ",
    "> ",
    "x",
    "é",
    ":",
    "|a|\n|-|\n",
    "---\n",
    "    ",
    "{",
    "[",
    "\"role\": \"user\"",
    "\"content\": \"a\"",
    "}",
    "]",
    ",",
];
