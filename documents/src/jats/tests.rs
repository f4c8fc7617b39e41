use proptest::prelude::*;

use super::*;
use crate::tests_of::{blocks, check_cut_and_corrupted};
use loci_parsing::tree::BlockKind;

fn article(body: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?><!DOCTYPE article PUBLIC \"-//NLM//DTD JATS\" \"x.dtd\">\
         <article xmlns:xlink=\"l\" xmlns:mml=\"m\" xml:lang=\"EN\">{body}</article>"
    )
}

fn read(source: &str) -> ParsedDocument {
    let document = parse(source.as_bytes(), &Limits::default()).unwrap();
    document.validate().unwrap();
    document
}

const LIST: &str = "<back><ref-list>\
    <ref id='r1'><label>1.</label><mixed-citation><string-name><surname>Knuth</surname> <given-names>D</given-names>\
        </string-name>. <article-title>The art</article-title>. <source>AW</source>; <year>1997</year>. \
        <pub-id pub-id-type='doi'>10.1/a</pub-id></mixed-citation></ref>\
    <ref id='r2'><label>2.</label><element-citation><person-group person-group-type='author'>\
        <name><surname>Lee</surname><given-names>Ann</given-names></name></person-group><year>2001</year>\
        <source>A book</source><publisher-name>Press</publisher-name></element-citation></ref>\
    <ref id='r3'><label>3.</label><mixed-citation>Third.</mixed-citation></ref>\
    <ref id='r4'><label>4.</label><mixed-citation>Fourth.</mixed-citation></ref></ref-list></back>";

#[test]
fn each_element_becomes_its_block() {
    use BlockKind::{
        Aside, Caption, Code, Equation, Figure, Footnote, Heading, ListItem, Paragraph, Quote,
        Table,
    };
    let cases: &[(&str, &[(BlockKind, &str)])] = &[
        (
            "<sec><label>1</label><title>A <italic>b</italic></title><p>c\n d</p><sec><title>E</title></sec></sec><p>f</p>",
            &[
                (Heading(1), "1 A b"),
                (Paragraph, "c d"),
                (Heading(2), "E"),
                (Paragraph, "f"),
            ],
        ),
        (
            "<p>a<list list-type='order'><list-item><p>b</p><p>c</p></list-item><list-item><p>d</p></list-item></list>e</p>",
            &[
                (Paragraph, "a"),
                (ListItem, "1. b"),
                (Paragraph, "c"),
                (ListItem, "2. d"),
                (Paragraph, "e"),
            ],
        ),
        (
            "<def-list><def-item><term>PCR</term><def><p>a reaction</p></def></def-item></def-list>",
            &[(ListItem, "PCR: a reaction")],
        ),
        (
            "<fig><label>Figure 1</label><caption><title>Cells</title><p>Seen.</p></caption><graphic xlink:href='f1.tif'>\
             <alt-text>three cells</alt-text></graphic></fig>",
            &[(Figure, "three cells"), (Caption, "Figure 1 Cells. Seen.")],
        ),
        (
            "<table-wrap><label>Table 1.</label><caption><p>Sizes</p></caption><table><thead><tr><th>a</th><th colspan='2'>b|c</th></tr>\
             </thead><tbody><tr><td rowspan='2'>1</td><td>2</td><td>3</td></tr><tr><td>4</td><td>5</td></tr></tbody></table>\
             <table-wrap-foot><fn><label>*</label><p>note</p></fn></table-wrap-foot></table-wrap>",
            &[
                (Caption, "Table 1. Sizes"),
                (
                    Table,
                    "| a | b\\|c |  |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 | 5 |",
                ),
                (Footnote, "* note"),
            ],
        ),
        (
            "<p>So <inline-formula><tex-math>\\documentclass{a}\\begin{document}$x^2$\\end{document}</tex-math></inline-formula> is\
             <disp-formula><label>(1)</label><mml:math><mml:mfrac><mml:mrow><mml:mi>a</mml:mi><mml:mo>+</mml:mo><mml:mi>b</mml:mi>\
             </mml:mrow><mml:msup><mml:mi>c</mml:mi><mml:mn>2</mml:mn></mml:msup></mml:mfrac></mml:math></disp-formula>there.</p>",
            &[
                (Paragraph, "So $x^2$ is"),
                (Equation, "(a + b)/(c^2) (1)"),
                (Paragraph, "there."),
            ],
        ),
        (
            "<boxed-text><caption><title>Box 1</title></caption><p>in it</p></boxed-text><p>out</p>",
            &[(Aside, "Box 1"), (Aside, "in it"), (Paragraph, "out")],
        ),
        (
            "<disp-quote><p>q</p></disp-quote><p>a<fn><p>foot</p></fn> b</p><preformat>x\n  y</preformat>",
            &[
                (Quote, "q"),
                (Paragraph, "a b"),
                (Footnote, "foot"),
                (Code(None), "x\n  y"),
            ],
        ),
        (
            "<statement><label>Theorem 1</label><title>Noether</title><p>It holds.</p></statement><p>10<sup>5</sup> H<sub>2</sub>O</p>",
            &[
                (Paragraph, "Theorem 1 (Noether). It holds."),
                (Paragraph, "10^5 H2O"),
            ],
        ),
    ];
    for (body, want) in cases {
        let document = read(&article(&format!("<body>{body}</body>")));
        assert_eq!(blocks(&document), *want, "{body}");
    }
}

#[test]
fn front_matter_is_facts_and_the_abstract_a_section() {
    let source = article(
        "<front><journal-meta><journal-title-group><journal-title>eLife</journal-title></journal-title-group></journal-meta>\
         <article-meta><article-id pub-id-type='doi'>10.1/x</article-id><title-group><article-title>On <italic>ducks</italic>\
         </article-title><subtitle>and geese</subtitle></title-group><contrib-group><contrib contrib-type='author'><name>\
         <surname>Lee</surname><given-names>Ann</given-names></name></contrib><contrib contrib-type='editor'><name>\
         <surname>No</surname></name></contrib><contrib><collab>The Group</collab></contrib></contrib-group>\
         <pub-date pub-type='collection'><year>1999</year></pub-date><pub-date date-type='pub'><year>2001</year></pub-date>\
         <abstract><p>Short.</p></abstract><kwd-group><kwd>duck</kwd><kwd>goose</kwd></kwd-group></article-meta></front>\
         <body><p>Long.</p></body><back><ack><p>Thanks.</p></ack></back>\
         <sub-article><front-stub><title-group><article-title>Review</article-title></title-group></front-stub>\
         <body><sec><title>Points</title><p>Good.</p></sec></body></sub-article>",
    );
    let document = read(&source);
    assert_eq!(document.title.as_deref(), Some("On ducks: and geese"));
    assert_eq!(document.authors, ["Ann Lee", "The Group"]);
    assert_eq!(document.year, Some(2001));
    let facts = &document.facts;
    assert_eq!(facts.language.as_deref(), Some("en"));
    assert_eq!(facts.venue.as_deref(), Some("eLife"));
    assert_eq!(facts.doi.as_deref(), Some("10.1/x"));
    assert_eq!(facts.keywords.as_deref(), Some("duck; goose"));
    use BlockKind::{Heading, Paragraph};
    let want = [
        (Heading(1), "Abstract"),
        (Paragraph, "Short."),
        (Paragraph, "Long."),
        (Heading(1), "Acknowledgements"),
        (Paragraph, "Thanks."),
        (Heading(1), "Review"),
        (Heading(2), "Points"),
        (Paragraph, "Good."),
    ];
    assert_eq!(blocks(&document), want);
}

#[test]
fn references_have_their_parts_and_their_blocks() {
    let document = read(&article(LIST));
    let [knuth, book, ..] = &document.references[..] else {
        panic!("{:?}", document.references)
    };
    assert_eq!(knuth.label, "1");
    assert_eq!(knuth.text, "Knuth D. The art. AW; 1997. 10.1/a");
    assert_eq!(
        (knuth.title.as_deref(), knuth.venue.as_deref()),
        (Some("The art"), Some("AW"))
    );
    assert_eq!(
        (knuth.year, knuth.doi.as_deref()),
        (Some(1997), Some("10.1/a"))
    );
    assert_eq!(knuth.authors, ["D Knuth"]);
    assert_eq!(book.text, "Lee Ann. 2001. A book. Press");
    assert_eq!(
        (book.title.as_deref(), book.venue.as_deref()),
        (Some("A book"), Some("Press"))
    );
    let blocks = blocks(&document);
    assert_eq!(blocks[0], (BlockKind::Heading(1), "References"));
    assert_eq!(blocks[3], (BlockKind::Reference(Some(2)), "[3] Third."));
}

#[test]
fn citations_mean_the_works_that_readers_see() {
    let one = |ids: &str, text: &str| format!("<xref ref-type='bibr' rid='{ids}'>{text}</xref>");
    let cases: &[(&str, String, &[(&str, &[u32])])] = &[
        ("one", format!("a [{}]", one("r2", "2")), &[("2", &[1])]),
        (
            "several",
            format!("{}; {}", one("r1", "Knuth, 1997"), one("r3", "X")),
            &[("Knuth, 1997", &[0]), ("X", &[2])],
        ),
        (
            "a range by its ends",
            format!("[{}–{}]", one("r1", "1"), one("r4", "4")),
            &[("1–4", &[0, 1, 2, 3])],
        ),
        (
            "each end in brackets",
            format!("{}-{}", one("r1", "[1]"), one("r3", "[3]")),
            &[("[1]-[3]", &[0, 1, 2])],
        ),
        (
            "all ids in one",
            one("r1 r2 r3", "1–3"),
            &[("1–3", &[0, 1, 2])],
        ),
        (
            "a range of one id",
            one("r2", "[2–4]"),
            &[("[2–4]", &[1, 2, 3])],
        ),
        (
            "elements without text",
            format!("{}–{}{}", one("r1", "1"), one("r2", ""), one("r3", "3")),
            &[("1–3", &[0, 1, 2])],
        ),
        (
            "no range: the numbers do not fit",
            format!("{}–{}", one("r1", "1"), one("r4", "3")),
            &[("1", &[0]), ("3", &[3])],
        ),
        ("unknown", one("r9", "9"), &[]),
        (
            "in a mark",
            format!("<bold>see {}</bold>", one("r1", "1")),
            &[("1", &[0])],
        ),
    ];
    for (name, body, want) in cases {
        let document = read(&article(&format!("<body><p>{body}</p></body>{LIST}")));
        let got: Vec<(&str, &[u32])> = document
            .citations
            .iter()
            .map(|citation| {
                (
                    &document.text[citation.range.clone()],
                    &citation.references[..],
                )
            })
            .collect();
        assert_eq!(got, *want, "{name}");
    }
    let cell = format!(
        "<table-wrap><table><tr><td>x|y</td><td>a|{}</td></tr></table></table-wrap>",
        one("r1", "[1]")
    );
    let document = read(&article(&format!("<body>{cell}</body>{LIST}")));
    assert_eq!(&document.text[document.citations[0].range.clone()], "[1]");
}

#[test]
fn bombs_and_deep_nesting_are_refused() {
    let lol = "<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;'>";
    let big = format!("<!ENTITY a '{}'>", "x".repeat(100_000));
    let document = |entities: &str, body: &str| {
        format!("<!DOCTYPE article [{entities}]><article><body><p>{body}</p></body></article>")
    };
    let limits = Limits {
        text_max: 1 << 20,
        ..Limits::default()
    };
    let refused = |source: &str| parse(source.as_bytes(), &limits).unwrap_err();
    assert!(matches!(
        refused(&document(lol, "&b;")),
        ParseError::Malformed { .. }
    ));
    assert!(matches!(
        refused(&document(&big, &"&a;".repeat(100))),
        ParseError::TooLarge { .. }
    ));
    let deep = article(&format!(
        "<body>{}x{}</body>",
        "<sec>".repeat(300),
        "</sec>".repeat(300)
    ));
    assert!(matches!(refused(&deep), ParseError::TooLarge { .. }));
    assert!(matches!(refused("<html/>"), ParseError::Malformed { .. }));
    let nested = article(&format!(
        "<body>{}x{}</body>",
        "<sec><p>".repeat(95),
        "</p></sec>".repeat(95)
    ));
    assert_eq!(read(&nested).text, "x");
    let honest = document(
        "<!ENTITY lab 'Macfarlan'>",
        "&lab; &alpha;&nbsp;&amp; &#233;",
    );
    assert_eq!(read(&honest).text, "Macfarlan α & é");
}

#[test]
fn a_cut_file_is_an_error() {
    let whole = article(&format!(
        "<body><p>a <xref ref-type='bibr' rid='r1'>1</xref></p></body>{LIST}"
    ));
    check_cut_and_corrupted(Kind::Jats, whole.as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_mix_of_elements_is_read_or_refused(parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..40)) {
        // Most mixes are no XML, so those that nest are built by closing what was opened.
        let mut open: Vec<&str> = Vec::new();
        let mut body = String::new();
        for part in parts {
            body.push_str(part);
            match part.strip_prefix('<').filter(|tag| !tag.ends_with("/>")) {
                Some(tag) => open.push(tag.split([' ', '>']).next().unwrap_or_default()),
                None if part == "|" => if let Some(name) = open.pop() { body.push_str(&format!("</{name}>")) },
                None => {}
            }
        }
        while let Some(name) = open.pop() {
            body.push_str(&format!("</{name}>"));
        }
        let source = article(&format!("<body>{body}</body>{LIST}"));
        let result = crate::parse::parse(Kind::Jats, source.as_bytes(), None);
        prop_assert!(matches!(result, Ok(_) | Err(ParseError::Empty)), "{result:?}");
    }
}

const PARTS: &[&str] = &[
    "<p>",
    "<sec>",
    "<title>",
    "<list>",
    "<list-item>",
    "<fig>",
    "<caption>",
    "<label>",
    "<table-wrap>",
    "<table>",
    "<tr>",
    "<td colspan='3'>",
    "<td rowspan='9'>",
    "<xref ref-type='bibr' rid='r1'>",
    "<xref ref-type='bibr' rid='r2 r3'>",
    "<xref ref-type='bibr' rid='r4'/>",
    "<disp-formula>",
    "<tex-math>",
    "<boxed-text>",
    "<fn>",
    "<ref-list>",
    "<bold>",
    "<sup>",
    "<graphic xlink:href='a'/>",
    "<statement>",
    "<disp-quote>",
    "<def-item>",
    "<preformat>",
    "<supplementary-material>",
    "<mml:math>",
    "<mml:mfrac>",
    "<mml:mi>",
    "|",
    "|",
    "|",
    "|",
    "1",
    "3",
    "–",
    " ",
    "é",
    "[",
    "]",
    "a ",
];
