use super::*;
use crate::tree::{BlockKind, MarkKind};

fn check(source: &str, want: &[(BlockKind, &str)]) -> ParsedDocument {
    let document = parse(source.as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    assert!(!document.text_is_original);
    let slices = document
        .blocks
        .iter()
        .map(|b| &document.text[b.range.clone()]);
    let got: Vec<_> = document
        .blocks
        .iter()
        .map(|b| b.kind.clone())
        .zip(slices)
        .collect();
    assert_eq!(got, want, "{source}");
    let texts: Vec<&str> = want.iter().map(|(_, text)| *text).collect();
    assert_eq!(document.text, texts.join("\n\n"));
    document
}

#[test]
fn a_page_becomes_its_visible_blocks() {
    use BlockKind::{Caption, Code, Equation, Heading, ListItem, Paragraph, Quote, Table};
    let rust = || Code(Some("rust".to_owned()));
    let cases: &[(&str, &[(BlockKind, &str)])] = &[
        ("", &[]),
        (
            "<p> one\n two </p>three<p>four",
            &[
                (Paragraph, "one two"),
                (Paragraph, "three"),
                (Paragraph, "four"),
            ],
        ),
        (
            "<h2>A<br>b</h2><h3><a href=x>c</a></h3>",
            &[(Heading(2), "A b"), (Heading(3), "c")],
        ),
        (
            "<ul><li>a<li>b<ul><li>c</ul>d</ul>",
            &[
                (ListItem, "a"),
                (ListItem, "b"),
                (ListItem, "c"),
                (ListItem, "d"),
            ],
        ),
        (
            "<blockquote><p>q</p><p>r</blockquote>s",
            &[(Quote, "q"), (Quote, "r"), (Paragraph, "s")],
        ),
        (
            "<pre><code class='language-rust'>\nfn  a() {\n  b\n}\n</code></pre>",
            &[(rust(), "fn  a() {\n  b\n}")],
        ),
        (
            "<div class='highlight-source-rust'><pre>x</pre></div>",
            &[(rust(), "x")],
        ),
        (
            "<table><caption>T</caption><tr><th>a<th>b c</tr><tr><td> <td></tr><tr><td><p>1</p><td>2</table>",
            &[(Caption, "T"), (Table, "a | b c\n1 | 2")],
        ),
        (
            "<table><tr><td><h1>x</h1><td>y</table>",
            &[(Heading(1), "x"), (Paragraph, "y")],
        ),
        (
            "<figure><img><figcaption>c</figcaption></figure>",
            &[(Caption, "c")],
        ),
        (
            "a<script>b</script><style>c</style><!-- d --><p hidden>e<p style='display:none'>f",
            &[(Paragraph, "a")],
        ),
        (
            "<nav>n</nav><header>h</header><p>a</p><footer>f</footer>",
            &[(Paragraph, "a")],
        ),
        (
            "<header><h1>t</h1><ul><li>m</ul></header>a",
            &[(Heading(1), "t"), (Paragraph, "a")],
        ),
        ("<nav>only this</nav>", &[(Paragraph, "only this")]),
        (
            "x <math alttext='a^2'><mi>a</mi></math> y",
            &[(Paragraph, "x a^2 y")],
        ),
        (
            "x<math display=block alttext='a^2'><mi>a</mi></math>",
            &[(Paragraph, "x"), (Equation, "a^2")],
        ),
        (
            "a&shy;b&nbsp;&amp;\u{200b}c<br>d",
            &[(Paragraph, "ab &c\nd")],
        ),
    ];
    for (source, want) in cases {
        check(source, want);
    }
}

#[test]
fn the_main_part_is_preferred_where_it_holds_the_text() {
    let prose = "word ".repeat(100);
    let main = format!("<p>menu</p><main><p>{prose}</p></main><p>more</p>");
    check(&main, &[(BlockKind::Paragraph, prose.trim())]);
    let small = format!("<main><p>tiny</p></main><p>{prose}</p>");
    check(
        &small,
        &[
            (BlockKind::Paragraph, "tiny"),
            (BlockKind::Paragraph, prose.trim()),
        ],
    );
}

#[test]
fn marks_cover_what_is_visible() {
    let source =
        "<p>a <b> b <i>c</i></b>d <a href=x> e</a> <a name=y>f</a> <code>g</code></p><b><p>h</p>";
    let document = parse(source.as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    let marks = document.blocks.iter().flat_map(|block| &block.marks);
    let got: Vec<_> = marks
        .map(|m| (m.kind, &document.text[m.range.clone()]))
        .collect();
    assert_eq!(
        got,
        [
            (MarkKind::Strong, "b c"),
            (MarkKind::Emphasis, "c"),
            (MarkKind::Link, "e"),
            (MarkKind::Code, "g"),
            (MarkKind::Strong, "h"),
        ]
    );
}

#[test]
fn the_head_gives_title_authors_and_year() {
    let head = "<title>Duck - Wiki</title><meta name=author content='Ann Lee'>\
                <meta name=citation_author content='Bo Ek'><meta property='og:title' content=O>\
                <meta property='article:published_time' content='2021-02-03T04:05'>\
                <link rel=canonical href='https://x.org/duck'><meta name=description content='a  b'>";
    let document = parse(
        format!("{head}<h1>Duck</h1>x").as_bytes(),
        &Limits::default(),
    )
    .unwrap();
    assert_eq!(document.title.as_deref(), Some("Duck"));
    assert_eq!(document.authors, ["Ann Lee", "Bo Ek"]);
    assert_eq!(document.year, Some(2021));
    let metadata = [("description", "a b"), ("address", "https://x.org/duck")];
    assert_eq!(
        document.metadata,
        metadata.map(|(k, v)| (k.to_owned(), v.to_owned()))
    );
    let titles = [
        ("<title>A</title><h1>B</h1>", Some("A")),
        ("<meta property='og:title' content=O><h1>B</h1>", Some("O")),
        ("<h1>B</h1>", Some("B")),
        ("<p>B", None),
    ];
    for (source, want) in titles {
        let document = parse(source.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(document.title.as_deref(), want, "{source}");
    }
}

#[test]
fn deep_nesting_is_refused_and_wide_nesting_is_walked() {
    let deep = "<div>".repeat(100_000);
    let error = parse(deep.as_bytes(), &Limits::default()).unwrap_err();
    assert!(matches!(error, ParseError::TooLarge { .. }), "{error:?}");
    let below = format!("{}x", "<div>".repeat(1_900));
    check(&below, &[(BlockKind::Paragraph, "x")]);
    let open_paragraphs = "<p>x".repeat(5_000);
    let document = parse(open_paragraphs.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(document.blocks.len(), 5_000);
}

#[test]
fn a_page_states_its_language() {
    let page = "<!doctype html><html lang='de-AT'><p>Servus";
    let document = check(page, &[(BlockKind::Paragraph, "Servus")]);
    let stated = ("language".to_owned(), "de-AT".to_owned());
    assert!(document.metadata.contains(&stated));
}
