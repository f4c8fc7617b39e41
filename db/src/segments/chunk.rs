//! What of a chunk is indexed, and in which layer.

use loci_index::analysis::Language;
use loci_index::text::Field;
use loci_storage::records::{ChunkRecord, ContentType, DocumentRecord, EmbedLevels};
use loci_storage::segment::Layer;
use loci_storage::staging::indexed_title;

/// The layer that a chunk is found in.
pub(crate) fn chunk_layer(place: u32, chunk: &ChunkRecord) -> Layer {
    if chunk.subtree_end == place + 1 {
        Layer::Leaves
    } else {
        Layer::Inner
    }
}

/// Whether a chunk of this layer gets a vector.
pub(crate) fn is_embedded(embed: EmbedLevels, layer: Layer) -> bool {
    match embed {
        EmbedLevels::All => true,
        EmbedLevels::Children => layer == Layer::Leaves,
        EmbedLevels::None => false,
    }
}

/// The language by whose rules the words of a document are stemmed.
pub(crate) fn stemming_language(record: &DocumentRecord) -> Language {
    Language::from_declared(record.language.as_deref())
}

/// What is indexed of a chunk, field by field: together the terms of
/// [`indexed_text`](loci_storage::staging::indexed_text), and its key terms.
pub(crate) fn indexed_fields<'a>(
    record: &'a DocumentRecord,
    chunk: &'a ChunkRecord,
) -> impl Iterator<Item = (Field, &'a str)> {
    let title = indexed_title(record, chunk).map(|title| (Field::Title, title));
    // The title, where the headings begin with it.
    let is_title = title.is_none() && record.title.is_some();
    let headings = chunk.heading_path.iter().enumerate();
    let headings = headings.map(move |(at, heading)| match at {
        0 if is_title => (Field::Title, heading.as_str()),
        _ => (Field::Headings, heading.as_str()),
    });
    let field = match chunk.content_type {
        ContentType::Code => Field::Code,
        _ => Field::Body,
    };
    let keys = chunk.key_terms.iter();
    let keys = keys.map(|key| (Field::KeyTerms, key.as_str()));
    title
        .into_iter()
        .chain(headings)
        .chain([(field, &chunk.text[..])])
        .chain(keys)
}
