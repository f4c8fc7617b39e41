//! Bytes to text, for the formats that are text.
//!
//! - UTF-8 is taken as it is, line ends included. A byte order mark stays in the text, so that
//!   positions are the file's; parsers begin after it.
//! - UTF-16 is read when it starts with a byte order mark. The text is then not the original.
//! - A file with broken UTF-8 is read with U+FFFD in the place of each broken sequence when there
//!   are few of them: at most one, and one more per 200 bytes. The text is then not the original.
//! - Anything else, and anything with a zero byte, is refused.

use super::{Limits, ParseError};

/// A file's text.
#[derive(Debug)]
pub(super) struct Decoded {
    /// All of it, with the byte order mark where there is one.
    pub(super) text: String,
    /// Where reading starts: behind the byte order mark.
    pub(super) start: usize,
    /// Whether `text` has the very bytes of the file.
    pub(super) is_original: bool,
}

const BOM: &str = "\u{feff}";
const BYTES_PER_BROKEN: usize = 200;

/// The text of a file that is its own document's text, and bounded as such.
pub(super) fn decode_text(bytes: &[u8], limits: &Limits) -> Result<Decoded, ParseError> {
    let decoded = decode(bytes)?;
    limits.check_text(decoded.text.len())?;
    Ok(decoded)
}

pub(super) fn decode(bytes: &[u8]) -> Result<Decoded, ParseError> {
    let (text, is_original) = match bytes {
        [0xff, 0xfe, rest @ ..] => (utf16(rest, u16::from_le_bytes)?, false),
        [0xfe, 0xff, rest @ ..] => (utf16(rest, u16::from_be_bytes)?, false),
        _ if bytes.contains(&0) => return Err(not_text("it has zero bytes")),
        _ => utf8(bytes)?,
    };
    let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    Ok(Decoded {
        text,
        start,
        is_original,
    })
}

fn utf8(bytes: &[u8]) -> Result<(String, bool), ParseError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok((text.to_owned(), true));
    }
    let broken = bytes
        .utf8_chunks()
        .filter(|chunk| !chunk.invalid().is_empty())
        .count();
    if broken > 1 + bytes.len() / BYTES_PER_BROKEN {
        return Err(not_text(&format!(
            "{broken} broken sequences in {} bytes",
            bytes.len()
        )));
    }
    Ok((String::from_utf8_lossy(bytes).into_owned(), false))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, ParseError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text: Result<String, _> = char::decode_utf16(pairs.iter().map(|&p| unit(p))).collect();
    match text {
        Ok(text) if rest.is_empty() && !text.contains('\0') => Ok(text),
        _ => Err(not_text("broken UTF-16")),
    }
}

fn not_text(reason: &str) -> ParseError {
    ParseError::NotText {
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_broken_bytes_are_replaced_and_many_are_refused() {
        let mostly = [b"word ".repeat(100), b"caf\xe9".to_vec()].concat();
        type Want = Option<(&'static str, usize, bool)>;
        let cases: &[(&str, &[u8], Want)] = &[
            ("plain", b"a\r\nb", Some(("a\r\nb", 0, true))),
            (
                "byte order mark",
                b"\xef\xbb\xbfa",
                Some(("\u{feff}a", 3, true)),
            ),
            ("utf-16 le", b"\xff\xfea\0b\0", Some(("ab", 0, false))),
            ("utf-16 be", b"\xfe\xff\0a", Some(("a", 0, false))),
            ("half a unit", b"\xff\xfea", None),
            ("zero byte", b"a\0b", None),
            ("one broken", b"caf\xe9", Some(("caf\u{fffd}", 0, false))),
            ("all broken", b"\xe9 \xe9 \xe9 \xe9", None),
            ("nothing", b"", Some(("", 0, true))),
        ];
        for (name, bytes, want) in cases {
            let got = decode(bytes).ok();
            let got = got
                .as_ref()
                .map(|d| (d.text.as_str(), d.start, d.is_original));
            assert_eq!(got, *want, "{name}");
        }
        let decoded = decode(&mostly).unwrap();
        assert!(!decoded.is_original && decoded.text.ends_with("caf\u{fffd}"));
    }
}
