//! The real binary: an answer is recorded, judged, asked again after a change, and forgotten.

mod common;

use std::path::Path;

use serde_json::{Value, json};

use common::{json, refused, store, text};

/// A store of three notes about birds.
fn birds(folder: &Path) -> String {
    let notes = [
        (
            "heron.md",
            "# heron\n\nThe heron stands in the reeds. A heron waits for fish.\n",
        ),
        (
            "egret.md",
            "# egret\n\nThe egret stands beside the heron and is white.\n",
        ),
        (
            "swift.md",
            "# swift\n\nThe swift sleeps on the wing and never stands.\n",
        ),
    ];
    store(folder, &notes)
}

fn ask(db: &str, question: &str) -> Value {
    let args = ["search", "--db", db, "--strategy", "text", "--record"];
    json(0, &[&args[..], &[question]].concat()).remove(0)
}

#[test]
fn recorded_answer_gets_feedback_and_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let db = &birds(folder.path())[..];
    let answer = ask(db, "heron stands");
    assert_eq!(answer["response"], 1);
    let hits = answer["hits"].as_array().unwrap();
    let documents: Vec<&str> = hits
        .iter()
        .map(|hit| hit["document"].as_str().unwrap())
        .collect();
    assert_eq!(documents, ["heron.md", "egret.md", "swift.md"]);
    let [heron, egret, swift] = [0, 1, 2].map(|at| hits[at]["chunk"].as_str().unwrap());

    let output = json(0, &["feedback", "--db", db, "1", "1", "used"]);
    assert_eq!(
        output,
        [json!({ "response": 1, "hit": "1", "feedback": "used" })]
    );
    json(0, &["feedback", "--db", db, "1", egret, "helpful"]);
    json(0, &["feedback", "--db", db, "1", swift, "wrong"]);
    let record = &json(0, &["records", "--db", db])[0];
    assert_eq!(record["question"], "heron stands");
    assert_eq!(record["options"]["strategy"], "text");
    let feedback: Vec<&Value> = record["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["feedback"])
        .collect();
    assert_eq!(feedback, ["used", "helpful", "wrong"]);
    assert_eq!(record["hits"][0]["method"], "keyword");

    // Nothing has changed: everything is where it was.
    let replay = json(0, &["records", "--db", db, "--replay"]);
    assert_eq!(replay[0]["kept"], json!([heron, egret, swift]));
    let replay_stats = &replay[1]["replay"];
    assert_eq!(
        (&replay_stats["mrr_then"], &replay_stats["mrr_now"]),
        (&json!(0.75), &json!(0.75))
    );
    assert_eq!(replay_stats["wrong_in_5_now"], 1.0);

    // The best hit goes, and only one is asked for.
    json(0, &["delete", "--db", db, "heron.md"]);
    let args = ["records", "--db", db, "--replay", "--set", "k=1"];
    let replay = json(0, &args);
    assert_eq!(replay[0]["gone"], json!([heron]));
    assert_eq!(replay[0]["lost"], json!([swift]));
    let judged = &replay[0]["judged"];
    assert_eq!(
        judged[0],
        json!({
            "chunk": heron, "feedback": "used", "then": 1, "now": null, "gone": true,
        })
    );
    assert_eq!(
        (&judged[1]["then"], &judged[1]["now"]),
        (&json!(2), &json!(1))
    );
    let replay_stats = &replay[1]["replay"];
    assert_eq!(
        (&replay_stats["mrr_then"], &replay_stats["mrr_now"]),
        (&json!(0.5), &json!(1.0))
    );
    assert_eq!(
        (
            &replay_stats["wrong_in_5_then"],
            &replay_stats["wrong_in_5_now"]
        ),
        (&json!(1.0), &json!(0.0))
    );
    let read = text(0, &args);
    assert!(
        read.contains("0.500 → 1.000") && read.contains("used 1 → gone"),
        "{read}"
    );
}

#[test]
fn records_are_listed_newest_first_and_forgotten_by_age() {
    let folder = tempfile::tempdir().unwrap();
    let db = &birds(folder.path())[..];
    assert!(ask(db, "swift")["response"] == 1 && ask(db, "egret")["response"] == 2);
    let responses = |args: &[&str]| -> Vec<u64> {
        let lines = json(0, &[&["records", "--db", db], args].concat());
        lines
            .iter()
            .map(|line| line["response"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(responses(&[]), [2, 1]);
    assert_eq!(responses(&["--limit", "1"]), [2]);
    assert_eq!(responses(&["1"]), [1]);
    assert!(text(0, &["records", "--db", db, "1"]).contains("keyword"));
    let forget = |days| json(0, &["records", "--db", db, "--forget-before", days]);
    assert_eq!(forget("1"), [json!({ "forgotten": 0 })]);
    assert_eq!(forget("0"), [json!({ "forgotten": 2 })]);
    assert!(responses(&[]).is_empty());
    assert_eq!(ask(db, "heron")["response"], 3, "an id is given once");
    assert!(text(0, &["search", "--db", db, "heron", "--record"]).ends_with("Recorded as 4\n"));
    assert_eq!(
        json(0, &["search", "--db", db, "heron"])[0].get("response"),
        None
    );
}

#[test]
fn usage_errors_report_what_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let db = &birds(folder.path())[..];
    ask(db, "swift");
    let cases: &[(i32, &[&str], &str)] = &[
        (
            1,
            &["feedback", "--db", db, "9", "1", "used"],
            "recorded answer 9",
        ),
        (1, &["feedback", "--db", db, "1", "7", "used"], "hit 7"),
        (
            2,
            &["feedback", "--db", db, "1", "swift", "used"],
            "a rank, or a chunk's key",
        ),
        (2, &["feedback", "--db", db, "1", "1", "great"], "helpful"),
        (1, &["records", "--db", db, "9"], "search --record"),
        (
            2,
            &["records", "--db", db, "--replay", "--set", "kk=1"],
            "candidates",
        ),
        (2, &["records", "--db", db, "--set", "k=1"], "--replay"),
        (
            2,
            &["records", "--db", db, "--replay", "--forget-before", "1"],
            "--replay",
        ),
    ];
    for (status, args, says) in cases {
        refused(*status, args, says);
    }
}

#[test]
fn an_answer_in_words_is_recorded_too() {
    let folder = tempfile::tempdir().unwrap();
    let db = birds(folder.path());
    let answer = json(
        0,
        &["ask", "--db", &db, "Where do herons fish?", "--record"],
    );
    assert_eq!(answer[0]["response"], 1);
    assert_eq!(json(0, &["records", "--db", &db]).len(), 1);
    let both = ["ask", "--db", &db, "herons", "--record", "--prompt"];
    refused(2, &both, "use only one of them");
}
