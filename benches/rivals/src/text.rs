//! `rivals-text`: LociDB's text index beside the tantivy crate, over the same texts in the same process.
//!
//! Invariants: the same terms on both sides (tantivy's tokenizer is LociDB's analyzer), positions on both
//! sides, no stored text on either, BM25 with k1 1.2 and b 0.75, one thread that builds and one that searches,
//! the 10 best, from the text of the question. Systems take turns, round after round. Results are lines of
//! JSON: a `build` and a `search` a system (medians of the rounds), and the `ratio`.

mod tokenizer;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use cpu_time::ProcessTime;
use loci_index::analysis::{Analyzer, TermList};
use loci_index::text::{self, Field, TextBuilder, TextReader, TextScratch, TextSearch};
use loci_storage::{LocalOrdinal, Ordinal, SegmentReader};
use roaring::RoaringBitmap;
use serde_json::{Value, json};
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    Field as SchemaField, IndexRecordOption, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{Index, Searcher, TantivyDocument, Term};

use crate::tokenizer::LociTokenizer;

const K: usize = 10;
/// Memory of tantivy's writer: enough for one segment.
const WRITER_BYTES: usize = 1 << 30;

/// Measures LociDB's text index and tantivy on the same texts.
#[derive(Debug, Parser)]
struct Args {
    /// Folder with corpus.jsonl or chunks.jsonl, and queries.jsonl.
    #[arg(long)]
    data: PathBuf,
    /// Turns that each system has.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Passes over the questions in a turn.
    #[arg(long, default_value_t = 5)]
    passes: usize,
}

fn main() -> Result<()> {
    let args = Args::parse();
    ensure!(
        args.rounds > 0 && args.passes > 0,
        "--rounds and --passes must be 1 or more"
    );
    let texts = texts(&args.data)?;
    let questions: Vec<String> = lines(&args.data.join("queries.jsonl"))?
        .iter()
        .map(|line| line["text"].as_str().unwrap_or_default().to_owned())
        .collect();
    ensure!(!questions.is_empty(), "queries.jsonl has no questions");
    let mut loci = Loci::build(&texts)?;
    let mut rival = Tantivy::build(&texts)?;
    let systems: [&mut dyn System; 2] = [&mut loci, &mut rival];
    let mut took: [Vec<f64>; 2] = Default::default();
    let mut slow: [Vec<f64>; 2] = Default::default();
    for system in systems {
        system.print_build(texts.len());
        for question in &questions {
            system.search(question)?;
        }
    }
    for _ in 0..args.rounds {
        let systems: [&mut dyn System; 2] = [&mut loci, &mut rival];
        for (i, system) in systems.into_iter().enumerate() {
            let start = ProcessTime::now();
            let mut each = Vec::with_capacity(questions.len());
            for _ in 0..args.passes {
                for question in &questions {
                    let start = Instant::now();
                    system.search(question)?;
                    each.push(start.elapsed().as_secs_f64() * 1e6);
                }
            }
            took[i].push(start.elapsed().as_secs_f64() * 1e6 / each.len() as f64);
            each.sort_unstable_by(f64::total_cmp);
            slow[i].push(each[each.len() * 99 / 100]);
        }
    }
    let ratios = took[0]
        .iter()
        .zip(&took[1])
        .map(|(ours, theirs)| ours / theirs);
    let mut ratios: Vec<f64> = ratios.collect();
    for (i, name) in ["loci", "tantivy"].into_iter().enumerate() {
        print_line(json!({
            "result": "search", "system": name, "n": texts.len(), "queries": questions.len(),
            "rounds": args.rounds, "cpu_us": median(&mut took[i]), "p99_us": median(&mut slow[i]),
        }));
    }
    print_line(json!({ "result": "ratio", "ours_over_theirs": median(&mut ratios) }));
    Ok(())
}

fn print_line(line: Value) {
    println!("{line}");
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn lines(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Title and text of every chunk.
fn texts(folder: &Path) -> Result<Vec<(String, String)>> {
    let name = ["corpus.jsonl", "chunks.jsonl"]
        .into_iter()
        .find(|name| folder.join(name).is_file());
    let name = name.context("the folder has neither corpus.jsonl nor chunks.jsonl")?;
    let field = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let lines = lines(&folder.join(name))?;
    Ok(lines
        .iter()
        .map(|line| (field(line, "title"), field(line, "text")))
        .collect())
}

/// A text index.
trait System {
    /// Prints the time and size of the build.
    fn print_build(&self, count: usize);

    /// Searches for the best chunks of a question; returns their count.
    fn search(&mut self, question: &str) -> Result<usize>;
}

/// Time and size of a build.
struct BuildReport {
    name: &'static str,
    cpu_s: f64,
    bytes: u64,
}

impl BuildReport {
    fn print(&self, count: usize) {
        print_line(json!({
            "result": "build", "system": self.name, "n": count, "cpu_s": self.cpu_s,
            "chunks_per_s": count as f64 / self.cpu_s, "bytes": self.bytes,
        }));
    }
}

struct Loci {
    reader: TextReader<Vec<u8>>,
    dead: RoaringBitmap,
    analyzer: Analyzer,
    list: TermList,
    scratch: TextScratch,
    built: BuildReport,
}

impl Loci {
    fn build(texts: &[(String, String)]) -> Result<Loci> {
        let start = ProcessTime::now();
        let (mut analyzer, mut builder) = (Analyzer::new(), TextBuilder::new());
        for (local, (title, text)) in (0..).zip(texts) {
            let texts = [(Field::Title, &title[..]), (Field::Body, text)];
            builder.push_texts(LocalOrdinal(local), &mut analyzer, texts, |_, _| {})?;
        }
        let bytes = builder.finish();
        let built = BuildReport {
            name: "loci",
            cpu_s: start.elapsed().as_secs_f64(),
            bytes: bytes.len() as u64,
        };
        Ok(Loci {
            reader: TextReader::new(bytes)?,
            dead: RoaringBitmap::new(),
            analyzer,
            list: TermList::default(),
            scratch: TextScratch::new(),
            built,
        })
    }
}

impl System for Loci {
    fn print_build(&self, count: usize) {
        self.built.print(count);
    }

    fn search(&mut self, question: &str) -> Result<usize> {
        let placed = [SegmentReader {
            base: Ordinal(0),
            chunk_count: self.reader.local_end(),
            dead: &self.dead,
            reader: &self.reader,
        }];
        self.analyzer.fill_term_list(question, &mut self.list);
        let terms: Vec<&str> = self.list.iter().collect();
        let found = text::search(&placed, &terms, &TextSearch::new(K), &mut self.scratch)?;
        Ok(std::hint::black_box(found).len())
    }
}

struct Tantivy {
    searcher: Searcher,
    field: SchemaField,
    analyzer: Analyzer,
    built: BuildReport,
    /// The folder of the index; removed on drop.
    _folder: tempfile::TempDir,
}

impl Tantivy {
    fn build(texts: &[(String, String)]) -> Result<Tantivy> {
        let folder = tempfile::tempdir()?;
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("loci")
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let options = TextOptions::default().set_indexing_options(indexing);
        let field = schema.add_text_field("text", options);
        let index = Index::create_in_dir(folder.path(), schema.build())?;
        index
            .tokenizers()
            .register("loci", LociTokenizer::default());
        let start = ProcessTime::now();
        let mut writer = index.writer_with_num_threads(1, WRITER_BYTES)?;
        for (title, text) in texts {
            let mut document = TantivyDocument::default();
            document.add_text(field, format!("{title}\n{text}"));
            writer.add_document(document)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        let cpu_s = start.elapsed().as_secs_f64();
        let files = std::fs::read_dir(folder.path())?;
        let sizes = files.map(|file| Ok(file?.metadata()?.len()));
        let bytes = sizes.sum::<std::io::Result<u64>>()?;
        Ok(Tantivy {
            searcher: index.reader()?.searcher(),
            field,
            analyzer: Analyzer::new(),
            built: BuildReport {
                name: "tantivy",
                cpu_s,
                bytes,
            },
            _folder: folder,
        })
    }
}

impl System for Tantivy {
    fn print_build(&self, count: usize) {
        self.built.print(count);
    }

    fn search(&mut self, question: &str) -> Result<usize> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let field = self.field;
        self.analyzer.for_each_term(question, |term| {
            let term = Term::from_field_text(field, term);
            let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
            clauses.push((Occur::Should, Box::new(query)));
        });
        let query = BooleanQuery::new(clauses);
        let found = self.searcher.search(&query, &TopDocs::with_limit(K))?;
        Ok(std::hint::black_box(found).len())
    }
}
