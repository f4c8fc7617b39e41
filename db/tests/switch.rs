//! Changing the vector space of a store that is read and written meanwhile.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_storage::DocumentKey;
use loci_storage::records::{ChunkRecord, DocumentRecord};
use locidb::{
    Database, EmbedError, Embedder, EmbedderChoice, Error, NewChunk, NewDocument, NoProgress,
    Options, Progress, SearchRequest, Strategy,
};

/// A model that counts letters: near texts have near vectors, and nothing is random.
struct LetterEmbedder {
    name: &'static str,
    /// Texts that it was asked for.
    embedded_count: AtomicUsize,
    /// Called with each batch.
    meanwhile: Box<dyn Fn(usize) -> Result<(), EmbedError> + Send + Sync>,
}

impl LetterEmbedder {
    fn new(name: &'static str) -> LetterEmbedder {
        LetterEmbedder::with(name, |_| Ok(()))
    }

    fn with(
        name: &'static str,
        meanwhile: impl Fn(usize) -> Result<(), EmbedError> + Send + Sync + 'static,
    ) -> LetterEmbedder {
        LetterEmbedder {
            name,
            embedded_count: AtomicUsize::new(0),
            meanwhile: Box::new(meanwhile),
        }
    }
}

impl Embedder for LetterEmbedder {
    fn dim(&self) -> usize {
        26
    }

    fn model(&self) -> &str {
        self.name
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let before = self.embedded_count.fetch_add(texts.len(), Ordering::SeqCst);
        (self.meanwhile)(before)?;
        Ok(texts.iter().map(|text| letter_vector(text)).collect())
    }
}

fn letter_vector(text: &str) -> Vec<f32> {
    let mut counts = [0.0f32; 26];
    for letter in text.bytes().filter(u8::is_ascii_lowercase) {
        counts[usize::from(letter - b'a')] += 1.0;
    }
    let length = counts.iter().map(|x| x * x).sum::<f32>().sqrt();
    counts.iter().map(|x| x / length.max(1.0)).collect()
}

fn put(database: &Database, n: usize) {
    let words = ["zebra", "quartz", "violin", "harbour", "meadow", "copper"];
    let text = format!(
        "{} number {n} lies near the {}.",
        words[n % 6],
        words[(n + 1) % 6]
    );
    let passage = ChunkRecord {
        location: loci_storage::records::Location {
            chars: (0, text.len() as u64),
            ..Default::default()
        },
        text: text.clone(),
        ..ChunkRecord::default()
    };
    let document = NewDocument {
        record: DocumentRecord {
            key: format!("{n}"),
            ..DocumentRecord::default()
        },
        original: text.into_bytes(),
        chunks: vec![NewChunk {
            record: passage,
            vector: None,
        }],
        ..NewDocument::default()
    };
    database.write(move |tx| tx.put_document(document)).unwrap();
}

fn open(folder: &Path, count: usize) -> Database {
    let database = Database::open(folder).unwrap();
    (0..count).for_each(|n| put(&database, n));
    database
}

/// Keys of the documents that the vector arm finds.
fn found(database: &Database) -> Vec<String> {
    let request = SearchRequest {
        strategy: Strategy::Vector,
        k: 1000,
        ..SearchRequest::new("zebra number")
    };
    let answer = database.search(&request).unwrap();
    let mut keys: Vec<String> = answer.hits.into_iter().map(|hit| hit.document).collect();
    keys.sort_by_key(|key| key.parse::<usize>().unwrap());
    keys
}

fn all(count: usize) -> Vec<String> {
    (0..count).map(|n| n.to_string()).collect()
}

fn model_of(database: &Database) -> Option<String> {
    database.stats().space.map(|space| space.model)
}

#[test]
fn external_model_answers_once_every_text_is_embedded() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 40);
    let model: Arc<dyn Embedder> = Arc::new(LetterEmbedder::new("letters-1"));
    database.switch_embedder(model, &NoProgress).unwrap();
    assert_eq!(model_of(&database).as_deref(), Some("letters-1"));
    assert_eq!(database.stats().pending_space, None);
    assert_eq!(found(&database), all(40));
}

#[test]
fn searches_and_writes_continue_during_a_switch() {
    let folder = tempfile::tempdir().unwrap();
    let database = Arc::new(open(folder.path(), 40));
    let first: Arc<dyn Embedder> = Arc::new(LetterEmbedder::new("letters-1"));
    database.switch_embedder(first, &NoProgress).unwrap();
    let other = Arc::clone(&database);
    let second = LetterEmbedder::with("letters-2", move |before| {
        if before == 0 {
            // From another thread than the committing one, which a switch never waits for.
            assert_eq!(model_of(&other).as_deref(), Some("letters-1"));
            assert_eq!(found(&other), all(40));
            (40..45).for_each(|n| put(&other, n));
            let gone = DocumentKey::new("", "", "7").unwrap();
            assert!(other.write(move |tx| tx.delete_document(&gone)).unwrap());
        }
        Ok(())
    });
    database
        .switch_embedder(Arc::new(second), &NoProgress)
        .unwrap();
    assert_eq!(model_of(&database).as_deref(), Some("letters-2"));
    let mut want = all(45);
    want.remove(7);
    assert_eq!(found(&database), want);
}

#[test]
fn interrupted_switch_embeds_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 600);
    let failing = LetterEmbedder::with("letters-1", |before| match before {
        0 => Ok(()),
        _ => Err(EmbedError::Unavailable {
            reason: "down".into(),
        }),
    });
    let failed = database.switch_embedder(Arc::new(failing), &NoProgress);
    assert!(matches!(failed, Err(Error::Embed(_))), "{failed:?}");
    assert_eq!(model_of(&database), None);
    assert_eq!(database.stats().pending_space.unwrap().model, "letters-1");
    database.close();

    let database = Database::open(folder.path()).unwrap();
    let model = Arc::new(LetterEmbedder::new("letters-1"));
    let embedder: Arc<dyn Embedder> = model.clone();
    database.switch_embedder(embedder, &NoProgress).unwrap();
    assert_eq!(model_of(&database).as_deref(), Some("letters-1"));
    assert_eq!(model.embedded_count.load(Ordering::SeqCst), 600 - 128);
    assert_eq!(found(&database), all(600));
}

#[test]
fn model_given_at_open_embeds_new_text() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 20);
    let model: Arc<dyn Embedder> = Arc::new(LetterEmbedder::new("letters-1"));
    database.switch_embedder(model, &NoProgress).unwrap();
    database.close();

    let options = Options {
        embedder: Some(Arc::new(LetterEmbedder::new("letters-1"))),
        ..Options::default()
    };
    let database = Database::open_with(folder.path(), &options).unwrap();
    assert_eq!(found(&database), all(20));
    (20..30).for_each(|n| put(&database, n));
    database.finish(&NoProgress).unwrap();
    assert_eq!(found(&database), all(30));
}

/// Interrupts when a step is reported.
struct StopAtStep(&'static str);

impl Progress for StopAtStep {
    fn report(&self, step: &str, _: u64, _: u64) -> ControlFlow<()> {
        if step == self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn interrupted_refit_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 60);
    database.finish(&NoProgress).unwrap();
    let before = model_of(&database).unwrap();
    (60..90).for_each(|n| put(&database, n));
    let interrupted = database.refit(&StopAtStep("building vectors"));
    assert!(matches!(interrupted, Err(Error::Interrupted)));
    assert_eq!(model_of(&database), Some(before.clone()));
    let fitted = database.stats().pending_space.unwrap().model;
    assert_ne!(fitted, before);
    database.close();

    let database = Database::open(folder.path()).unwrap();
    // A fit would be interrupted here.
    database.refit(&StopAtStep("fitting")).unwrap();
    assert_eq!(model_of(&database), Some(fitted));
    assert_eq!(database.stats().pending_space, None);
    assert_eq!(found(&database), all(90));
}

#[test]
fn abandoned_space_leaves_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 40);
    for name in ["letters-1", "letters-2"] {
        database
            .switch_embedder(Arc::new(LetterEmbedder::new(name)), &NoProgress)
            .unwrap();
    }
    database.use_embedder(EmbedderChoice::None).unwrap();
    database.wait_for_merges().unwrap();
    let view = database.snapshot();
    let rows = view.snapshot().rows();
    for table in [loci_storage::Table::Vectors, loci_storage::Table::Spaces] {
        assert_eq!(rows.count(table).unwrap(), 0, "{table:?}");
    }
}

#[test]
fn new_text_is_embedded_after_a_model_failure() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 20);
    let fails = Arc::new(AtomicUsize::new(usize::MAX));
    let limit = Arc::clone(&fails);
    let model = LetterEmbedder::with("letters-1", move |before| {
        if before >= limit.load(Ordering::SeqCst) {
            Err(EmbedError::Unavailable {
                reason: "down".into(),
            })
        } else {
            Ok(())
        }
    });
    let model = Arc::new(model);
    let embedder: Arc<dyn Embedder> = model.clone();
    database.switch_embedder(embedder, &NoProgress).unwrap();
    (20..600).for_each(|n| put(&database, n));
    fails.store(
        model.embedded_count.load(Ordering::SeqCst) + 128,
        Ordering::SeqCst,
    );
    assert!(matches!(database.finish(&NoProgress), Err(Error::Embed(_))));
    let answer = database
        .search(&SearchRequest::new("zebra number"))
        .unwrap();
    assert!(
        !answer.hits.is_empty(),
        "text answers while the model is down"
    );
    assert!(
        answer.partial[0].to_string().contains("down"),
        "{:?}",
        answer.partial
    );
    fails.store(usize::MAX, Ordering::SeqCst);
    database.finish(&NoProgress).unwrap();
    assert_eq!(found(&database), all(600));
}

#[test]
fn finish_commits_nothing_when_the_store_is_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 20);
    let model: Arc<dyn Embedder> = Arc::new(LetterEmbedder::new("letters-1"));
    database.switch_embedder(model, &NoProgress).unwrap();
    database.finish(&NoProgress).unwrap();
    database.wait_for_merges().unwrap();
    let before = database.stats().generation;
    database.finish(&NoProgress).unwrap();
    assert_eq!(database.stats().generation, before);
}

#[test]
fn vector_weight_is_recalibrated_when_the_store_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 2);
    let model: Arc<dyn Embedder> = Arc::new(LetterEmbedder::new("letters-1"));
    database.switch_embedder(model, &NoProgress).unwrap();
    let measured_on = |database: &Database| {
        let view = database.snapshot();
        view.snapshot().active_space().unwrap().record.fitted_chunks
    };
    assert_eq!(measured_on(&database), 2);
    for (until, measured) in [(6, 2), (16, 16), (30, 16), (32, 32)] {
        (database.stats().documents..until).for_each(|n| put(&database, n as usize));
        database.finish(&NoProgress).unwrap();
        assert_eq!(measured_on(&database), measured, "{until}");
    }
    assert_eq!(found(&database), all(32));
}

#[cfg(feature = "minilm")]
#[test]
fn folder_without_a_model_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 20);
    database.finish(&NoProgress).unwrap();
    let before = model_of(&database);
    let empty = tempfile::tempdir().unwrap();
    for path in [empty.path().to_path_buf(), empty.path().join("away")] {
        let error = database.use_model(&path, &NoProgress).unwrap_err();
        assert!(matches!(error, Error::Embed(_)), "{error}");
        assert!(
            error.to_string().contains(path.to_str().unwrap()),
            "{error}"
        );
    }
    let settings = database.settings().unwrap();
    assert_eq!(settings.embedder, EmbedderChoice::Builtin);
    assert_eq!(model_of(&database), before);
    assert!(database.set("embedder", "folder").is_err());
    assert!(database.use_embedder(EmbedderChoice::Folder).is_err());
    assert_eq!(database.settings().unwrap(), settings);
    // A store that was told to have no vectors is not told otherwise by this.
    database.set("embedder", "none").unwrap();
    database.set("model", "").unwrap();
    let settings = database.settings().unwrap();
    assert_eq!(settings.embedder, EmbedderChoice::None);
}

/// Needs a model: `LOCI_MINILM=FOLDER cargo test --release -p locidb --features minilm -- --ignored`.
#[cfg(feature = "minilm")]
#[test]
#[ignore = "needs the folder of a model, in LOCI_MINILM"]
fn configured_model_is_loaded_until_another_is_chosen() {
    let model = std::env::var("LOCI_MINILM").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path(), 20);
    database.use_model(&model, &NoProgress).unwrap();
    let name = model_of(&database).unwrap();
    assert_eq!(found(&database), all(20));
    database.close();

    let database = Database::open(folder.path()).unwrap();
    assert_eq!(
        database.settings().unwrap().embedder,
        EmbedderChoice::Folder
    );
    (20..30).for_each(|n| put(&database, n));
    database.finish(&NoProgress).unwrap();
    assert_eq!(found(&database), all(30));
    let generation = database.stats().generation;
    database.use_model(&model, &NoProgress).unwrap();
    assert_eq!(model_of(&database), Some(name.clone()));
    assert!(
        database.stats().generation <= generation + 1,
        "it is the same model"
    );

    // A copy of the model may lie elsewhere.
    let copy = tempfile::tempdir().unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::copy(
            std::path::Path::new(&model).join(file),
            copy.path().join(file),
        )
        .unwrap();
    }
    database.use_model(copy.path(), &NoProgress).unwrap();
    database.close();
    let away = copy.path().join("tokenizer.json");
    std::fs::remove_file(away).unwrap();
    let database = Database::open(folder.path()).unwrap();
    let answer = database
        .search(&SearchRequest::new("zebra number"))
        .unwrap();
    assert!(!answer.hits.is_empty(), "text answers without the model");
    assert!(
        answer.partial[0].to_string().contains("tokenizer.json"),
        "{:?}",
        answer.partial
    );
    database.refit(&NoProgress).unwrap();
    let settings = database.settings().unwrap();
    assert_eq!(
        (settings.embedder, &settings.model[..]),
        (EmbedderChoice::Builtin, "")
    );
    database.finish(&NoProgress).unwrap();
    assert_ne!(model_of(&database), Some(name));
    assert_eq!(found(&database), all(30));
}
