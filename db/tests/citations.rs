//! The citation network: stubs that are filled in, edges both ways, claims, and nothing left behind.

use std::collections::{BTreeMap, BTreeSet};

use locidb::storage::records::{ChunkRecord, DocumentRecord, Intent};
use locidb::storage::{DocumentKey, Table};
use locidb::{
    Database, DatabaseSnapshot, EmbedderChoice, NewChunk, NewCitation, NewClaim, NewDocument,
    NewReference, NoProgress,
};
use proptest::prelude::*;

fn key(key: &str) -> DocumentKey {
    DocumentKey::new("", "", key).unwrap()
}

/// A paper of a section with two sentences.
fn paper(document_key: &str, title: &str, doi: Option<&str>) -> NewDocument {
    let text = "First sentence. Second sentence.";
    let chunk = |parent: Option<u32>, chars: (u64, u64)| {
        let mut record = ChunkRecord {
            parent,
            text: text[chars.0 as usize..chars.1 as usize].into(),
            ..ChunkRecord::default()
        };
        record.location.chars = chars;
        NewChunk {
            record,
            vector: None,
        }
    };
    NewDocument {
        record: DocumentRecord {
            key: document_key.into(),
            title: Some(title.into()),
            doi: doi.map(Into::into),
            ..DocumentRecord::default()
        },
        original: text.into(),
        chunks: vec![
            chunk(None, (0, 32)),
            chunk(Some(0), (0, 15)),
            chunk(Some(0), (16, 32)),
        ],
        ..NewDocument::default()
    }
}

fn reference(title: &str, doi: Option<&str>) -> NewReference {
    NewReference {
        text: format!("Somebody: {title}"),
        title: Some(title.into()),
        doi: doi.map(Into::into),
        authors: vec!["Somebody".into()],
        ..NewReference::default()
    }
}

fn citation(chunk: u32, reference: u32) -> NewCitation {
    NewCitation {
        chunk,
        reference,
        text: format!("[{}]", reference + 1),
        context: "as shown".into(),
        intent: Intent::Supports,
        ..NewCitation::default()
    }
}

fn store(folder: &std::path::Path) -> Database {
    let database = Database::open(folder).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    database
}

fn put(database: &Database, document: NewDocument) {
    database
        .write(move |tx| tx.put_document(document).map(drop))
        .unwrap();
}

fn delete(database: &Database, of: &str) {
    let key = key(of);
    database.write(move |tx| tx.delete_document(&key)).unwrap();
}

#[test]
fn stub_keeps_its_edges_when_document_is_stored_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let mut citing = paper("a", "A survey of attention models", None);
    citing.references = vec![reference("Attention is all you need", Some("10.1/ATT"))];
    citing.citations = vec![citation(1, 0), citation(2, 0)];
    put(&database, citing);
    let view = database.snapshot();
    let cites = view.citations_of(&key("a")).unwrap().unwrap();
    assert_eq!(cites.len(), 2);
    let work = cites[0].work.clone();
    assert_eq!((work.document.as_deref(), work.references), (None, 1));
    assert_eq!(
        (&cites[0].chunk[..], &cites[0].text[..], cites[0].intent),
        ("a#1", "[1]", Intent::Supports)
    );
    assert!(cites[0].created_at_ms > 0);
    let counts: Vec<u32> = view
        .snapshot()
        .rows()
        .chunks(locidb::storage::DocumentId(1))
        .unwrap()
        .iter()
        .map(|chunk| chunk.citation_count)
        .collect();
    assert_eq!(counts, [2, 1, 1], "counted for the section too");

    // Another writes the DOI otherwise, a third gives only the title: one work.
    for (of, given) in [("b", Some("https://doi.org/10.1/att")), ("c", None)] {
        let mut citing = paper(of, &format!("Paper {of} about other things"), None);
        citing.references = vec![reference("Attention Is All You Need", given)];
        citing.citations = vec![citation(1, 0)];
        put(&database, citing);
    }
    let view = database.snapshot();
    let cited_by: Vec<String> = view
        .cited_by(work.id)
        .unwrap()
        .into_iter()
        .map(|by| by.chunk)
        .collect();
    assert_eq!(cited_by, ["a#1", "a#2", "b#1", "c#1"]);

    put(
        &database,
        paper("transformer", "Attention is all you need", Some("10.1/att")),
    );
    let view = database.snapshot();
    let works = view.works_of(&key("transformer")).unwrap();
    assert_eq!((works.len(), works[0].id), (1, work.id));
    assert_eq!(works[0].document.as_deref(), Some("transformer"));
    assert_eq!(view.cited_by(work.id).unwrap().len(), 4);
    assert_eq!(
        view.find_work("10.1/att").unwrap(),
        view.find_work("attention is all you need").unwrap()
    );
    assert_eq!(view.find_work("transformer").unwrap().unwrap().id, work.id);

    delete(&database, "transformer");
    let view = database.snapshot();
    assert_eq!(view.find_work("10.1/att").unwrap().unwrap().document, None);
    assert_eq!(view.cited_by(work.id).unwrap().len(), 4);
    for of in ["a", "b", "c"] {
        delete(&database, of);
    }
    assert_no_citation_rows(&database.snapshot());
}

#[test]
fn works_merge_when_a_document_or_reference_identifies_them() {
    let title = "Attention is all you need";
    let given = [
        NewReference {
            key: Some(key("p")),
            ..NewReference::default()
        },
        reference("", Some("10.1/att")),
        NewReference {
            title: Some(title.into()),
            ..NewReference::default()
        },
    ];
    let citing = |of: &str, reference: &NewReference| {
        let mut citing = paper(of, &format!("Paper {of} about other things"), None);
        citing.references = vec![reference.clone()];
        citing.citations = vec![citation(1, 0)];
        citing
    };
    let by = |database: &Database| -> Vec<String> {
        let view = database.snapshot();
        let work = view.find_work("10.1/att").unwrap().unwrap();
        let by = view.cited_by(work.id).unwrap().into_iter();
        by.map(|by| by.chunk)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    // By the document, stored last or first.
    for is_first in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let database = store(folder.path());
        if is_first {
            put(&database, paper("p", title, Some("10.1/att")));
        }
        for (of, reference) in ["a", "b", "c"].into_iter().zip(&given) {
            put(&database, citing(of, reference));
        }
        if !is_first {
            assert_eq!(database.snapshot().works(|_| true).unwrap().len(), 3);
            put(&database, paper("p", title, Some("10.1/att")));
        }
        let works = database.snapshot().works_of(&key("p")).unwrap();
        assert_eq!((works.len(), works[0].references), (1, 3));
        assert_eq!(by(&database), ["a#1", "b#1", "c#1"]);
    }
    // By a reference that says both.
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    put(&database, citing("a", &given[1]));
    put(&database, citing("b", &given[2]));
    put(&database, citing("c", &reference(title, Some("10.1/att"))));
    assert_eq!(by(&database), ["a#1", "b#1", "c#1"]);
    for of in ["a", "b", "c"] {
        delete(&database, of);
    }
    assert_no_citation_rows(&database.snapshot());
}

#[test]
fn ambiguous_references_get_separate_works() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let mut citing = paper("a", "A survey of attention models", None);
    let of = |title: Option<&str>, year: i32| NewReference {
        title: title.map(Into::into),
        year: Some(year),
        ..NewReference::default()
    };
    citing.references = vec![
        of(None, 1999),
        of(None, 2020),
        of(Some("Attention"), 1998),
        of(Some("Attention"), 2017),
    ];
    citing.citations = (0..4).map(|at| citation(1, at)).collect();
    put(&database, citing);
    assert_eq!(database.snapshot().works(|_| true).unwrap().len(), 4);
    let count = |database: &Database| {
        let rows = database.snapshot();
        rows.snapshot()
            .rows()
            .chunk(locidb::storage::DocumentId(1), 0)
            .unwrap()
            .unwrap()
            .citation_count
    };
    assert_eq!(count(&database), 4);
    let of = key("a");
    database
        .write(move |tx| tx.set_citations(&of, vec![], vec![], vec![]))
        .unwrap();
    assert_eq!(count(&database), 0);
    assert!(database.snapshot().works(|_| true).unwrap().is_empty());
}

/// Nothing is left of documents that are gone.
fn assert_no_citation_rows(view: &DatabaseSnapshot) {
    for table in [
        Table::References,
        Table::Citations,
        Table::Claims,
        Table::ClaimsOn,
        Table::Works,
        Table::WorkIdentities,
        Table::WorkReferences,
        Table::DocumentIdentities,
        Table::DocumentWorks,
    ] {
        assert_eq!(
            view.snapshot().rows().count(table).unwrap(),
            0,
            "{}",
            table.name()
        );
    }
}

#[test]
fn stored_again_document_keeps_citation_timestamps() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let citing = |context: &str| {
        let mut citing = paper("a", "A survey of attention models", None);
        citing.references = vec![reference("Attention is all you need", None)];
        citing.citations = vec![
            NewCitation {
                created_at_ms: 7,
                ..citation(1, 0)
            },
            NewCitation {
                context: context.into(),
                ..citation(2, 0)
            },
        ];
        citing
    };
    put(&database, citing("one"));
    let times = |database: &Database| -> Vec<u64> {
        let cites = database
            .snapshot()
            .citations_of(&key("a"))
            .unwrap()
            .unwrap();
        cites.iter().map(|cites| cites.created_at_ms).collect()
    };
    let before = times(&database);
    assert_eq!(before[0], 7);
    std::thread::sleep(std::time::Duration::from_millis(3));
    put(&database, citing("one"));
    assert_eq!(times(&database), before);
    put(&database, citing("another"));
    assert!(times(&database)[1] > before[1]);
}

#[test]
fn co_cited_works_and_coupled_documents_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let titles = [
        "The first of all works",
        "The second of all works",
        "The third of all works",
    ];
    for (of, cited) in [("a", &[0, 1][..]), ("b", &[0, 1, 2]), ("c", &[2])] {
        let mut citing = paper(of, &format!("Paper {of} about other things"), None);
        citing.references = cited
            .iter()
            .map(|&at| reference(titles[at], None))
            .collect();
        citing.citations = (0..cited.len() as u32).map(|at| citation(1, at)).collect();
        put(&database, citing);
    }
    let view = database.snapshot();
    let first = view.find_work(titles[0]).unwrap().unwrap();
    let together = view.co_cited(first.id).unwrap();
    let together: Vec<_> = together
        .iter()
        .map(|(work, n)| (work.title.as_deref().unwrap(), *n))
        .collect();
    assert_eq!(together, [(titles[1], 2), (titles[2], 1)]);
    let coupled = view.coupled_documents(&key("b")).unwrap().unwrap();
    assert_eq!(coupled, [("a".to_owned(), 2), ("c".to_owned(), 1)]);
    assert_eq!(view.coupled_documents(&key("z")).unwrap(), None);
    let by = view
        .works(|work| work.authors.iter().any(|author| author == "Somebody"))
        .unwrap();
    assert_eq!(by.len(), 3);
}

#[test]
fn claims_are_listed_from_both_chunks_before_the_target_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let database = store(folder.path());
    let mut claiming = paper("a", "A reply to the other paper", None);
    claiming.claims = vec![NewClaim {
        chunk: 2,
        about: "b#1".parse().unwrap(),
        intent: Intent::Contradicts,
        confidence: 0.75,
        created_at_ms: 0,
    }];
    put(&database, claiming);
    let claims = |database: &Database| database.snapshot().claims_of(&key("a")).unwrap().unwrap();
    assert!(!claims(&database)[0].is_stored);
    put(&database, paper("b", "The other paper on this", None));
    let claim = &claims(&database)[0];
    assert!(claim.is_stored);
    assert_eq!(
        (&claim.chunk[..], claim.intent),
        ("a#2", Intent::Contradicts)
    );
    let on = database
        .snapshot()
        .claims_on(&"b#1".parse().unwrap())
        .unwrap();
    assert_eq!(&on[0], claim);
    let wrong = NewClaim {
        chunk: 3,
        about: "b#1".parse().unwrap(),
        intent: Intent::Extends,
        confidence: 1.0,
        created_at_ms: 0,
    };
    let of = key("a");
    let refused = database.write(move |tx| tx.set_citations(&of, vec![], vec![], vec![wrong]));
    assert!(refused.unwrap_err().to_string().contains("names chunk 3"));
    let of = key("a");
    assert!(
        database
            .write(move |tx| tx.set_citations(&of, vec![], vec![], vec![]))
            .unwrap()
    );
    for of in ["a", "b"] {
        delete(&database, of);
    }
    assert_no_citation_rows(&database.snapshot());
}

/// A document of few kinds: which work it is (by title, by DOI or both), and what it cites.
#[derive(Clone, Debug)]
enum Op {
    Put {
        document: u8,
        is: u8,
        cites: Vec<u8>,
    },
    Delete {
        document: u8,
    },
    Finish,
}

fn any_ops() -> impl Strategy<Value = Vec<Op>> {
    let put =
        (0u8..5, 0u8..4, prop::collection::vec(0u8..4, 0..4)).prop_map(|(document, is, cites)| {
            Op::Put {
                document,
                is,
                cites,
            }
        });
    let delete = (0u8..5).prop_map(|document| Op::Delete { document });
    prop::collection::vec(
        prop_oneof![4 => put, 2 => delete, 1 => Just(Op::Finish)],
        1..14,
    )
}

fn doi(work: u8) -> String {
    format!("10.5/{work}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_history_leaves_the_network_of_what_is_stored(ops in any_ops()) {
        let folder = tempfile::tempdir().unwrap();
        let database = store(folder.path());
        // Plainly right: (which work it is, what it cites) by document.
        let mut model: BTreeMap<u8, (u8, Vec<u8>)> = BTreeMap::new();
        for op in ops {
            match op {
                Op::Put { document, is, cites } => {
                    let mut new = paper(&format!("d{document}"), &format!("The title of paper {is}"), Some(&doi(is)));
                    new.references = cites.iter().map(|&w| reference(&format!("A title for work {w}"), Some(&doi(w)))).collect();
                    new.citations = (0..cites.len() as u32).map(|at| citation(1 + at % 2, at)).collect();
                    put(&database, new);
                    model.insert(document, (is, cites));
                }
                Op::Delete { document } => {
                    delete(&database, &format!("d{document}"));
                    model.remove(&document);
                }
                Op::Finish => {
                    database.finish(&NoProgress).unwrap();
                    database.compact(&NoProgress).unwrap();
                }
            }
            let view = database.snapshot();
            let cited: BTreeSet<u8> = model.values().flat_map(|(_, cites)| cites.clone()).collect();
            prop_assert_eq!(view.works(|_| true).unwrap().len(), cited.len());
            for work in cited {
                let found = view.find_work(&doi(work)).unwrap().unwrap();
                let is_it = model.values().any(|(is, _)| *is == work);
                prop_assert_eq!(found.document.is_some(), is_it);
                let citing: usize = model.values().map(|(_, cites)| cites.iter().filter(|w| **w == work).count()).sum();
                prop_assert_eq!(view.cited_by(found.id).unwrap().len(), citing);
                prop_assert_eq!(found.references as usize, citing);
            }
            for (document, (_, cites)) in &model {
                let found = view.citations_of(&key(&format!("d{document}"))).unwrap().unwrap();
                let mut found: Vec<String> = found.into_iter().map(|cites| cites.work.doi.unwrap()).collect();
                let mut want: Vec<String> = cites.iter().map(|&work| doi(work)).collect();
                found.sort();
                want.sort();
                prop_assert_eq!(found, want);
            }
        }
        for document in 0..5 {
            delete(&database, &format!("d{document}"));
        }
        assert_no_citation_rows(&database.snapshot());
    }
}
