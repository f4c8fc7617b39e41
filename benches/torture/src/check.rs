//! Comparing one committed state of a store with a model, by all that a reader can see of it.
//!
//! | what | compared with |
//! | --- | --- |
//! | rows: documents, originals, chunks with their keys, contributions, merged records | the model's, field by field |
//! | counts of the manifest, live documents and chunks of the segments | the model's |
//! | text hits of a word | all leaves that have the word; scores, while nothing waits for a merge, with BM25 from its definition |
//! | vector hits | cosines of all vectors |
//! | filtered hits | the same, of the documents that satisfy the filter |
//! | the graph: names, mentions, edges | what the documents say |
//! | hybrid hits | those of the arms, together |
//!
//! Start reading at [`rows`] and [`searches`].

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use locidb::graph::{GraphSnapshot, RandomWalkOptions, random_walk};
use locidb::query::Searcher;
use locidb::query::fuse::{Fusion, RankWeights};
use locidb::storage::records::{Level, RelationRecord};
use locidb::storage::rows::read;
use locidb::storage::segment::Section;
use locidb::storage::snapshot::{ChunkPosition, OpenSegment};
use locidb::storage::{ConceptId, DocumentId, Table, keys};
use locidb::{Answer, DatabaseSnapshot, Expr, Hit, SearchRequest, Strategy, Walk};

use crate::documents::{self, CONCEPTS, DOCUMENTS, HEADINGS, NAMES, TAGS, TITLES, WORDS};
use crate::model::{Contributions, Document, MergedRecords, Model, RelationName, space_name};
use crate::source::Source;

/// More hits than any store here has.
const ALL: usize = 10_000;

/// One state of a store beside the model of it.
pub struct ModelCheck<'c> {
    view: &'c DatabaseSnapshot,
    model: &'c Model,
    /// What counts as said by each document.
    contributions: BTreeMap<u8, Contributions>,
    searcher: Searcher,
    /// The store's id of each document.
    ids: BTreeMap<u8, u64>,
    /// The concept of each id.
    names: BTreeMap<ConceptId, &'static str>,
}

impl<'c> ModelCheck<'c> {
    /// Compares what finds out quickly whether `view` can be the state of `model` at all: which
    /// documents there are, in which version, what they say, and the counts.
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

    /// Which documents there are, with their records and what they say.
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

    /// What a document says of concepts and relations.
    fn contributions(&self, number: u8, id: DocumentId, expected: &Document) -> Result<()> {
        let rows = self.view.snapshot().rows();
        let name = |id: ConceptId| self.names.get(&id).copied().unwrap_or("?").to_string();
        let contributions = rows.concept_contributions(id)?.into_iter();
        let found: BTreeMap<_, _> = contributions
            .map(|(id, contribution)| (name(id), contribution))
            .collect();
        ensure!(
            found == expected.concepts,
            "document {number} says of concepts {found:?}, expected {:?}",
            expected.concepts
        );
        let mut found = BTreeMap::new();
        for (key, contribution) in rows.relation_contributions(id)? {
            let (source, target, kind) = keys::parse_relation(&key).context("a relation's key")?;
            found.insert((name(source), name(target), kind.to_string()), contribution);
        }
        ensure!(
            found == expected.relations,
            "document {number} says of relations {found:?}, expected {:?}",
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

    /// Names of the concepts that some document speaks of.
    fn concept_names(&self) -> BTreeSet<&String> {
        let contributions = self.contributions.values();
        contributions
            .flat_map(|(concepts, _)| concepts.keys())
            .collect()
    }

    /// Names of the relations that some document states.
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

    fn rows(&self) -> Result<()> {
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
    fn document_rows(&self, number: u8) -> Result<()> {
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

    fn concept_rows(&self, name: &str) -> Result<()> {
        let rows = self.view.snapshot().rows();
        let mut expected = self.contributions.concept(name, &self.ids);
        // The model does not know how the document that came first writes a name.
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
    fn segments(&self) -> Result<()> {
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
    fn citations(&self) -> Result<()> {
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

    /// Communities, where they are of the newest graph, are of concepts that are there.
    pub fn communities(&self) -> Result<()> {
        let segments = self.view.read_view().graph_segments();
        let graph = self.view.read_view().graph(&segments);
        let Some(communities) = self.view.read_view().communities() else {
            return Ok(());
        };
        for level in 0..communities.level_count() {
            for community in 0..communities.count(level) as u32 {
                for member in communities.members(level, community) {
                    ensure!(
                        graph.is_visible(member),
                        "{member:?} is in a community, and nothing is said of it"
                    );
                }
            }
        }
        Ok(())
    }

    /// Nothing is left of concepts of which nothing is said, and walks are the same by what was written down
    /// of the graph.
    fn walks(&self) -> Result<()> {
        let segments = self.view.read_view().graph_segments();
        let graph = self.view.read_view().graph(&segments);
        let plain = GraphSnapshot {
            adjacency: None,
            links: None,
            ..graph
        };
        let visible = graph.concept_ids();
        let known = visible.iter().all(|id| self.names.contains_key(id));
        ensure!(known, "concepts that no document speaks of: {visible:?}");
        let has_contributions = self.contributions.values().any(|said| !said.0.is_empty());
        ensure!(
            has_contributions || (visible.is_empty() && graph.weighted_edges().is_empty()),
            "nothing is said of concepts, and {visible:?} are there"
        );
        for concept in visible {
            let same = graph.neighbours(concept) == plain.neighbours(concept);
            ensure!(same, "{concept:?} has other neighbours written down");
            let options = RandomWalkOptions {
                relation_probability: 0.25,
                ..RandomWalkOptions::default()
            };
            let [by, plainly] = [graph, plain]
                .map(|graph| random_walk(graph, &[(concept, 1.0)], options, None, ALL));
            ensure!(by == plainly, "walks from {concept:?} differ");
        }
        Ok(())
    }

    fn graph(&self) -> Result<()> {
        self.walks()?;
        NAMES.iter().try_for_each(|name| self.concept_graph(name))
    }

    /// Name, mentions and outgoing edges of a concept, as the segments have them.
    fn concept_graph(&self, name: &str) -> Result<()> {
        let segments = self.view.read_view().graph_segments();
        let graph = self.view.read_view().graph(&segments);
        let rows = self.view.snapshot().rows();
        let (mentions, edges) = (self.mentions(name), self.edges(name));
        let incoming = |contributions: &Contributions| {
            contributions.1.keys().any(|relation| relation.1 == name)
        };
        let visible =
            !mentions.is_empty() || !edges.is_empty() || self.contributions.values().any(incoming);
        let found = graph.lookup(name);
        let id = rows.concept_id(name)?;
        if visible {
            ensure!(found == id, "the name {name} leads to {found:?}")
        } else {
            // It may be another name of something else.

            let must = self.is_synonym(name);
            ensure!(
                found.is_some() >= must && (found.is_none() || found != id),
                "the name {name} leads to {found:?}; it is not visible"
            );
        }
        let Some(id) = id else { return Ok(()) };
        let found = graph
            .chunks(id)
            .map(|(ordinal, count)| Ok((self.place(ordinal)?, count)))
            .collect::<Result<BTreeMap<_, _>>>()?;
        ensure!(
            found == mentions,
            "mentions of {name}: {found:?}, expected {mentions:?}"
        );
        let found = self.found_edges(graph, id)?;
        ensure!(
            found == edges,
            "edges of {name}: {found:?}, expected {edges:?}"
        );
        Ok(())
    }

    /// Whether something that is visible by its mentions is also called that.
    fn is_synonym(&self, name: &str) -> bool {
        let contributions = self
            .contributions
            .values()
            .flat_map(|(concepts, _)| concepts.values());
        let mut mentioned = contributions.filter(|contribution| !contribution.mentions.is_empty());
        mentioned.any(|contribution| contribution.synonyms.iter().any(|synonym| synonym == name))
    }

    /// (document's id, chunk's place) -> mentions there.
    fn mentions(&self, name: &str) -> BTreeMap<(u64, u32), u32> {
        let mut mentions = BTreeMap::new();
        for (number, (concepts, _)) in &self.contributions {
            let contribution = concepts.get(name).into_iter();
            for &(place, count) in contribution.flat_map(|contribution| &contribution.mentions) {
                mentions.insert((self.ids[number], place), count);
            }
        }
        mentions
    }

    /// (other end, kind) -> weight and evidence, of outgoing edges.
    fn edges(&self, name: &str) -> Edges {
        let mut edges = Edges::new();
        for (number, (_, relations)) in &self.contributions {
            for ((source, target, kind), contribution) in relations {
                if source == name {
                    let places = contribution
                        .chunks
                        .iter()
                        .map(|&place| (self.ids[number], place));
                    let edge = edges.entry((target.clone(), kind.clone())).or_default();
                    edge.0 += contribution.weight_micro as f64 / 1e6;
                    edge.1.extend(places);
                }
            }
        }
        edges
    }

    fn found_edges(&self, graph: GraphSnapshot<'_, Section>, id: ConceptId) -> Result<Edges> {
        let rows = self.view.snapshot().rows();
        let mut edges = Edges::new();
        for edge in graph.edges(id).into_iter().filter(|edge| edge.outgoing) {
            let other = rows.concept(edge.other)?.context("an edge to no concept")?;
            let evidence = edge.evidence.iter().map(|&chunk| self.place(chunk));
            let evidence = evidence.collect::<Result<_>>()?;
            let edge_key = (other.normalised, edge.kind.into());
            edges.insert(edge_key, (f64::from(edge.weight), evidence));
        }
        Ok(edges)
    }

    fn place(&self, ordinal: locidb::storage::Ordinal) -> Result<(u64, u32)> {
        let place: Option<ChunkPosition> = self.view.snapshot().position(ordinal);
        let place = place.context("an ordinal without a place")?;
        Ok((place.document.0, place.index))
    }

    /// The leaves that `keep` accepts.
    fn leaves(&self, keep: impl Fn(&Document, usize) -> bool) -> Chunks<'c> {
        self.chunks(|document, place| document.is_leaf(place) && keep(document, place))
    }

    /// The chunks that `keep` accepts.
    fn chunks(&self, keep: impl Fn(&Document, usize) -> bool) -> Chunks<'c> {
        let mut chunks = Chunks::new();
        for document in self.model.documents.values() {
            for place in 0..document.chunks.len() {
                if keep(document, place) {
                    chunks.insert(&document.keys[place], (document, place));
                }
            }
        }
        chunks
    }

    fn search(&self, request: &SearchRequest) -> Result<Answer> {
        let answer = self.searcher.search(self.view.read_view(), request.clone());
        answer.with_context(|| {
            format!(
                "searching {:?} by {}",
                request.question,
                request.strategy.name()
            )
        })
    }

    /// Hits are as expected: these chunks, with their texts, each once, best first.
    fn same_hits(&self, hits: &[Hit], expected: &Chunks<'_>, what: &str) -> Result<()> {
        let found: BTreeSet<&str> = hits.iter().map(|hit| &hit.chunk[..]).collect();
        let keys: BTreeSet<&str> = expected.keys().copied().collect();
        ensure!(
            found == keys && found.len() == hits.len(),
            "{what}: missing {:?}, too many {:?}, {} hits",
            keys.difference(&found).collect::<Vec<_>>(),
            found.difference(&keys).collect::<Vec<_>>(),
            hits.len()
        );
        for hit in hits {
            let (document, place) = expected[&hit.chunk[..]];
            ensure!(
                hit.text == document.chunks[place].text,
                "{what}: {} has another text",
                hit.chunk
            );
        }
        let falls = hits.windows(2).all(|pair| pair[0].score >= pair[1].score);
        ensure!(falls, "{what}: hits are not best first");
        Ok(())
    }

    /// The word that only this version of a document has.
    fn own_words(&self, number: u8, document: &Document) -> Result<()> {
        let first = (0..document.chunks.len()).find_map(|place| {
            let mut words = document.words[place].iter();
            words.find(|word| word.starts_with("zx"))
        });
        self.word(first.map_or(TITLES[usize::from(number)], |word| &word[..]))
    }

    /// A word finds the leaves that have it, and scores them by the formula.
    pub fn word(&self, word: &str) -> Result<()> {
        let request = SearchRequest {
            strategy: Strategy::Text,
            k: ALL,
            ..SearchRequest::new(word)
        };
        let has =
            |document: &Document, place: usize| document.words[place].iter().any(|w| w == word);
        let expected = self.leaves(has);
        let hits = self.search(&request)?.hits;
        self.same_hits(&hits, &expected, word)?;
        let dead = |segment: &OpenSegment| !segment.dead.is_empty();
        // Chunks that are dead count in the statistics until a merge, by design.
        if self.view.snapshot().segments().iter().any(dead) {
            return Ok(());
        }
        let scores = self.scores(word, &expected);
        for hit in &hits {
            let found = hit
                .methods
                .text
                .context("a text hit without a text score")?
                .score;
            let expected = scores[&hit.chunk[..]];
            ensure!(
                (f64::from(found) - expected).abs() <= 1e-4 * expected,
                "{word} scores {found} in {}, expected {expected}",
                hit.chunk
            );
        }
        Ok(())
    }

    /// BM25 from its definition.
    fn scores(&self, word: &str, with: &Chunks<'c>) -> BTreeMap<&'c str, f64> {
        let (mut count, mut total) = (0.0, 0.0);
        for document in self.model.documents.values() {
            for place in (0..document.chunks.len()).filter(|&place| document.is_leaf(place)) {
                count += 1.0;
                total += document.words[place].len() as f64;
            }
        }
        let df = with.len() as f64;
        let idf = ((count - df + 0.5) / (df + 0.5)).ln_1p();
        let score = |&(document, place): &(&Document, usize)| {
            let words = &document.words[place];
            let tf = words.iter().filter(|w| *w == word).count() as f64;
            let length = words.len() as f64 * count / total;
            idf * tf / (tf + 1.2 * (0.25 + 0.75 * length))
        };
        with.iter().map(|(&key, at)| (key, score(at))).collect()
    }

    /// The chunks nearest to a vector: all that have one, by their cosine.
    pub fn near(&self, query: &[f32], filter: Option<&Filter<'_>>) -> Result<()> {
        if self.model.space.is_none() {
            return Ok(());
        }
        let request = SearchRequest {
            strategy: Strategy::Vector,
            k: ALL,
            vector: Some(query.to_vec()),
            filter: filter.map(Filter::expression).transpose()?,
            ..SearchRequest::new("")
        };
        let keep = |document: &Document, place: usize| {
            let content = document.chunks[place].content_hash;
            document.vectors.contains_key(&content) && filter.is_none_or(|f| f.keeps(document))
        };
        let expected = self.leaves(keep);
        let hits = self.search(&request)?.hits;
        self.same_hits(&hits, &expected, "nearest")?;
        for hit in &hits {
            let (document, place) = expected[&hit.chunk[..]];
            let cosine = cosine(
                query,
                &document.vectors[&document.chunks[place].content_hash],
            );
            let found = hit
                .methods
                .vector
                .context("a vector hit without a score")?
                .score;
            ensure!(
                (f64::from(found) - cosine).abs() <= 1e-5,
                "{} is {found} near, expected {cosine}",
                hit.chunk
            );
        }
        Ok(())
    }

    /// A filter on metadata, beside text and beside vectors.
    fn filtered(&self, tag: &str, year: i32) -> Result<()> {
        let filter = Filter { tag, year };
        let word = WORDS[(year as usize) % WORDS.len()];
        let request = SearchRequest {
            strategy: Strategy::Text,
            k: ALL,
            filter: Some(filter.expression()?),
            ..SearchRequest::new(word)
        };
        let keep = |document: &Document, place: usize| {
            filter.keeps(document) && document.words[place].iter().any(|w| w == word)
        };
        let hits = self.search(&request)?.hits;
        self.same_hits(
            &hits,
            &self.leaves(keep),
            &format!("{word} where {filter:?}"),
        )?;
        self.near(&documents::direction(&mut Source::seeded(7)), Some(&filter))
    }

    /// A search of one level finds inner chunks too.
    fn level(&self, word: &str, level: Level) -> Result<()> {
        let request = SearchRequest {
            strategy: Strategy::Text,
            k: ALL,
            levels: vec![level],
            ..SearchRequest::new(word)
        };
        let expected = self.chunks(|document, place| {
            let has = || document.words[place].iter().any(|w| w == word);
            document.chunks[place].level == level && has()
        });
        let hits = self.search(&request)?.hits;
        self.same_hits(&hits, &expected, &format!("{word} in sections"))
    }

    /// All arms together find what each finds.
    fn hybrid(&self, word: &str, concept: &str) -> Result<()> {
        let vector = self
            .model
            .space
            .map(|_| documents::direction(&mut Source::seeded(3)));
        for walk in [Walk::Restart, Walk::Hops] {
            let request = |strategy| SearchRequest {
                strategy,
                walk,
                k: ALL,
                vector: vector.clone(),
                fusion: Some(Fusion::Rrf(RankWeights::default())),
                // What a question is only near to is for the graph alone, and moves nothing beside other arms.
                concept_similarity_min: f32::INFINITY,
                ..SearchRequest::new(format!("{word} {concept}"))
            };
            let mut expected = BTreeSet::new();
            for strategy in [Strategy::Text, Strategy::Vector, Strategy::Graph] {
                if strategy == Strategy::Vector && vector.is_none() {
                    continue;
                }
                let hits = self.search(&request(strategy))?.hits;
                expected.extend(hits.into_iter().map(|hit| hit.chunk));
            }
            let hits = self.search(&request(Strategy::Hybrid))?.hits;
            let found: BTreeSet<String> = hits.into_iter().map(|hit| hit.chunk).collect();
            // A walk with restart goes on from the best hit, and may so find more.
            let is_right = match walk {
                Walk::Restart => found.is_superset(&expected),
                Walk::Hops => found == expected,
            };
            ensure!(
                is_right,
                "{walk:?}: all arms find {found:?}, each {expected:?}"
            );
        }
        Ok(())
    }
}

/// Chunks by key: the document, and the place there.
type Chunks<'m> = BTreeMap<&'m str, (&'m Document, usize)>;

/// (other end, kind) -> (document's id, chunk's place) of the evidence.
type Edges = BTreeMap<(String, String), (f64, BTreeSet<(u64, u32)>)>;

/// A filter on metadata.
#[derive(Debug)]
pub struct Filter<'f> {
    tag: &'f str,
    year: i32,
}

impl Filter<'_> {
    fn expression(&self) -> Result<Expr> {
        Ok(Expr::parse(&format!(
            "meta.tag = {} and year < {}",
            self.tag, self.year
        ))?)
    }

    fn keeps(&self, document: &Document) -> bool {
        let tagged = document
            .record
            .metadata
            .iter()
            .any(|(_, value)| value == self.tag);
        tagged && document.record.year.is_some_and(|year| year < self.year)
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(&x, &y)| f64::from(x) * f64::from(y))
            .sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
