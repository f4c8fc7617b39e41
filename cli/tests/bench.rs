//! `loci bench` by the real binary, over single indexes and over a whole store: which lines there are, and that
//! answers are right.
//!
//! Never how long anything takes.

mod common;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use common::{data_folder, json, json_lines, refused, text};

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
    let lines = json_lines(&text(0, &args));
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
fn hybrid_search_is_measured_as_a_whole_and_per_leg() {
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
fn load_bench_reports_time_disk_and_memory() {
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

#[test]
fn the_text_index_is_measured_over_a_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(folder.path());
    let lines = json(0, &["bench", "--data", &data, "--task", "text"]);
    let of = |result: &str| lines.iter().filter(|line| line["result"] == result).count();
    assert_eq!(
        ["build", "open", "search", "search_words"].map(of),
        [1, 1, 1, 5]
    );
    assert_eq!(
        ["search_phrase", "search_prefix", "search_misspelt"].map(of),
        [1, 1, 1]
    );
    let search = lines
        .iter()
        .find(|line| line["result"] == "search")
        .unwrap();
    assert_eq!(search["same_as_reference"], 1.0);
    assert!(search["ndcg10"].as_f64().unwrap() >= 0.5, "{search}");
    assert!(search["cpu_ms"].as_f64().is_some_and(|ms| ms > 0.0));
}

#[test]
fn the_vector_index_is_measured_over_a_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let floats =
        |numbers: &[f32]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let angle = |n: f32| [n.cos(), n.sin()];
    let vectors: Vec<f32> = (0..300).flat_map(|n| angle(n as f32 / 100.0)).collect();
    fs::write(path.join("vectors.f32"), floats(&vectors)).unwrap();
    fs::write(path.join("queries.f32"), floats(&angle(0.05))).unwrap();
    let nearest: Vec<u8> = (0..10i32).flat_map(i32::to_le_bytes).collect();
    fs::write(path.join("gt10.i32"), nearest).unwrap();
    let data = path.display().to_string();
    let bench = [
        "bench",
        "--data",
        &data,
        "--task",
        "vector",
        "--filter-share",
        "0.5",
    ];
    let lines = json(0, &bench);
    let of = |result: &str| lines.iter().filter(|line| line["result"] == result).count();
    assert_eq!(
        (of("build"), of("open"), of("search"), of("exact_scan")),
        (1, 1, 24, 1)
    );
    let more = ["search_codes", "search_dead", "search_correlated"].map(of);
    assert_eq!(more, [1, 3, 12]);
    let found = |line: &Value| line["recall10"].as_f64().unwrap();
    let searches: Vec<_> = lines
        .iter()
        .filter(|line| line["result"] == "search")
        .collect();
    // The ten are those around 0.05; gt10 has the first ten, of which nine or ten are.
    assert!(
        searches.iter().all(|line| found(line) >= 0.9),
        "{searches:?}"
    );
    for line in &lines {
        assert_eq!(
            (&line["task"], &line["system"]),
            (&"vector".into(), &"loci".into())
        );
        assert_eq!((&line["n"], &line["threads"]), (&300.into(), &1.into()));
    }
    let wrong = [
        "bench",
        "--data",
        &data,
        "--task",
        "vector",
        "--variant",
        "i3",
    ];
    refused(2, &wrong, "i4 or b1");
    fs::write(path.join("queries.f32"), [0; 7]).unwrap();
    refused(1, &bench, "queries.f32");
}

#[test]
fn the_graph_is_measured_over_a_data_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(folder.path());
    let path = Path::new(&data);
    let walks = ["bench", "--data", &data, "--task", "graph"];
    refused(1, &walks, "entities.jsonl");
    // A chain of six, of which the third is asked for: two hops do not reach the last.
    let entities: Vec<String> = (0..6).map(|n| format!("{{\"name\":\"e{n}\"}}")).collect();
    fs::write(path.join("entities.jsonl"), entities.join("\n")).unwrap();
    let relations: Vec<String> = (0..5).map(|n| format!("{n}\t{}\t1", n + 1)).collect();
    fs::write(path.join("relations.tsv"), relations.join("\n")).unwrap();
    fs::write(path.join("mentions.tsv"), "2\t1\n5\t0\n4\t2\n").unwrap();
    let questions = "{\"id\":\"q1\",\"text\":\"x\",\"seeds\":[2]}\n{\"id\":\"q2\",\"text\":\"y\",\"seeds\":[5]}\n";
    fs::write(path.join("queries.jsonl"), questions).unwrap();
    fs::write(path.join("graph20.jsonl"), "[1, 2]\n[0, 2]\n").unwrap();
    let lines = json(0, &walks);
    let of = |result: &str| lines.iter().find(|line| line["result"] == result).unwrap();
    assert_eq!(of("search")["same_as_reference"], 1.0);
    assert_eq!(of("build")["concepts"], 6);
    let lines = json(0, &["bench", "--data", &data, "--task", "algorithms"]);
    let of = |result: &str| lines.iter().find(|line| line["result"] == result).unwrap();
    assert!(of("pagerank")["s"].as_f64() > Some(0.0));
    let communities = of("communities");
    assert_eq!(
        (&communities["connected"], &communities["same_twice"]),
        (&true.into(), &true.into())
    );
    assert_eq!(communities["count"], 2, "{communities}");
}
