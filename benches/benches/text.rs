//! The text index: analysis, building, questions of words and of the language.
//!
//! Texts are the same on every machine: words of a vocabulary in which a few make up most of a text, from a
//! seed.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use loci_index::analysis::{Analyzer, TermList};
use loci_index::text::{
    Field, TextBuilder, TextQuery, TextReader, TextScratch, TextSearch, search, search_query,
};
use loci_storage::{LocalOrdinal, Ordinal, SegmentReader};
use roaring::RoaringBitmap;

const K: usize = 10;

/// Texts of 60 words.
fn texts(count: usize) -> Vec<String> {
    let mut state = 0x853c_49e6_748f_ea9b_u64;
    let mut word = move || {
        // xorshift64 (Marsaglia, 2003)
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let share = (state >> 11) as f64 / (1u64 << 53) as f64;
        format!("word{}", (share.powi(4) * 20_000.0) as u32)
    };
    let text = |_| (0..60).map(|_| word()).collect::<Vec<_>>().join(" ");
    (0..count).map(text).collect()
}

fn built(texts: &[String]) -> Vec<u8> {
    let (mut analyzer, mut builder) = (Analyzer::new(), TextBuilder::new());
    for (local, text) in (0..).zip(texts) {
        builder
            .push_texts(
                LocalOrdinal(local),
                &mut analyzer,
                [(Field::Body, &text[..])],
                |_, _| {},
            )
            .expect("locals ascend");
    }
    builder.finish()
}

fn build(c: &mut Criterion) {
    let texts = texts(2000);
    let mut group = c.benchmark_group("text/build");
    group.sample_size(10).throughput(Throughput::Elements(2000));
    group.bench_function("2000", |b| b.iter(|| built(black_box(&texts))));
    group.finish();
}

fn questions(c: &mut Criterion) {
    let mut group = c.benchmark_group("text/search");
    for count in [1000, 10_000, 40_000] {
        let texts = texts(count);
        let reader = TextReader::new(built(&texts)).expect("it was just built");
        let dead = RoaringBitmap::new();
        let placed = [SegmentReader {
            base: Ordinal(0),
            chunk_count: reader.local_end(),
            dead: &dead,
            reader: &reader,
        }];
        let words = |text: &String| text.split(' ').take(8).collect::<Vec<_>>().join(" ");
        let queries: Vec<String> = texts.iter().step_by(count / 100).map(words).collect();
        let (mut analyzer, mut list) = (Analyzer::new(), TermList::default());
        let mut scratch = TextScratch::new();
        let mut next = queries.iter().cycle();
        group.bench_function(BenchmarkId::new("words", count), |b| {
            b.iter(|| {
                analyzer.fill_term_list(next.next().expect("it goes round"), &mut list);
                let terms: Vec<&str> = list.iter().collect();
                search(&placed, &terms, &TextSearch::new(K), &mut scratch).expect("it is sound")
            });
        });
        for (name, question) in [
            ("phrase", "\"word17 word3\""),
            ("prefix", "word19*"),
            ("misspelt", "wrod1234~"),
        ] {
            let query = TextQuery::parse(question).expect("it is a question");
            group.bench_function(BenchmarkId::new(name, count), |b| {
                b.iter(|| {
                    search_query(
                        &placed,
                        &query,
                        &mut analyzer,
                        &TextSearch::new(K),
                        &mut scratch,
                    )
                    .expect("it is sound")
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, build, questions);
criterion_main!(benches);
