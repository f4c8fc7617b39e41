//! Which metadata of a chunk can be filtered on, and under which name.

use loci_index::facets::{FacetBuilder, FacetValue};
use loci_storage::records::{ChunkRecord, DocumentRecord};
use loci_storage::{DocumentKey, Local};

/// Pages of one chunk that a filter sees at most.
const PAGES_MAX: u32 = 1000;

/// Lines of one chunk that a filter sees at most.
const LINES_MAX: u32 = 10_000;

/// Puts every field of a chunk and its document that has a value.
pub(crate) fn push_facets(
    facets: &mut FacetBuilder,
    local: Local,
    document: &DocumentRecord,
    chunk: &ChunkRecord,
) {
    let mut text = |field: &str, value: &str| {
        if !value.is_empty() {
            facets.push(local, field, FacetValue::Text(value.into()));
        }
    };
    push_document(&mut text, document);
    push_chunk(&mut text, chunk);
    let mut integer =
        |field: &str, value: i64| facets.push(local, field, FacetValue::Integer(value));
    for (key, value) in document.metadata.iter().chain(&chunk.metadata) {
        if let Ok(value) = value.trim().parse() {
            integer(&format!("meta.{key}"), value);
        }
    }
    integer("word_count", i64::from(chunk.word_count));
    integer(
        "confidence",
        (f64::from(chunk.confidence) * 1000.0).round() as i64,
    );
    integer("citation_count", i64::from(chunk.citation_count));
    integer("token_count", i64::from(chunk.token_count));
    if let Some(year) = document.year {
        integer("year", i64::from(year));
    }
    if let Some(slide) = chunk.location.slide {
        integer("slide", i64::from(slide));
    }
    if let Some((first, last)) = chunk.location.pages {
        let last = last.min(first.saturating_add(PAGES_MAX));
        (first..=last).for_each(|page| integer("page", i64::from(page)));
    }
    if let Some((first, last)) = chunk.location.lines {
        let last = last.min(first.saturating_add(LINES_MAX));
        (first..=last).for_each(|line| integer("line", i64::from(line)));
    }
}

fn push_document(text: &mut impl FnMut(&str, &str), document: &DocumentRecord) {
    let key = DocumentKey {
        user: document.user.clone(),
        collection: document.collection.clone(),
        key: document.key.clone(),
    };
    text("document", &key.to_string());
    if key.to_string() != key.key {
        text("document", &key.key);
    }
    text("user_id", &document.user);
    text("collection", &document.collection);
    text("file_type", document.file_type.name());
    let optional = [
        ("filename", &document.filename),
        ("address", &document.address),
        ("title", &document.title),
        ("venue", &document.venue),
        ("doi", &document.doi),
        ("category", &document.category),
        ("difficulty", &document.difficulty),
        ("language", &document.language),
    ];
    for (field, value) in optional {
        text(field, value.as_deref().unwrap_or_default());
    }
    document
        .authors
        .iter()
        .for_each(|author| text("author", author));
    document
        .prerequisites
        .iter()
        .for_each(|known| text("prerequisite", known));
    document
        .learning_outcomes
        .iter()
        .for_each(|learnt| text("learning_outcome", learnt));
    document
        .topics
        .iter()
        .for_each(|topic| text("topic", topic));
    document
        .metadata
        .iter()
        .for_each(|(key, value)| text(&format!("meta.{key}"), value));
}

fn push_chunk(text: &mut impl FnMut(&str, &str), chunk: &ChunkRecord) {
    text("level", chunk.level.name());
    text("content_type", chunk.content_type.name());
    text("chunk_type", chunk.chunk_type.name());
    text("has_equations", yes_or_no(!chunk.equations.is_empty()));
    text("has_diagrams", yes_or_no(chunk.has_diagrams));
    let optional = [
        ("chapter_number", &chunk.chapter_number),
        ("chapter_title", &chunk.chapter_title),
        ("section_number", &chunk.section_number),
        ("section_title", &chunk.section_title),
        ("symbol", &chunk.symbol),
    ];
    for (field, value) in optional {
        text(field, value.as_deref().unwrap_or_default());
    }
    chunk
        .keywords
        .iter()
        .for_each(|keyword| text("keyword", keyword));
    chunk
        .key_terms
        .iter()
        .for_each(|term| text("key_term", term));
    chunk
        .metadata
        .iter()
        .for_each(|(key, value)| text(&format!("meta.{key}"), value));
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}
