//! The concepts and relations of a view as they are written.

use locidb::DatabaseSnapshot;
use locidb::graph::GraphSnapshot;
use locidb::storage::ConceptId;
use locidb::storage::records::ConceptRecord;
use locidb::storage::segment::Section;

use super::ExchangeError;

/// A concept as it is written.
pub(super) struct Node {
    pub(super) id: ConceptId,
    pub(super) record: ConceptRecord,
    pub(super) rank: f32,
}

/// A relation as it is written.
pub(super) struct Edge<'a> {
    pub(super) source: ConceptId,
    pub(super) target: ConceptId,
    pub(super) kind: &'a str,
    pub(super) weight: f32,
}

/// In the order of concepts.
pub(super) fn nodes(
    view: &DatabaseSnapshot,
    graph: GraphSnapshot<'_, Section>,
) -> Result<Vec<Node>, ExchangeError> {
    let types = view.type_map()?.unwrap_or_default();
    let mut nodes = Vec::new();
    for id in graph.concept_ids() {
        let record = view.snapshot().rows().concept(id)?;
        nodes.extend(record.map(|mut record| {
            record.kind = types.resolve(&record.kind).to_owned();
            Node {
                id,
                record,
                rank: graph.rank(id),
            }
        }));
    }
    Ok(nodes)
}

/// Outgoing relations by source, target, type.
pub(super) fn edges<'a>(graph: GraphSnapshot<'a, Section>, nodes: &[Node]) -> Vec<Edge<'a>> {
    let mut edges = Vec::new();
    for node in nodes {
        let all = graph.edges(node.id).into_iter();
        let mut own: Vec<_> = all.filter(|edge| edge.outgoing).collect();
        own.sort_by(|a, b| (a.other, a.kind).cmp(&(b.other, b.kind)));
        edges.extend(own.into_iter().map(|edge| Edge {
            source: node.id,
            target: edge.other,
            kind: edge.kind,
            weight: edge.weight,
        }));
    }
    edges
}
