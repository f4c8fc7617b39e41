//! Compares one committed state of a store with a model, through all that a reader can see.
//!
//! | what | compared with |
//! | --- | --- |
//! | rows: documents, originals, chunks with their keys, contributions, merged records | the model's, field by field |
//! | counts of the manifest, live documents and chunks of the segments | the model's |
//! | text hits of a word | all leaves that contain the word; scores, while no merge is pending, with BM25 from its definition |
//! | vector hits | cosines of all vectors |
//! | filtered hits | the same, of the documents that satisfy the filter |
//! | the graph: names, mentions, edges | the contributions of the documents |
//! | hybrid hits | the union of the hits of text, vector and graph search |
//!
//! Start reading at [`ModelCheck::check_all`].

mod graph;
mod rows;
mod searches;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use locidb::DatabaseSnapshot;
use locidb::query::Searcher;
use locidb::storage::records::Level;
use locidb::storage::{ConceptId, DocumentId, keys};

use crate::documents::{self, CONCEPTS, DOCUMENTS, HEADINGS, NAMES, TAGS, TITLES, WORDS};
use crate::model::{Contributions, Document, Model, RelationName, space_name};
use crate::source::Source;

pub use searches::Filter;

/// More hits than any store here has.
const ALL: usize = 10_000;

/// One state of a store and its model.
pub struct ModelCheck<'c> {
    view: &'c DatabaseSnapshot,
    model: &'c Model,
    /// The contributions of each document.
    contributions: BTreeMap<u8, Contributions>,
    searcher: Searcher,
    /// The store's id of each document.
    ids: BTreeMap<u8, u64>,
    /// The concept of each id.
    names: BTreeMap<ConceptId, &'static str>,
}

impl<'c> ModelCheck<'c> {
    /// Makes the comparisons that quickly rule out that `view` is the state of `model`: the documents,
    /// their versions, their contributions, and the counts.
    pub fn new(view: &'c DatabaseSnapshot, model: &'c Model) -> Result<ModelCheck<'c>> {
        let mut check = ModelCheck {
            view,
            model,
            contributions: model.all_contributions(),
            searcher: Searcher::default(),
            ids: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        check.space()?;
        check.documents()?;
        check.edits()?;
        check.counts()?;
        Ok(check)
    }

    /// Compares everything.
    pub fn check_all(&self) -> Result<()> {
        self.rows()?;
        self.segments()?;
        self.graph()?;
        self.citations()?;
        for word in WORDS.iter().chain(&TITLES).chain(&HEADINGS) {
            self.word(word)?;
        }
        for (&number, document) in &self.model.documents {
            self.own_words(number, document)?;
        }
        let mut source = Source::seeded(1);
        for _ in 0..3 {
            self.near(&documents::direction(&mut source), None)?;
        }
        for tag in TAGS {
            self.filtered(tag, 1999)?;
        }
        self.level(WORDS[0], Level::Section)?;
        self.level(HEADINGS[1], Level::Section)?;
        self.hybrid(WORDS[3], CONCEPTS[1])
    }

    /// Compares rows and counts, and a few searches that `source` draws.
    pub fn check_sample(&self, source: &mut Source<'_>) -> Result<()> {
        self.segments()?;
        let numbers: Vec<u8> = self.model.documents.keys().copied().collect();
        if !numbers.is_empty() {
            let number = source.pick(&numbers);
            self.own_words(number, &self.model.documents[&number])?;
            self.document_rows(number)?;
        }
        self.word(source.pick(&WORDS))?;
        self.word(source.pick(&TITLES))?;
        self.concept_rows(source.pick(&NAMES))?;
        self.concept_graph(source.pick(&NAMES))?;
        match source.below(4) {
            0 => self.near(&documents::direction(source), None),
            1 => self.filtered(source.pick(&TAGS), 1990 + source.below(20) as i32),
            2 => self.level(source.pick(&WORDS), Level::Section),
            _ => self.hybrid(source.pick(&WORDS), source.pick(&CONCEPTS)),
        }
    }

    fn space(&self) -> Result<()> {
        let space = self.view.snapshot().active_space();
        let found = space.map(|space| space.record.model.clone());
        let expected = self.model.space.map(space_name);
        ensure!(found == expected, "space {found:?}, expected {expected:?}");
        Ok(())
    }

    /// The documents, with their records and contributions.
    fn documents(&mut self) -> Result<()> {
        let rows = self.view.snapshot().rows();
        for name in NAMES {
            self.names
                .extend(rows.concept_id(name)?.map(|id| (id, name)));
        }
        for number in 0..DOCUMENTS {
            let id = rows.document_id(&documents::key(number))?;
            match (id, self.model.documents.get(&number)) {
                (None, None) => {}
                (Some(id), Some(expected)) => {
                    let found = rows.document(id)?.context("a key without a document")?;
                    ensure!(
                        found == expected.record,
                        "document {number} is {found:?}, expected {:?}",
                        expected.record
                    );
                    self.contributions(number, id, expected)?;
                    self.ids.insert(number, id.0);
                }
                (Some(_), None) => bail!("document {number} is there, expected none"),
                (None, Some(_)) => bail!("document {number} is not there"),
            }
        }
        Ok(())
    }

    /// The contributions of a document to concepts and relations.
    fn contributions(&self, number: u8, id: DocumentId, expected: &Document) -> Result<()> {
        let rows = self.view.snapshot().rows();
        let name = |id: ConceptId| self.names.get(&id).copied().unwrap_or("?").to_string();
        let contributions = rows.concept_contributions(id)?.into_iter();
        let found: BTreeMap<_, _> = contributions
            .map(|(id, contribution)| (name(id), contribution))
            .collect();
        ensure!(
            found == expected.concepts,
            "document {number} contributes to concepts {found:?}, expected {:?}",
            expected.concepts
        );
        let mut found = BTreeMap::new();
        for (key, contribution) in rows.relation_contributions(id)? {
            let (source, target, kind) = keys::parse_relation(&key).context("a relation's key")?;
            found.insert((name(source), name(target), kind.to_string()), contribution);
        }
        ensure!(
            found == expected.relations,
            "document {number} contributes to relations {found:?}, expected {:?}",
            expected.relations
        );
        Ok(())
    }

    /// Merges and splits of concepts.
    fn edits(&self) -> Result<()> {
        let found = self.view.concept_edits()?.into_iter();
        let found: Vec<_> = found
            .map(|edit| (edit.id, edit.from, edit.into.to_lowercase(), edit.documents))
            .collect();
        let expected = self.model.edits.iter().map(|edit| {
            let numbers = edit.documents.iter().flatten();
            let mut ids: Vec<_> = numbers.map(|number| (self.ids[number], *number)).collect();
            ids.sort_unstable();
            let keys = ids.into_iter().map(|(_, n)| documents::key(n).to_string());
            (edit.id, edit.from.clone(), edit.to.clone(), keys.collect())
        });
        let expected: Vec<(u64, String, String, Vec<String>)> = expected.collect();
        ensure!(
            found == expected,
            "merges and splits are {found:?}, expected {expected:?}"
        );
        Ok(())
    }

    /// Names of the concepts with a contribution.
    fn concept_names(&self) -> BTreeSet<&String> {
        let contributions = self.contributions.values();
        contributions
            .flat_map(|(concepts, _)| concepts.keys())
            .collect()
    }

    /// Names of the relations with a contribution.
    fn relation_names(&self) -> BTreeSet<&RelationName> {
        let contributions = self.contributions.values();
        contributions
            .flat_map(|(_, relations)| relations.keys())
            .collect()
    }

    fn counts(&self) -> Result<()> {
        let manifest = self.view.snapshot().manifest();
        let found = [
            manifest.document_count,
            manifest.chunk_count,
            manifest.concept_count,
            manifest.relation_count,
        ];
        let expected = [
            self.model.documents.len() as u64,
            self.model.chunk_count(),
            self.concept_names().len() as u64,
            self.relation_names().len() as u64,
        ];
        ensure!(
            found == expected,
            "documents, chunks, concepts, relations are {found:?}, expected {expected:?}"
        );
        Ok(())
    }
}
