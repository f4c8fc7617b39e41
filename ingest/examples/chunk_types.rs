//! How well chunks are told apart by what they are for: macro F1 over passages that a person labelled before the rules
//! were made to fit them, and every one that is told otherwise.
//!
//! usage: cargo run -p loci-ingest --example chunk_types -- FOLDER [--all]
//!
//! FOLDER holds the documents that `ingest/labels/chunk_types.jsonl` names. Rules are made with the first half of the labels in
//! view; what counts is the second half.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;

use loci_documents::{detect, parse};
use loci_ingest::chunk::{ChunkSettings, chunk};
use locidb::storage::records::Level;
use serde::Deserialize;

const TYPES: [&str; 4] = ["concept", "example", "question", "other"];

#[derive(Deserialize)]
struct Label {
    file: String,
    /// Its first words.
    begins: String,
    label: String,
}

/// The first words of each passage of a document, and its type.
fn passages(path: &Path) -> Result<BTreeMap<String, &'static str>, Box<dyn Error>> {
    let bytes = fs::read(path)?;
    let kind = detect(path, &bytes).ok_or("its kind cannot be told")?;
    let parsed = parse(kind, &bytes, path.to_str())?;
    let chunks = chunk(&parsed, &ChunkSettings::default()).into_iter();
    let passages = chunks.filter(|chunk| chunk.record.level == Level::Paragraph);
    Ok(passages
        .map(|passage| {
            let words: Vec<&str> = passage.record.text.split_whitespace().take(12).collect();
            (words.join(" "), passage.record.chunk_type.name())
        })
        .collect())
}

fn macro_f1(predictions: &[(&str, &str)]) -> f64 {
    let of = |kind: &str| {
        let both = predictions
            .iter()
            .filter(|(ours, label)| *ours == kind && *label == kind)
            .count();
        let all = predictions.iter().filter(|(ours, _)| *ours == kind).count()
            + predictions
                .iter()
                .filter(|(_, label)| *label == kind)
                .count();
        2.0 * both as f64 / all.max(1) as f64
    };
    for kind in TYPES {
        println!("  {kind:9} F1 {:.2}", of(kind));
    }
    TYPES.iter().map(|kind| of(kind)).sum::<f64>() / TYPES.len() as f64
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("give a folder of documents")?;
    let shows_all = args.next().is_some();
    let labels =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("labels/chunk_types.jsonl"))?;
    let labels: Vec<Label> = labels
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let mut known: BTreeMap<&str, BTreeMap<String, &'static str>> = BTreeMap::new();
    let mut splits: [Vec<(&str, &str)>; 2] = Default::default();
    let mut gone = 0;
    for (at, label) in labels.iter().enumerate() {
        if !known.contains_key(&label.file[..]) {
            known.insert(
                &label.file,
                passages(&Path::new(&folder).join(&label.file))?,
            );
        }
        let Some(ours) = known[&label.file[..]].get(&label.begins) else {
            gone += 1;
            continue;
        };
        let half = at * 2 / labels.len();
        splits[half].push((ours, &label.label));
        if *ours != label.label && (shows_all || half == 0) {
            println!(
                "{ours} for {}: {} {}",
                label.label, label.file, label.begins
            );
        }
    }
    for (name, half) in ["the half in view", "the other half"].iter().zip(&splits) {
        println!(
            "{name}: {} passages, macro F1 {:.3}",
            half.len(),
            macro_f1(half)
        );
    }
    println!("{gone} passages are cut otherwise by now");
    Ok(())
}
