//! Limits of the process (`ulimit`): a command under one ends by itself, with a status and a reason, and the store is
//! whole.
#![cfg(unix)]

mod common;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{recount, store, text};

const LOCI: &str = env!("CARGO_BIN_EXE_loci");

/// How long a server may take to fail.
const SERVES_AFTER: Duration = Duration::from_secs(2);

/// Runs `loci` in a shell with limits; a server that serves is stopped.
fn limited(limits: &str, args: &[&str]) -> Output {
    let script = format!("{limits} && exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", LOCI]).args(args);
    let mut child = command
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    if args[0] == "serve" {
        while child.try_wait().unwrap().is_none() && started.elapsed() < SERVES_AFTER {
            std::thread::sleep(Duration::from_millis(20));
        }
        if child.try_wait().unwrap().is_none() {
            let id = child.id().to_string();
            Command::new("kill").arg(id).status().unwrap();
        }
    }
    child.wait_with_output().unwrap()
}

/// Expects that a command was ended by no signal and no panic, and gave a reason if it failed. Whether it did.
fn ends_cleanly(limits: &str, args: &[&str]) -> bool {
    let output = limited(limits, args);
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_well = output.status.success();
    let context = format!("{limits}: {args:?}: {}: {errors}", output.status);
    let code = output.status.code().unwrap_or(255);
    assert!(code <= 2, "{context}");
    assert!(!errors.contains("panicked"), "{context}");
    // Of files that fail an ingest tells on standard output.
    let has_reason = !errors.is_empty() || !output.stdout.is_empty();
    assert!(is_well || has_reason, "{context}");
    is_well
}

struct Calls {
    folder: tempfile::TempDir,
    db: String,
    count: u32,
}

impl Calls {
    fn new() -> Calls {
        let folder = tempfile::tempdir().unwrap();
        let text = |n: u32| {
            let sentence = format!(
                "The *lock {}* guards the *table {}* of the harbour.\n\n",
                n % 7,
                n % 11
            );
            format!("# Note {n}\n\n{}", sentence.repeat(40))
        };
        let texts: Vec<(String, String)> = (0..30).map(|n| (format!("{n}.md"), text(n))).collect();
        let files: Vec<(&str, &str)> = texts
            .iter()
            .map(|(name, text)| (&name[..], &text[..]))
            .collect();
        let db = store(folder.path(), &files);
        Calls {
            folder,
            db,
            count: 0,
        }
    }

    /// Each command under the limits; the store is whole afterwards. How many ended well.
    fn run_under(&mut self, limits: &str) -> usize {
        self.count += 1;
        let at = |name: &str| self.folder.path().join(name).to_str().unwrap().to_owned();
        let (documents, backup) = (at("documents"), at(&format!("backup-{}", self.count)));
        let db = &self.db[..];
        let fresh = at(&format!("fresh-{}", self.count));
        let calls: [&[&str]; 7] = [
            &["search", "--db", db, "harbour"],
            &["ingest", "--db", db, "--force", &documents],
            &["ingest", "--db", &fresh, &documents],
            &["compact", "--db", db],
            &["analyze", "--db", db],
            &["backup", "--db", db, &backup],
            &[
                "serve",
                "--db",
                db,
                "--listen",
                "127.0.0.1:0",
                "--http",
                "127.0.0.1:0",
            ],
        ];
        let well = calls
            .iter()
            .filter(|args| ends_cleanly(limits, args))
            .count();
        assert_eq!(recount(db)["documents"], 30, "{limits}");
        text(0, &["check", "--db", db, "--deep"]);
        // What failed is done again without the limits.
        text(0, &["backup", "--db", db, &backup]);
        well
    }
}

#[test]
fn file_size_limit_fails_the_write_with_an_error() {
    let mut calls = Calls::new();
    let well: Vec<usize> = [1, 40, 400, 2_000, 200_000]
        .map(|blocks| calls.run_under(&format!("ulimit -f {blocks}")))
        .into();
    assert!(well[0] < 7 && well[4] == 7, "{well:?}");
}

#[test]
fn commands_run_with_a_small_stack() {
    let mut calls = Calls::new();
    for kib in [64, 128, 1024] {
        assert_eq!(calls.run_under(&format!("ulimit -s {kib}")), 7, "{kib} KiB");
    }
}

#[test]
fn memory_limit_ends_with_an_exit_status_and_a_reason() {
    let mut calls = Calls::new();
    // From where the system can load the program at all.
    let loads = |kib: &u32| {
        let output = limited(&format!("ulimit -v {kib}"), &["--version"]);
        output.status.success()
    };
    let least = (8..200).map(|n| n * 5_000).find(loads).unwrap();
    let mut well = Vec::new();
    for more in [0, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 4_000_000] {
        well.push(calls.run_under(&format!("ulimit -v {}", least + more)));
    }
    assert_eq!(well.last(), Some(&7), "{well:?}");
}
