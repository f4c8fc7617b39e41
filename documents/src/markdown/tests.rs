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
    use BlockKind::{
        Caption, Code, Equation, Figure, Footnote, Heading, ListItem, Paragraph, Quote, Table,
    };
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
        ("![a duck](d.png)\n", &[(Figure, "a duck")]),
        ("[![a duck](d.png)](l)\n", &[(Figure, "a duck")]),
        ("![](d.png)\n", &[(Figure, "![](d.png)")]),
        (
            "![a](d.png)\n![b](e.png)\n",
            &[(Figure, "![a](d.png)\n![b](e.png)")],
        ),
        (
            "<p><img src=\"d.png\"></p>\n\n<img data-alt=x alt='a duck'\n src=e.png>\n\n<span class=\"caption\">c</span>\n",
            &[
                (Figure, "<p><img src=\"d.png\"></p>"),
                (Figure, "a duck"),
                (Caption, "<span class=\"caption\">c</span>"),
            ],
        ),
        (
            "see ![a duck](d.png)\n",
            &[(Paragraph, "see ![a duck](d.png)")],
        ),
        ("$$\nx^2\n$$\n", &[(Equation, "$$\nx^2\n$$")]),
        (
            "so\n$$x$$.\nand $y$\n\\[\n a_1 *b*\n\\]\nend\n",
            &[
                (Paragraph, "so"),
                (Equation, "$$x$$"),
                (Paragraph, ".\nand $y$"),
                (Equation, "\\[\n a_1 *b*\n\\]"),
                (Paragraph, "end"),
            ],
        ),
        (
            "so $$x$$ and \\[y\\]\n",
            &[(Paragraph, "so $$x$$ and \\[y\\]")],
        ),
        ("```math\nx\n```\n", &[(Equation, "```math\nx\n```")]),
        (
            "> [!NOTE]\n> one\n> two\n\n> q\n",
            &[(Paragraph, "one\n> two"), (Quote, "q")],
        ),
        (
            "!!! note\n\n    one\n\n    two\n\nx\n\n    code\n",
            &[
                (Paragraph, "!!! note"),
                (Paragraph, "one\n\n    two"),
                (Paragraph, "x"),
                (Code(None), "code"),
            ],
        ),
        (":::tip\none\n:::\n\n:::\n", &[(Paragraph, "one")]),
        (
            "<!-- no -->\n\n<p>yes</p>\n\n<hr>\n",
            &[(Paragraph, "<p>yes</p>")],
        ),
        ("<a id=\"x\"></a>\n\nyes\n", &[(Paragraph, "yes")]),
        (
            "a[^1]\n\n[^1]: note\n\n    more\n",
            &[
                (Paragraph, "a[^1]"),
                (Footnote, "[^1]: note"),
                (Footnote, "more"),
            ],
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
        ("# A\n# B\n", None),
        ("# 1. Ducks\n## Feet\n", None),
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

#[test]
fn pictures_are_named_by_their_addresses() {
    let cases: &[(&str, &[&str])] = &[
        ("![a](d.png)", &["d.png"]),
        ("see ![a](d.png) and ![b](<e f.png>)", &["d.png", "e f.png"]),
        ("- ![a](d.png)", &["d.png"]),
        ("![a](data:image/png;base64,x)", &[]),
        ("![a][r]\n\n[r]: d.png", &["d.png"]),
        (
            "<img alt=x src='d.png'/><!-- <img src=no> --><IMG src=e.png>",
            &["d.png", "e.png"],
        ),
    ];
    for (source, want) in cases {
        let document = parse(source.as_bytes(), &Limits::default()).unwrap();
        document.validate().unwrap();
        let images: Vec<_> = document
            .blocks
            .iter()
            .flat_map(|block| &block.images)
            .collect();
        assert_eq!(images, *want, "{source}");
    }
}

#[test]
fn every_cut_of_a_file_is_a_document() {
    let source = "---\ntitle: é\ntags: [a, \"b\"]\n---\n# T\n\n> [!TIP]\n> ![a](b) $$x$$\n\n\\[\ny\n\\]\n[^1]: n\n\n:::note\n```math\nz\n```\n<img src='c'>\n";
    for end in (0..=source.len()).filter(|end| source.is_char_boundary(*end)) {
        let document = parse(&source.as_bytes()[..end], &Limits::default()).unwrap();
        document.validate().unwrap();
        assert_eq!(document.text, source[..end]);
    }
}

#[test]
fn what_looks_like_front_matter_further_down_is_text() {
    let source = "---\ntitle: A\n---\n\nOne.\n\n---\ntitle: b\n---\n\nTwo.\n";
    let document = parse(source.as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    assert_eq!(document.title.as_deref(), Some("A"));
    let text: Vec<&str> = document
        .blocks
        .iter()
        .map(|block| document.text[block.range.clone()].trim())
        .collect();
    assert_eq!(text, ["One.", "title: b", "Two."]);
}
