//! Ingests that are watched, stopped and go on, and what they leave out.

use super::*;
use crate::runner::InProcess;

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
        match done >= self.0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Reporter for StopAfter {
    fn outcome(&self, _: &Outcome) {}
}

/// Changes a folder while it is watched, a step after each look, and keeps what is told.
struct Changes<'c> {
    steps: std::sync::Mutex<Vec<Box<dyn FnOnce() + Send + 'c>>>,
    told: std::sync::Mutex<Vec<(String, Status)>>,
}

impl Progress for Changes<'_> {
    fn report(&self, step: &str, _: u64, _: u64) -> ControlFlow<()> {
        if step != "watching" {
            return ControlFlow::Continue(());
        }
        let mut steps = self.steps.lock().unwrap();
        match steps.is_empty() {
            true => ControlFlow::Break(()),
            false => {
                steps.remove(0)();
                ControlFlow::Continue(())
            }
        }
    }
}

impl Reporter for Changes<'_> {
    fn outcome(&self, outcome: &Outcome) {
        let told = (outcome.document.clone(), outcome.status);
        self.told.lock().unwrap().push(told);
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
    let changes = Changes {
        steps: steps.into(),
        told: Vec::new().into(),
    };
    let how = WatchOptions {
        every: std::time::Duration::ZERO,
        delete: true,
    };
    let paths = [files.clone(), other.clone()];
    let options = IngestOptions::default();
    let runner = InProcess::default();
    let summary = watch(&database, &paths, &options, how, &runner, &changes).unwrap();
    let told = changes.told.into_inner().unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|(key, status)| (&key[..], *status))
        .collect();
    assert_eq!(
        told,
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

#[test]
fn a_file_with_more_bytes_than_are_read_is_refused_before_it_is_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, b"0123456789").unwrap();
    assert_eq!(read(&path, 10).unwrap(), b"0123456789");
    let refused = read(&path, 9).unwrap_err();
    assert!(refused.contains("10 bytes, at most 9"), "{refused}");
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(read(&path, 9).is_err());
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
struct Slow(AtomicU64);

impl ParseRunner for Slow {
    fn document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        source: Source,
        settings: &document::Settings,
    ) -> Result<crate::runner::Made, crate::parse::ParseError> {
        while source.key.starts_with("slow") {
            if self.0.load(Ordering::Relaxed) > 0 {
                return Err(crate::parse::ParseError::Stopped);
            }
            std::thread::yield_now();
        }
        InProcess::default().document(kind, bytes, source, settings)
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
    let summary = ingest(&database, &[files], &options, &Slow::default(), &stop).unwrap();
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
