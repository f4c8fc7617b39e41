use std::path::Path;

use proptest::prelude::*;

use super::*;

#[test]
fn kinds_are_detected_by_bytes_then_extension_then_text() {
    let rust = Kind::Code(Language::Rust);
    let cases: &[(&str, &[u8], Option<Kind>)] = &[
        ("a.md", b"", Some(Kind::Markdown)),
        ("A.MD", b"", Some(Kind::Markdown)),
        ("dir.rs/a.txt", b"fn", Some(Kind::Text)),
        ("a.rs", b"", Some(rust)),
        ("zlib.h", b"", Some(Kind::Code(Language::C))),
        ("a.pdf", b"", Some(Kind::Pdf)),
        ("a.pdf", b"junk\n%PDF-1.4", Some(Kind::Pdf)),
        ("a.txt", b"%PDF-1.4", Some(Kind::Pdf)),
        ("a.txt", b"about %PDF-1.4", Some(Kind::Text)),
        (
            "a.bin",
            b"PK\x03\x04....word/document.xml",
            Some(Kind::Docx),
        ),
        ("a.pptx", b"PK\x03\x04", Some(Kind::Pptx)),
        ("a.zip", b"PK\x03\x04....x", None),
        (
            "a",
            b"PK\x03\x04..mimetypeapplication/epub+zip",
            Some(Kind::Epub),
        ),
        ("a.txt", b"\x89PNG\r\n\x1a\n", Some(Kind::Image)),
        ("a.json", b"{\"messages\": []}", Some(Kind::Chat)),
        ("a.json", b"[[\"One.\", 1.5, 2]]", Some(Kind::Subtitles)),
        ("a.jsonl", b"{\"a\": 1}", None),
        ("a.txt", b"User: a\nAI: b\nUser: c\nAI: d", Some(Kind::Chat)),
        (
            "a.txt",
            b"1\n00:00:01,000 --> 00:00:02,000\n",
            Some(Kind::Subtitles),
        ),
        ("paper", b"\\documentclass{article}", Some(Kind::Latex)),
        ("paper", b"<?xml version='1.0'?><article>", Some(Kind::Jats)),
        ("package.json", b"{\"name\": 1}", None),
        ("a.xml", b"<article xmlns=", Some(Kind::Jats)),
        ("a.xml", b"<project>", None),
        ("a.srt", b"1\n", Some(Kind::Subtitles)),
        ("README", b"text \xc3", Some(Kind::Text)),
        ("README", b"\0", None),
        ("README", b"un caf\xe9 noir", Some(Kind::Text)),
        ("README", b"\xff\xfea\0 \0b\0", Some(Kind::Text)),
        ("README", b"\x80\x01\xff\xfe", None),
        (
            "a.xml",
            b"\xff\xfe<\0a\0r\0t\0i\0c\0l\0e\0",
            Some(Kind::Jats),
        ),
        (
            "run",
            b"#!/usr/bin/env python3\n",
            Some(Kind::Code(Language::Python)),
        ),
        ("Makefile", b"", Some(Kind::Code(Language::Make))),
        ("CMakeLists.txt", b"", Some(Kind::Code(Language::CMake))),
        ("a.yml", b"", Some(Kind::Code(Language::Yaml))),
        ("page", b"\n<!DOCTYPE html><p>", Some(Kind::Html)),
        ("a.unknown", b"text", None),
        ("", b"", None),
    ];
    for (path, head, want) in cases {
        assert_eq!(detect(Path::new(path), head), *want, "{path} {head:?}");
    }
}

#[test]
fn names_lead_back_to_kinds() {
    let kinds = [
        Kind::Markdown,
        Kind::Text,
        Kind::Html,
        Kind::Pdf,
        Kind::Pptx,
        Kind::Docx,
        Kind::Epub,
        Kind::Latex,
        Kind::Jats,
        Kind::Chat,
        Kind::Subtitles,
        Kind::Image,
    ];
    let languages = Language::ALL.iter().map(|l| Kind::Code(*l));
    for kind in kinds.into_iter().chain(languages) {
        assert_eq!(Kind::from_name(kind.name()), Some(kind), "{kind:?}");
    }
    assert_eq!(Kind::from_name("auto"), None);
    assert_eq!(Kind::from_name("rs"), Some(Kind::Code(Language::Rust)));
}

#[test]
fn every_limit_is_an_error_and_not_a_crash() {
    let text = b"one\n\ntwo\n\nthree";
    let limit = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        parse_within(Kind::Text, text, None, &limits)
    };
    for change in [
        (|l| l.bytes_max = 3) as fn(&mut Limits),
        |l| l.blocks_max = 2,
        |l| l.text_max = 4,
    ] {
        assert!(matches!(limit(change), Err(ParseError::TooLarge { .. })));
    }
    assert!(limit(|l| l.blocks_max = 3).is_ok());
}

#[test]
fn errors_survive_the_way_between_processes() {
    let kind = Kind::Code(Language::Go);
    let error = ParseError::Malformed {
        kind,
        reason: "cut".into(),
    };
    let json = serde_json::to_string(&error).unwrap();
    assert_eq!(serde_json::from_str::<ParseError>(&json).unwrap(), error);
}

/// Bytes that look enough like each format to reach deep into its parser.
fn documents() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(vec![
        "# ",
        "> ",
        "- ",
        "1. ",
        "```",
        "\n",
        "\n\n",
        "    ",
        "*",
        "**",
        "_",
        "`",
        "[",
        "](",
        ")",
        "|",
        "|-|-|\n",
        "$$",
        "---\n",
        "<!--",
        "-->",
        "<div>",
        "</div>",
        "<table>",
        "<tr>",
        "<td>",
        "</table>",
        "<pre>",
        "</pre>",
        "<h1>",
        "</h1>",
        "<b>",
        "<a href=x>",
        "<li>",
        "<math>",
        "<math display=block alttext=x>",
        "<td colspan=3 rowspan=2>",
        "<dl>",
        "<dt>",
        "<dd>",
        "</dl>",
        "<figure>",
        "<figcaption>",
        "<img src=a alt=b>",
        "<ol class=references>",
        "<caption>",
        "<script>",
        "</script>",
        "<p hidden>",
        "fn a() {",
        "}",
        "impl A for B {",
        "#[x]",
        "///",
        "//!",
        "\"",
        "\"\"\"",
        "def f():",
        "class C:",
        "@d",
        "use x;",
        "#define A",
        "#if A",
        "#endif",
        "class A {",
        "template <T> ",
        "API ",
        "((",
        "))",
        "=> ",
        "function f() {",
        "export default ",
        "/*",
        "*/",
        "func (a *B) C() {",
        "type (",
        "end",
        "CREATE TABLE ",
        "mod m {",
        "Chapter 1",
        "1.2 Title",
        "====",
        "ALL CAPS",
        "é",
        "漢字",
        "\u{feff}",
        "\r\n",
        "\t",
        "x ",
        ". ",
        "\u{ad}",
        "\\",
        "&amp;",
        "![",
        "![a](b)",
        "\\[",
        "\\]",
        "+++\n",
        "> [!NOTE]\n",
        "!!! x\n",
        ":::",
        "[^1]:",
        ":",
        "~~",
        "{",
        "\u{c}",
    ]);
    let built = prop::collection::vec(parts, 0..60).prop_map(|parts| parts.concat().into_bytes());
    prop_oneof![4 => built, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// `parse` validates what it returns, so an `Invalid` would be a defect.
    #[test]
    fn arbitrary_bytes_never_panic(bytes in documents()) {
        let languages = Language::ALL.iter().map(|language| Kind::Code(*language));
        for kind in [Kind::Markdown, Kind::Text, Kind::Html].into_iter().chain(languages) {
            let result = parse(kind, &bytes, Some("a"));
            prop_assert!(!matches!(result, Err(ParseError::Invalid { .. })), "{kind}: {result:?}");
            if let Ok(document) = result {
                let is_utf8 = std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains('\0'));
                let is_text_kept = !document.text_is_original || !is_utf8 || document.text.as_bytes() == bytes;
                prop_assert!(is_text_kept);
            }
        }
    }

    #[test]
    fn detection_takes_any_bytes(name in "[a-z.]{0,8}", head in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = detect(Path::new(&name), &head);
    }
}
