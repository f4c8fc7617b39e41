//! Passages a second that a model in a folder embeds, and how near its vectors are to known ones.
//!
//! usage: cargo run --release -p loci-models --features minilm --example folder -- MODEL DATA [COUNT]
//!
//! MODEL holds `model.onnx` and `tokenizer.json`; DATA is a prepared data folder with `corpus.jsonl` and, where there are
//! any, the vectors of the same model in `corpus.f32`.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use loci_models::{Embedder, FolderEmbedder};
use serde::Deserialize;

/// Texts that the model is given at once.
const BATCH: usize = 128;

#[derive(Deserialize)]
struct Passage {
    #[serde(default)]
    title: String,
    text: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(model), Some(data)) = (args.next(), args.next()) else {
        return Err("usage: folder MODEL DATA [COUNT]".into());
    };
    let count: usize = args.next().map_or(Ok(1_000), |count| count.parse())?;
    let started = Instant::now();
    let model = FolderEmbedder::open(Path::new(&model))?;
    println!("open {:.2} s", started.elapsed().as_secs_f64());
    let corpus = fs::read_to_string(Path::new(&data).join("corpus.jsonl"))?;
    let texts: Vec<String> = corpus
        .lines()
        .take(count)
        .map(|line| {
            let passage: Passage = serde_json::from_str(line)?;
            Ok(format!("{}\n{}", passage.title, passage.text))
        })
        .collect::<Result<_, serde_json::Error>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let words: usize = texts
        .iter()
        .map(|text| text.split_whitespace().count())
        .sum();
    let started = Instant::now();
    let mut vectors = Vec::new();
    for batch in texts.chunks(BATCH) {
        vectors.extend(model.embed(batch)?);
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} passages of {} words: {:.1} a second",
        texts.len(),
        words / texts.len().max(1),
        texts.len() as f64 / seconds
    );
    let known = Path::new(&data).join("corpus.f32");
    if known.exists() {
        print_cosines(&vectors, &fs::read(known)?);
    }
    Ok(())
}

fn print_cosines(vectors: &[Vec<f32>], known: &[u8]) {
    let dim = vectors.first().map_or(1, Vec::len);
    let numbers = known.as_chunks().0.iter().map(|&x| f32::from_le_bytes(x));
    let numbers: Vec<f32> = numbers.collect();
    let pairs = vectors.iter().zip(numbers.chunks_exact(dim));
    let mut cosines: Vec<f32> = pairs
        .map(|(own, known)| own.iter().zip(known).map(|(a, b)| a * b).sum())
        .collect();
    cosines.sort_by(f32::total_cmp);
    if let (Some(least), Some(median)) = (cosines.first(), cosines.get(cosines.len() / 2)) {
        println!("cosine to the known vectors: least {least:.5}, median {median:.5}");
    }
}
