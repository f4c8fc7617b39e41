use super::*;
use loci_parsing::facts::TextMetrics;
use loci_parsing::tree::{BlockKind, MarkKind};

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
    use BlockKind::{
        Caption, Code, Equation, Footnote, Heading, ListItem, Paragraph, Quote, Reference, Table,
    };
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
            &[
                (Caption, "T"),
                (Table, "| a | b c |\n| --- | --- |\n| 1 | 2 |"),
            ],
        ),
        (
            "<table><tr><td><h1>x</h1><td>y</table>",
            &[(Heading(1), "x"), (Paragraph, "y")],
        ),
        (
            "<table><tr><td>a<th colspan=2>b<tr><td rowspan=2>c<td>d<ul><li>e<li>f</ul><td>g<tr><td>h<td>i|j<tr><td colspan=100>k</table>",
            &[(
                Table,
                "| a | b |  |\n| --- | --- | --- |\n| c | d, e, f | g |\n|  | h | i\\|j |\n| k |  |  |",
            )],
        ),
        ("<table><tr><td>only", &[(Paragraph, "only")]),
        ("<table><tr><td> <td>|</table>x", &[(Paragraph, "x")]),
        (
            "<table class=infobox><tr><th colspan=2>T<tr><td>a<td><table><tr><td>b<td>c</table></table>",
            &[(Table, "| T |  |\n| --- | --- |\n| a | b c |")],
        ),
        (
            "<figure><img><figcaption>c</figcaption></figure>",
            &[(Caption, "c")],
        ),
        (
            "<dl><dt>a<dt>b:<dd><p>c<p>d<dt>e<dd>f</dl>g",
            &[
                (ListItem, "a, b: c"),
                (ListItem, "d"),
                (ListItem, "e: f"),
                (Paragraph, "g"),
            ],
        ),
        ("<dl><dt>a</dl>b", &[(ListItem, "a"), (Paragraph, "b")]),
        (
            "<details><summary>s</summary>d</details>",
            &[(Paragraph, "s"), (Paragraph, "d")],
        ),
        (
            "x<ol class=references><li><span class=mw-cite-backlink>^</span> <b>a</b><li><p>b</ol>y",
            &[
                (Paragraph, "x"),
                (Footnote, "[1] a"),
                (Footnote, "[2] b"),
                (Paragraph, "y"),
            ],
        ),
        (
            "<section role=doc-endnotes><h2>N</h2><ol><li>a</ol></section><aside class=footnote>b</aside>",
            &[(Heading(2), "N"), (Footnote, "1. a"), (Footnote, "b")],
        ),
        (
            "<div class=refbegin><ul><li>a</ul></div>",
            &[(Reference(None), "a")],
        ),
        (
            "<p>a <a class=headerlink>#</a><a href=#a> # </a></p><div class=cookie-bar>c</div><ul class='share-links'><li>s</ul><div id=related>r</div>",
            &[(Paragraph, "a")],
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
            "<math><mi>a</mi><mo>=</mo><mn>1</mn></math><math><semantics><mi>b</mi><annotation encoding='application/x-tex'>b^2</annotation></semantics></math>",
            &[(Paragraph, "a = 1b^2")],
        ),
        (
            "<span style='display: none'><math alttext=x></math></span><img class=mwe-math-fallback-image-inline alt='{\\displaystyle E=mc^{2}}' aria-hidden=true>",
            &[(Paragraph, "E=mc^{2}")],
        ),
        (
            "<span class=katex-display><span class=katex><span class=katex-mathml><math><annotation encoding='application/x-tex'>x</annotation></math></span><span class=katex-html>X</span></span></span>",
            &[(Equation, "x")],
        ),
        (
            "a<script type='math/tex; mode=display'>x</script>",
            &[(Paragraph, "a"), (Equation, "x")],
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
fn an_id_that_a_heading_gave_makes_no_decoration() {
    use BlockKind::{Heading, Paragraph};
    let cases: &[(&str, &[(BlockKind, &str)])] = &[
        (
            "<h3><span id=Sponsorship>Sponsorship</span></h3>a",
            &[(Heading(3), "Sponsorship"), (Paragraph, "a")],
        ),
        (
            "<h2 id=sharing>Sharing</h2>a",
            &[(Heading(2), "Sharing"), (Paragraph, "a")],
        ),
        (
            "<section id=related-work-1><h2>Related work</h2><p>a</section>b",
            &[
                (Heading(2), "Related work"),
                (Paragraph, "a"),
                (Paragraph, "b"),
            ],
        ),
        (
            "<div id=related><h3>Related posts</h3><p>a</div>b",
            &[(Paragraph, "b")],
        ),
        (
            "<section id=share><h3>Tell a friend</h3></section>b",
            &[(Paragraph, "b")],
        ),
        ("<h2 class=promo>Buy</h2>b", &[(Paragraph, "b")]),
    ];
    for (source, want) in cases {
        check(source, want);
    }
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
    let facts = TextMetrics {
        description: Some("a b".to_owned()),
        address: Some("https://x.org/duck".to_owned()),
        ..TextMetrics::default()
    };
    assert_eq!(document.facts, facts);
    let titles = [
        ("<title>A</title><h1>B</h1>", Some("A")),
        ("<meta property='og:title' content=O><h1>B</h1>", Some("O")),
        ("<h1>B</h1>", Some("B")),
        ("<h1>B</h1>x<h1>C</h1>y", None),
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
    assert_eq!(document.facts.language.as_deref(), Some("de-AT"));
}

#[test]
fn pictures_that_say_something_are_figures() {
    use BlockKind::{Caption, Figure, Heading, Paragraph, Table};
    type Images = &'static [&'static str];
    let cases: &[(&str, &[(BlockKind, &str, Images)])] = &[
        (
            "<p>a <img src=/x/d.png alt='A  duck'> b</p>c",
            &[
                (Paragraph, "a b", &[]),
                (Figure, "A duck", &["/x/d.png"]),
                (Paragraph, "c", &[]),
            ],
        ),
        (
            "<figure><a href=l><img src='//h/220px-A%2Cb.jpg?x'></a><figcaption>C</figcaption></figure>",
            &[
                (Figure, "A,b.jpg", &["//h/220px-A%2Cb.jpg?x"]),
                (Caption, "C", &[]),
            ],
        ),
        (
            "<img src=data:x data-src=late.png alt=late><img src=data:y alt=no><img alt=none>",
            &[(Figure, "late", &["late.png"])],
        ),
        (
            "<img src=a.png width=16 alt=icon><a href=l><img src=b.png></a><img src=logo.png alt=L><img src=c.png class=avatar alt=C>x",
            &[(Paragraph, "x", &[])],
        ),
        (
            "<h1>T <img src=t.png alt=U></h1>",
            &[(Heading(1), "T U", &[]), (Figure, "U", &["t.png"])],
        ),
        (
            "<table><tr><td>a<td>b<img src=c.png alt=C></table><table><tr><td>d<img src=e alt=E></table>",
            &[
                (Table, "| a | b C |\n| --- | --- |", &["c.png"]),
                (Paragraph, "d", &[]),
                (Figure, "E", &["e"]),
            ],
        ),
        (
            "<ul><li class=gallerybox><div class=thumb><img src=logo.svg></div><div class=gallerytext>G</div></ul>",
            &[(Figure, "logo.svg", &["logo.svg"]), (Caption, "G", &[])],
        ),
    ];
    for (source, want) in cases {
        let document = parse(source.as_bytes(), &Limits::default()).unwrap();
        document.validate().unwrap();
        let got = document.blocks.iter().map(|b| {
            let images: Vec<&str> = b.images.iter().map(String::as_str).collect();
            (b.kind.clone(), &document.text[b.range.clone()], images)
        });
        let want = want.iter().map(|(k, t, i)| (k.clone(), *t, i.to_vec()));
        assert_eq!(
            got.collect::<Vec<_>>(),
            want.collect::<Vec<_>>(),
            "{source}"
        );
    }
}

#[test]
fn the_address_is_one_of_the_web() {
    let cases = [
        (
            "<link rel=canonical href=/duck><meta property=og:url content='https://o.org/d'>",
            Some("https://o.org/d"),
        ),
        ("<base href=' http://b.org/ '>", Some("http://b.org/")),
        (
            "<link rel=canonical href='javascript:alert(1)'><base href='file:///x'>",
            None,
        ),
    ];
    for (source, want) in cases {
        let document = parse(source.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(document.facts.address.as_deref(), want, "{source}");
    }
    let page =
        "<div itemprop=author><span itemprop=name>Ann  Lee</span>, boss</div><a rel=author>Bo</a>";
    let document = parse(page.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(document.authors, ["Ann Lee", "Bo"]);
}

#[test]
fn a_hostile_table_is_refused_and_a_long_one_is_read() {
    let limits = Limits {
        text_max: 100_000,
        ..Limits::default()
    };
    let wide = format!(
        "<table><tr>{}<tr><td>y{}</table>",
        "<td>x".repeat(900),
        "<tr><td>z".repeat(900)
    );
    let error = parse(wide.as_bytes(), &limits).unwrap_err();
    assert!(matches!(error, ParseError::TooLarge { .. }), "{error:?}");
    let spans = format!(
        "<table>{}</table>",
        "<tr><td colspan=1000 rowspan=65534>x<td>y".repeat(500)
    );
    assert!(parse(spans.as_bytes(), &Limits::default()).is_ok());
    let long = format!("<table>{}</table>", "<tr><td>x<td>y".repeat(5_000));
    assert_eq!(
        parse(long.as_bytes(), &Limits::default())
            .unwrap()
            .blocks
            .len(),
        1
    );
}

#[test]
fn every_cut_of_a_page_is_a_page() {
    let page = "<main><h1>A</h1><table><caption>c</caption><tr><td rowspan=2>é<td><img src=a.png alt=b></table><dl><dt>t<dd>d</dl>\
                <figure><img src=b><figcaption>x</figcaption></figure><ol class=references><li>n</ol><math display=block alttext=y></math></main>";
    for end in (0..=page.len()).filter(|end| page.is_char_boundary(*end)) {
        let document = parse(&page.as_bytes()[..end], &Limits::default()).unwrap();
        document.validate().unwrap();
        let (text, blocks) = book_page(&page[..end], &Limits::default()).unwrap();
        assert!(
            blocks
                .iter()
                .all(|block| text.get(block.range.clone()).is_some())
        );
    }
}
