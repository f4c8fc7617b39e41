//! The concept graph of a store, compared with the contributions of the model's documents.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use locidb::graph::{GraphSnapshot, RandomWalkOptions, random_walk};
use locidb::storage::segment::Section;
use locidb::storage::snapshot::ChunkPosition;
use locidb::storage::{ConceptId, Ordinal};

use super::{ALL, ModelCheck};
use crate::documents::NAMES;
use crate::model::Contributions;

/// (other end, kind) -> (document's id, chunk's place) of the evidence.
type Edges = BTreeMap<(String, String), (f64, BTreeSet<(u64, u32)>)>;

impl ModelCheck<'_> {
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
                        "{member:?} is in a community, and has no contribution"
                    );
                }
            }
        }
        Ok(())
    }

    /// Nothing is left of concepts without contributions, and walks with the stored adjacency and links equal
    /// walks without them.
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
        ensure!(known, "concepts without a contribution: {visible:?}");
        let has_contributions = self
            .contributions
            .values()
            .any(|contribution| !contribution.0.is_empty());
        ensure!(
            has_contributions || (visible.is_empty() && graph.weighted_edges().is_empty()),
            "no document contributes to concepts, and {visible:?} are visible"
        );
        for concept in visible {
            let same = graph.neighbours(concept) == plain.neighbours(concept);
            ensure!(same, "{concept:?} has other stored neighbours");
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

    pub(super) fn graph(&self) -> Result<()> {
        self.walks()?;
        NAMES.iter().try_for_each(|name| self.concept_graph(name))
    }

    /// Name, mentions and outgoing edges of a concept, as the segments have them.
    pub(super) fn concept_graph(&self, name: &str) -> Result<()> {
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

    fn place(&self, ordinal: Ordinal) -> Result<(u64, u32)> {
        let place: Option<ChunkPosition> = self.view.snapshot().position(ordinal);
        let place = place.context("an ordinal without a place")?;
        Ok((place.document.0, place.index))
    }
}
