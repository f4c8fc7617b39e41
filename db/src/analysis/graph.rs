//! The analysis of the concept graph, replaced whole when the graph has changed: PageRank, the neighbours of
//! every concept by rank, communities, the links of walks.
//!
//! Start reading at [`update`].

use loci_graph::{
    Communities, GraphSnapshot, LeidenOptions, PageRankOptions, Ranks, RanksBuilder, adjacency,
    betweenness, communities, leiden, links, pagerank,
};
use loci_storage::segment::{PartBuilder, PartKind, Section, SectionId};
use loci_storage::staging::ManifestEdit;
use loci_storage::{ConceptId, StoreError};
use serde::Serialize;

use crate::error::Error;
use crate::progress::{self, Progress};
use crate::settings;
use crate::state::inner::Inner;
use crate::state::snapshot::DatabaseSnapshot;
use crate::thread_pool;

/// What an analysis of the concept graph found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AnalysisReport {
    /// Concepts.
    pub concepts: usize,
    /// Relations between them, counted in each segment.
    pub relations: usize,
    /// Communities by level, finest first.
    pub communities: Vec<usize>,
    /// Modularity of the communities of the coarsest level.
    pub modularity: f64,
    /// Digests of communities that were written.
    pub digests_written: usize,
    /// Digests that were there already.
    pub digests_kept: usize,
}

/// Concepts that [`central_concepts`] counts shortest paths from.
const CENTRAL_SOURCES: usize = 256;

/// A concept that shortest paths lead over.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CentralConcept {
    /// Its name.
    pub name: String,
    /// How many of the shortest paths between other concepts lead over it, as estimated from 256 of them; exact where
    /// there are no more concepts than that.
    pub betweenness: f64,
}

/// The concepts that most shortest paths between others lead over, best first; ties by id.
pub(crate) fn central_concepts(
    view: &DatabaseSnapshot,
    limit: usize,
) -> Result<Vec<CentralConcept>, Error> {
    let settings = settings::read(view.rows())?;
    let segments = view.read_view.graph_segments();
    let graph = view.read_view.graph(&segments);
    let edges = graph.weighted_edges();
    let found = betweenness([], &edges, CENTRAL_SOURCES, settings.seed);
    let mut found: Vec<_> = found.into_iter().filter(|of| of.1 > 0.0).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(limit);
    let mut central = Vec::with_capacity(found.len());
    for (id, betweenness) in found {
        let concept = view.rows().concept(id)?;
        let name = concept.map_or_else(String::new, |concept| concept.name);
        central.push(CentralConcept { name, betweenness });
    }
    Ok(central)
}

/// Analyses the newest view, unless its analysis is of the newest segments already.
pub(crate) fn update(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    let view = inner.store.latest_snapshot();
    let snapshot = view.snapshot();
    let is_empty = snapshot.manifest().concept_count == 0 && snapshot.analysis().is_none();
    if is_empty || is_newest(&view) {
        return Ok(());
    }
    analyse(inner, &view, progress).map(drop)
}

/// Analyses the graph of `view`, and publishes what comes of it.
pub(crate) fn analyse(
    inner: &Inner,
    view: &DatabaseSnapshot,
    progress: &dyn Progress,
) -> Result<AnalysisReport, Error> {
    progress::report(progress, "ranking concepts", 0, 2)?;
    let settings = settings::read(view.rows())?;
    let segments = view.read_view.graph_segments();
    let graph = view.read_view.graph(&segments);
    let edges = graph.weighted_edges();
    let concepts: Vec<ConceptId> = graph.concept_ids().into_iter().collect();
    let options = PageRankOptions {
        damping: settings.pagerank_damping.into(),
        iterations: settings.pagerank_iterations as usize,
    };
    progress::report(progress, "finding communities", 1, 2)?;
    let build_rank_sections = || RankSections::new(view, graph, &concepts, &edges, options);
    let options = LeidenOptions {
        seed: settings.seed,
        ..LeidenOptions::default()
    };
    let found = || leiden(concepts.iter().copied(), &edges, options);
    let (ranked, found) = inner.with_page_check(view, || {
        Ok(thread_pool::run(|| rayon::join(build_rank_sections, found)))
    })?;
    let (part, by_level) = build_part(ranked?, &found)?;
    inner.edit_manifest(vec![ManifestEdit::SetAnalysis(part.into())])?;
    let _ = progress.report("finding communities", 2, 2);
    Ok(AnalysisReport {
        concepts: concepts.len(),
        relations: edges.len(),
        communities: by_level,
        modularity: found.modularity,
        ..AnalysisReport::default()
    })
}

/// The sections of an analysis that follow from how concepts rank.
struct RankSections {
    ranks: Vec<u8>,
    adjacency: Vec<u8>,
    links: Vec<u8>,
}

impl RankSections {
    fn new(
        view: &DatabaseSnapshot,
        graph: GraphSnapshot<'_, Section>,
        concepts: &[ConceptId],
        edges: &[(ConceptId, ConceptId, f32)],
        options: PageRankOptions,
    ) -> Result<RankSections, StoreError> {
        let mut ranks = RanksBuilder::default();
        for (concept, rank) in pagerank(concepts.iter().copied(), edges, options) {
            ranks.push(concept, rank);
        }
        let ranks = ranks.finish();
        let of = Ranks::open(&ranks[..]).map_err(StoreError::index)?;
        let ends: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
        let placed = view.snapshot().segments().iter();
        let placed: Vec<_> = placed
            .map(|segment| (segment.id, segment.dead.len() as u32, segment.base))
            .collect();
        let segments: Vec<_> = placed.iter().map(|&(id, dead, _)| (id, dead)).collect();
        let adjacency = adjacency(&ends, |concept| of.get(concept), &segments);
        let links = links(graph, &placed);
        Ok(RankSections {
            adjacency,
            links,
            ranks,
        })
    }
}

/// The part of an analysis, and how many communities each level of it has.
fn build_part(
    ranked: RankSections,
    found: &Communities,
) -> Result<(PartBuilder, Vec<usize>), StoreError> {
    let of = Ranks::open(&ranked.ranks[..]).map_err(StoreError::index)?;
    let written = communities::write(found, |concept| of.get(concept));
    let reader = communities::CommunitiesReader::open(&written[..]).map_err(StoreError::index)?;
    let by_level = (0..reader.level_count()).map(|level| reader.count(level));
    let by_level = by_level.collect();
    let mut part = PartBuilder::new(PartKind::Analysis, 0, 0);
    part.push(SectionId::Adjacency, 0, ranked.adjacency);
    part.push(SectionId::Communities, 0, written);
    part.push(SectionId::Links, 0, ranked.links);
    part.push(SectionId::Ranks, 0, ranked.ranks);
    Ok((part, by_level))
}

/// Whether nothing was committed after the analysis was.
fn is_newest(view: &DatabaseSnapshot) -> bool {
    let snapshot = view.snapshot();
    let analysed = snapshot.analysis().map(|part| part.header().generation);
    view.read_view.communities().is_some() && analysed == Some(snapshot.generation())
}
