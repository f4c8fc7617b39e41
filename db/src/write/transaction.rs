//! What a writer may do: put, replace and delete documents, change settings, all or nothing.

use std::collections::BTreeSet;

use loci_index::analysis::language_code;
use loci_storage::records::{ChunkRecord, DocumentRecord, Feedback, ItemRecord, RetrievalRecord};
use loci_storage::rows::encode;
use loci_storage::{
    ChunkKey, ConceptEditId, DocumentId, DocumentKey, ItemId, ResponseId, Staging, StoreError,
    Table, keys,
};
use loci_types::answer::HitRef;

use crate::analysis::digest_rows;
use crate::error::Error;
use crate::settings::{self, Settings};
use crate::statements::citations::{self, DocumentCitations};
use crate::statements::contributions::{self, DocumentContributions};
use crate::write::{concept_edits, document, origins};
use loci_types::document::{
    NewCitation, NewClaim, NewConcept, NewDocument, NewItem, NewReference, NewRelation,
};

/// A write in progress. It sees its own changes; an error drops them all.
pub struct WriteTransaction<'t, 'g> {
    staging: &'t mut Staging<'g>,
    /// Whether a step failed: then nothing may be stored, whatever the writer returns.
    failed: bool,
    /// Documents that were deleted or replaced.
    changed: BTreeSet<DocumentId>,
}

impl<'t, 'g> WriteTransaction<'t, 'g> {
    /// Runs `work`; an error of a step that it ignored fails the whole write.
    pub(crate) fn run<R>(
        staging: &'t mut Staging<'g>,
        work: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let mut transaction = WriteTransaction {
            staging,
            failed: false,
            changed: BTreeSet::new(),
        };
        let result = work(&mut transaction)?;
        if transaction.failed {
            let why = "a step of the write failed and its error was ignored; nothing is stored";
            return Err(StoreError::Invalid(why.into()).into());
        }
        digest_rows::remove_deleted_sentences(transaction.staging, &transaction.changed)?;
        Ok(result)
    }

    /// Runs a step, and records whether it failed.
    fn run_step<R>(
        &mut self,
        step: impl FnOnce(&mut Staging<'g>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let result = step(self.staging);
        self.failed |= result.is_err();
        result
    }

    /// As [`WriteTransaction::run_step`], on a stored document; `false` when there is none.
    fn run_on_document(
        &mut self,
        key: &DocumentKey,
        step: impl FnOnce(&mut Staging<'g>, DocumentId) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        self.run_step(|staging| {
            let found = staging.rows().document_id(key)?;
            found.map_or(Ok(false), |id| step(staging, id).map(|()| true))
        })
    }

    /// Stores a document whole, in the place of the one with the same user, collection and key.
    ///
    /// Chunks whose title, headings and text did not change keep their key. Concepts and relations
    /// that only the older document stated are invisible afterwards.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] says which rule the document breaks.
    pub fn put_document(&mut self, document: NewDocument) -> Result<DocumentId, Error> {
        let (id, is_replaced) = self.run_step(|staging| document::put(staging, document))?;
        if is_replaced {
            self.changed.insert(id);
        }
        Ok(id)
    }

    /// Deletes a document with its chunks, vectors, mentions and contributions; `false` when there is
    /// none.
    pub fn delete_document(&mut self, key: &DocumentKey) -> Result<bool, Error> {
        let deleted = self.run_step(|staging| {
            let Some(id) = staging.rows().document_id(key)? else {
                return Ok(None);
            };
            let before = DocumentContributions::load(staging.rows(), id)?;
            contributions::replace(staging, id, &before, &DocumentContributions::default())?;
            citations::replace(staging, id, DocumentCitations::default())?;
            let record = staging.rows().document(id)?;
            origins::set(staging, id, None)?;
            let deleted = staging.delete_document(key)?;
            citations::update_document_identities(staging, id, record.as_ref(), None)?;
            Ok(deleted.then_some(id))
        })?;
        self.changed.extend(deleted);
        Ok(deleted.is_some())
    }

    /// Records the file that a document was read from ([`crate::DatabaseSnapshot::origin`]); `None` deletes that;
    /// `false` when there is no such document. To put a document deletes the origin of the one before.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for an origin that is empty or holds a NUL; [`StoreError::Limit`] for one that is too
    /// long.
    pub fn set_origin(&mut self, key: &DocumentKey, origin: Option<&str>) -> Result<bool, Error> {
        self.run_on_document(key, |staging, id| Ok(origins::set(staging, id, origin)?))
    }

    /// Changes the metadata of a document: year, venue, topics, free metadata and
    /// the like; `false` when there is none. Key, counts and hashes stay as they are. Chunks keep
    /// their keys and vectors.
    ///
    /// Costs an analysis of the document's text, as searches read metadata in its segment.
    pub fn patch_document(
        &mut self,
        key: &DocumentKey,
        patch: impl FnOnce(&mut DocumentRecord),
    ) -> Result<bool, Error> {
        self.run_on_document(key, |staging, id| {
            let before = staging.rows().document(id)?;
            staging.patch_document(key, |record| {
                patch(record);
                let code = record.language.as_deref().and_then(language_code);
                if let Some(code) = code {
                    record.language = Some(code.into());
                }
            })?;
            let after = staging.rows().document(id)?;
            citations::update_document_identities(staging, id, before.as_ref(), after.as_ref())?;
            Ok(())
        })
    }

    /// Changes the metadata of a chunk; `false` when there is none.
    /// Costs as much as [`WriteTransaction::patch_document`].
    pub fn patch_chunk(
        &mut self,
        key: &ChunkKey,
        patch: impl FnOnce(&mut ChunkRecord),
    ) -> Result<bool, Error> {
        self.run_step(|staging| Ok(staging.patch_chunk(key, patch)?))
    }

    /// Replaces a document's concepts and relations; `false` when there is no such document.
    /// Mentions and evidence name its chunks by their place in pre-order.
    pub fn set_graph(
        &mut self,
        key: &DocumentKey,
        concepts: Vec<NewConcept>,
        relations: Vec<NewRelation>,
    ) -> Result<bool, Error> {
        self.run_on_document(key, |staging, id| {
            let document = staging.rows().document(id)?;
            let count = document.map_or(0, |document| document.chunk_count);
            let after = DocumentContributions::new(staging, concepts, relations, count)?;
            let before = DocumentContributions::load(staging.rows(), id)?;
            contributions::replace(staging, id, &before, &after)?;
            staging.reindex(id, count);
            Ok(())
        })
    }

    /// Replaces a document's references, citations and claims; `false` when there is no such document. Chunks are
    /// named by their place in pre-order; how often each cites is counted anew.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a chunk or reference that is not there, or a confidence outside of 0..=1.
    pub fn set_citations(
        &mut self,
        key: &DocumentKey,
        references: Vec<NewReference>,
        citations: Vec<NewCitation>,
        claims: Vec<NewClaim>,
    ) -> Result<bool, Error> {
        self.run_on_document(key, |staging, id| {
            let mut chunks = staging.rows().chunks(id)?;
            let cited = DocumentCitations::new(references, citations, claims, chunks.len() as u32)?;
            let before: Vec<u32> = chunks.iter().map(|chunk| chunk.citation_count).collect();
            document::count_citations(&mut chunks, &cited);
            for ((place, chunk), before) in (0u32..).zip(&chunks).zip(before) {
                if chunk.citation_count != before {
                    let row = keys::document_entry(id, place);
                    staging.put(Table::Chunks, row, encode(chunk)?);
                }
            }
            citations::replace(staging, id, cited)?;
            staging.reindex(id, chunks.len() as u32);
            Ok(())
        })
    }

    /// Lets everything about the concept `from` count for `into`: mentions, relations, items, now and
    /// later. `into` may be a name that no document uses.
    ///
    /// Costs a recount of both, and an analysis of the documents that mention `from`.
    ///
    /// # Errors
    /// [`Error::NotFound`] when no document mentions `from`; [`StoreError::Invalid`] when both are the same, or
    /// `from` has parts of `into` that were split off or merged: undo that instead.
    pub fn merge_concepts(&mut self, from: &str, into: &str) -> Result<ConceptEditId, Error> {
        self.run_step(|staging| concept_edits::merge(staging, from, into))
    }

    /// Lets the contributions of some documents to a concept count for another one, which may be new: this separates
    /// two things of one name. An item without a chunk stays.
    ///
    /// # Errors
    /// As [`WriteTransaction::merge_concepts`]; also when one of the documents is not there or does not mention it.
    pub fn split_concept(
        &mut self,
        name: &str,
        documents: &[DocumentKey],
        into: &str,
    ) -> Result<ConceptEditId, Error> {
        self.run_step(|staging| concept_edits::split(staging, name, documents, into))
    }

    /// Undoes a merge or split, whatever was merged or split since; `false` when there is none with this id, or
    /// it was undone. [`crate::DatabaseSnapshot::concept_edits`] lists those that are in force.
    pub fn undo_concept_edit(&mut self, id: ConceptEditId) -> Result<bool, Error> {
        self.run_step(|staging| concept_edits::undo(staging, id))
    }

    /// Stores a learning item.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the chunk or concept that it is about, or the item that it was merged
    /// into, is not there.
    pub fn put_item(&mut self, item: NewItem) -> Result<ItemId, Error> {
        self.run_step(|staging| {
            let record = item_record(staging, item)?;
            Ok(staging.put_item(&record)?)
        })
    }

    /// Stores a learning item in the place of another; `false` when there is none.
    ///
    /// # Errors
    /// As [`WriteTransaction::put_item`].
    pub fn replace_item(&mut self, id: ItemId, item: NewItem) -> Result<bool, Error> {
        self.run_step(|staging| {
            let record = item_record(staging, item)?;
            Ok(staging.replace_item(id, &record)?)
        })
    }

    /// Deletes a learning item; `false` when there is none.
    pub fn delete_item(&mut self, id: ItemId) -> Result<bool, Error> {
        self.run_step(|staging| Ok(staging.delete_item(id)?))
    }

    /// Records an answer, in the space that is active now; see [`crate::Database::record`].
    pub(crate) fn put_retrieval(
        &mut self,
        mut record: RetrievalRecord,
    ) -> Result<ResponseId, Error> {
        self.run_step(|staging| {
            record.space = staging.manifest().active_space;
            Ok(staging.put_retrieval(&record)?)
        })
    }

    /// Stores feedback on a hit; see [`crate::Database::feedback`].
    pub(crate) fn set_feedback(
        &mut self,
        response: ResponseId,
        hit: &HitRef,
        feedback: Feedback,
    ) -> Result<(), Error> {
        self.run_step(|staging| {
            let place = hit_index(staging, response, hit)?;
            staging.set_feedback(response, place, feedback)?;
            Ok(())
        })
    }

    /// Deletes some old answers; see [`Staging::delete_retrievals_before`].
    pub(crate) fn forget_retrievals(
        &mut self,
        before_ms: u64,
        from: &[u8],
    ) -> Result<(u64, Option<keys::Key>), Error> {
        self.run_step(|staging| Ok(staging.delete_retrievals_before(before_ms, from)?))
    }

    /// The id of a document, as this writer sees it.
    pub fn document_id(&self, key: &DocumentKey) -> Result<Option<DocumentId>, Error> {
        Ok(self.staging.rows().document_id(key)?)
    }

    /// A document, as this writer sees it.
    pub fn document(
        &self,
        key: &DocumentKey,
    ) -> Result<Option<(DocumentId, DocumentRecord)>, Error> {
        let rows = self.staging.rows();
        let Some(id) = rows.document_id(key)? else {
            return Ok(None);
        };
        Ok(rows.document(id)?.map(|record| (id, record)))
    }

    /// A chunk, as this writer sees it.
    pub fn chunk(&self, key: &ChunkKey) -> Result<Option<ChunkRecord>, Error> {
        let rows = self.staging.rows();
        match rows.find_chunk(key)? {
            Some((id, place)) => Ok(rows.chunk(id, place)?),
            None => Ok(None),
        }
    }

    /// A learning item, as this writer sees it.
    pub fn item(&self, id: ItemId) -> Result<Option<ItemRecord>, Error> {
        Ok(self.staging.rows().item(id)?)
    }

    /// Stores, or with `None` deletes, a row beside the settings.
    pub(crate) fn set_internal_row(
        &mut self,
        name: &str,
        json: Option<String>,
    ) -> Result<(), Error> {
        self.staging.put_setting(name, json);
        Ok(())
    }

    /// Changes a setting; see [`Settings::with`].
    ///
    /// # Errors
    /// [`Error::Setting`]; the embedder is changed by [`crate::Database::use_embedder`] and
    /// [`crate::Database::use_model`], which also remove the space of the other one.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        if ["embedder", "model"].contains(&name) {
            return Err(Error::Setting(
                "change the embedder with use_embedder or use_model".into(),
            ));
        }
        let settings = settings::read(self.staging.rows())?
            .with(name, value)?
            .to_map();
        let names = match name {
            "chunk_preset" => Settings::chunk_preset(value)?
                .map(|(name, _)| name)
                .to_vec(),
            name => vec![name],
        };
        for name in names {
            let value = settings.get(name).map(ToString::to_string);
            self.staging.put_setting(name, value);
        }
        Ok(())
    }
}

fn item_record(staging: &Staging<'_>, item: NewItem) -> Result<ItemRecord, Error> {
    let rows = staging.rows();
    let chunk = match &item.chunk {
        Some(key) => {
            let found = rows.find_chunk(key)?;
            let (document, _) = found.ok_or_else(|| Error::NotFound(key.to_string()))?;
            Some((document.0, key.suffix))
        }
        None => None,
    };
    let concept = match &item.concept {
        Some(name) => {
            let found = rows.concept_id(&loci_graph::normalise(name))?;
            Some(found.ok_or_else(|| Error::NotFound(name.clone()))?.0)
        }
        None => None,
    };
    if let Some(id) = item.merged_into
        && rows.item(id)?.is_none()
    {
        return Err(Error::NotFound(format!("item {}", id.0)));
    }
    Ok(ItemRecord {
        kind: item.kind,
        front: item.front,
        back: item.back,
        options: item.options,
        difficulty: item.difficulty,
        chunk,
        concept,
        owner: item.owner,
        merged_into: item.merged_into.map(|id| id.0),
        review: item.review,
    })
}

/// The place of a hit in a recorded answer.
fn hit_index(staging: &Staging<'_>, response: ResponseId, hit: &HitRef) -> Result<usize, Error> {
    let record = staging.rows().retrieval(response)?;
    let missing = || Error::NotFound(format!("recorded answer {}", response.0));
    let hits = record.ok_or_else(missing)?.hits;
    let place = match hit {
        HitRef::Rank(rank) => (*rank as usize).checked_sub(1),
        HitRef::Chunk(chunk) => {
            let chunk = chunk.to_string();
            hits.iter().position(|hit| hit.chunk == chunk)
        }
    };
    let missing = || Error::NotFound(format!("{hit} of recorded answer {}", response.0));
    place
        .filter(|&place| place < hits.len())
        .ok_or_else(missing)
}
