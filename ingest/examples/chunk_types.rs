//! How well chunks are classified by what they are for: macro F1 over passages that a reader labelled before the rules
//! were fitted to them, and every one that is classified otherwise.
//!
//! usage: cargo run -p loci-ingest --example chunk_types -- FOLDER [--all]
//!
//! FOLDER holds the documents that `ingest/labels/chunk_types.jsonl` names. Rules are made with the first half of the labels in
//! view; what counts is the second half.

mod labelled;

use std::error::Error;
use std::path::Path;

use labelled::{f1, labels, mean, with_passages};

const TYPES: [&str; 4] = ["concept", "example", "question", "other"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("give a folder of documents")?;
    let shows_all = args.next().is_some();
    let labels = labels("chunk_types.jsonl")?;
    let found = with_passages(Path::new(&folder), &labels, |_, record| {
        record.chunk_type.name()
    })?;
    let mut splits: [Vec<(&str, &str)>; 2] = Default::default();
    let mut gone = 0;
    for (at, (label, ours)) in found.into_iter().enumerate() {
        let Some(ours) = ours else {
            gone += 1;
            continue;
        };
        let half = at * 2 / labels.len();
        splits[half].push((ours, &label.label));
        if ours != label.label && (shows_all || half == 0) {
            println!(
                "{ours} for {}: {} {}",
                label.label, label.file, label.begins
            );
        }
    }
    for (name, half) in ["the half in view", "the other half"].iter().zip(&splits) {
        let scores = f1(&TYPES, half);
        for (kind, score) in TYPES.iter().zip(&scores) {
            println!("  {kind:9} F1 {score:.2}");
        }
        println!(
            "{name}: {} passages, macro F1 {:.3}",
            half.len(),
            mean(&scores)
        );
    }
    println!("{gone} passages are divided otherwise by now");
    Ok(())
}
