//! What documents state of concepts and relations, as rows, and the records merged from them.
//!
//! Invariant after each call, in the same transaction: a concept's or relation's record is what [`loci_graph::merge`]
//! computes from the contributions that count for it ([`DocumentContributions::with_concept_edits`]), and the manifest
//! counts the concepts and relations that have any.
//!
//! Start reading at [`replace`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use loci_graph::{WithdrawOutcome, merge, normalise};
use loci_storage::keys::{self, Key};
use loci_storage::records::{
    ConceptContribution, ConceptRecord, RelationContribution, RelationRecord,
};
use loci_storage::rows::{encode, missing, read};
use loci_storage::{ConceptId, DocumentId, Rows, Staging, StoreError, Table};

use crate::statements::prefix::documents_after;
use loci_types::document::{NewConcept, NewRelation};

/// What one document states, by concept and by key of relation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DocumentContributions {
    pub(crate) concepts: BTreeMap<ConceptId, ConceptContribution>,
    pub(crate) relations: BTreeMap<Key, RelationContribution>,
}

const MICRO: f64 = 1e6;

impl DocumentContributions {
    /// Normalises and merges what the caller provides, with ids for new names. Names that
    /// normalise to nothing are left out, and relations from or to them.
    pub(crate) fn new(
        staging: &mut Staging<'_>,
        concepts: Vec<NewConcept>,
        relations: Vec<NewRelation>,
        chunk_count: u32,
    ) -> Result<DocumentContributions, StoreError> {
        let mut contributions = DocumentContributions::default();
        let mut names = ConceptLookup {
            staging,
            known: HashMap::new(),
        };
        for concept in concepts {
            contributions.add_concept(&mut names, concept, chunk_count)?;
        }
        for relation in relations {
            contributions.add_relation(&mut names, relation, chunk_count)?;
        }
        Ok(contributions)
    }

    fn add_concept(
        &mut self,
        names: &mut ConceptLookup<'_, '_>,
        concept: NewConcept,
        chunk_count: u32,
    ) -> Result<(), StoreError> {
        let Some(id) = names.find_or_create(&concept.name)? else {
            return Ok(());
        };
        check_chunks(
            concept.mentions.iter().map(|mention| mention.0),
            chunk_count,
        )?;
        let entry = self
            .concepts
            .entry(id)
            .or_insert_with(|| ConceptContribution {
                name: concept.name,
                ..ConceptContribution::default()
            });
        if entry.kind.is_empty() {
            entry.kind = concept.kind;
        }
        if concept.description.len() > entry.description.len() {
            entry.description = concept.description;
        }
        if !concept.synonyms.is_empty() {
            let normalised = normalise(&entry.name);
            let synonyms = concept.synonyms.iter().map(|name| normalise(name));
            extend_sorted(&mut entry.synonyms, synonyms);
            let is_other = |name: &String| !name.is_empty() && *name != normalised;
            entry.synonyms.retain(is_other);
        }
        add_mentions(&mut entry.mentions, concept.mentions);
        Ok(())
    }

    fn add_relation(
        &mut self,
        names: &mut ConceptLookup<'_, '_>,
        relation: NewRelation,
        chunk_count: u32,
    ) -> Result<(), StoreError> {
        if !relation.weight.is_finite() || relation.weight < 0.0 {
            return Err(StoreError::Invalid(format!(
                "a relation's weight is {}; give a finite number that is not negative",
                relation.weight
            )));
        }
        check_chunks(relation.chunks.iter().copied(), chunk_count)?;
        let (Some(source), Some(target)) = (
            self.endpoint(names, &relation.source)?,
            self.endpoint(names, &relation.target)?,
        ) else {
            return Ok(());
        };
        if source == target || relation.kind.len() > usize::from(u16::MAX) {
            return Ok(());
        }
        let entry = self
            .relations
            .entry(keys::relation(source, target, &relation.kind));
        let entry = entry.or_default();
        if relation.description.len() > entry.description.len() {
            entry.description = relation.description;
        }
        let weight = (f64::from(relation.weight) * MICRO).round() as u64;
        entry.weight_micro = entry.weight_micro.saturating_add(weight);
        extend_sorted(&mut entry.chunks, relation.chunks);
        Ok(())
    }

    /// The concept that a relation starts or ends at, added when no one mentioned it.
    fn endpoint(
        &mut self,
        names: &mut ConceptLookup<'_, '_>,
        name: &str,
    ) -> Result<Option<ConceptId>, StoreError> {
        let Some(id) = names.find_or_create(name)? else {
            return Ok(None);
        };
        self.concepts
            .entry(id)
            .or_insert_with(|| ConceptContribution {
                name: name.into(),
                ..ConceptContribution::default()
            });
        Ok(Some(id))
    }

    /// The contributions of `document` among the rows.
    pub(crate) fn load(
        rows: &dyn Rows,
        document: DocumentId,
    ) -> Result<DocumentContributions, StoreError> {
        Ok(DocumentContributions {
            concepts: rows.concept_contributions(document)?.into_iter().collect(),
            relations: rows.relation_contributions(document)?.into_iter().collect(),
        })
    }

    /// The contributions of `document` under the concepts that they count for, where concepts were merged or split by
    /// hand.
    pub(crate) fn with_concept_edits(
        &self,
        rows: &dyn Rows,
        document: DocumentId,
    ) -> Result<Cow<'_, DocumentContributions>, StoreError> {
        if !rows.has_concept_aliases()? {
            return Ok(Cow::Borrowed(self));
        }
        let mut counted = DocumentContributions::default();
        let mut moved = Vec::new();
        for (&id, contribution) in &self.concepts {
            let resolved = rows.resolve(id, Some(document))?;
            match resolved.edit {
                None => drop(counted.concepts.insert(id, contribution.clone())),
                Some(edit) => moved.push((resolved.concept, edit, contribution.clone())),
            }
        }
        for (id, edit, mut contribution) in moved {
            let record = rows.concept_edit(edit)?;
            let record =
                record.ok_or_else(|| missing(Table::ConceptEdits, &keys::concept_edit(edit)))?;
            let known = counted.concepts.entry(id);
            let known = known.or_insert_with(|| ConceptContribution {
                name: record.name,
                ..ConceptContribution::default()
            });
            contribution.synonyms.push(normalise(&contribution.name));
            merge_contribution(known, contribution);
            let own = normalise(&known.name);
            known.synonyms.retain(|name| *name != own);
        }
        for (key, contribution) in &self.relations {
            let (source, target, kind) = parse_relation_key(key)?;
            let [source, target] = [source, target].map(|end| rows.resolve(end, Some(document)));
            let (source, target) = (source?.concept, target?.concept);
            if source == target {
                continue;
            }
            let entry = counted
                .relations
                .entry(keys::relation(source, target, kind));
            let known = entry.or_default();
            merge::keep_longest(&mut known.description, &contribution.description);
            known.weight_micro = known.weight_micro.saturating_add(contribution.weight_micro);
            extend_sorted(&mut known.chunks, contribution.chunks.iter().copied());
        }
        Ok(Cow::Owned(counted))
    }
}

/// Concepts by the names that one document uses, each looked up once.
struct ConceptLookup<'s, 'g> {
    staging: &'s mut Staging<'g>,
    known: HashMap<String, Option<ConceptId>>,
}

impl ConceptLookup<'_, '_> {
    /// The concept of a name, created where it is new; `None` where the name normalises to nothing.
    fn find_or_create(&mut self, name: &str) -> Result<Option<ConceptId>, StoreError> {
        if let Some(&known) = self.known.get(name) {
            return Ok(known);
        }
        let normalised = normalise(name);
        let id = if normalised.is_empty() {
            None
        } else {
            Some(self.staging.get_or_create_concept(&normalised)?)
        };
        self.known.insert(name.to_owned(), id);
        Ok(id)
    }
}

/// Adds a document's contribution to the same concept under another name.
fn merge_contribution(known: &mut ConceptContribution, other: ConceptContribution) {
    let is_first = known.kind.is_empty() || other.kind < known.kind;
    if !other.kind.is_empty() && is_first {
        known.kind = other.kind;
    }
    merge::keep_longest(&mut known.description, &other.description);
    extend_sorted(&mut known.synonyms, other.synonyms);
    add_mentions(&mut known.mentions, other.mentions);
}

/// Adds `more` to a list that is sorted and without repeats.
fn extend_sorted<T: Ord>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    let all: BTreeSet<T> = list.drain(..).chain(more).collect();
    list.extend(all);
}

/// Adds counts of mentions, by chunk.
fn add_mentions(mentions: &mut Vec<(u32, u32)>, more: Vec<(u32, u32)>) {
    let mut counts: BTreeMap<u32, u32> = mentions.drain(..).collect();
    for (chunk, count) in more {
        let sum = counts.entry(chunk).or_default();
        *sum = sum.saturating_add(count);
    }
    mentions.extend(counts);
}

fn check_chunks(chunks: impl Iterator<Item = u32>, count: u32) -> Result<(), StoreError> {
    match chunks.max() {
        Some(last) if last >= count => Err(StoreError::Invalid(format!(
            "a concept or relation names chunk {last}, but the document has {count}"
        ))),
        _ => Ok(()),
    }
}

/// Replaces the contributions of `document`; those that did not change are not touched.
pub(crate) fn replace(
    staging: &mut Staging<'_>,
    document: DocumentId,
    before: &DocumentContributions,
    after: &DocumentContributions,
) -> Result<(), StoreError> {
    let counted_before = before.with_concept_edits(staging.rows(), document)?;
    let counted_after = after.with_concept_edits(staging.rows(), document)?;
    for (&id, old) in &counted_before.concepts {
        if counted_after.concepts.get(&id) != Some(old) {
            withdraw_concept(staging, document, id, old)?;
        }
    }
    for (key, old) in &counted_before.relations {
        if counted_after.relations.get(key) != Some(old) {
            withdraw_relation(staging, document, key, old)?;
        }
    }
    write_contributions(staging, document, before, after)?;
    for (&id, new) in &counted_after.concepts {
        if counted_before.concepts.get(&id) != Some(new) {
            add_concept(staging, document, id, new)?;
        }
    }
    for (key, new) in &counted_after.relations {
        if counted_before.relations.get(key) != Some(new) {
            add_relation(staging, key, new)?;
        }
    }
    let gone = before.concepts.keys();
    let gone = gone.filter(|id| !after.concepts.contains_key(id));
    let gone: Vec<ConceptId> = gone.copied().collect();
    staging.delete_unused_concepts(&gone)
}

/// Stores the contributions of a document, before edits by hand.
fn write_contributions(
    staging: &mut Staging<'_>,
    document: DocumentId,
    before: &DocumentContributions,
    after: &DocumentContributions,
) -> Result<(), StoreError> {
    for id in before.concepts.keys() {
        if !after.concepts.contains_key(id) {
            staging.delete(Table::ConceptContributions, contribution_key(document, *id));
            let key = keys::concept_document(*id, document);
            staging.delete(Table::ConceptDocuments, key);
        }
    }
    for (&id, new) in &after.concepts {
        if before.concepts.get(&id) != Some(new) {
            let key = contribution_key(document, id);
            staging.put(Table::ConceptContributions, key, encode(new)?);
            let key = keys::concept_document(id, document);
            staging.put(Table::ConceptDocuments, key, Vec::new());
        }
    }
    for key in before.relations.keys() {
        if !after.relations.contains_key(key) {
            let row = keys::document_relation(document, key);
            staging.delete(Table::RelationContributions, row);
            staging.delete(Table::RelationDocuments, evidence_key(key, document)?);
        }
    }
    for (key, new) in &after.relations {
        if before.relations.get(key) != Some(new) {
            let row = keys::document_relation(document, key);
            staging.put(Table::RelationContributions, row, encode(new)?);
            let key = evidence_key(key, document)?;
            staging.put(Table::RelationDocuments, key, Vec::new());
        }
    }
    Ok(())
}

fn contribution_key(document: DocumentId, id: ConceptId) -> Key {
    keys::document_entry(document, id.0)
}

fn add_concept(
    staging: &mut Staging<'_>,
    document: DocumentId,
    id: ConceptId,
    contribution: &ConceptContribution,
) -> Result<(), StoreError> {
    let record = staging.rows().concept(id)?;
    let mut record = match record {
        Some(record) => record,
        None => ConceptRecord {
            normalised: normalise(&contribution.name),
            ..ConceptRecord::default()
        },
    };
    staging.adjust_graph_counts(i64::from(record.document_count == 0), 0);
    merge::fold(&mut record, document, contribution);
    staging.put(Table::Concepts, keys::concept(id), encode(&record)?);
    Ok(())
}

fn withdraw_concept(
    staging: &mut Staging<'_>,
    document: DocumentId,
    id: ConceptId,
    contribution: &ConceptContribution,
) -> Result<(), StoreError> {
    let Some(mut record) = staging.rows().concept(id)? else {
        return Err(missing(Table::Concepts, &keys::concept(id)));
    };
    if merge::withdraw(&mut record, document, contribution) == WithdrawOutcome::Recount {
        record = recount_concept(staging.rows(), id, &record.normalised, Some(document))?;
    }
    staging.adjust_graph_counts(-i64::from(record.document_count == 0), 0);
    staging.put(Table::Concepts, keys::concept(id), encode(&record)?);
    Ok(())
}

/// The record of a concept from all contributions but those of `excluded`.
fn recount_concept(
    rows: &dyn Rows,
    id: ConceptId,
    normalised: &str,
    excluded: Option<DocumentId>,
) -> Result<ConceptRecord, StoreError> {
    let table = Table::ConceptContributions;
    let mut all: BTreeMap<DocumentId, DocumentContributions> = BTreeMap::new();
    for source in rows.alias_sources(id)? {
        for document in documents_after(rows, Table::ConceptDocuments, &keys::concept(source))? {
            let is_counted = rows.resolve(source, Some(document))?.concept == id;
            if Some(document) == excluded || !is_counted {
                continue;
            }
            let key = contribution_key(document, source);
            let row = read(rows, table, &key)?;
            let row = row.ok_or_else(|| missing(table, &key))?;
            all.entry(document)
                .or_default()
                .concepts
                .insert(source, row);
        }
    }
    let mut contributions = Vec::new();
    for (document, of) in all {
        let counted = of.with_concept_edits(rows, document)?.into_owned();
        let counted = counted.concepts.into_values();
        contributions.extend(counted.map(|of| (document, of)));
    }
    Ok(merge::recount(normalised, contributions))
}

fn add_relation(
    staging: &mut Staging<'_>,
    key: &Key,
    contribution: &RelationContribution,
) -> Result<(), StoreError> {
    let record: Option<RelationRecord> = read(staging.rows(), Table::Relations, key)?;
    staging.adjust_graph_counts(0, i64::from(record.is_none()));
    let mut record = record.unwrap_or_default();
    merge::fold_relation(&mut record, contribution);
    staging.put(Table::Relations, key.clone(), encode(&record)?);
    Ok(())
}

fn withdraw_relation(
    staging: &mut Staging<'_>,
    document: DocumentId,
    key: &Key,
    contribution: &RelationContribution,
) -> Result<(), StoreError> {
    let record: Option<RelationRecord> = read(staging.rows(), Table::Relations, key)?;
    let Some(mut record) = record else {
        return Err(missing(Table::Relations, key));
    };
    if merge::withdraw_relation(&mut record, contribution) == WithdrawOutcome::Recount {
        record = recount_relation(staging.rows(), key, Some(document))?;
    }
    put_relation(staging, key, true, &record)
}

/// Stores the record of a relation that was there or not, or deletes it where nothing states it.
fn put_relation(
    staging: &mut Staging<'_>,
    key: &Key,
    was_there: bool,
    record: &RelationRecord,
) -> Result<(), StoreError> {
    let is_there = record.document_count > 0;
    staging.adjust_graph_counts(0, i64::from(is_there) - i64::from(was_there));
    if is_there {
        staging.put(Table::Relations, key.clone(), encode(record)?)
    } else {
        staging.delete(Table::Relations, key.clone())
    }
    Ok(())
}

/// The record of a relation from all contributions but those of `excluded`.
fn recount_relation(
    rows: &dyn Rows,
    key: &Key,
    excluded: Option<DocumentId>,
) -> Result<RelationRecord, StoreError> {
    let (source, target, kind) = parse_relation_key(key)?;
    let table = Table::RelationContributions;
    let mut all: BTreeMap<DocumentId, DocumentContributions> = BTreeMap::new();
    let targets = rows.alias_sources(target)?;
    for from in rows.alias_sources(source)? {
        for &to in &targets {
            let prefix = keys::relation_documents(from, to, kind);
            for document in documents_after(rows, Table::RelationDocuments, &prefix)? {
                let relation_key = keys::relation(from, to, kind);
                if Some(document) == excluded {
                    continue;
                }
                let row = keys::document_relation(document, &relation_key);
                let found = read(rows, table, &row)?;
                let found = found.ok_or_else(|| missing(table, &row))?;
                let of = all.entry(document).or_default();
                of.relations.insert(relation_key, found);
            }
        }
    }
    let mut contributions = Vec::new();
    for (document, of) in all {
        let mut counted = of.with_concept_edits(rows, document)?.into_owned();
        contributions.extend(counted.relations.remove(key));
    }
    Ok(merge::recount_relation(contributions))
}

fn parse_relation_key(key: &[u8]) -> Result<(ConceptId, ConceptId, &str), StoreError> {
    keys::parse_relation(key).ok_or_else(|| StoreError::DamagedRow {
        table: Table::Relations.name(),
        key: format!("{key:02x?}"),
        why: "not a relation's key".into(),
    })
}

fn evidence_key(key: &[u8], document: DocumentId) -> Result<Key, StoreError> {
    let (source, target, kind) = parse_relation_key(key)?;
    Ok(keys::relation_document(source, target, kind, document))
}

/// Applies `change`, which affects contributions to `from` in `documents` or, where these are none, in all; recounts
/// the records that it affects, and indexes the documents again.
pub(crate) fn apply_concept_edit<R>(
    staging: &mut Staging<'_>,
    from: ConceptId,
    documents: &[u64],
    change: impl FnOnce(&mut Staging<'_>) -> Result<R, StoreError>,
) -> Result<R, StoreError> {
    let mut affected_documents: BTreeSet<DocumentId> = BTreeSet::new();
    for source in staging.rows().alias_sources(from)? {
        let prefix = keys::concept(source);
        affected_documents.extend(documents_after(
            staging.rows(),
            Table::ConceptDocuments,
            &prefix,
        )?);
    }
    affected_documents.retain(|id| documents.is_empty() || documents.contains(&id.0));
    let mut affected = AffectedRecords::default();
    affected.collect(staging.rows(), from, &affected_documents)?;
    let result = change(staging)?;
    affected.collect(staging.rows(), from, &affected_documents)?;
    for id in affected.concepts {
        let old = staging.rows().concept(id)?;
        let Some(old) = old else { continue };
        let new = recount_concept(staging.rows(), id, &old.normalised, None)?;
        let [was, is] = [&old, &new].map(|record| i64::from(record.document_count > 0));
        staging.adjust_graph_counts(is - was, 0);
        staging.put(Table::Concepts, keys::concept(id), encode(&new)?);
    }
    for key in affected.relations {
        let old: Option<RelationRecord> = read(staging.rows(), Table::Relations, &key)?;
        let new = recount_relation(staging.rows(), &key, None)?;
        put_relation(staging, &key, old.is_some(), &new)?;
    }
    for id in affected_documents {
        let document = staging.rows().document(id)?;
        let count = document.map_or(0, |document| document.chunk_count);
        staging.reindex(id, count);
    }
    Ok(result)
}

/// The concepts and relations whose records an edit affects.
#[derive(Default)]
struct AffectedRecords {
    concepts: BTreeSet<ConceptId>,
    relations: BTreeSet<Key>,
}

impl AffectedRecords {
    /// Adds the concepts that `from` counts as in these documents, and its relations there.
    fn collect(
        &mut self,
        rows: &dyn Rows,
        from: ConceptId,
        documents: &BTreeSet<DocumentId>,
    ) -> Result<(), StoreError> {
        self.concepts.insert(from);
        for &document in documents {
            let counted = rows.resolve(from, Some(document))?.concept;
            self.concepts.insert(counted);
            let contributions = DocumentContributions::load(rows, document)?;
            let contributions = contributions
                .with_concept_edits(rows, document)?
                .into_owned();
            for key in contributions.relations.into_keys() {
                let (source, target, _) = parse_relation_key(&key)?;
                if source == counted || target == counted {
                    self.relations.insert(key);
                }
            }
        }
        Ok(())
    }
}

/// Counts the concepts and relations that have a contribution, as the manifest must.
pub(crate) fn count_concepts_and_relations(rows: &dyn Rows) -> Result<(u64, u64), StoreError> {
    let mut concepts = BTreeSet::new();
    // Sorted by concept first and document last.
    rows.scan_all(Table::ConceptDocuments, &mut |key, _| {
        if let (Some(id), Some(document)) = (keys::u32_at(key, 0), keys::u64_at(key, 4)) {
            let counted = rows.resolve(ConceptId(id), Some(DocumentId(document)))?;
            concepts.insert(counted.concept);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut relations = 0;
    rows.scan_all(Table::Relations, &mut |_, _| {
        relations += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((concepts.len() as u64, relations))
}
