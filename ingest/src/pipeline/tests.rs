//! Ingests that are watched, stopped and go on, which file is which document, and what they leave out.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_documents::Kind;
use loci_models::{CaptionError, Captioner};
use locidb::storage::DocumentKey;
use locidb::{Database, Progress};

use super::store::BATCH_FILES;
use super::*;
use crate::document::{self, DocumentSource};
use crate::runner::InProcess;
use crate::runner::ParseRunner;

/// Asks to stop once so many files are stored, and keeps how many were each time it was asked.
struct StopAfter(u64, std::sync::Mutex<Vec<u64>>);

impl StopAfter {
    fn new(files: u64) -> StopAfter {
        StopAfter(files, std::sync::Mutex::default())
    }
}

impl Progress for StopAfter {
    fn report(&self, step: &str, done: u64, _: u64) -> ControlFlow<()> {
        if step != "storing" {
            return ControlFlow::Continue(());
        }
        self.1.lock().unwrap().push(done);
        if done >= self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Reporter for StopAfter {
    fn report_outcome(&self, _: &Outcome) {}
}

/// Changes a folder while it is watched, a step after each look, and keeps what is told.
struct ScriptedReporter<'c> {
    steps: std::sync::Mutex<Vec<Box<dyn FnOnce() + Send + 'c>>>,
    outcomes: std::sync::Mutex<Vec<(String, Status)>>,
}

impl Progress for ScriptedReporter<'_> {
    fn report(&self, step: &str, _: u64, _: u64) -> ControlFlow<()> {
        if step != "watching" {
            return ControlFlow::Continue(());
        }
        let mut steps = self.steps.lock().unwrap();
        if steps.is_empty() {
            ControlFlow::Break(())
        } else {
            steps.remove(0)();
            ControlFlow::Continue(())
        }
    }
}

impl Reporter for ScriptedReporter<'_> {
    fn report_outcome(&self, outcome: &Outcome) {
        let entry = (outcome.document.clone(), outcome.status);
        self.outcomes.lock().unwrap().push(entry);
    }
}

#[test]
fn a_watched_folder_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    let write = |name: &str, text: &str| fs::write(files.join(name), text).unwrap();
    write("a.md", "# A\n\nWater.\n");
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("c.md"), "# C\n\nEarth.\n").unwrap();
    let database = Database::open(folder.path().join("store")).unwrap();
    let idle = || Box::new(|| {}) as Box<dyn FnOnce() + Send>;
    let steps: Vec<Box<dyn FnOnce() + Send + '_>> = vec![
        Box::new(|| write("b.md", "# B\n\nFire.\n")),
        idle(),
        idle(),
        Box::new(|| write("a.md", "# A\n\nWater and wine.\n")),
        idle(),
        idle(),
        Box::new(|| fs::remove_file(files.join("b.md")).unwrap()),
        idle(),
        idle(),
        idle(),
        // A folder that is away, and one that is another's, take nothing with them.
        Box::new(|| fs::rename(&other, folder.path().join("away")).unwrap()),
        idle(),
        idle(),
        idle(),
    ];
    let changes = ScriptedReporter {
        steps: steps.into(),
        outcomes: Vec::new().into(),
    };
    let how = WatchOptions {
        interval: std::time::Duration::ZERO,
        delete: true,
    };
    let paths = [files.clone(), other.clone()];
    let options = IngestOptions::default();
    let runner = InProcess::default();
    let summary = watch(&database, &paths, &options, how, &runner, &changes).unwrap();
    let outcomes = changes.outcomes.into_inner().unwrap();
    let outcomes: Vec<_> = outcomes
        .iter()
        .map(|(key, status)| (&key[..], *status))
        .collect();
    assert_eq!(
        outcomes,
        [
            ("a.md", Status::Added),
            ("c.md", Status::Added),
            ("b.md", Status::Added),
            ("a.md", Status::Updated),
            ("b.md", Status::Deleted)
        ]
    );
    assert_eq!((summary.added, summary.updated, summary.deleted), (3, 1, 1));
    assert_eq!(database.stats().documents, 2);
}

/// Stores `paths`, and returns each document's key with what became of it, by path.
fn stored(database: &Database, paths: &[PathBuf]) -> Vec<(String, Status)> {
    let changes = ScriptedReporter {
        steps: Vec::new().into(),
        outcomes: Vec::new().into(),
    };
    let runner = InProcess::default();
    ingest(
        database,
        paths,
        &IngestOptions::default(),
        &runner,
        &changes,
    )
    .unwrap();
    changes.outcomes.into_inner().unwrap()
}

#[test]
fn a_document_whose_file_is_not_remembered_is_remembered_by_the_next_ingest() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["a", "b"].map(|name| folder.path().join(name).join("x.md"));
    for (path, text) in [(&first, "# A\n\nWater.\n"), (&second, "# B\n\nFire.\n")] {
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let database = Database::open(folder.path().join("store")).unwrap();
    let one = |path: &PathBuf| stored(&database, std::slice::from_ref(path)).remove(0);
    assert_eq!(one(&first), ("x.md".into(), Status::Added));
    // As a build that remembered nothing left it.
    let key = DocumentKey::new("", "", "x.md").unwrap();
    let forget = |key: DocumentKey| database.write(move |tx| tx.set_origin(&key, None));
    assert!(forget(key.clone()).unwrap());
    assert_eq!(one(&first), ("x.md".into(), Status::Unchanged));
    assert_eq!(one(&second), ("x.md".into(), Status::Failed));
    // Which file it was nobody knows any more: another text does not take its place.
    forget(key).unwrap();
    assert_eq!(one(&second), ("x.md".into(), Status::Failed));
    assert_eq!(one(&first), ("x.md".into(), Status::Unchanged));
}

#[test]
fn a_watched_file_that_was_refused_takes_no_document_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["a", "b"].map(|name| folder.path().join(name));
    for (path, text) in [(&first, "# A\n\nWater.\n"), (&second, "# B\n\nFire.\n")] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("x.md"), text).unwrap();
        fs::write(path.join(text.split_at(3).0.replace("# ", "")), text).unwrap();
    }
    let database = Database::open(folder.path().join("store")).unwrap();
    stored(&database, &[first]);
    let idle = || Box::new(|| {}) as Box<dyn FnOnce() + Send>;
    let changes = ScriptedReporter {
        steps: vec![
            Box::new(|| fs::remove_file(second.join("x.md")).unwrap()) as _,
            idle(),
            idle(),
            idle(),
        ]
        .into(),
        outcomes: Vec::new().into(),
    };
    let how = WatchOptions {
        interval: std::time::Duration::ZERO,
        delete: true,
    };
    let options = IngestOptions::default();
    let runner = InProcess::default();
    let paths = [second.clone()];
    let summary = watch(&database, &paths, &options, how, &runner, &changes).unwrap();
    assert_eq!((summary.failed, summary.deleted), (1, 0));
    let view = database.snapshot();
    let key = DocumentKey::new("", "", "x.md").unwrap();
    assert!(view.snapshot().rows().document_id(&key).unwrap().is_some());
}

#[test]
fn small_archives_that_hold_much_are_not_held_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    // Each becomes a document of some megabytes, far above what one transaction takes together.
    let word = |n: usize| {
        let text = format!("water {n} ").repeat(100_000);
        format!(
            "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>"
        )
    };
    for n in 0..8 {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let plain = zip::write::SimpleFileOptions::default();
        zip.start_file("word/document.xml", plain).unwrap();
        std::io::Write::write_all(&mut zip, word(n).as_bytes()).unwrap();
        let bytes = zip.finish().unwrap().into_inner();
        assert!(bytes.len() < 20_000);
        fs::write(files.join(format!("{n}.docx")), bytes).unwrap();
    }
    let database = Database::open(folder.path().join("store")).unwrap();
    let reporter = StopAfter::new(u64::MAX);
    let (options, runner) = (IngestOptions::default(), InProcess::default());
    let summary = ingest(&database, &[files], &options, &runner, &reporter).unwrap();
    assert_eq!(summary.added, 8);
    let stored = reporter.1.into_inner().unwrap();
    assert!(
        stored.iter().any(|&done| 0 < done && done < 8),
        "{stored:?}"
    );
}

/// Makes documents, but for those called `slow`, which take until it is stopped.
#[derive(Default)]
struct SlowRunner(AtomicU64);

impl ParseRunner for SlowRunner {
    fn build_document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        source: DocumentSource,
        settings: &document::BuildSettings,
    ) -> Result<crate::runner::IngestedDocument, crate::build_error::BuildError> {
        while source.key.starts_with("slow") {
            if self.0.load(Ordering::Relaxed) > 0 {
                return Err(crate::build_error::BuildError::Stopped);
            }
            std::thread::yield_now();
        }
        InProcess::default().build_document(kind, bytes, source, settings)
    }

    fn bytes_max(&self) -> usize {
        usize::MAX
    }

    fn stop(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_ingest_that_is_stopped_after_a_batch_waits_for_no_parser() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    fs::write(files.join("a.md"), "# A\n\nWater.\n").unwrap();
    // A batch of its own.
    fs::write(files.join("slow.md"), "Wine. ".repeat(1 << 18)).unwrap();
    let database = Database::open(folder.path().join("store")).unwrap();
    let options = IngestOptions {
        jobs: 2,
        ..IngestOptions::default()
    };
    let stop = StopAfter::new(1);
    let summary = ingest(&database, &[files], &options, &SlowRunner::default(), &stop).unwrap();
    assert!(summary.interrupted);
    assert_eq!((summary.added, summary.failed), (1, 0));
}

#[test]
fn a_store_in_a_folder_is_no_file_of_it_and_another_kind_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a.txt"),
        "User: Water?\n\nAssistant: Wine.\n",
    )
    .unwrap();
    let database = Database::open(folder.path().join("store")).unwrap();
    let run = |kind| {
        let options = IngestOptions {
            kind,
            ..IngestOptions::default()
        };
        let paths = [folder.path().to_path_buf()];
        let reporter = StopAfter::new(u64::MAX);
        let runner = InProcess::default();
        ingest(&database, &paths, &options, &runner, &reporter).unwrap()
    };
    let first = run(None);
    assert_eq!((first.added, first.failed), (1, 0));
    assert_eq!(run(None).unchanged, 1);
    assert_eq!(run(Some(Kind::Chat)).updated, 1);
    assert_eq!(run(Some(Kind::Chat)).unchanged, 1);
}

#[test]
fn a_stopped_ingest_ends_and_the_next_one_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    for n in 0..BATCH_FILES * 5 {
        fs::write(
            files.join(format!("{n}.md")),
            format!("# Note {n}\n\nWater.\n"),
        )
        .unwrap();
    }
    let database = Database::open(folder.path().join("store")).unwrap();
    let options = IngestOptions::default();
    let run = |reporter: &StopAfter| {
        let paths = [files.clone()];
        ingest(&database, &paths, &options, &InProcess::default(), reporter).unwrap()
    };
    let first = run(&StopAfter::new(BATCH_FILES as u64));
    assert!(first.interrupted);
    assert_eq!(first.added, BATCH_FILES as u64);
    let second = run(&StopAfter::new(u64::MAX));
    assert!(!second.interrupted);
    assert_eq!(second.unchanged, BATCH_FILES as u64);
    assert_eq!(second.added, 4 * BATCH_FILES as u64);
    assert!(
        database.stats().space.is_some(),
        "the second run ends what the first began"
    );
}

/// Says how long a picture is, and keeps what it was asked about; refuses pictures that end with `!`, and sleeps when it
/// is shown one that ends with `~`.
#[derive(Default)]
struct FakeCaptioner(std::sync::Mutex<Vec<String>>);

impl Captioner for FakeCaptioner {
    fn name(&self) -> &str {
        "eye-1"
    }

    fn caption(&self, picture: &loci_models::Picture<'_>) -> Result<String, CaptionError> {
        let request = format!("{} {}", picture.media_type, picture.name);
        self.0.lock().unwrap().push(request);
        match picture.bytes.last() {
            Some(b'!') => Err(CaptionError::Refused {
                reason: "too bright".into(),
            }),
            Some(b'~') => Err(CaptionError::Unavailable {
                reason: "asleep".into(),
            }),
            Some(b'?') => Ok(" \n".into()),
            _ => Ok(format!("A heron of\n {} bytes. ", picture.bytes.len())),
        }
    }
}

/// A document of Word with pictures, each a name and what is after the first bytes of a PNG.
fn word(pictures: &[(&str, &str)]) -> Vec<u8> {
    let (mut body, mut relations) = (String::new(), String::new());
    for (name, _) in pictures {
        body += &format!("<p><r><t>Ducks.</t><drawing><blip r:embed='{name}'/></drawing></r></p>");
        relations += &format!("<Relationship Id='{name}' Type='x/image' Target='media/{name}'/>");
    }
    let body = format!("<document xmlns:r='http://x/relationships'><body>{body}</body></document>");
    let relations = format!("<Relationships>{relations}</Relationships>");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut add = |name: &str, bytes: &[u8]| {
        let plain = zip::write::SimpleFileOptions::default();
        zip.start_file(name, plain).unwrap();
        std::io::Write::write_all(&mut zip, bytes).unwrap();
    };
    add("word/document.xml", body.as_bytes());
    add("word/_rels/document.xml.rels", relations.as_bytes());
    for (name, more) in pictures {
        add(&format!("word/media/{name}"), &png(more));
    }
    zip.finish().unwrap().into_inner()
}

fn png(more: &str) -> Vec<u8> {
    [b"\x89PNG\r\n\x1a\n", more.as_bytes()].concat()
}

/// Keeps the lines.
#[derive(Default)]
struct OutcomeRecorder(std::sync::Mutex<Vec<Outcome>>);

impl Progress for OutcomeRecorder {
    fn report(&self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Reporter for OutcomeRecorder {
    fn report_outcome(&self, outcome: &Outcome) {
        self.0.lock().unwrap().push(outcome.clone());
    }
}

/// A folder of files and the store that they go to, with a captioner.
struct CaptionFixture {
    folder: tempfile::TempDir,
    database: Database,
    captioner: Arc<FakeCaptioner>,
}

impl CaptionFixture {
    fn new(files: &[(&str, Vec<u8>)]) -> CaptionFixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("files");
        fs::create_dir(&path).unwrap();
        for (name, bytes) in files {
            fs::write(path.join(name), bytes).unwrap();
        }
        CaptionFixture {
            database: Database::open(folder.path().join("store")).unwrap(),
            folder,
            captioner: Arc::default(),
        }
    }

    fn ingest(&self, force: bool) -> Vec<Outcome> {
        self.ingest_with(2, force)
    }

    fn ingest_with(&self, jobs: usize, force: bool) -> Vec<Outcome> {
        let options = IngestOptions {
            force,
            jobs,
            captioner: Some(Arc::clone(&self.captioner) as _),
            ..IngestOptions::default()
        };
        let lines = OutcomeRecorder::default();
        let paths = [self.folder.path().join("files")];
        let runner = InProcess::default();
        ingest(&self.database, &paths, &options, &runner, &lines).unwrap();
        lines.0.into_inner().unwrap()
    }

    /// What was asked since the last time, sorted: documents are made at once.
    fn take_requests(&self) -> Vec<String> {
        let mut requests = std::mem::take(&mut *self.captioner.0.lock().unwrap());
        requests.sort();
        requests
    }
}

#[test]
fn pictures_get_captions_once_and_unchanged_documents_are_not_asked_about() {
    let gallery = CaptionFixture::new(&[
        ("a.docx", word(&[("1.png", "one"), ("2.png", "three")])),
        ("b.docx", word(&[("9.png", "one"), ("8.png", "?")])),
        ("heron_1.png", png("three")),
        ("c.md", b"# C\n\n![x](x.png)\n".to_vec()),
    ]);
    let lines = gallery.ingest(false);
    let is_well = |line: &Outcome| line.status == Status::Added && line.warnings.is_empty();
    assert!(lines.iter().all(is_well), "{lines:?}");
    let requests = gallery.take_requests();
    assert_eq!(requests.len(), 3, "one for each content: {requests:?}");
    let view = gallery.database.snapshot();
    let rows = view.snapshot().rows();
    let text = |key: &str| {
        let key = DocumentKey::new("", "", key).unwrap();
        let id = rows.document_id(&key).unwrap().unwrap();
        rows.text(id).unwrap().unwrap()
    };
    assert_eq!(
        text("a.docx"),
        "Ducks.\n\nA heron of 11 bytes.\n\nDucks.\n\nA heron of 13 bytes."
    );
    assert_eq!(
        text("b.docx"),
        "Ducks.\n\nA heron of 11 bytes.\n\nDucks.\n\n8.png"
    );
    assert_eq!(text("heron_1.png"), "heron 1. A heron of 13 bytes.");
    let again = gallery.ingest(false);
    assert!(again.iter().all(|line| line.status == Status::Unchanged));
    assert_eq!(gallery.take_requests(), Vec::<String>::new());
    gallery.ingest(true);
    assert_eq!(
        gallery.take_requests().len(),
        3,
        "what was said is kept for one run"
    );
}

#[test]
fn a_failed_caption_is_reported_and_the_document_is_stored_without_it() {
    let many: Vec<String> = (0..6).map(|n| format!("{n}.png")).collect();
    let bad: Vec<String> = (0..6).map(|n| format!("{n}!")).collect();
    let many: Vec<(&str, &str)> = many
        .iter()
        .zip(&bad)
        .map(|(n, b)| (&n[..], &b[..]))
        .collect();
    let gallery = CaptionFixture::new(&[
        ("a.docx", word(&[("1.png", "!"), ("2.png", "good")])),
        ("b.docx", word(&many)),
    ]);
    let lines = gallery.ingest(false);
    assert!(
        lines.iter().all(|line| line.status == Status::Added),
        "{lines:?}"
    );
    let [warning] = &lines[0].warnings[..] else {
        panic!("{lines:?}")
    };
    let start =
        "1 picture has no caption (word/media/1.png): captioner refused the picture: too bright";
    assert!(warning.starts_with(start), "{warning}");
    let [failed, rest] = &lines[1].warnings[..] else {
        panic!("{lines:?}")
    };
    assert!(failed.starts_with("3 pictures have no caption"), "{failed}");
    assert!(
        rest.starts_with("3 more pictures have no caption: not asked about"),
        "{rest}"
    );
    assert_eq!(gallery.take_requests().len(), 2 + 3);
}

#[test]
fn a_picture_that_failed_is_not_asked_about_again_in_a_run() {
    let document = word(&[("logo.png", "!"), ("2.png", "good")]);
    let files = ["a.docx", "b.docx", "c.docx"].map(|name| (name, document.clone()));
    let gallery = CaptionFixture::new(&files);
    for force in [false, true] {
        for line in gallery.ingest(force) {
            let start = "1 picture has no caption (word/media/logo.png): captioner refused";
            assert!(line.warnings[0].starts_with(start), "{line:?}");
        }
        assert_eq!(gallery.take_requests().len(), 2, "the next run tries again");
    }
}

#[test]
fn a_captioner_that_stays_unavailable_is_not_asked_any_more() {
    let names: Vec<String> = (0..12).map(|n| format!("{n:02}.png")).collect();
    let asleep: Vec<Vec<u8>> = (0..12).map(|n| png(&format!("{n}~"))).collect();
    let files = names
        .iter()
        .zip(asleep)
        .map(|(name, bytes)| (&name[..], bytes));
    let mut files: Vec<_> = files.collect();
    // Nobody finds out that it would answer for this one.
    files.push(("99.png", png("good")));
    let gallery = CaptionFixture::new(&files);
    let lines = gallery.ingest_with(1, false);
    let warnings = |line: &Outcome| line.warnings.concat();
    assert!(
        lines.iter().all(|line| line.status == Status::Added),
        "{lines:?}"
    );
    assert!(
        lines[..10]
            .iter()
            .all(|line| warnings(line).contains("asleep")),
        "{lines:?}"
    );
    let start = "1 picture has no caption: not asked about, for the captioner was unavailable 10 times in a row";
    assert!(
        lines[10..]
            .iter()
            .all(|line| warnings(line).starts_with(start)),
        "{lines:?}"
    );
    assert_eq!(gallery.take_requests().len(), 10);
}

#[test]
fn a_watched_folder_has_its_pictures_captioned() {
    let gallery = CaptionFixture::new(&[("a.png", png("one")), ("x.png", png("!"))]);
    let files = gallery.folder.path().join("files");
    let changes = ScriptedReporter {
        steps: std::sync::Mutex::new(vec![
            Box::new(|| {
                fs::write(files.join("b.png"), png("one")).unwrap();
                fs::write(files.join("y.png"), png("!")).unwrap();
            }),
            Box::new(|| {}),
            Box::new(|| {}),
        ]),
        outcomes: std::sync::Mutex::default(),
    };
    let options = IngestOptions {
        captioner: Some(Arc::clone(&gallery.captioner) as _),
        ..IngestOptions::default()
    };
    let how = WatchOptions {
        interval: std::time::Duration::ZERO,
        delete: false,
    };
    let (paths, runner) = ([files.clone()], InProcess::default());
    let summary = watch(&gallery.database, &paths, &options, how, &runner, &changes).unwrap();
    assert_eq!((summary.added, summary.failed), (4, 0));
    let expected = ["image/png a.png", "image/png x.png", "image/png y.png"];
    assert_eq!(
        gallery.take_requests(),
        expected,
        "what failed is tried again later"
    );
}
