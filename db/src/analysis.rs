//! The analysis of the concept graph, replaced whole when the graph has changed: PageRank, the neighbours of
//! every concept by rank, communities.
//!
//! Start reading at [`update`].

use loci_graph::{
    Communities, GraphView, LeidenOptions, PageRankOptions, Ranks, RanksBuilder, adjacency,
    communities, leiden, links, pagerank,
};
use loci_storage::segment::{PartBuilder, PartKind, Section, SectionId};
use loci_storage::staging::Edit;
use loci_storage::{ConceptId, StoreError};
use serde::Serialize;

use crate::cores;
use crate::database::{Database, Inner};
use crate::error::Error;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::views::View;

/// What an analysis of the concept graph found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Analysed {
    /// Concepts.
    pub concepts: usize,
    /// Relations between them, in each segment that states one.
    pub relations: usize,
    /// Communities by level, finest first.
    pub communities: Vec<usize>,
    /// Modularity of the communities of the coarsest level.
    pub modularity: f64,
}

impl Database {
    /// Analyses the concept graph, whether it has changed or not: PageRank, and communities by Leiden.
    /// [`Database::finish`] does the same where the graph has changed.
    ///
    /// Costs some ten passes over all relations; searches and writes go on meanwhile.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so.
    pub fn analyse(&self, progress: &dyn Progress) -> Result<Analysed, Error> {
        let inner = self.inner();
        let _turn = inner.switching.lock();
        analyse(inner, &inner.store.view(), progress)
    }
}

/// Analyses the newest view, unless its analysis is of the newest segments already.
pub(crate) fn update(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    let view = inner.store.view();
    let snapshot = view.snapshot();
    let is_empty = snapshot.manifest().concept_count == 0 && snapshot.analysis().is_none();
    if is_empty || is_newest(&view) {
        return Ok(());
    }
    analyse(inner, &view, progress).map(drop)
}

fn analyse(inner: &Inner, view: &View, progress: &dyn Progress) -> Result<Analysed, Error> {
    go_on(progress, "ranking concepts", 0)?;
    let settings = Settings::read(view.rows())?;
    let segments = view.read.graph_segments();
    let graph = view.read.graph(&segments);
    let edges = graph.weighted_edges();
    let concepts: Vec<ConceptId> = graph.concept_ids().into_iter().collect();
    let options = PageRankOptions {
        damping: settings.pagerank_damping.into(),
        iterations: settings.pagerank_iterations as usize,
    };
    let mut ranks = RanksBuilder::default();
    let of_graph = || pagerank(concepts.iter().copied(), &edges, options);
    for (concept, rank) in cores::run(of_graph) {
        ranks.push(concept, rank);
    }
    let ranks = ranks.finish();
    go_on(progress, "finding communities", 1)?;
    let options = LeidenOptions {
        seed: settings.seed,
        ..LeidenOptions::default()
    };
    let of_graph = || leiden(concepts.iter().copied(), &edges, options);
    let found = cores::run(of_graph);
    let (part, by_level) = part(view, graph, ranks, &edges, &found)?;
    inner.edit(vec![Edit::Analysis(part.into())])?;
    let _ = progress.report("finding communities", 2, 2);
    Ok(Analysed {
        concepts: concepts.len(),
        relations: edges.len(),
        communities: by_level,
        modularity: found.modularity,
    })
}

/// The part of an analysis, and how many communities each level of it has.
fn part(
    view: &View,
    graph: GraphView<'_, Section>,
    ranks: Vec<u8>,
    edges: &[(ConceptId, ConceptId, f32)],
    found: &Communities,
) -> Result<(PartBuilder, Vec<usize>), StoreError> {
    let of = Ranks::open(&ranks[..]).map_err(StoreError::view)?;
    let rank = |concept| of.get(concept);
    let ends: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
    let placed = view.snapshot().segments().iter();
    let placed: Vec<_> = placed
        .map(|segment| (segment.id, segment.dead.len() as u32, segment.base))
        .collect();
    let segments: Vec<_> = placed.iter().map(|&(id, dead, _)| (id, dead)).collect();
    let neighbours = adjacency(&ends, rank, &segments);
    let written = communities::write(found, rank);
    let reader = communities::CommunitiesReader::open(&written[..]).map_err(StoreError::view)?;
    let by_level = (0..reader.level_count()).map(|level| reader.count(level));
    let by_level = by_level.collect();
    let mut part = PartBuilder::new(PartKind::Analysis, 0, 0);
    part.push(SectionId::Adjacency, 0, neighbours);
    part.push(SectionId::Communities, 0, written);
    part.push(SectionId::Links, 0, links(graph, &placed));
    part.push(SectionId::Ranks, 0, ranks);
    Ok((part, by_level))
}

fn go_on(progress: &dyn Progress, step: &str, done: u64) -> Result<(), Error> {
    match progress.report(step, done, 2).is_break() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    }
}

/// Whether nothing was committed after the analysis was.
fn is_newest(view: &View) -> bool {
    let snapshot = view.snapshot();
    let analysed = snapshot.analysis().map(|part| part.header().generation);
    view.read.communities().is_some() && analysed == Some(snapshot.generation())
}
