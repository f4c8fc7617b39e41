//! Citations: the location of a chunk, in words for a reader and in numbers for a program.
//!
//! Start reading at [`cite`].

pub mod context;

use std::fmt::Write;

use loci_storage::records::{ChunkRecord, DocumentRecord, Location};
use loci_storage::{ChunkKey, DocumentKey};
pub use loci_types::answer::Citation;

/// Digits of a chunk's number at most.
const SUFFIX_LEN_MAX: usize = 10;

/// The citation of `chunk` in `document`.
///
/// The label names the place (page, slide, time or lines, the first of these that is known) and the
/// section; where neither is known, the document.
pub fn cite(document: &DocumentRecord, chunk: &ChunkRecord) -> Citation {
    cite_as(document, &document_key(document), chunk)
}

/// [`cite`], where the document's printed key is known.
pub(crate) fn cite_as(document: &DocumentRecord, key: &str, chunk: &ChunkRecord) -> Citation {
    let location = &chunk.location;
    let one_page = location
        .pages
        .filter(|(first, last)| first == last)
        .map(|(page, _)| page);
    Citation {
        label: label(document, chunk),
        path: heading_path(document, chunk),
        page: one_page,
        pages: location.pages.filter(|_| one_page.is_none()),
        slide: location.slide,
        timestamp: location.time_ms.map(|(start, end)| timestamp(start, end)),
        lines: location.lines,
        chars: location.chars,
        boxes: location.boxes.clone(),
        link: link_of(key, chunk.suffix),
    }
}

/// The public key of a document, as it is printed.
pub(crate) fn document_key(document: &DocumentRecord) -> String {
    if document.user.is_empty() && document.collection.is_empty() && !document.key.contains("::") {
        document.key.clone()
    } else {
        chunk_key(document, 0).document.to_string()
    }
}

/// The public key of a chunk of the document with this printed key.
pub(crate) fn format_chunk_key(document: &str, suffix: u32) -> String {
    let mut key = String::with_capacity(document.len() + 1 + SUFFIX_LEN_MAX);
    key.push_str(document);
    // Writing to a string does not fail.
    let _ = write!(key, "#{suffix}");
    key
}

/// Where to open a chunk of the document with this printed key.
fn link_of(document: &str, suffix: u32) -> String {
    const PARTS: [&str; 3] = ["/note/", "/chunk/", "%23"];
    let parts_len: usize = PARTS.iter().map(|part| part.len()).sum();
    let coded_len = document
        .bytes()
        .map(|byte| if is_unreserved(byte) { 1 } else { 3 });
    let coded_len: usize = coded_len.sum();
    let mut link = String::with_capacity(parts_len + 2 * coded_len + SUFFIX_LEN_MAX);
    link.push_str(PARTS[0]);
    percent_encode(document, &mut link);
    link.push_str(PARTS[1]);
    percent_encode(document, &mut link);
    // `#` is `%23`.
    let _ = write!(link, "{}{suffix}", PARTS[2]);
    link
}

/// The public key of a document's chunk.
pub fn chunk_key(document: &DocumentRecord, suffix: u32) -> ChunkKey {
    let document = DocumentKey {
        user: document.user.clone(),
        collection: document.collection.clone(),
        key: document.key.clone(),
    };
    ChunkKey { document, suffix }
}

/// Where to open a chunk, as a path of the server.
pub fn link(chunk: &ChunkKey) -> String {
    link_of(&chunk.document.to_string(), chunk.suffix)
}

/// The label of a citation.
pub(crate) fn label(document: &DocumentRecord, chunk: &ChunkRecord) -> String {
    match (location_label(&chunk.location), section(chunk)) {
        (Some(place), Some(section)) => format!("{place}, {section}"),
        (Some(place), None) if chunk.location.pages.is_some() => place,
        (Some(place), None) => format!("{place}, {}", display_name(document)),
        (None, Some(section)) => section,
        (None, None) => display_name(document).to_owned(),
    }
}

fn location_label(location: &Location) -> Option<String> {
    if let Some((first, last)) = location.pages {
        return Some(span("Page", first, last));
    }
    if let Some(slide) = location.slide {
        return Some(format!("Slide {slide}"));
    }
    if let Some((start, end)) = location.time_ms {
        return Some(timestamp(start, end));
    }
    location
        .lines
        .map(|(first, last)| span("Line", first, last))
}

fn span(what: &str, first: u32, last: u32) -> String {
    if first == last {
        format!("{what} {first}")
    } else {
        format!("{what}s {first}–{last}")
    }
}

fn timestamp(start_ms: u64, end_ms: u64) -> String {
    format!("{}–{}", clock(start_ms), clock(end_ms))
}

fn clock(ms: u64) -> String {
    let seconds = ms / 1000;
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// `3.2 Wave Functions`: number and title, where they are known and not repeated.
fn section(chunk: &ChunkRecord) -> Option<String> {
    let non_blank_name = |text: &Option<String>| {
        text.as_deref()
            .map(str::trim)
            .filter(|t| !t.is_empty())
            .map(str::to_owned)
    };
    let title = non_blank_name(&chunk.section_title)
        .or_else(|| {
            chunk
                .heading_path
                .last()
                .map(|heading| heading.trim().to_owned())
        })
        .or_else(|| non_blank_name(&chunk.chapter_title))
        .or_else(|| non_blank_name(&chunk.symbol))
        .filter(|title| !title.is_empty());
    match (non_blank_name(&chunk.section_number), title) {
        (Some(number), Some(title)) if title.starts_with(&number) => Some(title),
        (Some(number), Some(title)) => Some(format!("{number} {title}")),
        (Some(number), None) => Some(format!("Section {number}")),
        (None, title) => title,
    }
}

fn heading_path(document: &DocumentRecord, chunk: &ChunkRecord) -> Vec<String> {
    let mut path = vec![display_name(document).to_owned()];
    for heading in &chunk.heading_path {
        if path.last() != Some(heading) {
            path.push(heading.clone());
        }
    }
    path
}

/// What a reader calls the document: its title, else its file, else its key.
pub(crate) fn display_name(document: &DocumentRecord) -> &str {
    let names = [&document.title, &document.filename];
    let non_blank = names
        .into_iter()
        .filter_map(|name| name.as_deref())
        .find(|name| !name.trim().is_empty());
    non_blank.unwrap_or(&document.key)
}

/// Appends everything but unreserved characters as `%XX` (RFC 3986, section 2.3).
fn percent_encode(text: &str, into: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if is_unreserved(byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(char::from(DIGITS[usize::from(byte >> 4)]));
            into.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use loci_storage::records::PageBox;

    use super::*;

    fn document() -> DocumentRecord {
        DocumentRecord {
            key: "a/b c.pdf".into(),
            title: Some("Waves".into()),
            ..Default::default()
        }
    }

    fn located(location: Location, title: Option<&str>) -> ChunkRecord {
        ChunkRecord {
            location,
            section_title: title.map(str::to_owned),
            ..ChunkRecord::default()
        }
    }

    #[test]
    fn citation_link_round_trips_to_the_chunk_key() {
        for (key, collection) in [("a/b c.pdf", ""), ("100 %-Größe#1.md", "notes"), ("", "")] {
            let document = DocumentRecord {
                key: key.into(),
                collection: collection.into(),
                ..DocumentRecord::default()
            };
            let chunk = ChunkRecord {
                suffix: 12,
                ..ChunkRecord::default()
            };
            let want = chunk_key(&document, 12).to_string();
            assert_eq!(cite(&document, &chunk).chunk(), want);
        }
    }

    #[test]
    fn label_shows_the_chunk_location() {
        let pages = |first, last| Location {
            pages: Some((first, last)),
            ..Location::default()
        };
        let lines = |first, last| Location {
            lines: Some((first, last)),
            ..Location::default()
        };
        let slide = Location {
            slide: Some(7),
            ..Location::default()
        };
        let time = Location {
            time_ms: Some((80_999, 3_705_000)),
            ..Location::default()
        };
        let cases = [
            (
                pages(42, 42),
                Some("Wave Functions"),
                "Page 42, Wave Functions",
            ),
            (pages(42, 43), None, "Pages 42–43"),
            (slide, Some("Spin"), "Slide 7, Spin"),
            (time, None, "00:01:20–01:01:45, Waves"),
            (lines(10, 20), None, "Lines 10–20, Waves"),
            (lines(3, 3), Some("push"), "Line 3, push"),
            (Location::default(), Some("Spin"), "Spin"),
            (Location::default(), None, "Waves"),
        ];
        for (location, title, want) in cases {
            assert_eq!(cite(&document(), &located(location, title)).label, want);
        }
    }

    #[test]
    fn section_number_is_not_repeated_in_label() {
        let numbered = |number: &str, title: &str| ChunkRecord {
            section_number: Some(number.into()),
            ..located(
                Location {
                    pages: Some((42, 42)),
                    ..Location::default()
                },
                Some(title),
            )
        };
        for chunk in [
            numbered("3.2", "Wave Functions"),
            numbered("3.2", "3.2 Wave Functions"),
        ] {
            assert_eq!(
                cite(&document(), &chunk).label,
                "Page 42, 3.2 Wave Functions"
            );
        }
    }

    #[test]
    fn citation_json_matches_the_documented_shape() {
        let location = Location {
            chars: (5, 9),
            pages: Some((1, 2)),
            boxes: vec![PageBox {
                page: 1,
                x0: 0.0,
                y0: 0.5,
                x1: 1.0,
                y1: 0.75,
            }],
            ..Location::default()
        };
        let mut chunk = located(location, None);
        chunk.suffix = 3;
        chunk.heading_path = vec!["Waves".into(), "Spin".into()];
        let json = serde_json::to_string(&cite(&document(), &chunk)).unwrap();
        assert_eq!(
            json,
            "{\"label\":\"Pages 1–2, Spin\",\"path\":[\"Waves\",\"Spin\"],\"pages\":[1,2],\
             \"chars\":[5,9],\"boxes\":[{\"page\":1,\"x0\":0.0,\"y0\":0.5,\"x1\":1.0,\"y1\":0.75}],\
             \"link\":\"/note/a%2Fb%20c.pdf/chunk/a%2Fb%20c.pdf%233\"}"
        );
        let bare = cite(
            &DocumentRecord {
                key: "k".into(),
                ..Default::default()
            },
            &ChunkRecord::default(),
        );
        let json = serde_json::to_string(&bare).unwrap();
        assert_eq!(
            json,
            r#"{"label":"k","path":["k"],"link":"/note/k/chunk/k%230"}"#
        );
    }
}
