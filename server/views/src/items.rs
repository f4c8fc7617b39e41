//! Learning items.

use std::ops::ControlFlow;

use locidb::Error;
use locidb::query::cite::chunk_key;
use locidb::storage::records::{Difficulty, ItemRecord, ItemType, ReviewState};
use locidb::storage::{ConceptId, DocumentId, DocumentKey, ItemId, Table, keys, rows};
use serde::Serialize;

use super::Reader;

/// A page of learning items.
#[derive(Debug, Default, Serialize)]
pub struct ItemPage {
    /// The oldest first.
    pub items: Vec<ShownItem>,
    /// What to ask for the next page after; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A learning item.
#[derive(Debug, Serialize)]
pub struct ShownItem {
    /// Its id.
    pub id: u64,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ItemType,
    /// The question.
    pub front: String,
    /// The answer.
    pub back: String,
    /// The choices, where it has some.
    pub options: Vec<String>,
    /// How hard it is.
    pub difficulty: Difficulty,
    /// The chunk that it is about, while that is stored.
    pub chunk: Option<String>,
    /// The name of the concept that it is about.
    pub concept: Option<String>,
    /// The user whose item it is.
    pub owner: String,
    /// The item that took its place.
    pub merged_into: Option<u64>,
    /// When it was reviewed, and when it is due.
    pub review: Option<ReviewState>,
}

/// Which items are listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ItemFilter<'i> {
    /// Of this owner alone.
    pub owner: Option<&'i str>,
    /// About this document alone.
    pub document: Option<&'i DocumentKey>,
    /// Those alone that are due then, in milliseconds since 1970; those never reviewed are.
    pub due_ms: Option<u64>,
    /// Those after this one.
    pub after: Option<u64>,
    /// So many at most.
    pub limit: usize,
}

impl Reader<'_> {
    /// A page of items. Costs a look at every item up to the end of the page. A reader that is bound to a user sees
    /// those of its own.
    pub fn items(&self, filter: ItemFilter<'_>) -> Result<ItemPage, Error> {
        let owner = self.user().or(filter.owner);
        let document = match filter.document {
            Some(key) => match self.find_document(key)? {
                Some((id, _)) => Some(id.0),
                None => return Ok(ItemPage::default()),
            },
            None => None,
        };
        let (mut found, mut more) = (Vec::new(), false);
        let from = filter.after.map_or(0, |after| after.saturating_add(1));
        let from = keys::item(ItemId(from));
        self.rows()
            .scan(Table::Items, &from, None, &mut |key, payload| {
                let item: ItemRecord = rows::decode(Table::Items, key, payload)?;
                let is_due = filter
                    .due_ms
                    .is_none_or(|due| item.review.as_ref().is_none_or(|of| of.due_ms <= due));
                let is_of = document.is_none_or(|id| item.chunk.is_some_and(|chunk| chunk.0 == id));
                if !is_due || !is_of || owner.is_some_and(|owner| owner != item.owner) {
                    return Ok(ControlFlow::Continue(()));
                }
                if found.len() == filter.limit {
                    more = true;
                    return Ok(ControlFlow::Break(()));
                }
                found.push((keys::u64_at(key, 0).unwrap_or_default(), item));
                Ok(ControlFlow::Continue(()))
            })?;
        let next = found.last().filter(|_| more).map(|(id, _)| *id);
        let items = found.into_iter().map(|(id, item)| self.show_item(id, item));
        Ok(ItemPage {
            items: items.collect::<Result<_, _>>()?,
            next,
        })
    }

    fn show_item(&self, id: u64, item: ItemRecord) -> Result<ShownItem, Error> {
        let chunk = match item.chunk {
            Some((document, suffix)) => {
                let record = self.rows().document(DocumentId(document))?;
                let record = record.filter(|record| self.can_see(&record.user));
                record.map(|record| chunk_key(&record, suffix).to_string())
            }
            None => None,
        };
        let concept = match item.concept {
            Some(id) => self.rows().concept(ConceptId(id))?.map(|of| of.name),
            None => None,
        };
        Ok(ShownItem {
            id,
            kind: item.kind,
            front: item.front,
            back: item.back,
            options: item.options,
            difficulty: item.difficulty,
            chunk,
            concept,
            owner: item.owner,
            merged_into: item.merged_into,
            review: item.review,
        })
    }
}
