//! Recorded answers: kept over reopening, judged, forgotten, and asked again after a change.

use std::collections::BTreeMap;
use std::path::Path;

use locidb::query::QueryError;
use locidb::storage::records::{ChunkRecord, DocumentRecord, Feedback};
use locidb::storage::{DocumentKey, ResponseId};
use locidb::{
    Database, EmbedderChoice, Error, HitRef, NewChunk, NewDocument, NoProgress, SearchRequest,
};
use proptest::prelude::*;

fn put(database: &Database, key: &str, text: &str, vector: Option<Vec<f32>>) {
    let document = NewDocument {
        record: DocumentRecord {
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: text.into(),
        chunks: vec![NewChunk {
            record: ChunkRecord {
                text: text.into(),
                ..ChunkRecord::default()
            },
            vector,
        }],
        ..NewDocument::default()
    };
    database
        .write(move |tx| tx.put_document(document).map(drop))
        .unwrap();
}

fn delete(database: &Database, key: &str) {
    let key = DocumentKey::new("", "", key).unwrap();
    assert!(database.write(move |tx| tx.delete_document(&key)).unwrap());
}

/// Three documents about herons, without vectors.
fn herons(folder: &Path) -> Database {
    let database = Database::open(folder).unwrap();
    database.use_embedder(EmbedderChoice::None).unwrap();
    for (key, text) in [
        ("a", "The heron stands in the reeds. A heron waits."),
        ("b", "A heron eats frogs and fish."),
        ("c", "The reeds are high where the heron builds its nest."),
    ] {
        put(&database, key, text, None);
    }
    database
}

fn ask(database: &Database, question: &str) -> ResponseId {
    let request = SearchRequest {
        strategy: locidb::Strategy::Text,
        ..SearchRequest::new(question)
    };
    let answer = database.search(&request).unwrap();
    database.record(&request, &answer).unwrap()
}

fn chunk(key: &str) -> HitRef {
    key.parse().unwrap()
}

#[test]
fn a_recorded_answer_has_its_question_options_and_hits() {
    let folder = tempfile::tempdir().unwrap();
    let database = herons(folder.path());
    let request = SearchRequest {
        k: 2,
        strategy: locidb::Strategy::Text,
        ..SearchRequest::new("heron reeds")
    };
    database.set("hops", "3").unwrap();
    let answer = database.search(&request).unwrap();
    let id = database.record(&request, &answer).unwrap();
    let in_force = database.settings().unwrap().over(request.clone());
    database.set("hops", "1").unwrap();
    database.close();

    let database = Database::open(folder.path()).unwrap();
    let view = database.snapshot();
    let record = view.record(id).unwrap().unwrap();
    assert_eq!(record.request(&view).unwrap(), in_force);
    assert_eq!(in_force.hops, Some(3));
    assert_eq!(
        (&record.question[..], &record.strategy[..], record.snapshot),
        ("heron reeds", "text", answer.snapshot)
    );
    let then: Vec<_> = answer
        .hits
        .iter()
        .map(|hit| (hit.rank, &hit.chunk))
        .collect();
    let recorded: Vec<_> = record
        .hits
        .iter()
        .map(|hit| (hit.rank, &hit.chunk))
        .collect();
    assert_eq!(recorded, then);
    assert!(record.hits.iter().all(|hit| hit.methods == ["text"]));
    assert_eq!(view.records(5).unwrap(), [record]);
    assert_eq!(view.record(ResponseId(99)).unwrap(), None);
}

#[test]
fn feedback_requires_an_existing_hit() {
    let folder = tempfile::tempdir().unwrap();
    let database = herons(folder.path());
    let id = ask(&database, "frogs");
    let missing = [
        (ResponseId(99), HitRef::Rank(1), "recorded answer 99"),
        (id, HitRef::Rank(0), "hit 0"),
        (id, HitRef::Rank(2), "hit 2"),
        (id, chunk("a#0"), "hit a#0 of recorded answer 1"),
    ];
    for (response, hit, says) in missing {
        let error = database
            .feedback(response, hit, Feedback::Used)
            .unwrap_err();
        assert!(matches!(error, Error::NotFound(_)), "{error:?}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let feedback = |hit, feedback| database.feedback(id, hit, feedback).unwrap();
    let stored_feedback = || database.snapshot().record(id).unwrap().unwrap().hits[0].feedback;
    feedback(chunk("b#0"), Feedback::Helpful);
    assert_eq!(stored_feedback(), Feedback::Helpful);
    feedback(HitRef::Rank(1), Feedback::None);
    assert_eq!(stored_feedback(), Feedback::None);
}

#[test]
fn replay_reports_effects_of_store_changes() {
    let folder = tempfile::tempdir().unwrap();
    let database = herons(folder.path());
    let id = ask(&database, "heron reeds");
    for (hit, feedback) in [
        ("a#0", Feedback::Used),
        ("b#0", Feedback::Wrong),
        ("c#0", Feedback::Helpful),
    ] {
        database.feedback(id, chunk(hit), feedback).unwrap();
    }
    delete(&database, "c");
    put(&database, "b", "Frogs eat flies.", None);
    put(&database, "d", "Heron, heron, reeds.", None);

    let view = database.snapshot();
    let records = view.records(usize::MAX).unwrap();
    let same = |request: &SearchRequest| Ok(request.clone());
    let replay = database.replay(&records, same, &NoProgress).unwrap();
    let replayed = &replay.records[0];
    assert_eq!(
        (&replayed.kept[..], &replayed.new[..]),
        (&["a#0".to_owned()][..], &["d#0".to_owned()][..])
    );
    assert!(replayed.lost.is_empty(), "{replayed:?}");
    let mut gone = replayed.gone.clone();
    gone.sort();
    assert_eq!(gone, ["b#0", "c#0"], "another text is another chunk");
    let of = |name: &str| replayed.judged.iter().find(|j| j.chunk == name).unwrap();
    assert!(of("c#0").gone && of("c#0").now.is_none());
    assert_eq!(of("a#0").now, Some(2));
    let figures = &replay.figures;
    assert_eq!((figures.liked, figures.wrong, figures.gone), (1, 0, 2));
    assert_eq!(figures.mrr_now, Some(0.5));

    // With one hit more room for none: what was found is lost, though stored.
    let fewer = |request: &SearchRequest| request.with("k", "1").map_err(QueryError::from);
    let replay = database.replay(&records, fewer, &NoProgress).unwrap();
    assert_eq!(replay.records[0].lost, ["a#0"]);
    assert_eq!(replay.figures.mrr_now, Some(0.0));
    let wrong = |request: &SearchRequest| request.with("kk", "1").map_err(QueryError::from);
    assert!(database.replay(&records, wrong, &NoProgress).is_err());
}

#[test]
fn recorded_vector_is_reused_only_in_its_own_space() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path()).unwrap();
    database.use_provided_vectors("given", 2).unwrap();
    put(&database, "a", "north", Some(vec![1.0, 0.0]));
    put(&database, "b", "south", Some(vec![0.0, 1.0]));
    let request = SearchRequest {
        strategy: locidb::Strategy::Vector,
        k: 1,
        vector: Some(vec![0.0, 1.0]),
        ..SearchRequest::new("where?")
    };
    let answer = database.search(&request).unwrap();
    assert_eq!(answer.hits[0].chunk, "b#0");
    database.record(&request, &answer).unwrap();
    let records = database.snapshot().records(1).unwrap();
    let same = |request: &SearchRequest| Ok(request.clone());
    let replay = database.replay(&records, same, &NoProgress).unwrap();
    assert_eq!(replay.records[0].kept, ["b#0"]);

    database.use_provided_vectors("other", 3).unwrap();
    let replay = database.replay(&records, same, &NoProgress).unwrap();
    let failed = replay.records[0].failed.as_deref().unwrap();
    assert!(failed.contains("vector"), "{failed}");
    assert_eq!((replay.figures.failed, replay.figures.lost), (1, 1));
}

/// A step of somebody who asks and judges.
#[derive(Clone, Debug)]
enum Step {
    Ask(bool),
    Judge(usize, u32, u8),
    ForgetAll,
    Reopen,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<bool>().prop_map(Step::Ask),
        4 => (0usize..6, 1u32..4, 0u8..4).prop_map(|(n, rank, kind)| Step::Judge(n, rank, kind)),
        1 => Just(Step::ForgetAll),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn records_hold_the_feedback_given(steps in prop::collection::vec(any_step(), 1..16)) {
        let folder = tempfile::tempdir().unwrap();
        let mut database = herons(folder.path());
        let mut expected: BTreeMap<u64, Vec<Feedback>> = BTreeMap::new();
        let mut newest = 0;
        for step in steps {
            match step {
                Step::Ask(wide) => {
                    let id = ask(&database, if wide { "heron" } else { "frogs" });
                    prop_assert!(id.0 > newest, "ids ascend and are not given again");
                    newest = id.0;
                    expected.insert(id.0, vec![Feedback::None; if wide { 3 } else { 1 }]);
                }
                Step::Judge(back, rank, kind) => {
                    let id = newest.saturating_sub(back as u64);
                    let feedback = Feedback::from_number(kind).unwrap();
                    let result = database.feedback(ResponseId(id), HitRef::Rank(rank), feedback);
                    let hit = expected.get_mut(&id).and_then(|hits| hits.get_mut(rank as usize - 1));
                    prop_assert_eq!(result.is_ok(), hit.is_some());
                    if let Some(hit) = hit {
                        *hit = feedback;
                    }
                }
                Step::ForgetAll => {
                    let forgotten = database.forget_records(u64::MAX).unwrap();
                    prop_assert_eq!(forgotten, expected.len() as u64);
                    expected.clear();
                }
                Step::Reopen => {
                    database.close();
                    database = Database::open(folder.path()).unwrap();
                }
            }
            let records = database.snapshot().records(usize::MAX).unwrap();
            let kept: Vec<(u64, Vec<Feedback>)> = records
                .iter()
                .map(|record| (record.response, record.hits.iter().map(|h| h.feedback).collect()))
                .collect();
            let wanted: Vec<_> = expected.clone().into_iter().rev().collect();
            prop_assert_eq!(kept, wanted);
        }
    }
}
