//! The concept graph of a store: ranked, grouped, walked, and gone with its documents.

use std::collections::BTreeSet;

use locidb::graph::{HopOptions, normalise, two_hop};
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::storage::{ConceptId, DocumentKey};
use locidb::{
    Database, EmbedderChoice, NewChunk, NewConcept, NewDocument, NewRelation, Silent, View,
};

/// A document of one passage that states relations between concepts.
fn document(key: &str, relations: &[(&str, &str)]) -> NewDocument {
    let names: BTreeSet<&str> = relations.iter().flat_map(|&(a, b)| [a, b]).collect();
    let text = names.iter().copied().collect::<Vec<_>>().join(" and ");
    let concept = |name: &&str| NewConcept {
        name: (*name).into(),
        mentions: vec![(0, 1)],
        ..NewConcept::default()
    };
    let relation = |&(source, target): &(&str, &str)| NewRelation {
        source: source.into(),
        target: target.into(),
        kind: "RELATED_TO".into(),
        weight: 1.0,
        chunks: vec![0],
        ..NewRelation::default()
    };
    NewDocument {
        record: DocumentRecord {
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: text.clone().into_bytes(),
        chunks: vec![NewChunk {
            record: ChunkRecord {
                text,
                ..ChunkRecord::default()
            },
            vector: None,
        }],
        concepts: names.iter().map(concept).collect(),
        relations: relations.iter().map(relation).collect(),
        ..NewDocument::default()
    }
}

fn store(folder: &std::path::Path) -> Database {
    let database = Database::open(folder).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    let put = |document: NewDocument| {
        database
            .write(move |tx| tx.put_document(document).map(drop))
            .unwrap();
    };
    let rivers = [("rhine", "danube"), ("danube", "elbe"), ("elbe", "rhine")];
    let metals = [("iron", "copper"), ("copper", "zinc"), ("zinc", "iron")];
    put(document("rivers", &rivers));
    put(document("metals", &metals));
    put(document("mill", &[("rhine", "iron"), ("mill", "rhine")]));
    database
}

fn id(view: &View, name: &str) -> ConceptId {
    let rows = view.snapshot().rows();
    rows.concept_id(&normalise(name)).unwrap().unwrap()
}

/// The names of those that are together with a concept at the finest level.
fn together(view: &View, name: &str) -> BTreeSet<String> {
    let communities = view.read().communities().unwrap();
    let path = communities.path(id(view, name));
    let Some(&(level, community)) = path.last() else {
        return BTreeSet::new();
    };
    let rows = view.snapshot().rows();
    let members = communities.members(level, community);
    members
        .map(|id| rows.concept(id).unwrap().unwrap().normalised)
        .collect()
}

/// What two hops from a concept reach.
fn reached(view: &View, name: &str, limit: usize) -> Vec<(ConceptId, usize)> {
    let segments = view.read().graph_segments();
    let graph = view.read().graph(&segments);
    let options = HopOptions {
        limit,
        ..HopOptions::default()
    };
    let walk = two_hop(graph, &[id(view, name)], options);
    walk.reached
        .into_iter()
        .map(|reached| (reached.concept, reached.hops))
        .collect()
}

#[test]
fn concepts_that_are_linked_are_a_community_until_their_document_goes() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let analysed = database.analyse(&Silent).unwrap();
    assert_eq!((analysed.concepts, analysed.relations), (7, 8));
    assert_eq!(analysed.communities.last(), Some(&2));
    let again = database.analyse(&Silent).unwrap();
    assert_eq!(again, analysed, "the same graph has the same communities");
    let view = database.view();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(
        together(&view, "Copper"),
        names(&["copper", "iron", "zinc"])
    );
    assert!(together(&view, "rhine").contains("elbe"));

    let key = DocumentKey::new("", "", "metals").unwrap();
    database.write(move |tx| tx.delete_document(&key)).unwrap();
    database.finish(&Silent).unwrap();
    let view = database.view();
    let communities = view.read().communities().unwrap();
    let members: BTreeSet<ConceptId> = (0..communities.level_count())
        .flat_map(|level| (0..communities.count(level) as u32).map(move |c| (level, c)))
        .flat_map(|(level, community)| communities.members(level, community))
        .collect();
    let rows = view.snapshot().rows();
    for name in ["copper", "zinc"] {
        let gone = rows.concept_id(name).unwrap();
        assert!(gone.is_none_or(|gone| !members.contains(&gone)), "{name}");
    }

    for key in ["rivers", "mill"] {
        let key = DocumentKey::new("", "", key).unwrap();
        database.write(move |tx| tx.delete_document(&key)).unwrap();
    }
    let analysed = database.analyse(&Silent).unwrap();
    assert_eq!((analysed.concepts, analysed.relations), (0, 0));
    assert!(analysed.communities.iter().all(|&count| count == 0));
}

#[test]
fn a_walk_is_the_same_whether_neighbours_are_written_down_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    database.finish(&Silent).unwrap();
    let written: Vec<_> = (1..9)
        .map(|limit| reached(&database.view(), "mill", limit))
        .collect();
    assert_eq!(written[7].len(), 5, "mill, rhine; danube, elbe, iron");
    // A document without concepts: the analysis no longer covers the segments, and its ranks stay.
    database
        .write(|tx| tx.put_document(document("other", &[])).map(drop))
        .unwrap();
    let gathered: Vec<_> = (1..9)
        .map(|limit| reached(&database.view(), "mill", limit))
        .collect();
    assert_eq!(written, gathered);
}
