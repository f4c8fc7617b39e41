//! The headers of picture files. Every reader takes any bytes at all: what is cut or broken gives fewer facts.
//!
//! Sources: PNG (W3C, third edition), JPEG (ITU T.81) with Exif 2.3, GIF89a, WebP (RFC 9649), BMP (Microsoft's
//! `BITMAPINFOHEADER`), TIFF 6.0.

use super::Header;

/// Chunks, segments or fields of a file that are looked at.
const PARTS_MAX: usize = 1_000;
/// Bytes of a text that are read.
const TEXT_LEN_MAX: usize = 10_000;

/// What the header says; `None` for bytes of no picture.
pub(super) fn read(bytes: &[u8]) -> Option<Header> {
    let mut facts = Header::default();
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png(bytes, &mut facts),
        [0xff, 0xd8, 0xff, ..] => jpeg(bytes, &mut facts),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => gif(bytes, &mut facts),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => webp(bytes, &mut facts),
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => bmp(bytes, &mut facts),
        [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => {
            facts.format = "tiff";
            tiff(bytes, &mut facts, true);
        }
        _ => return None,
    }
    facts.size = facts
        .size
        .filter(|(width, height)| *width > 0 && *height > 0);
    Some(facts)
}

fn png(bytes: &[u8], facts: &mut Header) {
    facts.format = "png";
    let mut at = 8;
    for _ in 0..PARTS_MAX {
        let (Some(len), Some(kind)) = (be32(bytes, at), bytes.get(at + 4..at + 8)) else {
            return;
        };
        let end = (at + 8).saturating_add(len as usize);
        let body = bytes.get(at + 8..end.min(bytes.len())).unwrap_or_default();
        match kind {
            b"IHDR" => facts.size = be32(body, 0).zip(be32(body, 4)),
            b"tEXt" => png_text(body, facts),
            b"iTXt" => png_international_text(body, facts),
            b"IEND" => return,
            _ => {}
        }
        at = end.saturating_add(4);
    }
}

/// A keyword, a zero byte, and text in Latin-1.
fn png_text(body: &[u8], facts: &mut Header) {
    if let Some((keyword, text)) = split_at_zero(body) {
        let text: String = text
            .iter()
            .take(TEXT_LEN_MAX)
            .map(|b| char::from(*b))
            .collect();
        set_field(keyword, &text, facts);
    }
}

/// A keyword, whether it is compressed and how, a language, the keyword in it, and text in UTF-8.
fn png_international_text(body: &[u8], facts: &mut Header) {
    let Some((keyword, [0, _, rest @ ..])) = split_at_zero(body) else {
        return;
    };
    let text = split_at_zero(rest).and_then(|(_, rest)| split_at_zero(rest));
    if let Some((_, text)) = text {
        set_field(keyword, &utf8(text), facts);
    }
}

fn set_field(keyword: &[u8], text: &str, facts: &mut Header) {
    let field = match keyword {
        b"Title" => &mut facts.title,
        b"Description" | b"Comment" => &mut facts.description,
        b"Author" | b"Artist" => &mut facts.author,
        b"Creation Time" => &mut facts.created,
        _ => return,
    };
    set_if_empty(field, text);
}

/// Takes what is said first, white space collapsed.
fn set_if_empty(field: &mut Option<String>, text: &str) {
    let visible = text.split(|c: char| c.is_whitespace() || c.is_control());
    let text = visible
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    if field.is_none() && text.contains(char::is_alphanumeric) {
        *field = Some(text);
    }
}

fn jpeg(bytes: &[u8], facts: &mut Header) {
    facts.format = "jpg";
    let mut at = 2;
    for _ in 0..PARTS_MAX {
        // Markers may be padded with bytes of ones.
        while bytes.get(at..at + 2) == Some(&[0xff, 0xff]) {
            at += 1;
        }
        let (Some(&[0xff, marker]), Some(len)) = (bytes.get(at..at + 2), be16(bytes, at + 2))
        else {
            return;
        };
        let end = at + 2 + usize::from(len);
        let body = bytes.get(at + 4..end.min(bytes.len())).unwrap_or_default();
        match marker {
            // Start of frame; C4, C8 and CC are other things.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                let (height, width) = (be16(body, 1), be16(body, 3));
                facts.size = width.map(u32::from).zip(height.map(u32::from));
            }
            0xfe => set_if_empty(&mut facts.description, &utf8(body)),
            0xe1 if body.starts_with(b"Exif\0\0") => tiff(&body[6..], facts, false),
            // Start of scan, end of image: the rest is the picture itself.
            0xda | 0xd9 => return,
            _ => {}
        }
        at = end;
    }
}

fn gif(bytes: &[u8], facts: &mut Header) {
    facts.format = "gif";
    let (width, height) = (le16(bytes, 6), le16(bytes, 8));
    facts.size = width.map(u32::from).zip(height.map(u32::from));
}

fn webp(bytes: &[u8], facts: &mut Header) {
    facts.format = "webp";
    let body = bytes.get(20..).unwrap_or_default();
    let low = |at| le16(body, at).map(|side| u32::from(side & 0x3fff));
    let plus_one = |at| {
        let side = body.get(at..at + 3)?;
        Some(1 + u32::from_le_bytes([side[0], side[1], side[2], 0]))
    };
    facts.size = match bytes.get(12..16) {
        Some(b"VP8 ") => low(6).zip(low(8)),
        Some(b"VP8L") => le32(body, 1).map(|bits| ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)),
        Some(b"VP8X") => plus_one(4).zip(plus_one(7)),
        _ => None,
    };
}

fn bmp(bytes: &[u8], facts: &mut Header) {
    facts.format = "bmp";
    // A height below zero says that the rows run downwards.
    let side = |at| le32(bytes, at).map(|side| side.cast_signed().unsigned_abs());
    facts.size = side(18).zip(side(22));
}

/// The first directory of a TIFF file, or of the Exif data that a JPEG file holds in the same form.
fn tiff(bytes: &[u8], facts: &mut Header, is_file: bool) {
    let is_little = bytes.starts_with(b"II");
    let two = |at| {
        if is_little {
            le16(bytes, at)
        } else {
            be16(bytes, at)
        }
    };
    let four = |at| {
        if is_little {
            le32(bytes, at)
        } else {
            be32(bytes, at)
        }
    };
    let Some(directory) = four(4).map(|at| at as usize) else {
        return;
    };
    let count = two(directory).map_or(0, usize::from);
    let (mut width, mut height) = (None, None);
    for i in 0..count.min(PARTS_MAX) {
        let field = directory.saturating_add(2 + 12 * i);
        let (Some(tag), Some(kind), Some(len)) = (two(field), two(field + 2), four(field + 4))
        else {
            break;
        };
        let number = || {
            if kind == 3 {
                two(field + 8).map(u32::from)
            } else {
                four(field + 8)
            }
        };
        let text = || {
            // Up to four bytes are in the field itself.
            let at = if len <= 4 {
                field + 8
            } else {
                four(field + 8)? as usize
            };
            let len = (len as usize).min(TEXT_LEN_MAX);
            let text = bytes.get(at..at.saturating_add(len).min(bytes.len()))?;
            (kind == 2).then(|| utf8(text))
        };
        match tag {
            0x100 => width = number(),
            0x101 => height = number(),
            0x10e => set_if_empty(&mut facts.description, &text().unwrap_or_default()),
            0x13b => set_if_empty(&mut facts.author, &text().unwrap_or_default()),
            0x132 => set_if_empty(&mut facts.created, &text().unwrap_or_default()),
            _ => {}
        }
    }
    if is_file {
        facts.size = width.zip(height);
    }
}

fn utf8(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(TEXT_LEN_MAX)];
    String::from_utf8_lossy(bytes).replace('\u{fffd}', "")
}

fn split_at_zero(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|b| *b == 0)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn le32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}
