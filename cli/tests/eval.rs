//! The real binary: questions of a data folder judged, two ways to ask compared.

mod common;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use common::{data_folder, db_path, json, refused, text};

/// Runs `loci eval` and reads standard output as JSON lines.
fn eval(args: &[&str]) -> Vec<Value> {
    json(0, &[&["eval"], args].concat())
}

const BIRDS: [&str; 6] = ["heron", "egret", "swift", "stork", "raven", "eagle"];

/// A folder in which each bird is asked for and has one chunk; the chunks of the first five are one document.
fn folder(path: &Path, with_parents: bool) -> String {
    let chunk = |(at, bird): (usize, &&str)| {
        let mut line =
            json!({ "id": bird, "title": "", "text": format!("The {bird} flies – and rests.") });
        if with_parents && at < 5 {
            line["parent"] = json!(0);
        }
        line.to_string()
    };
    let chunks: Vec<String> = BIRDS.iter().enumerate().map(chunk).collect();
    let query = |bird: &&str| json!({ "id": bird, "text": format!("{bird} flies") }).to_string();
    let queries: Vec<String> = BIRDS.iter().map(query).collect();
    let qrels: Vec<String> = BIRDS
        .iter()
        .map(|bird| format!("{bird}\t{bird}\t1"))
        .collect();
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("chunks.jsonl"), chunks.join("\n")).unwrap();
    fs::write(path.join("queries.jsonl"), queries.join("\n")).unwrap();
    fs::write(path.join("qrels.tsv"), qrels.join("\n")).unwrap();
    if with_parents {
        fs::write(path.join("parents.jsonl"), "{\"text\":\"birds\"}\n").unwrap();
    }
    path.display().to_string()
}

#[test]
fn means_have_intervals_and_citations_are_checked() {
    let temporary = tempfile::tempdir().unwrap();
    let data = folder(temporary.path(), true);
    let lines = eval(&[
        "--data",
        &data,
        "--strategy",
        "text,auto,staged",
        "--embedder",
        "none",
    ]);
    assert_eq!(lines.len(), 3);
    let text = &lines[0];
    assert_eq!(
        (&text["queries"], &text["recall@5"]),
        (&json!(6), &json!(1.0))
    );
    assert_eq!(
        (&text["recall@5_ci"], &text["ndcg@10_ci"]),
        (&json!([1.0, 1.0]), &json!([1.0, 1.0]))
    );
    assert_eq!(
        (&text["citation_exact"], &text["citation_resolves"]),
        (&json!(1.0), &json!(1.0))
    );
    assert!(text.get("options").is_none());

    let wrong = ["eval", "--data", &data, "--strategy", "magic"];
    refused(2, &wrong, "auto, hybrid, staged, global");
}

#[test]
fn two_option_sets_are_compared_per_question() {
    let temporary = tempfile::tempdir().unwrap();
    let data = folder(temporary.path(), false);
    let args = ["--data", &data, "--strategy", "text", "--embedder", "none"];
    let lines = eval(
        &[
            &args[..],
            &["--set", "k=5", "--against", "filter=not document = heron"],
        ]
        .concat(),
    );
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[0]["options"], json!(["k=5"]));
    assert_eq!(
        lines[1]["options"],
        json!(["k=5", "filter=not document = heron"])
    );
    let recall = lines
        .iter()
        .find(|line| line["compare"]["metric"] == "recall@5")
        .unwrap();
    let recall = &recall["compare"];
    assert_eq!((&recall["a"], &recall["b"]), (&json!(1.0), &json!(0.8333)));
    assert_eq!(recall["difference"], json!(-0.1667));
    let counts = ["better", "worse", "same"].map(|of| recall[of].as_u64().unwrap());
    assert_eq!(counts, [0, 1, 5]);
    assert_eq!(recall["ci95"], json!([-0.5, 0.0]));
    let read = text(0, &[&["eval"][..], &args, &["--against", "k=1"]].concat());
    assert!(read.contains("b - a"), "{read}");

    for wrong in ["kk=1", "k", "vector=[1]"] {
        text(2, &["eval", "--data", &data, "--against", wrong]);
    }
}

#[test]
fn recall_is_reported_by_position_and_length() {
    let temporary = tempfile::tempdir().unwrap();
    let data = folder(&temporary.path().join("parents"), true);
    let args = [
        "--strategy",
        "text",
        "--embedder",
        "none",
        "--lost-in-the-middle",
    ];
    let lines = eval(&[&["--data", &data][..], &args].concat());
    let lost = &lines[1]["lost_in_the_middle"];
    let fifths: Vec<u64> = lost["by_position"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["relevant"].as_u64().unwrap())
        .collect();
    assert_eq!(fifths, [1; 5], "the sixth is all of its document");
    assert_eq!(lost["by_position"][2]["recall@5"], 1.0);
    let lengths: u64 = lost["by_length"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| of["relevant"].as_u64().unwrap())
        .sum();
    assert_eq!(lengths, 6);
    assert!(lost.get("single_chunk_documents").is_none());

    let data = folder(&temporary.path().join("alone"), false);
    let lines = eval(&[&["--data", &data][..], &args].concat());
    let lost = &lines[1]["lost_in_the_middle"];
    assert_eq!(lost["single_chunk_documents"], true);
    assert_eq!(lost["by_position"], json!([]));
}

#[test]
fn timings_are_reported_for_each_step() {
    let temporary = tempfile::tempdir().unwrap();
    let data = folder(&temporary.path().join("data"), false);
    let db = db_path(temporary.path());
    let args = [
        "--data",
        &data,
        "--db",
        &db,
        "--strategy",
        "text",
        "--timing",
    ];
    let first = &eval(&args)[0]["timing"];
    assert!(first["file_to_queryable_s"].as_f64() > Some(0.0), "{first}");
    assert!(first["per_document_ms"].as_f64() > Some(0.0), "{first}");
    assert_eq!(first["documents"], 6);
    let again = &eval(&args)[0]["timing"];
    assert!(again.get("file_to_queryable_s").is_none(), "{again}");
    let stats = &json(0, &["stats", "--db", &db, "--items"])[0];
    assert_eq!(stats["items"]["items"], 0);
}

#[test]
fn a_data_folder_is_loaded_asked_and_judged() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(folder.path());
    let lines = json(0, &["eval", "--data", &data]);
    let by_name = |name: &str| lines.iter().find(|line| line["strategy"] == name).unwrap();
    assert_eq!(lines.len(), 5);
    assert_eq!(by_name("vector")["mrr@10"], 1.0);
    // The camel is not named in the question, the walk over the sand finds it; the other question names no concept
    // at all, and is near to some.
    assert_eq!(by_name("graph")["recall@2"], 1.0);
    let far = ["--strategy", "graph", "--set", "concept_similarity_min=1.5"];
    let far = eval(&[&["--data", &data][..], &far].concat());
    assert_eq!(far[0]["recall@2"], 0.5);
    assert_eq!(by_name("hybrid")["recall@2"], 1.0);
    assert_eq!(by_name("text")["queries"], 2);
    let db = db_path(folder.path());
    json(
        0,
        &["load", "--db", &db, "--data", &data, "--embedder", "none"],
    );
    let stats = &json(0, &["stats", "--db", &db, "--recount"])[0]["stats"];
    assert_eq!(
        (&stats["documents"], &stats["relations"]),
        (&Value::from(3), &Value::from(1))
    );
    let concept = &json(0, &["concept", "--db", &db, "sand"])[0];
    assert_eq!(concept["relations"][0]["type"], "is covered by");
}
