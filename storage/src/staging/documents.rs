//! A document's rows in a writer's changes: put whole, patched, deleted.
//!
//! Always true: what is counted (documents, chunks, chunks of a content) changes with the rows; the vectors of a content
//! go with its last chunk; a chunk whose content stays keeps its suffix.
//!
//! Start reading at [`Staging::put_document`].

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::ControlFlow;

use loci_types::document::NewAsset;
use xxhash_rust::xxh3::xxh3_128;

use super::Staging;
use crate::error::StoreError;
use crate::limits::{ASSETS_LEN_MAX, ASSETS_MAX, CHUNKS_MAX, DOCUMENT_LEN_MAX, KEY_LEN_MAX};
use crate::rows::keys::{self, ChunkKey, DocumentKey};
use crate::rows::records::{ChunkRecord, DocumentRecord};
use crate::rows::tables::Table;
use crate::rows::{Rows, encode, missing, pack};
use loci_types::ids::{DocumentId, SpaceId};

/// A document's rows as they are to be stored.
#[derive(Debug, Default)]
pub struct DocumentRows {
    /// The document. Key fields and metadata are the caller's; counts are filled in.
    pub record: DocumentRecord,
    /// The file as it came.
    pub original: Vec<u8>,
    /// The text that character positions count in, where it is not the original.
    pub text: Option<String>,
    /// Chunks in pre-order; `suffix`, `subtree_end` and `content_hash` are filled in.
    pub chunks: Vec<ChunkRecord>,
    /// Vectors of the chunks in the active space, one each or none at all.
    pub vectors: Vec<Option<Vec<f32>>>,
    /// Pictures and other files within it, each name once.
    pub assets: Vec<NewAsset>,
}

impl Staging<'_> {
    /// Stores a document whole, in the place of the one with the same key if there is one.
    ///
    /// Chunks whose content an older chunk of the document had keep that chunk's suffix, in order;
    /// others get a new one. The caller has withdrawn what the older document said of the graph.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a tree that is not in pre-order, a range outside of the text, or
    /// vectors of another number or dimension; [`StoreError::Limit`].
    pub fn put_document(&mut self, mut rows: DocumentRows) -> Result<DocumentId, StoreError> {
        check_lengths(&rows)?;
        check_assets(&rows.assets)?;
        let record = &rows.record;
        let key = DocumentKey::new(&record.user[..], &record.collection[..], &record.key[..])?;
        let text_chars = char_count(&rows)?;
        set_subtree_ends(&mut rows.chunks)?;
        check_ranges(&rows.chunks, text_chars)?;
        hash_contents(&mut rows);
        self.check_vectors(&rows)?;
        self.check_chunk_limit(rows.chunks.len())?;
        // The new chunks are counted before the old ones go, so that what both have keeps its vector.
        for chunk in &rows.chunks {
            self.adjust_content_count(chunk.content_hash, 1)?;
        }
        let (id, old) = match self.rows().document_id(&key)? {
            Some(id) => (id, self.remove_rows(id)?),
            None => (self.new_document(&key)?, ReplacedRows::default()),
        };
        let next_suffix = assign_suffixes(&mut rows.chunks, &old);
        let current_suffixes: BTreeSet<u32> =
            rows.chunks.iter().map(|chunk| chunk.suffix).collect();
        for suffix in old
            .all_suffixes()
            .filter(|suffix| !current_suffixes.contains(suffix))
        {
            self.detach_items_from_chunk(id, suffix)?;
        }
        self.changes.documents_to_tombstone.insert(id);
        // Nothing of a document without chunks can be searched: no segment holds it.
        if rows.chunks.is_empty() {
            self.changes.documents_to_index.remove(&id);
        } else {
            self.changes.documents_to_index.insert(id);
        }
        rows.record.content_hash = content_hash(&rows.original);
        rows.record.chunk_count = rows.chunks.len() as u32;
        rows.record.next_suffix = next_suffix;
        rows.record.char_count = text_chars;
        rows.record.original_len = rows.original.len() as u64;
        self.put_rows(id, &rows)?;
        self.adjust_document_counts(1, rows.chunks.len() as i64);
        Ok(id)
    }

    /// Deletes a document's rows; `false` when there is none. The caller has withdrawn what it said
    /// of the graph.
    pub fn delete_document(&mut self, key: &DocumentKey) -> Result<bool, StoreError> {
        let Some(id) = self.rows().document_id(key)? else {
            return Ok(false);
        };
        let old = self.remove_rows(id)?;
        for suffix in old.all_suffixes() {
            self.detach_items_from_chunk(id, suffix)?;
        }
        self.delete_document_aliases(id)?;
        self.delete(Table::DocumentKeys, key.to_string().into_bytes());
        self.changes.documents_to_tombstone.insert(id);
        self.changes.documents_to_index.remove(&id);
        Ok(true)
    }

    /// Changes what is known of a document besides its text; `false` when there is none. What it is
    /// called and how much it holds is not `patch`'s to change. Its chunks keep keys and vectors;
    /// costs an analysis of the document's text.
    pub fn patch_document(
        &mut self,
        key: &DocumentKey,
        patch: impl FnOnce(&mut DocumentRecord),
    ) -> Result<bool, StoreError> {
        let Some(id) = self.rows().document_id(key)? else {
            return Ok(false);
        };
        let old = self.rows().document(id)?;
        let old = old.ok_or_else(|| missing(Table::Documents, &keys::document(id)))?;
        let mut patched = old.clone();
        patch(&mut patched);
        let record = DocumentRecord {
            user: old.user,
            collection: old.collection,
            key: old.key,
            content_hash: old.content_hash,
            chunk_count: old.chunk_count,
            next_suffix: old.next_suffix,
            char_count: old.char_count,
            original_len: old.original_len,
            ..patched
        };
        if record.title != old.title {
            for (place, chunk) in (0u32..).zip(self.rows().chunks(id)?) {
                self.put_chunk(id, place, &record, chunk)?;
            }
        }
        self.put(Table::Documents, keys::document(id), encode(&record)?);
        self.reindex(id, record.chunk_count);
        Ok(true)
    }

    /// Changes what is known of a chunk besides its text and its place; `false` when there is none.
    /// It keeps its key and vector; costs an analysis of the document's text.
    pub fn patch_chunk(
        &mut self,
        key: &ChunkKey,
        patch: impl FnOnce(&mut ChunkRecord),
    ) -> Result<bool, StoreError> {
        let Some((id, place)) = self.rows().find_chunk(key)? else {
            return Ok(false);
        };
        let row = keys::document_entry(id, place);
        let old = self.rows().chunk(id, place)?;
        let old = old.ok_or_else(|| missing(Table::Chunks, &row))?;
        let record = self.rows().document(id)?;
        let record = record.ok_or_else(|| missing(Table::Documents, &keys::document(id)))?;
        let mut patched = old.clone();
        patch(&mut patched);
        let chunk = ChunkRecord {
            suffix: old.suffix,
            parent: old.parent,
            subtree_end: old.subtree_end,
            text: old.text,
            location: old.location,
            content_hash: old.content_hash,
            ..patched
        };
        self.put_chunk(id, place, &record, chunk)?;
        self.reindex(id, record.chunk_count);
        Ok(true)
    }

    /// Has the group's segment hold a document again whose rows are there: for what segments say of
    /// it besides its own rows.
    pub fn reindex(&mut self, id: DocumentId, chunk_count: u32) {
        self.changes.documents_to_tombstone.insert(id);
        if chunk_count > 0 {
            self.changes.documents_to_index.insert(id);
        }
    }

    /// Stores a chunk in the place of the older one there. When what is embedded of it changed, a
    /// vector that the caller brought goes with it; one of a model is computed anew by the next fill.
    fn put_chunk(
        &mut self,
        id: DocumentId,
        place: u32,
        record: &DocumentRecord,
        mut chunk: ChunkRecord,
    ) -> Result<(), StoreError> {
        let old = chunk.content_hash;
        chunk.content_hash = content_hash(indexed_text(record, &chunk).as_bytes());
        if chunk.content_hash != old {
            let manifest = &self.changes.manifest;
            let spaces = [manifest.active_space, manifest.pending_space];
            for space in spaces.into_iter().flatten().map(SpaceId) {
                self.carry_vector(space, old, chunk.content_hash)?;
            }
            self.adjust_content_count(chunk.content_hash, 1)?;
            self.adjust_content_count(old, -1)?;
        }
        let row = keys::document_entry(id, place);
        self.put(Table::Chunks, row, encode(&chunk)?);
        Ok(())
    }

    /// Gives a content the vector that the caller brought for an older state of it, unless he brought
    /// one for it itself.
    fn carry_vector(
        &mut self,
        space: SpaceId,
        old: [u8; 16],
        new: [u8; 16],
    ) -> Result<(), StoreError> {
        let given = self.rows().space(space)?.is_some_and(|space| space.given);
        let key = keys::vector(space, new);
        if !given || self.get(Table::Vectors, &key)?.is_some() {
            return Ok(());
        }
        let vector = self.get(Table::Vectors, &keys::vector(space, old))?;
        if let Some(vector) = vector.map(|vector| vector.to_vec()) {
            self.put(Table::Vectors, key, vector);
        }
        Ok(())
    }

    fn new_document(&mut self, key: &DocumentKey) -> Result<DocumentId, StoreError> {
        let id = self.changes.manifest.next_document;
        self.changes.manifest.next_document = id + 1;
        self.put(
            Table::DocumentKeys,
            key.to_string().into_bytes(),
            id.to_le_bytes().into(),
        );
        Ok(DocumentId(id))
    }

    fn adjust_document_counts(&mut self, documents: i64, chunks: i64) {
        let manifest = &mut self.changes.manifest;
        manifest.document_count = manifest.document_count.saturating_add_signed(documents);
        manifest.chunk_count = manifest.chunk_count.saturating_add_signed(chunks);
    }

    fn put_rows(&mut self, id: DocumentId, rows: &DocumentRows) -> Result<(), StoreError> {
        self.put(Table::Documents, keys::document(id), encode(&rows.record)?);
        self.put(Table::Originals, keys::document(id), pack(&rows.original));
        if let Some(text) = &rows.text {
            self.put(Table::Texts, keys::document(id), pack(text.as_bytes()));
        }
        for asset in &rows.assets {
            self.put(
                Table::Assets,
                keys::asset(id, &asset.name),
                pack(&asset.bytes),
            );
        }
        for (place, chunk) in (0u32..).zip(&rows.chunks) {
            let row = keys::document_entry(id, place);
            self.put(Table::Chunks, row, encode(chunk)?);
            let row = keys::document_entry(id, chunk.suffix);
            self.put(Table::ChunkSuffixes, row, place.to_le_bytes().into());
        }
        self.put_vectors(rows);
        Ok(())
    }

    /// Refuses vectors that do not fit the active space, before anything is changed.
    fn check_vectors(&self, rows: &DocumentRows) -> Result<(), StoreError> {
        if rows.vectors.iter().all(Option::is_none) {
            return Ok(());
        }
        let Some(space) = self.changes.manifest.active_space else {
            return Err(StoreError::Invalid(
                "vectors were given, but the store has no vector space; create one first".into(),
            ));
        };
        let record = self.rows().space(SpaceId(space))?;
        let dim = record.map_or(0, |record| record.dim as usize);
        let wrong =
            |vector: &&Vec<f32>| vector.len() != dim || !vector.iter().all(|x| x.is_finite());
        match rows.vectors.iter().flatten().find(wrong) {
            Some(vector) => Err(StoreError::Invalid(format!(
                "a vector of {} numbers where the space has {dim}, all finite",
                vector.len()
            ))),
            None => Ok(()),
        }
    }

    fn check_chunk_limit(&self, more: usize) -> Result<(), StoreError> {
        if self.changes.manifest.chunk_count + more as u64 > CHUNKS_MAX {
            return Err(StoreError::Limit {
                what: "the number of chunks",
                limit: CHUNKS_MAX,
            });
        }
        Ok(())
    }

    fn put_vectors(&mut self, rows: &DocumentRows) {
        let Some(space) = self.changes.manifest.active_space else {
            return;
        };
        for (chunk, vector) in rows.chunks.iter().zip(&rows.vectors) {
            if let Some(vector) = vector {
                let payload = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
                let key = keys::vector(SpaceId(space), chunk.content_hash);
                self.put(Table::Vectors, key, payload);
            }
        }
    }

    /// Deletes what a document has, but for its key; chunks whose rows are damaged, too.
    fn remove_rows(&mut self, id: DocumentId) -> Result<ReplacedRows, StoreError> {
        let mut old = ReplacedRows::default();
        let record = self.rows().document(id)?;
        old.next_suffix = record.as_ref().map_or(0, |record| record.next_suffix);
        let chunks: Vec<Option<ChunkRecord>> = match self.rows().chunks(id) {
            Ok(chunks) => chunks.into_iter().map(Some).collect(),
            Err(error) if error.is_row_damage() => {
                let count = record.map_or(0, |record| record.chunk_count);
                let readable_chunk = |place| match self.rows().chunk(id, place) {
                    Err(error) if error.is_row_damage() => Ok(None),
                    chunk => chunk,
                };
                (0..count).map(readable_chunk).collect::<Result<_, _>>()?
            }
            Err(error) => return Err(error),
        };
        let chunk_count = chunks.len() as i64;
        for (place, chunk) in (0u32..).zip(chunks) {
            self.delete(Table::Chunks, keys::document_entry(id, place));
            let Some(chunk) = chunk else {
                old.damaged_suffixes.extend(self.suffix_of(id, place)?);
                continue;
            };
            old.suffixes
                .entry(chunk.content_hash)
                .or_default()
                .push_back(chunk.suffix);
            self.delete(Table::ChunkSuffixes, keys::document_entry(id, chunk.suffix));
            self.adjust_content_count(chunk.content_hash, -1)?;
        }
        for &suffix in &old.damaged_suffixes {
            self.delete(Table::ChunkSuffixes, keys::document_entry(id, suffix));
        }
        for table in [Table::Documents, Table::Originals, Table::Texts] {
            self.delete(table, keys::document(id));
        }
        let mut assets = Vec::new();
        self.rows()
            .scan_document(Table::Assets, id, &mut |key, _| {
                assets.push(key.to_vec());
                Ok(ControlFlow::Continue(()))
            })?;
        for key in assets {
            self.delete(Table::Assets, key);
        }
        self.adjust_document_counts(-1, -chunk_count);
        Ok(old)
    }

    /// The suffix that leads to a place of a document. Costs a look at all of them.
    fn suffix_of(&self, id: DocumentId, place: u32) -> Result<Option<u32>, StoreError> {
        let mut found = None;
        let rows = self.rows();
        rows.scan_document(Table::ChunkSuffixes, id, &mut |key, payload| {
            if payload == place.to_le_bytes() {
                found = keys::u32_at(key, 8);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(found)
    }

    /// Counts the chunks that have a content; its vectors go with the last one.
    fn adjust_content_count(&mut self, hash: [u8; 16], change: i64) -> Result<(), StoreError> {
        let count = match self.get(Table::Contents, &hash)? {
            Some(value) => value
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes)),
            None => 0,
        };
        let count = count.saturating_add_signed(change);
        if count > 0 {
            self.put(Table::Contents, hash.into(), count.to_le_bytes().into());
            return Ok(());
        }
        self.delete(Table::Contents, hash.into());
        let manifest = &self.changes.manifest;
        for space in [manifest.active_space, manifest.pending_space]
            .into_iter()
            .flatten()
        {
            self.delete(Table::Vectors, keys::vector(SpaceId(space), hash));
        }
        Ok(())
    }
}

/// What an older state of a document leaves to the newer one.
#[derive(Default)]
struct ReplacedRows {
    next_suffix: u32,
    suffixes: HashMap<[u8; 16], VecDeque<u32>>,
    /// Those of chunks whose rows are damaged.
    damaged_suffixes: Vec<u32>,
}

impl ReplacedRows {
    fn all_suffixes(&self) -> impl Iterator<Item = u32> {
        self.suffixes
            .values()
            .flatten()
            .chain(&self.damaged_suffixes)
            .copied()
    }
}

/// Gives every chunk its suffix; returns the next free one.
fn assign_suffixes(chunks: &mut [ChunkRecord], old: &ReplacedRows) -> u32 {
    let mut free = old.suffixes.clone();
    let mut next = old.next_suffix;
    for chunk in chunks {
        let reused_suffix = free
            .get_mut(&chunk.content_hash)
            .and_then(VecDeque::pop_front);
        chunk.suffix = reused_suffix.unwrap_or_else(|| {
            next += 1;
            next - 1
        });
    }
    next
}

fn check_assets(assets: &[NewAsset]) -> Result<(), StoreError> {
    let limit = |what, limit| Err(StoreError::Limit { what, limit });
    if assets.len() > ASSETS_MAX {
        return limit("the assets of a document", ASSETS_MAX as u64);
    }
    let mut names = BTreeSet::new();
    let mut len = 0u64;
    for asset in assets {
        len += asset.bytes.len() as u64;
        if len > ASSETS_LEN_MAX {
            return limit("the bytes of a document's assets", ASSETS_LEN_MAX);
        }
        if asset.name.len() > KEY_LEN_MAX {
            return limit("the bytes of an asset's name", KEY_LEN_MAX as u64);
        }
        if asset.name.is_empty() || !names.insert(&asset.name) {
            let name = &asset.name;
            return Err(StoreError::Invalid(format!(
                "two assets are called {name:?}, or one has no name"
            )));
        }
    }
    Ok(())
}

fn check_lengths(rows: &DocumentRows) -> Result<(), StoreError> {
    let text = rows.text.as_ref().map_or(0, String::len);
    if rows.original.len().max(text) as u64 > DOCUMENT_LEN_MAX {
        return Err(StoreError::Limit {
            what: "a document",
            limit: DOCUMENT_LEN_MAX,
        });
    }
    if !rows.vectors.is_empty() && rows.vectors.len() != rows.chunks.len() {
        return Err(StoreError::Invalid(format!(
            "{} vectors for {} chunks; give one each or none at all",
            rows.vectors.len(),
            rows.chunks.len()
        )));
    }
    Ok(())
}

fn char_count(rows: &DocumentRows) -> Result<u64, StoreError> {
    if let Some(text) = &rows.text {
        return Ok(text.chars().count() as u64);
    }
    let text = std::str::from_utf8(&rows.original).map_err(|_| {
        StoreError::Invalid("the original is not UTF-8, so its text must be given".into())
    })?;
    Ok(text.chars().count() as u64)
}

/// Fills in `subtree_end` from the parents, which must be those of a pre-order.
fn set_subtree_ends(chunks: &mut [ChunkRecord]) -> Result<(), StoreError> {
    let mut open: Vec<u32> = Vec::new();
    for place in 0..chunks.len() as u32 {
        let parent = chunks[place as usize].parent;
        while open.last().copied() != parent {
            let Some(closed) = open.pop() else {
                return Err(StoreError::Invalid(format!(
                    "chunk {place}: its parent {parent:?} is not above it in pre-order"
                )));
            };
            chunks[closed as usize].subtree_end = place;
        }
        open.push(place);
    }
    let end = chunks.len() as u32;
    for closed in open {
        chunks[closed as usize].subtree_end = end;
    }
    Ok(())
}

fn check_ranges(chunks: &[ChunkRecord], char_count: u64) -> Result<(), StoreError> {
    for (place, chunk) in chunks.iter().enumerate() {
        let (start, end) = chunk.location.chars;
        if start > end || end > char_count {
            return Err(StoreError::Invalid(format!(
                "chunk {place}: characters {start}..{end} of a text of {char_count}"
            )));
        }
    }
    Ok(())
}

fn hash_contents(rows: &mut DocumentRows) {
    for chunk in &mut rows.chunks {
        let text = indexed_text(&rows.record, chunk);
        chunk.content_hash = content_hash(text.as_bytes());
    }
}

/// The hash by which changed bytes of a document or chunk are detected: xxh3-128, big-endian.
pub fn content_hash(bytes: &[u8]) -> [u8; 16] {
    xxh3_128(bytes).to_be_bytes()
}

/// What is indexed and embedded of a chunk: the document's title, the headings above it, its text.
pub fn indexed_text(document: &DocumentRecord, chunk: &ChunkRecord) -> String {
    let headings = chunk.heading_path.iter().map(String::as_str);
    let lines: Vec<&str> = indexed_title(document, chunk)
        .into_iter()
        .chain(headings)
        .chain([&chunk.text[..]])
        .collect();
    lines.join("\n")
}

/// The document's title, unless the headings above the chunk begin with it.
pub fn indexed_title<'a>(document: &'a DocumentRecord, chunk: &ChunkRecord) -> Option<&'a str> {
    let title = document.title.as_deref();
    title.filter(|title| {
        chunk
            .heading_path
            .first()
            .is_none_or(|first| first != title)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(parent: Option<u32>, text: &str) -> ChunkRecord {
        ChunkRecord {
            parent,
            text: text.into(),
            ..ChunkRecord::default()
        }
    }

    #[test]
    fn subtrees_end_where_the_next_sibling_of_an_ancestor_starts() {
        let parents = [None, Some(0), Some(1), Some(0), None, Some(4)];
        let mut chunks: Vec<_> = parents.iter().map(|&parent| chunk(parent, "")).collect();
        set_subtree_ends(&mut chunks).unwrap();
        let ends: Vec<u32> = chunks.iter().map(|chunk| chunk.subtree_end).collect();
        assert_eq!(ends, [4, 3, 3, 4, 6, 6]);
    }

    #[test]
    fn chunk_trees_out_of_preorder_are_rejected() {
        for parents in [
            vec![Some(0)],
            vec![None, Some(2), None],
            vec![None, None, Some(0)],
        ] {
            let mut chunks: Vec<_> = parents.iter().map(|&parent| chunk(parent, "")).collect();
            assert!(set_subtree_ends(&mut chunks).is_err(), "{parents:?}");
        }
    }

    #[test]
    fn unchanged_chunks_keep_their_suffix() {
        let mut old = ReplacedRows {
            next_suffix: 3,
            ..ReplacedRows::default()
        };
        for (suffix, hash) in [(0, [7; 16]), (1, [8; 16]), (2, [7; 16])] {
            old.suffixes.entry(hash).or_default().push_back(suffix);
        }
        let mut chunks = vec![chunk(None, ""); 4];
        for (chunk, hash) in chunks.iter_mut().zip([[9; 16], [7; 16], [7; 16], [7; 16]]) {
            chunk.content_hash = hash;
        }
        assert_eq!(assign_suffixes(&mut chunks, &old), 5);
        let suffixes: Vec<u32> = chunks.iter().map(|chunk| chunk.suffix).collect();
        assert_eq!(suffixes, [3, 0, 2, 4]);
    }
}
