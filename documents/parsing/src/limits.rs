//! What a parser may spend, and how it says no.

use serde::{Deserialize, Serialize};

use crate::kind::Kind;

/// Bounds on one document, against hostile ones. The defaults hold books of thousands of pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes_max: usize,
    /// Blocks, and four times as many marks.
    pub blocks_max: usize,
    /// Elements or list items that are open at once.
    pub depth_max: usize,
    /// Bytes of the text that is extracted.
    pub text_max: usize,
    /// Pages, slides or files of a book.
    pub pages_max: usize,
    /// Bytes of everything in an archive, unpacked.
    pub unpacked_max: usize,
    /// Bytes of all assets that are kept; those beyond are left out.
    pub assets_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes_max: 64 << 20,
            blocks_max: 500_000,
            depth_max: 2_000,
            text_max: 16 << 20,
            pages_max: 20_000,
            unpacked_max: 256 << 20,
            assets_max: 64 << 20,
        }
    }
}

impl Limits {
    /// Whether a file is small enough.
    ///
    /// # Errors
    /// [`ParseError::TooLarge`].
    pub fn check_bytes(&self, bytes: &[u8]) -> Result<(), ParseError> {
        within("bytes", bytes.len(), self.bytes_max)
    }

    /// Whether so many elements may be open at once.
    pub fn check_depth(&self, depth: usize) -> Result<(), ParseError> {
        within("levels of nesting", depth, self.depth_max)
    }

    /// Whether a file may have so many pages.
    pub fn check_pages(&self, pages: usize) -> Result<(), ParseError> {
        within("pages", pages, self.pages_max)
    }

    /// Whether a text may have `len` bytes.
    pub fn check_text(&self, len: usize) -> Result<(), ParseError> {
        within("bytes of text", len, self.text_max)
    }
}

/// Whether `got` of `what` are at most `most`.
pub fn within(what: &str, got: usize, most: usize) -> Result<(), ParseError> {
    if got <= most {
        return Ok(());
    }
    Err(ParseError::TooLarge {
        what: what.to_owned(),
        got: got as u64,
        most: most as u64,
    })
}

/// How a file is freed of its password.
fn how_to_decrypt(kind: Kind) -> &'static str {
    match kind {
        Kind::Pdf => "write it without its password (qpdf --decrypt --password=… IN.pdf OUT.pdf)",
        Kind::Docx | Kind::Pptx => {
            "remove its password in the program that wrote it (in Office: File, Info, Protect, Encrypt with Password, and empty it)"
        }
        Kind::Epub => "only the seller's own programs read it: get a copy without copy protection",
        _ => "remove its password",
    }
}

/// Why a file did not become a [`crate::tree::ParsedDocument`]. Every variant tells its reader
/// what to do next. It can be sent between processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// A bound of [`Limits`] was passed. Split the file, or raise the limit if it is trusted.
    #[error("the file has {got} {what}, at most {most} are allowed; split it into smaller files")]
    TooLarge {
        /// What there is too much of.
        what: String,
        /// How much there is, as far as it was counted.
        got: u64,
        /// How much is allowed.
        most: u64,
    },
    /// The bytes are not text in an encoding that is read here. Save the file as UTF-8.
    #[error("not UTF-8 text ({reason}); save the file as UTF-8")]
    NotText {
        /// What was found.
        reason: String,
    },
    /// The file breaks the rules of its format. Open it in its own program and save it again.
    #[error("damaged {kind} file: {reason}; save it again from the program that wrote it")]
    Malformed {
        /// What the file should be.
        kind: Kind,
        /// What is wrong with it.
        reason: String,
    },
    /// The file wants a password. Remove it and try again.
    #[error("the file is encrypted; {} and try again", how_to_decrypt(*kind))]
    Encrypted {
        /// What the file is.
        kind: Kind,
    },
    /// There is nothing to read: an empty file, or pages without a letter.
    #[error("the file holds no text")]
    Empty,
    /// Pages show pictures of text. Run text recognition (`ocrmypdf`) and try again.
    #[error(
        "the {pages} pages hold pictures and no text; run text recognition (ocrmypdf) and try again"
    )]
    Scanned {
        /// How many pages there are.
        pages: u64,
    },
    /// A parser's result breaks the rules of [`crate::tree`]. A defect of ours: please report it.
    #[error("the parser's result is inconsistent: {reason}; please report it")]
    Invalid {
        /// The rule that is broken.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_an_encrypted_file_names_a_program_for_its_kind() {
        let cases = [
            (Kind::Pdf, "qpdf"),
            (Kind::Docx, "Office"),
            (Kind::Pptx, "Office"),
            (Kind::Epub, "copy protection"),
        ];
        for (kind, program) in cases {
            let message = ParseError::Encrypted { kind }.to_string();
            assert!(message.contains(program), "{message}");
            assert_eq!(message.contains("qpdf"), kind == Kind::Pdf, "{message}");
        }
    }
}
