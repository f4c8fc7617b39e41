//! The communities of an answer: those of the question's concepts, or those of the whole store.
//!
//! Always true: only communities that have a digest are returned, without what was deleted since.
//!
//! Start reading at [`global_digests`], [`concept_digests`].

use std::collections::HashSet;

use loci_graph::{EntityLink, GraphSnapshot};
use loci_index::analysis::Analyzer;
use loci_storage::segment::Section;
use loci_storage::snapshot::ChunkPosition;
use loci_storage::{ConceptId, Ordinal};
use loci_types::answer::PartialReason;

use super::execution::Execution;
use super::question::question_vector;
use crate::error::QueryError;
use crate::ranking::fuse::Fused;
use crate::view::ReadView;
use crate::view::community::CommunityDigest;

/// Communities whose digests are compared, in their order in the store.
const COMMUNITIES_MAX: usize = 4096;

/// What digests are measured by.
#[derive(Clone, Copy)]
struct DigestQuery<'a> {
    terms: &'a [String],
    vector: Option<&'a [f32]>,
}

/// Digests that answer a question, and how many sentences those that were read lack.
struct DigestMatches {
    found: Vec<CommunityDigest>,
    missing: usize,
}

impl Execution<'_, '_> {
    pub(super) fn communities(&mut self, keep: usize, all: bool) -> Result<(), QueryError> {
        let (plan, graph, view) = (self.plan, self.graph, self.arms.view);
        let (terms, links) = (&self.question.terms, self.question.concepts());
        let analyzer = &mut self.scratch.analyzer;
        let query = DigestQuery {
            terms,
            vector: question_vector(plan, &self.embedded),
        };
        let work = || {
            if all {
                global_digests(view, query, analyzer, keep)
            } else {
                concept_digests(view, graph, links, keep)
            }
        };
        let digests = self
            .arms
            .trace
            .step("communities", work, |of| of.found.len())?;
        let mut found = digests.found;
        if digests.missing > 0 {
            let reason = PartialReason::DigestSentencesMissing(digests.missing);
            self.extras.damaged.push(reason);
        }
        if plan.request.filter.is_some() {
            // A digest covers all chunks; sentences of chunks that the filter excludes are removed.
            for digest in &mut found {
                let mut allowed = Vec::new();
                for quote in digest.sentences.drain(..) {
                    let chunk = chunk_ordinal(view, &quote.chunk)?;
                    if chunk.is_some_and(|chunk| self.arms.allows(chunk)) {
                        allowed.push(quote);
                    }
                }
                digest.sentences = allowed;
            }
            found.retain(|digest| !digest.sentences.is_empty());
        }
        if all {
            let quoted = quoted_chunks(view, &found)?;
            self.fused = self.arms.retain_allowed(quoted);
        }
        self.extras.communities = found;
        Ok(())
    }
}

/// The digests of the coarsest level that are nearest to the question, by vectors where both have one, else by the
/// share of the question's terms that they have; then by size.
fn global_digests(
    view: &ReadView,
    query: DigestQuery<'_>,
    analyzer: &mut Analyzer,
    keep: usize,
) -> Result<DigestMatches, QueryError> {
    let known = view.communities();
    let level = known.map_or(0, |known| known.level_count()).checked_sub(1);
    let (Some(known), Some(level)) = (known, level) else {
        return Err(QueryError::NoDigests);
    };
    let query_terms: HashSet<&str> = query.terms.iter().map(String::as_str).collect();
    let (mut digests, mut missing) = (Vec::new(), 0);
    for community in 0..known.count(level).min(COMMUNITIES_MAX) as u32 {
        let Some(digest) = CommunityDigest::read(view, level, community)? else {
            continue;
        };
        missing += digest.missing;
        let near = query.vector.zip(digest.vector.as_deref());
        let near = near.filter(|(a, b)| a.len() == b.len());
        let near = near.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>());
        let score = near.unwrap_or_else(|| {
            let terms: HashSet<String> = analyzer.terms(&digest.text()).into_iter().collect();
            let shared = query_terms
                .iter()
                .filter(|term| terms.contains(**term))
                .count();
            shared as f32 / query_terms.len().max(1) as f32
        });
        digests.push((score, digest));
    }
    if digests.is_empty() {
        return Err(QueryError::NoDigests);
    }
    digests.sort_by(|a, b| {
        let size = b.1.member_count.cmp(&a.1.member_count);
        b.0.total_cmp(&a.0).then(size)
    });
    digests.truncate(keep);
    let found = digests.into_iter().map(|(_, digest)| digest).collect();
    Ok(DigestMatches { found, missing })
}

/// The digests of the finest communities that the question's concepts are in: those of most of them first, then
/// those whose concepts come first.
fn concept_digests(
    view: &ReadView,
    graph: GraphSnapshot<'_, Section>,
    links: &[EntityLink],
    keep: usize,
) -> Result<DigestMatches, QueryError> {
    let mut found = Vec::new();
    let Some(known) = view.communities() else {
        return Ok(DigestMatches { found, missing: 0 });
    };
    let mut concepts: Vec<ConceptId> = links.iter().map(|link| link.concept).collect();
    graph.sort_by_rank(&mut concepts);
    let mut counted: Vec<(u32, usize)> = Vec::new();
    for community in concepts
        .iter()
        .filter_map(|&concept| known.community_of(concept, 0))
    {
        match counted.iter_mut().find(|of| of.0 == community) {
            Some(of) => of.1 += 1,
            None => counted.push((community, 1)),
        }
    }
    counted.sort_by_key(|of| std::cmp::Reverse(of.1));
    for (community, _) in counted {
        if found.len() == keep {
            break;
        }
        found.extend(CommunityDigest::read(view, 0, community)?);
    }
    let missing = found.iter().map(|digest| digest.missing).sum();
    Ok(DigestMatches { found, missing })
}

/// The chunks that digests quote, in the order of the digests.
fn quoted_chunks(view: &ReadView, digests: &[CommunityDigest]) -> Result<Vec<Fused>, QueryError> {
    let mut found: Vec<Fused> = Vec::new();
    for (place, digest) in digests.iter().enumerate() {
        for quote in &digest.sentences {
            let Some(ordinal) = chunk_ordinal(view, &quote.chunk)? else {
                continue;
            };
            if found.iter().all(|known| known.ordinal != ordinal) {
                found.push(Fused {
                    ordinal,
                    score: 1.0 / (place + 1) as f32,
                    text: None,
                    vector: None,
                    graph: None,
                });
            }
        }
    }
    Ok(found)
}

/// The chunk with this public key, where it is alive.
fn chunk_ordinal(view: &ReadView, key: &str) -> Result<Option<Ordinal>, QueryError> {
    let Ok(key) = key.parse() else {
        return Ok(None);
    };
    let found = view.snapshot().rows().find_chunk(&key)?;
    let place = found.map(|(document, index)| ChunkPosition { document, index });
    Ok(place.and_then(|place| view.snapshot().ordinal(place)))
}
