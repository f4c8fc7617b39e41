//! The kinds of files that are read.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// Extension (lower case) to kind. The first extension of a kind is the usual one.
const EXTENSIONS: &[(&str, Kind)] = &[
    ("md", Kind::Markdown),
    ("markdown", Kind::Markdown),
    ("mdown", Kind::Markdown),
    ("mkd", Kind::Markdown),
    ("txt", Kind::Text),
    ("text", Kind::Text),
    ("log", Kind::Text),
    ("rst", Kind::Text),
    ("adoc", Kind::Text),
    ("org", Kind::Text),
    ("bib", Kind::Text),
    ("csv", Kind::Text),
    ("tsv", Kind::Text),
    ("html", Kind::Html),
    ("htm", Kind::Html),
    ("xhtml", Kind::Html),
    ("pdf", Kind::Pdf),
    ("pptx", Kind::Pptx),
    ("pptm", Kind::Pptx),
    ("ppsx", Kind::Pptx),
    ("docx", Kind::Docx),
    ("docm", Kind::Docx),
    ("dotx", Kind::Docx),
    ("epub", Kind::Epub),
    ("tex", Kind::Latex),
    ("latex", Kind::Latex),
    ("nxml", Kind::Jats),
    ("jsonl", Kind::Chat),
    ("srt", Kind::Subtitles),
    ("vtt", Kind::Subtitles),
    ("png", Kind::Image),
    ("jpg", Kind::Image),
    ("jpeg", Kind::Image),
    ("gif", Kind::Image),
    ("webp", Kind::Image),
    ("bmp", Kind::Image),
    ("tif", Kind::Image),
    ("tiff", Kind::Image),
];

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

    /// The kind of files with this extension, which is in lower case. JSON and XML may be of several.
    pub fn from_extension(extension: &str) -> Option<Kind> {
        let known = EXTENSIONS.iter().find(|(known, _)| *known == extension);
        known
            .map(|(_, kind)| *kind)
            .or_else(|| Language::from_extension(extension).map(Kind::Code))
    }

    /// The kind that a command line names: `pdf`, `html`, `markdown`, `text`, a language such as
    /// `rust`, or any usual extension. `auto` and `code` name no kind.
    pub fn from_name(name: &str) -> Option<Kind> {
        let name = name.to_ascii_lowercase();
        Some(match name.as_str() {
            "latex" => Kind::Latex,
            "jats" => Kind::Jats,
            "chat" => Kind::Chat,
            "subtitles" => Kind::Subtitles,
            "image" => Kind::Image,
            _ => {
                let language = Language::ALL.iter().find(|l| l.name() == name);
                return language
                    .map(|&l| Kind::Code(l))
                    .or_else(|| Kind::from_extension(&name));
            }
        })
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
