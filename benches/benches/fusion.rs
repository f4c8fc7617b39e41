//! Making one list of three: every rule, for lists of several lengths.
//!
//! Lists are the same on every machine: chunks of a range three times as long as a list, so that arms agree on
//! some, with scores that fall.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use locidb::query::fuse::{Accumulator, Arms, Fusion, Mixture, RankWeights, ScoreWeights};
use locidb::storage::{Ordinal, ScoredChunk};

/// `len` chunks of the first `3 * len`, each once.
fn list(len: usize, seed: u64) -> Vec<ScoredChunk> {
    let mut chunks: Vec<u32> = (0..3 * len as u32).collect();
    let mut state = seed;
    for at in (1..chunks.len()).rev() {
        // xorshift64 (Marsaglia, 2003)
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        chunks.swap(at, (state % (at as u64 + 1)) as usize);
    }
    let scored = |(rank, &chunk): (usize, &u32)| ScoredChunk {
        ordinal: Ordinal(chunk),
        score: 1.0 / (1.0 + rank as f32),
    };
    chunks.iter().take(len).enumerate().map(scored).collect()
}

fn rules(c: &mut Criterion) {
    let rules = [
        ("rrf", Fusion::Rrf(RankWeights::default())),
        ("mixture", Fusion::Mixture(Mixture::default())),
        (
            "scores",
            Fusion::Scores(ScoreWeights {
                text: 0.3,
                vector: 0.7,
                graph: 0.5,
            }),
        ),
    ];
    let mut group = c.benchmark_group("fusion");
    for len in [20, 100, 1000] {
        let [text, vector, graph] = [3, 5, 7].map(|seed| list(len, seed));
        let arms = Arms {
            text: &text,
            vector: &vector,
            graph: &graph,
        };
        group.throughput(Throughput::Elements(3 * len as u64));
        for (name, rule) in &rules {
            let mut accumulator = Accumulator::default();
            let fused = accumulator.fuse(rule, arms);
            assert!(fused.windows(2).all(|pair| pair[0].score >= pair[1].score));
            assert!(fused.len() >= len && fused.len() <= 3 * len);
            group.bench_function(BenchmarkId::new(*name, len), |b| {
                b.iter(|| black_box(accumulator.fuse(rule, arms)).len());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, rules);
criterion_main!(benches);
