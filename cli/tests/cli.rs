//! What the command line takes: settings by name, the language of text questions, and wrong calls.

mod common;

use std::fs;

use assert_cmd::Command;
use common::{data_folder, db_path, json, refused, text};

#[test]
fn settings_are_read_and_changed_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    // There is no store yet.
    text(1, &["config", "--db", &db]);
    json(0, &["config", "--db", &db, "set", "hops", "2"]);
    let all = json(0, &["config", "--db", &db]);
    assert!(
        all.iter()
            .any(|line| line["key"] == "chunk_child_tokens" && line["value"] == 256)
    );
    json(
        0,
        &["config", "--db", &db, "set", "chunk_child_tokens", "128"],
    );
    let one = json(0, &["config", "--db", &db, "get", "chunk_child_tokens"]);
    assert_eq!(one[0]["value"], 128);
    json(0, &["config", "--db", &db, "set", "chunk_child_tokens"]);
    let one = json(0, &["config", "--db", &db, "get", "chunk_child_tokens"]);
    assert_eq!(one[0]["value"], 256);
    let preset = json(0, &["config", "--db", &db, "set", "chunk_preset", "large"]);
    let values: Vec<u64> = preset
        .iter()
        .filter_map(|line| line["value"].as_u64())
        .collect();
    assert_eq!(values, [2048, 512]);
}

#[test]
fn command_options_override_store_settings() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    json(0, &["config", "--db", &db, "set", "fusion", "rrf"]);
    json(0, &["config", "--db", &db, "set", "hops", "3"]);
    let plan = |set: &[&str]| -> String {
        let mut args = vec!["search", "--db", &db, "anything", "--explain"];
        for option in set {
            args.extend(["--set", option]);
        }
        json(0, &args)[0]["plan"].to_string()
    };
    let plain = plan(&[]);
    assert!(plain.contains(r#""rule":"rrf""#), "{plain}");
    assert!(plain.contains(r#""hops":3"#), "{plain}");
    let own = plan(&["fusion.vector_share=0.5", "hops=1"]);
    assert!(own.contains(r#""rule":"mixture""#), "{own}");
    assert!(own.contains(r#""vector_share":0.5"#), "{own}");
    assert!(own.contains(r#""hops":1"#), "{own}");
}

#[test]
fn text_questions_support_query_syntax() {
    let folder = tempfile::tempdir().unwrap();
    let (data, db) = (data_folder(folder.path()), db_path(folder.path()));
    json(
        0,
        &["load", "--db", &db, "--data", &data, "--embedder", "none"],
    );
    let ask = |question: &str| {
        let args = [
            "search",
            "--db",
            &db,
            "--strategy",
            "text",
            "--highlights",
            question,
        ];
        json(0, &args).remove(0)
    };
    let texts = |question: &str| -> Vec<String> {
        let answer = ask(question);
        let hits = answer["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["text"].as_str().unwrap().to_owned())
            .collect()
    };
    let cases: &[(&str, &[&str])] = &[
        ("\"covers the sea\"", &["Salt water covers the sea."]),
        ("+sand -title:camel", &["Sand covers the desert."]),
        ("cros*", &["A camel crosses sand."]),
        ("dessert~", &["Sand covers the desert."]),
        ("+cover +(salt OR camel)", &["Salt water covers the sea."]),
    ];
    for (question, expected) in cases {
        assert_eq!(texts(question), *expected, "{question}");
    }
    let answer = ask("wtaer camels");
    assert_eq!(
        answer["did_you_mean"],
        serde_json::json!([{ "word": "wtaer", "meant": "water" }])
    );
    assert_eq!(answer["hits"][0]["highlights"], serde_json::json!([[2, 7]]));

    let wrong = ["search", "--db", &db, "--strategy", "text", "sand \"the"];
    refused(2, &wrong, "column 6");
    // Elsewhere signs are text.
    let args = ["search", "--db", &db, "--strategy", "hybrid", "sand \"the"];
    assert!(json(0, &args)[0].get("did_you_mean").is_none());
}

#[test]
fn usage_errors_exit_with_2_and_report_what_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let file = folder.path().join("a.md");
    fs::write(&file, "# A\n\nText.\n").unwrap();
    json(0, &["ingest", "--db", &db, file.to_str().unwrap()]);
    let cases: &[(&[&str], &str)] = &[
        (
            &["search", "--db", &db, "x", "--filter", "page ="],
            "column",
        ),
        (&["search", "--db", &db, "x", "--filter", "pge = 3"], "page"),
        (
            &["search", "--db", &db, "x", "--strategy", "magic"],
            "hybrid",
        ),
        (&["search", "--db", &db, "x", "-k", "0"], "1 to"),
        (&["search", "--db", &db, "x", "--level", "word"], "sentence"),
        (&["ingest", "--db", &db, "/no/such/path"], "no such path"),
        (
            &[
                "ingest",
                "--db",
                &db,
                file.to_str().unwrap(),
                "--kind",
                "mp3",
            ],
            "--kind",
        ),
        (&["config", "--db", &db, "set", "hops", "9"], "1..3"),
        (&["config", "--db", &db, "get", "hop"], "hops"),
        (
            &["config", "--db", &db, "set", "chunk_preset", "huge"],
            "large",
        ),
        (
            &["config", "--db", &db, "set", "model", "/no/such/model"],
            "/no/such/model",
        ),
        (
            &["config", "--db", &db, "set", "embedder", "folder"],
            "model",
        ),
        (&["frobnicate"], "frobnicate"),
    ];
    for (args, says) in cases {
        refused(2, args, says);
    }
    let cases: &[(&[&str], &str)] = &[
        (&["show", "--db", &db, "nothing.md"], "no document or chunk"),
        (&["concept", "--db", &db, "nothing"], "no concept"),
        (&["stats", "--db", "/no/such/store"], "no store at"),
    ];
    for (args, says) in cases {
        refused(1, args, says);
    }
}

#[test]
fn invalid_effort_is_a_usage_error() {
    for effort in ["64", "ef=0", "recall=2", "within=soon", "speed=9"] {
        text(2, &["search", "--db", "x", "question", "--effort", effort]);
    }
}

#[test]
fn loci_db_names_the_store_when_no_option_does() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let loci = |args: &[&str]| {
        let mut command = Command::cargo_bin("loci").unwrap();
        command.env("LOCI_DB", &db).args(args).output().unwrap()
    };
    let file = folder.path().join("tides.md");
    fs::write(&file, "# Tides\n\nThe moon raises the tides.\n").unwrap();
    assert!(
        loci(&["ingest", &file.display().to_string()])
            .status
            .success()
    );
    let found = loci(&["search", "what raises the tides?", "--json"]);
    let found = common::json_lines(&String::from_utf8(found.stdout).unwrap());
    assert_eq!(found[0]["hits"][0]["document"], "tides.md");
    // An option wins.
    let other = folder.path().join("other").display().to_string();
    assert_eq!(loci(&["stats", "--db", &other]).status.code(), Some(1));
}

#[test]
fn hit_excerpt_shows_the_part_that_matches_the_question() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let filler = "Boats wait in the harbour until the water is high enough to sail. ".repeat(12);
    let file = folder.path().join("harbour.txt");
    fs::write(
        &file,
        format!("{filler}A lighthouse keeper polishes the lens."),
    )
    .unwrap();
    json(0, &["ingest", "--db", &db, &file.display().to_string()]);
    let question = "who polishes the lighthouse lens?";
    let plain = text(0, &["search", "--db", &db, question]);
    assert!(
        plain.contains("A lighthouse keeper polishes the lens."),
        "{plain}"
    );
    let marked = text(0, &["search", "--db", &db, question, "--highlights"]);
    assert!(
        marked.contains("«lighthouse» keeper «polishes»"),
        "{marked}"
    );
}

#[test]
fn second_process_on_a_store_fails_immediately() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let _held = locidb::Database::open(&db).unwrap();
    refused(1, &["stats", "--db", &db], "open in another process");
}

#[test]
fn unknown_environment_variables_are_printed_on_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    json(0, &["config", "--db", &db, "set", "hops", "2"]);
    let run = |variable: &str| {
        let mut command = Command::cargo_bin("loci").unwrap();
        let args = ["config", "--db", &db, "get", "hops", "--json"];
        let output = command.args(args).env(variable, "1").output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        assert_eq!(stdout, "{\"key\":\"hops\",\"value\":2}\n");
        stderr
    };
    let note = "loci: LOCI_SLOWMS is not a variable that loci knows; did you mean LOCI_SLOW_MS?\n";
    assert_eq!(run("LOCI_SLOWMS"), note);
    for known in ["LOCI_SLOW_MS", "LOCI_SERVICE_HOST", "UNRELATED"] {
        assert_eq!(run(known), "", "{known}");
    }
}
