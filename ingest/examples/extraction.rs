//! Built-in extraction beside that of another extractor: how many of its entities are found, and how many of ours it has.
//!
//! usage: cargo run --release -p loci-ingest --example extraction -- FOLDER [--missed N]
//!
//! FOLDER holds `corpus.jsonl` and `openie.jsonl` of a prepared data folder. Names are compared normalised, passage by passage;
//! each half of the passages is counted by itself, so that rules may be made by one and checked by the other.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::fs;
use std::path::Path;

use loci_documents::{Block, BlockKind, ParsedDocument};
use loci_ingest::chunk::{ChunkSettings, chunk};
use loci_ingest::extract::{ExtractSettings, extract};
use locidb::graph::normalise;
use serde::Deserialize;

#[derive(Deserialize)]
struct Passage {
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Extracted {
    entities: Vec<String>,
}

/// Names that both have, that the built-in extraction has, and that the other has.
#[derive(Clone, Copy, Default)]
struct Counts {
    both: usize,
    ours: usize,
    theirs: usize,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.both += other.both;
        self.ours += other.ours;
        self.theirs += other.theirs;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |of: usize| self.both as f64 / of.max(1) as f64;
        write!(
            f,
            "recall {:.3} precision {:.3} of {} and {} names",
            share(self.theirs),
            share(self.ours),
            self.theirs,
            self.ours
        )
    }
}

fn lines<T: for<'d> Deserialize<'d>>(path: &Path) -> Result<Vec<T>, Box<dyn Error>> {
    let text = fs::read_to_string(path)?;
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

/// A passage under its title, as a file would be.
fn parsed(passage: &Passage) -> ParsedDocument {
    let title = passage.title.clone();
    let text = format!("{title}\n\n{}", passage.text);
    let block = |kind, range| Block {
        kind,
        range,
        ..Block::default()
    };
    ParsedDocument {
        blocks: vec![
            block(BlockKind::Heading(1), 0..title.len()),
            block(BlockKind::Paragraph, title.len() + 2..text.len()),
        ],
        title: Some(title),
        text,
        ..ParsedDocument::default()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(args.first().ok_or("give a folder")?);
    let shown: usize = match args.iter().position(|arg| arg == "--missed") {
        Some(at) => args.get(at + 1).ok_or("--missed N")?.parse()?,
        None => 0,
    };
    let passages: Vec<Passage> = lines(&folder.join("corpus.jsonl"))?;
    let extracted: Vec<Extracted> = lines(&folder.join("openie.jsonl"))?;
    let mut splits = [Counts::default(); 2];
    let (mut missed, mut extra): (BTreeMap<String, u32>, BTreeMap<String, u32>) =
        Default::default();
    for (at, (passage, extracted)) in passages.iter().zip(&extracted).enumerate() {
        let parsed = parsed(passage);
        let chunks = chunk(&parsed, &ChunkSettings::default());
        let (concepts, _) = extract(&parsed, &chunks, &ExtractSettings::default());
        let found: BTreeSet<String> = concepts
            .iter()
            .map(|concept| normalise(&concept.name))
            .collect();
        let expected: BTreeSet<String> = extracted
            .entities
            .iter()
            .map(|name| normalise(name))
            .collect();
        splits[at % 2].add(Counts {
            both: found.intersection(&expected).count(),
            ours: found.len(),
            theirs: expected.len(),
        });
        if shown > 0 {
            expected
                .difference(&found)
                .for_each(|name| *missed.entry(name.clone()).or_default() += 1);
            found
                .difference(&expected)
                .for_each(|name| *extra.entry(name.clone()).or_default() += 1);
        }
    }
    let [mut all, odd] = splits;
    all.add(odd);
    println!("all passages: {all} in {} passages", passages.len());
    println!("every second from the first: {}", splits[0]);
    println!("the others: {odd}");
    for (what, names) in [("missed", missed), ("extra", extra)] {
        for (name, _) in names
            .iter()
            .step_by(names.len().div_ceil(shown.max(1)).max(1))
            .take(shown)
        {
            println!("{what}: {name}");
        }
    }
    Ok(())
}
