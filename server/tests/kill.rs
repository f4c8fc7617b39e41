//! The process is killed at any moment of an ingest: the store opens, tells the truth about itself,
//! and the next ingest goes on.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use loci_torture::report::Rounds;
use loci_torture::suites::kill;
use serde_json::Value;

const LOCI: &str = env!("CARGO_BIN_EXE_loci");

/// Markdown files that speak of each other, so that concepts are shared and segments merge.
fn write_files(folder: &Path, count: usize) {
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

fn spawn(db: &Path, files: &Path) -> Child {
    let mut command = Command::new(LOCI);
    command
        .args(["ingest", "--json", "--db"])
        .arg(db)
        .arg(files);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn last_line(args: &[&str], db: &Path, rest: &[&Path]) -> (i32, Value) {
    let output = Command::new(LOCI)
        .args(args)
        .arg("--db")
        .arg(db)
        .args(rest)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = text
        .lines()
        .last()
        .unwrap_or_else(|| panic!("{args:?}: {errors}"));
    (
        output.status.code().unwrap(),
        serde_json::from_str(line).unwrap(),
    )
}

/// Documents in the store; panics unless a full recount agrees with what it says of itself.
fn documents(db: &Path) -> u64 {
    let (status, stats) = last_line(&["stats", "--recount", "--json"], db, &[]);
    assert_eq!(
        (status, &stats["differences"]),
        (0, &Value::Array(Vec::new())),
        "{stats}"
    );
    stats["stats"]["documents"].as_u64().unwrap()
}

/// Kills `rounds` ingests, each a little later than the one before, on one store.
fn kill_rounds(files: &Path, count: u64, rounds: u32, step: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("store");
    let mut before = 0;
    for round in 0..rounds {
        let mut child = spawn(&db, files);
        std::thread::sleep(step * (round + 1));
        child.kill().unwrap();
        child.wait().unwrap();
        if !db.join("loci.redb").exists() {
            continue;
        }
        let now = documents(&db);
        assert!(
            now >= before,
            "round {round}: {now} documents after {before}"
        );
        before = now;
    }
    let (status, summary) = last_line(&["ingest", "--json"], &db, &[files]);
    let summary = &summary["summary"];
    assert_eq!(status, 0, "{summary}");
    let done = ["added", "unchanged"]
        .iter()
        .map(|key| summary[key].as_u64().unwrap())
        .sum::<u64>();
    assert_eq!(done, count, "{summary}");
    assert!(summary["unchanged"].as_u64().unwrap() >= before);
    assert_eq!(documents(&db), count);
}

#[test]
fn a_killed_ingest_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), 400);
    kill_rounds(folder.path(), 400, 4, Duration::from_millis(60));
}

/// Ingests, deletions and compactions; with the feature `failpoints` half of the kills come at named
/// moments.
#[test]
fn ten_kills_leave_all_that_was_acknowledged() {
    let args = kill::KillArgs {
        rounds: Rounds::all(10, 7),
        loci: LOCI.into(),
        double: true,
    };
    let report = kill::run(&args).unwrap();
    assert!(report.violations.is_empty(), "{report:#?}");
}

#[test]
#[ignore = "long: thirty kills over 4,000 files; run by name"]
fn thirty_kills_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), 4000);
    kill_rounds(folder.path(), 4000, 30, Duration::from_millis(40));
}
