//! `loci bench --task search`: the request that `loci search` makes by default, over a data folder or any store.
//!
//! A question is one call of [`Database::search`]: its text, the default settings of the store, ten hits with
//! citations and parents. A folder's own query vectors are passed along where its vectors were loaded.
//! Latency is measured without `explain`; a pass with it gives the median of each operator, and the share of
//! the whole time that the operators account for.
//!
//! Start reading at [`run`] and [`run_store`].

use std::path::{Path, PathBuf};

use locidb::{Database, NoProgress, Options, SearchRequest};
use serde_json::{Map, Value, json};

use crate::BenchError;
use crate::clock::latency;
use crate::folder::Folder;
use crate::load::{self, Concepts, Embedder};
use crate::metrics::percentile;

/// What to measure, and how.
#[derive(Clone, Copy, Debug)]
pub struct SearchBench {
    /// Threads that search.
    pub threads: usize,
    /// The first so many chunks of the folder only.
    pub limit: Option<usize>,
    /// Source of a folder's vectors; `None`: the folder if it has any, otherwise the built-in embedder.
    pub embedder: Option<Embedder>,
    /// Source of a folder's concepts.
    pub concepts: Concepts,
}

/// Loads `folder` into a temporary store, asks its questions, and calls `line` with the result.
///
/// # Errors
/// [`BenchError::MissingInput`] when the folder asks no questions; any error of the database.
pub fn run(folder: &Path, bench: &SearchBench, line: impl FnMut(&Value)) -> Result<(), BenchError> {
    let mut folder = Folder::open(folder)?;
    if let Some(limit) = bench.limit.filter(|&limit| limit < folder.chunks.len()) {
        folder.truncate(limit);
    }
    let embedder = bench.embedder.unwrap_or(if folder.chunk_vectors.is_some() {
        Embedder::Given
    } else {
        Embedder::Builtin
    });
    let at = tempfile::tempdir().map_err(|source| BenchError::io("a temporary folder", source))?;
    let database = Database::open(at.path())?;
    load::load(&database, &folder, embedder, bench.concepts, &NoProgress)?;
    database.wait_for_merges()?;
    let vectors = folder
        .query_vectors
        .as_ref()
        .filter(|_| matches!(embedder, Embedder::Given));
    let request = |(number, query): (usize, &crate::folder::QueryLine)| SearchRequest {
        vector: vectors.map(|vectors| vectors.get(number).to_vec()),
        ..SearchRequest::new(&query.text[..])
    };
    let requests = folder.queries.iter().enumerate().map(request).collect();
    measure(&database, &folder.name, &folder.path, requests, bench, line)?;
    database.close();
    Ok(())
}

/// Asks the store in `store` the questions of the file `questions`, and calls `line` with the result. The file has a
/// question a line, as plain text or as JSON with a field `text` or `question`; empty lines are skipped.
///
/// # Errors
/// [`BenchError::MissingInput`] for a file without questions; any error of the database.
pub fn run_store(
    store: &Path,
    questions: &Path,
    bench: &SearchBench,
    line: impl FnMut(&Value),
) -> Result<(), BenchError> {
    let questions = read_questions(questions)?;
    let options = Options {
        create: false,
        ..Options::default()
    };
    let database = Database::open_with(store, &options)?;
    let requests = questions.iter();
    let requests = requests
        .map(|question| SearchRequest::new(&question[..]))
        .collect();
    let name = store.file_name().unwrap_or(store.as_os_str());
    let name = name.to_string_lossy().into_owned();
    measure(&database, &name, store, requests, bench, line)?;
    database.close();
    Ok(())
}

fn read_questions(file: &Path) -> Result<Vec<String>, BenchError> {
    let shown = || file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|source| BenchError::io(shown(), source))?;
    let mut questions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        questions.push(if line.starts_with('{') {
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            let text = value["text"].as_str().or(value["question"].as_str());
            let text = text.ok_or_else(|| BenchError::Format {
                file: shown(),
                line: number,
                why: "JSON without a field `text` or `question`".into(),
            })?;
            text.to_owned()
        } else {
            line.to_owned()
        });
    }
    if questions.is_empty() {
        return Err(BenchError::MissingInput(format!(
            "{} has no questions",
            shown()
        )));
    }
    Ok(questions)
}

fn measure(
    database: &Database,
    name: &str,
    path: &Path,
    requests: Vec<SearchRequest>,
    bench: &SearchBench,
    mut line: impl FnMut(&Value),
) -> Result<(), BenchError> {
    if requests.is_empty() {
        let why = format!(
            "{} has no queries.jsonl to ask",
            PathBuf::from(path).display()
        );
        return Err(BenchError::MissingInput(why));
    }
    for request in &requests {
        database.search(request)?;
    }
    let measured = latency(
        requests.len(),
        bench.threads,
        || (),
        |(), at| {
            // Every request succeeded once.
            let _ = std::hint::black_box(database.search(&requests[at]));
        },
    );
    let stats = database.stats();
    let mut fields = json!({
        "task": "search",
        "system": "loci",
        "set": name,
        "threads": bench.threads,
        "n": stats.chunks,
        "segments": stats.segments,
        "result": "search",
    });
    let operators = operators(database, &requests)?;
    if let (Value::Object(fields), Value::Object(measured_fields)) = (&mut fields, json!(measured))
    {
        fields.extend(measured_fields);
        fields.extend(operators);
    }
    line(&fields);
    Ok(())
}

/// Microseconds of each operator, median over the requests that ran it, and mean over all; the share of the
/// whole time that operators account for, in all requests together.
fn operators(
    database: &Database,
    requests: &[SearchRequest],
) -> Result<Map<String, Value>, BenchError> {
    let mut names: Vec<String> = Vec::new();
    let mut times: Vec<Vec<f64>> = Vec::new();
    let (mut accounted_us, mut whole_us) = (0.0, 0.0);
    for request in requests {
        let request = SearchRequest {
            explain: true,
            ..request.clone()
        };
        let answer = database.search(&request)?;
        whole_us += answer.took_us as f64;
        for step in answer.explain.unwrap_or_default() {
            accounted_us += step.took_us as f64;
            let at = names.iter().position(|name| *name == step.operator);
            let at = at.unwrap_or_else(|| {
                names.push(step.operator.clone());
                times.push(Vec::new());
                names.len() - 1
            });
            times[at].push(step.took_us as f64);
        }
    }
    let mut operators = Map::new();
    for (name, mut times) in names.into_iter().zip(times) {
        times.sort_unstable_by(f64::total_cmp);
        let mean = times.iter().sum::<f64>() / requests.len() as f64;
        let fields =
            json!({"p50_us": percentile(&times, 0.5), "mean_us": mean, "runs": times.len()});
        operators.insert(name, fields);
    }
    let mut fields = Map::new();
    fields.insert("operators".into(), Value::Object(operators));
    let share = accounted_us / f64::max(whole_us, 1.0);
    fields.insert("operators_share".into(), json!(share));
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hybrid::tests::small_folder;

    const BENCH: SearchBench = SearchBench {
        threads: 1,
        limit: None,
        embedder: None,
        concepts: Concepts::Given,
    };

    #[test]
    fn default_requests_over_a_folder_are_measured_with_their_operators() {
        let folder = small_folder();
        let mut lines = Vec::new();
        run(folder.path(), &BENCH, |line| lines.push(line.clone())).unwrap();
        let [line] = &lines[..] else {
            panic!("{lines:?}")
        };
        assert_eq!(
            (&line["task"], &line["samples"]),
            (&json!("search"), &json!(12))
        );
        for operator in ["analyse", "text", "vector", "fuse", "fetch"] {
            assert_eq!(
                line["operators"][operator]["runs"], 12,
                "{operator}: {line}"
            );
        }
        assert!(line["operators_share"].as_f64().unwrap() <= 1.0, "{line}");
    }

    #[test]
    fn any_store_is_asked_the_questions_of_a_file() {
        let folder = small_folder();
        let at = tempfile::tempdir().unwrap();
        let store = at.path().join("store");
        let database = Database::open(&store).unwrap();
        let data = Folder::open(folder.path()).unwrap();
        load::load(
            &database,
            &data,
            Embedder::Builtin,
            Concepts::Builtin,
            &NoProgress,
        )
        .unwrap();
        database.close();
        let questions = at.path().join("questions");
        std::fs::write(
            &questions,
            "Where is the amber?\n\n{\"text\": \"the fjord\"}\n",
        )
        .unwrap();
        let mut lines = Vec::new();
        run_store(&store, &questions, &BENCH, |line| lines.push(line.clone())).unwrap();
        assert_eq!(
            (&lines[0]["samples"], &lines[0]["set"]),
            (&json!(2), &json!("store"))
        );
        std::fs::write(&questions, "{\"id\": 3}\n").unwrap();
        let error = run_store(&store, &questions, &BENCH, |_| ()).unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
        std::fs::write(&questions, "\n").unwrap();
        let error = run_store(&store, &questions, &BENCH, |_| ()).unwrap_err();
        assert!(error.to_string().contains("no questions"), "{error}");
    }
}
