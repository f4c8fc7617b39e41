use super::*;

/// Blocks as `what symbol`, each with its text.
fn check(language: Language, source: &str, want: &[(&str, &str)]) {
    let document = parse(language, source.as_bytes(), Some("a"), &Limits::default()).unwrap();
    document.validate().unwrap();
    assert!(document.text_is_original && document.title.as_deref() == Some("a"));
    let got: Vec<(String, &str)> = document
        .blocks
        .iter()
        .map(|block| (label(&block.kind), &source[block.range.clone()]))
        .collect();
    let got: Vec<(&str, &str)> = got
        .iter()
        .map(|(label, text)| (label.as_str(), *text))
        .collect();
    assert_eq!(got, want, "{source}");
    assert_covers_all_lines(&document);
}

fn label(kind: &BlockKind) -> String {
    match kind {
        BlockKind::Definition { symbol, what } => format!("{what} {symbol}").trim_end().to_owned(),
        other => format!("{other:?}"),
    }
}

/// The law of this module: all text lies in a block.
fn assert_covers_all_lines(document: &ParsedDocument) {
    let is_blank = |text: &str| text.trim_matches('\u{feff}').trim().is_empty();
    let mut end = 0;
    for block in &document.blocks {
        let between = &document.text[end..block.range.start];
        assert!(is_blank(between), "lost {between:?}");
        end = block.range.end;
    }
    assert!(
        is_blank(&document.text[end..]),
        "lost {:?}",
        &document.text[end..]
    );
}

#[test]
fn rust_is_divided_by_item() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("", &[]),
        ("\n \n", &[]),
        (
            "//! Module.\n//! More.\n\nuse a;\nuse b;\nmod c;\n\nconst D: u8 = 1;\nfn e() {}\n",
            &[
                ("Paragraph", "//! Module.\n//! More."),
                ("imports", "use a;\nuse b;\nmod c;"),
                ("const", "const D: u8 = 1;"),
                ("function e", "fn e() {}"),
            ],
        ),
        (
            "// License\n\n// About a.\n#[derive(Debug)]\n/// Doc.\nstruct A; // tail\n\n// end\n",
            &[
                ("other", "// License"),
                (
                    "struct A",
                    "// About a.\n#[derive(Debug)]\n/// Doc.\nstruct A; // tail",
                ),
                ("other", "// end"),
            ],
        ),
        (
            "impl<T> fmt::Display for Stack<T> {\n    const X: u8 = 1;\n\n    /// Doc.\n    fn fmt(&self) {\n        x\n    }\n\n    const Y: u8 = 2;\n    // bye\n}\n",
            &[
                (
                    "impl fmt::Display for Stack",
                    "impl<T> fmt::Display for Stack<T> {\n    const X: u8 = 1;",
                ),
                (
                    "method Stack::fmt",
                    "    /// Doc.\n    fn fmt(&self) {\n        x\n    }",
                ),
                ("const", "    const Y: u8 = 2;\n    // bye\n}"),
            ],
        ),
        (
            "mod tests {\n    use super::*;\n    fn a() {}\n    enum B { C }\n}\ntrait D { fn e(); }\n",
            &[
                ("module tests", "mod tests {\n    use super::*;"),
                ("function tests::a", "    fn a() {}"),
                ("enum tests::B", "    enum B { C }\n}"),
                ("trait D", "trait D { "),
                ("method D::e", "fn e(); }"),
            ],
        ),
        (
            "fn a() {} fn b() {}",
            &[("function a", "fn a() {}"), ("function b", "fn b() {}")],
        ),
        (
            "macro_rules! m { () => {} }\nm!();\n",
            &[
                ("other m", "macro_rules! m { () => {} }"),
                ("other", "m!();"),
            ],
        ),
    ];
    for (source, want) in cases {
        let want: Vec<_> = want.iter().map(|(l, t)| (*l, t.trim_end())).collect();
        check(Language::Rust, source, &want);
    }
}

#[test]
fn python_is_divided_by_definition() {
    let source = "#!/usr/bin/env python\n\"\"\"Module.\"\"\"\nimport a\nfrom b import c\n\nMAX = 3\nd = 4\n\n\
                  @decorated\nclass E(F):\n    \"\"\"Doc.\"\"\"\n    g = 1\n\n    # About h.\n    @property\n    def h(self):\n        return 1\n\n    \
                  class I:\n        def j(self): pass\n\nasync def k():\n    def inner(): pass\n\nif x:\n    k()\n";
    check(
        Language::Python,
        source,
        &[
            ("Paragraph", "#!/usr/bin/env python\n\"\"\"Module.\"\"\""),
            ("imports", "import a\nfrom b import c"),
            ("const", "MAX = 3"),
            ("other", "d = 4"),
            (
                "class E",
                "@decorated\nclass E(F):\n    \"\"\"Doc.\"\"\"\n    g = 1",
            ),
            (
                "method E.h",
                "    # About h.\n    @property\n    def h(self):\n        return 1",
            ),
            ("class E.I", "    class I:"),
            ("method E.I.j", "        def j(self): pass"),
            ("function k", "async def k():\n    def inner(): pass"),
            ("other", "if x:\n    k()"),
        ],
    );
}

#[test]
fn broken_files_keep_every_line() {
    let sources = [
        "fn a( {\n  let x = ;\n}\n}}}\nstruct",
        "impl {\n fn a() {}\n",
        "/* open\nfn a() {}",
        "\u{feff}fn a() {}\r\n\r\nfn b() {\r\n}\r\n",
        "}{)(\n\n#[\n//",
        "class A:\n  def b(self)\n    pass\n def c",
        "def a():\n\tpass\n  \tx\n",
    ];
    for source in sources {
        for language in [Language::Rust, Language::Python] {
            let document = parse(language, source.as_bytes(), None, &Limits::default()).unwrap();
            document.validate().unwrap();
            assert_covers_all_lines(&document);
        }
    }
}

#[test]
fn deep_modules_stay_whole() {
    let source = format!("{}{}", "mod a {\n".repeat(3_000), "}\n".repeat(3_000));
    let document = parse(Language::Rust, source.as_bytes(), None, &Limits::default()).unwrap();
    assert!(document.blocks.len() <= CONTAINER_DEPTH_MAX + 1);
    assert_covers_all_lines(&document);
}

#[test]
fn other_languages_are_named_in_the_refusal() {
    let error = parse(Language::Go, b"package a", None, &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("go source"), "{error}");
}
