//! Documents through the real binary: from file to cited answer, then changed, deleted and compacted.

mod common;

use std::fs;
use std::path::Path;

use serde_json::Value;

use common::{db_path, json, loci, recount, refused, samples, text, write_files};

/// A folder of five sample documents, two of them code in a folder of its own.
fn documents(folder: &Path) -> String {
    let path = folder.join("documents");
    fs::create_dir_all(path.join("code")).unwrap();
    for name in [
        "memory-palaces.md",
        "inverted-index.html",
        "transactions.pdf",
    ] {
        fs::copy(format!("{}/{name}", samples()), path.join(name)).unwrap();
    }
    for name in ["ring_buffer.rs", "nearest.py"] {
        fs::copy(
            format!("{}/{name}", samples()),
            path.join("code").join(name),
        )
        .unwrap();
    }
    path.display().to_string()
}

#[test]
fn files_become_cited_answers_and_unchanged_ones_are_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let (db, documents) = (db_path(folder.path()), documents(folder.path()));
    let lines = json(0, &["ingest", "--db", &db, &documents]);
    let statuses = |lines: &[Value]| -> Vec<String> {
        let rows = lines.iter().filter_map(|line| line["status"].as_str());
        rows.map(String::from).collect()
    };
    assert_eq!(statuses(&lines), ["added"; 5]);
    assert_eq!(lines[5]["summary"]["added"], 5);
    assert_eq!(lines[0]["document"], "code/nearest.py");
    let again = json(0, &["ingest", "--db", &db, &documents, &documents]);
    assert_eq!(statuses(&again), ["unchanged"; 5]);
    assert_eq!(again[0]["chunks"], lines[0]["chunks"]);

    let question = "The disk reported a problem when I flushed the file. May I simply try again?";
    let answer = &json(
        0,
        &[
            "search",
            "--db",
            &db,
            question,
            "--explain",
            "--budget",
            "300",
        ],
    )[0];
    let best = &answer["hits"][0];
    assert_eq!(best["document"], "transactions.pdf");
    assert_eq!(best["citation"]["page"], 5);
    let label = best["citation"]["label"].as_str().unwrap();
    assert_eq!(label, "Page 5, 4.3 When the flush reports an error");
    assert!(best["parent"]["text"].as_str().unwrap().len() >= best["text"].as_str().unwrap().len());
    assert!(answer["context"]["tokens"].as_u64().unwrap() <= 300);
    assert!(
        answer["explain"]
            .as_array()
            .unwrap()
            .iter()
            .any(|s| s["operator"] == "vector")
    );

    let chunk = best["chunk"].as_str().unwrap();
    let shown = &json(0, &["show", "--db", &db, chunk])[0];
    let beside = ["previous", "next"].map(|key| shown[key].as_str());
    let (other, back) = match beside {
        [Some(previous), _] => (previous, "next"),
        [None, next] => (next.unwrap(), "previous"),
    };
    assert_eq!(json(0, &["show", "--db", &db, other])[0][back], chunk);
    assert_eq!(shown["citation"], best["citation"]);
    let document = &json(0, &["show", "--db", &db, "transactions.pdf"])[0];
    assert_eq!(document["document"]["file_type"], "pdf");
    assert!(document["chunks"].as_array().unwrap().len() > 8);

    let filter = "file_type = code and document prefix \"code/\"";
    let only = &json(0, &["search", "--db", &db, "search", "--filter", filter])[0];
    let hits = only["hits"].as_array().unwrap();
    assert!(!hits.is_empty());
    assert!(
        hits.iter()
            .all(|hit| hit["document"].as_str().unwrap().starts_with("code/"))
    );

    assert_eq!(recount(&db)["documents"], 5);
}

#[test]
fn unreadable_files_are_reported_and_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let files = folder.path().join("files");
    write_files(
        &files,
        &[
            ("good.md", "# Title\n\nSome text about rivers.\n"),
            ("slides.pptx", "PK\x03\x04 not read"),
            ("broken.pdf", "%PDF-1.4\nnothing of it is true"),
            ("empty.md", ""),
        ],
    );
    let lines = json(1, &["ingest", "--db", &db, files.to_str().unwrap()]);
    let failed: Vec<&str> = lines
        .iter()
        .filter(|line| line["status"] == "failed")
        .map(|line| line["document"].as_str().unwrap())
        .collect();
    assert_eq!(failed, ["broken.pdf", "empty.md", "slides.pptx"]);
    let error = lines[3]["error"].as_str().unwrap();
    assert!(error.contains("damaged pptx file"), "{error}");
    assert_eq!(json(0, &["stats", "--db", &db])[0]["documents"], 1);
}

#[test]
fn files_of_many_kinds_are_cited_at_their_location() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let files = folder.path().join("files");
    let chat = r#"{"messages":[{"role":"user","content":"What do herons eat?"},{"role":"assistant","content":"Herons eat frogs and eels."}]}"#;
    let cues = "1\n00:00:01,000 --> 00:00:04,000\nLighthouses warn ships.\n\n2\n00:01:05,000 --> 00:01:08,500\nGlaciers carve valleys.\n";
    let paper = "# Trees\n\nTrees grow upwards (Knuth, 1997).\n\n# References\n\nKnuth, D. E. (1997). The Art of Trees. Forest Press.\n";
    let article = "<article><front><article-meta><title-group><article-title>Membranes</article-title></title-group></article-meta></front>\
                   <body><sec><title>Ions</title><p>Potassium crosses the membrane.</p></sec></body></article>";
    write_files(
        &files,
        &[
            ("chat.json", chat),
            ("talk.srt", cues),
            ("trees.md", paper),
            ("membranes.xml", article),
            (
                "stack.go",
                "package stack\n\n// Push puts an element on top.\nfunc (s *Stack) Push(x int) {}\n",
            ),
        ],
    );
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0".to_vec();
    fs::write(files.join("crab-nebula.png"), &png).unwrap();
    let lines = json(0, &["ingest", "--db", &db, files.to_str().unwrap()]);
    assert_eq!(lines.last().unwrap()["summary"]["added"], 6, "{lines:?}");
    let first = |question: &str| {
        let answer = json(0, &["search", "--db", &db, question]).remove(0);
        answer["hits"][0].clone()
    };
    let hit = first("frogs and eels");
    assert_eq!(hit["document"], "chat.json");
    let hit = first("glaciers carve valleys");
    assert_eq!(hit["document"], "talk.srt");
    let time = hit["citation"]["timestamp"].as_str().unwrap();
    assert_eq!(time, "00:00:01–00:01:08", "{hit}");
    assert_eq!(first("potassium membrane")["citation"]["path"][1], "Ions");
    assert_eq!(first("Push puts an element on top")["document"], "stack.go");
    let filter = "meta.speaker = \"user\"";
    let of_user = json(0, &["search", "--db", &db, "herons", "--filter", filter]).remove(0);
    assert_eq!(of_user["hits"].as_array().unwrap().len(), 1, "{of_user}");
    let cited = text(0, &["citations", "--db", &db, "trees.md"]);
    assert!(cited.contains("The Art of Trees"), "{cited}");
    let asset = loci(&[
        "show",
        "--db",
        &db,
        "crab-nebula.png",
        "--asset",
        "crab-nebula.png",
    ]);
    assert_eq!(asset.stdout, png);

    // The same file in three levels, and in sentences.
    for (mode, level) in [("three-level", "proposition"), ("sentence", "sentence")] {
        let file = files.join("trees.md");
        let lines = json(
            0,
            &[
                "ingest",
                "--db",
                &db,
                file.to_str().unwrap(),
                "--chunking",
                mode,
            ],
        );
        assert_eq!(lines[0]["status"], "updated");
        let answer = json(0, &["search", "--db", &db, "trees grow", "--level", level]).remove(0);
        assert_eq!(answer["hits"][0]["level"], level, "{answer}");
    }
}

#[test]
fn missing_parts_of_a_document_are_reported_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let files = folder.path().join("files");
    let part = "\\documentclass{article}\\begin{document}Ducks swim. \\input{ch/\u{1b}[2Jponds}\\end{document}";
    write_files(
        &files,
        &[("note.md", "# Note\n\nDucks.\n"), ("part.tex", part)],
    );
    let files = files.to_str().unwrap();
    let lines = json(0, &["ingest", "--db", &db, files]);
    assert_eq!(lines[0].get("warnings"), None);
    assert_eq!(lines[1]["status"], "added");
    let warnings = lines[1]["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = warnings[0].as_str().unwrap();
    assert!(warning.contains("(ch/ [2Jponds)"), "{warning}");
    // Told to a person, too, and without what moves the cursor.
    let shown = text(0, &["ingest", "--db", &db, files, "--force"]);
    assert!(!shown.contains('\u{1b}'));
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].starts_with("updated    part.tex"), "{shown}");
    assert_eq!(lines[2], format!("           warning: {warning}"));
    let again = json(0, &["ingest", "--db", &db, files]);
    assert_eq!(again[1]["status"], "unchanged");
}

/// A picture of two by two points; `more` makes it another one.
fn png(more: &[u8]) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0\0\0\0\0";
    [head, more].concat()
}

#[cfg(unix)]
#[test]
fn pictures_are_found_by_captions_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let files = folder.path().join("files");
    let script = "printf '%s %s\\n' \"$LOCI_IMAGE_TYPE\" \"$LOCI_IMAGE_NAME\" >> \"$1\"\n\
                  test $(wc -c) -gt 40 && exit 7\n\
                  echo 'A grey  heron stands in the reeds.'\n";
    write_files(folder.path(), &[("caption.sh", script)]);
    write_files(&files, &[("note.md", "# Note\n\nDucks swim.\n")]);
    fs::write(files.join("img_1.png"), png(b"")).unwrap();
    fs::write(files.join("img_2.png"), png(b"")).unwrap();
    fs::write(files.join("large.png"), png(&[b'x'; 50])).unwrap();
    let log = folder.path().join("asked").display().to_string();
    let command = format!(
        "/bin/sh '{}' \"{log}\"",
        folder.path().join("caption.sh").display()
    );
    let files = files.to_str().unwrap();
    let calls = || {
        let log_text = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        log_text.lines().count()
    };

    // Stored by name first, and skipped as unchanged with the command.
    json(0, &["ingest", "--db", &db, files]);
    let captioned = ["ingest", "--db", &db, files, "--caption-command", &command];
    let lines = json(0, &captioned);
    assert_eq!(lines[4]["summary"]["unchanged"], 4);
    assert_eq!(calls(), 0);
    let lines = json(0, &[&captioned[..], &["--force"]].concat());
    assert_eq!(lines[4]["summary"]["updated"], 4);
    assert_eq!(calls(), 2, "one for each distinct picture");
    assert_eq!(lines[0].get("warnings"), None);
    let failed = lines[2]["warnings"][0].as_str().unwrap();
    assert!(
        failed.contains("(large.png)") && failed.contains("exit status: 7"),
        "{failed}"
    );

    let search = [
        "search",
        "--db",
        &db,
        "heron in the reeds",
        "--strategy",
        "text",
    ];
    let hits = &json(0, &search)[0]["hits"];
    let documents: Vec<&str> = hits
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["document"].as_str().unwrap())
        .collect();
    assert_eq!(documents.len(), 2, "{hits}");
    assert!(documents.iter().all(|it| it.starts_with("img_")), "{hits}");
    let text = hits[0]["text"].as_str().unwrap();
    assert!(
        text.ends_with(". A grey heron stands in the reeds."),
        "{text}"
    );
    let by = ["--filter", "meta.caption_by = \"sh\""];
    let of = |filter: &[&str]| {
        json(0, &[&search[..], filter].concat())[0]["hits"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(of(&by), 2);
    assert_eq!(of(&["--filter", "not meta.caption_by = \"sh\""]), 0);
    let settings = text_of(&db);
    assert!(!settings.contains("caption.sh"), "{settings}");
    refused(
        2,
        &["ingest", "--db", &db, files, "--caption-command", "a 'b"],
        "--caption-command: a quotation",
    );
}

/// All that a store holds and is set to.
fn text_of(db: &str) -> String {
    text(0, &["export", "--db", db, "-"]) + &text(0, &["config", "--db", db, "get"])
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_command_that_writes_captions() {
    use std::time::{Duration, Instant};
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let picture = folder.path().join("heron.png");
    fs::write(&picture, png(b"")).unwrap();
    let begun = folder.path().join("begun");
    let command = format!("/bin/sh -c 'echo x > {}; sleep 60'", begun.display());
    let mut ingest = std::process::Command::new(env!("CARGO_BIN_EXE_loci"))
        .args([
            "ingest",
            "--db",
            &db,
            picture.to_str().unwrap(),
            "--caption-command",
            &command,
        ])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !begun.exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let interrupted = Instant::now();
    let pid = ingest.id().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(ingest.wait().unwrap().code(), Some(1));
    assert!(interrupted.elapsed() < Duration::from_secs(30));
    assert_eq!(json(0, &["stats", "--db", &db])[0]["documents"], 0);
}

#[test]
fn a_changed_file_is_updated_and_a_vanished_word_is_no_longer_found() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let file = folder.path().join("note.md");
    let path = file.to_str().unwrap();
    fs::write(
        &file,
        "# Note\n\nThe heron stands in the reeds.\n\n## Later\n\nIt flies.\n",
    )
    .unwrap();
    let ingest = [
        "ingest",
        "--db",
        &db,
        path,
        "--key",
        "my-note",
        "--collection",
        "birds",
    ];
    json(0, &ingest);
    let before = &json(0, &["search", "--db", &db, "heron", "--strategy", "text"])[0]["hits"][0];
    assert_eq!(before["document"], "birds::my-note");
    fs::write(
        &file,
        "# Note\n\nThe egret stands in the reeds.\n\n## Later\n\nIt flies.\n",
    )
    .unwrap();
    let lines = json(0, &ingest);
    assert_eq!(lines[0]["status"], "updated");
    let gone = &json(0, &["search", "--db", &db, "heron", "--strategy", "text"])[0];
    assert_eq!(gone["hits"], Value::Array(Vec::new()));
    let flies = &json(0, &["search", "--db", &db, "flies", "--strategy", "text"])[0]["hits"][0];
    assert_eq!(flies["citation"]["path"], serde_json::json!(["Note"]));
    assert_eq!(flies["citation"]["lines"], serde_json::json!([1, 7]));
}

#[test]
fn the_demonstration_answers_each_question_from_the_right_document() {
    let answers = json(0, &["demo"]);
    let expected = fs::read_to_string(format!("{}/questions.tsv", samples())).unwrap();
    let expected: Vec<Vec<&str>> = expected.lines().map(|l| l.split('\t').collect()).collect();
    assert_eq!(answers.len(), expected.len());
    for (answer, expected) in answers.iter().zip(&expected) {
        let hits = answer["hits"].as_array().unwrap();
        assert_eq!(answer["question"], expected[0]);
        let document = format!("demo::{}", expected[1]);
        assert_eq!(hits[0]["document"], document, "{}: {hits:#?}", expected[0]);
    }
}

#[test]
fn deleted_documents_are_gone_and_missing_keys_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let documents = documents(folder.path());
    json(
        0,
        &["ingest", "--db", &db, &documents, "--collection", "all"],
    );
    let keys = ["code/nearest.py", "no-such.md", "memory-palaces.md"];
    let delete = ["delete", "--db", &db, "--collection", "all"];
    let lines = json(1, &[&delete[..], &keys[..]].concat());
    let reported: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| {
            let field = |name: &str| line[name].as_str().unwrap();
            (field("document"), field("status"))
        })
        .collect();
    assert_eq!(
        reported,
        [
            ("all::code/nearest.py", "deleted"),
            ("all::no-such.md", "missing"),
            ("all::memory-palaces.md", "deleted"),
        ]
    );
    json(0, &["delete", "--db", &db, "all::code/ring_buffer.rs"]);
    json(1, &["show", "--db", &db, "all::memory-palaces.md"]);
    assert_eq!(recount(&db)["documents"], 2);
    text(2, &["delete", "--db", &db, ""]);
}

#[test]
fn a_compacted_store_is_smaller_and_answers_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let documents = documents(folder.path());
    json(0, &["ingest", "--db", &db, &documents]);
    json(0, &["ingest", "--db", &db, &documents, "--force"]);
    let ask = ["search", "--db", &db, "walking to a place", "-k", "3"];
    let chunks = |answer: &Value| -> Vec<Value> {
        let hits = answer["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["chunk"].clone()).collect()
    };
    let before = chunks(&json(0, &ask)[0]);
    let compacted = &json(0, &["compact", "--db", &db])[0];
    assert_eq!(compacted["segments_after"], 1, "{compacted}");
    let bytes = |name: &str| compacted[name].as_u64().unwrap();
    assert!(bytes("bytes_after") < bytes("bytes_before"), "{compacted}");
    assert_eq!(chunks(&json(0, &ask)[0]), before);
    let stats = recount(&db);
    assert_eq!(
        (&stats["dead_chunks"], &stats["old_views"]),
        (&0.into(), &0.into())
    );
    let files = stats["segment_file_bytes"].as_u64().unwrap();
    let database = stats["database_bytes"].as_u64().unwrap();
    // Closing and opening it moves redb's own pages a little.
    assert!(files + database < bytes("bytes_before"), "{stats}");
    let printed = text(0, &["compact", "--db", &db]);
    assert!(printed.starts_with("segments 1 → 1, bytes "), "{printed}");
}

#[test]
fn backup_is_restored_and_existing_targets_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    let files = documents(folder.path());
    json(0, &["ingest", "--db", &db, &files]);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (saved, again) = (at("saved"), at("again"));
    let first = &json(0, &["backup", "--db", &db, &saved])[0]["backup"];
    assert!(first["rows"].as_u64().unwrap() > 0);
    let second = &json(0, &["backup", "--db", &db, &saved])[0]["backup"];
    assert_eq!(second["files_copied"], 0);
    let restored = &json(0, &["restore", &saved, "--db", &again])[0]["restored"];
    assert_eq!(recount(&again)["documents"], restored["documents"]);
    let found = |db: &str| json(0, &["search", "--db", db, "memory palace"])[0]["hits"].clone();
    assert_eq!(found(&again), found(&db));
    refused(2, &["restore", &saved, "--db", &again], "not empty");
    refused(2, &["backup", "--db", &db, &files], "folder of its own");
    refused(
        1,
        &["restore", &at("nowhere"), "--db", &at("new")],
        "no store",
    );
}

#[test]
fn check_reports_findings_only_for_a_damaged_store() {
    let folder = tempfile::tempdir().unwrap();
    let db = db_path(folder.path());
    json(0, &["ingest", "--db", &db, &documents(folder.path())]);
    for depth in [
        &["check", "--db", &db][..],
        &["check", "--db", &db, "--deep"],
    ] {
        assert_eq!(json(0, depth), Vec::<Value>::new());
    }
    assert!(text(0, &["check", "--db", &db]).contains("nothing is wrong"));
    // The words of a chunk, as a bad sector would leave them.
    let path = Path::new(&db).join("loci.redb");
    let mut bytes = fs::read(&path).unwrap();
    let words = b"memory palace";
    let positions = (0..bytes.len() - words.len()).filter(|&at| bytes[at..].starts_with(words));
    let positions: Vec<usize> = positions.collect();
    assert!(!positions.is_empty());
    for at in positions {
        bytes[at] ^= 1;
    }
    fs::write(&path, bytes).unwrap();
    let findings = json(1, &["check", "--db", &db]);
    let rows: Vec<&Value> = findings
        .iter()
        .filter(|of| of["section"] == "chunks")
        .collect();
    assert!(!rows.is_empty(), "{findings:?}");
    assert_eq!(rows[0]["file"], "loci.redb");
    assert!(rows[0]["finding"].as_str().unwrap().contains("checksum"));
    assert_eq!(rows[0]["key"].as_str().unwrap().len(), 24);
}

#[test]
fn export_round_trips_and_invalid_exports_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (db, documents) = (db_path(folder.path()), documents(folder.path()));
    json(0, &["ingest", "--db", &db, &documents]);
    let file = at("notes.jsonl");
    let exported = &json(0, &["export", "--db", &db, &file])[0]["exported"];
    let lines = fs::read_to_string(&file).unwrap();
    // A head, projections of the embedder, and a last line stand beside the rows.
    assert!(exported["rows"].as_u64().unwrap() < lines.lines().count() as u64);
    assert_eq!(text(0, &["export", "--db", &db, "-"]), lines);
    refused(2, &["export", "--db", &db, &file], "there already");

    let again = at("again");
    let imported = &json(0, &["import", &file, "--db", &again])[0]["imported"];
    assert_eq!(imported["documents"], 5);
    assert!(text(0, &["export", "--db", &again, "-"]) == lines);
    let question = "When may a flush be tried again?";
    let hits = |db: &str| json(0, &["search", "--db", db, question])[0]["hits"].clone();
    assert_eq!(hits(&again), hits(&db));
    refused(2, &["import", &file, "--db", &again], "not empty");
    refused(2, &["import", &documents, "--db", &at("no")], &documents);

    let (cut, _) = lines.rsplit_once("{").unwrap();
    fs::write(&file, cut).unwrap();
    refused(2, &["import", &file, "--db", &at("cut")], "cut");
    refused(1, &["search", "--db", &at("cut"), "flush"], "no store at");
}
