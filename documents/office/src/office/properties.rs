//! What a package says of itself: its core properties.

use roxmltree::Document;

use crate::cues::year::year;
use crate::facts::TextMetrics;
use crate::writing::running::collapsed;
use crate::xml::node::text_of;

/// Title, authors and the rest, as far as they are stated.
#[derive(Debug, Default)]
pub(crate) struct Properties {
    pub(crate) title: Option<String>,
    pub(crate) authors: Vec<String>,
    pub(crate) year: Option<i32>,
    pub(crate) facts: TextMetrics,
}

/// Titles that programs give to a file of their own accord, in lower case.
const EMPTY_TITLES: &[&str] = &[
    "powerpoint presentation",
    "presentation",
    "powerpoint-präsentation",
    "présentation powerpoint",
    "presentación de powerpoint",
    "presentazione standard di powerpoint",
    "apresentação do powerpoint",
    "powerpoint 演示文稿",
    "powerpoint プレゼンテーション",
    "презентация powerpoint",
    "slide 1",
    "untitled",
    "title",
    "word document",
];
/// Authors that are programs or nobody, in lower case.
const NO_AUTHORS: &[&str] = &[
    "microsoft office user",
    "microsoft office-anwender",
    "python-docx",
    "python-pptx",
    "pptxgenjs",
    "administrator",
    "admin",
    "user",
    "unknown",
    "author",
];
impl Properties {
    pub(super) fn read(tree: &Document<'_>) -> Properties {
        let root = tree.root_element();
        let of = |name| Some(collapsed(&text_of(root, name))).filter(|text| !text.is_empty());
        let is_title = |title: &String| {
            let title = title.to_lowercase();
            !EMPTY_TITLES.contains(&&title[..]) && !title.starts_with("microsoft word - ")
        };
        Properties {
            title: of("title").filter(is_title),
            authors: of("creator").map_or(Vec::new(), |names| authors(&names)),
            year: of("created").and_then(|date| year(&date)),
            facts: TextMetrics {
                language: of("language"),
                keywords: of("keywords"),
                subject: of("subject"),
                description: of("description"),
                category: of("category"),
                ..TextMetrics::default()
            },
        }
    }
}

/// Names are parted by semicolons.
fn authors(names: &str) -> Vec<String> {
    let names = names.split(';').map(str::trim);
    names
        .filter(|name| !name.is_empty() && !NO_AUTHORS.contains(&&name.to_lowercase()[..]))
        .map(str::to_owned)
        .collect()
}
