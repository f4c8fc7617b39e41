//! `loci bench` over a whole store, by the real binary: which lines there are, and that answers are right.
//!
//! Never how long anything takes.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

/// Chunks, each with a word of its own, a concept, and a vector along an axis of its own.
const CHUNKS: usize = 24;
/// Chunks of a parent.
const FAN: usize = 4;

fn word(n: usize) -> String {
    let letters = ["ba", "de", "fi", "go", "lu"];
    [letters[n / 5 % 5], letters[n % 5], "rn"].concat()
}

/// A folder as `peers/export.py` writes it. The question of each chunk has its word, vector and concept.
fn write(folder: &Path) {
    let put = |name: &str, text: String| fs::write(folder.join(name), text).unwrap();
    let lines = |count: usize, line: &dyn Fn(usize) -> String| -> String {
        (0..count).map(|n| line(n) + "\n").collect()
    };
    let text = |n: usize| format!("Here {} stands beside {}.", word(n), word((n + 1) % CHUNKS));
    let chunk = |n: usize| {
        json!({"id": format!("c{n}"), "title": word(n), "text": text(n), "parent": n / FAN})
            .to_string()
    };
    put("chunks.jsonl", lines(CHUNKS, &chunk));
    let parent = |n: usize| json!({"text": format!("Section {n}")}).to_string();
    put("parents.jsonl", lines(CHUNKS / FAN, &parent));
    put(
        "entities.jsonl",
        lines(CHUNKS, &|n| json!({"name": word(n)}).to_string()),
    );
    put("mentions.tsv", lines(CHUNKS, &|n| format!("{n}\t{n}")));
    let next = |n: usize| format!("{n}\t{}\t1", (n + 1) % CHUNKS);
    put("relations.tsv", lines(CHUNKS, &next));
    let query = |n: usize| {
        json!({"id": format!("q{n}"), "text": format!("Where does {} stand?", word(n)),
            "terms": ["where", "does", word(n), "stand"], "seeds": [n]})
        .to_string()
    };
    put("queries.jsonl", lines(CHUNKS, &query));
    put("qrels.tsv", lines(CHUNKS, &|n| format!("{n}\t{n}\t1")));
    put("meta.json", json!({"k_leg": 20}).to_string());
    let axis = |n: usize| (0..CHUNKS).map(move |at| f32::from(u8::from(at == n)));
    let axes = (0..CHUNKS).flat_map(axis).flat_map(f32::to_le_bytes);
    let axes: Vec<u8> = axes.collect();
    fs::write(folder.join("vectors.f32"), &axes).unwrap();
    fs::write(folder.join("queries.f32"), &axes).unwrap();
}

/// The lines of a measurement, each with what all lines say.
fn bench(task: &str, more: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let path = folder.path().display().to_string();
    let args = [&["bench", "--data", &path, "--task", task], more].concat();
    let output = Command::cargo_bin("loci")
        .unwrap()
        .args(&args)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    for line in &lines {
        assert_eq!(
            (&line["task"], &line["system"]),
            (&json!(task), &json!("loci"))
        );
        assert!(
            line["set"].is_string() && line["result"].is_string(),
            "{line}"
        );
    }
    lines
}

fn numbers(line: &Value, names: &[&str]) {
    for name in names {
        let number = line[name].as_f64();
        assert!(
            number.is_some_and(|number| number > 0.0),
            "{name} of {line}"
        );
    }
}

const LATENCY: [&str; 7] = [
    "p50_ms", "p95_ms", "p99_ms", "mean_ms", "samples", "qps", "cpu_ms",
];

#[test]
fn a_hybrid_question_is_measured_whole_and_by_leg() {
    let lines = bench("hybrid", &["--threads", "2"]);
    let (whole, legs) = lines.split_first().unwrap();
    assert_eq!(whole["result"], "hybrid");
    numbers(whole, &LATENCY);
    assert_eq!(
        (&whole["threads"], &whole["n"]),
        (&json!(2), &json!(CHUNKS))
    );
    assert_eq!(
        (&whole["recall10"], &whole["judged"]),
        (&json!(1.0), &json!(CHUNKS))
    );
    assert!(whole["ndcg10"].as_f64().unwrap() > 0.5);
    for name in ["vector", "text", "graph", "fetch"] {
        assert!(legs.iter().any(|leg| leg["leg"] == name), "{name}");
    }
    for leg in legs {
        assert_eq!(leg["result"], "leg");
        numbers(leg, &LATENCY);
    }
}

#[test]
fn a_load_tells_time_disk_and_memory() {
    let lines = bench("load", &["--limit", "8"]);
    let [line] = &lines[..] else {
        panic!("{lines:?}")
    };
    numbers(
        line,
        &[
            "load_s",
            "chunks_per_s",
            "disk_bytes",
            "disk_over_raw",
            "cpu_s",
        ],
    );
    assert_eq!((&line["n"], &line["result"]), (&json!(8), &json!("load")));
    assert!(line["first_hits"].as_u64().unwrap() > 0);
    if cfg!(target_os = "linux") {
        numbers(line, &["peak_rss_mib"]);
    }
}

#[test]
fn fresh_processes_open_the_store_and_answer() {
    let lines = bench("open", &[]);
    let [line] = &lines[..] else {
        panic!("{lines:?}")
    };
    numbers(
        line,
        &["cold_open_first_ms", "warm_open_first_ms", "first_hits"],
    );
    assert_eq!(
        (&line["result"], &line["n"]),
        (&json!("open"), &json!(CHUNKS))
    );
    if cfg!(target_os = "linux") {
        assert_eq!(line["cache_dropped"], true);
        numbers(line, &["rss_after_first_query_mib"]);
    }
}
