//! Hits of text, vector, filtered and hybrid search, compared with a scan of the model.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use locidb::query::fuse::{Fusion, RankWeights};
use locidb::storage::records::Level;
use locidb::storage::snapshot::OpenSegment;
use locidb::{Answer, Expr, Hit, SearchRequest, Strategy, Walk};

use super::{ALL, ModelCheck};
use crate::documents::{self, TITLES, WORDS};
use crate::model::Document;
use crate::source::Source;

/// Chunks by key: the document, and the place there.
type Chunks<'m> = BTreeMap<&'m str, (&'m Document, usize)>;

impl<'c> ModelCheck<'c> {
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
    pub(super) fn own_words(&self, number: u8, document: &Document) -> Result<()> {
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
            document.vectors.contains_key(&content) && filter.is_none_or(|f| f.matches(document))
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
    pub(super) fn filtered(&self, tag: &str, year: i32) -> Result<()> {
        let filter = Filter { tag, year };
        let word = WORDS[(year as usize) % WORDS.len()];
        let request = SearchRequest {
            strategy: Strategy::Text,
            k: ALL,
            filter: Some(filter.expression()?),
            ..SearchRequest::new(word)
        };
        let keep = |document: &Document, place: usize| {
            filter.matches(document) && document.words[place].iter().any(|w| w == word)
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
    pub(super) fn level(&self, word: &str, level: Level) -> Result<()> {
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
    pub(super) fn hybrid(&self, word: &str, concept: &str) -> Result<()> {
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

    fn matches(&self, document: &Document) -> bool {
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
