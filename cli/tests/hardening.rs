//! What documents, file names and other users of the machine cannot do: control the terminal, read what is stored, let
//! themselves in, stay unnamed, or have a parser that does more than parse.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;

use common::{db_path, json, loci, refused, samples, text, write_files};

/// Clears the screen, renames the window, goes back to the line's start, and runs text backwards.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\rheron\u{9b}31m \u{202e}backwards\u{2066}";

fn command(envs: &[(&str, &str)], args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("loci").unwrap();
    command.envs(envs.iter().copied()).args(args);
    command.output().unwrap()
}

fn is_control(c: char) -> bool {
    let is_bidi = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_bidi || (c.is_control() && !['\n', '\t'].contains(&c))
}

#[test]
fn document_text_cannot_control_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let name = format!("a{}.md", HOSTILE.replace('/', ""));
    let body = format!(
        "# The heron {HOSTILE}\n\nA **heron {HOSTILE}** is a wading bird. The heron {HOSTILE} waits for fish.\n"
    );
    write_files(&folder.path().join("in"), &[(&name, &body)]);
    fs::write(folder.path().join(format!("in/{HOSTILE}.pdf")), "no PDF").unwrap();
    let files = folder.path().join("in").display().to_string();
    let question = format!("heron {HOSTILE}");
    let calls: [&[&str]; 12] = [
        &["ingest", "--db", &db, &files],
        &["search", "--db", &db, "heron", "--explain"],
        &["search", "--db", &db, &question, "--budget", "200"],
        &[
            "search",
            "--db",
            &db,
            "--strategy",
            "text",
            "heron",
            "--highlights",
        ],
        &["ask", "--db", &db, "What is a heron?", "--critic"],
        &["show", "--db", &db, &name],
        &["show", "--db", &db, &format!("{name}#0")],
        &["show", "--db", &db, HOSTILE],
        &["concept", "--db", &db, "heron"],
        &["concept", "--db", &db, HOSTILE],
        &["citations", "--db", &db, &name],
        &["check", "--db", HOSTILE],
    ];
    for args in calls {
        for form in [&[][..], &["--json"]] {
            let output = loci(&[args, form].concat());
            for printed in [&output.stdout, &output.stderr] {
                let printed = String::from_utf8_lossy(printed);
                assert!(!printed.contains(is_control), "{args:?}: {printed:?}");
            }
        }
    }
    let forged = "b\nadded      c.md  1 chunks.md";
    write_files(&folder.path().join("in2"), &[(forged, "# B\n\nWater.\n")]);
    let files = folder.path().join("in2").display().to_string();
    let lines = text(0, &["ingest", "--db", &db, &files]);
    assert_eq!(lines.lines().count(), 2, "{lines}");
    // What is printed as JSON is what is stored.
    let shown = json(0, &["show", "--db", &db, &format!("{name}#0")]);
    let written = shown[0]["record"]["text"].as_str().unwrap();
    assert!(
        written.contains("\u{1b}[2J") && written.contains('\u{202e}'),
        "{written:?}"
    );
}

/// Every file and folder below `folder` with its permissions.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        found.push((entry.path(), metadata.permissions().mode() & 0o777));
        if metadata.is_dir() {
            found.extend(modes(&entry.path()));
        }
    }
    found
}

#[test]
fn store_files_are_private_unless_the_umask_is_set() {
    for (umask, file, sub_folder) in [("", 0o600, 0o700), ("027", 0o640, 0o750)] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let envs = [("LOCI_UMASK", umask)];
        let calls: [&[&str]; 6] = [
            &["ingest", "--db", &at("store"), &samples()],
            &["compact", "--db", &at("store")],
            &["backup", "--db", &at("store"), &at("backup")],
            &["restore", &at("backup"), "--db", &at("restored")],
            &["export", "--db", &at("store"), &at("graph")],
            &[
                "graph",
                "export",
                "--db",
                &at("store"),
                &at("graph.graphml"),
            ],
        ];
        for args in calls {
            let output = command(&envs, args);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{args:?}: {errors}");
        }
        let found = modes(folder.path());
        assert!(found.len() > 10, "{found:?}");
        for (path, mode) in found {
            let want = if path.is_dir() { sub_folder } else { file };
            // An export is written to a file of its own first, which is nobody else's.
            let is_private = mode == 0o600 && path.ends_with("graph");
            assert!(mode == want || is_private, "{}: {mode:o}", path.display());
        }
    }
    let wrong = command(&[("LOCI_UMASK", "700")], &["demo"]);
    let errors = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{errors}");
    assert!(errors.contains("LOCI_UMASK"), "{errors}");
}

#[test]
fn server_refuses_a_key_file_writable_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    write_files(&folder.path().join("in"), &[("a.md", "# A\n\nWater.\n")]);
    json(
        0,
        &[
            "ingest",
            "--db",
            &db,
            &folder.path().join("in").display().to_string(),
        ],
    );
    text(0, &["key", "add", "--db", &db, "--role", "admin"]);
    let keys = folder.path().join("store/keys.json");
    let listen = ["--listen", "127.0.0.1:0", "--http", "none"];
    let check = [&["serve", "--db", &db, "--check"], &listen[..]].concat();
    text(0, &check);
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o622)).unwrap();
    let printed = text(1, &check);
    assert!(printed.contains("may be written by others"), "{printed}");
    let mut server = Command::cargo_bin("loci").unwrap();
    server.args(["serve", "--db", &db]).args(listen);
    let output = server.timeout(Duration::from_secs(20)).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("chmod go-w"), "{errors}");
    refused(1, &["key", "list", "--db", &db], "chmod go-w");
}

#[test]
fn lock_error_names_the_holding_process() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    write_files(&folder.path().join("in"), &[("a.md", "# A\n\nWater.\n")]);
    let files = folder.path().join("in").display().to_string();
    json(0, &["ingest", "--db", &db, &files]);
    let lock = fs::File::open(folder.path().join("store/LOCK")).unwrap();
    lock.lock_shared().unwrap();
    let holder = format!("process {} (", std::process::id());
    refused(1, &["ingest", "--db", &db, &files], &holder);
}

#[test]
fn parser_process_is_sandboxed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let probe = |folder: &str| -> Value {
        fs::write(format!("{folder}/there"), "water").unwrap();
        json(0, &["__parse", "--probe", folder]).remove(0)
    };
    let report = probe(&place);
    assert_eq!(report["unconfined"], Value::Null, "{report}");
    let attempts = report["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 10);
    for attempt in attempts {
        assert_eq!(attempt[1], false, "{attempt}");
    }
    for limit in report["limits"].as_array().unwrap() {
        let most = if limit[0] == "RLIMIT_NOFILE" { 8 } else { 0 };
        let is_set = limit[1].as_u64() == Some(most) || limit[0] == "RLIMIT_CPU";
        assert!(is_set, "{limit}");
    }
    assert_eq!(fs::read(folder.path().join("there")).unwrap(), b"water");
    assert!(!folder.path().join("made").exists());
}

#[test]
fn sandboxed_parser_handles_files_of_all_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let mut lines = json(0, &["ingest", "--db", &db, &samples()]);
    let summary = lines.pop().unwrap();
    assert!(
        summary["summary"]["added"].as_u64().unwrap() > 0,
        "{summary}"
    );
    assert!(
        lines.iter().all(|line| line["status"] == "added"),
        "{lines:?}"
    );
}
