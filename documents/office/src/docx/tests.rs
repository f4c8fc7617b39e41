use proptest::prelude::*;

use super::*;
use crate::packed::packed;
use loci_parsing::tree::MarkKind;

const STYLES: &str = "<styles>
    <style styleId='1'><name val='heading 1'/></style>
    <style styleId='2'><name val='Meine'/><basedOn val='U2'/></style>
    <style styleId='U2'><name val='Überschrift 2'/></style>
    <style styleId='O'><name val='Outline'/><pPr><outlineLvl val='2'/></pPr></style>
    <style styleId='N'><name val='No'/><basedOn val='1'/><pPr><outlineLvl val='9'/></pPr></style>
    <style styleId='L'><name val='loop'/><basedOn val='L'/></style>
    <style styleId='T'><name val='Title'/></style>
    <style styleId='C'><name val='caption'/></style>
    <style styleId='Q'><name val='Intense Quote'/></style>
    <style styleId='S'><name val='Source Code'/></style>
    <style styleId='TOC1'><name val='toc 1'/></style>
    <style styleId='H'><name val='heading 1'/><pPr><numPr><numId val='2'/></numPr></pPr></style>
    <style styleId='H2'><name val='heading 2'/><pPr><numPr><numId val='2'/></numPr></pPr></style>
    <style styleId='B'><name val='Strong'/><rPr><b/></rPr></style>
    <style styleId='V'><name val='Verbatim Char'/></style>
    <style styleId='R'><name val='Bibliography'/></style></styles>";

const NUMBERING: &str = "<numbering>
    <abstractNum abstractNumId='1'>
        <lvl ilvl='0'><start val='1'/><numFmt val='decimal'/><lvlText val='%1.'/></lvl>
        <lvl ilvl='1'><start val='1'/><numFmt val='lowerLetter'/><lvlText val='(%2)'/></lvl>
        <lvl ilvl='2'><numFmt val='bullet'/><lvlText val='•'/></lvl></abstractNum>
    <abstractNum abstractNumId='2'>
        <lvl ilvl='0'><start val='1'/><numFmt val='upperRoman'/><lvlText val='%1'/><pStyle val='H'/></lvl>
        <lvl ilvl='1'><start val='1'/><isLgl/><lvlText val='%1.%2'/><pStyle val='H2'/></lvl></abstractNum>
    <num numId='1'><abstractNumId val='1'/></num>
    <num numId='2'><abstractNumId val='2'/></num>
    <num numId='3'><abstractNumId val='1'/><lvlOverride ilvl='0'><startOverride val='7'/></lvlOverride></num>
    </numbering>";

const RELATIONS: &str = "<Relationships>
    <Relationship Id='p' Type='x/image' Target='media/a.png'/>
    <Relationship Id='c' Type='x/chart' Target='charts/c.xml'/>
    <Relationship Id='d' Type='x/diagramData' Target='diagrams/d.xml'/>
    <Relationship Id='s' Type='x/styles' Target='styles.xml'/>
    <Relationship Id='n' Type='x/numbering' Target='numbering.xml'/>
    <Relationship Id='f' Type='x/footnotes' Target='/word/Footnotes.xml'/>
    <Relationship Id='m' Type='x/comments' Target='comments.xml'/></Relationships>";

const FOOTNOTES: &str = "<footnotes><footnote id='0' type='separator'><p><r><t>-</t></r></p></footnote>
    <footnote id='2'><p><r><footnoteRef/><t>See</t></r></p><p><r><t>there.</t></r></p></footnote></footnotes>";
const COMMENTS: &str =
    "<comments><comment id='5' author='Ann'><p><r><t>Why?</t></r></p></comment></comments>";
const CHART: &str = "<chartSpace><chart><title><t>Sales</t></title><ser><tx><v>North</v></tx>
    <cat><pt idx='0'><v>2020</v></pt></cat><val><pt idx='0'><v>7</v></pt></val></ser></chart></chartSpace>";
const DIAGRAM: &str = "<dataModel><ptLst><pt modelId='0' type='doc'/><pt modelId='2'><t><p><r><t>second</t></r></p></t></pt>
    <pt modelId='1'><t><p><r><t>first</t></r></p></t></pt><pt modelId='3' type='pres'><t><p><t>x</t></p></t></pt></ptLst>
    <cxnLst><cxn srcId='0' destId='2' srcOrd='1'/><cxn srcId='0' destId='1' srcOrd='0'/></cxnLst></dataModel>";
const CORE: &str = "<coreProperties><title>untitled</title><creator>Ann Lee; Bo</creator>
    <created>2021-02-03T00:00:00Z</created><keywords>a, b</keywords></coreProperties>";

fn document(body: &str) -> Vec<u8> {
    let body = format!("<document xmlns:r='http://x/relationships'><body>{body}</body></document>");
    packed(&[
        ("word/document.xml", body.as_bytes()),
        ("word/_rels/document.xml.rels", RELATIONS.as_bytes()),
        ("word/styles.xml", STYLES.as_bytes()),
        ("word/numbering.xml", NUMBERING.as_bytes()),
        ("word/footnotes.xml", FOOTNOTES.as_bytes()),
        ("word/comments.xml", COMMENTS.as_bytes()),
        ("word/charts/c.xml", CHART.as_bytes()),
        ("word/diagrams/d.xml", DIAGRAM.as_bytes()),
        ("word/media/a.png", b"png"),
        ("docProps/core.xml", CORE.as_bytes()),
    ])
}

fn read(body: &str) -> ParsedDocument {
    let document = parse(&document(body), &Limits::default()).unwrap();
    document.validate().unwrap();
    document
}

fn check(body: &str, want: &[(BlockKind, &str)]) -> ParsedDocument {
    let document = read(body);
    let blocks = document.blocks.iter();
    let got: Vec<_> = blocks
        .map(|block| (block.kind.clone(), &document.text[block.range.clone()]))
        .collect();
    assert_eq!(got, want, "{body}");
    document
}

/// A paragraph of a style.
fn p(style: &str, text: &str) -> String {
    format!("<p><pPr><pStyle val='{style}'/></pPr><r><t>{text}</t></r></p>")
}

/// A paragraph of a list.
fn item(list: u32, level: u32, text: &str) -> String {
    format!(
        "<p><pPr><numPr><ilvl val='{level}'/><numId val='{list}'/></numPr></pPr><r><t>{text}</t></r></p>"
    )
}

fn cell(text: &str) -> String {
    format!("<tc><p><r><t>{text}</t></r></p></tc>")
}

#[test]
fn paragraphs_are_what_their_styles_say() {
    use BlockKind::{Caption, Code, Heading, ListItem, Paragraph, Quote, Reference};
    let lines = [p("S", "fn a() {"), p("S", "  b|}"), p("", "x")].concat();
    let lines = lines.replace('|', "</t><br/><t>");
    let long = ["long"; 300].join(" ");
    let cases: &[(String, &[(BlockKind, &str)])] = &[
        (String::new(), &[]),
        (
            [
                p("1", "A"),
                p("2", "B"),
                p("O", "C"),
                p("N", "d"),
                p("L", "e"),
            ]
            .concat(),
            &[
                (Heading(1), "A"),
                (Heading(2), "B"),
                (Heading(3), "C"),
                (Paragraph, "d"),
                (Paragraph, "e"),
            ],
        ),
        (
            [p("T", "A"), p("1", "B"), p("2", "C")].concat(),
            &[(Heading(1), "A"), (Heading(2), "B"), (Heading(3), "C")],
        ),
        (
            [p("T", "A"), p("2", "B")].concat(),
            &[(Heading(1), "A"), (Heading(2), "B")],
        ),
        (p("1", &long), &[(Paragraph, &long)]),
        (
            [p("C", "a"), p("Q", "b"), p("R", "c")].concat(),
            &[(Caption, "a"), (Quote, "b"), (Reference(None), "c")],
        ),
        (lines, &[(Code(None), "fn a() {\n  b\n}"), (Paragraph, "x")]),
        (
            [
                p("H", "A"),
                p("H2", "B"),
                p("H2", ""),
                p("H2", "C"),
                p("H", "D"),
                p("H2", "E"),
            ]
            .concat(),
            &[
                (Heading(1), "I A"),
                (Heading(2), "1.1 B"),
                (Heading(2), "1.3 C"),
                (Heading(1), "II D"),
                (Heading(2), "2.1 E"),
            ],
        ),
        (
            [
                item(1, 0, "a"),
                item(1, 1, "b"),
                item(1, 1, "c"),
                item(1, 2, "d"),
                item(1, 0, "e"),
            ]
            .concat(),
            &[
                (ListItem, "1. a"),
                (ListItem, "(a) b"),
                (ListItem, "(b) c"),
                (ListItem, "d"),
                (ListItem, "2. e"),
            ],
        ),
        (
            [
                item(1, 0, "a"),
                item(3, 0, "b"),
                item(3, 0, "c"),
                item(0, 0, "d"),
                item(9, 0, "e"),
            ]
            .concat(),
            &[
                (ListItem, "1. a"),
                (ListItem, "7. b"),
                (ListItem, "8. c"),
                (Paragraph, "d"),
                (Paragraph, "e"),
            ],
        ),
        (item(1, 99, "deep"), &[(Paragraph, "deep")]),
    ];
    for (body, want) in cases {
        check(body, want);
    }
}

#[test]
fn what_is_no_text_of_the_document_is_left_out() {
    use BlockKind::{Heading, Paragraph};
    let field = |kind: &str| format!("<r><fldChar fldCharType='{kind}'/></r>");
    let (begin, separate, end) = (field("begin"), field("separate"), field("end"));
    let code = |code: &str| format!("{begin}<r><instrText>{code}</instrText></r>{separate}");
    let toc = code(" TOC \\o 1-3 ");
    let cases: &[(String, &[(BlockKind, &str)])] = &[
        (
            "<p><ins><r><t>a</t></r></ins><del><r><delText>b</delText></r></del><moveFrom><r><t>c</t></r></moveFrom></p>".into(),
            &[(Paragraph, "a")],
        ),
        (
            "<p><pPr><rPr><del/></rPr></pPr><r><t>a</t></r></p><p><r><t>b</t></r></p>".into(),
            &[(Paragraph, "ab")],
        ),
        ("<p><r><rPr><vanish/></rPr><t>a</t></r><r><rPr><vanish val='0'/></rPr><t>b</t></r></p>".into(), &[(Paragraph, "b")]),
        (format!("<p>{}<r><t>7</t></r>{end}<r><t> x</t></r></p>", code("REF a")), &[(Paragraph, "7 x")]),
        ("<p><fldSimple instr='SEQ'><r><t>1</t></r></fldSimple></p>".into(), &[(Paragraph, "1")]),
        (
            format!("<p>{toc}<r><t>A 1</t></r></p><p><r><t>B 2</t></r></p><p>{end}<r><t>x</t></r></p>"),
            &[(Paragraph, "x")],
        ),
        (
            format!("<p>{toc}<r><t>A 1</t></r></p>{}<p><r><t>x</t></r></p>", p("1", "A")),
            &[(Heading(1), "A"), (Paragraph, "x")],
        ),
        ([p("TOC1", "A 1"), p("", "x")].concat(), &[(Paragraph, "x")]),
        (
            "<sdt><sdtPr><docPartObj><docPartGallery val='Table of Contents'/></docPartObj></sdtPr><sdtContent><p><r><t>A</t></r></p></sdtContent></sdt><sdt><sdtContent><p><r><t>b</t></r></p></sdtContent></sdt>".into(),
            &[(Paragraph, "b")],
        ),
        (
            "<p><sdt><sdtPr><showingPlcHdr/></sdtPr><sdtContent><r><t>Click</t></r></sdtContent></sdt><r><t>a</t></r></p>".into(),
            &[(Paragraph, "a")],
        ),
        (
            "<p><r><AlternateContent><Choice><t>a</t></Choice><Fallback><t>b</t></Fallback></AlternateContent></r></p>".into(),
            &[(Paragraph, "a")],
        ),
        (
            "<p><r><t>a</t><tab/><t>b</t><noBreakHyphen/><t>c</t><br/><t>d</t><softHyphen/><sym font='Symbol' char='F061'/><sym font='Wingdings' char='F0FC'/></r></p>".into(),
            &[(Paragraph, "a b-c\ndα")],
        ),
    ];
    for (body, want) in cases {
        check(body, want);
    }
}

#[test]
fn notes_close_their_section_and_comments_follow_their_paragraph() {
    use BlockKind::{Aside, Footnote, Heading, Paragraph};
    let refer = "<r><footnoteReference id='2'/></r><r><footnoteReference id='0'/></r><r><commentReference id='5'/></r>";
    let paragraph_with_note = format!("<p><r><t>a</t></r>{refer}<r><t>.</t></r></p>");
    let body = [
        &p("1", "A")[..],
        &paragraph_with_note,
        &p("", "b"),
        &p("1", "B"),
        &paragraph_with_note,
    ]
    .concat();
    check(
        &body,
        &[
            (Heading(1), "A"),
            (Paragraph, "a[^1]."),
            (Aside, "Ann: Why?"),
            (Paragraph, "b"),
            (Footnote, "[^1]: See there."),
            (Heading(1), "B"),
            (Paragraph, "a[^1]."),
        ],
    );
}

#[test]
fn tables_are_rows_of_cells() {
    use BlockKind::{Aside, Heading, Paragraph, Table};
    let merged = "<tr><tc><tcPr><gridSpan val='2'/></tcPr><p><r><t>a</t></r></p></tc><tc><tcPr><vMerge val='restart'/></tcPr><p><r><t>b</t></r></p></tc></tr>";
    let rows = format!(
        "<tr>{}{}<tc><tcPr><vMerge/></tcPr><p/></tc></tr>",
        cell("c"),
        cell("d|e")
    );
    let nested = format!(
        "<tr>{}<tc><p><r><t>x</t></r></p><tbl><tr>{}{}</tr></tbl></tc></tr>",
        cell("a"),
        cell("y"),
        cell("z")
    );
    let gone = format!(
        "<tr><trPr><del/></trPr>{}</tr><tr>{}{}</tr>",
        cell("x"),
        cell("a"),
        cell("b")
    );
    let cases: &[(String, &[(BlockKind, &str)])] = &[
        (
            format!("<tbl>{merged}{rows}</tbl>"),
            &[(Table, "| a |  | b |\n| --- | --- | --- |\n| c | d\\|e |  |")],
        ),
        (
            format!("<tbl>{nested}</tbl>"),
            &[(Table, "| a | x y z |\n| --- | --- |")],
        ),
        (
            format!("<tbl>{gone}</tbl>"),
            &[(Table, "| a | b |\n| --- | --- |")],
        ),
        (
            format!("<tbl><tr>{}</tr></tbl>", cell("alone")),
            &[(Paragraph, "alone")],
        ),
        (
            format!("<tbl><tr><tc>{}</tc>{}</tr></tbl>", p("1", "A"), cell("b")),
            &[(Heading(1), "A"), (Paragraph, "b")],
        ),
        (
            format!(
                "<tbl><tr><tc><p><r><t>a</t><commentReference id='5'/></r></p></tc>{}</tr></tbl>",
                cell("")
            ),
            &[(Table, "| a |  |\n| --- | --- |"), (Aside, "Ann: Why?")],
        ),
        ("<tbl><tr><tc/><tc/></tr></tbl><tbl/>".into(), &[]),
    ];
    for (body, want) in cases {
        check(body, want);
    }
}

#[test]
fn pictures_boxes_charts_and_formulas_follow_their_paragraph() {
    use BlockKind::{Caption, Equation, Figure, ListItem, Paragraph, Table};
    let drawing = |names: &str, data: &str| {
        format!(
            "<r><drawing><inline><docPr {names}/><graphic><graphicData>{data}</graphicData></graphic></inline></drawing></r>"
        )
    };
    let blip = "<pic><blipFill><blip r:embed='p'/></blipFill></pic>";
    let box_ = "<txbxContent><p><r><t>boxed</t></r></p></txbxContent>";
    let formula = "<oMath><r><t>x</t></r></oMath>";
    let body = [
        format!(
            "<p><r><t>a</t></r>{}<r><t>b</t></r></p>",
            drawing("descr='A  duck'", blip)
        ),
        p("C", "Fig. 1"),
        format!("<p>{}</p>", drawing("", blip)),
        format!("<p>{}<r><t>c</t></r></p>", drawing("", box_)),
        format!("<p>{}</p>", drawing("", "<chart r:id='c'/>")),
        format!("<p>{}</p>", drawing("", "<relIds r:dm='d'/>")),
        "<p><r><pict><shape alt='old'><imagedata r:id='p'/></shape></pict></r></p>".to_owned(),
        format!(
            "<p><r><t>so</t></r>{formula}<oMathPara>{formula}</oMathPara><r><t>then</t></r></p>"
        ),
    ];
    let document = check(
        &body.concat(),
        &[
            (Paragraph, "ab"),
            (Figure, "A duck"),
            (Caption, "Fig. 1"),
            (Figure, "a.png"),
            (Paragraph, "c"),
            (Paragraph, "boxed"),
            (Figure, "Sales"),
            (Table, "|  | North |\n| --- | --- |\n| 2020 | 7 |"),
            (ListItem, "first"),
            (ListItem, "second"),
            (Figure, "old"),
            (Paragraph, "so x"),
            (Equation, "x"),
            (Paragraph, "then"),
        ],
    );
    assert_eq!(document.blocks[1].images, ["word/media/a.png"]);
    assert_eq!(document.assets.len(), 1);
    assert_eq!(document.assets[0].bytes, b"png");
    let limits = Limits {
        assets_max: 2,
        ..Limits::default()
    };
    let bytes = super::tests::document(&body.concat());
    let without = parse(&bytes, &limits).unwrap();
    assert_eq!((without.assets.len(), without.blocks), (0, document.blocks));
}

#[test]
fn runs_of_one_look_are_one_mark() {
    let body = "<p><r><rPr><b/></rPr><t>bo</t></r><r><rPr><rStyle val='B'/></rPr><t>ld</t></r><r><t> and </t></r>
        <hyperlink><r><rPr><i/></rPr><t>link</t></r></hyperlink><r><rPr><rStyle val='V'/><b val='0'/></rPr><t> x()</t></r></p>";
    let document = read(body);
    let marks = document.blocks[0].marks.iter();
    let got: Vec<_> = marks
        .map(|mark| (mark.kind, &document.text[mark.range.clone()]))
        .collect();
    use MarkKind::{Code, Emphasis, Link, Strong};
    assert_eq!(
        got,
        [
            (Strong, "bold"),
            (Emphasis, "link"),
            (Link, "link"),
            (Code, "x()")
        ]
    );
}

#[test]
fn pages_are_known_where_they_were_laid_out() {
    let set = "<r><br type='page'/></r>";
    let found = "<r><lastRenderedPageBreak/></r>";
    let text = |text: &str| format!("<r><t>{text}</t></r>");
    let body = format!(
        "<p>{}{found}{}</p><p>{set}</p><p>{found}{}</p><p>{found}{}</p>",
        text("a"),
        text("b"),
        text("c"),
        text("d")
    );
    let pages = |body: &str| -> Vec<_> { read(body).blocks.iter().map(|b| b.pages).collect() };
    assert_eq!(pages(&body), [Some((1, 2)), Some((3, 3)), Some((4, 4))]);
    assert_eq!(pages(&body.replace(found, "")), [None; 3]);
}

#[test]
fn a_document_states_what_it_is() {
    let document = read(&[p("T", "On Ducks"), p("1", "A")].concat());
    assert_eq!(document.title.as_deref(), Some("On Ducks"));
    assert_eq!(document.authors, ["Ann Lee", "Bo"]);
    assert_eq!(document.year, Some(2021));
    assert_eq!(document.facts.keywords.as_deref(), Some("a, b"));
    let titles = [
        ([p("1", "A"), p("1", "B")].concat(), None),
        ([p("1", "A"), p("2", "B"), p("2", "C")].concat(), Some("A")),
        (
            [p("1", "CHAPTER 1 – A"), p("1", "CHAPTER 2 – B")].concat(),
            None,
        ),
        ([p("", "x"), p("1", "A"), p("1", "B")].concat(), None),
        ([p("", "x"), p("1", "A"), p("2", "B")].concat(), Some("A")),
    ];
    for (body, want) in titles {
        assert_eq!(read(&body).title.as_deref(), want, "{body}");
    }
}

#[test]
fn a_file_that_is_no_open_document_says_why() {
    let is_malformed = |bytes: &[u8], reason: &str| {
        let error = parse(bytes, &Limits::default()).unwrap_err();
        let ParseError::Malformed { reason: found, .. } = &error else {
            panic!("{error:?}");
        };
        assert!(found.contains(reason), "{found}");
    };
    let old = [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), vec![0; 600]].concat();
    is_malformed(&old, "Office 97");
    let name: Vec<u8> = "EncryptedPackage"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let encrypted = [old, name].concat();
    assert_eq!(
        parse(&encrypted, &Limits::default()),
        Err(ParseError::Encrypted { kind: Kind::Docx })
    );
    is_malformed(b"text", "");
    is_malformed(&packed(&[("a", b"")]), "word/document.xml");
    is_malformed(
        &packed(&[("word/document.xml", b"<a>")]),
        "word/document.xml",
    );
    is_malformed(
        &packed(&[("word/document.xml", b"<!DOCTYPE a><a/>")]),
        "DTD",
    );
    let deep = ["<tbl><tr><tc>".repeat(100), "</tc></tr></tbl>".repeat(100)].concat();
    let error = parse(&document(&deep), &Limits::default()).unwrap_err();
    assert!(matches!(error, ParseError::TooLarge { .. }), "{error:?}");
}

#[test]
fn deep_nesting_within_bounds_is_walked() {
    let tables = [
        "<tbl><tr><tc>".repeat(80),
        "<p><r><t>x</t></r></p>".into(),
        "</tc></tr></tbl>".repeat(80),
    ];
    check(&tables.concat(), &[(BlockKind::Paragraph, "x")]);
    let inserted = [
        "<p>",
        &"<ins>".repeat(240),
        "<r><t>x</t></r>",
        &"</ins>".repeat(240),
        "</p>",
    ];
    check(&inserted.concat(), &[(BlockKind::Paragraph, "x")]);
    let formula = [
        "<p><oMath>",
        &"<f><num>".repeat(120),
        "<t>x</t>",
        &"</num></f>".repeat(120),
        "</oMath></p>",
    ];
    assert_eq!(read(&formula.concat()).blocks.len(), 1);
    let boxes = [
        &"<p><r><pict><txbxContent>".repeat(60)[..],
        "<p><r><t>x</t></r></p>",
        &"</txbxContent></pict></r></p>".repeat(60),
    ];
    check(&boxes.concat(), &[(BlockKind::Paragraph, "x")]);
}

#[test]
fn every_limit_holds() {
    let body = [p("", "one"), p("", "two"), item(1, 0, "three")].concat();
    let wide =
        "<tbl>".to_owned() + &format!("<tr>{}</tr>", "<tc/>".repeat(90)).repeat(90) + "</tbl>";
    let cases: &[(&str, &str, fn(&mut Limits))] = &[
        ("blocks", &body, |limits| limits.blocks_max = 2),
        ("text", &body, |limits| limits.text_max = 9),
        ("unpacked", &body, |limits| limits.unpacked_max = 1_000),
        ("depth", &body, |limits| limits.depth_max = 3),
        ("cells", &wide, |limits| limits.blocks_max = 8_000),
    ];
    for (name, body, change) in cases {
        let mut limits = Limits::default();
        assert!(parse(&document(body), &limits).is_ok(), "{name}");
        change(&mut limits);
        let result = parse(&document(body), &limits);
        assert!(
            matches!(result, Err(ParseError::TooLarge { .. })),
            "{name}: {result:?}"
        );
    }
}

#[test]
fn every_cut_is_an_error_or_a_smaller_document() {
    let bytes = document(&[p("1", "A"), item(1, 0, "a")].concat());
    for len in 0..bytes.len() {
        if let Ok(document) = parse(&bytes[..len], &Limits::default()) {
            document.validate().unwrap();
        }
    }
    let body = [
        p("T", "A"),
        format!("<tbl><tr>{}{}</tr></tbl>", cell("a"), cell("b")),
    ]
    .concat();
    for len in 0..body.len() {
        let source = format!("<document><body>{}", &body[..len]);
        let result = parse(
            &packed(&[("word/document.xml", source.as_bytes())]),
            &Limits::default(),
        );
        assert!(result.is_err());
    }
}

/// Bodies of elements in any order and nesting.
fn bodies() -> impl Strategy<Value = String> {
    let leaves = prop::sample::select(vec![
        "<t>word</t>",
        "<t> ü </t>",
        "<tab/>",
        "<br/>",
        "<br type='page'/>",
        "<lastRenderedPageBreak/>",
        "<footnoteReference id='2'/>",
        "<commentReference id='5'/>",
        "<fldChar fldCharType='begin'/>",
        "<fldChar fldCharType='separate'/>",
        "<fldChar fldCharType='end'/>",
        "<instrText>TOC</instrText>",
        "<instrText>BIBLIOGRAPHY</instrText>",
        "<blip r:embed='p'/>",
        "<chart r:id='c'/>",
        "<relIds r:dm='d'/>",
        "<pPr><pStyle val='1'/></pPr>",
        "<pPr><pStyle val='T'/></pPr>",
        "<pPr><pStyle val='S'/></pPr>",
        "<pPr><pStyle val='TOC1'/></pPr>",
        "<pPr><numPr><numId val='1'/></numPr></pPr>",
        "<pPr><rPr><del/></rPr></pPr>",
        "<rPr><b/></rPr>",
        "<rPr><vanish/></rPr>",
        "<tcPr><vMerge/></tcPr>",
        "<tcPr><gridSpan val='99999999'/></tcPr>",
        "<sym font='Symbol' char='F061'/>",
    ]);
    let names = prop::sample::select(vec![
        "p",
        "r",
        "tbl",
        "tr",
        "tc",
        "drawing",
        "graphicData",
        "txbxContent",
        "oMathPara",
        "oMath",
        "f",
        "num",
        "sSup",
        "e",
        "hyperlink",
        "ins",
        "sdt",
        "sdtContent",
        "AlternateContent",
        "Choice",
        "pict",
    ]);
    let leaves = leaves.prop_map(str::to_owned);
    let tree = leaves.prop_recursive(6, 60, 6, move |inner| {
        let inside = prop::collection::vec(inner, 0..6);
        (names.clone(), inside)
            .prop_map(|(name, inside)| format!("<{name}>{}</{name}>", inside.concat()))
    });
    prop::collection::vec(tree, 0..6).prop_map(|trees| trees.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_nesting_of_elements_is_a_valid_document(body in bodies()) {
        let document = parse(&document(&body), &Limits::default()).unwrap();
        prop_assert_eq!(document.validate(), Ok(()));
    }

    #[test]
    fn changed_bytes_never_panic(at in any::<prop::sample::Index>(), byte: u8, part in 0..4_usize) {
        let mut parts = [p("1", "A"), STYLES.to_owned(), NUMBERING.to_owned(), RELATIONS.to_owned()].map(String::into_bytes);
        parts[0] = [b"<document><body>", &parts[0][..], b"</body></document>"].concat();
        let len = parts[part].len();
        parts[part][at.index(len)] = byte;
        let names = ["word/document.xml", "word/styles.xml", "word/numbering.xml", "word/_rels/document.xml.rels"];
        let files: Vec<(&str, &[u8])> = names.into_iter().zip(parts.iter().map(|part| &part[..])).collect();
        let mut bytes = packed(&files);
        if let Ok(document) = parse(&bytes, &Limits::default()) {
            prop_assert_eq!(document.validate(), Ok(()));
        }
        let len = bytes.len();
        bytes[at.index(len)] = byte;
        let _ = parse(&bytes, &Limits::default());
    }
}

#[test]
fn lost_content_is_reported() {
    let field = |kind: &str| format!("<r><fldChar fldCharType='{kind}'/></r>");
    let (begin, separate, end) = (field("begin"), field("separate"), field("end"));
    let open = format!("<p><r><t>a</t></r>{begin}<r><instrText>REF x</instrText></r></p>");
    let lost = "<p><r><t>lost</t></r></p>";
    let closed = format!("{open}{lost}<p>{separate}{end}</p>");
    let toc = format!("<p>{begin}<r><instrText>TOC</instrText></r>{separate}</p>{lost}");
    let cases: &[(String, &[&str])] = &[
        (p("", "a"), &[]),
        (format!("{open}{lost}"), &["hides 4 characters after it"]),
        (format!("{open}{lost}{lost}"), &["hides 8 characters"]),
        (closed + &p("", "b"), &[]),
        (p("", "a") + &toc, &["hides 4 characters"]),
        (p("", "a") + &toc + &p("1", "A"), &[]),
        (
            p("", "a") + "<altChunk/><subDoc/>",
            &["2 other files are to be taken in"],
        ),
        (
            p("", "a") + "<p><r><drawing><inline><blip r:embed='img'/></inline></drawing></r></p>",
            &[],
        ),
    ];
    for (body, want) in cases {
        let warning = read(body).warnings;
        assert_eq!(warning.len(), want.len(), "{body}: {warning:?}");
        for (warnings, want) in warning.iter().zip(*want) {
            assert!(warnings.contains(want), "{warnings}");
        }
    }
}

#[test]
fn missing_parts_and_pictures_are_reported() {
    let relations = "<Relationships><Relationship Id='f' Type='x/footnotes' Target='footnotes.xml'/><Relationship Id='i' Type='x/image' Target='media/a.png'/></Relationships>";
    let body = "<document xmlns:r='http://x/relationships'><body><p><r><t>a</t><drawing><blip r:embed='i'/></drawing></r></p></body></document>";
    let bytes = packed(&[
        ("word/document.xml", body.as_bytes()),
        ("word/_rels/document.xml.rels", relations.as_bytes()),
    ]);
    let warnings = parse(&bytes, &Limits::default()).unwrap().warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("(word/footnotes.xml)"), "{warnings:?}");
    let picture = "1 picture is not stored";
    assert!(
        warnings[1].starts_with(picture) && warnings[1].contains("(word/media/a.png)"),
        "{warnings:?}"
    );
}
