//! The location of a hit: in words for a reader, in numbers for a program.

use serde::{Deserialize, Serialize};

use crate::records::PageBox;

/// The location of a hit in its document. Absent parts are left out of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Citation {
    /// For a reader: `Page 42, 3.2 Wave Functions`. Never empty.
    pub label: String,
    /// Document's title, then the headings above, outermost first.
    pub path: Vec<String>,
    /// The page, from 1, if it is on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// First and last page, if it is on several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<(u32, u32)>,
    /// The slide, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slide: Option<u32>,
    /// Start and end as `00:01:20–00:01:45`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// First and last line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// Characters `start..end` of the document's text; `(0, 0)`, which JSON leaves out, where it is not known which.
    #[serde(default, skip_serializing_if = "is_nowhere")]
    pub chars: (u64, u64),
    /// Boxes on pages, in 0..1 units from the top left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boxes: Vec<PageBox>,
    /// Where to open it: `/note/{document}/chunk/{chunk}`, percent-encoded.
    pub link: String,
}

impl Citation {
    /// The characters `start..end` of the document's text that are cited, where that is known.
    pub fn known_chars(&self) -> Option<(u64, u64)> {
        (!is_nowhere(&self.chars)).then_some(self.chars)
    }

    /// The public key of the chunk that is cited, as the link has it.
    pub fn chunk(&self) -> String {
        let coded = self.link.rsplit("/chunk/").next().unwrap_or_default();
        let mut bytes = Vec::with_capacity(coded.len());
        let mut rest = coded.bytes();
        while let Some(byte) = rest.next() {
            let digits = (byte == b'%').then(|| [rest.next(), rest.next()]);
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            bytes.push(match digits.map(|[high, low]| (digit(high), digit(low))) {
                Some((Some(high), Some(low))) => (high * 16 + low) as u8,
                _ => byte,
            });
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Whether no characters are cited: the caller who stored the chunk gave none.
fn is_nowhere(chars: &(u64, u64)) -> bool {
    *chars == (0, 0)
}
