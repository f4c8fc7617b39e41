//! The kinds of files that are read.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Kind {
    /// Markdown.
    Markdown,
    /// Plain text.
    #[default]
    Text,
    /// HTML.
    Html,
    /// PDF.
    Pdf,
    /// Source code.
    Code(Language),
    /// PowerPoint slides.
    Pptx,
    /// A Word document.
    Docx,
    /// An EPUB book.
    Epub,
    /// LaTeX source.
    Latex,
    /// A JATS article.
    Jats,
    /// A chat transcript: JSON, or text with a speaker's name before each turn.
    Chat,
    /// SubRip or WebVTT subtitles, or timed sentences as JSON.
    Subtitles,
    /// A picture.
    Image,
}

impl Kind {
    /// Whether it is source code.
    pub fn is_code(self) -> bool {
        matches!(self, Kind::Code(_))
    }

    /// A short name; [`Kind::from_name`] reads it back.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Markdown => "markdown",
            Kind::Text => "text",
            Kind::Html => "html",
            Kind::Pdf => "pdf",
            Kind::Code(language) => language.name(),
            Kind::Pptx => "pptx",
            Kind::Docx => "docx",
            Kind::Epub => "epub",
            Kind::Latex => "latex",
            Kind::Jats => "jats",
            Kind::Chat => "chat",
            Kind::Subtitles => "subtitles",
            Kind::Image => "image",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Code(language) => write!(f, "{} source", language.name()),
            _ => f.write_str(self.name()),
        }
    }
}
