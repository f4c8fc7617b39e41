//! The fields that a filter may name, and what their values look like.

/// What the values of a field look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Text, compared as it is written.
    Text,
    /// A language: a code of ISO 639, or an English name; kept as ISO 639-3.
    Language,
    /// A whole number.
    Number,
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// `true` or `false`, kept as text.
    Flag,
    /// A fraction in 0..=1, kept in thousandths as a number.
    Share,
    /// Free metadata: text, and a number too where it is written as one.
    Free,
}

/// A field that a filter may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name that facets use.
    pub name: &'static str,
    /// Another name for the same, or the empty string.
    pub alias: &'static str,
    /// What its values look like.
    pub kind: FieldKind,
}

const LEVELS: &[&str] = &[
    "summary",
    "section",
    "paragraph",
    "proposition",
    "sentence",
    "citation",
];
const CONTENT_TYPES: &[&str] = &["text", "image", "table", "code", "diagram", "proposition"];
const CHUNK_TYPES: &[&str] = &["concept", "example", "question", "other"];
const FILE_TYPES: &[&str] = &[
    "text",
    "markdown",
    "html",
    "pdf",
    "code",
    "pptx",
    "docx",
    "epub",
    "latex",
    "jats",
    "transcript",
    "image",
];

const fn field(name: &'static str, alias: &'static str, kind: FieldKind) -> Field {
    Field { name, alias, kind }
}

/// All fields but `meta.KEY`. A field of a document holds for all of its chunks; a field with
/// several values (authors, the pages of a span) holds when one of them does.
pub const FIELDS: &[Field] = {
    use FieldKind::{Flag, Language, Number, OneOf, Share, Text};
    &[
        field("user_id", "user", Text),
        field("collection", "", Text),
        field("document", "key", Text),
        field("filename", "", Text),
        field("address", "", Text),
        field("title", "", Text),
        field("year", "", Number),
        field("venue", "", Text),
        field("doi", "", Text),
        field("author", "authors", Text),
        field("file_type", "", OneOf(FILE_TYPES)),
        field("category", "", Text),
        field("topic", "topics", Text),
        field("difficulty", "", Text),
        field("prerequisite", "prerequisites", Text),
        field("learning_outcome", "learning_outcomes", Text),
        field("language", "", Language),
        field("level", "", OneOf(LEVELS)),
        field("content_type", "", OneOf(CONTENT_TYPES)),
        field("chunk_type", "", OneOf(CHUNK_TYPES)),
        field("page", "", Number),
        field("slide", "", Number),
        field("line", "", Number),
        field("chapter_number", "", Text),
        field("chapter_title", "", Text),
        field("section_number", "", Text),
        field("section_title", "", Text),
        field("keyword", "keywords", Text),
        field("key_term", "key_terms", Text),
        field("symbol", "", Text),
        field("has_equations", "", Flag),
        field("has_diagrams", "", Flag),
        field("citation_count", "", Number),
        field("token_count", "", Number),
        field("word_count", "", Number),
        field("confidence", "", Share),
    ]
};

/// What starts the name of a free field.
pub const META: &str = "meta.";

/// The field with this name or alias; free metadata as `meta.KEY`.
pub fn lookup(name: &str) -> Option<(String, FieldKind)> {
    if name.strip_prefix(META).is_some_and(|key| !key.is_empty()) {
        return Some((name.to_owned(), FieldKind::Free));
    }
    let named = |field: &&Field| field.name == name || (field.alias == name && !name.is_empty());
    FIELDS
        .iter()
        .find(named)
        .map(|field| (field.name.to_owned(), field.kind))
}

/// The known name that most resembles `name`, where one does.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let names = FIELDS.iter().flat_map(|field| [field.name, field.alias]);
    let names = names.filter(|name| !name.is_empty()).chain([META]);
    let best = names.map(|known| (distance(name, known), known)).min()?;
    let bound = name.chars().count().max(best.1.len()).div_ceil(3);
    (best.0 <= bound).then_some(best.1)
}

/// Edits between two names; names longer than any field are not compared.
///
/// Source: Wagner, Fischer, "The String-to-String Correction Problem", JACM 1974.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().take(64).enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use loci_storage::records::{ChunkType, ContentType, FileType, Level};

    use super::*;

    #[test]
    fn the_names_are_those_of_the_records() {
        assert!(
            LEVELS
                .iter()
                .copied()
                .eq(Level::ALL.iter().map(|v| v.name()))
        );
        assert!(
            CONTENT_TYPES
                .iter()
                .copied()
                .eq(ContentType::ALL.iter().map(|v| v.name()))
        );
        assert!(
            CHUNK_TYPES
                .iter()
                .copied()
                .eq(ChunkType::ALL.iter().map(|v| v.name()))
        );
        assert!(
            FILE_TYPES
                .iter()
                .copied()
                .eq(FileType::ALL.iter().map(|v| v.name()))
        );
    }

    #[test]
    fn slips_of_the_pen_find_what_was_meant() {
        let cases = [
            ("pge", Some("page")),
            ("titel", Some("title")),
            ("contenttype", Some("content_type")),
            ("autor", Some("author")),
            ("quaternion", None),
            ("", None),
        ];
        for (name, want) in cases {
            assert_eq!(nearest(name), want, "{name}");
        }
    }
}
