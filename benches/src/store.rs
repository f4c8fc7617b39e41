//! `loci bench --task load|open`: loading a store, and opening it in a new process.
//!
//! Both end with the first answer to a hybrid question, which is that of [`crate::hybrid`]: what is not loaded
//! or opened until then would only be put off.
//!
//! Start reading at [`load`] and [`open`].

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use locidb::{Database, NoProgress, Options, SearchRequest, Strategy};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::BenchError;
use crate::clock::{Stopwatch, resident_mib};
use crate::hybrid::{HybridBench, Workload};
use crate::metrics::percentile;

/// Processes that open a store, each way.
const PROCESSES: usize = 5;

/// Loads all of `folder` into an empty store until it is durable and has answered, and calls `line` with the
/// result; `ranked_s` is the time until its concepts are ranked and grouped, too, which searches do not wait for.
///
/// # Errors
/// As [`crate::hybrid::run`].
pub fn load(
    folder: &Path,
    bench: &HybridBench,
    mut line: impl FnMut(&Value),
) -> Result<(), BenchError> {
    let workload = Workload::read(folder, bench.limit)?;
    let at = tempfile::tempdir().map_err(|source| BenchError::io("a temporary folder", source))?;
    let store = at.path().join("store");
    let resident = resident_mib().map(|(now, _)| now);
    let watch = Stopwatch::start();
    let database = Database::open(&store)?;
    workload.store(&database)?;
    let hits = database
        .search(&workload.request(&database, Strategy::Hybrid, 0)?)?
        .hits;
    let (wall, cpu) = watch.read();
    database.finish(&NoProgress)?;
    let (ranked, _) = watch.read();
    database.wait_for_merges()?;
    database.close();
    let ((disk, files), raw) = (bytes_of(&store)?, workload.raw_bytes(folder)?);
    let chunks = workload.folder.chunks.len();
    let fields = json!({
        "load_s": wall.as_secs_f64(),
        "chunks_per_s": chunks as f64 / wall.as_secs_f64(),
        "cpu_s": cpu.as_secs_f64(),
        "ranked_s": ranked.as_secs_f64(),
        "disk_bytes": disk,
        "file_bytes": files,
        "raw_bytes": raw,
        "disk_over_raw": disk as f64 / raw.max(1) as f64,
        "peak_rss_mib": resident_mib().map(|(_, peak)| peak),
        "folder_rss_mib": resident,
        "first_hits": hits.len(),
    });
    line(&workload.result_line("load", bench.threads, "load", fields));
    Ok(())
}

/// Has processes open a store of `folder` and answer, with its files dropped from the page cache before and with
/// them there, and calls `line` with the medians. `process` runs [`first`] on the two paths that are handed to
/// it, and prints what it returns as JSON.
///
/// # Errors
/// As [`crate::hybrid::run`]; [`BenchError::MissingInput`] when a process fails.
pub fn open(
    folder: &Path,
    bench: &HybridBench,
    process: impl Fn(&Path, &Path) -> Command,
    mut line: impl FnMut(&Value),
) -> Result<(), BenchError> {
    let workload = Workload::read(folder, bench.limit)?;
    let at = tempfile::tempdir().map_err(|source| BenchError::io("a temporary folder", source))?;
    let (store, question) = (at.path().join("store"), at.path().join("question.json"));
    let database = Database::open(&store)?;
    workload.load(&database)?;
    database.wait_for_merges()?;
    let request = workload.request(&database, Strategy::Hybrid, 0)?;
    database.close();
    let failed = |source| BenchError::io("question.json", source);
    let json = serde_json::to_vec(&request).map_err(|why| failed(why.into()))?;
    std::fs::write(&question, json).map_err(failed)?;
    let run = || answered(process(&store, &question));
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    let mut dropped = true;
    for _ in 0..PROCESSES {
        dropped &= drop_cached(&store).is_ok();
        cold.push(run()?);
    }
    for _ in 0..PROCESSES {
        warm.push(run()?);
    }
    let median = |all: &[OpenReport], of: fn(&OpenReport) -> f64| {
        let mut values: Vec<f64> = all.iter().map(of).collect();
        values.sort_unstable_by(f64::total_cmp);
        percentile(&values, 0.5)
    };
    let fields = json!({
        "cold_open_first_ms": median(&cold, |first| first.ms),
        "warm_open_first_ms": median(&warm, |first| first.ms),
        "cold_open_ms": median(&cold, |first| first.open_ms),
        "warm_open_ms": median(&warm, |first| first.open_ms),
        "warm_second_ms": median(&warm, |first| first.second_ms),
        "rss_after_first_query_mib": median(&cold, |first| first.rss_mib),
        "rss_before_mib": median(&cold, |first| first.rss_before_mib),
        "cache_dropped": dropped,
        "first_hits": cold[0].hits,
        "processes": PROCESSES,
    });
    line(&workload.result_line("open", bench.threads, "open", fields));
    Ok(())
}

/// The measurements of a process that opened a store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenReport {
    /// From the call that opens the store to the answer.
    pub ms: f64,
    /// Of that, until it was open.
    pub open_ms: f64,
    /// The same question once more.
    pub second_ms: f64,
    /// Memory of the process after the answer, 0 if the system does not report it.
    pub rss_mib: f64,
    /// And before.
    pub rss_before_mib: f64,
    /// Hits of the answer.
    pub hits: usize,
}

/// Opens `store` and answers the request that the file `question` holds.
///
/// # Errors
/// Errors of the file or the database.
pub fn first(store: &Path, question: &Path) -> Result<OpenReport, BenchError> {
    let failed = |source| BenchError::io(question.display().to_string(), source);
    let request = std::fs::read(question).map_err(failed)?;
    let request: SearchRequest =
        serde_json::from_slice(&request).map_err(|why| failed(why.into()))?;
    let options = Options {
        create: false,
        ..Options::default()
    };
    let rss = || resident_mib().map_or(0.0, |(now, _)| now);
    let rss_before_mib = rss();
    let started = Instant::now();
    let database = Database::open_with(store, &options)?;
    let open_ms = started.elapsed().as_secs_f64() * 1e3;
    let answer = database.search(&request)?;
    let ms = started.elapsed().as_secs_f64() * 1e3;
    let rss_mib = rss();
    let started = Instant::now();
    database.search(&request)?;
    Ok(OpenReport {
        ms,
        open_ms,
        second_ms: started.elapsed().as_secs_f64() * 1e3,
        rss_mib,
        rss_before_mib,
        hits: answer.hits.len(),
    })
}

/// Runs a process that opens the store.
fn answered(mut process: Command) -> Result<OpenReport, BenchError> {
    let lacking =
        |why: String| BenchError::MissingInput(format!("a process that opens the store: {why}"));
    let output = process.output().map_err(|why| lacking(why.to_string()))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(lacking(format!("{}, {stderr}", output.status)));
    }
    serde_json::from_slice(&output.stdout).map_err(|why| lacking(why.to_string()))
}

/// What all files in a folder and those below it take on the disk, and how long they are: a part of a file that
/// was never written has a length and takes nothing.
fn bytes_of(folder: &Path) -> Result<(u64, u64), BenchError> {
    let (mut allocated_bytes, mut long) = (0, 0);
    for_each_file(folder, &mut |file| {
        let of = file.metadata()?;
        allocated_bytes += taken_by(&of);
        long += of.len();
        Ok(())
    })
    .map_err(|why| BenchError::io(folder.display().to_string(), why))?;
    Ok((allocated_bytes, long))
}

#[cfg(unix)]
fn taken_by(file: &std::fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    file.blocks() * 512
}

#[cfg(not(unix))]
fn taken_by(file: &std::fs::Metadata) -> u64 {
    file.len()
}

/// Has the system forget the pages of a folder's files, which no process holds.
#[cfg(target_os = "linux")]
fn drop_cached(folder: &Path) -> std::io::Result<()> {
    for_each_file(folder, &mut |path| {
        let file = std::fs::File::open(path)?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        Ok(())
    })
}

/// Other systems have no call for it.
#[cfg(not(target_os = "linux"))]
fn drop_cached(_: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

fn for_each_file(
    folder: &Path,
    visit: &mut dyn FnMut(&Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            for_each_file(&path, visit)?
        } else {
            visit(&path)?
        }
    }
    Ok(())
}

impl Workload {
    /// Bytes of the files of chunks, vectors, relations and mentions; of chunks and vectors in proportion where a
    /// limit leaves some out.
    fn raw_bytes(&self, folder: &Path) -> Result<u64, BenchError> {
        let len = |names: &[&str]| {
            let there = names
                .iter()
                .find_map(|name| folder.join(name).metadata().ok());
            there.map_or(0, |file| file.len())
        };
        let chunks = len(&["chunks.jsonl", "corpus.jsonl"]) + len(&["vectors.f32", "corpus.f32"]);
        let graph = len(&["relations.tsv"]) + len(&["mentions.tsv"]);
        let share = self.folder.chunks.len() as f64 / self.line_count.max(1) as f64;
        Ok((chunks as f64 * share) as u64 + graph)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hybrid::tests::small_folder;

    const ONE: HybridBench = HybridBench {
        threads: 1,
        limit: None,
    };

    #[test]
    fn a_load_tells_time_and_bytes() {
        let folder = small_folder();
        let mut lines = Vec::new();
        load(folder.path(), &ONE, |line| lines.push(line.clone())).unwrap();
        let [line] = &lines[..] else {
            panic!("{lines:?}")
        };
        for name in ["load_s", "chunks_per_s", "cpu_s", "disk_over_raw"] {
            assert!(line[name].as_f64().unwrap() > 0.0, "{name}");
        }
        let bytes = |name: &str| folder.path().join(name).metadata().unwrap().len();
        let raw = [
            "chunks.jsonl",
            "vectors.f32",
            "relations.tsv",
            "mentions.tsv",
        ]
        .map(bytes);
        assert_eq!(line["raw_bytes"], raw.iter().sum::<u64>());
        assert!(line["disk_bytes"].as_u64().unwrap() > 0);
        assert_eq!(line["first_hits"], 10);
    }

    #[test]
    fn a_store_is_opened_and_asked() {
        let folder = small_folder();
        let workload = Workload::read(folder.path(), None).unwrap();
        let at = tempfile::tempdir().unwrap();
        let (store, question) = (at.path().join("store"), at.path().join("question.json"));
        let database = Database::open(&store).unwrap();
        workload.load(&database).unwrap();
        let request = workload.request(&database, Strategy::Hybrid, 3).unwrap();
        database.close();
        std::fs::write(&question, serde_json::to_vec(&request).unwrap()).unwrap();
        let report = first(&store, &question).unwrap();
        assert_eq!(report.hits, 10);
        assert!(report.ms >= report.open_ms && report.open_ms > 0.0);
        assert!(first(&at.path().join("elsewhere"), &question).is_err());
    }

    #[test]
    fn a_failed_process_is_reported() {
        let folder = small_folder();
        let process = |_: &Path, _: &Path| Command::new("false");
        let failed = open(folder.path(), &ONE, process, |_| {}).unwrap_err();
        assert!(failed.to_string().contains("a process"), "{failed}");
    }
}
