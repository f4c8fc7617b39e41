//! Documents of our own: a paper in two columns, a book with an outline, and a book in EPUB.
//!
//! The PDFs are set as a typesetter would: lines are filled by the widths of Times, justified, and words are divided at
//! their ends; pages have running headers and footers. The words are made up, but for the headings.

use std::io::{Cursor, Write as _};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Widths of Times-Roman from the space on, in thousandths of the type size (Adobe's font metrics).
const WIDTHS: [u16; 95] = [
    250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500,
    500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444, 921, 722, 667, 667, 722, 611,
    556, 722, 722, 333, 389, 722, 611, 889, 722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722,
    722, 611, 333, 278, 333, 469, 500, 333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500,
    278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
];
const PAGE: (f32, f32) = (612.0, 792.0);
const WORDS: &[&str] = &[
    "harbour",
    "current",
    "sediment",
    "the",
    "of",
    "measurements",
    "a",
    "winter",
    "channel",
    "and",
    "instrumentation",
    "to",
    "tide",
    "in",
    "observations",
    "estuary",
    "with",
    "gradually",
    "signal",
    "over",
    "representative",
    "shoal",
    "at",
    "slackening",
    "mark",
    "from",
];

fn width(text: &str, size: f32) -> f32 {
    let of = |b: u8| f32::from(*WIDTHS.get(usize::from(b.wrapping_sub(32))).unwrap_or(&500));
    text.bytes().map(of).sum::<f32>() * size / 1000.0
}

/// Words that look like chance and are the same on every run (Marsaglia's xorshift).
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn sentence(&mut self) -> String {
        let count = 9 + self.below(12);
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        let text = words.join(" ");
        format!("{}{}.", text[..1].to_uppercase(), &text[1..])
    }

    fn paragraph(&mut self, sentences: usize) -> String {
        let sentences: Vec<String> = (0..sentences).map(|_| self.sentence()).collect();
        sentences.join(" ")
    }
}

/// One page's content stream.
#[derive(Clone, Default)]
struct Sheet(String);

impl Sheet {
    /// Text at `x`, `y` points from the bottom left corner. Fonts: `R` roman, `B` bold, `I` italic, `C` Courier.
    fn put(&mut self, font: &str, size: f32, x: f32, y: f32, text: &str) {
        self.spaced(font, size, x, y, text, 0.0);
    }

    fn spaced(&mut self, font: &str, size: f32, x: f32, y: f32, text: &str, space: f32) {
        let text = text
            .replace('\\', "\\\\")
            .replace('(', "\\(")
            .replace(')', "\\)");
        self.0 += &format!("BT /{font} {size} Tf {space:.3} Tw {x:.2} {y:.2} Td ({text}) Tj ET\n");
    }

    fn centred(&mut self, font: &str, size: f32, y: f32, text: &str) {
        let x = (PAGE.0 - width(text, size)) / 2.0;
        self.put(font, size, x, y, text);
    }
}

/// Where text flows: columns of a page, then of the next.
struct Flow {
    sheets: Vec<Sheet>,
    /// Left edges of the columns, and how wide they are.
    columns: Vec<f32>,
    width: f32,
    column: usize,
    y: f32,
    top: f32,
    bottom: f32,
    /// What a new page is before text stands on it, by its number from 1.
    frame: fn(usize) -> Sheet,
}

impl Flow {
    fn new(columns: &[f32], width: f32, frame: fn(usize) -> Sheet) -> Flow {
        Flow {
            sheets: vec![frame(1)],
            columns: columns.to_vec(),
            width,
            column: 0,
            y: 700.0,
            top: 700.0,
            bottom: 80.0,
            frame,
        }
    }

    fn page(&self) -> usize {
        self.sheets.len()
    }

    fn sheet(&mut self) -> &mut Sheet {
        self.sheets.last_mut().unwrap()
    }

    fn next_page(&mut self) {
        self.sheets.push((self.frame)(self.sheets.len() + 1));
        (self.column, self.y, self.top) = (0, 700.0, 700.0);
    }

    fn next_column(&mut self) {
        if self.column + 1 == self.columns.len() {
            return self.next_page();
        }
        self.column += 1;
        self.y = self.top;
    }

    /// Moves down by `by`, to the next column where there is no room for `room` below that.
    fn down(&mut self, by: f32, min_space: f32) {
        if self.y - by - min_space < self.bottom {
            self.next_column()
        } else {
            self.y -= by
        }
    }

    fn line(&mut self, font: &str, size: f32, indent: f32, text: &str, space: f32) {
        let (x, y) = (self.columns[self.column] + indent, self.y);
        self.sheet().spaced(font, size, x, y, text, space);
    }

    /// A heading with room for two lines below it.
    fn heading(&mut self, size: f32, text: &str) {
        self.down(2.2 * size, 36.0);
        self.line("B", size, 0.0, text, 0.0);
        self.y -= 0.5 * size;
    }

    /// A justified paragraph, its words divided where they do not fit.
    fn prose(&mut self, size: f32, indent: f32, text: &str) {
        let mut words: Vec<String> = text.split(' ').rev().map(str::to_owned).collect();
        let mut first = indent;
        while !words.is_empty() {
            let line_width = self.width - first;
            let mut line = String::new();
            while let Some(word) = words.pop() {
                let gap = if line.is_empty() { "" } else { " " };
                if width(&format!("{line}{gap}{word}"), size) <= line_width {
                    line += gap;
                    line += &word;
                    continue;
                }
                let half = word.len() / 2;
                let head = format!("{line}{gap}{}-", &word[..half]);
                if word.len() >= 8 && width(&head, size) <= line_width {
                    line = head;
                    words.push(word[half..].to_owned());
                } else {
                    words.push(word);
                }
                break;
            }
            let spaces = line.matches(' ').count().max(1) as f32;
            let left = line_width - width(&line, size);
            let space = if words.is_empty() { 0.0 } else { left / spaces };
            self.down(1.2 * size, 0.0);
            self.line("R", size, first, &line, space);
            first = 0.0;
        }
    }
}

/// A paper in two columns: title and abstract over both, running headers and footers, numbered headings of three
/// levels, one of them over two lines, a figure's caption, a table, a footnote, and references.
pub(crate) fn paper() -> Vec<u8> {
    let mut chance = Rng(0x2545_F491_4F6C_DD1D);
    let mut flow = Flow::new(&[54.0, 318.0], 240.0, |number| {
        let mut sheet = Sheet::default();
        sheet.put("I", 9.0, 54.0, 750.0, "A. Lee and B. Ek");
        sheet.put("I", 9.0, 400.0, 750.0, "The Harbour at Slack Water");
        sheet.put("R", 9.0, 54.0, 40.0, "Journal of Harbours, vol. 12, 2020");
        sheet.put("R", 9.0, 540.0, 40.0, &(100 + number).to_string());
        sheet
    });
    let sheet = flow.sheet();
    sheet.centred("B", 18.0, 700.0, "Sediment in the Harbour at Slack Water:");
    sheet.centred("B", 18.0, 678.0, "A Year of Observations");
    sheet.centred("R", 11.0, 652.0, "Ann Lee and Bo Ek");
    sheet.centred("I", 10.0, 638.0, "Institute of Tides");
    (flow.y, flow.top) = (610.0, 610.0);
    flow.heading(12.0, "Abstract");
    let text = chance.paragraph(5);
    flow.prose(10.0, 0.0, &text);
    section(&mut flow, &mut chance, 12.0, "1 Introduction", 4);
    section(&mut flow, &mut chance, 12.0, "2 Instruments and Methods", 1);
    section(&mut flow, &mut chance, 10.0, "2.1 Moorings", 2);
    section(&mut flow, &mut chance, 10.0, "2.2 Water Samples", 2);
    section(&mut flow, &mut chance, 10.0, "2.2.1 Filtration", 1);
    figure(&mut flow, &mut chance);
    section(&mut flow, &mut chance, 12.0, "3 Results", 3);
    table(&mut flow);
    flow.heading(12.0, "4 What the Tide Leaves Behind and");
    flow.y -= 8.0;
    flow.line("B", 12.0, 18.0, "What It Takes Away", 0.0);
    flow.y -= 6.0;
    for _ in 0..3 {
        let text = chance.paragraph(4);
        flow.prose(10.0, 10.0, &text);
    }
    flow.heading(12.0, "References");
    for (i, name) in ["Lee, A.", "Ek, B.", "Ode, C."].iter().enumerate() {
        let text = format!("[{}] {name} {} 20{}.", i + 1, chance.sentence(), 10 + i);
        flow.prose(9.0, 0.0, &text);
    }
    pdf(
        &flow.sheets,
        &[],
        "/Title (paper.dvi) /Author (Ann Lee, Bo Ek)",
    )
}

fn section(flow: &mut Flow, rng: &mut Rng, size: f32, title: &str, paragraphs: usize) {
    flow.heading(size, title);
    for i in 0..paragraphs {
        let text = rng.paragraph(4);
        flow.prose(10.0, if i == 0 { 0.0 } else { 10.0 }, &text);
    }
}

/// A box with two labels in it and a caption below.
fn figure(flow: &mut Flow, rng: &mut Rng) {
    flow.down(130.0, 30.0);
    let (x, y) = (flow.columns[flow.column], flow.y);
    let sheet = flow.sheet();
    sheet.0 += &format!("{x} {} 240 90 re S\n", y + 24.0);
    sheet.put("R", 8.0, x + 30.0, y + 60.0, "buoy");
    sheet.put("B", 8.0, x + 140.0, y + 60.0, "Anchor");
    let text = format!("Figure 1: {}", rng.sentence());
    flow.prose(9.0, 0.0, &text);
    flow.y -= 12.0;
}

fn table(flow: &mut Flow) {
    flow.down(30.0, 70.0);
    let rows = [
        ["Station", "Depth (m)", "Load"],
        ["North pier", "4.1", "12.5"],
        ["Lock", "7.9", "3.0"],
        ["Roads", "11.2", "0.4"],
    ];
    for row in rows {
        for (cell, at) in row.iter().zip([0.0, 110.0, 190.0]) {
            flow.line("R", 9.0, at, cell, 0.0);
        }
        flow.y -= 11.0;
    }
    flow.y -= 4.0;
    flow.line(
        "R",
        9.0,
        0.0,
        "Table 1: Stations and their load of sediment.",
        0.0,
    );
    flow.y -= 10.0;
}

/// A book: title page, contents, a foreword, chapters with a label above their title, sections, code whose last brace
/// stands above a heading, an index. Its outline names chapters and sections by title alone.
pub(crate) fn book() -> Vec<u8> {
    let mut chance = Rng(0x9E37_79B9_7F4A_7C15);
    let mut flow = Flow::new(&[90.0], 432.0, |number| {
        let mut sheet = Sheet::default();
        if number > 3 {
            sheet.put("R", 10.0, 300.0, 40.0, &(number - 3).to_string());
        }
        sheet
    });
    flow.sheet().centred("B", 20.0, 500.0, "The Book of Tides");
    flow.sheet().centred("R", 12.0, 470.0, "Ann Lee");
    flow.next_page();
    opening(&mut flow, None, "Contents");
    for (entry, page) in [
        ("1 Moon", 1),
        ("1.1 Springs", 1),
        ("1.2 Neaps", 2),
        ("2 Sun", 3),
        ("2.1 Solstice", 3),
    ] {
        flow.y -= 14.0;
        flow.line(
            "R",
            11.0,
            0.0,
            &format!("{entry} {} {page}", ". ".repeat(40)),
            0.0,
        );
    }
    flow.next_page();
    opening(&mut flow, None, "Foreword");
    let text = chance.paragraph(6);
    flow.prose(11.0, 0.0, &text);
    let mut outline = Vec::new();
    for (label, title, sections) in [
        ("Chapter 1", "Moon", &["1.1 Springs", "1.2 Neaps"][..]),
        ("Chapter 2", "Sun", &["2.1 Solstice"][..]),
    ] {
        flow.next_page();
        opening(&mut flow, Some(label), title);
        outline.push((title, flow.page() - 1));
        let text = chance.paragraph(8);
        flow.prose(11.0, 0.0, &text);
        for section in sections {
            for code in ["while rising(tide) {", "    wait(hour);", "}"] {
                flow.y -= 13.0;
                flow.line("C", 10.0, 20.0, code, 0.0);
            }
            flow.heading(14.0, section);
            outline.push((section.split_once(' ').unwrap().1, flow.page() - 1));
            for _ in 0..4 {
                let text = chance.paragraph(7);
                flow.prose(11.0, 16.0, &text);
            }
        }
    }
    flow.next_page();
    opening(&mut flow, None, "Index");
    outline.push(("Index", flow.page() - 1));
    for entry in ["harbour, 1, 3", "neaps, 2", "springs, 1", "tide, 1, 2, 3"] {
        flow.y -= 14.0;
        flow.line("R", 11.0, 0.0, entry, 0.0);
    }
    pdf(
        &flow.sheets,
        &outline,
        "/Title (The Book of Tides) /Author (Ann Lee)",
    )
}

/// What a chapter begins with.
fn opening(flow: &mut Flow, label: Option<&str>, title: &str) {
    flow.y = 640.0;
    if let Some(label) = label {
        flow.line("B", 22.0, 0.0, label, 0.0);
        flow.y -= 44.0;
    }
    flow.line("B", 22.0, 0.0, title, 0.0);
    flow.y -= 40.0;
}

/// A file of these pages. `outline`: titles with their page, from 0.
fn pdf(sheets: &[Sheet], outline: &[(&str, usize)], info: &str) -> Vec<u8> {
    let first_entry = 9 + 2 * sheets.len();
    let kids: Vec<String> = (0..sheets.len())
        .map(|i| format!("{} 0 R", 9 + 2 * i))
        .collect();
    let font = |name| format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>");
    let last_entry = first_entry + outline.len().saturating_sub(1);
    let ends = if outline.is_empty() {
        String::new()
    } else {
        format!("/First {first_entry} 0 R /Last {last_entry} 0 R")
    };
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R /Outlines 7 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Count {} /Kids [{}] >>",
            sheets.len(),
            kids.join(" ")
        ),
        font("Times-Roman"),
        font("Times-Bold"),
        font("Times-Italic"),
        font("Courier"),
        format!("<< /Type /Outlines {ends} >>"),
        format!("<< {info} >>"),
    ];
    for Sheet(content) in sheets {
        let number = objects.len() + 2;
        let fonts = "<< /Font << /R 3 0 R /B 4 0 R /I 5 0 R /C 6 0 R >> >>";
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Resources {fonts} /Contents {number} 0 R >>",
            PAGE.0, PAGE.1
        ));
        let length = content.len();
        objects.push(format!(
            "<< /Length {length} >>\nstream\n{content}\nendstream"
        ));
    }
    for (i, (title, page)) in outline.iter().enumerate() {
        let next = if i + 1 < outline.len() {
            format!("/Next {} 0 R", first_entry + i + 1)
        } else {
            String::new()
        };
        let page = 9 + 2 * page;
        objects.push(format!(
            "<< /Title ({title}) /Parent 7 0 R /Dest [{page} 0 R /Fit] {next} >>"
        ));
    }
    packed(&objects)
}

/// Objects numbered from 1, with their table and trailer.
fn packed(objects: &[String]) -> Vec<u8> {
    let mut bytes = "%PDF-1.4\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (i, object) in objects.iter().enumerate() {
        table += &format!("{:010} 00000 n \n", bytes.len());
        bytes += &format!("{} 0 obj\n{object}\nendobj\n", i + 1);
    }
    let start = bytes.len();
    let size = objects.len() + 1;
    bytes += &table;
    bytes += &format!(
        "trailer\n<< /Size {size} /Root 1 0 R /Info 8 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    bytes.into_bytes()
}

/// A book in EPUB: a title page, two chapters of which one is in two files, and contents that name them.
pub(crate) fn epub() -> Vec<u8> {
    let page = |body: &str| {
        format!(
            "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>x</title></head><body>{body}</body></html>"
        )
    };
    let files = [
        ("mimetype", "application/epub+zip".to_owned()),
        (
            "META-INF/container.xml",
            "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container' version='1.0'><rootfiles>\
             <rootfile full-path='text/book.opf' media-type='application/oebps-package+xml'/></rootfiles></container>".to_owned(),
        ),
        (
            "text/book.opf",
            "<package xmlns='http://www.idpf.org/2007/opf' version='3.0'><metadata xmlns:dc='http://purl.org/dc/elements/1.1/'>\
             <dc:title>The Book of Tides</dc:title><dc:creator>Ann Lee</dc:creator></metadata><manifest>\
             <item id='n' href='nav.xhtml' media-type='application/xhtml+xml' properties='nav'/>\
             <item id='t' href='title.xhtml' media-type='application/xhtml+xml'/>\
             <item id='a' href='moon.xhtml' media-type='application/xhtml+xml'/>\
             <item id='b' href='neaps.xhtml' media-type='application/xhtml+xml'/>\
             <item id='c' href='sun.xhtml' media-type='application/xhtml+xml'/></manifest>\
             <spine><itemref idref='t'/><itemref idref='n' linear='no'/><itemref idref='a'/><itemref idref='b'/><itemref idref='c'/></spine></package>".to_owned(),
        ),
        (
            "text/nav.xhtml",
            page("<nav xmlns:epub='http://www.idpf.org/2007/ops' epub:type='toc'><h2>Contents</h2><ol><li><a href='moon.xhtml'>Moon</a></li><li><a href='sun.xhtml'>Sun</a></li></ol></nav>"),
        ),
        ("text/title.xhtml", page("<h1>The Book of Tides</h1><p>by Ann Lee</p>")),
        (
            "text/moon.xhtml",
            page("<h2>Chapter 1<br/>Moon</h2><p>The tide follows the moon.</p><h3>Springs</h3><p>At new and full moon it is high.</p>"),
        ),
        ("text/neaps.xhtml", page("<h3>Neaps</h3><p>Between them it is low.</p>")),
        ("text/sun.xhtml", page("<h2>Chapter 2<br/>Sun</h2><p>The sun pulls, too, by half as much.</p>")),
    ];
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        archive
            .start_file(name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
