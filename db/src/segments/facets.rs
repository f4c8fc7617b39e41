//! Which metadata of a chunk can be filtered on, and under which name.
//!
//! The names are those of [`FIELDS`](loci_query::filter::FIELDS); a field without a value has no
//! facet, so no comparison with it holds.

use loci_index::facets::{FacetBuilder, FacetValue};
use loci_query::filter::{META, span_ends};
use loci_storage::records::{ChunkRecord, DocumentRecord, Level};
use loci_storage::{DocumentKey, LocalOrdinal};

/// Pages of one chunk that a filter sees at most.
const PAGES_MAX: u32 = 1000;

/// A chunk's position among the children of its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiblingPosition {
    /// The number in the parent's key.
    pub(crate) parent: Option<u32>,
    /// How many children of the parent are before it.
    pub(crate) index: u32,
}

/// The positions of a document's chunks, which are in pre-order. Chunks without a parent count
/// among themselves.
pub(crate) fn sibling_positions(chunks: &[ChunkRecord]) -> Vec<SiblingPosition> {
    let mut children = vec![0u32; chunks.len()];
    let mut roots = 0;
    let place = |chunk: &ChunkRecord| {
        let at = chunk.parent.map(|parent| parent as usize);
        let counter = at.and_then(|at| children.get_mut(at)).unwrap_or(&mut roots);
        *counter += 1;
        SiblingPosition {
            parent: at.and_then(|at| chunks.get(at)).map(|above| above.suffix),
            index: *counter - 1,
        }
    };
    chunks.iter().map(place).collect()
}

/// Puts every field of a chunk and its document that has a value.
pub(crate) fn push_facets(
    facets: &mut FacetBuilder,
    local: LocalOrdinal,
    document: &DocumentRecord,
    chunk: &ChunkRecord,
    position: SiblingPosition,
) {
    let mut values = FacetWriter { facets, local };
    values.document(document);
    values.types(chunk);
    values.location(chunk, position);
    values.contents(chunk);
}

/// Takes the values of one chunk.
struct FacetWriter<'f> {
    facets: &'f mut FacetBuilder,
    local: LocalOrdinal,
}

impl FacetWriter<'_> {
    fn document(&mut self, document: &DocumentRecord) {
        let key = DocumentKey {
            user: document.user.clone(),
            collection: document.collection.clone(),
            key: document.key.clone(),
        };
        self.text("document", &key.to_string());
        if key.to_string() != key.key {
            self.text("document", &key.key);
        }
        self.text("user_id", &document.user);
        self.text("collection", &document.collection);
        self.text("file_type", document.file_type.name());
        self.text("retrieval_mode", document.retrieval_mode.name());
        self.text("parser_version", &document.parser);
        let hash = u128::from_be_bytes(document.content_hash);
        self.text("content_hash", &format!("{hash:032x}"));
        let optional = [
            ("filename", &document.filename),
            ("address", &document.address),
            ("title", &document.title),
            ("venue", &document.venue),
            ("doi", &document.doi),
            ("category", &document.category),
            ("difficulty", &document.difficulty),
            ("language", &document.language),
            ("document_summary", &document.summary),
        ];
        self.optional(&optional);
        self.texts("author", &document.authors);
        self.texts("prerequisite", &document.prerequisites);
        self.texts("learning_outcome", &document.learning_outcomes);
        self.texts("topic", &document.topics);
        self.flag("stub", document.stub);
        if let Some(year) = document.year {
            self.number("year", i64::from(year));
        }
        if let Ok(moment) = i64::try_from(document.ingested_at_ms) {
            self.number("ingested_at", moment);
        }
        self.free_metadata(&document.metadata);
    }

    fn types(&mut self, chunk: &ChunkRecord) {
        self.text("level", chunk.level.name());
        self.flag("is_summary", chunk.level == Level::Summary);
        self.text("content_type", chunk.content_type.name());
        self.text("chunk_type", chunk.chunk_type.name());
        if let Some(kind) = chunk.section_type {
            self.text("section_type", kind.name());
        }
        if let Some(kind) = chunk.sentence_type {
            self.text("sentence_type", kind.name());
        }
        if let Some(kind) = chunk.proposition_type {
            self.text("proposition_type", kind.name());
        }
        if let Some(verifiable) = chunk.verifiable {
            self.flag("verifiable", verifiable);
        }
    }

    fn location(&mut self, chunk: &ChunkRecord, place: SiblingPosition) {
        let location = &chunk.location;
        if let Some(parent) = place.parent {
            self.number("parent", i64::from(parent));
        }
        self.number("index_in_parent", i64::from(place.index));
        if let Some((first, last)) = location.pages {
            let last = last.min(first.saturating_add(PAGES_MAX));
            (first..=last).for_each(|page| self.number("page", i64::from(page)));
        }
        if let Some(slide) = location.slide {
            self.number("slide", i64::from(slide));
        }
        if let Some((first, last)) = location.lines {
            self.span("line", u64::from(first), u64::from(last));
        }
        let (start, end) = location.chars;
        if start < end {
            self.span("char", start, end - 1);
        }
        if let Some((start, end)) = location.time_ms {
            self.span("time", start, end.saturating_sub(1).max(start));
        }
        self.flag("has_boxes", !location.boxes.is_empty());
    }

    fn contents(&mut self, chunk: &ChunkRecord) {
        let optional = [
            ("chapter_number", &chunk.chapter_number),
            ("chapter_title", &chunk.chapter_title),
            ("section_number", &chunk.section_number),
            ("section_title", &chunk.section_title),
            ("symbol", &chunk.symbol),
            ("summary", &chunk.summary),
        ];
        self.optional(&optional);
        self.texts("heading", &chunk.heading_path);
        self.texts("related_section", &chunk.related_sections);
        self.texts("topic", &chunk.topics);
        self.texts("keyword", &chunk.keywords);
        self.texts("key_term", &chunk.key_terms);
        self.texts("entity", &chunk.entities);
        self.texts("equation", &chunk.equations);
        self.texts("figure_ref", &chunk.figure_refs);
        self.texts("image", &chunk.images);
        self.flag("has_equations", !chunk.equations.is_empty());
        self.flag("has_images", !chunk.images.is_empty());
        self.flag("has_diagrams", chunk.has_diagrams);
        self.number("citation_count", i64::from(chunk.citation_count));
        self.number("token_count", i64::from(chunk.token_count));
        self.number("word_count", i64::from(chunk.word_count));
        self.number("char_count", chunk.text.chars().count() as i64);
        if let Some(seconds) = chunk.reading_time_s {
            self.number("reading_time", i64::from(seconds));
        }
        let thousandths = (f64::from(chunk.confidence) * 1000.0).round() as i64;
        self.number("confidence", thousandths);
        self.free_metadata(&chunk.metadata);
    }

    fn text(&mut self, field: &str, value: &str) {
        if !value.is_empty() {
            let value = FacetValue::Text(value.into());
            self.facets.push(self.local, field, value);
        }
    }

    fn texts(&mut self, field: &str, values: &[String]) {
        values.iter().for_each(|value| self.text(field, value));
    }

    fn optional(&mut self, fields: &[(&str, &Option<String>)]) {
        for (field, value) in fields {
            self.text(field, value.as_deref().unwrap_or_default());
        }
    }

    fn flag(&mut self, field: &str, value: bool) {
        self.text(field, if value { "true" } else { "false" });
    }

    fn number(&mut self, field: &str, value: i64) {
        let value = FacetValue::Integer(value);
        self.facets.push(self.local, field, value);
    }

    fn span(&mut self, field: &str, first: u64, last: u64) {
        if let (Ok(first), Ok(last)) = (first.try_into(), last.try_into()) {
            let (begins, ends) = span_ends(field);
            self.number(&begins, first);
            self.number(&ends, last);
        }
    }

    /// Free metadata: text, and a number too where it is written as one.
    fn free_metadata(&mut self, metadata: &[(String, String)]) {
        for (key, value) in metadata {
            let field = format!("{META}{key}");
            self.text(&field, value);
            if let Ok(number) = value.trim().parse() {
                self.number(&field, number);
            }
        }
    }
}
