//! References, citations and claims of documents, and the works that they are about.
//!
//! A *work* groups the references to one publication. It exists as long as some document refers to it, and is resolved
//! to its own document where that is stored; otherwise it is a stub. References belong to one work when they have the
//! same document key, the same DOI, or the same title without another DOI or year, or when another reference or a
//! stored document has the identities of both. Merged works stay merged until a reference is removed.
//!
//! Invariant after each call, in the same transaction: a work's fields are those of the references to it; it is
//! resolved to the first stored document that has one of its identities, in the order key, DOI, title; a work without
//! references is deleted.
//!
//! Start reading at [`replace`].

use std::collections::{BTreeMap, BTreeSet};

use loci_graph::normalise;
use loci_storage::keys;
use loci_storage::records::{
    CitationRecord, ClaimRecord, DocumentRecord, ReferenceRecord, WorkRecord,
};
use loci_storage::rows::{encode, missing, read};
use loci_storage::staging::content_hash;
use loci_storage::{DocumentId, DocumentKey, Rows, Staging, StoreError, Table, WorkId};

use crate::clock::now_ms;
use crate::statements::prefix::{documents_after, ids_after};
use loci_types::document::{NewCitation, NewClaim, NewReference};

/// Bytes of an identity; a longer one is hashed.
const IDENTITY_LEN_MAX: usize = 400;
/// A title with fewer words and characters than these does not identify a work.
const TITLE_WORDS_MIN: usize = 3;
const TITLE_CHARS_MIN: usize = 15;
/// Years that two statements about one work may differ by: print follows preprint.
const YEARS_APART_MAX: u32 = 1;

/// What one document cites and claims.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DocumentCitations {
    references: Vec<ReferenceRecord>,
    citations: Vec<CitationRecord>,
    claims: Vec<ClaimRecord>,
}

impl DocumentCitations {
    /// Checks what the caller provides.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a chunk or reference that is not there, or a confidence outside of 0..=1.
    pub(crate) fn new(
        references: Vec<NewReference>,
        citations: Vec<NewCitation>,
        claims: Vec<NewClaim>,
        chunk_count: u32,
    ) -> Result<DocumentCitations, StoreError> {
        let reference_count = references.len() as u32;
        let mut cited = DocumentCitations::default();
        for citation in citations {
            check_bounds("citation", citation.chunk, chunk_count, citation.confidence)?;
            if citation.reference >= reference_count {
                return Err(StoreError::Invalid(format!(
                    "a citation names reference {}, but the document has {reference_count}",
                    citation.reference
                )));
            }
            cited.citations.push(CitationRecord {
                chunk: citation.chunk,
                reference: citation.reference,
                text: citation.text,
                context: citation.context,
                confidence: citation.confidence,
                intent: citation.intent,
                claim: citation.claim,
                created_at_ms: citation.created_at_ms,
            });
        }
        for claim in claims {
            check_bounds("claim", claim.chunk, chunk_count, claim.confidence)?;
            cited.claims.push(ClaimRecord {
                chunk: claim.chunk,
                about: claim.about.to_string(),
                intent: claim.intent,
                confidence: claim.confidence,
                created_at_ms: claim.created_at_ms,
            });
        }
        let references = references.into_iter().map(|reference| ReferenceRecord {
            text: reference.text,
            key: reference.key.map(|key| key.to_string()),
            doi: reference.doi,
            title: reference.title,
            authors: reference.authors,
            year: reference.year,
            venue: reference.venue,
            work: 0,
        });
        cited.references = references.collect();
        Ok(cited)
    }

    /// Those that the rows hold.
    pub(crate) fn load(
        rows: &dyn Rows,
        document: DocumentId,
    ) -> Result<DocumentCitations, StoreError> {
        Ok(DocumentCitations {
            references: rows.references(document)?,
            citations: rows.citations(document)?,
            claims: rows.claims(document)?,
        })
    }

    /// How many citations each chunk has, with its descendants. `parents`: of the chunks, in pre-order.
    pub(crate) fn citation_counts(&self, parents: &[Option<u32>]) -> Vec<u32> {
        let mut counts = vec![0u32; parents.len()];
        for citation in &self.citations {
            let mut at = Some(citation.chunk);
            while let Some(chunk) = at {
                let Some(count) = counts.get_mut(chunk as usize) else {
                    break;
                };
                *count += 1;
                // A parent precedes its children, so this ends.
                at = parents[chunk as usize].filter(|&parent| parent < chunk);
            }
        }
        counts
    }

    pub(crate) fn has_citations(&self) -> bool {
        !self.citations.is_empty()
    }

    /// (chunk's place, citation's number, citation, work) of each citation.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (u32, u32, &CitationRecord, WorkId)> {
        (0u32..)
            .zip(&self.citations)
            .filter_map(|(number, citation)| {
                let reference = self.references.get(citation.reference as usize)?;
                Some((citation.chunk, number, citation, WorkId(reference.work)))
            })
    }

    /// Gives citations and claims that were there before their old time, and the others `now`.
    fn preserve_timestamps(&mut self, before: &DocumentCitations, now: u64) {
        let citation = |of: &DocumentCitations, at: &CitationRecord| {
            let reference = of.references.get(at.reference as usize);
            let identities = reference.map(reference_identities).unwrap_or_default();
            (identities, at.text.clone(), at.context.clone())
        };
        let known: BTreeMap<_, u64> = before
            .citations
            .iter()
            .map(|at| (citation(before, at), at.created_at_ms))
            .collect();
        let times: Vec<u64> = self
            .citations
            .iter()
            .map(|at| known.get(&citation(self, at)).copied().unwrap_or(now))
            .collect();
        for (citation, time) in self.citations.iter_mut().zip(times) {
            if citation.created_at_ms == 0 {
                citation.created_at_ms = time;
            }
        }
        for claim in &mut self.claims {
            let mut same = before
                .claims
                .iter()
                .filter(|old| (&old.about, old.intent) == (&claim.about, claim.intent));
            if claim.created_at_ms == 0 {
                claim.created_at_ms = same.next().map_or(now, |old| old.created_at_ms);
            }
        }
    }
}

fn check_bounds(what: &str, chunk: u32, count: u32, confidence: f32) -> Result<(), StoreError> {
    if chunk >= count {
        return Err(StoreError::Invalid(format!(
            "a {what} names chunk {chunk}, but the document has {count}"
        )));
    }
    if (0.0..=1.0).contains(&confidence) {
        Ok(())
    } else {
        Err(StoreError::Invalid(format!(
            "the confidence of a {what} is {confidence}; give a number in 0..=1"
        )))
    }
}

/// Replaces the references, citations and claims of `document`.
///
/// Costs, for each reference that changed, a row for each reference to its work.
pub(crate) fn replace(
    staging: &mut Staging<'_>,
    document: DocumentId,
    mut after: DocumentCitations,
) -> Result<(), StoreError> {
    let before = DocumentCitations::load(staging.rows(), document)?;
    if before == DocumentCitations::default() && after == DocumentCitations::default() {
        return Ok(());
    }
    after.preserve_timestamps(&before, now_ms());
    for (number, _) in (0u32..).zip(&before.citations) {
        staging.delete(Table::Citations, keys::document_entry(document, number));
    }
    for (number, claim) in (0u32..).zip(&before.claims) {
        staging.delete(Table::Claims, keys::document_entry(document, number));
        let key = keys::claim_on(&claim.about, document, number);
        staging.delete(Table::ClaimsOn, key);
    }
    replace_references(staging, document, &before.references, after.references)?;
    for (number, citation) in (0u32..).zip(&after.citations) {
        let key = keys::document_entry(document, number);
        staging.put(Table::Citations, key, encode(citation)?);
    }
    for (number, claim) in (0u32..).zip(&after.claims) {
        let key = keys::document_entry(document, number);
        staging.put(Table::Claims, key, encode(claim)?);
        let key = keys::claim_on(&claim.about, document, number);
        staging.put(Table::ClaimsOn, key, Vec::new());
    }
    Ok(())
}

/// Replaces the references of a document; those that did not change keep their works. A reference without a work
/// creates one, a reference to several works merges them, and a work is deleted with its last reference.
fn replace_references(
    staging: &mut Staging<'_>,
    document: DocumentId,
    before: &[ReferenceRecord],
    after: Vec<ReferenceRecord>,
) -> Result<(), StoreError> {
    let mut left = BTreeSet::new();
    let count = after.len();
    for (number, mut reference) in after.into_iter().enumerate() {
        let old = before.get(number);
        reference.work = old.map_or(0, |old| old.work);
        if old == Some(&reference) {
            continue;
        }
        let number = number as u32;
        if let Some(old) = old {
            let key = keys::work_reference(WorkId(old.work), document, number);
            staging.delete(Table::WorkReferences, key);
            left.insert(WorkId(old.work));
        }
        let known = matching_works(staging.rows(), &reference)?;
        let work = match known.first() {
            Some(&first) => first,
            None => staging.new_work_id()?,
        };
        reference.work = work.0;
        let row = keys::document_entry(document, number);
        staging.put(Table::References, row, encode(&reference)?);
        let key = keys::work_reference(work, document, number);
        staging.put(Table::WorkReferences, key, Vec::new());
        update_work(staging, work)?;
        for &other in known.iter().skip(1) {
            merge_works(staging, other, work)?;
            left.remove(&other);
        }
        let document = staging.rows().work(work)?.and_then(|work| work.document);
        if let Some(id) = document {
            merge_document_works(staging, DocumentId(id))?;
        }
    }
    for (number, old) in (0u32..).zip(before).skip(count) {
        staging.delete(Table::References, keys::document_entry(document, number));
        let key = keys::work_reference(WorkId(old.work), document, number);
        staging.delete(Table::WorkReferences, key);
        left.insert(WorkId(old.work));
    }
    for work in left {
        update_work(staging, work)?;
    }
    Ok(())
}

/// The works that a reference may belong to, ascending.
fn matching_works(rows: &dyn Rows, reference: &ReferenceRecord) -> Result<Vec<WorkId>, StoreError> {
    let mut found = BTreeSet::new();
    for identity in &reference_identities(reference) {
        for id in works_with_identity(rows, identity)? {
            let key = keys::work(id);
            let work = rows.work(id)?;
            let work = work.ok_or_else(|| missing(Table::Works, &key))?;
            if is_unique_identity(identity)
                || is_compatible(&work, reference.doi.as_deref(), reference.year)
            {
                found.insert(id);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The works with an identity, ascending.
pub(crate) fn works_with_identity(
    rows: &dyn Rows,
    identity: &str,
) -> Result<Vec<WorkId>, StoreError> {
    let prefix = keys::identity(identity);
    ids_after(rows, Table::WorkIdentities, &prefix, |rest| {
        keys::u32_at(rest, 0).map(WorkId)
    })
}

/// Whether an identity alone identifies a work.
fn is_unique_identity(identity: &str) -> bool {
    identity.starts_with("k:") || identity.starts_with("d:")
}

/// Whether a DOI and a year beside the same title agree with `work`.
fn is_compatible(work: &WorkRecord, doi: Option<&str>, year: Option<i32>) -> bool {
    let dois = work.doi.as_deref().zip(doi.map(normalise_doi));
    let years = work.year.zip(year);
    dois.is_none_or(|(a, b)| a == b) && years.is_none_or(|(a, b)| a.abs_diff(b) <= YEARS_APART_MAX)
}

/// Moves the references of one work to another, and indexes the documents that cite it again.
fn merge_works(staging: &mut Staging<'_>, from: WorkId, to: WorkId) -> Result<(), StoreError> {
    let mut documents = BTreeSet::new();
    for (document, number) in references_of(staging.rows(), from)? {
        let row = keys::document_entry(document, number);
        let reference: Option<ReferenceRecord> = read(staging.rows(), Table::References, &row)?;
        let mut reference = reference.ok_or_else(|| missing(Table::References, &row))?;
        reference.work = to.0;
        staging.put(Table::References, row, encode(&reference)?);
        let old = keys::work_reference(from, document, number);
        staging.delete(Table::WorkReferences, old);
        let new = keys::work_reference(to, document, number);
        staging.put(Table::WorkReferences, new, Vec::new());
        documents.insert(document);
    }
    for document in documents {
        let record = staging.rows().document(document)?;
        if let Some(record) = record {
            staging.reindex(document, record.chunk_count);
        }
    }
    update_work(staging, from)?;
    update_work(staging, to)
}

/// The documents and numbers of the references to a work.
fn references_of(rows: &dyn Rows, work: WorkId) -> Result<Vec<(DocumentId, u32)>, StoreError> {
    ids_after(rows, Table::WorkReferences, &keys::work(work), |rest| {
        let (document, number) = keys::u64_at(rest, 0).zip(keys::u32_at(rest, 8))?;
        Some((DocumentId(document), number))
    })
}

/// Adds the fields of a reference that the work lacks.
fn merge_reference(record: &mut WorkRecord, reference: &ReferenceRecord) {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    record.title = record.title.take().or_else(|| given(&reference.title));
    record.venue = record.venue.take().or_else(|| given(&reference.venue));
    record.year = record.year.or(reference.year);
    let doi = given(&reference.doi).map(|doi| normalise_doi(&doi));
    record.doi = record.doi.take().or(doi);
    if record.authors.is_empty() {
        record.authors.clone_from(&reference.authors);
    }
    if record.text.is_empty() {
        record.text.clone_from(&reference.text);
    }
    for identity in reference_identities(reference) {
        if !record.identities.contains(&identity) {
            record.identities.push(identity);
        }
    }
    let order = |identity: &String| "kdtx".find(&identity[..1]);
    record.identities.sort_by_key(order);
    record.reference_count += 1;
}

/// Computes the record of a work from the references to it, and resolves it; without any it is deleted.
fn update_work(staging: &mut Staging<'_>, work: WorkId) -> Result<(), StoreError> {
    let key = keys::work(work);
    let old = staging.rows().work(work)?.unwrap_or_default();
    let mut record = WorkRecord::default();
    for (document, number) in references_of(staging.rows(), work)? {
        let row = keys::document_entry(document, number);
        let reference: Option<ReferenceRecord> = read(staging.rows(), Table::References, &row)?;
        let reference = reference.ok_or_else(|| missing(Table::References, &row))?;
        merge_reference(&mut record, &reference);
    }
    for identity in &record.identities {
        if !old.identities.contains(identity) {
            let row = keys::work_identity(identity, work);
            staging.put(Table::WorkIdentities, row, Vec::new());
        }
    }
    for identity in &old.identities {
        if !record.identities.contains(identity) {
            staging.delete(Table::WorkIdentities, keys::work_identity(identity, work));
        }
    }
    record.document = old.document;
    update_work_document(staging, work, &mut record)?;
    match record.reference_count {
        0 => staging.delete(Table::Works, key),
        _ => staging.put(Table::Works, key, encode(&record)?),
    }
    Ok(())
}

/// Resolves a work to its stored document, or to none.
fn update_work_document(
    staging: &mut Staging<'_>,
    work: WorkId,
    record: &mut WorkRecord,
) -> Result<(), StoreError> {
    let document = find_work_document(staging.rows(), record)?.map(|document| document.0);
    if document != record.document {
        if let Some(old) = record.document {
            let key = keys::document_work(DocumentId(old), work);
            staging.delete(Table::DocumentWorks, key);
        }
        if let Some(new) = document {
            let key = keys::document_work(DocumentId(new), work);
            staging.put(Table::DocumentWorks, key, Vec::new());
        }
        record.document = document;
    }
    Ok(())
}

/// The stored document of a work.
fn find_work_document(
    rows: &dyn Rows,
    work: &WorkRecord,
) -> Result<Option<DocumentId>, StoreError> {
    for identity in &work.identities {
        let prefix = keys::identity(identity);
        for id in documents_after(rows, Table::DocumentIdentities, &prefix)? {
            let document = rows.document(id)?;
            let agrees = |document: &DocumentRecord| {
                is_unique_identity(identity)
                    || is_compatible(work, document.doi.as_deref(), document.year)
            };
            if document.as_ref().is_some_and(agrees) {
                return Ok(Some(id));
            }
        }
    }
    Ok(None)
}

/// Replaces the identities of a stored document, and resolves and merges the works that have them. `None`: the document
/// is not stored.
pub(crate) fn update_document_identities(
    staging: &mut Staging<'_>,
    id: DocumentId,
    before: Option<&DocumentRecord>,
    after: Option<&DocumentRecord>,
) -> Result<(), StoreError> {
    let identities = [before, after].map(|record| match record {
        Some(record) => document_identities(record),
        None => Ok(Vec::new()),
    });
    let [identities_before, identities_after] = identities;
    let (identities_before, identities_after) = (identities_before?, identities_after?);
    for identity in identities_before
        .iter()
        .filter(|identity| !identities_after.contains(identity))
    {
        let key = keys::document_identity(identity, id);
        staging.delete(Table::DocumentIdentities, key);
    }
    for identity in identities_after
        .iter()
        .filter(|identity| !identities_before.contains(identity))
    {
        let key = keys::document_identity(identity, id);
        staging.put(Table::DocumentIdentities, key, Vec::new());
    }
    for identity in identities_before.into_iter().chain(identities_after) {
        for work in works_with_identity(staging.rows(), &identity)? {
            let key = keys::work(work);
            let record = staging.rows().work(work)?;
            let mut record = record.ok_or_else(|| missing(Table::Works, &key))?;
            update_work_document(staging, work, &mut record)?;
            staging.put(Table::Works, key, encode(&record)?);
        }
    }
    merge_document_works(staging, id)
}

/// Merges the works that are resolved to one document.
fn merge_document_works(staging: &mut Staging<'_>, document: DocumentId) -> Result<(), StoreError> {
    let works = staging.rows().works_of(document)?;
    if let Some((&first, others)) = works.split_first() {
        for &other in others {
            merge_works(staging, other, first)?;
        }
    }
    Ok(())
}

fn document_identities(record: &DocumentRecord) -> Result<Vec<String>, StoreError> {
    let key = DocumentKey::new(&record.user[..], &record.collection[..], &record.key[..])?;
    let (doi, title) = (record.doi.as_deref(), record.title.as_deref());
    Ok(identities_from(Some(&key.to_string()), doi, title).collect())
}

/// The identities of a reference, strongest first; where it has no key, DOI or title, all of its text. A reference
/// without any gets a work of its own.
fn reference_identities(reference: &ReferenceRecord) -> Vec<String> {
    let (key, doi) = (reference.key.as_deref(), reference.doi.as_deref());
    let mut found: Vec<String> = identities_from(key, doi, reference.title.as_deref()).collect();
    if found.is_empty() {
        let title = reference.title.as_deref().unwrap_or_default();
        let year = reference.year.map(|year| year.to_string());
        let authors = reference.authors.join(" ");
        let year = year.unwrap_or_default();
        let text = normalise(&format!("{} {authors} {title} {year}", reference.text));
        found.extend(is_distinctive(&text).then(|| encode_identity("x:", &text)));
    }
    found
}

/// Whether a normalised text is long enough to identify a work.
fn is_distinctive(text: &str) -> bool {
    text.split(' ').count() >= TITLE_WORDS_MIN || text.chars().count() >= TITLE_CHARS_MIN
}

/// Identities, strongest first: of a document's key, a DOI, a title.
pub(crate) fn identities_from(
    key: Option<&str>,
    doi: Option<&str>,
    title: Option<&str>,
) -> impl Iterator<Item = String> {
    let key = key.map(|key| encode_identity("k:", key));
    let doi = doi.map(normalise_doi).filter(|doi| !doi.is_empty());
    let doi = doi.map(|doi| encode_identity("d:", &doi));
    let title = title.map(normalise).filter(|title| is_distinctive(title));
    let title = title.map(|title| encode_identity("t:", &title));
    [key, doi, title].into_iter().flatten()
}

/// An identity without the byte 0, of bounded length.
fn encode_identity(kind: &str, text: &str) -> String {
    if text.len() <= IDENTITY_LEN_MAX {
        format!("{kind}{}", text.replace('\0', " "))
    } else {
        let hash = u128::from_be_bytes(content_hash(text.as_bytes()));
        format!("{kind}#{hash:032x}")
    }
}

/// A DOI as it is compared: `10.1000/xyz`, in lower case.
fn normalise_doi(written: &str) -> String {
    let lower = written.trim().to_lowercase();
    let start = lower.find("10.").unwrap_or(0);
    lower[start..].trim_end_matches(['.', ',', ';']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doi_is_normalised_for_every_spelling() {
        for written in [
            "10.1000/XYZ",
            " https://doi.org/10.1000/xyz. ",
            "doi:10.1000/xyz",
        ] {
            assert_eq!(normalise_doi(written), "10.1000/xyz");
        }
        assert_eq!(normalise_doi(""), "");
    }

    #[test]
    fn short_titles_give_no_identity() {
        let title_identities = |title| identities_from(None, None, Some(title)).collect::<Vec<_>>();
        assert!(title_identities("Introduction").is_empty());
        assert_eq!(title_identities("The Art of War"), ["t:art of war"]);
        assert_eq!(title_identities("Electrodynamics"), ["t:electrodynamics"]);
        assert_eq!(title_identities(&"long ".repeat(200))[0].len(), 2 + 1 + 32);
    }

    #[test]
    fn citations_count_for_all_ancestor_chunks() {
        let citation = |chunk| CitationRecord {
            chunk,
            ..CitationRecord::default()
        };
        let cited = DocumentCitations {
            citations: vec![citation(2), citation(2), citation(3)],
            ..DocumentCitations::default()
        };
        let parents = [None, Some(0), Some(1), Some(0), None];
        assert_eq!(cited.citation_counts(&parents), [3, 2, 2, 1, 0]);
    }
}
