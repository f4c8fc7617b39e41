//! The concept graph of a store: ranked, grouped, walked, and gone with its documents.

use std::collections::BTreeSet;

use locidb::graph::{HopOptions, normalise, two_hop};
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::storage::{ConceptId, DocumentKey, Table};
use locidb::{
    Database, DatabaseSnapshot, EmbedderChoice, NewChunk, NewConcept, NewDocument, NewItem,
    NewRelation, NoProgress, Progress,
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

fn id(view: &DatabaseSnapshot, name: &str) -> ConceptId {
    let rows = view.snapshot().rows();
    rows.concept_id(&normalise(name)).unwrap().unwrap()
}

/// The names of those that are together with a concept at the finest level.
fn community_members(view: &DatabaseSnapshot, name: &str) -> BTreeSet<String> {
    let communities = view.read_view().communities().unwrap();
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
fn reached(view: &DatabaseSnapshot, name: &str, limit: usize) -> Vec<(ConceptId, usize)> {
    let segments = view.read_view().graph_segments();
    let graph = view.read_view().graph(&segments);
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
fn linked_concepts_form_a_community_until_their_document_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let analysed = database.analyse(&NoProgress).unwrap();
    assert_eq!((analysed.concepts, analysed.relations), (7, 8));
    assert_eq!(analysed.communities.last(), Some(&2));
    let again = database.analyse(&NoProgress).unwrap();
    assert_eq!(
        (again.modularity, &again.communities, again.digests_kept),
        (
            analysed.modularity,
            &analysed.communities,
            analysed.digests_written
        ),
        "the same graph has the same communities"
    );
    let view = database.snapshot();
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(
        community_members(&view, "Copper"),
        names(&["copper", "iron", "zinc"])
    );
    assert!(community_members(&view, "rhine").contains("elbe"));

    let key = DocumentKey::new("", "", "metals").unwrap();
    database.write(move |tx| tx.delete_document(&key)).unwrap();
    database.finish(&NoProgress).unwrap();
    let view = database.snapshot();
    let communities = view.read_view().communities().unwrap();
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
    let analysed = database.analyse(&NoProgress).unwrap();
    assert_eq!((analysed.concepts, analysed.relations), (0, 0));
    assert!(analysed.communities.iter().all(|&count| count == 0));
}

#[test]
fn walk_is_the_same_with_and_without_stored_adjacency() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    database.finish(&NoProgress).unwrap();
    let written: Vec<_> = (1..9)
        .map(|limit| reached(&database.snapshot(), "mill", limit))
        .collect();
    assert_eq!(written[7].len(), 5, "mill, rhine; danube, elbe, iron");
    // A document without concepts: the analysis no longer covers the segments, and its ranks stay.
    database
        .write(|tx| tx.put_document(document("other", &[])).map(drop))
        .unwrap();
    let gathered: Vec<_> = (1..9)
        .map(|limit| reached(&database.snapshot(), "mill", limit))
        .collect();
    assert_eq!(written, gathered);
}

/// What the store says of a concept: mentions, and the other ends of its relations by weight.
fn concept_edges(view: &DatabaseSnapshot, name: &str) -> Option<(usize, Vec<(String, f32)>)> {
    let segments = view.read_view().graph_segments();
    let graph = view.read_view().graph(&segments);
    let id = graph.lookup(&normalise(name))?;
    let rows = view.snapshot().rows();
    let others = graph.edges(id).into_iter().map(|edge| {
        let other = rows.concept(edge.other).unwrap().unwrap();
        (other.normalised, edge.weight)
    });
    let mut others: Vec<_> = others.collect();
    others.sort_by(|a, b| a.0.cmp(&b.0));
    Some((graph.chunk_count(id), others))
}

#[test]
fn merge_moves_mentions_relations_and_items_and_can_be_undone() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let put = |document: NewDocument| {
        database
            .write(move |tx| tx.put_document(document).map(drop))
            .unwrap();
    };
    put(document(
        "rivers again",
        &[("rhein", "danube"), ("rhein", "main")],
    ));
    let item = NewItem {
        concept: Some("rhein".into()),
        ..NewItem::default()
    };
    let item = database.write(|tx| tx.put_item(item)).unwrap();
    let before: Vec<_> = ["rhine", "rhein", "danube", "main"]
        .map(|name| concept_edges(&database.snapshot(), name))
        .into();
    let edit = database
        .write(|tx| tx.merge_concepts("Rhein", "Rhine"))
        .unwrap();
    let merged = concept_edges(&database.snapshot(), "rhine").unwrap();
    let others = ["danube", "elbe", "iron", "main", "mill"].map(ToOwned::to_owned);
    assert_eq!(merged.0, 3);
    let found: BTreeSet<_> = merged.1.iter().map(|other| other.0.clone()).collect();
    assert_eq!(found, BTreeSet::from(others));
    assert_eq!(
        concept_edges(&database.snapshot(), "rhein"),
        Some(merged),
        "by its other name"
    );
    let view = database.snapshot();
    let rows = view.snapshot().rows();
    assert_eq!(rows.items_of_concept(id(&view, "rhine")).unwrap(), [item]);
    let record = rows.concept(id(&view, "rhine")).unwrap().unwrap();
    assert_eq!((record.mention_count, record.document_count), (3, 3));
    assert_eq!(
        (&record.name[..], &record.synonyms[..]),
        ("rhine", &["rhein".to_owned()][..])
    );

    // What is said later counts too.
    put(document("more rivers", &[("rhein", "neckar")]));
    assert_eq!(concept_edges(&database.snapshot(), "rhine").unwrap().0, 4);
    let key = DocumentKey::new("", "", "more rivers").unwrap();
    database.write(move |tx| tx.delete_document(&key)).unwrap();

    let again = database.write(|tx| tx.merge_concepts("rhine", "rhein"));
    assert!(again.is_err(), "they are one");
    assert!(
        database
            .write(move |tx| tx.undo_concept_edit(edit))
            .unwrap()
    );
    assert!(
        !database
            .write(move |tx| tx.undo_concept_edit(edit))
            .unwrap()
    );
    let after: Vec<_> = ["rhine", "rhein", "danube", "main"]
        .map(|name| concept_edges(&database.snapshot(), name))
        .into();
    assert_eq!(after, before);
    let (stats, counted) = database.recount().unwrap();
    assert_eq!(counted.differences(&stats), Vec::<String>::new());
}

#[test]
fn split_separates_two_concepts_with_one_name() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let key = |key: &str| DocumentKey::new("", "", key).unwrap();
    let none = database.write(move |tx| tx.split_concept("iron", &[key("rivers")], "iron (tool)"));
    assert!(none.unwrap_err().to_string().contains("does not mention"));
    let edit = database
        .write(move |tx| tx.split_concept("iron", &[key("mill")], "Iron (tool)"))
        .unwrap();
    let view = database.snapshot();
    let related = |name: &str| {
        let (_, others) = concept_edges(&view, name).unwrap();
        others.into_iter().map(|other| other.0).collect::<Vec<_>>()
    };
    assert_eq!(related("iron"), ["copper", "zinc"]);
    assert_eq!(related("Iron (tool)"), ["rhine"]);
    let record = view.snapshot().rows().concept(id(&view, "iron tool"));
    assert_eq!(record.unwrap().unwrap().name, "Iron (tool)");
    let edits = view.concept_edits().unwrap();
    assert_eq!(edits.len(), 1);
    assert_eq!(
        (
            &edits[0].from[..],
            &edits[0].into[..],
            &edits[0].documents[..]
        ),
        ("iron", "Iron (tool)", &["mill".to_owned()][..])
    );
    let back = database.write(|tx| tx.merge_concepts("iron tool", "iron"));
    assert!(back.unwrap_err().to_string().contains("undo"));

    // It goes with the document, and comes back only where that is said again.
    database
        .write(move |tx| tx.delete_document(&key("mill")))
        .unwrap();
    assert_eq!(concept_edges(&database.snapshot(), "iron tool"), None);
    database
        .write(move |tx| tx.undo_concept_edit(edit))
        .unwrap();
    database.finish(&NoProgress).unwrap();
    database.compact(&NoProgress).unwrap();
    let view = database.snapshot();
    assert_eq!(
        view.snapshot().rows().concept_id("iron tool").unwrap(),
        None
    );
    assert_eq!(concept_edges(&view, "iron").unwrap().0, 1);
}

/// Writes of rows of digests, and the texts of those of the coarsest level.
fn digests(database: &Database) -> (usize, usize, Vec<String>) {
    let analysed = database.analyse(&NoProgress).unwrap();
    let view = database.snapshot();
    let levels = view.read_view().communities().unwrap().level_count();
    let digests = view.digests(levels.saturating_sub(1)).unwrap();
    let texts = digests.iter().map(locidb::CommunityDigest::text).collect();
    (analysed.digests_written, analysed.digests_kept, texts)
}

#[test]
fn digest_is_rewritten_only_when_community_or_sentences_change() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let (written, unchanged, texts) = digests(&database);
    assert!(written > 0 && unchanged == 0);
    let rivers = texts.iter().find(|text| text.contains("danube")).unwrap();
    assert!(rivers.contains("danube related to elbe"), "{rivers}");
    assert!(rivers.contains(" danube and elbe and rhine"), "{rivers}");
    let view = database.snapshot();
    let digest = view.digests(0).unwrap().remove(0);
    let quote = &digest.sentences[0];
    let chunk = quote.chunk.parse().unwrap();
    let (of, place) = view.snapshot().rows().find_chunk(&chunk).unwrap().unwrap();
    let record = view.snapshot().rows().chunk(of, place).unwrap().unwrap();
    let (start, end) = quote.citation.chars;
    assert_eq!(record.text[start as usize..end as usize], quote.text);
    assert_eq!(
        digests(&database),
        (0, written, texts.clone()),
        "all are there"
    );

    // The same members, in a document of other words: only what quotes it is written anew.
    let rivers = [("rhine", "danube"), ("danube", "elbe"), ("elbe", "rhine")];
    let mut other = document("rivers", &rivers);
    other.chunks[0].record.text = "The rhine, the danube and the elbe are rivers.".into();
    other.original = other.chunks[0].record.text.clone().into_bytes();
    database
        .write(move |tx| tx.put_document(other).map(drop))
        .unwrap();
    let stale = database.snapshot().digests(0).unwrap();
    let stale = stale.iter().flat_map(|digest| &digest.sentences);
    assert!(
        stale
            .into_iter()
            .all(|quote| quote.text != "danube and elbe and rhine")
    );
    let (again, same, texts) = digests(&database);
    assert_eq!(again + same, written);
    assert!(again > 0 && same > 0, "{again} {same}");
    assert!(
        texts.iter().any(|text| text.contains("elbe are rivers.")),
        "{texts:?}"
    );

    for key in ["rivers", "metals", "mill"] {
        let key = DocumentKey::new("", "", key).unwrap();
        database.write(move |tx| tx.delete_document(&key)).unwrap();
    }
    assert_eq!(digests(&database), (0, 0, Vec::new()));
    let rows = database.snapshot();
    assert_eq!(rows.snapshot().rows().count(Table::Digests).unwrap(), 0);
}

/// Stops after so many steps.
struct StopAfter(std::sync::atomic::AtomicUsize);

impl Progress for StopAfter {
    fn report(&self, step: &str, _: u64, _: u64) -> std::ops::ControlFlow<()> {
        let left = &self.0;
        let is_last = step == "writing digests"
            && left.fetch_sub(1, std::sync::atomic::Ordering::Relaxed) == 1;
        if is_last {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    }
}

#[test]
fn interrupted_digest_update_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    let names: Vec<String> = (0..300).map(|n| format!("thing{n}")).collect();
    let triangles = names.chunks(3).map(|of| {
        let [a, b, c] = [0, 1, 2].map(|at| &of[at][..]);
        document(a, &[(a, b), (b, c), (c, a)])
    });
    let triangles: Vec<NewDocument> = triangles.collect();
    let put = move |tx: &mut locidb::WriteTransaction<'_, '_>| {
        for triangle in triangles {
            tx.put_document(triangle)?;
        }
        Ok(())
    };
    database.write(put).unwrap();
    let stopped = database.analyse(&StopAfter(2.into()));
    assert!(matches!(stopped, Err(locidb::Error::Interrupted)));
    let analysed = database.analyse(&NoProgress).unwrap();
    assert_eq!(analysed.digests_written + analysed.digests_kept, 100);
    assert_eq!(analysed.digests_kept, 64);
}
