//! Runs of glyphs on one page.

use pdf_oxide::PdfDocument;
use pdf_oxide::error::Error as PdfError;
use pdf_oxide::layout::TextSpan;

/// Runs that are so near to the horizontal, in degrees, are text; others are stamps and axes.
const TILT_MAX: f32 = 1.0;
/// Sizes outside of these, in points, belong to invisible or decorative text.
const SIZE_MIN: f32 = 2.0;
const SIZE_MAX: f32 = 400.0;
/// How much of a type size is above and below the baseline, more or less.
const ASCENT: f32 = 0.8;
const DESCENT: f32 = 0.2;
/// Width of a space, in type sizes, more or less.
const SPACE_WIDTH: f32 = 0.25;

/// One page. Positions are in points from the top left corner of what is visible of it.
#[derive(Debug)]
pub(super) struct Page {
    /// From 1.
    pub(super) number: u32,
    pub(super) width: f32,
    pub(super) height: f32,
    pub(super) runs: Vec<Run>,
    /// What is upright or aslant, such as the stamp of a repository at the left edge, with a space between runs.
    pub(super) rotated_text: String,
}

/// Glyphs in one font that follow each other on a baseline.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) x0: f32,
    pub(super) x1: f32,
    /// The baseline.
    pub(super) base: f32,
    /// Type size.
    pub(super) size: f32,
    pub(super) style: Style,
    pub(super) text: String,
}

/// What a font says about its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) is_bold: bool,
    pub(super) is_italic: bool,
    pub(super) is_mono: bool,
}

impl Page {
    pub(super) fn text_len(&self) -> usize {
        self.runs.iter().map(|run| run.text.len()).sum()
    }
}

impl Run {
    pub(super) fn top(&self) -> f32 {
        self.base - ASCENT * self.size
    }

    pub(super) fn bottom(&self) -> f32 {
        self.base + DESCENT * self.size
    }
}

/// Reads the page at `index`, from 0.
pub(super) fn read(file: &PdfDocument, index: usize) -> Result<Page, PdfError> {
    let (x0, y0, x1, y1) = file.get_page_visible_box(index)?;
    let spans = file.extract_spans(index)?;
    let (width, height) = ((x1 - x0).max(1.0), (y1 - y0).max(1.0));
    let tilted = spans.iter().filter(|span| is_tilted(span));
    let stamps: Vec<String> = tilted.map(|span| plain(&span.text)).collect();
    let runs = spans.into_iter().filter_map(|span| run(span, x0, y1));
    Ok(Page {
        number: u32::try_from(index + 1).unwrap_or(u32::MAX),
        width,
        height,
        runs: runs.collect(),
        rotated_text: stamps.join(" "),
    })
}

fn is_tilted(span: &TextSpan) -> bool {
    span.rotation_degrees.abs() > TILT_MAX
}

fn run(span: TextSpan, left: f32, top: f32) -> Option<Run> {
    let (size, bbox) = (span.font_size, span.bbox);
    let is_sane = [bbox.x, bbox.y, bbox.width, size]
        .iter()
        .all(|v| v.is_finite())
        && (SIZE_MIN..SIZE_MAX).contains(&size)
        && bbox.width >= 0.0
        && !is_tilted(&span);
    if !is_sane || span.text.trim().is_empty() {
        return None;
    }
    let text = plain(&span.text);
    // Spaces at either end have a width, too, and may reach into the next column.
    let spaces = |trimmed: &str| SPACE_WIDTH * size * (text.len() - trimmed.len()) as f32;
    let x0 = bbox.x - left + spaces(text.trim_start());
    let x1 = bbox.x - left + bbox.width - spaces(text.trim_end());
    Some(Run {
        x0,
        x1: x1.max(x0),
        base: top - bbox.y,
        size,
        style: style(&span),
        text,
    })
}

/// Many fonts do not declare what they are, but their names tell.
fn style(span: &TextSpan) -> Style {
    let (_, name) = span
        .font_name
        .split_once('+')
        .unwrap_or(("", &span.font_name));
    let name = name.to_ascii_lowercase();
    let any = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    Style {
        is_bold: span.font_weight.is_bold()
            || any(&["bold", "black", "heavy", "demi", "-medi", "cmbx", "cmssbx"]),
        is_italic: span.is_italic || any(&["italic", "oblique", "slanted", "cmti", "cmsl"]),
        is_mono: span.is_monospace
            || any(&[
                "mono",
                "courier",
                "cmtt",
                "consol",
                "typewriter",
                "menlo",
                "nimbusmon",
            ])
            || name.starts_with("hack-"),
    }
}

/// Ligatures as letters, control characters and odd spaces as spaces.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ﬀ' => plain.push_str("ff"),
            'ﬁ' => plain.push_str("fi"),
            'ﬂ' => plain.push_str("fl"),
            'ﬃ' => plain.push_str("ffi"),
            'ﬄ' => plain.push_str("ffl"),
            'ﬅ' | 'ﬆ' => plain.push_str("st"),
            c if c.is_whitespace() || c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}
