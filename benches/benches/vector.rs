//! The vector index: building, walking by every code, and under filters.
//!
//! Vectors are the same on every machine: a hundred centres, noise around them, from a seed. A walk is
//! timed only after it found what a scan finds.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use loci_index::vector::{
    Codes, Effort, FlatBuilder, GraphOptions, Metric, VectorQuery, VectorReader, VectorScratch,
    search,
};
use loci_storage::{LocalOrdinal, Ordinal, SegmentReader};
use roaring::RoaringBitmap;

const DIM: usize = 128;
const QUESTIONS: usize = 100;

/// `[count, DIM]`; equal seeds give equal vectors.
fn clustered(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let mut chance = move || {
        // xorshift64 (Marsaglia, 2003)
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut centres = 0x9e37_79b9_7f4a_7c15_u64;
    let centres: Vec<f32> = (0..100 * DIM)
        .map(|_| {
            centres = centres.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (centres >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect();
    let mut vectors = Vec::with_capacity(count * DIM);
    for _ in 0..count {
        let centre = ((chance() + 1.0) * 50.0) as usize % 100 * DIM;
        vectors.extend(centres[centre..centre + DIM].iter().map(|c| c + chance()));
    }
    vectors
}

fn flat(vectors: &[f32]) -> FlatBuilder {
    let mut flat = FlatBuilder::new(DIM, Metric::Cosine).expect("the dimension is possible");
    for (local, vector) in (0..).zip(vectors.chunks_exact(DIM)) {
        flat.push(LocalOrdinal(local), vector)
            .expect("vectors are finite");
    }
    flat
}

struct Segment {
    reader: VectorReader<Vec<u8>>,
    count: u32,
    dead: RoaringBitmap,
    questions: Vec<f32>,
}

impl Segment {
    fn new(vectors: &[f32], codes: Codes) -> Segment {
        let flat = flat(vectors);
        let options = GraphOptions {
            codes,
            ..GraphOptions::default()
        };
        let graph = flat.build_graph(&options, 1).expect("there are vectors");
        Segment {
            reader: VectorReader::new(flat.finish(), graph).expect("it was just written"),
            count: (vectors.len() / DIM) as u32,
            dead: RoaringBitmap::new(),
            questions: clustered(QUESTIONS, 99),
        }
    }

    fn ask(
        &self,
        question: usize,
        ef: usize,
        filter: Option<&RoaringBitmap>,
        scratch: &mut VectorScratch,
    ) -> Vec<Ordinal> {
        let placed = [SegmentReader {
            base: Ordinal(0),
            chunk_count: self.count,
            dead: &self.dead,
            reader: &self.reader,
        }];
        let at = question % QUESTIONS * DIM;
        let query = VectorQuery {
            filter,
            effort: Effort::Ef(ef),
            ..VectorQuery::new(&self.questions[at..at + DIM], 10)
        };
        let hits = search(&placed, &query, scratch).expect("the question is finite");
        hits.into_iter().map(|hit| hit.ordinal).collect()
    }

    /// Share of what a search of all candidates finds that one of `ef` finds.
    fn recall(&self, ef: usize, filter: Option<&RoaringBitmap>) -> f64 {
        let mut scratch = VectorScratch::default();
        let mut found = 0;
        for question in 0..QUESTIONS {
            let right = self.ask(question, self.count as usize, filter, &mut scratch);
            let got = self.ask(question, ef, filter, &mut scratch);
            found += got.iter().filter(|hit| right.contains(hit)).count();
        }
        found as f64 / (10 * QUESTIONS) as f64
    }
}

fn build(c: &mut Criterion) {
    let mut group = c.benchmark_group("vector/build");
    group.sample_size(10);
    for count in [1_000, 5_000] {
        let vectors = clustered(count, 7);
        let flat = flat(&vectors);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| flat.build_graph(&GraphOptions::default(), 1))
        });
    }
}

fn walk(c: &mut Criterion) {
    let mut group = c.benchmark_group("vector/walk 10k ef 64");
    let vectors = clustered(10_000, 7);
    for codes in Codes::ALL {
        let segment = Segment::new(&vectors, codes);
        let floor = if codes == Codes::B1 { 0.5 } else { 0.9 };
        assert!(segment.recall(64, None) >= floor, "{codes:?}");
        let (mut scratch, mut question) = (VectorScratch::default(), 0);
        group.bench_function(codes.name(), |b| {
            b.iter(|| {
                question += 1;
                black_box(segment.ask(question, 64, None, &mut scratch))
            })
        });
    }
}

fn filters(c: &mut Criterion) {
    let mut group = c.benchmark_group("vector/filter 10k ef 64");
    let segment = Segment::new(&clustered(10_000, 7), Codes::I8);
    for one_of in [2, 10, 100, 1000] {
        let filter: RoaringBitmap = (0..10_000).filter(|n| n * 7919 % one_of == 0).collect();
        assert!(segment.recall(64, Some(&filter)) >= 0.95, "1 of {one_of}");
        let (mut scratch, mut question) = (VectorScratch::default(), 0);
        group.bench_function(BenchmarkId::new("1 of", one_of), |b| {
            b.iter(|| {
                question += 1;
                black_box(segment.ask(question, 64, Some(&filter), &mut scratch))
            })
        });
    }
}

criterion_group!(benches, build, walk, filters);
criterion_main!(benches);
