//! `loci demo`: ingestion and search of documents inside this binary.

use std::fs;

use loci_ingest::pipeline::{self, IngestOptions, Outcome, Reporter};
use locidb::{Progress, SearchRequest};
use std::ops::ControlFlow;

use super::{open_or_create, parse, search};
use crate::CommandStatus;
use crate::args::Demo;
use crate::output::Printer;
use crate::progress::Bar;

macro_rules! samples {
    ($($name:literal),*) => { &[$(($name, include_bytes!(concat!("../../samples/", $name)))),*] };
}

/// Names and bytes of the sample documents.
const SAMPLES: &[(&str, &[u8])] = samples![
    "memory-palaces.md",
    "inverted-index.html",
    "transactions.pdf",
    "ring_buffer.rs",
    "nearest.py"
];

/// Documentation of LociDB, also ingested.
const DOCS: &[(&str, &[u8])] = &[
    (
        "architecture.md",
        include_bytes!("../../../docs/architecture.md"),
    ),
    (
        "answering.md",
        include_bytes!("../../../docs/guide/answering.md"),
    ),
];

/// One question per line: question, file, expected passage, separated by tabs.
const QUESTIONS: &str = include_str!("../../samples/questions.tsv");

/// Hits shown per question.
const SHOWN: usize = 3;

pub(crate) fn run(args: &Demo, out: &Printer) -> anyhow::Result<CommandStatus> {
    let folder = tempfile::tempdir()?;
    let documents = folder.path().join("documents");
    fs::create_dir(&documents)?;
    for (name, bytes) in SAMPLES.iter().chain(DOCS) {
        fs::write(documents.join(name), bytes)?;
    }
    let path = args
        .db
        .clone()
        .unwrap_or_else(|| folder.path().join("demo.loci"));
    let database = open_or_create(&path)?;
    let reporter = ProgressPrinter {
        out: *out,
        bar: Bar::new(),
    };
    let runner = parse::runner()?;
    // A separate collection, so that no document of the store is replaced.
    let options = IngestOptions {
        collection: "demo".into(),
        is_upload: true,
        ..IngestOptions::default()
    };
    let summary = pipeline::ingest(&database, &[documents], &options, &runner, &reporter)?;
    drop(reporter);
    for line in QUESTIONS.lines().filter(|line| !line.trim().is_empty()) {
        let question = line.split('\t').next().unwrap_or_default();
        let request = SearchRequest {
            k: SHOWN,
            highlights: !out.json,
            ..SearchRequest::new(question)
        };
        let answer = database.search(&request)?;
        if out.json {
            out.json_line(&answer)?;
        } else {
            out.line(&format!("\n{question}"))?;
            search::print(&answer, search::Shows::default(), out)?;
        }
    }
    database.close();
    if args.db.is_some() && !out.json {
        let path = path.display();
        out.line(&format!(
            "\nThe store is in {path}: loci search --db {path} \"…\""
        ))?;
    }
    Ok(if summary.failed > 0 {
        CommandStatus::ProblemsFound
    } else {
        CommandStatus::Success
    })
}

/// Prints a line for each document, unless the output is JSON.
struct ProgressPrinter {
    out: Printer,
    bar: Bar,
}

impl Progress for ProgressPrinter {
    fn report(&self, step: &str, done: u64, total: u64) -> ControlFlow<()> {
        self.bar.report(step, done, total)
    }
}

impl Reporter for ProgressPrinter {
    fn report_outcome(&self, outcome: &Outcome) {
        if self.out.json {
            return;
        }
        let line = match &outcome.error {
            Some(error) => format!("{}: {error}", outcome.document),
            None => format!("{}: {} chunks", outcome.document, outcome.chunks),
        };
        // A closed pipe is noticed when answers are printed.
        let _ = self.bar.suspend(|| self.out.line(&line));
    }
}
