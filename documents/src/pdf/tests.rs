use super::*;
use crate::parse::parse_within;
use loci_parsing::kind::Kind;
use loci_parsing::tree::{Block, BlockKind, MarkKind};

/// One page's content stream, written line by line.
#[derive(Default)]
struct Sheet(String);

impl Sheet {
    /// Text at `x`, `y` points from the bottom left corner. Fonts: `R` roman, `B` bold, `I` italic, `C` Courier.
    fn put(mut self, font: &str, size: f32, x: f32, y: f32, text: &str) -> Sheet {
        let text = text
            .replace('\\', "\\\\")
            .replace('(', "\\(")
            .replace(')', "\\)");
        self.0 += &format!("BT /{font} {size} Tf {x} {y} Td ({text}) Tj ET\n");
        self
    }

    /// The picture of the file, its lower left corner at `x`, `y`.
    fn picture(mut self, x: f32, y: f32, width: f32, height: f32) -> Sheet {
        self.0 += &format!("q {width} 0 0 {height} {x} {y} cm /P Do Q\n");
        self
    }

    /// Lines of prose, 12 points apart.
    fn prose(mut self, x: f32, mut y: f32, lines: &[&str]) -> Sheet {
        for line in lines {
            self = self.put("R", 10.0, x, y, line);
            y -= 12.0;
        }
        self
    }
}

/// A file of 612 × 792 points a page. `outline`: titles with their page, from 0.
fn file(sheets: &[Sheet], outline: &[(&str, usize)], info: &str) -> Vec<u8> {
    let font = |name| format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>");
    let pages: Vec<String> = (0..sheets.len())
        .map(|i| format!("{} 0 R", 10 + 2 * i))
        .collect();
    let first = 10 + 2 * sheets.len();
    let last = first + outline.len() - usize::from(!outline.is_empty());
    let mut objects = vec![
        (
            1,
            "<< /Type /Catalog /Pages 2 0 R /Outlines 7 0 R >>".to_owned(),
        ),
        (
            2,
            format!(
                "<< /Type /Pages /Count {} /Kids [{}] >>",
                sheets.len(),
                pages.join(" ")
            ),
        ),
        (3, font("Times-Roman")),
        (4, font("Times-Bold")),
        (5, font("Courier")),
        (6, format!("<< {info} >>")),
        (8, font("Times-Italic")),
    ];
    objects.push(if outline.is_empty() {
        (7, "<< /Type /Outlines /Count 0 >>".to_owned())
    } else {
        (
            7,
            format!("<< /Type /Outlines /First {first} 0 R /Last {last} 0 R >>"),
        )
    });
    objects.push((9, picture()));
    for (i, Sheet(content)) in sheets.iter().enumerate() {
        let pictures = if content.contains("/P Do") {
            "/XObject << /P 9 0 R >>"
        } else {
            ""
        };
        let fonts = format!("<< /Font << /R 3 0 R /B 4 0 R /C 5 0 R /I 8 0 R >> {pictures} >>");
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources {fonts} /Contents {} 0 R >>",
            11 + 2 * i
        );
        objects.push((10 + 2 * i, page));
        let length = content.len();
        objects.push((
            11 + 2 * i,
            format!("<< /Length {length} >>\nstream\n{content}\nendstream"),
        ));
    }
    for (i, (title, page)) in outline.iter().enumerate() {
        let next = if i + 1 < outline.len() {
            format!("/Next {} 0 R", first + i + 1)
        } else {
            String::new()
        };
        let page = 10 + 2 * page;
        objects.push((
            first + i,
            format!("<< /Title ({title}) /Dest [{page} 0 R /Fit] {next} >>"),
        ));
    }
    write(&objects)
}

/// A picture of 64 by 64 points of grey that look like chance, so that it does not shrink when packed.
fn picture() -> String {
    let mut state = 1_u32;
    let mut grey = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        format!("{:02x}", state >> 24)
    };
    let data: String = (0..64 * 64).map(|_| grey()).collect();
    format!(
        "<< /Type /XObject /Subtype /Image /Width 64 /Height 64 /ColorSpace /DeviceGray /BitsPerComponent 8 \
         /Filter /ASCIIHexDecode /Length {} >>\nstream\n{data}>\nendstream",
        data.len() + 1
    )
}

pub(super) fn write(objects: &[(usize, String)]) -> Vec<u8> {
    let mut bytes = "%PDF-1.4\n".to_owned();
    let size = objects
        .iter()
        .map(|(number, _)| number + 1)
        .max()
        .unwrap_or(1);
    let mut places = vec![0; size];
    for (number, body) in objects {
        places[*number] = bytes.len();
        bytes += &format!("{number} 0 obj\n{body}\nendobj\n");
    }
    let start = bytes.len();
    bytes += &format!("xref\n0 {size}\n0000000000 65535 f \n");
    for place in &places[1..] {
        let in_use = if *place > 0 { 'n' } else { 'f' };
        bytes += &format!("{place:010} 00000 {in_use} \n");
    }
    bytes += &format!(
        "trailer\n<< /Size {size} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    bytes.into_bytes()
}

/// Three pages: a running header, page numbers, numbered headings, a paragraph over a page break,
/// divided words, code, a list, a table, and a page in two columns.
fn ducks(outline: &[(&str, usize)]) -> Vec<u8> {
    let framed = |number: usize| {
        let footer = number.to_string();
        Sheet::default()
            .put("R", 8.0, 72.0, 760.0, "Notes on Ducks, draft")
            .put("R", 8.0, 300.0, 30.0, &footer)
    };
    let first = framed(1)
        .put("B", 20.0, 200.0, 700.0, "Notes on Ducks")
        .put("B", 14.0, 72.0, 660.0, "1 Introduction")
        .prose(72.0, 630.0, &[
            "Ducks are birds that live on the water of lakes and rivers in most parts of the world we know,",
            "and a well-known one is the mallard. They swim and dive for food, and some of them can dabble",
            "at the surface, which makes for an inter-",
            "esting sight. The end of the sentence is here.",
        ])
        .prose(72.0, 560.0, &[
            "A second paragraph begins here after a gap and goes on for a while, until the page is full and",
            "the sentence must be continued on the page that comes after this one, where it is said that",
        ]);
    let second = framed(2)
        .prose(72.0, 720.0, &["ducks fly south. That was all."])
        .put("B", 12.0, 72.0, 690.0, "1.1 Feeding")
        .prose(72.0, 665.0, &["This program feeds them:"])
        .put("C", 9.0, 90.0, 645.0, "def feed(duck):")
        .put("C", 9.0, 111.6, 634.0, "duck.eat(1)")
        .put("C", 9.0, 111.6, 623.0, "return duck")
        .prose(72.0, 600.0, &["- bread is bad", "- peas are good"])
        .put("R", 10.0, 72.0, 560.0, "Name")
        .put("R", 10.0, 250.0, 560.0, "Eats")
        .put("R", 10.0, 400.0, 560.0, "Flies")
        .put("R", 10.0, 72.0, 548.0, "Mallard")
        .put("R", 10.0, 250.0, 548.0, "plants")
        .put("R", 10.0, 400.0, 548.0, "yes")
        .put("R", 10.0, 72.0, 536.0, "Steamer")
        .put("R", 10.0, 250.0, 536.0, "fish")
        .put("R", 10.0, 400.0, 536.0, "no")
        .put("R", 10.0, 72.0, 510.0, "Table 1: What ducks do.");
    let left = ["left column text runs along to its own edge one"; 10];
    let right = ["right column text runs along to its own edge on"; 10];
    let third = framed(3)
        .put("B", 14.0, 72.0, 700.0, "2 Flight")
        .prose(72.0, 670.0, &left)
        .prose(330.0, 670.0, &right)
        .put("R", 10.0, 72.0, 400.0, "Ducks ")
        .put("B", 10.0, 100.0, 400.0, "moult")
        .put("R", 10.0, 126.0, 400.0, " once a year.");
    file(
        &[first, second, third],
        outline,
        "/Title (draft.tex) /Author (Ann Lee, Bo Ek)",
    )
}

fn read(bytes: &[u8]) -> ParsedDocument {
    parse_within(Kind::Pdf, bytes, None, &Limits::default()).unwrap()
}

fn text<'a>(document: &'a ParsedDocument, block: &Block) -> &'a str {
    &document.text[block.range.clone()]
}

fn headings(document: &ParsedDocument) -> Vec<(u8, &str)> {
    let level = |block: &Block| match block.kind {
        BlockKind::Heading(level) => Some(level),
        _ => None,
    };
    let blocks = document.blocks.iter();
    blocks
        .filter_map(|b| Some((level(b)?, text(document, b))))
        .collect()
}

#[test]
fn structure_is_found_without_an_outline() {
    let document = read(&ducks(&[]));
    assert_eq!(document.title.as_deref(), Some("Notes on Ducks"));
    assert_eq!(
        headings(&document),
        [
            (1, "Notes on Ducks"),
            (2, "1 Introduction"),
            (3, "1.1 Feeding"),
            (2, "2 Flight"),
        ]
    );
    assert!(
        !document.text.contains("draft"),
        "the running header stayed"
    );
    let find = |part: &str| {
        let found = document
            .blocks
            .iter()
            .find(|b| text(&document, b).contains(part));
        found.unwrap_or_else(|| panic!("{part:?} is not in {}", document.text))
    };
    assert!(
        text(&document, find("well-known one"))
            .ends_with("an interesting sight. The end of the sentence is here.")
    );
    let over = find("A second paragraph");
    assert_eq!(over.pages, Some((1, 2)));
    assert!(text(&document, over).ends_with("it is said that ducks fly south. That was all."));
    assert_eq!(
        over.boxes.iter().map(|b| b.page).collect::<Vec<_>>(),
        [1, 2]
    );
    let code = find("def feed");
    assert_eq!(code.kind, BlockKind::Code(None));
    assert_eq!(
        text(&document, code),
        "def feed(duck):\n    duck.eat(1)\n    return duck"
    );
    assert_eq!(find("peas").kind, BlockKind::ListItem);
    let table = find("Mallard");
    assert_eq!(table.kind, BlockKind::Table);
    assert_eq!(
        text(&document, table),
        "| Name | Eats | Flies |\n| --- | --- | --- |\n| Mallard | plants | yes |\n| Steamer | fish | no |"
    );
    assert_eq!(find("Table 1").kind, BlockKind::Caption);
    let moult = find("moult");
    let mark = &moult.marks[0];
    assert_eq!(
        (mark.kind, &document.text[mark.range.clone()]),
        (MarkKind::Strong, "moult")
    );
}

#[test]
fn columns_are_read_one_after_the_other() {
    let document = read(&ducks(&[]));
    let (left, right) = (
        document.text.rfind("left column"),
        document.text.find("right column"),
    );
    assert!(left < right, "{}", document.text);
}

#[test]
fn boxes_lie_on_the_page_from_its_top_left_corner() {
    let document = read(&ducks(&[]));
    for page_box in document.blocks.iter().flat_map(|block| &block.boxes) {
        let is_inside = |v: f32| (0.0..=1.0).contains(&v);
        let corners = [page_box.x0, page_box.y0, page_box.x1, page_box.y1];
        assert!(corners.into_iter().all(is_inside), "{page_box:?}");
        assert!(
            page_box.x0 < page_box.x1 && page_box.y0 < page_box.y1,
            "{page_box:?}"
        );
    }
    // Baseline 700 of 792 points from below, in type of 20 points.
    let title = document.blocks[0].boxes[0];
    assert!((title.y0 - (92.0 - 16.0) / 792.0).abs() < 0.01, "{title:?}");
    assert!((title.x0 - 200.0 / 612.0).abs() < 0.01, "{title:?}");
}

#[test]
fn an_outline_decides_what_is_a_heading() {
    let outline = [("Introduction", 0), ("1.1 Feeding", 1), ("Flight", 2)];
    let document = read(&ducks(&outline));
    assert_eq!(
        headings(&document),
        [
            (1, "Notes on Ducks"),
            (2, "1 Introduction"),
            (2, "1.1 Feeding"),
            (2, "2 Flight")
        ]
    );
}

#[test]
fn an_outline_that_is_not_believed_names_headings_of_unknown_level() {
    let document = read(&ducks(&[
        ("Notes on Ducks", 0),
        ("Elsewhere", 1),
        ("Gone", 2),
    ]));
    assert_eq!(
        headings(&document),
        [
            (1, "Notes on Ducks"),
            (2, "1 Introduction"),
            (3, "1.1 Feeding"),
            (2, "2 Flight"),
        ]
    );
}

#[test]
fn a_book_has_a_title_page_contents_and_a_foreword() {
    let prose = ["the quick brown duck walks over to the pond and back again,"; 12];
    let page = |title: &str| {
        Sheet::default()
            .put("B", 24.0, 72.0, 700.0, title)
            .prose(72.0, 640.0, &prose)
    };
    let title = Sheet::default()
        .put("B", 17.0, 200.0, 500.0, "A Book of Ducks")
        .put("R", 12.0, 250.0, 460.0, "Ann Lee");
    let mut contents = Sheet::default().put("B", 24.0, 72.0, 700.0, "Contents");
    for (i, line) in ["Ponds . . . . . 4", "Lakes . . . . . 5", "Seas . . . . . 6"]
        .iter()
        .enumerate()
    {
        contents = contents.put("R", 10.0, 72.0, 640.0 - 12.0 * i as f32, line);
    }
    let sheets = [
        title,
        contents,
        page("Foreword"),
        // Code that ends with a brace is right above the heading.
        page("Ponds")
            .put("C", 10.0, 72.0, 130.0, "}")
            .put("B", 17.0, 72.0, 100.0, "1.1 Reeds"),
        page("Lakes"),
        page("Seas"),
    ];
    let outline = [("Ponds", 3), ("Reeds", 3), ("Lakes", 4), ("Seas", 5)];
    let document = read(&file(&sheets, &outline, ""));
    assert_eq!(
        headings(&document),
        [
            (1, "A Book of Ducks"),
            (2, "Foreword"),
            (2, "Ponds"),
            (2, "1.1 Reeds"),
            (2, "Lakes"),
            (2, "Seas"),
        ]
    );
    assert_eq!(document.title.as_deref(), Some("A Book of Ducks"));
}

#[test]
fn lines_in_italics_above_paragraphs_are_headings_where_there_are_several() {
    let prose = [
        "A duck swims by its feet, which are webbed and set far back on it,",
        "so that it walks badly but swims well, as everyone has seen once.",
    ];
    let mut sheet = Sheet::default();
    let mut y = 700.0;
    for (space, title) in [(28.0, "On Feet"), (26.0, "On Wings")] {
        y -= space;
        sheet = sheet.put("I", 10.0, 72.0, y, title);
        y -= 16.0;
        sheet = sheet.prose(72.0, y, &prose);
        y -= 12.0;
    }
    let many = read(&file(&[sheet], &[], ""));
    assert_eq!(headings(&many), [(1, "On Feet"), (1, "On Wings")]);
    let one = Sheet::default()
        .prose(72.0, 700.0, &prose)
        .put("I", 10.0, 72.0, 660.0, "On Feet")
        .prose(72.0, 644.0, &prose);
    assert_eq!(headings(&read(&file(&[one], &[], ""))), []);
}

#[test]
fn a_paragraph_ends_in_the_column_that_it_went_on_in() {
    let full = ["a column of prose that runs on to its very edge and"; 12];
    let sheet = Sheet::default()
        .prose(72.0, 700.0, &full)
        .prose(330.0, 700.0, &full)
        .prose(
            330.0,
            556.0,
            &["goes.", "Then another one begins, and it is not the same."],
        );
    let document = read(&file(&[sheet], &[], ""));
    let last = document.blocks.last().unwrap();
    assert!(
        text(&document, last).starts_with("Then another"),
        "{}",
        document.text
    );
    assert_eq!(document.blocks.len(), 2);
}

#[test]
fn files_without_text_say_what_to_do() {
    let blank = file(&[Sheet::default()], &[], "");
    let scan = {
        let image = "q 100 0 0 100 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q";
        file(&[Sheet(image.to_owned())], &[], "")
    };
    let locked = {
        let entry = "/Encrypt << /Filter /Standard /V 5 /R 6 /O (x) /U (y) /P -4 >> /ID [(a) (b)]";
        let bytes = String::from_utf8(ducks(&[])).unwrap();
        bytes
            .replace("/Root 1 0 R", &format!("/Root 1 0 R {entry}"))
            .into_bytes()
    };
    let parse = |bytes: &[u8]| parse_within(Kind::Pdf, bytes, None, &Limits::default());
    assert_eq!(parse(&blank), Err(ParseError::Empty));
    assert_eq!(parse(&scan), Err(ParseError::Scanned { pages: 1 }));
    assert_eq!(
        parse(&locked),
        Err(ParseError::Encrypted { kind: Kind::Pdf })
    );
    assert!(matches!(
        parse(b"not a pdf"),
        Err(ParseError::Malformed { .. })
    ));
    assert!(matches!(parse(b""), Err(ParseError::Malformed { .. })));
}

#[test]
fn picture_pages_among_text_pages_are_reported() {
    let text =
        |n: usize| Sheet::default().put("R", 10.0, 72.0, 400.0, &format!("Duck number {n} swims."));
    let scan = || Sheet::default().picture(0.0, 0.0, 612.0, 792.0);
    let stamped = || scan().put("R", 8.0, 72.0, 20.0, "Scanned by the library of ducks");
    let blank = Sheet::default;
    let cases: &[(&str, Vec<Sheet>, Option<&str>)] = &[
        ("text", vec![text(1), text(2)], None),
        ("a blank page", vec![text(1), blank()], None),
        ("a cover", vec![scan(), text(2)], None),
        ("a scan", vec![text(1), scan()], Some("page 2: a picture")),
        (
            "scans",
            vec![scan(), text(2), scan(), scan(), text(5)],
            Some("pages 1 and 3-4: a picture"),
        ),
        (
            "stamped scans",
            vec![text(1), text(2), stamped(), stamped(), stamped()],
            Some("pages 3-5: a picture"),
        ),
        (
            "text over a picture",
            vec![text(1), scan().put("R", 10.0, 72.0, 400.0, "Ducks swim.")],
            None,
        ),
    ];
    for (name, sheets, want) in cases {
        let warnings = read(&file(sheets, &[], "")).warnings;
        match want {
            Some(want) => assert!(
                warnings[0].starts_with(want) && warnings[0].contains("ocrmypdf"),
                "{name}: {warnings:?}"
            ),
            None => assert_eq!(warnings, Vec::<String>::new(), "{name}"),
        }
    }
}

#[test]
fn unreadable_pages_are_reported() {
    let page = |n: usize| Sheet::default().put("R", 10.0, 72.0, 400.0, &format!("Duck {n} swims."));
    let bytes = String::from_utf8(file(&[page(1), page(2), page(3)], &[], "")).unwrap();
    // The first that the file counts and does not hold.
    let bytes = bytes.replacen("/Count 3", "/Count 4", 1);
    let warnings = read(bytes.as_bytes()).warnings;
    assert!(
        warnings[0].starts_with("page 4 cannot be read"),
        "{warnings:?}"
    );
}

#[test]
fn limits_hold() {
    let bytes = ducks(&[]);
    for limits in [
        Limits {
            pages_max: 2,
            ..Limits::default()
        },
        Limits {
            text_max: 500,
            ..Limits::default()
        },
        Limits {
            blocks_max: 5,
            ..Limits::default()
        },
    ] {
        let error = parse_within(Kind::Pdf, &bytes, None, &limits).unwrap_err();
        assert!(matches!(error, ParseError::TooLarge { .. }), "{error:?}");
    }
}

#[test]
fn damaged_files_give_an_answer() {
    let bytes = ducks(&[("Introduction", 0)]);
    // The foreign crate may panic, and nothing else of it may be seen.
    let attempt = |bytes: Vec<u8>| {
        let _ =
            std::panic::catch_unwind(|| parse_within(Kind::Pdf, &bytes, None, &Limits::default()));
    };
    for cut in (0..bytes.len()).step_by(bytes.len() / 24) {
        attempt(bytes[..cut].to_vec());
        let mut flipped = bytes.clone();
        flipped[cut] ^= 0x11;
        attempt(flipped);
    }
}

#[test]
fn deeper_numbers_in_one_type_keep_the_level_of_those_above() {
    let prose = ["the quick brown duck walks over to the pond and back again,"; 6];
    let sheet = Sheet::default()
        .put("B", 18.0, 72.0, 720.0, "On Ducks")
        .put("B", 12.0, 72.0, 690.0, "1 Feet")
        .prose(72.0, 670.0, &prose)
        .put("B", 10.0, 72.0, 570.0, "1.1 Webs")
        .prose(72.0, 550.0, &prose)
        .put("B", 10.0, 72.0, 450.0, "1.1.1 Skin")
        .prose(72.0, 430.0, &prose);
    assert_eq!(
        headings(&read(&file(&[sheet], &[], ""))),
        [
            (1, "On Ducks"),
            (2, "1 Feet"),
            (3, "1.1 Webs"),
            (4, "1.1.1 Skin")
        ]
    );
}

#[test]
fn a_running_header_goes_where_one_page_has_columns_and_another_none() {
    let framed = || {
        Sheet::default()
            .put("R", 9.0, 72.0, 750.0, "Ann Lee")
            .put("R", 9.0, 400.0, 750.0, "On Ducks")
    };
    let column = ["a column of prose that runs on to its very edge and"; 14];
    let first = framed()
        .prose(72.0, 700.0, &column)
        .prose(330.0, 700.0, &column);
    let second = framed().prose(72.0, 700.0, &["then ends on the next page."]);
    let document = read(&file(&[first, second], &[], ""));
    assert!(!document.text.contains("Ann Lee"), "{}", document.text);
    assert_eq!(document.blocks.len(), 1, "{}", document.text);
}

#[test]
fn figures_stand_by_their_captions() {
    let prose = ["The quick brown duck walks over to the pond and back again."; 6];
    let first = Sheet::default()
        .prose(72.0, 700.0, &prose)
        .picture(100.0, 500.0, 200.0, 100.0)
        .put("R", 10.0, 100.0, 480.0, "Figure 1: A duck.")
        .prose(72.0, 440.0, &prose);
    let second = Sheet::default()
        .put("R", 10.0, 100.0, 700.0, "Fig. 2. Its pond.")
        .picture(100.0, 580.0, 200.0, 100.0)
        .prose(72.0, 540.0, &prose)
        .picture(72.0, 300.0, 50.0, 50.0);
    let document = read(&file(&[first, second], &[], ""));
    let kinds: Vec<&str> = document
        .blocks
        .iter()
        .map(|block| match block.kind {
            BlockKind::Figure => "figure",
            BlockKind::Caption => "caption",
            _ => "text",
        })
        .collect();
    let want = [
        "text", "figure", "caption", "text", "caption", "figure", "text", "figure",
    ];
    assert_eq!(kinds, want, "{}", document.text);
    // It is the same picture each time, and kept once.
    let names: Vec<_> = document.assets.iter().map(|a| &a.name[..]).collect();
    assert_eq!(names, ["page-1-1.png"]);
    assert!(document.assets[0].bytes.starts_with(b"\x89PNG"));
    let figure = &document.blocks[1];
    assert_eq!(figure.images, ["page-1-1.png"]);
    assert_eq!(figure.pages, Some((1, 1)));
    let place = figure.boxes[0];
    assert!((place.y0 - 192.0 / 792.0).abs() < 0.01, "{place:?}");
    assert!((place.x1 - 300.0 / 612.0).abs() < 0.01, "{place:?}");
}

#[test]
fn pictures_that_are_no_figures_are_left_out() {
    let page = |picture: [f32; 4]| {
        let [x, y, width, height] = picture;
        Sheet::default()
            .put("R", 10.0, 72.0, 400.0, "A page of a book.")
            .picture(x, y, width, height)
    };
    let logo = page([500.0, 740.0, 60.0, 40.0]);
    let cases: &[(&str, Vec<Sheet>, usize)] = &[
        ("a figure", vec![page([100.0, 100.0, 80.0, 80.0])], 1),
        ("too small", vec![page([100.0, 100.0, 20.0, 80.0])], 0),
        ("a background", vec![page([0.0, 0.0, 612.0, 792.0])], 0),
        ("off the page", vec![page([700.0, 100.0, 80.0, 80.0])], 0),
        ("no place", vec![page([f32::NAN, 100.0, 80.0, 80.0])], 0),
        ("a logo", (0..3).map(|_| Sheet(logo.0.clone())).collect(), 0),
    ];
    for (name, sheets, want) in cases {
        let document = read(&file(sheets, &[], ""));
        assert_eq!(document.assets.len(), *want, "{name}");
    }
    let limits = Limits {
        assets_max: 100,
        ..Limits::default()
    };
    let bytes = file(&[page([100.0, 100.0, 80.0, 80.0])], &[], "");
    let document = parse_within(Kind::Pdf, &bytes, None, &limits).unwrap();
    assert_eq!((document.assets.len(), document.blocks.len()), (0, 1));
    let warning = &document.warnings[0];
    assert!(
        warning.starts_with("1 picture is not stored") && warning.ends_with(": page 1"),
        "{warning}"
    );
}

#[test]
fn cells_keep_their_columns_and_go_on_below() {
    let rows: &[&[(f32, &str)]] = &[
        &[(72.0, "Name"), (200.0, "Eats"), (380.0, "Flies")],
        &[
            (72.0, "Mallard"),
            (200.0, "plants that grow at"),
            (380.0, "yes"),
        ],
        &[(200.0, "the bottom of ponds")],
        &[(72.0, "Steamer"), (380.0, "no | never")],
        &[(72.0, "Teal"), (200.0, "seeds"), (380.0, "yes")],
    ];
    let mut sheet = Sheet::default().put("R", 10.0, 72.0, 740.0, "These are ducks of the world.");
    for (i, row) in rows.iter().enumerate() {
        for (x, cell) in *row {
            sheet = sheet.put("R", 10.0, *x, 700.0 - 12.0 * i as f32, cell);
        }
    }
    let document = read(&file(&[sheet], &[], ""));
    let table = document.blocks.iter().find(|b| b.kind == BlockKind::Table);
    assert_eq!(
        text(&document, table.unwrap()),
        "| Name | Eats | Flies |\n| --- | --- | --- |\n\
         | Mallard | plants that grow at the bottom of ponds | yes |\n\
         | Steamer |  | no \\| never |\n| Teal | seeds | yes |"
    );
}

/// A page whose form paints another ten times, and so on, ten deep; the innermost paints a picture.
fn nested_forms(own_resources: bool) -> Vec<u8> {
    const DEPTH: usize = 10;
    let names: String = (0..DEPTH)
        .map(|i| format!("/F{i} {} 0 R ", 10 + i))
        .collect();
    let resources =
        format!("/Resources << /Font << /R 3 0 R >> /XObject << {names} /P 9 0 R >> >>");
    let stream = |entries: &str, content: &str| {
        format!(
            "<< {entries} /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        )
    };
    let text = "BT /R 12 Tf 72 700 Td (A line of text.) Tj ET /F0 Do";
    let mut objects = vec![
        (1, "<< /Type /Catalog /Pages 2 0 R >>".to_owned()),
        (2, "<< /Type /Pages /Count 1 /Kids [4 0 R] >>".to_owned()),
        (
            3,
            "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>".to_owned(),
        ),
        (
            4,
            format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {resources} /Contents 5 0 R >>"
            ),
        ),
        (5, stream("", text)),
        (6, "<< >>".to_owned()),
        (9, picture()),
    ];
    for i in 0..DEPTH {
        let content = if i + 1 < DEPTH {
            format!("/F{} Do ", i + 1).repeat(10)
        } else {
            "q 100 0 0 100 72 72 cm /P Do Q".to_owned()
        };
        let own = if own_resources { &resources[..] } else { "" };
        let entries = format!("/Type /XObject /Subtype /Form /BBox [0 0 612 792] {own}");
        objects.push((10 + i, stream(&entries, &content)));
    }
    write(&objects)
}

#[test]
fn forms_that_call_each_other_without_end_cost_their_pictures() {
    for own_resources in [true, false] {
        let document = read(&nested_forms(own_resources));
        assert_eq!(document.text, "A line of text.");
        assert!(document.assets.is_empty());
    }
}

#[test]
fn an_index_in_columns_is_no_table() {
    let mut sheet = Sheet::default();
    let mut y = 700.0;
    for (left, right) in [
        ("auk", "gull"),
        ("coot", "heron"),
        ("duck", "ibis"),
        ("eider", "jay"),
    ] {
        for part in ["", " eggs of the", " nests and other homes of the"] {
            sheet = sheet
                .put("R", 10.0, 72.0, y, &format!("{part} {left}, 1, 23"))
                .put("R", 10.0, 330.0, y, &format!("{part} {right}, 4–6, 9"));
            y -= 12.0;
        }
    }
    let document = read(&file(&[sheet], &[], ""));
    assert!(document.blocks.iter().all(|b| b.kind != BlockKind::Table));
    let (jay, gull) = (document.text.find("eider"), document.text.find("gull"));
    assert!(jay < gull, "{}", document.text);
}

#[test]
fn a_running_header_names_the_book_on_one_side_and_the_chapter_on_the_other() {
    let page = |chapter: &str, text: &str| {
        Sheet::default()
            .put("R", 8.0, 72.0, 750.0, "A Book of Ducks")
            .put("R", 8.0, 400.0, 750.0, chapter)
            .prose(72.0, 500.0, &[text])
    };
    let sheets = [
        page("", "It begins here."),
        page("On feet", "It goes on here."),
        page("On wings", "Here it goes on, too."),
        page("On bills", "And here it ends."),
    ];
    let document = read(&file(&sheets, &[], ""));
    assert!(!document.text.contains("Book"), "{}", document.text);
    assert!(!document.text.contains("On "), "{}", document.text);
    assert_eq!(document.blocks.len(), 4);
}

/// A line of so many cells of one letter.
fn line_of_cells(count: usize, base: f32) -> Line {
    let cell = |i: usize| layout::Piece {
        gap: if i > 0 {
            layout::Gap::Cell
        } else {
            layout::Gap::None
        },
        x0: 30.0 * i as f32,
        x1: 30.0 * i as f32 + 5.0,
        style: page::Style::default(),
        text: "a".to_owned(),
    };
    Line {
        page: 1,
        page_size: (1e6, 1e6),
        flow: (0, 0),
        column: (0.0, 1e6),
        x0: 0.0,
        x1: 30.0 * count as f32,
        top: base - 8.0,
        bottom: base + 2.0,
        base,
        size: 10.0,
        pieces: (0..count).map(cell).collect(),
    }
}

/// A line in one style.
pub(super) fn line_of(text: &str) -> Line {
    let mut line = line_of_cells(1, 500_000.0);
    line.pieces[0].text = text.to_owned();
    line
}

#[test]
fn a_table_that_would_be_more_text_than_is_allowed_is_refused_before_it_is_made() {
    let mut lines = vec![line_of_cells(500, 0.0)];
    lines.extend((1..20).map(|i| line_of_cells(2, 12.0 * i as f32)));
    let limits = |text_max| Limits {
        text_max,
        ..Limits::default()
    };
    let rows = table::rows(&lines, &limits(30_000)).unwrap();
    assert!(rows.len() == 20 && rows.iter().all(|row| row.len() == 500));
    let refused = table::rows(&lines, &limits(29_999)).unwrap_err();
    assert!(matches!(refused, ParseError::TooLarge { .. }), "{refused}");
}

#[test]
fn lines_of_more_cells_than_a_table_has_columns_are_prose() {
    let usual = Usual {
        body_size: 10.0,
        leading: 1.2,
    };
    for (columns, is_table) in [
        (paragraph::COLUMNS_MAX, true),
        (paragraph::COLUMNS_MAX + 1, false),
    ] {
        let lines = (0..4).map(|i| line_of_cells(columns, 12.0 * i as f32));
        let drafts = paragraph::drafts(lines.collect(), &usual);
        let tables = drafts
            .iter()
            .filter(|d| d.kind == paragraph::DraftKind::Table);
        assert_eq!(tables.count(), usize::from(is_table), "{columns} columns");
    }
}

#[test]
fn a_heading_that_does_not_stand_out_among_others_is_no_title() {
    let chapter = |heading: &str| {
        let lines = [
            "Ducks swim on ponds and rivers, and",
            "they feed on plants below the water.",
        ];
        Sheet::default()
            .put("B", 10.0, 72.0, 700.0, heading)
            .prose(72.0, 670.0, &lines)
    };
    let document = read(&file(&[chapter("On Feet"), chapter("On Wings")], &[], ""));
    assert_eq!(headings(&document), [(1, "On Feet"), (1, "On Wings")]);
    assert_eq!(document.title, None);
}

/// One page with one sentence each, encrypted by pypdf with the owner's password `owner`; the second of a pair asks for the
/// password `open` to be read.
macro_rules! encrypted {
    ($($cipher:literal),*) => {
        [$((
            $cipher,
            &include_bytes!(concat!("encrypted/", $cipher, ".pdf"))[..],
            &include_bytes!(concat!("encrypted/", $cipher, "-asks.pdf"))[..],
        )),*]
    };
}

#[test]
fn a_file_with_an_owners_password_alone_is_read_and_one_that_asks_for_a_password_is_refused() {
    for (cipher, open, asks) in encrypted!["rc4-40", "rc4-128", "aes-128", "aes-256"] {
        let document = read(open);
        let expected = "Ducks swim on ponds and rivers, and they feed on plants below the water.";
        assert_eq!(document.text.trim(), expected, "{cipher}");
        assert_eq!(
            parse_within(Kind::Pdf, asks, None, &Limits::default()),
            Err(ParseError::Encrypted { kind: Kind::Pdf }),
            "{cipher}"
        );
    }
}

/// A paper's first page: title, what is below it, and prose. `edge`: a line near the bottom.
fn first_page(byline: impl Fn(Sheet) -> Sheet, edge: &str) -> Sheet {
    byline(Sheet::default().put("B", 18.0, 120.0, 700.0, "On Ducks and Their Ponds"))
        .put("B", 12.0, 72.0, 560.0, "Abstract")
        .prose(
            72.0,
            540.0,
            &[
                "Ducks are birds that live on the water of lakes and rivers in most parts of the world we know,",
                "and a well-known one is the mallard. They swim and dive for food; deep learning tells them apart,",
                "as was shown in 2019. The end of the sentence is here.",
            ],
        )
        .put("R", 8.0, 72.0, 60.0, edge)
}

#[test]
fn authors_are_those_that_the_file_states() {
    let infos: &[(&str, &[&str])] = &[
        ("", &[]),
        ("/Author (Cy Ode)", &["Cy Ode"]),
        ("/Author (jsmith)", &[]),
        ("/Author (Microsoft Office User)", &[]),
        ("/Author (Lee, Ann; Ek, Bo)", &["Lee, Ann", "Ek, Bo"]),
    ];
    for (info, want) in infos {
        let document = read(&file(&[first_page(|sheet| sheet, "")], &[], info));
        assert_eq!(document.authors, *want, "{info}");
    }
}

#[test]
fn identifiers_and_year_are_those_of_the_first_page() {
    type Want = (Option<&'static str>, Option<i32>);
    let known = |edge: &str, info: &str| {
        let document = read(&file(&[first_page(|sheet| sheet, edge)], &[], info));
        (document.facts.doi, document.year)
    };
    let cases: &[(&str, &str, Want)] = &[
        (
            "Journal of Ducks 3, 2021. https://doi.org/10.1000/Ducks.12",
            "",
            (Some("10.1000/ducks.12"), None),
        ),
        ("1 Knuth, D. Trees. doi:10.1000/trees", "", (None, None)),
        ("doi:10.1000/1 or doi:10.1000/2", "", (None, None)),
        ("doi:10.5281/zenodo.12", "", (None, None)),
        (
            "",
            "/Subject (Ducks, 3 \\(2021\\). doi:10.1016/j.duck.2021.1)",
            (Some("10.1016/j.duck.2021.1"), None),
        ),
        ("", "/CreationDate (D:20190102030405Z)", (None, Some(2019))),
        ("", "/CreationDate (D:20200102030405Z)", (None, None)),
    ];
    for (edge, info, (doi, year)) in cases {
        assert_eq!(
            known(edge, info),
            (doi.map(str::to_owned), *year),
            "{edge} {info}"
        );
    }
    let long = format!(
        "/Subject (doi:10.1000/1 {})",
        "a".repeat(front::TEXT_LEN_MAX)
    );
    assert_eq!(known("", &long), (None, None));
    let listed = Sheet::default()
        .put("B", 18.0, 120.0, 700.0, "On Ducks")
        .put("B", 12.0, 72.0, 660.0, "References")
        .prose(
            72.0,
            640.0,
            &["Knuth, D. Trees. Forest. https://doi.org/10.1000/trees"],
        );
    let document = read(&file(&[listed], &[], ""));
    assert_eq!(document.facts.doi, None);
}

#[test]
fn the_stamp_at_the_left_edge_is_read() {
    let mut sheet = first_page(|sheet| sheet, "");
    sheet.0 += "BT /R 20 Tf 0 1 -1 0 30 200 Tm (arXiv:2401.12345v2 [cs.CL] 3 Jan 2024) Tj ET\n";
    let document = read(&file(&[sheet], &[], "/CreationDate (D:20200102030405Z)"));
    assert_eq!(document.facts.other["arxiv"], "2401.12345");
    assert_eq!(document.year, Some(2024));
    assert!(!document.text.contains("arXiv"));
}
