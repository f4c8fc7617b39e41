//! PDF: glyph runs on pages to blocks of text.
//!
//! A PDF says where glyphs are and rarely what they are, so structure is inferred, in steps:
//!
//! ```text
//! page      runs of glyphs in one font, in points from the page's top left corner
//! layout    runs to lines; columns are found and read one after the other
//! furniture running headers, footers, page numbers and margin line numbers go
//! paragraph lines to drafts: prose, list items, code, tables, captions
//! table     lines of a table to rows of cells
//! pictures  which pictures are figures, and where they are (effort: what looking for them may cost)
//! heading   which drafts are headings, by the outline, else by type size, weight and numbering
//! assemble  drafts to text: hyphens at line ends go, a box per page, marks by font
//! front     identifiers on the first page: DOI, arXiv number
//! info      title, authors, year and identifiers, of these and of the file's information dictionary
//! ```
//!
//! The text is new; blocks are joined by an empty line. Positions on pages are in 0..1 from the top
//! left corner of the visible page.
//!
//! A foreign crate (pdf_oxide) reads the glyphs, and may panic on a damaged file.
//!
//! Start reading at [`parse`].

use pdf_oxide::PdfDocument;
use pdf_oxide::error::Error as PdfError;

use front::Front;
use layout::Line;
use loci_parsing::facts::PageCounts;
use loci_parsing::kind::Kind;
use loci_parsing::limits::{Limits, ParseError};
use loci_parsing::tree::ParsedDocument;
use loci_parsing::warnings::{self, Warnings};

mod assemble;
mod effort;
mod front;
mod furniture;
mod heading;
mod info;
mod layout;
mod page;
mod paragraph;
mod pictures;
mod table;

/// How many pages are looked at to tell a scan from an empty file.
const PAGES_PROBED: usize = 8;

pub(super) fn parse(bytes: &[u8], limits: &Limits) -> Result<ParsedDocument, ParseError> {
    let file = PdfDocument::from_bytes(bytes.to_vec()).map_err(open_error)?;
    if !file.is_authenticated() {
        return Err(ParseError::Encrypted { kind: Kind::Pdf });
    }
    let page_count = file.page_count().map_err(open_error)?;
    limits.check_pages(page_count)?;
    let Pages {
        lines,
        front,
        unreadable,
        textless: silent,
    } = read_lines(&file, page_count, limits)?;
    if lines.is_empty() {
        return Err(without_text(&file, page_count, unreadable.len()));
    }
    let usual = Usual::measure(&lines);
    let mut drafts = paragraph::drafts(lines, &usual);
    heading::mark(&mut drafts, &heading::outline(&file), &usual);
    let mut document = ParsedDocument {
        kind: Kind::Pdf,
        ..ParsedDocument::default()
    };
    info::apply(&file, &front, &drafts, &usual, &mut document);
    document.facts.pages = Some(PageCounts {
        all: page_count,
        unreadable: unreadable.len(),
    });
    let pictures = pictures::read(&file, page_count, limits);
    document.assets = pictures.assets;
    let mut warnings = Warnings::default();
    warn_incomplete_pages(
        &unreadable,
        &silent,
        &pictures.pages_with_pictures,
        &mut warnings,
    );
    if !pictures.dropped_pages.is_empty() {
        warnings.add(format!(
            "{} not stored, being damaged, too large or of a kind that is not read: {}",
            warnings::count_noun_is(pictures.dropped_pages.len(), "picture"),
            warnings::pages(&distinct(&pictures.dropped_pages))
        ));
    }
    document.warnings = warnings.finish();
    let figures = pictures::assign_to_drafts(&drafts, pictures.figures);
    assemble::write(&drafts, figures, limits, &mut document)?;
    Ok(document)
}

/// What the pages of a file say. Numbers of pages count from 1 and ascend.
struct Pages {
    /// All lines in reading order without furniture.
    lines: Vec<Line>,
    /// All of the first page.
    front: Front,
    /// Pages that cannot be read.
    unreadable: Vec<u32>,
    /// Pages without a line.
    textless: Vec<u32>,
}

fn read_lines(file: &PdfDocument, page_count: usize, limits: &Limits) -> Result<Pages, ParseError> {
    let (mut pages, mut numbers) = (Vec::new(), Vec::new());
    let (mut unreadable, mut text_len) = (Vec::new(), 0_usize);
    let mut front = Front::default();
    for index in 0..page_count {
        let Ok(mut page) = page::read(file, index) else {
            unreadable.push(u32::try_from(index + 1).unwrap_or(u32::MAX));
            continue;
        };
        numbers.push(page.number);
        text_len = text_len.saturating_add(page.text_len());
        limits.check_text(text_len)?;
        furniture::drop_line_numbers(&mut page);
        let lines = layout::lines(&page);
        if index == 0 {
            front = Front::new(&lines, page.rotated_text);
        }
        pages.push(lines);
    }
    furniture::drop_running_lines(&mut pages);
    let silent = numbers.into_iter().zip(&pages);
    let silent = silent.filter(|(_, lines)| lines.is_empty());
    let silent = silent.map(|(number, _)| number).collect();
    Ok(Pages {
        lines: pages.into_iter().flatten().collect(),
        front,
        unreadable,
        textless: silent,
    })
}

/// Says which pages have no text though they may say something. `painted`: pages with pictures, ascending.
fn warn_incomplete_pages(
    unreadable: &[u32],
    textless: &[u32],
    with_pictures: &[u32],
    warnings: &mut Warnings,
) {
    if !unreadable.is_empty() {
        warnings.add(format!(
            "{} cannot be read: save the file again from the program that wrote it, or repair it (qpdf IN.pdf OUT.pdf), and ingest it again",
            warnings::pages(unreadable)
        ));
    }
    let is_painted = |page: &&u32| with_pictures.binary_search(page).is_ok();
    let scanned: Vec<u32> = textless.iter().filter(is_painted).copied().collect();
    // The first page alone is a cover.
    if !scanned.is_empty() && scanned != [1] {
        warnings.add(format!(
            "{}: a picture and no text (scanned?): run text recognition (ocrmypdf --skip-text IN.pdf OUT.pdf) and ingest the file again",
            warnings::pages(&scanned)
        ));
    }
}

fn distinct(pages: &[u32]) -> Vec<u32> {
    let pages: std::collections::BTreeSet<u32> = pages.iter().copied().collect();
    pages.into_iter().collect()
}

fn open_error(error: PdfError) -> ParseError {
    match error {
        PdfError::EncryptedPdf => ParseError::Encrypted { kind: Kind::Pdf },
        error => ParseError::Malformed {
            kind: Kind::Pdf,
            reason: error.to_string(),
        },
    }
}

fn without_text(file: &PdfDocument, page_count: usize, unreadable: usize) -> ParseError {
    if unreadable > 0 && unreadable == page_count {
        return ParseError::Malformed {
            kind: Kind::Pdf,
            reason: "none of its pages can be read".to_owned(),
        };
    }
    let has_pictures = (0..page_count.min(PAGES_PROBED)).any(|index| {
        let pictures = file.page_image_handles(index);
        pictures.is_ok_and(|pictures| !pictures.is_empty())
    });
    if has_pictures {
        ParseError::Scanned {
            pages: page_count as u64,
        }
    } else {
        ParseError::Empty
    }
}

/// What is usual in this document.
#[derive(Debug)]
struct Usual {
    /// Type size of most of the text, in points.
    body_size: f32,
    /// Distance between baselines within a paragraph, in type sizes.
    leading: f32,
}

impl Usual {
    fn measure(lines: &[Line]) -> Usual {
        let sizes = lines.iter().map(|line| (line.size, line.char_count()));
        let body_size = mode(sizes, 4.0).unwrap_or(10.0);
        let leads = lines.windows(2).filter_map(|pair| {
            let distance = (pair[1].base - pair[0].base) / pair[0].size;
            let is_usual = pair[0].flow == pair[1].flow && (0.8..2.5).contains(&distance);
            let weight = pair[1].char_count();
            (is_usual && is_near(pair[0].size, pair[1].size)).then_some((distance, weight))
        });
        Usual {
            body_size,
            leading: mode(leads, 20.0).unwrap_or(1.2),
        }
    }
}

/// Whether two type sizes are one and the same but for rounding.
fn is_near(a: f32, b: f32) -> bool {
    (a - b).abs() <= 0.06 * a.max(b)
}

/// The value with the most weight, when values are rounded to `1 / steps`.
fn mode(values: impl Iterator<Item = (f32, usize)>, steps: f32) -> Option<f32> {
    let mut weights = std::collections::BTreeMap::<i64, usize>::new();
    for (value, weight) in values {
        *weights.entry((value * steps).round() as i64).or_default() += weight;
    }
    // Of equal weights the smallest value: the order of a BTreeMap, and a strict comparison.
    let best = weights.iter().rev().max_by_key(|(_, weight)| **weight)?;
    Some(*best.0 as f32 / steps)
}

#[cfg(test)]
mod tests;
