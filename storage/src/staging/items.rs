//! Learning items: rows of their own that name a chunk or a concept.
//!
//! Always true: `chunk_items` and `concept_items` name exactly what the items' records do, and the
//! chunk that a record names is there. An item outlives its chunk.

use crate::error::StoreError;
use crate::rows::encode;
use crate::rows::keys;
use crate::rows::records::ItemRecord;
use crate::rows::tables::Table;
use crate::staging::Staging;
use loci_types::ids::{ConceptId, DocumentId, ItemId};

impl Staging<'_> {
    /// Stores a new item. The chunk or concept that it names exists.
    pub fn put_item(&mut self, record: &ItemRecord) -> Result<ItemId, StoreError> {
        let id = ItemId(self.changes.manifest.next_item);
        self.changes.manifest.next_item += 1;
        self.changes.manifest.item_count += 1;
        self.write_item(id, record)?;
        Ok(id)
    }

    /// Stores an item in the place of the one with this id; `false` when there is none.
    pub fn replace_item(&mut self, id: ItemId, record: &ItemRecord) -> Result<bool, StoreError> {
        let Some(old) = self.rows().item(id)? else {
            return Ok(false);
        };
        if record.merged_into == Some(id.0) {
            let why = format!("item {} cannot be merged into itself", id.0);
            return Err(StoreError::Invalid(why));
        }
        self.delete_item_links(id, &old);
        self.write_item(id, record)?;
        Ok(true)
    }

    /// Deletes an item; `false` when there is none.
    pub fn delete_item(&mut self, id: ItemId) -> Result<bool, StoreError> {
        let Some(old) = self.rows().item(id)? else {
            return Ok(false);
        };
        self.delete_item_links(id, &old);
        self.delete(Table::Items, keys::item(id));
        let manifest = &mut self.changes.manifest;
        manifest.item_count = manifest.item_count.saturating_sub(1);
        Ok(true)
    }

    /// Has the items about a chunk that is gone name none.
    pub(crate) fn detach_items_from_chunk(
        &mut self,
        document: DocumentId,
        suffix: u32,
    ) -> Result<(), StoreError> {
        for id in self.rows().items_of_chunk(document, suffix)? {
            if let Some(item) = self.rows().item(id)? {
                let chunk = None;
                self.replace_item(id, &ItemRecord { chunk, ..item })?;
            }
        }
        Ok(())
    }

    fn write_item(&mut self, id: ItemId, record: &ItemRecord) -> Result<(), StoreError> {
        if let Some((document, suffix)) = record.chunk {
            let key = keys::chunk_item(DocumentId(document), suffix, id);
            self.put(Table::ChunkItems, key, Vec::new());
        }
        if let Some(concept) = record.concept {
            let key = keys::concept_item(ConceptId(concept), id);
            self.put(Table::ConceptItems, key, Vec::new());
        }
        self.put(Table::Items, keys::item(id), encode(record)?);
        Ok(())
    }

    fn delete_item_links(&mut self, id: ItemId, record: &ItemRecord) {
        if let Some((document, suffix)) = record.chunk {
            let key = keys::chunk_item(DocumentId(document), suffix, id);
            self.delete(Table::ChunkItems, key);
        }
        if let Some(concept) = record.concept {
            let key = keys::concept_item(ConceptId(concept), id);
            self.delete(Table::ConceptItems, key);
        }
    }
}
