//! What documents, file names and other users of the machine cannot do: control the terminal, read what is stored, let
//! themselves in, stay unnamed, or have a parser that does more than parse.

mod common;

use std::fs;
use std::process::Output;

use assert_cmd::Command;

use common::{db_path, json, loci, text, write_files};

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
fn nothing_that_a_document_says_controls_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let name = format!("a{}.md", HOSTILE.replace('/', ""));
    let body = format!(
        "# The heron {HOSTILE}\n\nA **heron {HOSTILE}** is a wading bird. The heron {HOSTILE} waits for fish.\n"
    );
    write_files(&folder.path().join("in"), &[(&name, &body)]);
    fs::write(folder.path().join(format!("in/{HOSTILE}.pdf")), "no PDF").unwrap();
    let files = folder.path().join("in").display().to_string();
    let asked = format!("heron {HOSTILE}");
    let calls: [&[&str]; 12] = [
        &["ingest", "--db", &db, &files],
        &["search", "--db", &db, "heron", "--explain"],
        &["search", "--db", &db, &asked, "--budget", "200"],
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
