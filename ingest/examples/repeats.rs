//! Looks for input that takes more time than its length explains: every two pieces of a format's markup, repeated.
//!
//! usage: cargo run -p loci-ingest --example repeats -- BYTES MILLISECONDS [KIND…]
//!
//! Prints each document of about BYTES bytes that took more than MILLISECONDS of the processor to parse, cut and read.

use std::io::{Cursor, Write};
use std::time::Duration;

use loci_documents::Kind;
use loci_ingest::document::{BuildSettings, DocumentSource};
use loci_ingest::runner::{InProcess, ParseRunner};
use serde::Deserialize;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What is repeated: a line of JSON for each kind of file.
const FORMATS: &str = include_str!("repeats.jsonl");

/// The pieces of a format's markup, and what is before and after them.
#[derive(Deserialize)]
struct Format {
    kind: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
    pieces: Vec<String>,
}

impl Format {
    /// Every two pieces in turn, and one after the other, about `len` bytes long; with how they are repeated.
    fn documents(&self, len: usize) -> impl Iterator<Item = (String, Vec<u8>)> {
        let pairs = self
            .pieces
            .iter()
            .flat_map(|first| self.pieces.iter().map(move |second| (first, second)));
        pairs.flat_map(move |(first, second)| {
            let in_turn =
                format!("{first}{second}").repeat(len / (first.len() + second.len()).max(1));
            let half = len / 2;
            let apart = first.repeat(half / first.len()) + &second.repeat(half / second.len());
            [("in turn", in_turn), ("one then the other", apart)].map(|(how, repeated)| {
                let source = format!("{}{repeated}{}", self.before, self.after);
                let bytes = match &self.kind[..] {
                    "docx" => docx(&source),
                    _ => source.into_bytes(),
                };
                (format!("{first:?} and {second:?} {how}"), bytes)
            })
        })
    }
}

fn docx(document: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("word/document.xml", SimpleFileOptions::default())
        .expect("a name");
    zip.write_all(document.as_bytes()).expect("memory");
    zip.finish().expect("memory").into_inner()
}

/// What this process has had of the processor (Linux).
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    Duration::from_millis(ticks * 10)
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = || {
        args.next()
            .and_then(|arg| arg.parse().ok())
            .expect("give BYTES and MILLISECONDS")
    };
    let (len, most) = (number() as usize, Duration::from_millis(number()));
    let selected: Vec<String> = args.collect();
    let runner = InProcess::default();
    for line in FORMATS.lines() {
        let format: Format = serde_json::from_str(line).expect("a format");
        if !selected.is_empty() && !selected.contains(&format.kind) {
            continue;
        }
        let kind = Kind::from_name(&format.kind).expect("a known name");
        let mut count = 0;
        for (what, bytes) in format.documents(len) {
            let (source, settings) = (DocumentSource::default(), BuildSettings::default());
            let began = processor_time();
            let result = runner.build_document(kind, bytes, source, &settings);
            let took = processor_time().saturating_sub(began);
            count += 1;
            if took > most {
                let became = result.map_or_else(
                    |error| error.to_string(),
                    |it| format!("{} chunks", it.document.chunks.len()),
                );
                let ms = took.as_millis();
                println!("{}: {what}: {ms} ms, {became:.80}", format.kind);
            }
        }
        println!("{}: {count} documents", format.kind);
    }
}
