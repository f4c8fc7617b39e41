//! `loci bench --task vector`: the vector index alone, in a segment as a store has them.
//!
//! The segment is built, written to a file, mapped and searched through the same readers that a store
//! uses. Inner product of unit vectors, M 16, efConstruction 200.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

pub use loci_index::vector::Codes;
use loci_index::vector::{
    Effort, FlatBuilder, GraphOptions, Metric, VectorQuery, VectorReader, VectorScratch,
    instruction_set, search,
};
use loci_storage::disk::{Disk, OsDisk};
use loci_storage::segment::{Part, PartBuilder, PartKind, Section, SectionId};
use loci_storage::{LocalOrdinal, Ordinal, ScoredChunk, SegmentReader};
use roaring::RoaringBitmap;
use serde_json::{Map, Value, json};

use crate::BenchError;
use crate::clock::{Stopwatch, latency, mapped_resident_mib, resident_mib};

/// What is measured.
const EFS: [usize; 12] = [16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 512];
const K: usize = 10;
/// What is searched by codes alone.
const EF_TYPICAL: usize = 64;
/// What is searched with deleted vectors, and how many of all are.
const EFS_OF_DEAD: [usize; 3] = [32, 64, 128];
const DEAD_SHARE: f64 = 0.1;

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct VectorBench {
    /// Codes that walks compare; else those that suit the dimension.
    pub codes: Option<Codes>,
    /// Threads that build and that search.
    pub threads: usize,
    /// The first so many vectors alone.
    pub limit: Option<usize>,
    /// Fractions of the vectors that random filters match.
    pub filter_shares: Vec<f64>,
}

/// Vectors, questions and right answers.
struct Data {
    set: String,
    dim: usize,
    vectors: Vec<f32>,
    queries: Vec<f32>,
    truth: Vec<Vec<u32>>,
}

/// Measures, and calls `line` with every result.
///
/// # Errors
/// [`BenchError`] when `folder` lacks `vectors.f32` or `queries.f32`, or nothing can be written to the
/// folder for temporary files.
pub fn run(
    folder: &Path,
    bench: &VectorBench,
    mut line: impl FnMut(&Value),
) -> Result<(), BenchError> {
    let data = Data::read(folder, bench.limit)?;
    let mut report = |result: &str, fields: Value| line(&data.line(bench, result, fields));
    let at = tempfile::tempdir().map_err(|source| BenchError::io("a temporary folder", source))?;
    let file = at.path().join("segment");
    let fields = build(&data, bench, &file)?;
    report("build", fields);
    let (segment, fields) = open(&data, &file)?;
    report("open", fields);
    let resident = |fields: &mut Value| {
        fields["mapped_resident_mib"] = json!(mapped_resident_mib(&file));
    };
    let codes_only = Case {
        rank_again: false,
        ..Case::all(&data)
    };
    let mut fields = codes_only.measure(&data, bench, &segment, EF_TYPICAL)?;
    resident(&mut fields);
    report("search_codes", fields);
    for ef in EFS {
        let mut fields = Case::all(&data).measure(&data, bench, &segment, ef)?;
        resident(&mut fields);
        report("search", fields);
    }
    let tenth = random_filter(data.count(), DEAD_SHARE);
    let truth = data.exact(|id| !tenth.contains(id));
    let case = Case {
        dead: &tenth,
        truth: &truth,
        ..Case::all(&data)
    };
    for ef in EFS_OF_DEAD {
        let mut fields = case.measure(&data, bench, &segment, ef)?;
        fields["dead_share"] = json!(DEAD_SHARE);
        report("search_dead", fields);
    }
    for &share in &bench.filter_shares {
        let filters = [
            ("search", random_filter(data.count(), share)),
            ("search_correlated", data.near_one(share)),
        ];
        let mark = |mut fields: Value| {
            fields["filter_share"] = json!(share);
            fields
        };
        for (result, filter) in &filters {
            let truth = data.exact(|id| filter.contains(id));
            let case = Case {
                filter: Some(filter),
                truth: &truth,
                ..Case::all(&data)
            };
            for ef in EFS {
                report(result, mark(case.measure(&data, bench, &segment, ef)?));
            }
        }
        let [(_, random), _] = &filters;
        report("exact_scan", mark(scan(&data, bench, random)?));
    }
    Ok(())
}

fn build(data: &Data, bench: &VectorBench, file: &Path) -> Result<Value, BenchError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(bench.threads)
        .build()
        .map_err(|source| BenchError::io("threads", std::io::Error::other(source)))?;
    let options = GraphOptions {
        codes: data.codes(bench),
        ..GraphOptions::default()
    };
    let watch = Stopwatch::start();
    let mut flat = FlatBuilder::new(data.dim, Metric::Dot)?;
    for (local, vector) in (0..).zip(data.vectors.chunks_exact(data.dim)) {
        flat.push(LocalOrdinal(local), vector)?;
    }
    let of_graph = Stopwatch::start();
    let graph = pool
        .install(|| flat.build_graph(&options, 1))?
        .unwrap_or_default();
    let (graph_wall, graph_cpu) = of_graph.read();
    let graph_bytes = graph.len();
    let mut part = PartBuilder::new(PartKind::Vectors, data.count() as u32, 1);
    part.push(SectionId::Vectors, 0, flat.finish());
    part.push(SectionId::VectorGraph, 0, graph);
    let bytes = part.finish(1, 1);
    std::fs::write(file, &bytes).map_err(|source| BenchError::io("the segment", source))?;
    let (wall, cpu) = watch.read();
    Ok(json!({
        "build_s": wall.as_secs_f64(),
        "vec_per_s": data.count() as f64 / wall.as_secs_f64(),
        "cpu_s": cpu.as_secs_f64(),
        "graph_s": graph_wall.as_secs_f64(),
        "graph_cpu_s": graph_cpu.as_secs_f64(),
        "disk_bytes": bytes.len(),
        "graph_bytes": graph_bytes,
        "bytes_per_vec": bytes.len() as f64 / data.count() as f64,
        "graph_bytes_per_vec": graph_bytes as f64 / data.count() as f64,
        "peak_rss_mib": resident_mib().map(|(_, peak)| peak),
        "simd": instruction_set(),
    }))
}

/// Opens the mapped segment and searches once.
fn open(data: &Data, file: &Path) -> Result<(VectorReader<Section>, Value), BenchError> {
    let started = Instant::now();
    let bytes = OsDisk
        .map(file)
        .map_err(|source| BenchError::io("the segment", source))?;
    let part = Arc::new(Part::new(bytes)?);
    let flat = part.section(SectionId::Vectors, 0)?;
    let reader = VectorReader::new(flat, Some(part.section(SectionId::VectorGraph, 0)?))?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    let query = VectorQuery::new(data.query(0), K);
    search(
        &single_segment(&reader, data, &NONE),
        &query,
        &mut VectorScratch::default(),
    )?;
    let first_result_ms = started.elapsed().as_secs_f64() * 1e3;
    let efforts: Vec<Value> = reader.efforts().map(|row| json!(row)).collect();
    let fields = json!({
        "open_ms": open_ms,
        "first_result_ms": first_result_ms,
        "efforts": efforts,
    });
    Ok((reader, fields))
}

fn single_segment<'a>(
    reader: &'a VectorReader<Section>,
    data: &Data,
    dead: &'a RoaringBitmap,
) -> [SegmentReader<'a, VectorReader<Section>>; 1] {
    [SegmentReader {
        base: Ordinal(0),
        chunk_count: data.count() as u32,
        dead,
        reader,
    }]
}

static NONE: LazyLock<RoaringBitmap> = LazyLock::new(RoaringBitmap::new);

/// The searches of a segment.
#[derive(Clone, Copy)]
struct Case<'a> {
    filter: Option<&'a RoaringBitmap>,
    dead: &'a RoaringBitmap,
    truth: &'a [Vec<u32>],
    rank_again: bool,
}

impl<'a> Case<'a> {
    fn all(data: &'a Data) -> Case<'a> {
        Case {
            filter: None,
            dead: &NONE,
            truth: &data.truth,
            rank_again: true,
        }
    }

    fn measure(
        &self,
        data: &Data,
        bench: &VectorBench,
        segment: &VectorReader<Section>,
        ef: usize,
    ) -> Result<Value, BenchError> {
        let placed = single_segment(segment, data, self.dead);
        let query = |i: usize| VectorQuery {
            filter: self.filter,
            effort: Effort::Ef(ef),
            rescore: self.rank_again,
            ..VectorQuery::new(data.query(i), K)
        };
        let mut scratch = VectorScratch::default();
        let (mut found, mut distances) = (0, 0);
        for (i, truth) in self.truth.iter().enumerate() {
            let hits = search(&placed, &query(i), &mut scratch)?;
            let is_right = |hit: &&ScoredChunk| truth.contains(&hit.ordinal.0);
            found += hits.iter().filter(is_right).count();
            distances += scratch
                .segment_stats()
                .iter()
                .map(|v| v.distance_count)
                .sum::<u64>();
        }
        let expected_count: usize = self.truth.iter().map(Vec::len).sum();
        let first_stats = scratch.segment_stats().first();
        let mut fields = json!({
            "ef": ef,
            "recall10": found as f64 / expected_count.max(1) as f64,
            "distances": distances / self.truth.len().max(1) as u64,
            "way": first_stats.map(|visit| visit.strategy.to_string()),
        });
        let took = latency(
            self.truth.len(),
            bench.threads,
            VectorScratch::default,
            |scratch, i| {
                // Whether it succeeds was seen above.
                let _ = std::hint::black_box(search(&placed, &query(i), scratch));
            },
        );
        merge(&mut fields, json!(took));
        Ok(fields)
    }
}

/// Exact search without an index: compares every vector that the filter matches.
fn scan(data: &Data, bench: &VectorBench, filter: &RoaringBitmap) -> Result<Value, BenchError> {
    let mut flat = FlatBuilder::new(data.dim, Metric::Dot)?;
    for (local, vector) in (0..).zip(data.vectors.chunks_exact(data.dim)) {
        flat.push(LocalOrdinal(local), vector)?;
    }
    let reader = VectorReader::new(flat.finish(), None)?;
    let placed = [SegmentReader {
        base: Ordinal(0),
        chunk_count: data.count() as u32,
        dead: &NONE,
        reader: &reader,
    }];
    let took = latency(
        data.truth.len(),
        bench.threads,
        VectorScratch::default,
        |scratch, i| {
            let query = VectorQuery {
                filter: Some(filter),
                ..VectorQuery::new(data.query(i), K)
            };
            let _ = std::hint::black_box(search(&placed, &query, scratch));
        },
    );
    Ok(json!(took))
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}

/// A share of the numbers below `count`, drawn the same way every time.
fn random_filter(count: usize, share: f64) -> RoaringBitmap {
    let mut state = 0x853c_49e6_748f_ea9b_u64;
    let mut random = || {
        // xorshift64 (Marsaglia, 2003)
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..count as u32).filter(|_| random() < share).collect()
}

impl Data {
    fn read(folder: &Path, limit: Option<usize>) -> Result<Data, BenchError> {
        let needed = ["vectors.f32", "queries.f32", "gt10.i32"];
        if let Some(file) = needed.iter().find(|file| !folder.join(file).is_file()) {
            return Err(BenchError::MissingInput(format!(
                "{} has no {file}; this task needs a folder with {}",
                folder.display(),
                needed.join(", ")
            )));
        }
        let truth = numbers(&folder.join("gt10.i32"), i32::from_le_bytes)?;
        let queries = numbers(&folder.join("queries.f32"), f32::from_le_bytes)?;
        let mut vectors = numbers(&folder.join("vectors.f32"), f32::from_le_bytes)?;
        let meta = std::fs::read_to_string(folder.join("meta.json")).unwrap_or_default();
        let meta: Map<String, Value> = serde_json::from_str(&meta).unwrap_or_default();
        let query_count = truth.len() / K;
        let declared_dim = meta
            .get("dim")
            .and_then(Value::as_u64)
            .map(|dim| dim as usize);
        let dim = declared_dim.unwrap_or(queries.len() / query_count.max(1));
        if dim == 0 || queries.len() != query_count * dim || vectors.len() % dim != 0 {
            return Err(BenchError::MissingInput(format!(
                "{}: gt10.i32, queries.f32 and vectors.f32 do not fit each other",
                folder.display()
            )));
        }
        let set = folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let limited = limit.is_some_and(|limit| limit < vectors.len() / dim);
        if let Some(limit) = limit.filter(|_| limited) {
            vectors.truncate(limit * dim);
        }
        let mut data = Data {
            set: set.unwrap_or_default(),
            dim,
            vectors,
            queries,
            truth: truth
                .chunks_exact(K)
                .map(|row| row.iter().map(|&id| id as u32).collect())
                .collect(),
        };
        if limited {
            data.truth = data.exact(|_| true);
        }
        Ok(data)
    }

    fn codes(&self, bench: &VectorBench) -> Codes {
        bench.codes.unwrap_or_else(|| Codes::for_dim(self.dim))
    }

    fn count(&self) -> usize {
        self.vectors.len() / self.dim
    }

    fn query(&self, i: usize) -> &[f32] {
        &self.queries[i * self.dim..(i + 1) * self.dim]
    }

    /// The share of the vectors that lies nearest to the first: most questions are about others.
    fn near_one(&self, share: f64) -> RoaringBitmap {
        let Some(one) = self.vectors.get(..self.dim) else {
            return RoaringBitmap::new();
        };
        let all = (0..).zip(self.vectors.chunks_exact(self.dim));
        let mut scored: Vec<(f32, u32)> = all.map(|(id, other)| (dot(one, other), id)).collect();
        scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let keep_count = (share * scored.len() as f64).ceil() as usize;
        scored.iter().take(keep_count).map(|&(_, id)| id).collect()
    }

    /// The right answers, by comparing everything that is allowed.
    fn exact(&self, allowed: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
        let queries = self.queries.chunks_exact(self.dim);
        queries
            .map(|query| {
                let all = (0..).zip(self.vectors.chunks_exact(self.dim));
                let mut scored: Vec<(f32, u32)> = all
                    .filter(|&(id, _)| allowed(id))
                    .map(|(id, vector)| (dot(query, vector), id))
                    .collect();
                scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                scored.iter().take(K).map(|&(_, id)| id).collect()
            })
            .collect()
    }

    fn line(&self, bench: &VectorBench, result: &str, fields: Value) -> Value {
        let mut line = json!({
            "task": "vector",
            "system": "loci",
            "set": self.set,
            "variant": self.codes(bench).name(),
            "threads": bench.threads,
            "n": self.count(),
            "result": result,
        });
        merge(&mut line, fields);
        line
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    for (a, b) in a.chunks(16).zip(b.chunks(16)) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

fn numbers<T>(path: &Path, read: impl Fn([u8; 4]) -> T) -> Result<Vec<T>, BenchError> {
    let bytes =
        std::fs::read(path).map_err(|source| BenchError::io(path.display().to_string(), source))?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(BenchError::MissingInput(format!(
            "{}: its length is no multiple of 4",
            path.display()
        )));
    }
    Ok(numbers.iter().map(|&number| read(number)).collect())
}
