//! How well the built-in embedder finds passages: nDCG@10 with the cosine alone.
//!
//! `cargo run --release -p loci-models --example lsa_quality -- FOLDER...`
//!
//! A folder holds `corpus.jsonl` (`id`, `title`, `text`), `queries.jsonl` (`id`, `text`) and
//! `qrels.tsv` (query, passage, grade). Gains are linear in the grade.

use std::collections::HashMap;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use frostem::{Algorithm, Stemmer};
use loci_models::lsa::{FitOptions, Fitter};

type Grades = HashMap<String, HashMap<String, f64>>;

const HITS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    for folder in std::env::args().skip(1) {
        println!("{folder}: {}", evaluate(Path::new(&folder))?);
    }
    Ok(())
}

fn evaluate(folder: &Path) -> Result<String, Box<dyn Error>> {
    let corpus = texts(&folder.join("corpus.jsonl"))?;
    let queries = texts(&folder.join("queries.jsonl"))?;
    let grades = grades(&folder.join("qrels.tsv"))?;
    let mut fitter = Fitter::new();
    for (_, text) in &corpus {
        fitter.push(terms(text))?;
    }
    let start = Instant::now();
    let fitted = fitter.fit(&FitOptions::default(), |_| ControlFlow::Continue(()))?;
    let seconds = start.elapsed().as_secs_f64();
    let vectors = fitted.vectors();
    let mut gains = Vec::new();
    for (id, text) in &queries {
        let Some(grades) = grades.get(id) else {
            continue;
        };
        let hits = fitted
            .projection()
            .embed_terms(terms(text))
            .map(|q| best(&q, &vectors));
        let hits = hits.unwrap_or_default();
        gains.push(ndcg(hits.iter().map(|&row| corpus[row].0.as_str()), grades));
    }
    let (projection, bytes) = (fitted.projection(), fitted.projection().bytes().len());
    Ok(format!(
        "nDCG@10 {:.2}, {} rows, {} terms, {} dimensions, {:.0} % of the energy, {bytes} bytes, fit {seconds:.2} s",
        100.0 * gains.iter().sum::<f64>() / gains.len() as f64,
        projection.rows(),
        projection.terms(),
        projection.dim(),
        100.0 * projection.energy(),
    ))
}

/// Lower-cased, stemmed English words.
fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::new(Algorithm::English);
    let lower = text.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty());
    words.map(|word| stemmer.stem(word).to_string()).collect()
}

/// Rows of the largest cosines, best first.
fn best(query: &[f32], vectors: &[Option<Vec<f32>>]) -> Vec<usize> {
    let cosine = |vector: &[f32]| -> f32 { vector.iter().zip(query).map(|(a, b)| a * b).sum() };
    let mut hits: Vec<(f32, usize)> = (0..)
        .zip(vectors)
        .filter_map(|(row, vector)| Some((cosine(vector.as_ref()?), row)))
        .collect();
    hits.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    hits.into_iter().take(HITS).map(|(_, row)| row).collect()
}

fn ndcg<'a>(hits: impl Iterator<Item = &'a str>, grades: &HashMap<String, f64>) -> f64 {
    let sum = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains
            .take(HITS)
            .zip(2..)
            .map(|(gain, place)| gain / f64::from(place).log2())
            .sum()
    };
    let mut ideal: Vec<f64> = grades.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let found = sum(&mut hits.map(|id| grades.get(id).copied().unwrap_or(0.0)));
    found / sum(&mut ideal.into_iter())
}

/// (id, title and text) of each line.
fn texts(path: &Path) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let mut texts = Vec::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let field = |name: &str| line[name].as_str().unwrap_or_default().to_string();
        let text = match line.get("title") {
            Some(_) => format!("{}\n{}", field("title"), field("text")),
            None => field("text"),
        };
        texts.push((field("id"), text));
    }
    Ok(texts)
}

fn grades(path: &Path) -> Result<Grades, Box<dyn Error>> {
    let mut grades = Grades::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [query, passage, grade] = fields[..] else {
            return Err("not three columns".into());
        };
        grades
            .entry(query.to_string())
            .or_default()
            .insert(passage.to_string(), grade.parse()?);
    }
    Ok(grades)
}
