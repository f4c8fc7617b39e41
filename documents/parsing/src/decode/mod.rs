//! Decodes the bytes of text formats.
//!
//! It tries the following, in this order:
//!
//! 1. A byte order mark: UTF-8 or UTF-16. That of UTF-8 stays in the text, so that the text is the file's very bytes;
//!    parsers begin after it.
//! 2. UTF-8, which other text hardly ever is by chance. It overrides a declared encoding, because whoever saved the page
//!    may have changed its encoding without changing the declaration.
//! 3. UTF-8 with a few broken sequences, at most one, and one more per 200 bytes, and no more of them than whole ones:
//!    U+FFFD replaces each.
//! 4. The encoding that an HTML page or an XML file declares (`declared.rs`).
//! 5. UTF-8 with as few broken sequences, even if fewer are whole, if some of these occur in no other encoding.
//! 6. Windows-1252, if only a few letters and signs are not ASCII: too few to guess an encoding.
//! 7. The encoding that the bytes look like.
//!
//! The result of 4 is accepted unless it clearly does not look like written text, that of 6 and 7 only if it does
//! (`plausible.rs`). Always true: anything else is refused, and so is anything with a zero byte except UTF-16.
//!
//! Start reading at `read`.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::limits::within;
use crate::limits::{Limits, ParseError};
use plausible::{is_nearly_plausible, is_plausible};

mod declared;
mod plausible;
mod sprinkled;

/// A file's text.
#[derive(Debug)]
pub struct Decoded {
    /// All of it, with the byte order mark of UTF-8 where there is one.
    pub text: String,
    /// Where reading starts: behind the byte order mark.
    pub start: usize,
}

const BOM: &str = "\u{feff}";
const BYTES_PER_BROKEN: usize = 200;
/// Bytes of a character that a cut may have left.
const CUT_MAX: usize = 3;
/// Bytes that are decoded before the length of the text is looked at.
const STEP: usize = 64 << 10;

/// The text of a file that is its own document's text, and bounded as such.
pub fn decode_text(bytes: &[u8], limits: &Limits) -> Result<Decoded, ParseError> {
    read(bytes, None, limits.text_max)
}

/// The text of a file that a document is made of. It has at most three times as many bytes as the file.
pub fn decode(bytes: &[u8]) -> Result<Decoded, ParseError> {
    read(bytes, None, usize::MAX)
}

/// Likewise of an HTML page, which may state its encoding.
pub fn decode_html(bytes: &[u8]) -> Result<Decoded, ParseError> {
    read(bytes, declared::by_html(bytes), usize::MAX)
}

/// Likewise of an XML file.
pub fn decode_xml(bytes: &[u8]) -> Result<Decoded, ParseError> {
    read(bytes, declared::by_xml(bytes), usize::MAX)
}

/// The text that a file begins with, where it is text at all. `head` may have been cut inside a character.
pub fn decode_head(head: &[u8]) -> Option<String> {
    let is_wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if !is_wide && head.contains(&0) {
        return None;
    }
    // A character that is cut begins with a byte beyond ASCII.
    let cuts = (0..=CUT_MAX).filter_map(|cut| head.split_at_checked(head.len().checked_sub(cut)?));
    let may_be_cut = |cut: &[u8]| is_wide || cut.first().is_none_or(|byte| !byte.is_ascii());
    let cuts = cuts.filter(|(whole, cut)| !whole.is_empty() && may_be_cut(cut));
    let mut whole = cuts.filter_map(|(whole, _)| decode(whole).ok());
    let mut decoded = whole
        .find(|it| !it.text.contains(char::REPLACEMENT_CHARACTER))
        .or_else(|| decode(head).ok())?;
    Some(decoded.text.split_off(decoded.start))
}

fn read(
    bytes: &[u8],
    declared: Option<&'static Encoding>,
    len_max: usize,
) -> Result<Decoded, ParseError> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, UTF_16LE, len_max)?,
        [0xfe, 0xff, rest @ ..] => utf16(rest, UTF_16BE, len_max)?,
        _ if let Some(wide) = declared.filter(|it| [UTF_16LE, UTF_16BE].contains(it)) => {
            utf16(bytes, wide, len_max)?
        }
        _ if bytes.contains(&0) => return Err(not_text("it has zero bytes")),
        _ => narrow(bytes, declared, len_max)?,
    };
    let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    Ok(Decoded { text, start })
}

fn utf16(bytes: &[u8], encoding: &'static Encoding, len_max: usize) -> Result<String, ParseError> {
    match decode_as(encoding, bytes, len_max)? {
        Some((text, 0)) if !text.contains('\0') => Ok(text),
        _ => Err(not_text("broken UTF-16")),
    }
}

/// Text in an encoding of which ASCII is a part.
fn narrow(
    bytes: &[u8],
    declared: Option<&'static Encoding>,
    len_max: usize,
) -> Result<String, ParseError> {
    let is_escaped = declared.is_some_and(|it| !it.is_ascii_compatible());
    let utf8 = Sequences::of(bytes);
    if utf8.broken == 0 && !(is_escaped && utf8.whole == 0) || utf8.is_likely() {
        return utf8.replaced(bytes, len_max);
    }
    if let Some(encoding) = declared.filter(|it| *it != UTF_8)
        && let Some((text, _)) = decode_as(encoding, bytes, len_max)?
        && is_nearly_plausible(&text)
    {
        return Ok(text);
    }
    if utf8.may_be(bytes) {
        return utf8.replaced(bytes, len_max);
    }
    if let Some((text, 0)) = decode_as(WINDOWS_1252, bytes, len_max)?
        && is_plausible(&text)
        && sprinkled::is_likely_windows_1252(&text)
    {
        return Ok(text);
    }
    if let Some((text, 0)) = decode_as(looks_like(bytes), bytes, len_max)?
        && is_plausible(&text)
    {
        return Ok(text);
    }
    utf8.replaced(bytes, len_max)
}

fn looks_like(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// How bytes read as UTF-8.
struct Sequences {
    /// Characters of several bytes.
    whole: usize,
    broken: usize,
    /// Of those whole, and those broken behind their second byte, such as text in Windows-1252 has none of.
    telling: usize,
    /// Whether the last of them is cut, by the end of the bytes, behind its second byte.
    is_cut: bool,
}

impl Sequences {
    fn of(bytes: &[u8]) -> Sequences {
        let mut found = Sequences {
            whole: 0,
            broken: 0,
            telling: 0,
            is_cut: false,
        };
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars().filter(|c| !c.is_ascii()) {
                found.whole += 1;
                found.telling += usize::from(is_telling(c.encode_utf8(&mut [0; 4]).as_bytes()));
            }
            let invalid = chunk.invalid();
            found.broken += usize::from(!invalid.is_empty());
            found.telling += usize::from(is_telling(invalid));
            found.is_cut = invalid.len() > 1;
        }
        found
    }

    /// Whether it is UTF-8 that something damaged, for text in other encodings has few whole sequences.
    fn is_likely(&self) -> bool {
        self.telling > 0 && self.whole > 0 && self.whole >= self.broken
    }

    /// Whether it is rather damaged UTF-8 than text in an encoding that nothing states.
    fn may_be(&self, bytes: &[u8]) -> bool {
        self.broken <= broken_max(bytes) && (self.telling > 0 || self.is_cut && self.broken == 1)
    }

    /// The text with U+FFFD in the place of each broken sequence.
    fn replaced(&self, bytes: &[u8], len_max: usize) -> Result<String, ParseError> {
        if self.broken > broken_max(bytes) {
            let (broken, len) = (self.broken, bytes.len());
            return Err(not_text(&format!(
                "{broken} broken sequences in {len} bytes"
            )));
        }
        within("bytes of text", bytes.len(), len_max)?;
        let text = String::from_utf8_lossy(bytes).into_owned();
        within("bytes of text", text.len(), len_max)?;
        Ok(text)
    }
}

/// Whether two bytes or more that begin a sequence of UTF-8 are no text in Windows-1252, where the first is a letter and
/// the others are signs. `Ã` and `Â` have no sign behind them, other letters only such as close a word: `é’`, `é”`.
fn is_telling(sequence: &[u8]) -> bool {
    // `… † ‡ ‘ ’ “ ” • – — ™ ›`, and the no-break space, `® ° ² ³ ´ · ¹ »`.
    let closes = |byte: &u8| {
        let is_punctuation = matches!(byte, 0x85..=0x87 | 0x91..=0x97 | 0x99 | 0x9b | 0xa0);
        is_punctuation || matches!(byte, 0xae | 0xb0 | 0xb2..=0xb4 | 0xb7 | 0xb9 | 0xbb)
    };
    match sequence {
        [] | [_] => false,
        [0xc2 | 0xc3, ..] => true,
        [_, rest @ ..] => !rest.iter().all(closes),
    }
}

/// How many broken sequences a text may have.
fn broken_max(bytes: &[u8]) -> usize {
    1 + bytes.len() / BYTES_PER_BROKEN
}

/// The text with U+FFFD in the place of each broken sequence, and how many there are; `None` where they are too many.
fn decode_as(
    encoding: &'static Encoding,
    bytes: &[u8],
    len_max: usize,
) -> Result<Option<(String, usize)>, ParseError> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (mut text, mut broken, mut at) = (String::new(), 0, 0);
    loop {
        let end = bytes.len().min(at + STEP);
        let is_last = end == bytes.len();
        let room = decoder.max_utf8_buffer_length_without_replacement(end - at);
        text.reserve(room.unwrap_or(STEP));
        let (result, used) =
            decoder.decode_to_string_without_replacement(&bytes[at..end], &mut text, is_last);
        at += used;
        within("bytes of text", text.len(), len_max)?;
        match result {
            DecoderResult::InputEmpty if is_last => return Ok(Some((text, broken))),
            DecoderResult::Malformed(..) if broken == broken_max(bytes) => return Ok(None),
            DecoderResult::Malformed(..) => {
                broken += 1;
                text.push(char::REPLACEMENT_CHARACTER);
            }
            DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
        }
    }
}

fn not_text(reason: &str) -> ParseError {
    ParseError::NotText {
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests;
