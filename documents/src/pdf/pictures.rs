//! Pictures on pages: which are kept, and where they are in the text.
//!
//! Kept is what a reader would call a figure: large enough, not the page's background, and not the same at one place
//! page after page, as a logo is. JPEGs are kept as they are, all others as PNG. A picture that cannot be read is left
//! out, and so is what goes beyond the limits below or [`Limits::assets_max`]: the pages of these are reported.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::tree::PageBox;
use pdf_oxide::{PdfDocument, PdfFilter, PdfImageHandle};

use super::effort::WorkBudget;
use super::paragraph::{Draft, DraftKind};
use crate::limits::Limits;
use crate::tree::Asset;

/// Pictures of one document, and on one page.
const PICTURES_MAX: usize = 2_000;
const ON_PAGE_MAX: usize = 20;
/// Pictures on a page that are looked at; drawings may be made of thousands.
const SEEN_ON_PAGE_MAX: usize = 2_000;
/// Pixels of one picture, and of all that are decoded.
const PIXELS_MAX: u64 = 16 << 20;
const DECODED_MAX: u64 = 256 << 20;
/// Shortest side of a figure, in points and in pixels.
const SIDE_MIN: f32 = 36.0;
const SIDE_PIXELS_MIN: u32 = 24;
/// What takes fewer bytes is a shade or a pattern, of which drawings are made.
const BYTES_MIN: usize = 2 << 10;
/// What covers more of its page than this is a background or a scan.
const COVER_MAX: f32 = 0.9;
/// Pages with the same picture at one place that make it furniture.
const REPEATS_MIN: usize = 3;
/// How far a caption may be from its figure, in points: below it, above it.
const CAPTION_BELOW: f32 = 48.0;
const CAPTION_ABOVE: f32 = 30.0;

/// A picture of a page, at a place in points from the page's top left corner.
#[derive(Debug)]
pub(super) struct Picture {
    pub(super) page: u32,
    pub(super) name: String,
    left: f32,
    top: f32,
    right: f32,
    bottom: f32,
    page_size: (f32, f32),
}

impl Picture {
    /// Its place in 0..1.
    pub(super) fn page_box(&self) -> PageBox {
        let (width, height) = self.page_size;
        PageBox {
            page: self.page,
            x0: (self.left / width).clamp(0.0, 1.0),
            y0: (self.top / height).clamp(0.0, 1.0),
            x1: (self.right / width).clamp(0.0, 1.0),
            y1: (self.bottom / height).clamp(0.0, 1.0),
        }
    }

    fn width(&self) -> f32 {
        self.right - self.left
    }

    fn height(&self) -> f32 {
        self.bottom - self.top
    }

    fn is_figure(&self) -> bool {
        let (width, height) = self.page_size;
        let sides = self.width().min(self.height());
        let cover = (self.width() / width) * (self.height() / height);
        sides.is_finite() && sides >= SIDE_MIN && cover <= COVER_MAX
    }

    /// The same on other pages, if it is furniture.
    fn repeat_key(&self, handle: &PdfImageHandle<'_>) -> [i64; 7] {
        let rounded = |v: f32| v.round() as i64;
        [
            i64::from(handle.width),
            i64::from(handle.height),
            i64::try_from(handle.byte_size_compressed).unwrap_or(i64::MAX),
            rounded(self.left),
            rounded(self.top),
            rounded(self.width()),
            rounded(self.height()),
        ]
    }
}

/// The pictures of a file, as far as they were looked for.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    /// The figures, in the order of their pages.
    pub(super) figures: Vec<Picture>,
    /// Their bytes.
    pub(super) assets: Vec<Asset>,
    /// Pages that paint a picture of any kind, ascending.
    pub(super) pages_with_pictures: Vec<u32>,
    /// The page of each figure that is left out.
    pub(super) dropped_pages: Vec<u32>,
}

/// Looks for the pictures of a file.
pub(super) fn read(file: &PdfDocument, page_count: usize, limits: &Limits) -> Pictures {
    let (mut seen, mut painted) = (Vec::new(), Vec::new());
    let mut effort = WorkBudget::new(file);
    for index in 0..page_count {
        if seen.len() >= PICTURES_MAX {
            break;
        }
        // A foreign crate's work on damaged bytes: what fails costs the pictures of a page.
        let found = catch_unwind(AssertUnwindSafe(|| {
            if effort.try_spend_page(index) {
                on_page(file, index)
            } else {
                None
            }
        }));
        if found.is_err() {
            effort.spend_failed();
        }
        if matches!(found, Ok(Some(_))) {
            painted.push(u32::try_from(index + 1).unwrap_or(u32::MAX));
        }
        seen.extend(found.ok().flatten().unwrap_or_default());
    }
    let mut repeats: HashMap<[i64; 7], usize> = HashMap::new();
    for (picture, handle) in &seen {
        *repeats.entry(picture.repeat_key(handle)).or_default() += 1;
    }
    seen.retain(|(picture, handle)| repeats[&picture.repeat_key(handle)] < REPEATS_MIN);
    seen.truncate(PICTURES_MAX);
    Pictures {
        pages_with_pictures: painted,
        ..select_figures(seen, limits)
    }
}

fn on_page(file: &PdfDocument, index: usize) -> Option<Vec<(Picture, PdfImageHandle<'_>)>> {
    let (x0, y0, x1, y1) = file.get_page_visible_box(index).ok()?;
    let page_size = ((x1 - x0).max(1.0), (y1 - y0).max(1.0));
    let page = u32::try_from(index + 1).ok()?;
    let handles = file.page_image_handles(index).ok()?.into_iter();
    let placed = handles.take(SEEN_ON_PAGE_MAX).map(|handle| {
        let bbox = handle.bbox;
        let picture = Picture {
            page,
            name: String::new(),
            left: (bbox.x - x0).max(0.0),
            top: (y1 - bbox.y - bbox.height).max(0.0),
            right: (bbox.x + bbox.width - x0).min(page_size.0),
            bottom: (y1 - bbox.y).min(page_size.1),
            page_size,
        };
        (picture, handle)
    });
    let mut figures: Vec<_> = placed
        .filter(|(picture, handle)| picture.is_figure() && is_readable(handle))
        .take(ON_PAGE_MAX)
        .collect();
    figures.sort_by(|(a, _), (b, _)| a.top.total_cmp(&b.top).then(a.left.total_cmp(&b.left)));
    Some(figures)
}

fn is_readable(handle: &PdfImageHandle<'_>) -> bool {
    let pixels = u64::from(handle.width) * u64::from(handle.height);
    handle.width.min(handle.height) >= SIDE_PIXELS_MIN && pixels <= PIXELS_MAX
}

/// Names pictures by page and place on it, as far as there is room for their bytes.
fn select_figures(seen: Vec<(Picture, PdfImageHandle<'_>)>, limits: &Limits) -> Pictures {
    let (mut figures, mut assets, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bytes_left, mut pixels_left) = (limits.assets_max, DECODED_MAX);
    let (mut page, mut number) = (0, 0);
    for (mut picture, handle) in seen {
        let is_jpeg = handle.filter_chain == [PdfFilter::DCTDecode];
        let pixels = u64::from(handle.width) * u64::from(handle.height);
        if !is_jpeg {
            match pixels_left.checked_sub(pixels) {
                Some(left) => pixels_left = left,
                None => {
                    lost.push(picture.page);
                    continue;
                }
            }
        }
        let read = catch_unwind(AssertUnwindSafe(|| {
            if is_jpeg {
                handle
                    .raw_compressed_bytes()
                    .ok()
                    .filter(|b| is_jpeg_file(b))
            } else {
                handle.decode().and_then(|image| image.to_png_bytes()).ok()
            }
        }));
        let bytes = match read.ok().flatten() {
            Some(bytes) if bytes.len() < BYTES_MIN => continue,
            Some(bytes) if bytes.len() <= bytes_left => bytes,
            _ => {
                lost.push(picture.page);
                continue;
            }
        };
        number = if picture.page == page { number + 1 } else { 1 };
        page = picture.page;
        let same = assets.iter().find(|asset: &&Asset| asset.bytes == bytes);
        picture.name = match same {
            Some(same) => same.name.clone(),
            None => {
                let ending = if is_jpeg { "jpg" } else { "png" };
                let name = format!("page-{page}-{number}.{ending}");
                bytes_left -= bytes.len();
                assets.push(Asset {
                    name: name.clone(),
                    bytes,
                });
                name
            }
        };
        figures.push(picture);
    }
    Pictures {
        figures,
        assets,
        pages_with_pictures: Vec::new(),
        dropped_pages: lost,
    }
}

fn is_jpeg_file(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xd8])
}

/// The draft that each picture is written before: the caption below it; the draft after the caption above it; else the
/// first draft of the page that begins below it, beside which it is. Ascending.
pub(super) fn assign_to_drafts(drafts: &[Draft], pictures: Vec<Picture>) -> Vec<(usize, Picture)> {
    let mut assigned: Vec<(usize, Picture)> = pictures
        .into_iter()
        .map(|picture| (draft_index(drafts, &picture), picture))
        .collect();
    assigned.sort_by_key(|(at, _)| *at);
    assigned
}

fn draft_index(drafts: &[Draft], picture: &Picture) -> usize {
    let from = drafts.partition_point(|draft| draft.first().page < picture.page);
    let to = drafts.partition_point(|draft| draft.first().page <= picture.page);
    let is_beside = |draft: &Draft| {
        let (left, right) = extent(draft);
        left < picture.right && right > picture.left
    };
    let beside = || (from..to).filter(|&i| is_beside(&drafts[i]));
    let captions = || beside().filter(|&i| drafts[i].kind == DraftKind::Caption);
    let below = captions().find(|&i| {
        let space = drafts[i].first().top - picture.bottom;
        (-SIDE_MIN / 2.0..CAPTION_BELOW).contains(&space)
    });
    let above = captions().find(|&i| {
        let space = picture.top - drafts[i].last().bottom;
        (-1.0..CAPTION_ABOVE).contains(&space)
    });
    let is_below = |i: &usize| drafts[*i].first().top > picture.top + picture.height() / 2.0;
    below
        .or(above.map(|i| i + 1))
        .or_else(|| beside().find(is_below))
        .unwrap_or(to)
}

/// From where to where a draft's lines on its first page reach.
fn extent(draft: &Draft) -> (f32, f32) {
    let flow = draft.first().flow;
    let lines = || draft.lines.iter().filter(|line| line.flow == flow);
    let left = lines().map(|line| line.x0).fold(f32::INFINITY, f32::min);
    let right = lines()
        .map(|line| line.x1)
        .fold(f32::NEG_INFINITY, f32::max);
    (left, right)
}
