//! What the store calls the things that parsers name.

use loci_documents::Kind;
use locidb::storage::records::{self, FileType};

/// The stored type of a kind of file.
pub(crate) fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Text => FileType::Text,
        Kind::Markdown => FileType::Markdown,
        Kind::Html => FileType::Html,
        Kind::Pdf => FileType::Pdf,
        Kind::Code(_) => FileType::Code,
        Kind::Pptx => FileType::Pptx,
        Kind::Docx => FileType::Docx,
        Kind::Epub => FileType::Epub,
        Kind::Latex => FileType::Latex,
        Kind::Jats => FileType::Jats,
        Kind::Chat | Kind::Subtitles => FileType::Transcript,
        Kind::Image => FileType::Image,
    }
}

/// A box on a page, as chunks store it.
pub(crate) fn page_box(found: &loci_documents::PageBox) -> records::PageBox {
    let &loci_documents::PageBox {
        page,
        x0,
        y0,
        x1,
        y1,
    } = found;
    records::PageBox {
        page,
        x0,
        y0,
        x1,
        y1,
    }
}
