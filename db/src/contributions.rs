//! What a document says of concepts and relations, kept as rows, and the records merged from them.
//!
//! Always true after each call, in the same transaction: a concept's or relation's record is what
//! [`loci_graph::merge`] makes of its contributions, and the manifest counts those that have any.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use loci_graph::{Withdrawn, merge, normalise};
use loci_storage::keys::{self, Key};
use loci_storage::records::{
    ConceptContribution, ConceptRecord, RelationContribution, RelationRecord,
};
use loci_storage::rows::{encode, missing, read};
use loci_storage::{ConceptId, DocumentId, Rows, Staging, StoreError, Table};

use crate::document::{NewConcept, NewRelation};

/// What one document says, by concept and by key of relation.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    concepts: BTreeMap<ConceptId, ConceptContribution>,
    relations: BTreeMap<Key, RelationContribution>,
}

const MICRO: f64 = 1e6;

impl Said {
    /// Normalises and merges what the caller hands over, giving out ids for new names. Names that
    /// normalise to nothing are left out, and relations from or to them.
    pub(crate) fn new(
        staging: &mut Staging<'_>,
        concepts: Vec<NewConcept>,
        relations: Vec<NewRelation>,
        chunk_count: u32,
    ) -> Result<Said, StoreError> {
        let mut said = Said::default();
        for concept in concepts {
            said.add_concept(staging, concept, chunk_count)?;
        }
        for relation in relations {
            said.add_relation(staging, relation, chunk_count)?;
        }
        Ok(said)
    }

    fn add_concept(
        &mut self,
        staging: &mut Staging<'_>,
        concept: NewConcept,
        chunk_count: u32,
    ) -> Result<(), StoreError> {
        let normalised = normalise(&concept.name);
        if normalised.is_empty() {
            return Ok(());
        }
        check_chunks(
            concept.mentions.iter().map(|mention| mention.0),
            chunk_count,
        )?;
        let id = staging.concept_id(&normalised)?;
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
        let synonyms = concept.synonyms.iter().map(|name| normalise(name));
        let all: BTreeSet<String> = entry.synonyms.drain(..).chain(synonyms).collect();
        entry.synonyms = all
            .into_iter()
            .filter(|name| !name.is_empty() && *name != normalised)
            .collect();
        let mut mentions: BTreeMap<u32, u32> = entry.mentions.drain(..).collect();
        for (chunk, count) in concept.mentions {
            let sum = mentions.entry(chunk).or_default();
            *sum = sum.saturating_add(count);
        }
        entry.mentions = mentions.into_iter().collect();
        Ok(())
    }

    fn add_relation(
        &mut self,
        staging: &mut Staging<'_>,
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
            self.end_of(staging, &relation.source)?,
            self.end_of(staging, &relation.target)?,
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
        let chunks: BTreeSet<u32> = entry.chunks.drain(..).chain(relation.chunks).collect();
        entry.chunks = chunks.into_iter().collect();
        Ok(())
    }

    /// The concept that a relation starts or ends at, added when no one mentioned it.
    fn end_of(
        &mut self,
        staging: &mut Staging<'_>,
        name: &str,
    ) -> Result<Option<ConceptId>, StoreError> {
        let normalised = normalise(name);
        if normalised.is_empty() {
            return Ok(None);
        }
        let id = staging.concept_id(&normalised)?;
        self.concepts
            .entry(id)
            .or_insert_with(|| ConceptContribution {
                name: name.into(),
                ..ConceptContribution::default()
            });
        Ok(Some(id))
    }

    /// What the rows say that `document` says.
    pub(crate) fn stored(staging: &Staging<'_>, document: DocumentId) -> Result<Said, StoreError> {
        let rows = staging.rows();
        Ok(Said {
            concepts: rows.concept_contributions(document)?.into_iter().collect(),
            relations: rows.relation_contributions(document)?.into_iter().collect(),
        })
    }
}

fn check_chunks(chunks: impl Iterator<Item = u32>, count: u32) -> Result<(), StoreError> {
    match chunks.max() {
        Some(last) if last >= count => Err(StoreError::Invalid(format!(
            "a concept or relation names chunk {last}, but the document has {count}"
        ))),
        _ => Ok(()),
    }
}

/// Replaces what `document` said by what it says now; what did not change is not touched.
pub(crate) fn replace(
    staging: &mut Staging<'_>,
    document: DocumentId,
    before: &Said,
    after: &Said,
) -> Result<(), StoreError> {
    for (&id, old) in &before.concepts {
        if after.concepts.get(&id) != Some(old) {
            withdraw_concept(staging, document, id, old)?;
        }
    }
    for (&id, new) in &after.concepts {
        if before.concepts.get(&id) != Some(new) {
            add_concept(staging, document, id, new)?;
        }
    }
    for (key, old) in &before.relations {
        if after.relations.get(key) != Some(old) {
            withdraw_relation(staging, document, key, old)?;
        }
    }
    for (key, new) in &after.relations {
        if before.relations.get(key) != Some(new) {
            add_relation(staging, document, key, new)?;
        }
    }
    Ok(())
}

fn contribution_key(document: DocumentId, id: ConceptId) -> Key {
    keys::in_document(document, id.0)
}

fn add_concept(
    staging: &mut Staging<'_>,
    document: DocumentId,
    id: ConceptId,
    said: &ConceptContribution,
) -> Result<(), StoreError> {
    let record = staging.rows().concept(id)?;
    let mut record = match record {
        Some(record) => record,
        None => ConceptRecord {
            normalised: normalise(&said.name),
            ..ConceptRecord::default()
        },
    };
    staging.count_graph(i64::from(record.document_count == 0), 0);
    merge::fold(&mut record, document, said);
    let key = contribution_key(document, id);
    staging.put(Table::ConceptContributions, key, encode(said)?);
    staging.put(
        Table::ConceptDocuments,
        keys::concept_document(id, document),
        Vec::new(),
    );
    staging.put(Table::Concepts, keys::concept(id), encode(&record)?);
    Ok(())
}

fn withdraw_concept(
    staging: &mut Staging<'_>,
    document: DocumentId,
    id: ConceptId,
    said: &ConceptContribution,
) -> Result<(), StoreError> {
    staging.delete(Table::ConceptContributions, contribution_key(document, id));
    staging.delete(
        Table::ConceptDocuments,
        keys::concept_document(id, document),
    );
    let Some(mut record) = staging.rows().concept(id)? else {
        return Err(missing(Table::Concepts, &keys::concept(id)));
    };
    if merge::withdraw(&mut record, document, said) == Withdrawn::Recount {
        record = recount_concept(staging, id, &record.normalised)?;
    }
    staging.count_graph(-i64::from(record.document_count == 0), 0);
    staging.put(Table::Concepts, keys::concept(id), encode(&record)?);
    Ok(())
}

fn recount_concept(
    staging: &Staging<'_>,
    id: ConceptId,
    normalised: &str,
) -> Result<ConceptRecord, StoreError> {
    let rows = staging.rows();
    let mut said = Vec::new();
    for document in documents_with(staging, Table::ConceptDocuments, &keys::concept(id))? {
        let key = contribution_key(document, id);
        let table = Table::ConceptContributions;
        let row = read(rows, table, &key)?;
        said.push((document, row.ok_or_else(|| missing(table, &key))?));
    }
    Ok(merge::recount(normalised, said))
}

fn add_relation(
    staging: &mut Staging<'_>,
    document: DocumentId,
    key: &Key,
    said: &RelationContribution,
) -> Result<(), StoreError> {
    let record: Option<RelationRecord> = read(staging.rows(), Table::Relations, key)?;
    staging.count_graph(0, i64::from(record.is_none()));
    let mut record = record.unwrap_or_default();
    merge::fold_relation(&mut record, said);
    let row = keys::relation_in_document(document, key);
    staging.put(Table::RelationContributions, row, encode(said)?);
    staging.put(
        Table::RelationDocuments,
        evidence_key(key, document)?,
        Vec::new(),
    );
    staging.put(Table::Relations, key.clone(), encode(&record)?);
    Ok(())
}

fn withdraw_relation(
    staging: &mut Staging<'_>,
    document: DocumentId,
    key: &Key,
    said: &RelationContribution,
) -> Result<(), StoreError> {
    staging.delete(
        Table::RelationContributions,
        keys::relation_in_document(document, key),
    );
    staging.delete(Table::RelationDocuments, evidence_key(key, document)?);
    let record: Option<RelationRecord> = read(staging.rows(), Table::Relations, key)?;
    let Some(mut record) = record else {
        return Err(missing(Table::Relations, key));
    };
    if merge::withdraw_relation(&mut record, said) == Withdrawn::Recount {
        record = recount_relation(staging, key)?;
    }
    if record.document_count == 0 {
        staging.count_graph(0, -1);
        staging.delete(Table::Relations, key.clone());
    } else {
        staging.put(Table::Relations, key.clone(), encode(&record)?);
    }
    Ok(())
}

fn recount_relation(staging: &Staging<'_>, key: &Key) -> Result<RelationRecord, StoreError> {
    let (source, target, kind) = relation_of(key)?;
    let prefix = keys::relation_documents(source, target, kind);
    let mut said = Vec::new();
    for document in documents_with(staging, Table::RelationDocuments, &prefix)? {
        let row = keys::relation_in_document(document, key);
        let table = Table::RelationContributions;
        let found = read(staging.rows(), table, &row)?;
        said.push(found.ok_or_else(|| missing(table, &row))?);
    }
    Ok(merge::recount_relation(said))
}

fn relation_of(key: &[u8]) -> Result<(ConceptId, ConceptId, &str), StoreError> {
    keys::parse_relation(key).ok_or_else(|| StoreError::DamagedRow {
        table: Table::Relations.name(),
        key: format!("{key:02x?}"),
        why: "not a relation's key".into(),
    })
}

fn evidence_key(key: &[u8], document: DocumentId) -> Result<Key, StoreError> {
    let (source, target, kind) = relation_of(key)?;
    Ok(keys::relation_document(source, target, kind, document))
}

/// The documents at the ends of the keys that start with `prefix`.
fn documents_with(
    staging: &Staging<'_>,
    table: Table,
    prefix: &[u8],
) -> Result<Vec<DocumentId>, StoreError> {
    let mut documents = Vec::new();
    let after = keys::after_prefix(prefix);
    staging
        .rows()
        .scan(table, prefix, after.as_deref(), &mut |key, _| {
            documents.extend(keys::u64_at(key, prefix.len()).map(DocumentId));
            Ok(ControlFlow::Continue(()))
        })?;
    Ok(documents)
}

/// Counts the concepts and relations that have a contribution: what the manifest must say.
pub(crate) fn recount(rows: &dyn Rows) -> Result<(u64, u64), StoreError> {
    // Both tables are sorted by concept or relation first and document last.
    let of_concept = |key: &[u8]| key[..key.len().min(4)].to_vec();
    let of_relation = |key: &[u8]| key[..key.len().saturating_sub(8)].to_vec();
    let concepts = count_distinct(rows, Table::ConceptDocuments, of_concept)?;
    let relations = count_distinct(rows, Table::RelationDocuments, of_relation)?;
    Ok((concepts, relations))
}

fn count_distinct(
    rows: &dyn Rows,
    table: Table,
    what: impl Fn(&[u8]) -> Key,
) -> Result<u64, StoreError> {
    let (mut count, mut last) = (0, None);
    rows.scan_all(table, &mut |key, _| {
        let this = Some(what(key));
        count += u64::from(this != last);
        last = this;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(count)
}
