//! The fields that a filter may name, and what their values look like.

use crate::records::{
    ChunkType, ContentType, FileType, Level, PropositionType, RetrievalMode, SectionType,
    SentenceType,
};

/// What the values of a field look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Text, compared as it is written.
    Text,
    /// A language: a code of ISO 639, or an English name, stored as ISO 639-3.
    Language,
    /// A whole number.
    Number,
    /// One of these names.
    OneOf(&'static [&'static str]),
    /// `true` or `false`, stored as text.
    Flag,
    /// A fraction in 0..=1, stored in thousandths as a number.
    Share,
    /// A day, month, year or moment in UTC, stored as milliseconds since 1970.
    Moment,
    /// Whole numbers from one to another, stored as both: see [`span_ends`].
    Span,
    /// Seconds from one to another, or `h:mm:ss`, stored as a [`FieldKind::Span`] of milliseconds.
    Seconds,
    /// Free metadata: text, and a number too where it is written as one.
    Free,
}

impl FieldKind {
    /// Whether a value runs from one number to another.
    pub fn is_span(self) -> bool {
        matches!(self, FieldKind::Span | FieldKind::Seconds)
    }

    /// Whether values are text alone.
    pub(super) fn is_text(self) -> bool {
        use FieldKind::{Flag, Language, OneOf, Text};
        matches!(self, Text | Language | OneOf(_) | Flag)
    }
}

/// A field that a filter may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name that facets use.
    pub name: &'static str,
    /// Other names for the same.
    pub aliases: &'static [&'static str],
    /// What its values look like.
    pub kind: FieldKind,
}

const fn field(name: &'static str, aliases: &'static [&'static str], kind: FieldKind) -> Field {
    Field {
        name,
        aliases,
        kind,
    }
}

/// All fields but `meta.KEY`. A field of a document holds for all of its chunks; a field with
/// several values (authors, the pages of a span) holds when one of them does.
pub const FIELDS: &[Field] = {
    use FieldKind::{Flag, Language, Moment, Number, OneOf, Seconds, Share, Span, Text};
    &[
        field("user_id", &["user"], Text),
        field("collection", &[], Text),
        field("document", &["key"], Text),
        field("filename", &[], Text),
        field("address", &[], Text),
        field("title", &[], Text),
        field("year", &[], Number),
        field("venue", &[], Text),
        field("doi", &[], Text),
        field("author", &["authors"], Text),
        field("file_type", &[], OneOf(FileType::NAMES)),
        field("category", &[], Text),
        field("topic", &["topics"], Text),
        field("difficulty", &[], Text),
        field("prerequisite", &["prerequisites"], Text),
        field("learning_outcome", &["learning_outcomes"], Text),
        field("language", &[], Language),
        field("document_summary", &[], Text),
        field("ingested_at", &["ingestion_time"], Moment),
        field("parser_version", &["parser"], Text),
        field("content_hash", &[], Text),
        field("retrieval_mode", &[], OneOf(RetrievalMode::NAMES)),
        field("stub", &["is_stub"], Flag),
        field("level", &[], OneOf(Level::NAMES)),
        field("is_summary", &[], Flag),
        field("content_type", &[], OneOf(ContentType::NAMES)),
        field("chunk_type", &[], OneOf(ChunkType::NAMES)),
        field("section_type", &[], OneOf(SectionType::NAMES)),
        field("sentence_type", &[], OneOf(SentenceType::NAMES)),
        field("proposition_type", &[], OneOf(PropositionType::NAMES)),
        field("parent", &[], Number),
        field("index_in_parent", &[], Number),
        field("page", &["pages"], Number),
        field("slide", &[], Number),
        field("time", &["timestamp"], Seconds),
        field("line", &["lines"], Span),
        field("char", &["chars"], Span),
        field("has_boxes", &[], Flag),
        field("chapter_number", &[], Text),
        field("chapter_title", &[], Text),
        field("section_number", &[], Text),
        field("section_title", &[], Text),
        field("heading", &["heading_path", "hierarchy_path"], Text),
        field("related_section", &["related_sections"], Text),
        field("summary", &[], Text),
        field("keyword", &["keywords"], Text),
        field("key_term", &["key_terms"], Text),
        field("entity", &["entities"], Text),
        field("symbol", &[], Text),
        field("equation", &["equations"], Text),
        field("has_equations", &[], Flag),
        field("figure_ref", &["figure_refs", "figure_references"], Text),
        field("has_diagrams", &[], Flag),
        field("image", &["images", "images_referenced"], Text),
        field("has_images", &[], Flag),
        field("citation_count", &[], Number),
        field("token_count", &[], Number),
        field("word_count", &[], Number),
        field("char_count", &[], Number),
        field("reading_time", &["reading_time_s"], Number),
        field("verifiable", &[], Flag),
        field("confidence", &[], Share),
    ]
};

/// What starts the name of a free field.
pub const META: &str = "meta.";

/// The names under which facets store the first and last number of a span: a chunk whose span is
/// 3..=5 has 3 under one and 5 under the other.
pub fn span_ends(field: &str) -> (String, String) {
    (format!("{field}.first"), format!("{field}.last"))
}

/// The field with this name or alias; free metadata as `meta.KEY`.
pub fn lookup(name: &str) -> Option<(String, FieldKind)> {
    if name.strip_prefix(META).is_some_and(|key| !key.is_empty()) {
        return Some((name.to_owned(), FieldKind::Free));
    }
    let named = |field: &&Field| field.name == name || field.aliases.contains(&name);
    FIELDS
        .iter()
        .find(named)
        .map(|field| (field.name.to_owned(), field.kind))
}

/// The known name that most resembles `name`, where one does.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let own = FIELDS.iter().map(|field| field.name);
    let others = FIELDS.iter().flat_map(|field| field.aliases).copied();
    let names = own.chain(others).chain([META]);
    let best = names.map(|known| (distance(name, known), known)).min()?;
    let bound = name.chars().count().max(best.1.len()).div_ceil(4);
    (best.0 <= bound).then_some(best.1)
}

/// Edits between two names: letters that are added, left out, replaced, or change places with the
/// next. Names longer than any field are not compared.
///
/// Source: Damerau, "A Technique for Computer Detection and Correction of Spelling Errors", CACM
/// 1964; no letter is edited twice.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().collect();
    let mut edits = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                edits[i][j] = i + j;
                continue;
            }
            let replaced = edits[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let other = edits[i - 1][j].min(edits[i][j - 1]) + 1;
            edits[i][j] = replaced.min(other);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                edits[i][j] = edits[i][j].min(edits[i - 2][j - 2] + 1);
            }
        }
    }
    edits[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn field_names_are_unique() {
        let mut names = BTreeSet::new();
        for field in FIELDS {
            for name in field.aliases.iter().chain([&field.name]) {
                assert!(names.insert(*name), "{name}");
            }
        }
    }

    #[test]
    fn typos_suggest_the_closest_field() {
        let cases = [
            ("pge", Some("page")),
            ("titel", Some("title")),
            ("contenttype", Some("content_type")),
            ("autor", Some("author")),
            ("readingtime", Some("reading_time")),
            ("ingested", Some("ingested_at")),
            ("quaternion", None),
            ("", None),
        ];
        for (name, want) in cases {
            assert_eq!(nearest(name), want, "{name}");
        }
    }
}
