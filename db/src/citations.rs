//! References, citations and claims of documents (C2, C5), and the works that they are about.
//!
//! A *work* is what references to one thing have in common: it is there for as long as some document refers to it,
//! whether its own document is stored (then it is resolved to it) or not (then it is a stub). References are of one
//! work when they have the same document key, the same DOI, or the same title without another DOI or year.
//!
//! Always true after each call, in the same transaction: a work's fields are those of the references to it; it is
//! resolved to the first stored document that has one of its identities, in the order key, DOI, title; a work without
//! references is gone.
//!
//! Start reading at [`replace`].

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use loci_graph::normalise;
use loci_storage::keys::{self, Key};
use loci_storage::records::{
    CitationRecord, ClaimRecord, DocumentRecord, ReferenceRecord, WorkRecord,
};
use loci_storage::rows::{encode, missing, read};
use loci_storage::staging::content_hash;
use loci_storage::{DocumentId, DocumentKey, Rows, Staging, StoreError, Table, WorkId};

use crate::document::{NewCitation, NewClaim, NewReference};
use crate::transaction::now_ms;

/// Bytes of an identity; of a longer one its hash is taken.
const IDENTITY_LEN_MAX: usize = 400;
/// A title with less than this many words and characters says too little to tell a work by.
const TITLE_WORDS_MIN: usize = 3;
const TITLE_CHARS_MIN: usize = 15;
/// Years that two statements about one work may differ by: print follows preprint.
const YEARS_APART_MAX: i32 = 1;

/// What one document cites and claims.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Cited {
    references: Vec<ReferenceRecord>,
    citations: Vec<CitationRecord>,
    claims: Vec<ClaimRecord>,
}

impl Cited {
    /// Checks what the caller hands over.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] for a chunk or reference that is not there, or a confidence that is no share.
    pub(crate) fn new(
        references: Vec<NewReference>,
        citations: Vec<NewCitation>,
        claims: Vec<NewClaim>,
        chunk_count: u32,
    ) -> Result<Cited, StoreError> {
        let reference_count = references.len() as u32;
        let mut cited = Cited::default();
        for citation in citations {
            check("citation", citation.chunk, chunk_count, citation.confidence)?;
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
            check("claim", claim.chunk, chunk_count, claim.confidence)?;
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

    /// What the rows say.
    pub(crate) fn stored(rows: &dyn Rows, document: DocumentId) -> Result<Cited, StoreError> {
        Ok(Cited {
            references: rows.references(document)?,
            citations: rows.citations(document)?,
            claims: rows.claims(document)?,
        })
    }

    /// How often each chunk cites, with what is below it. `parents`: of the chunks, in pre-order.
    pub(crate) fn counts(&self, parents: &[Option<u32>]) -> Vec<u32> {
        let mut counts = vec![0u32; parents.len()];
        for citation in &self.citations {
            let mut at = Some(citation.chunk);
            while let Some(chunk) = at {
                let Some(count) = counts.get_mut(chunk as usize) else {
                    break;
                };
                *count += 1;
                // A parent stands before its children, so this ends.
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

    /// Gives what was there before the time that it had then, and the rest `now`.
    fn keep_times(&mut self, before: &Cited, now: u64) {
        let citation = |of: &Cited, at: &CitationRecord| {
            let reference = of.references.get(at.reference as usize);
            let identities = reference.map(identities).unwrap_or_default();
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

fn check(what: &str, chunk: u32, count: u32, confidence: f32) -> Result<(), StoreError> {
    if chunk >= count {
        return Err(StoreError::Invalid(format!(
            "a {what} names chunk {chunk}, but the document has {count}"
        )));
    }
    match (0.0..=1.0).contains(&confidence) {
        true => Ok(()),
        false => Err(StoreError::Invalid(format!(
            "the confidence of a {what} is {confidence}; give a number in 0..=1"
        ))),
    }
}

/// Replaces what `document` cites and claims by what it does now.
pub(crate) fn replace(
    staging: &mut Staging<'_>,
    document: DocumentId,
    mut after: Cited,
) -> Result<(), StoreError> {
    let before = Cited::stored(staging.rows(), document)?;
    if before == Cited::default() && after == Cited::default() {
        return Ok(());
    }
    after.keep_times(&before, now_ms());
    for (number, _) in (0u32..).zip(&before.citations) {
        staging.delete(Table::Citations, keys::in_document(document, number));
    }
    for (number, claim) in (0u32..).zip(&before.claims) {
        staging.delete(Table::Claims, keys::in_document(document, number));
        let key = keys::claim_on(&claim.about, document, number);
        staging.delete(Table::ClaimsOn, key);
    }
    for (number, reference) in (0u32..).zip(&before.references) {
        withdraw(staging, document, number, reference)?;
    }
    for (number, reference) in (0u32..).zip(&mut after.references) {
        refer(staging, document, number, reference)?;
    }
    for (number, citation) in (0u32..).zip(&after.citations) {
        let key = keys::in_document(document, number);
        staging.put(Table::Citations, key, encode(citation)?);
    }
    for (number, claim) in (0u32..).zip(&after.claims) {
        let key = keys::in_document(document, number);
        staging.put(Table::Claims, key, encode(claim)?);
        let key = keys::claim_on(&claim.about, document, number);
        staging.put(Table::ClaimsOn, key, Vec::new());
    }
    Ok(())
}

/// Adds a reference to its work, which is made where there is none.
fn refer(
    staging: &mut Staging<'_>,
    document: DocumentId,
    number: u32,
    reference: &mut ReferenceRecord,
) -> Result<(), StoreError> {
    let found = find(staging.rows(), reference)?;
    let work = match found {
        Some(work) => work,
        None => staging.new_work()?,
    };
    reference.work = work.0;
    let key = keys::work_reference(work, document, number);
    let later = keys::work_reference(work, document, number + 1);
    let end = keys::after_prefix(&keys::work(work));
    let mut is_last = true;
    staging.rows().scan(
        Table::WorkReferences,
        &later,
        end.as_deref(),
        &mut |_, _| {
            is_last = false;
            Ok(ControlFlow::Break(()))
        },
    )?;
    staging.put(Table::WorkReferences, key, Vec::new());
    let row = keys::in_document(document, number);
    staging.put(Table::References, row, encode(reference)?);
    let old: Option<WorkRecord> = read(staging.rows(), Table::Works, &keys::work(work))?;
    let record = match old.filter(|_| is_last) {
        Some(mut record) => {
            fill(&mut record, reference);
            record
        }
        None => recount(staging.rows(), work)?,
    };
    settle(staging, work, record)
}

/// Takes a reference away from its work, which is gone with the last one.
fn withdraw(
    staging: &mut Staging<'_>,
    document: DocumentId,
    number: u32,
    reference: &ReferenceRecord,
) -> Result<(), StoreError> {
    let work = WorkId(reference.work);
    staging.delete(Table::References, keys::in_document(document, number));
    let key = keys::work_reference(work, document, number);
    staging.delete(Table::WorkReferences, key);
    let record = recount(staging.rows(), work)?;
    settle(staging, work, record)
}

/// The work that a reference is of, where it is known.
fn find(rows: &dyn Rows, reference: &ReferenceRecord) -> Result<Option<WorkId>, StoreError> {
    for identity in identities(reference) {
        let Some(value) = rows.get(Table::WorkIdentities, identity.as_bytes())? else {
            continue;
        };
        let Some(id) = value
            .first_chunk()
            .map(|id| WorkId(u32::from_le_bytes(*id)))
        else {
            continue;
        };
        let key = keys::work(id);
        let work: Option<WorkRecord> = read(rows, Table::Works, &key)?;
        let work = work.ok_or_else(|| missing(Table::Works, &key))?;
        let doi = reference.doi.as_deref();
        if is_strong(&identity) || agree(&work, doi, reference.year) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Whether an identity alone tells a work.
fn is_strong(identity: &str) -> bool {
    !identity.starts_with("t:")
}

/// Whether a title may be that of `work`, by what else is said with it.
fn agree(work: &WorkRecord, doi: Option<&str>, year: Option<i32>) -> bool {
    let dois = work.doi.as_deref().zip(doi.map(doi_of));
    let years = work.year.zip(year);
    dois.is_none_or(|(a, b)| a == b)
        && years.is_none_or(|(a, b)| a.abs_diff(b) <= YEARS_APART_MAX as u32)
}

/// The record of a work from all references to it.
fn recount(rows: &dyn Rows, work: WorkId) -> Result<WorkRecord, StoreError> {
    let mut record = WorkRecord::default();
    let prefix = keys::work(work);
    let end = keys::after_prefix(&prefix);
    let mut references: Vec<Key> = Vec::new();
    rows.scan(
        Table::WorkReferences,
        &prefix,
        end.as_deref(),
        &mut |key, _| {
            references.push(key[prefix.len()..].to_vec());
            Ok(ControlFlow::Continue(()))
        },
    )?;
    for key in references {
        let reference: Option<ReferenceRecord> = read(rows, Table::References, &key)?;
        let reference = reference.ok_or_else(|| missing(Table::References, &key))?;
        fill(&mut record, &reference);
    }
    Ok(record)
}

/// Adds what a reference says, where nothing was said before.
fn fill(record: &mut WorkRecord, reference: &ReferenceRecord) {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    record.title = record.title.take().or_else(|| given(&reference.title));
    record.venue = record.venue.take().or_else(|| given(&reference.venue));
    record.year = record.year.or(reference.year);
    let doi = given(&reference.doi).map(|doi| doi_of(&doi));
    record.doi = record.doi.take().or(doi);
    if record.authors.is_empty() {
        record.authors.clone_from(&reference.authors);
    }
    if record.text.is_empty() {
        record.text.clone_from(&reference.text);
    }
    for identity in identities(reference) {
        if !record.identities.contains(&identity) {
            record.identities.push(identity);
        }
    }
    let order = |identity: &String| "kdtx".find(&identity[..1]);
    record.identities.sort_by_key(order);
    record.reference_count += 1;
}

/// Stores a work's record with the identities that are not another work's, and resolves it.
fn settle(
    staging: &mut Staging<'_>,
    work: WorkId,
    mut record: WorkRecord,
) -> Result<(), StoreError> {
    let key = keys::work(work);
    let old: Option<WorkRecord> = read(staging.rows(), Table::Works, &key)?;
    let old = old.unwrap_or_default();
    let mut own = Vec::new();
    for identity in record.identities {
        let row = identity.clone().into_bytes();
        if old.identities.contains(&identity) {
            own.push(identity);
        } else if staging.rows().get(Table::WorkIdentities, &row)?.is_none() {
            staging.put(Table::WorkIdentities, row, work.0.to_le_bytes().into());
            own.push(identity);
        }
    }
    for identity in old
        .identities
        .iter()
        .filter(|identity| !own.contains(identity))
    {
        staging.delete(Table::WorkIdentities, identity.clone().into_bytes());
    }
    record.identities = own;
    record.document = resolved(staging.rows(), &record)?.map(|document| document.0);
    if record.document != old.document {
        if let Some(document) = old.document {
            let key = keys::document_work(DocumentId(document), work);
            staging.delete(Table::DocumentWorks, key);
        }
        if let Some(document) = record.document {
            let key = keys::document_work(DocumentId(document), work);
            staging.put(Table::DocumentWorks, key, Vec::new());
        }
    }
    match record.reference_count {
        0 => staging.delete(Table::Works, key),
        _ => staging.put(Table::Works, key, encode(&record)?),
    }
    Ok(())
}

/// The stored document of a work.
fn resolved(rows: &dyn Rows, work: &WorkRecord) -> Result<Option<DocumentId>, StoreError> {
    for identity in &work.identities {
        let prefix = keys::identity(identity);
        let end = keys::after_prefix(&prefix);
        let mut candidates = Vec::new();
        rows.scan(
            Table::DocumentIdentities,
            &prefix,
            end.as_deref(),
            &mut |key, _| {
                candidates.extend(keys::u64_at(key, prefix.len()).map(DocumentId));
                Ok(ControlFlow::Continue(()))
            },
        )?;
        for id in candidates {
            let document = rows.document(id)?;
            let agrees = |document: &DocumentRecord| {
                is_strong(identity) || agree(work, document.doi.as_deref(), document.year)
            };
            if document.as_ref().is_some_and(agrees) {
                return Ok(Some(id));
            }
        }
    }
    Ok(None)
}

/// Notes what a stored document can be told by, in the place of what `before` could, and resolves the works that this
/// concerns. `None`: it is not stored.
pub(crate) fn identify(
    staging: &mut Staging<'_>,
    id: DocumentId,
    before: Option<&DocumentRecord>,
    after: Option<&DocumentRecord>,
) -> Result<(), StoreError> {
    let [before, after] = [before, after].map(|record| match record {
        Some(record) => identities_of_document(record),
        None => Ok(Vec::new()),
    });
    let (before, after) = (before?, after?);
    for identity in before.iter().filter(|identity| !after.contains(identity)) {
        let key = keys::document_identity(identity, id);
        staging.delete(Table::DocumentIdentities, key);
    }
    for identity in after.iter().filter(|identity| !before.contains(identity)) {
        let key = keys::document_identity(identity, id);
        staging.put(Table::DocumentIdentities, key, Vec::new());
    }
    for identity in before.into_iter().chain(after) {
        let value = staging
            .rows()
            .get(Table::WorkIdentities, identity.as_bytes())?;
        let work = value.and_then(|value| value.first_chunk().map(|id| u32::from_le_bytes(*id)));
        let Some(work) = work.map(WorkId) else {
            continue;
        };
        let record: Option<WorkRecord> = read(staging.rows(), Table::Works, &keys::work(work))?;
        if let Some(record) = record {
            settle(staging, work, record)?;
        }
    }
    Ok(())
}

fn identities_of_document(record: &DocumentRecord) -> Result<Vec<String>, StoreError> {
    let key = DocumentKey::new(&record.user[..], &record.collection[..], &record.key[..])?;
    let (doi, title) = (record.doi.as_deref(), record.title.as_deref());
    Ok(told_by(Some(&key.to_string()), doi, title).collect())
}

/// What a reference can be told by, strongest first; its text, where it says nothing else.
fn identities(reference: &ReferenceRecord) -> Vec<String> {
    let (key, doi) = (reference.key.as_deref(), reference.doi.as_deref());
    let mut found: Vec<String> = told_by(key, doi, reference.title.as_deref()).collect();
    if found.is_empty() {
        let title = reference.title.as_deref().unwrap_or_default();
        let text = normalise(&format!("{} {title}", reference.text));
        found.push(bounded("x:", &text));
    }
    found
}

/// What a thing can be told by, strongest first: its document's key, its DOI, its title.
pub(crate) fn told_by(
    key: Option<&str>,
    doi: Option<&str>,
    title: Option<&str>,
) -> impl Iterator<Item = String> {
    let key = key.map(|key| bounded("k:", key));
    let doi = doi.map(doi_of).filter(|doi| !doi.is_empty());
    let doi = doi.map(|doi| bounded("d:", &doi));
    let title = title.map(normalise).filter(|title| {
        title.split(' ').count() >= TITLE_WORDS_MIN || title.chars().count() >= TITLE_CHARS_MIN
    });
    let title = title.map(|title| bounded("t:", &title));
    [key, doi, title].into_iter().flatten()
}

/// An identity without the byte 0, of bounded length.
fn bounded(kind: &str, text: &str) -> String {
    match text.len() <= IDENTITY_LEN_MAX {
        true => format!("{kind}{}", text.replace('\0', " ")),
        false => {
            let hash = u128::from_be_bytes(content_hash(text.as_bytes()));
            format!("{kind}#{hash:032x}")
        }
    }
}

/// A DOI as it is compared: `10.1000/xyz`, in lower case.
fn doi_of(written: &str) -> String {
    let lower = written.trim().to_lowercase();
    let start = lower.find("10.").unwrap_or(0);
    lower[start..].trim_end_matches(['.', ',', ';']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doi_is_the_same_however_it_is_written() {
        for written in [
            "10.1000/XYZ",
            " https://doi.org/10.1000/xyz. ",
            "doi:10.1000/xyz",
        ] {
            assert_eq!(doi_of(written), "10.1000/xyz");
        }
        assert_eq!(doi_of(""), "");
    }

    #[test]
    fn short_titles_tell_nothing() {
        let told = |title| told_by(None, None, Some(title)).collect::<Vec<_>>();
        assert!(told("Introduction").is_empty());
        assert_eq!(told("The Art of War"), ["t:art of war"]);
        assert_eq!(told("Electrodynamics"), ["t:electrodynamics"]);
        assert_eq!(told(&"long ".repeat(200))[0].len(), 2 + 1 + 32);
    }

    #[test]
    fn citations_count_for_all_chunks_above() {
        let citation = |chunk| CitationRecord {
            chunk,
            ..CitationRecord::default()
        };
        let cited = Cited {
            citations: vec![citation(2), citation(2), citation(3)],
            ..Cited::default()
        };
        let parents = [None, Some(0), Some(1), Some(0), None];
        assert_eq!(cited.counts(&parents), [3, 2, 2, 1, 0]);
    }
}
