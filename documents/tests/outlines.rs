//! Golden outlines: what the parsers make of real documents, a line each heading.
//!
//! Three sets of documents, each with a golden file in `outlines/`:
//!
//! | documents | where | run |
//! | --- | --- | --- |
//! | [`COPIED`] | `outlines/files`, with their licences in `outlines/SOURCES.md` | always |
//! | [`MADE`] | written by [`made`] | always |
//! | [`ELSEWHERE`] | the folder that `LOCI_DOCS` names; they may not be copied | where it is there |
//!
//! Each outline was compared by eye with the document itself. `BLESS=1` writes the golden files anew: look at what
//! `git diff` shows before it is kept. With `LOCI_MADE=FOLDER` the documents that are made are written there, to look at.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use loci_documents::{Block, BlockKind, ParsedDocument};
use loci_documents::{detect, parse};

#[path = "outlines/generated.rs"]
mod generated;

const COPIED: &[&str] = &[
    "autogen_blog.html",
    "docling-headers_numbered.docx",
    "docling-multi_page.pdf",
    "docling-sample.pptx",
    "docling-webvtt_01.vtt",
    "fastchat-mtbench-gpt4.jsonl",
    "ods-hashing.tex",
    "rust-book-ch04-01.md",
    "textwrap.py",
];

const GENERATED: &[(&str, fn() -> Vec<u8>)] = &[
    ("book.pdf", generated::book),
    ("paper.pdf", generated::paper),
    ("tides.epub", generated::epub),
];

const EXTERNAL: &[&str] = &[
    "R-intro.pdf",
    "docling-word_sample.docx",
    "elife-56337.xml",
    "faa-amt-handbook-sample.pdf",
    "handbook-872p.docx",
    "joss-crux.pdf",
    "layout-parser-paper-fast.pdf",
    "markitdown-test.docx",
    "markitdown-test.pptx",
    "memmap2-lib.rs",
    "redb-design.md",
    "science-exploration-1p.pptx",
    "wiki_duck.html",
    "wiki_microsoft.html",
    "winter-sports.epub",
    "xv6-book.pdf",
];

/// The golden files, and the documents beside them.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outlines")
}

fn read(from: &Path, name: &'static str) -> (&'static str, Vec<u8>) {
    let bytes = std::fs::read(from.join(name));
    (
        name,
        bytes.unwrap_or_else(|error| panic!("{name}: {error}")),
    )
}

#[test]
fn documents_that_are_copied_here() {
    let files = folder().join("files");
    check(COPIED.iter().map(|name| read(&files, name)));
}

#[test]
fn generated_documents() {
    let documents: Vec<_> = GENERATED
        .iter()
        .map(|(name, make)| (*name, make()))
        .collect();
    if let Some(to) = std::env::var_os("LOCI_MADE") {
        for (name, bytes) in &documents {
            std::fs::write(Path::new(&to).join(name), bytes).unwrap();
        }
    }
    check(documents.into_iter());
}

#[test]
fn documents_that_are_elsewhere() {
    let Some(from) = std::env::var_os("LOCI_DOCS").map(PathBuf::from) else {
        eprintln!("skipped: LOCI_DOCS names no folder of documents");
        return;
    };
    if !from.is_dir() {
        eprintln!("skipped: {} is no folder", from.display());
        return;
    }
    check(EXTERNAL.iter().map(|name| read(&from, name)));
}

/// Compares each document's outline with its golden file, and names all that differ.
fn check(documents: impl Iterator<Item = (&'static str, Vec<u8>)>) {
    let blesses = std::env::var_os("BLESS").is_some_and(|value| value == "1");
    let mut wrong = String::new();
    for (name, bytes) in documents {
        let got = outline_of(name, &bytes);
        let golden = folder().join(format!("{name}.outline"));
        if blesses {
            std::fs::write(&golden, &got).unwrap();
            continue;
        }
        let want = std::fs::read_to_string(&golden).unwrap_or_default();
        if got != want {
            let _ = writeln!(wrong, "{name}:\n{}", difference(&want, &got));
        }
    }
    assert!(
        wrong.is_empty(),
        "outlines differ; BLESS=1 writes them anew\n{wrong}"
    );
}

/// The lines of one text only, in order: `-` of `want`, `+` of `got`.
fn difference(want: &str, got: &str) -> String {
    let lines = |text: &str, without: &str, sign: char| -> String {
        let others: Vec<&str> = without.lines().collect();
        let only = text.lines().filter(|line| !others.contains(line));
        only.map(|line| format!("{sign} {line}\n")).collect()
    };
    match lines(want, got, '-') + &lines(got, want, '+') {
        same if same.is_empty() => "the same lines in another order, or other ends".to_owned(),
        different => different,
    }
}

fn outline_of(name: &str, bytes: &[u8]) -> String {
    let kind = detect(Path::new(name), bytes).unwrap();
    let document = parse(kind, bytes, Some(name)).unwrap();
    let mut outline = format!("title: {}\n", document.title.as_deref().unwrap_or("none"));
    for (at, block) in document.blocks.iter().enumerate() {
        let (level, text) = match &block.kind {
            BlockKind::Heading(level) => (*level, block_text(&document, block)),
            BlockKind::Definition { symbol, what } if !symbol.is_empty() => {
                (1, format!("{what} {symbol}"))
            }
            BlockKind::Turn { speaker } if block.time_ms.is_some() => (1, speaker.clone()),
            _ => continue,
        };
        let indent = "  ".repeat(usize::from(level));
        let _ = writeln!(
            outline,
            "{indent}{text}  [{}]",
            block_location(&document, at)
        );
    }
    outline
}

fn block_text(document: &ParsedDocument, block: &Block) -> String {
    let words: Vec<&str> = document.text[block.range.clone()]
        .split_whitespace()
        .collect();
    words.join(" ")
}

/// Where a block is: its page, slide, time or line; else how the block after it begins.
fn block_location(document: &ParsedDocument, at: usize) -> String {
    let block = &document.blocks[at];
    if let Some((from, to)) = block.time_ms {
        return format!("{from}-{to} ms");
    }
    if let Some(slide) = block.slide {
        return format!("slide {slide}");
    }
    if let Some((page, _)) = block.pages {
        return format!("page {page}");
    }
    if document.text_is_original {
        let before = &document.text[..block.range.start];
        return format!("line {}", before.matches('\n').count() + 1);
    }
    let next = document.blocks.get(at + 1);
    let next = next.map_or(String::new(), |next| block_text(document, next));
    let words: Vec<&str> = next.split(' ').take(4).collect();
    format!("before: {}", words.join(" "))
}
