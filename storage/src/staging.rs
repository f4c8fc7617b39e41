//! One writer's changes, on a map of their own over the open redb transaction.
//!
//! Reads see the writer's own changes first, then those of the writers before it in the same
//! group, then what is committed. Dropping a staging undoes it: redb refuses a savepoint once a
//! table was opened, hence the map.
//!
//! Start reading at [`Staging::put_document`].

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::ControlFlow;

use xxhash_rust::xxh3::xxh3_128;

use crate::build::SegmentDraft;
use crate::error::StoreError;
use crate::ids::{ConceptId, DocumentId, SegmentId, SpaceId, WorkId};
use crate::keys::{self, ChunkKey, DocumentKey, Key};
use crate::limits::{
    ASSETS_LEN_MAX, ASSETS_MAX, CHUNKS_MAX, DOCUMENT_LEN_MAX, KEY_LEN_MAX, SWEEP_ROWS_MAX,
};
use crate::parts::NewPart;
use crate::records::{ChunkRecord, DocumentRecord, ManifestRecord, SpaceRecord};
use crate::rows::{Rows, Value, Visit, encode, missing, pack};
use crate::snapshot::OpenSegment;
use crate::staged::{Over, StagedRows};
use crate::tables::Table;

/// What one writer changes.
pub struct Staging<'g> {
    base: &'g dyn Rows,
    segments: &'g [OpenSegment],
    /// Whether no other writer shares the commit.
    alone: bool,
    pub(crate) changes: Changes,
}

/// The changes of one writer, or of a group.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) rows: StagedRows,
    pub(crate) bytes: usize,
    pub(crate) manifest: ManifestRecord,
    /// Documents that the group's segment must hold.
    pub(crate) born: BTreeSet<DocumentId>,
    /// Documents whose chunks in older segments are dead.
    pub(crate) gone: BTreeSet<DocumentId>,
    pub(crate) edits: Vec<Edit>,
}

/// A change of what is listed in the manifest that no document asks for.
pub enum Edit {
    /// `draft` takes the place of `old`. Documents that died meanwhile are dead in it too. Nothing
    /// happens when none of `old` is listed any more, or when the store has switched spaces since.
    Merge {
        /// Segments that are merged.
        old: Vec<SegmentId>,
        /// The segment made of them; `None` when nothing in them is alive.
        draft: Option<SegmentDraft>,
        /// The active space when it was made.
        space: Option<u32>,
    },
    /// What could not be opened is given up, and it is noted that it is to be built again.
    SetAside {
        /// Segments.
        segments: Vec<SegmentId>,
        /// Segments of which the vectors alone are given up.
        vectors: Vec<SegmentId>,
    },
    /// A segment of documents that are in none. What is in one by now, or gone, is dead in it.
    Rebuilt(SegmentDraft),
    /// Nothing is to be built again any more.
    Whole,
    /// The active space cannot be used: there is none from now on.
    Deactivate,
    /// What was computed over the whole store cannot be used.
    DropAnalysis,
    /// A space, without vectors yet, is the active one from now on.
    Activate {
        /// The space.
        space: SpaceId,
        /// What is known of it.
        record: Box<SpaceRecord>,
    },
    /// A space is being built, in the place of the one that was: searches do not use it yet.
    Prepare {
        /// The space; its `projection` is filled in.
        space: SpaceId,
        /// What is known of it.
        record: Box<SpaceRecord>,
        /// The projection of text into it.
        projection: Option<NewPart>,
    },
    /// The vectors of these segments in the space that is active or being built. Nothing happens
    /// to segments that are no longer listed, or when the space is neither.
    Vectors {
        /// The space.
        space: SpaceId,
        /// A segment's vectors each.
        parts: Vec<(SegmentId, NewPart)>,
    },
    /// The space that is being built is the active one from now on, and the one that was is given
    /// up with its vectors.
    Switch,
    /// The space that is being built is given up.
    Abandon,
    /// What was computed over the whole store.
    Analysis(NewPart),
    /// The ids, counts and spaces of another store whose rows were put here, and what its spaces embed text by.
    Adopt {
        /// The numbers; segments and parts stay this store's own.
        manifest: Box<ManifestRecord>,
        /// A space's projection each.
        projections: Vec<(SpaceId, NewPart)>,
    },
}

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

/// A picture or other file within a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewAsset {
    /// What the document calls it.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
}

impl<'g> Staging<'g> {
    pub(crate) fn new(
        base: &'g dyn Rows,
        segments: &'g [OpenSegment],
        manifest: ManifestRecord,
        alone: bool,
    ) -> Staging<'g> {
        Staging {
            base,
            segments,
            alone,
            changes: Changes {
                manifest,
                ..Changes::default()
            },
        }
    }

    /// The manifest as this writer would leave it.
    pub fn manifest(&self) -> &ManifestRecord {
        &self.changes.manifest
    }

    /// Segments that were committed before this group.
    pub fn segments(&self) -> &[OpenSegment] {
        self.segments
    }

    /// What a writer must not leave: edits in a commit that others share, whose tombstones they would
    /// not see.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.alone || self.changes.edits.is_empty() {
            true => Ok(()),
            false => Err(only_alone()),
        }
    }

    /// Asks for a change of what the manifest lists. Only in a commit of its own
    /// ([`crate::Store::edit`]); in others the whole write is refused.
    pub fn edit(&mut self, edit: Edit) {
        self.changes.edits.push(edit);
    }

    /// Puts a row.
    pub fn put(&mut self, table: Table, key: Key, payload: Vec<u8>) {
        self.changes.bytes += key.len() + payload.len();
        self.changes.rows.set(table, key, Some(payload));
    }

    /// Deletes a row, whether it is there or not.
    pub fn delete(&mut self, table: Table, key: Key) {
        self.changes.rows.set(table, key, None);
    }

    /// Sets or, with `None`, forgets a setting.
    pub fn set(&mut self, name: &str, json: Option<String>) {
        match json {
            Some(json) => self.put(Table::Settings, name.into(), json.into_bytes()),
            None => self.delete(Table::Settings, name.into()),
        }
    }

    /// The id of a concept, given out now when the name is new. `normalised` is not empty.
    pub fn concept_id(&mut self, normalised: &str) -> Result<ConceptId, StoreError> {
        if let Some(id) = self.rows().concept_id(normalised)? {
            return Ok(id);
        }
        let id = self.changes.manifest.next_concept;
        self.changes.manifest.next_concept = id.checked_add(1).ok_or(StoreError::Limit {
            what: "concepts",
            limit: id.into(),
        })?;
        self.put(
            Table::ConceptNames,
            normalised.into(),
            id.to_le_bytes().into(),
        );
        Ok(ConceptId(id))
    }

    /// A new id for a cited work.
    pub fn new_work(&mut self) -> Result<WorkId, StoreError> {
        let id = self.changes.manifest.next_work;
        self.changes.manifest.next_work = id.checked_add(1).ok_or(StoreError::Limit {
            what: "cited works",
            limit: id.into(),
        })?;
        Ok(WorkId(id))
    }

    /// A new id for a vector space.
    pub fn new_space(&mut self) -> SpaceId {
        let id = self.changes.manifest.next_space;
        self.changes.manifest.next_space += 1;
        SpaceId(id)
    }

    /// Counts concepts and relations that became visible or invisible.
    pub fn count_graph(&mut self, concepts: i64, relations: i64) {
        let manifest = &mut self.changes.manifest;
        manifest.concept_count = manifest.concept_count.saturating_add_signed(concepts);
        manifest.relation_count = manifest.relation_count.saturating_add_signed(relations);
    }

    fn over(&self) -> Over<'_> {
        Over {
            staged: &self.changes.rows,
            base: self.base,
        }
    }

    /// Reads, this writer's changes first.
    pub fn rows(&self) -> &dyn Rows {
        self
    }

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
        self.check_count(rows.chunks.len())?;
        // The new chunks are counted before the old ones go, so that what both have keeps its vector.
        for chunk in &rows.chunks {
            self.count_content(chunk.content_hash, 1)?;
        }
        let (id, old) = match self.rows().document_id(&key)? {
            Some(id) => (id, self.remove_rows(id)?),
            None => (self.new_document(&key)?, Old::default()),
        };
        let next_suffix = align(&mut rows.chunks, &old);
        let kept: BTreeSet<u32> = rows.chunks.iter().map(|chunk| chunk.suffix).collect();
        for suffix in old.all_suffixes().filter(|suffix| !kept.contains(suffix)) {
            self.orphan_items(id, suffix)?;
        }
        self.changes.gone.insert(id);
        // Nothing of a document without chunks can be searched: no segment holds it.
        if rows.chunks.is_empty() {
            self.changes.born.remove(&id);
        } else {
            self.changes.born.insert(id);
        }
        rows.record.content_hash = content_hash(&rows.original);
        rows.record.chunk_count = rows.chunks.len() as u32;
        rows.record.next_suffix = next_suffix;
        rows.record.char_count = text_chars;
        rows.record.original_len = rows.original.len() as u64;
        self.put_rows(id, &rows)?;
        self.count_documents(1, rows.chunks.len() as i64);
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
            self.orphan_items(id, suffix)?;
        }
        self.delete_moves(id)?;
        self.delete(Table::DocumentKeys, key.to_string().into_bytes());
        self.changes.gone.insert(id);
        self.changes.born.remove(&id);
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
        self.index_again(id, record.chunk_count);
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
        let row = keys::in_document(id, place);
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
        self.index_again(id, record.chunk_count);
        Ok(true)
    }

    /// Has the group's segment hold a document again whose rows are there: for what segments say of
    /// it besides its own rows.
    pub fn index_again(&mut self, id: DocumentId, chunk_count: u32) {
        self.changes.gone.insert(id);
        if chunk_count > 0 {
            self.changes.born.insert(id);
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
            self.count_content(chunk.content_hash, 1)?;
            self.count_content(old, -1)?;
        }
        let row = keys::in_document(id, place);
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

    /// Deletes some of the vectors of spaces that were given up; `false` when none is left.
    pub fn sweep(&mut self) -> Result<bool, StoreError> {
        let Some(&space) = self.changes.manifest.dropped_spaces.first() else {
            return Ok(false);
        };
        let from = space.to_be_bytes();
        let to = keys::after_prefix(&from);
        let mut found: Vec<Key> = Vec::new();
        self.scan(Table::Vectors, &from, to.as_deref(), &mut |key, _| {
            found.push(key.to_vec());
            Ok(match found.len() < SWEEP_ROWS_MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        if found.len() < SWEEP_ROWS_MAX {
            self.changes.manifest.dropped_spaces.remove(0);
        }
        for key in found {
            self.delete(Table::Vectors, key);
        }
        Ok(true)
    }

    /// Deletes concepts that no document, no item and no edit by hand names any more, with their names; they get new numbers
    /// when they come again. `after`: where to go on. Returns where to go on next, `None` at the end.
    ///
    /// Nothing happens while a segment holds dead chunks, which may mention them; so it must be
    /// called from [`crate::Store::edit`].
    pub fn sweep_concepts(&mut self, after: &[u8]) -> Result<Option<Key>, StoreError> {
        if !self.alone {
            return Err(only_alone());
        }
        if self.segments.iter().any(|segment| !segment.dead.is_empty()) {
            return Ok(None);
        }
        let (mut seen, mut next) = (Vec::new(), None);
        self.scan(Table::ConceptNames, after, None, &mut |key, id| {
            if seen.len() == SWEEP_ROWS_MAX {
                next = Some(key.to_vec());
                return Ok(ControlFlow::Break(()));
            }
            let id = id
                .first_chunk()
                .map(|id| ConceptId(u32::from_le_bytes(*id)));
            seen.extend(id.map(|id| (key.to_vec(), id)));
            Ok(ControlFlow::Continue(()))
        })?;
        let mut edited = BTreeSet::new();
        for (_, edit) in self.rows().concept_edits()? {
            edited.extend([ConceptId(edit.from), ConceptId(edit.to)]);
        }
        for (name, id) in seen {
            let is_named = [Table::ConceptDocuments, Table::ConceptItems]
                .map(|table| self.has_rows(table, &keys::concept(id)));
            let [by_documents, by_items] = is_named;
            if !edited.contains(&id) && !by_documents? && !by_items? {
                self.delete(Table::ConceptNames, name);
                self.delete(Table::Concepts, keys::concept(id));
            }
        }
        Ok(next)
    }

    /// Whether a table has a row whose key starts with `prefix`.
    fn has_rows(&self, table: Table, prefix: &[u8]) -> Result<bool, StoreError> {
        let mut found = false;
        let after = keys::after_prefix(prefix);
        self.scan(table, prefix, after.as_deref(), &mut |_, _| {
            found = true;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(found)
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

    fn count_documents(&mut self, documents: i64, chunks: i64) {
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
            let row = keys::in_document(id, place);
            self.put(Table::Chunks, row, encode(chunk)?);
            let row = keys::in_document(id, chunk.suffix);
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

    fn check_count(&self, more: usize) -> Result<(), StoreError> {
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
    fn remove_rows(&mut self, id: DocumentId) -> Result<Old, StoreError> {
        let mut old = Old::default();
        let record = self.rows().document(id)?;
        old.next_suffix = record.as_ref().map_or(0, |record| record.next_suffix);
        let chunks: Vec<Option<ChunkRecord>> = match self.rows().chunks(id) {
            Ok(chunks) => chunks.into_iter().map(Some).collect(),
            Err(error) if error.is_of_a_row() => {
                let count = record.map_or(0, |record| record.chunk_count);
                let sound = |place| match self.rows().chunk(id, place) {
                    Err(error) if error.is_of_a_row() => Ok(None),
                    chunk => chunk,
                };
                (0..count).map(sound).collect::<Result<_, _>>()?
            }
            Err(error) => return Err(error),
        };
        let chunk_count = chunks.len() as i64;
        for (place, chunk) in (0u32..).zip(chunks) {
            self.delete(Table::Chunks, keys::in_document(id, place));
            let Some(chunk) = chunk else {
                old.lost.extend(self.suffix_of(id, place)?);
                continue;
            };
            old.suffixes
                .entry(chunk.content_hash)
                .or_default()
                .push_back(chunk.suffix);
            self.delete(Table::ChunkSuffixes, keys::in_document(id, chunk.suffix));
            self.count_content(chunk.content_hash, -1)?;
        }
        for &suffix in &old.lost {
            self.delete(Table::ChunkSuffixes, keys::in_document(id, suffix));
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
        self.count_documents(-1, -chunk_count);
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
    fn count_content(&mut self, hash: [u8; 16], change: i64) -> Result<(), StoreError> {
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

impl Rows for Staging<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        self.over().row(table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.over().scan(table, from, to, visit)
    }
}

fn only_alone() -> StoreError {
    StoreError::Invalid("what the manifest lists is changed in a commit of its own only".into())
}

/// What an older state of a document leaves to the newer one.
#[derive(Default)]
struct Old {
    next_suffix: u32,
    suffixes: HashMap<[u8; 16], VecDeque<u32>>,
    /// Those of chunks whose rows are damaged.
    lost: Vec<u32>,
}

impl Old {
    fn all_suffixes(&self) -> impl Iterator<Item = u32> {
        self.suffixes.values().flatten().chain(&self.lost).copied()
    }
}

/// Gives every chunk its suffix; returns the next free one.
fn align(chunks: &mut [ChunkRecord], old: &Old) -> u32 {
    let mut free = old.suffixes.clone();
    let mut next = old.next_suffix;
    for chunk in chunks {
        let kept = free
            .get_mut(&chunk.content_hash)
            .and_then(VecDeque::pop_front);
        chunk.suffix = kept.unwrap_or_else(|| {
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

/// The hash that tells whether a document's or a chunk's bytes changed: xxh3-128, big-endian.
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
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

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
    fn trees_out_of_order_are_refused() {
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
    fn chunks_that_stay_keep_their_suffix() {
        let mut old = Old {
            next_suffix: 3,
            ..Old::default()
        };
        for (suffix, hash) in [(0, [7; 16]), (1, [8; 16]), (2, [7; 16])] {
            old.suffixes.entry(hash).or_default().push_back(suffix);
        }
        let mut chunks = vec![chunk(None, ""); 4];
        for (chunk, hash) in chunks.iter_mut().zip([[9; 16], [7; 16], [7; 16], [7; 16]]) {
            chunk.content_hash = hash;
        }
        assert_eq!(align(&mut chunks, &old), 5);
        let suffixes: Vec<u32> = chunks.iter().map(|chunk| chunk.suffix).collect();
        assert_eq!(suffixes, [3, 0, 2, 4]);
    }

    /// Rows in a map: the plainly right base of a staging.
    #[derive(Default)]
    struct MapRows(BTreeMap<(Table, Key), Vec<u8>>);

    impl Rows for MapRows {
        fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
            Ok(self
                .0
                .get(&(table, key.to_vec()))
                .map(|row| Value::staged(row)))
        }

        fn scan(
            &self,
            table: Table,
            from: &[u8],
            to: Option<&[u8]>,
            visit: &mut Visit<'_>,
        ) -> Result<(), StoreError> {
            for ((of, key), row) in &self.0 {
                let inside = key.as_slice() >= from && to.is_none_or(|to| key.as_slice() < to);
                if *of == table && inside && visit(key, row)?.is_break() {
                    break;
                }
            }
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_scan_sees_own_changes_over_the_base(
            base in prop::collection::btree_map(0u8..12, any::<u8>(), 0..12),
            own in prop::collection::btree_map(0u8..12, any::<Option<u8>>(), 0..12),
            from in 0u8..12,
            to in prop::option::of(0u8..12),
            stop in 1usize..14,
        ) {
            let row = |key: u8| (Table::Chunks, vec![key]);
            let rows = MapRows(base.iter().map(|(&k, &v)| (row(k), vec![v])).collect());
            let mut staging = Staging::new(&rows, &[], ManifestRecord::default(), true);
            let mut want = base.clone();
            for (&key, &value) in &own {
                match value {
                    Some(value) => {
                        staging.put(Table::Chunks, vec![key], vec![value]);
                        want.insert(key, value);
                    }
                    None => {
                        staging.delete(Table::Chunks, vec![key]);
                        want.remove(&key);
                    }
                }
            }
            let want: Vec<(u8, u8)> = want
                .into_iter()
                .filter(|&(key, _)| key >= from && to.is_none_or(|to| key < to))
                .take(stop)
                .collect();
            let mut got = Vec::new();
            let end = to.map(|to| vec![to]);
            staging.scan(Table::Chunks, &[from], end.as_deref(), &mut |key, row| {
                got.push((key[0], row[0]));
                let done = got.len() == stop;
                Ok(if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            }).unwrap();
            prop_assert_eq!(got, want);
        }
    }
}
