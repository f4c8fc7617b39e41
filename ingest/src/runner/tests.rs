use std::sync::Arc;
use std::time::{Duration, Instant};

use super::message::{ParseRequest, ParseResponse};
use super::*;
use loci_documents::ParseError;
use loci_documents::warnings::{BYTES_MAX, WARNINGS_MAX};

fn child(script: &str, timeout_ms: u64) -> ChildProcess {
    ChildProcess {
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        timeout: Duration::from_millis(timeout_ms),
        memory_max: 1 << 30,
        limits: Limits::default(),
        stopped: Arc::default(),
    }
}

fn source() -> DocumentSource {
    DocumentSource {
        key: "k".to_owned(),
        filename: Some("a.txt".to_owned()),
        captions: captions::Captions {
            by: "eye-1".to_owned(),
            of: [("a.txt".to_owned(), "A \"heron\".".to_owned())].into(),
        },
        ..DocumentSource::default()
    }
}

fn build_text(runner: &ChildProcess, bytes: &[u8]) -> Result<IngestedDocument, BuildError> {
    runner.build_document(
        Kind::Text,
        bytes.to_vec(),
        source(),
        &BuildSettings::default(),
    )
}

/// What a child writes when it is asked.
fn child_response(kind: Kind, bytes: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    let request = ParseRequest {
        kind,
        limits: Limits::default(),
        source: source(),
        settings: BuildSettings::default(),
    };
    let mut input = request.line().unwrap();
    input.extend_from_slice(bytes);
    child_main(input.as_slice(), &mut output).unwrap();
    output
}

#[test]
fn a_child_answers_what_this_process_would() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0\0\0\0\0";
    let text = "Tides\n=====\n\nA tide is a rise of the sea. The tide\u{2028} follows the moon [1].\n\nReferences\n\n[1] A. Moon. Seas. 1990.";
    let cases: &[(Kind, &[u8])] = &[
        (Kind::Text, text.as_bytes()),
        (Kind::Text, b"caf\xe9"),
        (Kind::Text, b"\0"),
        (Kind::Text, b""),
        (Kind::Image, png),
    ];
    for (kind, bytes) in cases {
        let got = decode_response(&child_response(*kind, bytes)).map(|mut ingested| {
            ingested.document.original = bytes.to_vec();
            ingested
        });
        let here = InProcess::default();
        let want = here.build_document(*kind, bytes.to_vec(), source(), &BuildSettings::default());
        assert_eq!(got, want);
        let text = want.ok().and_then(|ingested| ingested.document.text);
        let is_picture = *kind == Kind::Image;
        assert!(!is_picture || text.as_deref() == Some("a. A \"heron\"."));
    }
}

#[test]
fn an_answer_that_was_cut_or_goes_on_is_an_error() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0\0\0\0\0";
    let whole = child_response(Kind::Image, png);
    assert!(decode_response(&whole).is_ok());
    for cut in 0..whole.len() {
        let got = decode_response(&whole[..cut]);
        assert!(matches!(got, Err(BuildError::Runner { .. })), "{cut}");
    }
    let longer = [&whole[..], b"x"].concat();
    assert!(decode_response(&longer).is_err());
}

#[test]
fn a_child_cannot_answer_for_another_document() {
    let other = DocumentSource {
        key: "other".to_owned(),
        user: "other".to_owned(),
        ..DocumentSource::default()
    };
    let settings = BuildSettings::default();
    let here = InProcess::default();
    let ingested = here.build_document(Kind::Text, b"Water.".to_vec(), other, &settings);
    let (mut answer, _) = ParseResponse::from_ingested(ingested.unwrap());
    answer.chunks[0].vector = Some(vec![1.0]);
    answer.record.stub = true;
    answer.warnings = vec!["a\u{1b}[2J\n b".repeat(200); 3];
    answer.warnings.extend((0..100).map(|n| n.to_string()));
    answer.warnings.push("and 5 more warnings".to_owned());
    let line = serde_json::to_string(&Ok::<_, BuildError>(answer)).unwrap();
    let got = build_text(
        &child(&format!("cat >/dev/null; printf '%s\\n' '{line}'"), 60_000),
        b"Wine.",
    )
    .unwrap();
    assert_eq!(got.warnings.len(), WARNINGS_MAX + 1);
    assert_eq!(got.warnings[WARNINGS_MAX], "and 86 more warnings");
    let is_plain = |it: &String| it.len() <= BYTES_MAX && !it.contains(char::is_control);
    assert!(got.warnings.iter().all(is_plain));
    let got = got.document;
    assert_eq!((&got.record.key[..], &got.record.user[..]), ("k", ""));
    assert_eq!(got.record.filename.as_deref(), Some("a.txt"));
    assert_eq!(got.original, b"Wine.");
    assert!(got.chunks.iter().all(|chunk| chunk.vector.is_none()));
    assert!(!got.record.stub);
}

#[test]
fn a_broken_request_is_an_error() {
    for input in [
        b"".as_slice(),
        b"{}",
        b"{}\nx",
        b"\xff\n",
        &[b'x'; 4_000_000],
    ] {
        assert!(child_main(input, Vec::new()).is_err());
    }
}

#[test]
fn a_panic_is_an_error() {
    let got: Result<(), _> = run_isolated(|| panic!("boom {}", 1));
    let message = "boom 1".to_owned();
    assert_eq!(got, Err(BuildError::Panicked { message }));
}

#[test]
fn whatever_a_child_does_becomes_a_typed_error() {
    let large = vec![b'x'; 1 << 20];
    type Check = fn(&BuildError) -> bool;
    let cases: &[(&str, &str, Check)] = &[
        ("dies", "kill -9 $$", |e| {
            matches!(e, BuildError::Crashed { .. })
        }),
        ("burns", "ulimit -S -t 1; while :; do :; done", |e| {
            matches!(e, BuildError::TimedOut { .. })
        }),
        ("fails", "cat >/dev/null; exit 3", |e| {
            matches!(e, BuildError::Crashed { .. })
        }),
        ("hangs", "exec sleep 60", |e| {
            matches!(e, BuildError::TimedOut { .. })
        }),
        ("closes and hangs", "exec >&-; exec sleep 60", |e| {
            matches!(e, BuildError::TimedOut { .. })
        }),
        ("talks without end", "exec cat /dev/zero", |e| {
            matches!(
                e,
                BuildError::Parse(ParseError::TooLarge { .. }) | BuildError::TimedOut { .. }
            )
        }),
        ("babbles", "cat >/dev/null; echo hello", |e| {
            matches!(e, BuildError::Runner { .. })
        }),
        ("never reads", "echo '{\"Err\":\"Empty\"}'", |e| {
            matches!(e, BuildError::Parse(ParseError::Empty))
        }),
    ];
    for (name, script, is_right) in cases {
        let hangs = script.contains("exec");
        let mut runner = child(script, if hangs { 1_500 } else { 60_000 });
        runner.limits.text_max = 1 << 10;
        let error = build_text(&runner, &large).unwrap_err();
        assert!(is_right(&error), "{name}: {error:?}");
    }
    let missing = ChildProcess {
        program: "/nonexistent/loci".into(),
        ..child("", 1_000)
    };
    assert!(matches!(
        build_text(&missing, b"x"),
        Err(BuildError::Runner { .. })
    ));
}

#[test]
fn a_runner_that_is_stopped_ends_what_runs_and_begins_nothing() {
    let runner = child("exec sleep 60", 60_000);
    let started = Instant::now();
    let result = thread::scope(|scope| {
        let caller = scope.spawn(|| build_text(&runner, b"x"));
        runner.stop();
        caller.join().unwrap()
    });
    assert_eq!(result, Err(BuildError::Stopped));
    assert_eq!(build_text(&runner, b"x"), Err(BuildError::Stopped));
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_large_file_passes_both_pipes() {
    // Echoes the file while it is still being written: both pipes fill up.
    let runner = child(
        "head -n 1 >/dev/null; printf '{\"Err\":{\"Runner\":{\"reason\":\"'; cat; printf '\"}}}'",
        10_000,
    );
    let bytes = vec![b'y'; 4 << 20];
    match build_text(&runner, &bytes) {
        Err(BuildError::Runner { reason }) => assert!(reason.len() > 1 << 20),
        other => panic!("{other:?}"),
    }
}
