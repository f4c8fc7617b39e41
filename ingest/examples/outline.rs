//! What the parsers make of files: a line each block, with its place. `--chunks` and `--chunking three-level` show what
//! they are cut into, `--citations` what they cite.
//!
//! usage: cargo run -p loci-ingest --example outline -- [--chunks] [--citations] [--full] FILE…

use std::path::Path;
use std::process::ExitCode;

use loci_documents::{BlockKind, ParsedDocument};
use loci_documents::{detect, parse};
use loci_ingest::chunk::{ChunkSettings, Chunking, chunk};
use loci_ingest::cite;

fn main() -> ExitCode {
    let (flags, files): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|arg| arg.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let mut failed = false;
    for file in &files {
        let read = std::fs::read(file).map_err(|error| error.to_string());
        let parsed = read.and_then(|bytes| {
            let kind = detect(Path::new(file), &bytes).ok_or("its kind is unknown")?;
            parse(kind, &bytes, Some(file)).map_err(|error| error.to_string())
        });
        match parsed {
            Ok(parsed) if has("--chunks") => chunks(&parsed, &flags),
            Ok(mut parsed) if has("--citations") => {
                cite::link(&mut parsed);
                citations(&parsed);
            }
            Ok(parsed) => blocks(&parsed, has("--full")),
            Err(why) => {
                failed = true;
                eprintln!("{file}: {why}");
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

fn flat(text: &str, full: bool) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if full {
        words
    } else {
        words.chars().take(100).collect()
    }
}

fn blocks(parsed: &ParsedDocument, full: bool) {
    println!(
        "title {:?} by {:?}, {:?}",
        parsed.title, parsed.authors, parsed.year
    );
    println!("{:?}", parsed.facts);
    for block in &parsed.blocks {
        let mut at = String::new();
        if let Some((from, to)) = block.pages {
            at += &format!(" p{from}-{to}");
        }
        if let Some(slide) = block.slide {
            at += &format!(" s{slide}");
        }
        if let Some((from, to)) = block.time_ms {
            at += &format!(" {:.1}-{:.1}s", from as f64 / 1e3, to as f64 / 1e3);
        }
        if !block.images.is_empty() {
            at += &format!(" {:?}", block.images);
        }
        let text = flat(&parsed.text[block.range.clone()], full);
        match &block.kind {
            BlockKind::Heading(level) => println!("{}{at} {text}", "#".repeat(usize::from(*level))),
            kind => println!("    {kind:?}{at}: {text}"),
        }
    }
    for asset in &parsed.assets {
        println!("asset {} ({} bytes)", asset.name, asset.bytes.len());
    }
}

fn chunks(parsed: &ParsedDocument, flags: &[String]) {
    let mode = |flag: &str| flags.iter().any(|given| given == flag);
    let settings = ChunkSettings {
        mode: match () {
            () if mode("--three-level") => Chunking::ThreeLevel,
            () if mode("--sentence") => Chunking::Sentence,
            () if mode("--hierarchical") => Chunking::Hierarchical,
            () => Chunking::Auto,
        },
        ..ChunkSettings::default()
    };
    for chunk in chunk(parsed, &settings) {
        let record = chunk.record;
        println!(
            "{:?} {:?} {:?} {} tokens, {}: {}",
            record.level,
            record.content_type,
            record.chunk_type,
            record.token_count,
            record.heading_path.join(" / "),
            flat(&record.text, mode("--full"))
        );
    }
}

fn citations(parsed: &ParsedDocument) {
    for (at, reference) in parsed.references.iter().enumerate() {
        println!(
            "{at} [{}] {:?} {:?} {:?} {:?} {:?}\n      {}",
            reference.label,
            reference.authors,
            reference.year,
            reference.title,
            reference.venue,
            reference.doi,
            flat(&reference.text, true)
        );
    }
    for citation in &parsed.citations {
        let text = &parsed.text[citation.range.clone()];
        let before: String = parsed.text[..citation.range.start]
            .chars()
            .rev()
            .take(60)
            .collect();
        let before: String = before.chars().rev().collect();
        println!(
            "{:?} <- {} {}",
            citation.references,
            flat(&before, true),
            flat(text, true)
        );
    }
}
