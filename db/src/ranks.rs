//! PageRank of concepts, replaced whole when the graph has changed.

use loci_graph::{PageRankOptions, Ranks, RanksBuilder, adjacency, pagerank};
use loci_storage::StoreError;
use loci_storage::segment::{PartBuilder, PartKind, SectionId};
use loci_storage::staging::Edit;

use crate::cores;
use crate::database::Inner;
use crate::error::Error;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::views::View;

/// Ranks the concepts of the newest view, unless its ranks are of the newest segments already.
///
/// Costs iterations × (concepts + relations).
pub(crate) fn update(inner: &Inner, progress: &dyn Progress) -> Result<(), Error> {
    let view = inner.store.view();
    let snapshot = view.snapshot();
    if is_newest(&view) || snapshot.manifest().concept_count == 0 {
        return Ok(());
    }
    if progress.report("ranking concepts", 0, 1).is_break() {
        return Err(Error::Interrupted);
    }
    let settings = Settings::read(view.rows())?;
    let segments = view.read.graph_segments();
    let graph = view.read.graph(&segments);
    let edges = graph.weighted_edges();
    let options = PageRankOptions {
        damping: settings.pagerank_damping.into(),
        iterations: settings.pagerank_iterations as usize,
    };
    let mut ranks = RanksBuilder::default();
    let concepts = graph.concept_ids();
    for (concept, rank) in cores::run(|| pagerank(concepts, &edges, options)) {
        ranks.push(concept, rank);
    }
    let mut part = PartBuilder::new(PartKind::Analysis, 0, 0);
    let ranks = ranks.finish();
    let of = Ranks::open(&ranks[..]).map_err(StoreError::view)?;
    let ends: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
    let segments = snapshot.segments().iter();
    let segments: Vec<_> = segments
        .map(|segment| (segment.id, segment.dead.len() as u32))
        .collect();
    let neighbours = adjacency(&ends, |concept| of.get(concept), &segments);
    part.push(SectionId::Adjacency, 0, neighbours);
    part.push(SectionId::Ranks, 0, ranks);
    inner.edit(vec![Edit::Analysis(part.into())])?;
    let _ = progress.report("ranking concepts", 1, 1);
    Ok(())
}

/// Whether nothing was committed after the ranks were.
fn is_newest(view: &View) -> bool {
    let snapshot = view.snapshot();
    let ranked = snapshot.analysis().map(|part| part.header().generation);
    view.read.ranks().is_some() && ranked == Some(snapshot.generation())
}
