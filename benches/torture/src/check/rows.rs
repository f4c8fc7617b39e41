//! Rows, segments and citations of a store, compared with the model.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use locidb::storage::records::RelationRecord;
use locidb::storage::rows::read;
use locidb::storage::snapshot::OpenSegment;
use locidb::storage::{DocumentId, Table, keys};

use super::ModelCheck;
use crate::documents::{self, DOCUMENTS, NAMES};
use crate::model::MergedRecords;

impl ModelCheck<'_> {
    pub(super) fn rows(&self) -> Result<()> {
        let rows = self.view.snapshot().rows();
        let expected = self.model.documents.len() as u64;
        for table in [Table::Documents, Table::DocumentKeys, Table::Originals] {
            let found = rows.count(table)?;
            ensure!(
                found == expected,
                "{found} rows of {}, expected {expected}",
                table.name()
            );
        }
        let chunks = self.model.chunk_count();
        for table in [Table::Chunks, Table::ChunkSuffixes] {
            let found = rows.count(table)?;
            ensure!(
                found == chunks,
                "{found} rows of {}, expected {chunks}",
                table.name()
            );
        }
        for &number in self.model.documents.keys() {
            self.document_rows(number)?;
        }
        for name in NAMES {
            self.concept_rows(name)?;
        }
        self.relation_rows()
    }

    /// Original, chunks, vectors and contributions of one document.
    pub(super) fn document_rows(&self, number: u8) -> Result<()> {
        let rows = self.view.snapshot().rows();
        let (expected, id) = (
            &self.model.documents[&number],
            DocumentId(self.ids[&number]),
        );
        ensure!(
            rows.original(id)?.as_ref() == Some(&expected.original),
            "document {number} has another original"
        );
        let chunks = rows.chunks(id)?;
        ensure!(
            chunks.len() == expected.chunks.len(),
            "document {number}: {} chunks",
            chunks.len()
        );
        for (place, (found, expected)) in chunks.iter().zip(&expected.chunks).enumerate() {
            ensure!(
                found == expected,
                "document {number}, chunk {place} is {found:?}, expected {expected:?}"
            );
        }
        let space = self.view.snapshot().active_space().map(|space| space.id);
        for chunk in &chunks {
            let found = space
                .map(|space| rows.vector(space, chunk.content_hash))
                .transpose()?;
            ensure!(
                found.flatten().as_ref() == expected.vectors.get(&chunk.content_hash),
                "document {number}, chunk #{} has another vector",
                chunk.suffix
            );
        }
        Ok(())
    }

    pub(super) fn concept_rows(&self, name: &str) -> Result<()> {
        let rows = self.view.snapshot().rows();
        let mut expected = self.contributions.concept(name, &self.ids);
        // The model does not know how the first document spells a name.
        let is_edited = !self.model.edits.is_empty();
        let written = |name: &mut String| {
            if is_edited {
                *name = name.to_lowercase();
            }
        };
        written(&mut expected.name);
        let Some(id) = rows.concept_id(name)? else {
            ensure!(expected.document_count == 0, "concept {name} is not there");
            return Ok(());
        };
        let mut found = rows.concept(id)?;
        found.iter_mut().for_each(|found| written(&mut found.name));
        match found {
            Some(found) if found == expected => {}
            None if expected.document_count == 0 => {}
            found => bail!("concept {name} is {found:?}, expected {expected:?}"),
        }
        Ok(())
    }

    fn relation_rows(&self) -> Result<()> {
        let rows = self.view.snapshot().rows();
        let names = self.relation_names();
        let found = rows.count(Table::Relations)?;
        ensure!(
            found == names.len() as u64,
            "{found} relations, expected {}",
            names.len()
        );
        for name in names {
            let source = rows
                .concept_id(&name.0)?
                .context("a relation without its source")?;
            let target = rows
                .concept_id(&name.1)?
                .context("a relation without its target")?;
            let key = keys::relation(source, target, &name.2);
            let found: Option<RelationRecord> = read(rows, Table::Relations, &key)?;
            let expected = self.contributions.relation(name);
            ensure!(
                found.as_ref() == Some(&expected),
                "relation {name:?} is {found:?}, expected {expected:?}"
            );
        }
        Ok(())
    }

    /// Which documents and how many chunks are alive in segments.
    pub(super) fn segments(&self) -> Result<()> {
        let segments = self.view.snapshot().segments();
        let with_chunks = self
            .model
            .documents
            .iter()
            .filter(|(_, d)| !d.chunks.is_empty());
        let expected: BTreeSet<u64> = with_chunks.map(|(number, _)| self.ids[number]).collect();
        let found: Vec<u64> = segments
            .iter()
            .flat_map(OpenSegment::live_documents)
            .map(|id| id.0)
            .collect();
        let distinct: BTreeSet<u64> = found.iter().copied().collect();
        ensure!(
            distinct == expected && found.len() == distinct.len(),
            "alive in segments: {found:?}, expected {expected:?}"
        );
        let live = |segment: &OpenSegment| u64::from(segment.chunk_count) - segment.dead.len();
        let live: u64 = segments.iter().map(live).sum();
        ensure!(
            live == self.model.chunk_count(),
            "{live} chunks are alive in segments"
        );
        Ok(())
    }

    /// Which works are cited, by which chunks, and which of them are stored.
    pub(super) fn citations(&self) -> Result<()> {
        let mut expected: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
        for document in self.model.documents.values() {
            for of in &document.lists {
                expected.entry(of.clone()).or_default();
            }
            for (place, of) in &document.cites {
                let by = expected.entry(of.clone()).or_default();
                *by.entry(&document.keys[*place]).or_default() += 1;
            }
        }
        let works = self.view.works(|_| true)?.len();
        ensure!(
            works == expected.len(),
            "{works} works, expected {}",
            expected.len()
        );
        for number in 0..DOCUMENTS {
            let key = documents::key(number).to_string();
            let found = self.view.find_work(&key)?;
            let Some(expected) = expected.get(&key) else {
                ensure!(found.is_none(), "{key} is cited by nobody: {found:?}");
                continue;
            };
            let work = found.with_context(|| format!("{key} is cited, and not there"))?;
            let is_stored = self.model.documents.contains_key(&number);
            ensure!(
                work.document.is_some() == is_stored,
                "the work {key} is {:?}; stored: {is_stored}",
                work.document
            );
            let mut by: BTreeMap<String, usize> = BTreeMap::new();
            for cited in self.view.cited_by(work.id)? {
                *by.entry(cited.chunk).or_default() += 1;
            }
            let same = by
                .iter()
                .map(|(chunk, n)| (&chunk[..], *n))
                .eq(expected.iter().map(|(c, n)| (*c, *n)));
            ensure!(same, "{key} is cited by {by:?}, expected {expected:?}");
        }
        Ok(())
    }
}
