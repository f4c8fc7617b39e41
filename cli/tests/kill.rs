//! The process is killed at any moment of an ingest: the store opens, tells the truth about itself,
//! and the next ingest goes on.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{db_path, json, json_lines, loci, recount};
use loci_torture::report::Rounds;
use loci_torture::suites::kill;
use loci_torture::suites::killed_process::KillOptions;

const LOCI: &str = env!("CARGO_BIN_EXE_loci");

/// Markdown files that speak of each other, so that concepts are shared and segments merge.
fn write_notes(folder: &Path, count: usize) {
    for n in 0..count {
        let text = format!(
            "# Note {n}\n\nThe *lock {}* guards the *table {}*. It requires the lock {}.\n\n\
             ## Detail\n\nA row of table {} holds the number {}. Readers wait for nobody.\n",
            n % 17,
            n % 23,
            (n + 1) % 17,
            n % 23,
            n * n,
        );
        fs::write(folder.join(format!("{n:05}.md")), text).unwrap();
    }
}

fn spawn(db: &str, files: &str) -> Child {
    let mut command = Command::new(LOCI);
    command.args(["ingest", "--json", "--db", db, files]);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Documents in the store; panics unless a full recount agrees with what it says of itself.
fn documents(db: &str) -> u64 {
    recount(db)["documents"].as_u64().unwrap()
}

/// A process that was being started when its parent was killed holds what the parent had open until it runs its own
/// program.
fn wait_until_unlocked(db: &str) {
    let is_locked = || {
        let output = loci(&["stats", "--db", db]);
        String::from_utf8_lossy(&output.stderr).contains("open in another process")
    };
    let until = Instant::now() + Duration::from_secs(20);
    while is_locked() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Kills `rounds` ingests, each a little later than the one before, on one store.
fn kill_rounds(files: &str, count: u64, rounds: u32, step: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let mut before = 0;
    for round in 0..rounds {
        let mut child = spawn(&db, files);
        std::thread::sleep(step * (round + 1));
        child.kill().unwrap();
        child.wait().unwrap();
        if !Path::new(&db).join("loci.redb").exists() {
            continue;
        }
        wait_until_unlocked(&db);
        let now = documents(&db);
        assert!(
            now >= before,
            "round {round}: {now} documents after {before}"
        );
        before = now;
    }
    let lines = json(0, &["ingest", "--db", &db, files]);
    let summary = &lines.last().unwrap()["summary"];
    let done = ["added", "unchanged"]
        .iter()
        .map(|key| summary[key].as_u64().unwrap())
        .sum::<u64>();
    assert_eq!(done, count, "{summary}");
    assert!(summary["unchanged"].as_u64().unwrap() >= before);
    assert_eq!(documents(&db), count);
}

#[test]
fn killed_ingest_resumes_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().to_str().unwrap();
    write_notes(folder.path(), 400);
    kill_rounds(files, 400, 4, Duration::from_millis(60));
}

/// Ingests, deletions and compactions; with the feature `failpoints` half of the kills come at named
/// moments.
#[test]
fn ten_kills_preserve_acknowledged_writes() {
    let args = kill::KillArgs {
        options: KillOptions {
            rounds: Rounds::all(10, 7),
            loci: LOCI.into(),
            double: true,
        },
        command: None,
    };
    let report = kill::run(&args).unwrap();
    assert!(report.violations.is_empty(), "{report:#?}");
}

/// What an export says, sorted, without the times at which documents were stored.
fn exported(db: &str) -> Vec<String> {
    let out = format!("{db}.jsonl");
    json(0, &["export", "--db", db, &out]);
    let text = fs::read_to_string(out).unwrap();
    let mut lines: Vec<String> = json_lines(&text)
        .into_iter()
        .filter(|line| line.get("end").is_none())
        .map(|mut line| {
            if let Some(row) = line.get_mut("row").and_then(|row| row.as_object_mut()) {
                row.retain(|name, _| !name.ends_with("_at_ms"));
            }
            line.to_string()
        })
        .collect();
    lines.sort();
    lines
}

/// Rows of vectors in a store.
fn vectors(db: &str) -> u64 {
    let database = locidb::Database::open(db).unwrap();
    let view = database.snapshot();
    let rows = view.snapshot().rows();
    rows.count(locidb::storage::Table::Vectors).unwrap()
}

/// `LOCI_MINILM=FOLDER cargo test --release -p loci --test kill -- --ignored --nocapture embedded`; the files are those of
/// `LOCI_DOCS` where it is set.
#[test]
#[ignore = "long, and needs the folder of a model, in LOCI_MINILM"]
fn committed_chunks_are_not_embedded_again_after_a_kill() {
    let model = std::env::var("LOCI_MINILM").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    fs::create_dir(&notes).unwrap();
    write_notes(&notes, 1000);
    let files = std::env::var("LOCI_DOCS").unwrap_or(notes.display().to_string());
    let store = |name: &str| {
        let db = folder.path().join(name).display().to_string();
        json(0, &["config", "--db", &db, "set", "model", &model]);
        db
    };
    let whole = store("whole");
    let started = Instant::now();
    let summary = loci(&["ingest", "--json", "--db", &whole, &files]);
    let summary = json_lines(&String::from_utf8(summary.stdout).unwrap())
        .pop()
        .unwrap();
    let all = vectors(&whole);
    assert_eq!(summary["summary"]["embedded"], all, "{summary}");
    let step = started.elapsed() / 20;
    let db = store("killed");
    let mut before = 0;
    for round in 0..20 {
        let mut child = spawn(&db, &files);
        std::thread::sleep(step.mul_f64(0.3 + f64::from(round * 7 % 20) / 10.0));
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until_unlocked(&db);
        let now = vectors(&db);
        println!("round {round}: {now} of {all} vectors");
        assert!(now >= before, "round {round}: {now} vectors after {before}");
        before = now;
    }
    let last = loci(&["ingest", "--json", "--db", &db, &files]);
    let last = json_lines(&String::from_utf8(last.stdout).unwrap())
        .pop()
        .unwrap();
    assert_eq!(last["summary"]["embedded"], all - before, "{last}");
    assert_eq!(exported(&db), exported(&whole));
}

#[test]
#[ignore = "long: thirty kills over 4,000 files; run by name"]
fn thirty_kills_preserve_acknowledged_writes() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().to_str().unwrap();
    write_notes(folder.path(), 4000);
    kill_rounds(files, 4000, 30, Duration::from_millis(40));
}
