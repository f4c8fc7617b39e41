//! Communities of concepts, and their types.

use std::collections::BTreeMap;

use locidb::graph::normalise;
use locidb::{CommunityDigest, Error};
use serde::Serialize;

use super::Reader;

/// A community with its digest as one text.
#[derive(Debug, Serialize)]
pub struct ShownCommunity {
    /// What is known of it.
    #[serde(flatten)]
    pub digest: CommunityDigest,
    /// The digest as text.
    pub text: String,
}

/// Which communities there are.
#[derive(Debug)]
pub enum CommunityResult {
    /// The communities.
    Communities(Vec<ShownCommunity>),
    /// The store was not analysed yet.
    NotAnalysed,
    /// There is no such concept.
    UnknownConcept(String),
    /// Their digests were not written yet.
    DigestsMissing,
}

/// How many concepts are of a type.
#[derive(Debug, Serialize)]
pub struct TypeCount {
    /// As types were consolidated.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many there are.
    pub concepts: u64,
    /// Of these by how documents write it.
    pub written: BTreeMap<String, u64>,
}

impl Reader<'_> {
    /// The communities of a level (else the coarsest), or those that a concept is in. A reader must see all of the
    /// store: digests quote any document.
    pub fn communities(
        &self,
        level: Option<usize>,
        of: Option<&str>,
    ) -> Result<CommunityResult, Error> {
        let read = self.view.read_view();
        let Some(known) = read.communities() else {
            return Ok(CommunityResult::NotAnalysed);
        };
        let mut digests = Vec::new();
        if let Some(name) = of {
            let segments = read.graph_segments();
            let Some(id) = read.graph(&segments).lookup(&normalise(name)) else {
                return Ok(CommunityResult::UnknownConcept(name.to_owned()));
            };
            for (level, community) in known.path(id) {
                digests.extend(self.view.digest(level, community)?);
            }
        } else {
            let coarsest = known.level_count().saturating_sub(1);
            let level = level.unwrap_or(coarsest);
            digests = self.view.digests(level)?;
            if digests.is_empty() && known.count(level) > 0 {
                return Ok(CommunityResult::DigestsMissing);
            }
        }
        let shown = digests.into_iter().map(|digest| ShownCommunity {
            text: digest.text(),
            digest,
        });
        Ok(CommunityResult::Communities(shown.collect()))
    }

    /// How many concepts are of each type, the most frequent first.
    pub fn types(&self) -> Result<Vec<TypeCount>, Error> {
        let map = self.view.type_map()?.unwrap_or_default();
        let segments = self.view.read_view().graph_segments();
        let graph = self.view.read_view().graph(&segments);
        let mut counts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for id in graph.concept_ids() {
            let Some(concept) = self.rows().concept(id)? else {
                continue;
            };
            let consolidated = map.resolve(&concept.kind).to_owned();
            *counts
                .entry(consolidated)
                .or_default()
                .entry(concept.kind)
                .or_default() += 1;
        }
        let count = |(kind, written): (String, BTreeMap<String, u64>)| TypeCount {
            kind,
            concepts: written.values().sum(),
            written,
        };
        let mut counts: Vec<TypeCount> = counts.into_iter().map(count).collect();
        counts.sort_by_key(|of| std::cmp::Reverse(of.concepts));
        Ok(counts)
    }
}
