//! `loci bench --task text`: the text index alone, in a segment as a store has them.
//!
//! The segment is built of titles and texts, written to a file, mapped and searched through the same
//! readers that a store uses: BM25 with k1 1.2 and b 0.75, from the question's text to the ten best.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use loci_index::analysis::{Analyzer, TermList};
use loci_index::text::{
    Field, TextBuilder, TextQuery, TextReader, TextScratch, TextSearch, length, search,
    search_query,
};
use loci_storage::disk::{Disk, OsDisk};
use loci_storage::segment::{Part, PartBuilder, PartKind, Section, SectionId};
use loci_storage::{LocalOrdinal, Ordinal, ScoredChunk, SegmentReader};
use roaring::RoaringBitmap;
use serde_json::{Value, json};

use crate::BenchError;
use crate::clock::{Stopwatch, latency, resident_mib};
use crate::folder::{ChunkLine, Folder};
use crate::metrics::{ndcg, recall};

const K: usize = 10;

/// What to measure, and how.
#[derive(Clone, Copy, Debug)]
pub struct TextBench {
    /// Threads that search.
    pub threads: usize,
    /// The first so many chunks alone.
    pub limit: Option<usize>,
}

/// Measures, and calls `line` with every result.
///
/// # Errors
/// [`BenchError`] when `folder` is not a data folder, or nothing can be written to the folder for temporary
/// files.
pub fn run(
    folder: &Path,
    bench: &TextBench,
    mut line: impl FnMut(&Value),
) -> Result<(), BenchError> {
    let mut folder = Folder::open(folder)?;
    if folder.queries.is_empty() {
        let why = format!("{} has no queries.jsonl to ask", folder.path.display());
        return Err(BenchError::MissingInput(why));
    }
    if let Some(limit) = bench.limit {
        folder.chunks.truncate(limit);
    }
    let mut report = |result: &str, mut fields: Value| {
        let common = json!({
            "task": "text",
            "system": "loci",
            "set": folder.name,
            "threads": bench.threads,
            "n": folder.chunks.len(),
            "result": result,
        });
        if let (Some(fields), Value::Object(common)) = (fields.as_object_mut(), common) {
            fields.extend(common);
        }
        line(&fields);
    };
    let at = tempfile::tempdir().map_err(|source| BenchError::io("a temporary folder", source))?;
    let file = at.path().join("segment");
    report("build", build(&folder, &file)?);
    let questions: Vec<&str> = folder.queries.iter().map(|query| &query.text[..]).collect();
    let (reader, fields) = open(&file, questions.first().copied().unwrap_or("the"))?;
    report("open", fields);
    let segment = TextSegment { reader };
    report("search", measure(&folder, bench, &segment, &questions)?);
    for words in [1, 2, 4, 8, 16] {
        let cut: Vec<String> = questions
            .iter()
            .map(|question| first(question, words))
            .collect();
        let cut: Vec<&str> = cut.iter().map(String::as_str).collect();
        let mut fields = json!(latency_of(&segment, bench, &cut));
        fields["words"] = json!(words);
        report("search_words", fields);
    }
    let words: Vec<Vec<&str>> = folder
        .chunks
        .iter()
        .map(|chunk| letters(&chunk.text))
        .collect();
    for (kind, make) in KINDS {
        let texts = words
            .iter()
            .step_by((words.len() / QUERIES).max(1))
            .map(|words| make(words));
        let queries = texts.flatten().map(|text| {
            TextQuery::parse(&text)
                .map_err(|why| BenchError::MissingInput(format!("{text}: {why}")))
        });
        let queries = queries.collect::<Result<Vec<TextQuery>, BenchError>>()?;
        let took = latency(
            queries.len(),
            bench.threads,
            Searcher::default,
            |searcher, i| {
                let _ = std::hint::black_box(segment.ask_query(&queries[i], searcher));
            },
        );
        report(kind, json!(took));
    }
    Ok(())
}

/// Questions of each kind.
const QUERIES: usize = 200;

/// Makes a question of the words of a chunk.
type Make = fn(&[&str]) -> Option<String>;

/// Questions in the language of text questions: of two words of a chunk that follow each other, of the first
/// three letters of one, and of one with two letters swapped.
const KINDS: [(&str, Make); 3] = [
    ("search_phrase", |words| {
        Some(format!("\"{} {}\"", words.get(3)?, words.get(4)?))
    }),
    ("search_prefix", |words| {
        let word = words.iter().skip(5).find(|word| word.len() > 4)?;
        Some(format!("{}*", &word[..3]))
    }),
    ("search_misspelt", |words| {
        let word = words.iter().skip(5).find(|word| word.len() > 4)?;
        Some(format!(
            "{}{}{}{}~",
            &word[..1],
            &word[2..3],
            &word[1..2],
            &word[3..]
        ))
    }),
];

/// The words of a text that are plain letters.
fn letters(text: &str) -> Vec<&str> {
    let words = text.split_whitespace();
    words
        .filter(|word| word.bytes().all(|b| b.is_ascii_lowercase()))
        .collect()
}

/// The first words of a question, again and again if it has fewer.
fn first(question: &str, words: usize) -> String {
    let all: Vec<&str> = question.split_whitespace().collect();
    let words = all
        .iter()
        .cycle()
        .take(if all.is_empty() { 0 } else { words });
    words.copied().collect::<Vec<_>>().join(" ")
}

/// What is indexed of a chunk.
fn texts(chunk: &ChunkLine) -> [(Field, &str); 2] {
    [(Field::Title, &chunk.title), (Field::Body, &chunk.text)]
}

fn build(folder: &Folder, file: &Path) -> Result<Value, BenchError> {
    let watch = Stopwatch::start();
    let mut analyzer = Analyzer::new();
    let mut text = TextBuilder::new();
    for (local, chunk) in (0..).zip(&folder.chunks) {
        text.push_texts(LocalOrdinal(local), &mut analyzer, texts(chunk), |_, _| {})?;
    }
    let bytes = text.finish();
    let index_bytes = bytes.len();
    let mut part = PartBuilder::new(PartKind::Segment, folder.chunks.len() as u32, 1);
    part.push(SectionId::Text, 0, bytes);
    std::fs::write(file, part.finish(1, 1))
        .map_err(|source| BenchError::io("the segment", source))?;
    let (wall, cpu) = watch.read();
    Ok(json!({
        "build_s": wall.as_secs_f64(),
        "cpu_s": cpu.as_secs_f64(),
        "chunks_per_s": folder.chunks.len() as f64 / wall.as_secs_f64(),
        "disk_bytes": index_bytes,
        "bytes_per_chunk": index_bytes as f64 / folder.chunks.len().max(1) as f64,
        "text_bytes": folder.text_len(),
        "peak_rss_mib": resident_mib().map(|(_, peak)| peak),
    }))
}

/// Opens the mapped segment and searches once.
fn open(file: &Path, question: &str) -> Result<(TextReader<Section>, Value), BenchError> {
    let started = Instant::now();
    let bytes = OsDisk
        .map(file)
        .map_err(|source| BenchError::io("the segment", source))?;
    let part = Arc::new(Part::new(bytes)?);
    let reader = TextReader::new(part.section(SectionId::Text, 0)?)?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    let segment = TextSegment { reader };
    segment.search(question, &mut Searcher::default())?;
    let first_result_ms = started.elapsed().as_secs_f64() * 1e3;
    Ok((
        segment.reader,
        json!({ "open_ms": open_ms, "first_result_ms": first_result_ms }),
    ))
}

/// The state of one searching thread.
type Searcher = (Analyzer, TermList, TextScratch);

/// A mapped segment that is searched with the words of questions.
struct TextSegment {
    reader: TextReader<Section>,
}

impl TextSegment {
    fn ask_query(
        &self,
        query: &TextQuery,
        (analyzer, _, scratch): &mut Searcher,
    ) -> Result<Vec<ScoredChunk>, BenchError> {
        let placed = self.single_segment();
        let options = TextSearch::new(K);
        Ok(search_query(&placed, query, analyzer, &options, scratch)?)
    }

    fn single_segment(&self) -> [SegmentReader<'_, TextReader<Section>>; 1] {
        static NONE: LazyLock<RoaringBitmap> = LazyLock::new(RoaringBitmap::new);
        [SegmentReader {
            base: Ordinal(0),
            chunk_count: self.reader.local_end(),
            dead: &NONE,
            reader: &self.reader,
        }]
    }

    fn search(
        &self,
        question: &str,
        (analyzer, list, scratch): &mut Searcher,
    ) -> Result<Vec<ScoredChunk>, BenchError> {
        let placed = self.single_segment();
        analyzer.fill_term_list(question, list);
        let terms: Vec<&str> = list.iter().collect();
        Ok(search(&placed, &terms, &TextSearch::new(K), scratch)?)
    }
}

fn measure(
    folder: &Folder,
    bench: &TextBench,
    segment: &TextSegment,
    questions: &[&str],
) -> Result<Value, BenchError> {
    let oracle = Oracle::new(folder);
    let (mut searcher, mut analyzer) = (Searcher::default(), Analyzer::new());
    let (mut gain, mut found, mut judged, mut same) = (0.0, 0.0, 0, 0);
    for (i, question) in questions.iter().enumerate() {
        let hits = segment.search(question, &mut searcher)?;
        let hits: Vec<u32> = hits.iter().map(|hit| hit.ordinal.0).collect();
        same += usize::from(oracle.best(&analyzer.terms(question)) == hits);
        if let Some(judgements) = folder.judgements.get(i).filter(|all| !all.is_empty()) {
            let ids = hits
                .iter()
                .map(|&hit| folder.chunks[hit as usize].id.clone());
            let ids: Vec<String> = ids.collect();
            gain += ndcg(&ids, judgements, K);
            found += recall(&ids, judgements, K);
            judged += 1;
        }
    }
    let mut fields = json!(latency_of(segment, bench, questions));
    let mean = |sum: f64| sum / f64::from(judged.max(1));
    if judged > 0 {
        fields["ndcg10"] = json!(mean(gain));
        fields["recall10"] = json!(mean(found));
    }
    fields["same_as_reference"] = json!(same as f64 / questions.len().max(1) as f64);
    Ok(fields)
}

fn latency_of(
    segment: &TextSegment,
    bench: &TextBench,
    questions: &[&str],
) -> crate::clock::Latency {
    latency(
        questions.len(),
        bench.threads,
        Searcher::default,
        |searcher, i| {
            // Whether it succeeds is seen where answers are judged.
            let _ = std::hint::black_box(segment.search(questions[i], searcher));
        },
    )
}

/// BM25 of every chunk, from the formula, in double precision.
struct Oracle {
    /// By term: chunk and tf.
    postings: HashMap<String, Vec<(u32, f64)>>,
    /// norm by chunk.
    norms: Vec<f64>,
    count: f64,
}

impl Oracle {
    fn new(folder: &Folder) -> Oracle {
        let mut analyzer = Analyzer::new();
        let mut postings: HashMap<String, Vec<(u32, f64)>> = HashMap::new();
        let mut lengths = Vec::with_capacity(folder.chunks.len());
        for (id, chunk) in (0..).zip(&folder.chunks) {
            let terms = texts(chunk).map(|(_, text)| analyzer.terms(text)).concat();
            lengths.push(terms.len() as u32);
            for term in terms {
                let list = postings.entry(term).or_default();
                match list.last_mut() {
                    Some((last, tf)) if *last == id => *tf += 1.0,
                    _ => list.push((id, 1.0)),
                }
            }
        }
        let count = lengths.iter().filter(|&&length| length > 0).count() as f64;
        let total: f64 = lengths.iter().map(|&length| f64::from(length)).sum();
        let average = total / count.max(1.0);
        let norm = |&length: &u32| {
            let length = f64::from(length::decode(length::encode(length)));
            f64::from(1.2f32) * (0.25 + 0.75 * length / average)
        };
        Oracle {
            norms: lengths.iter().map(norm).collect(),
            postings,
            count,
        }
    }

    fn best(&self, terms: &[String]) -> Vec<u32> {
        let mut scores: HashMap<u32, f64> = HashMap::new();
        for term in terms {
            let Some(list) = self.postings.get(term) else {
                continue;
            };
            let df = list.len() as f64;
            let idf = (1.0 + (self.count - df + 0.5) / (df + 0.5)).ln();
            for &(id, tf) in list {
                let tf = tf.min(255.0);
                *scores.entry(id).or_default() += idf * tf / (tf + self.norms[id as usize]);
            }
        }
        let mut ranked: Vec<(u32, f64)> = scores.into_iter().collect();
        // What differs by less than a part in a million is a tie.
        let rounded = |score: f64| (score * 1e6).round() as i64;
        ranked.sort_unstable_by_key(|&(id, score)| (-rounded(score), id));
        ranked.into_iter().take(K).map(|(id, _)| id).collect()
    }
}
