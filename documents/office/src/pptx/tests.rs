use proptest::prelude::*;

use super::*;
use crate::packed::packed;
use loci_parsing::tree::{BlockKind, MarkKind};

const SPACES: &str = "xmlns:r='http://x/relationships'";

/// The relations of a part.
fn relations(all: &[(&str, &str, &str)]) -> String {
    let mut text = String::from("<Relationships>");
    for (id, kind, target) in all {
        text += &format!("<Relationship Id='{id}' Type='http://x/{kind}' Target='{target}'/>");
    }
    text + "</Relationships>"
}

const LAYOUT: &str = "<sldLayout><cSld><spTree>
    <sp><nvSpPr><nvPr><ph type='body' idx='1'/></nvPr></nvSpPr><spPr><xfrm><off x='0' y='500'/><ext cx='9' cy='9'/></xfrm></spPr></sp>
    <sp><nvSpPr><nvPr><ph type='subTitle' idx='2'/></nvPr></nvSpPr><txBody><lstStyle><lvl1pPr><buNone/></lvl1pPr></lstStyle></txBody></sp>
    </spTree></cSld></sldLayout>";
const MASTER: &str = "<sldMaster><cSld><spTree/></cSld><txStyles>
    <bodyStyle><lvl1pPr><buChar/></lvl1pPr></bodyStyle></txStyles></sldMaster>";
const NOTES: &str = "<notes><cSld><spTree><sp><nvSpPr><nvPr><ph type='sldImg'/></nvPr></nvSpPr></sp>
    <sp><nvSpPr><nvPr><ph type='sldNum'/></nvPr></nvSpPr><txBody><p><r><t>7</t></r></p></txBody></sp>
    <sp><nvSpPr><nvPr><ph type='body'/></nvPr></nvSpPr><txBody><p><r><t>Say</t></r></p><p><r><t>this.</t></r></p></txBody></sp>
    </spTree></cSld></notes>";
const COMMENTS: &str = "<cmLst><cm authorId='0'><text>Old</text></cm></cmLst>";
const THREADS: &str = "<cmLst><cm authorId='{1}'><replyLst><reply authorId='{2}'><txBody><p><r><t>Yes.</t></r></p></txBody></reply></replyLst>
    <txBody><p><r><t>New?</t></r></p></txBody></cm><cm authorId='9'><txBody><p/></txBody></cm></cmLst>";
const CHART: &str = "<chartSpace><title><tx><t>Sales</t></tx></title><title><t>Year</t></title>
    <ser><tx><v>North</v></tx><cat><pt idx='1'><v>b</v></pt><pt idx='0'><v>a</v></pt></cat><val><pt idx='0'><v>7</v></pt></val></ser>
    <ser><tx><v>South</v></tx><val><pt idx='1'><v>8</v></pt></val></ser></chartSpace>";

fn deck(slides: &[&str]) -> Vec<u8> {
    let mut files: Vec<(String, String)> = vec![
        ("ppt/slideLayouts/l.xml".into(), LAYOUT.into()),
        (
            "ppt/slideLayouts/_rels/l.xml.rels".into(),
            relations(&[("m", "slideMaster", "../slideMasters/m.xml")]),
        ),
        ("ppt/slideMasters/m.xml".into(), MASTER.into()),
        ("ppt/notesSlides/n.xml".into(), NOTES.into()),
        ("ppt/comments/c.xml".into(), COMMENTS.into()),
        ("ppt/comments/modern.xml".into(), THREADS.into()),
        ("ppt/charts/c.xml".into(), CHART.into()),
        ("ppt/media/a.png".into(), "png".into()),
        ("ppt/commentAuthors.xml".into(), "<cmAuthorLst><cmAuthor id='0' name='Ann'/></cmAuthorLst>".into()),
        (
            "ppt/authors.xml".into(),
            "<authorLst><author id='{1}' name='Bo'/><author id='{2}' name='Cy'/></authorLst>".into(),
        ),
        (
            "docProps/core.xml".into(),
            "<coreProperties><title>PowerPoint Presentation</title><creator>Ann</creator></coreProperties>".into(),
        ),
    ];
    let mut named = relations(&[
        ("a", "commentAuthors", "commentAuthors.xml"),
        ("b", "authors", "authors.xml"),
    ]);
    let mut list = String::new();
    for (i, slide) in slides.iter().enumerate() {
        // The order of the presentation is not that of the names.
        let name = format!("s{}.xml", slides.len() - i);
        list += &format!("<sldId id='{i}' r:id='r{i}'/>");
        let relation = format!(
            "<Relationship Id='r{i}' Type='x/slide' Target='slides/{name}'/></Relationships>"
        );
        named = named.replace("</Relationships>", &relation);
        files.push((
            format!("ppt/slides/{name}"),
            format!("<sld {SPACES} show='0'><cSld><spTree>{slide}</spTree></cSld></sld>"),
        ));
        let mut beside = vec![
            ("l", "slideLayout", "../slideLayouts/l.xml"),
            ("p", "image", "../media/a.png"),
            ("c", "chart", "../charts/c.xml"),
        ];
        if i == 1 {
            beside.push(("n", "notesSlide", "../notesSlides/n.xml"));
            beside.push(("o", "comments", "../comments/c.xml"));
            beside.push(("m", "comments", "../comments/modern.xml"));
        }
        files.push((format!("ppt/slides/_rels/{name}.rels"), relations(&beside)));
    }
    files.push((
        "ppt/presentation.xml".into(),
        format!("<presentation {SPACES}><sldIdLst>{list}</sldIdLst></presentation>"),
    ));
    files.push(("ppt/_rels/presentation.xml.rels".into(), named));
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (&name[..], text.as_bytes()))
        .collect();
    packed(&files)
}

fn check(slides: &[&str], want: &[(u32, BlockKind, &str)]) -> ParsedDocument {
    let document = parse(&deck(slides), &Limits::default()).unwrap();
    document.validate().unwrap();
    let got: Vec<_> = document
        .blocks
        .iter()
        .map(|b| {
            (
                b.slide.unwrap(),
                b.kind.clone(),
                &document.text[b.range.clone()],
            )
        })
        .collect();
    assert_eq!(got, want, "{slides:?}");
    document
}

/// A shape with paragraphs: as a placeholder, at a place.
fn shape(placeholder: &str, at: Option<(i64, i64)>, paragraphs: &[&str]) -> String {
    let place = at.map_or(String::new(), |(x, y)| {
        format!("<xfrm><off x='{x}' y='{y}'/><ext cx='10' cy='10'/></xfrm>")
    });
    let placeholder = match placeholder {
        "" => String::new(),
        it => format!("<ph {it}/>"),
    };
    let paragraphs: String = paragraphs.iter().map(|p| format!("<p>{p}</p>")).collect();
    format!(
        "<sp><nvSpPr><nvPr>{placeholder}</nvPr></nvSpPr><spPr>{place}</spPr><txBody><lstStyle/>{paragraphs}</txBody></sp>"
    )
}

const R: &str = "<r><t>text</t></r>";

#[test]
fn slides_are_sections_in_the_order_of_the_presentation() {
    use BlockKind::{Aside, Heading, Paragraph};
    let first = [
        shape("", Some((0, 0)), &[R]),
        shape(
            "type='title'",
            Some((0, 900)),
            &["<r><t>On_x000B_</t></r><br/><r><t>Ducks</t></r>"],
        ),
    ]
    .concat();
    let second = shape("type='ctrTitle'", None, &[]);
    let footer = shape("type='ftr' idx='9'", Some((0, 0)), &[R]);
    let document = check(
        &[&first, &second, &footer],
        &[
            (1, Heading(1), "On Ducks"),
            (1, Paragraph, "text"),
            (2, Heading(1), "Slide 2"),
            (2, Aside, "Say"),
            (2, Aside, "this."),
            (2, Aside, "Ann: Old"),
            (2, Aside, "Bo: New?"),
            (2, Aside, "Cy: Yes."),
            (3, Heading(1), "Slide 3"),
        ],
    );
    assert_eq!(document.title.as_deref(), Some("On Ducks"));
    assert_eq!(document.authors, ["Ann"]);
}

#[test]
fn a_text_box_that_looks_like_a_title_is_one() {
    let run = |style: &str, text: &str| format!("<r><rPr {style}/><t>{text}</t></r>");
    let list = "<pPr><buChar/></pPr>";
    let boxed = |paragraph: &str| shape("", Some((0, 0)), &[paragraph]);
    let below = |style: &str| shape("", Some((0, 90)), &[&run(style, "body")]);
    let cases: &[(&str, String, &str)] = &[
        (
            "larger type",
            boxed(&run("sz='2800'", "On Ducks")) + &below("sz='2000'"),
            "On Ducks",
        ),
        (
            "bolder type",
            boxed(&run("sz='2400' b='1'", "On Ducks")) + &below("sz='2400'"),
            "On Ducks",
        ),
        (
            "the same type",
            boxed(&run("sz='2400'", "On Ducks")) + &below("sz='2400'"),
            "Slide 1",
        ),
        (
            "no size stated",
            boxed(&run("", "On Ducks")) + &below(""),
            "Slide 1",
        ),
        (
            "small type",
            boxed(&run("sz='1200'", "On Ducks")) + &below("sz='900'"),
            "Slide 1",
        ),
        (
            "a list",
            boxed(&format!("{list}{}", run("sz='2800'", "On Ducks"))) + &below(""),
            "Slide 1",
        ),
        (
            "nothing below",
            boxed(&run("sz='2800'", "On Ducks")),
            "Slide 1",
        ),
        (
            "a placeholder's size is not known",
            boxed(&run("sz='2800'", "On Ducks")) + &shape("idx='1'", Some((0, 90)), &[R]),
            "Slide 1",
        ),
    ];
    for (name, slide, want) in cases {
        let document = parse(&deck(&[slide]), &Limits::default()).unwrap();
        let heading = &document.text[document.blocks[0].range.clone()];
        assert_eq!(heading, *want, "{name}");
    }
}

#[test]
fn text_is_read_from_the_top_and_groups_are_read_whole() {
    use BlockKind::{Heading, Paragraph};
    let text = |text: &str, at| shape("", Some(at), &[&format!("<r><t>{text}</t></r>")]);
    let group = format!(
        "<grpSp><grpSpPr><xfrm><off x='0' y='100'/><ext cx='50' cy='50'/></xfrm></grpSpPr>{}{}</grpSp>",
        text("c", (0, 90_000)),
        text("b", (0, 80_000))
    );
    let wrapped = format!(
        "<AlternateContent><Choice>{}</Choice><Fallback>{}</Fallback></AlternateContent>",
        text("a", (9, 2)),
        text("x", (0, 0))
    );
    let slide = [
        text("d", (60, 101)),
        group,
        wrapped,
        text("e", (0, 300)),
        text("z", (0, 1)),
    ]
    .concat();
    let want = ["z", "a", "b", "c", "d", "e"].map(|text| (1, Paragraph, text));
    check(
        &[&slide],
        &[&[(1, Heading(1), "Slide 1")], &want[..]].concat(),
    );
}

#[test]
fn bullets_are_inherited_and_numbers_counted() {
    use BlockKind::{Heading, ListItem, Paragraph};
    let numbered = "<pPr><buAutoNum type='arabicPeriod' startAt='3'/></pPr><r><t>n</t></r>";
    let lettered = "<pPr lvl='1'><buAutoNum type='alphaLcParenR'/></pPr><r><t>l</t></r>";
    let none = "<pPr><buNone/></pPr><r><t>p</t></r>";
    let cases: &[(String, &[(BlockKind, &str)])] = &[
        (
            shape("type='body' idx='1'", None, &[R, none]),
            &[(ListItem, "text"), (Paragraph, "p")],
        ),
        (shape("idx='7'", None, &[R]), &[(ListItem, "text")]),
        (
            shape("type='subTitle' idx='2'", None, &[R]),
            &[(Paragraph, "text")],
        ),
        (
            shape("", None, &[R, "<pPr lvl='1'/><r><t>i</t></r>"]),
            &[(Paragraph, "text"), (ListItem, "i")],
        ),
        (
            shape(
                "",
                None,
                &[numbered, lettered, lettered, "", numbered, none, numbered],
            ),
            &[
                (ListItem, "3. n"),
                (ListItem, "a) l"),
                (ListItem, "b) l"),
                (ListItem, "4. n"),
                (Paragraph, "p"),
                (ListItem, "3. n"),
            ],
        ),
        (
            shape(
                "",
                None,
                &[
                    "<pPr lvl='-5'/><r><t>a</t></r>",
                    "<pPr lvl='99'/><r><t>b</t></r>",
                ],
            ),
            &[(Paragraph, "a"), (ListItem, "b")],
        ),
        (
            shape("", None, &["<fld type='slidenum'><t>1</t></fld>"]),
            &[],
        ),
    ];
    for (slide, want) in cases {
        let want: Vec<_> = want
            .iter()
            .map(|(kind, text)| (1, kind.clone(), *text))
            .collect();
        check(
            &[slide],
            &[&[(1, Heading(1), "Slide 1")], &want[..]].concat(),
        );
    }
}

#[test]
fn tables_pictures_and_charts_are_read() {
    use BlockKind::{Figure, Heading, Table};
    let frame = |data: &str| {
        format!(
            "<graphicFrame><nvGraphicFramePr><cNvPr descr='Told'/></nvGraphicFramePr><graphic><graphicData>{data}</graphicData></graphic></graphicFrame>"
        )
    };
    let cell = |text: &str| format!("<tc><txBody><p><r><t>{text}</t></r></p></txBody></tc>");
    let grid = format!(
        "<tbl><tr>{}<tc hMerge='1'><txBody><p/></txBody></tc></tr><tr>{}{}</tr></tbl>",
        cell("a"),
        cell("b"),
        cell("c|d")
    );
    let picture = |names: &str| {
        format!(
            "<pic><nvPicPr><cNvPr {names}</cNvPr></nvPicPr><blipFill><blip r:embed='p'/></blipFill></pic>"
        )
    };
    let slide = [
        frame(&grid),
        picture("descr='A  duck'>"),
        picture(">"),
        picture("descr='x'><extLst><ext><decorative val='1'/></ext></extLst>"),
        frame("<chart r:id='c'/>"),
        frame(&format!("<oleObj>{}</oleObj>", picture("descr='Sheet'>"))),
    ]
    .concat();
    let document = check(
        &[&slide],
        &[
            (1, Heading(1), "Slide 1"),
            (1, Table, "| a |  |\n| --- | --- |\n| b | c\\|d |"),
            (1, Figure, "A duck"),
            (1, Figure, "a.png"),
            (1, Figure, "Told\nSales\nYear"),
            (
                1,
                Table,
                "|  | North | South |\n| --- | --- | --- |\n| a | 7 |  |\n| b |  | 8 |",
            ),
            (1, Figure, "Sheet"),
        ],
    );
    assert_eq!(document.blocks[2].images, ["ppt/media/a.png"]);
    assert_eq!(document.assets.len(), 1);
}

#[test]
fn looks_of_runs_are_marks() {
    let slide = shape(
        "",
        None,
        &[
            "<r><rPr b='1'/><t>bo</t></r><r><rPr b='1'/><t>ld</t></r><r><rPr i='1'><hlinkClick/></rPr><t> link</t></r>",
        ],
    );
    let document = parse(&deck(&[&slide]), &Limits::default()).unwrap();
    let marks = document.blocks[1].marks.iter();
    let got: Vec<_> = marks
        .map(|mark| (mark.kind, &document.text[mark.range.clone()]))
        .collect();
    use MarkKind::{Emphasis, Link, Strong};
    assert_eq!(got, [(Strong, "bold"), (Emphasis, "link"), (Link, "link")]);
}

#[test]
fn every_limit_holds() {
    let slide = shape("", None, &[R, R]);
    let cases: &[(&str, fn(&mut Limits))] = &[
        ("slides", |limits| limits.pages_max = 1),
        ("blocks", |limits| limits.blocks_max = 2),
        ("text", |limits| limits.text_max = 9),
        ("unpacked", |limits| limits.unpacked_max = 1_000),
        ("depth", |limits| limits.depth_max = 3),
    ];
    let bytes = deck(&[&slide, &slide]);
    assert!(parse(&bytes, &Limits::default()).is_ok());
    for (name, change) in cases {
        let mut limits = Limits::default();
        change(&mut limits);
        let result = parse(&bytes, &limits);
        assert!(
            matches!(result, Err(ParseError::TooLarge { .. })),
            "{name}: {result:?}"
        );
    }
}

#[test]
fn every_cut_is_an_error_or_a_smaller_document() {
    let bytes = deck(&[&shape("", None, &[R])]);
    for len in 0..bytes.len() {
        if let Ok(document) = parse(&bytes[..len], &Limits::default()) {
            document.validate().unwrap();
        }
    }
    let groups = [
        "<grpSp>".repeat(240),
        shape("", None, &[R]),
        "</grpSp>".repeat(240),
    ]
    .concat();
    assert_eq!(
        parse(&deck(&[&groups]), &Limits::default())
            .unwrap()
            .blocks
            .len(),
        2
    );
    let deep = ["<grpSp>".repeat(300), "</grpSp>".repeat(300)].concat();
    assert!(parse(&deck(&[&deep]), &Limits::default()).is_err());
    assert!(
        parse(
            &packed(&[("ppt/presentation.xml", b"<a/>")]),
            &Limits::default()
        )
        .is_ok()
    );
}

/// Slides of elements in any order and nesting.
fn slides() -> impl Strategy<Value = String> {
    let leaves = prop::sample::select(vec![
        R,
        "<br/>",
        "<t>word</t>",
        "<pPr lvl='3'><buAutoNum type='romanUcParenBoth'/></pPr>",
        "<nvPr><ph type='title'/></nvPr>",
        "<nvPr><ph idx='1'/></nvPr>",
        "<blip r:embed='p'/>",
        "<chart r:id='c'/>",
        "<xfrm><off x='1' y='-9223372036854775808'/><ext cx='1' cy='1'/></xfrm>",
        "<xfrm><off x='1' y='9223372036854775807'/><ext cx='1' cy='9223372036854775807'/></xfrm>",
        "<rPr b='1'/>",
    ]);
    let names = prop::sample::select(vec![
        "sp",
        "grpSp",
        "pic",
        "graphicFrame",
        "nvSpPr",
        "spPr",
        "txBody",
        "p",
        "r",
        "graphic",
        "graphicData",
        "tbl",
        "tr",
        "tc",
        "blipFill",
        "AlternateContent",
        "Choice",
        "m",
        "f",
        "num",
    ]);
    let leaves = leaves.prop_map(str::to_owned);
    let tree = leaves.prop_recursive(7, 60, 6, move |inner| {
        let inside = prop::collection::vec(inner, 0..6);
        (names.clone(), inside)
            .prop_map(|(name, inside)| format!("<{name}>{}</{name}>", inside.concat()))
    });
    prop::collection::vec(tree, 0..6).prop_map(|trees| trees.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_nesting_of_elements_is_a_valid_document(slide in slides()) {
        let document = parse(&deck(&[&slide, &slide]), &Limits::default()).unwrap();
        prop_assert_eq!(document.validate(), Ok(()));
        prop_assert!(document.blocks.iter().all(|block| block.slide.is_some()));
    }

    #[test]
    fn changed_bytes_never_panic(at in any::<prop::sample::Index>(), byte: u8) {
        let mut slide = shape("type='title'", Some((1, 2)), &[R]).into_bytes();
        let len = slide.len();
        slide[at.index(len)] = byte;
        let mut bytes = deck(&[&String::from_utf8_lossy(&slide)]);
        let _ = parse(&bytes, &Limits::default());
        let len = bytes.len();
        bytes[at.index(len)] = byte;
        let _ = parse(&bytes, &Limits::default());
    }
}

#[test]
fn listed_slides_without_a_part_are_reported() {
    let list = format!(
        "<presentation {SPACES}><sldIdLst><sldId r:id='a'/><sldId r:id='b'/></sldIdLst></presentation>"
    );
    let bytes = packed(&[
        ("ppt/presentation.xml", list.as_bytes()),
        (
            "ppt/_rels/presentation.xml.rels",
            b"<Relationships><Relationship Id='a' Type='x/slide' Target='slides/a.xml'/></Relationships>",
        ),
        ("ppt/slides/a.xml", b"<sld/>"),
    ]);
    let warnings = parse(&bytes, &Limits::default()).unwrap().warnings;
    assert!(
        warnings[0].starts_with("the presentation lists 1 slide"),
        "{warnings:?}"
    );
}
