use super::*;

/// Parses `source` and compares kinds and slices; `marks` are those of all blocks in order.
fn check(source: &str, want: &[(BlockKind, &str)]) -> ParsedDocument {
    let document = parse(source.as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    assert_eq!(document.text, source);
    let got: Vec<(BlockKind, &str)> = document
        .blocks
        .iter()
        .map(|block| (block.kind.clone(), &document.text[block.range.clone()]))
        .collect();
    assert_eq!(got, want, "{source:?}");
    document
}

fn code(language: &str) -> BlockKind {
    BlockKind::Code(Some(language.to_owned()))
}

#[test]
fn blocks_are_slices_of_the_source() {
    use BlockKind::{Caption, Code, Equation, Heading, ListItem, Paragraph, Quote, Table};
    let cases: &[(&str, &[(BlockKind, &str)])] = &[
        ("", &[]),
        (
            "# One #\ntext\r\nmore\r\n",
            &[(Heading(1), "One"), (Paragraph, "text\r\nmore")],
        ),
        ("Two\n---\n", &[(Heading(2), "Two")]),
        ("## [A](b)\n", &[(Heading(2), "A")]),
        ("## A [b](c) d\n", &[(Heading(2), "A [b](c) d")]),
        ("### `f()` *x*\n", &[(Heading(3), "`f()` *x*")]),
        (
            "- a\n- b\n  - c\n",
            &[(ListItem, "- a"), (ListItem, "- b"), (ListItem, "- c")],
        ),
        (
            "1. a\n\n   more\n2. b\n",
            &[(ListItem, "1. a"), (Paragraph, "more"), (ListItem, "2. b")],
        ),
        ("- [ ] todo\n", &[(ListItem, "- [ ] todo")]),
        ("- # not a section\n", &[(ListItem, "- # not a section")]),
        (
            "> one\n> two\n>\n> # three\n",
            &[(Quote, "one\n> two"), (Quote, "three")],
        ),
        (
            "```rust,ignore\nlet a;\n\nb\n```\n",
            &[(code("rust"), "let a;\n\nb")],
        ),
        ("    indented\n", &[(Code(None), "indented")]),
        ("```\n```\n", &[]),
        (
            "- x\n  ```c\n  y\n  ```\n",
            &[(ListItem, "- x"), (code("c"), "y")],
        ),
        (
            "| a | b |\n|---|---|\n| *1* | 2 |\n\nx",
            &[
                (Table, "| a | b |\n|---|---|\n| *1* | 2 |"),
                (Paragraph, "x"),
            ],
        ),
        ("![a duck](d.png)\n", &[(Caption, "a duck")]),
        (
            "see ![a duck](d.png)\n",
            &[(Paragraph, "see ![a duck](d.png)")],
        ),
        ("$$\nx^2\n$$\n", &[(Equation, "$$\nx^2\n$$")]),
        (
            "<!-- no -->\n\n<p>yes</p>\n\n<hr>\n",
            &[(Paragraph, "<p>yes</p>")],
        ),
        ("<a id=\"x\"></a>\n\nyes\n", &[(Paragraph, "yes")]),
        (
            "a[^1]\n\n[^1]: note\n",
            &[(Paragraph, "a[^1]"), (Paragraph, "note")],
        ),
    ];
    for (source, want) in cases {
        check(source, want);
    }
}

#[test]
fn marks_cover_what_is_visible() {
    let source = "*a b* **c _d_** [e `f`](u) `` g` `` ~~h~~ ![i](j)";
    let document = check(source, &[(BlockKind::Paragraph, source)]);
    let marks = document.blocks[0].marks.iter();
    let got: Vec<_> = marks.map(|m| (m.kind, &source[m.range.clone()])).collect();
    assert_eq!(
        got,
        [
            (MarkKind::Emphasis, "a b"),
            (MarkKind::Emphasis, "d"),
            (MarkKind::Strong, "c _d"),
            (MarkKind::Code, "f"),
            (MarkKind::Link, "e `f"),
            (MarkKind::Code, "g`"),
        ]
    );
}

#[test]
fn front_matter_and_the_first_heading_give_the_title() {
    let with = "---\ntitle: Ducks\nauthor: Ann Lee\nyear: 1999\nlang: en\n---\n# Birds\n";
    let document = check(with, &[(BlockKind::Heading(1), "Birds")]);
    assert_eq!(document.title.as_deref(), Some("Ducks"));
    assert_eq!(
        (document.authors, document.year),
        (vec!["Ann Lee".to_owned()], Some(1999))
    );
    let cases = [
        ("## b\n# A *b*\n", Some("A *b*")),
        ("## b\n", None),
        ("> # q\n", None),
    ];
    for (source, want) in cases {
        let document = parse(source.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(document.title.as_deref(), want, "{source:?}");
    }
}

#[test]
fn a_byte_order_mark_moves_positions() {
    let document = parse("\u{feff}# A\n\n*b*".as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    assert!(document.text_is_original);
    assert_eq!(document.title.as_deref(), Some("A"));
    let [heading, paragraph] = &document.blocks[..] else {
        panic!("{:?}", document.blocks)
    };
    assert_eq!(&document.text[heading.range.clone()], "A");
    assert_eq!(&document.text[paragraph.marks[0].range.clone()], "b");
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    let limits = Limits {
        depth_max: 50,
        ..Limits::default()
    };
    let error = parse(">".repeat(200).as_bytes(), &limits).map(|d| d.blocks.len());
    // A quotation without words is no container for the parser; one with words is.
    assert!(
        matches!(error, Ok(0) | Err(ParseError::TooLarge { .. })),
        "{error:?}"
    );
    let quotes = format!("{}x", "> ".repeat(200));
    assert!(matches!(
        parse(quotes.as_bytes(), &limits),
        Err(ParseError::TooLarge { .. })
    ));
    let deep = format!("{}x", "> ".repeat(100_000));
    assert!(parse(deep.as_bytes(), &Limits::default()).is_err());
}
