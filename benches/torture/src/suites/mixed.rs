//! A mixed load on a real disk: searches, new documents, replacements, deletions, compaction.
//!
//! Reported are: memory minute by minute, and how fast it grows after the first minutes, in percent an hour: resident,
//! without mapped files, and what the allocator has given out; resident memory after a warm-up and at the end; how many generations of segment files lie
//! on disk at most that the newest manifest does not list any more; how long searches take while a
//! compaction runs and while none does; documents written a second.
//!
//! Promises: every search is answered and no write fails; in the end a recount agrees. With
//! `--steady` as many documents are deleted as are added, so that memory can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use locidb::{Database, NoProgress, Options};
use parking_lot::Mutex;

use super::rates;
use crate::bulk::{self, DIM, SMALL};
use crate::heap;
use crate::report::{Report, ReportBuilder};
use crate::source::Source;

/// Documents that a store begins with.
const DOCUMENTS: u64 = 2000;
/// How often the disk is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long memory is averaged, as what a merge needs comes and goes.
const AVERAGED: Duration = Duration::from_secs(60);

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct MixedArgs {
    /// The seed of what is asked and written
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How long
    #[arg(long, default_value_t = 10.0)]
    pub minutes: f64,
    /// Part of the time after which memory is looked at first
    #[arg(long, default_value_t = 0.2)]
    pub warm_up: f64,
    /// Minutes until growth of memory counts
    #[arg(long, default_value_t = 5.0)]
    pub settle: f64,
    /// Percent an hour that resident memory may grow at most, as far as the measure can tell
    #[arg(long, value_name = "PERCENT")]
    pub slope_max: Option<f64>,
    /// Threads; a quarter of them writes, the others search
    #[arg(long, default_value_t = 8)]
    pub threads: u64,
    /// Seconds from one whole compaction to the next
    #[arg(long, default_value_t = 20)]
    pub compact_every: u64,
    /// Delete as many documents as are added
    #[arg(long)]
    pub steady: bool,
    /// Cache of rows, so small that it is full when the store is warm
    #[arg(long, default_value_t = 8)]
    pub cache_mib: usize,
    /// Where the files lie; else where temporary files do
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Runs it.
pub fn run(args: &MixedArgs) -> Result<Report> {
    let mut running = ReportBuilder::start("mixed", args.seed);
    let result = mix(args, &mut running);
    running.round(0, result);
    Ok(running.finish())
}

/// What the threads share.
struct Load<'l> {
    args: &'l MixedArgs,
    database: Database,
    /// Numbers of the documents that are there.
    numbers: Mutex<Vec<u64>>,
    next_number: AtomicU64,
    stop: AtomicBool,
    compacting: AtomicBool,
    written: AtomicU64,
    /// Of searches while no compaction runs, and while one does.
    latencies: [Histogram; 2],
    errors: Mutex<Vec<String>>,
}

fn mix(args: &MixedArgs, running: &mut ReportBuilder) -> Result<()> {
    let folder = rates::folder(args.folder.as_ref())?;
    let store = folder.path().join("store");
    let options = Options {
        cache_bytes: args.cache_mib << 20,
        ..Options::default()
    };
    let database = Database::open_with(&store, &options)?;
    database.use_provided_vectors("torture", DIM)?;
    fill(&database)?;
    let load = Load {
        args,
        database,
        numbers: Mutex::new((0..DOCUMENTS).collect()),
        next_number: AtomicU64::new(DOCUMENTS),
        stop: AtomicBool::new(false),
        compacting: AtomicBool::new(false),
        written: AtomicU64::new(0),
        latencies: Default::default(),
        errors: Mutex::default(),
    };
    let watched = std::thread::scope(|scope| {
        for thread in 0..args.threads {
            let (load, writes) = (&load, thread % 4 == 0);
            scope.spawn(move || load.work(thread, writes));
        }
        scope.spawn(|| load.compact());
        let watched = watch(&load, &store);
        load.stop.store(true, Ordering::Relaxed);
        watched
    })?;
    report_results(&load, &watched, running);
    report_growth(args, &watched, running)?;
    if let Some(error) = load.errors.lock().first() {
        anyhow::bail!("{error}");
    }
    load.database.wait_for_merges()?;
    let (stats, counted) = load.database.recount()?;
    let differences = counted.differences(&stats);
    ensure!(
        differences.is_empty(),
        "recount: {}",
        differences.join("; ")
    );
    let mut left = Files::default();
    let mut after = ResourceStats::default();
    left.poll(&load.database, &store, &mut after)?;
    let there = std::fs::read_dir(store.join("segments"))?.count();
    ensure!(
        there == left.listed.len(),
        "{there} segment files, {} listed",
        left.listed.len()
    );
    let expected = load.numbers.lock().len() as u64;
    ensure!(
        stats.documents == expected,
        "{} documents, {expected} expected",
        stats.documents
    );
    Ok(())
}

fn fill(database: &Database) -> Result<()> {
    for first in (0..DOCUMENTS).step_by(200) {
        database.write(move |tx| {
            (first..first + 200)
                .try_for_each(|number| tx.put_document(bulk::document(number, 0, SMALL)).map(drop))
        })?;
    }
    Ok(())
}

impl Load<'_> {
    fn work(&self, thread: u64, writes: bool) {
        let mut source = Source::stream(self.args.seed, thread);
        while !self.stop.load(Ordering::Relaxed) {
            let done = if writes {
                self.write(&mut source)
            } else {
                self.search(&mut source)
            };
            if let Err(error) = done {
                self.errors.lock().push(format!("{error:#}"));
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    fn search(&self, source: &mut Source<'_>) -> Result<()> {
        let request = bulk::question(source);
        let compacting = self.compacting.load(Ordering::Relaxed);
        let started = Instant::now();
        let answer = self.database.search(&request)?;
        self.latencies[usize::from(compacting)].add(started.elapsed());
        ensure!(
            !answer.hits.is_empty() && answer.partial.is_empty(),
            "{answer:?}"
        );
        Ok(())
    }

    /// Half of the writes replace; the others add, or delete in turn.
    fn write(&self, source: &mut Source<'_>) -> Result<()> {
        let adds = if self.args.steady {
            self.numbers.lock().len() as u64 <= DOCUMENTS
        } else {
            !source.one_in(4)
        };
        match source.one_in(2) {
            true => self.replace(source)?,
            false if adds => self.add()?,
            false => self.delete(source)?,
        }
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn add(&self) -> Result<()> {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let document = bulk::document(number, 0, SMALL);
        self.database.write(move |tx| tx.put_document(document))?;
        self.numbers.lock().push(number);
        Ok(())
    }

    /// Takes a number that no other thread has now.
    fn take(&self, source: &mut Source<'_>) -> Option<u64> {
        let mut numbers = self.numbers.lock();
        let at = source.below((numbers.len() as u32).max(1)) as usize;
        (!numbers.is_empty()).then(|| numbers.swap_remove(at))
    }

    fn replace(&self, source: &mut Source<'_>) -> Result<()> {
        let Some(number) = self.take(source) else {
            return Ok(());
        };
        let document = bulk::document(number, source.seed(), SMALL);
        self.database.write(move |tx| tx.put_document(document))?;
        self.numbers.lock().push(number);
        Ok(())
    }

    fn delete(&self, source: &mut Source<'_>) -> Result<()> {
        let Some(number) = self.take(source) else {
            return Ok(());
        };
        let there = self
            .database
            .write(move |tx| tx.delete_document(&bulk::key(number)))?;
        ensure!(there, "document {number} was not there");
        Ok(())
    }

    fn compact(&self) {
        let mut next = Instant::now() + Duration::from_secs(self.args.compact_every);
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            if Instant::now() < next {
                continue;
            }
            self.compacting.store(true, Ordering::Relaxed);
            let compacted = self.database.compact(&NoProgress);
            self.compacting.store(false, Ordering::Relaxed);
            if let Err(error) = compacted {
                self.errors.lock().push(format!("compacting: {error}"));
                self.stop.store(true, Ordering::Relaxed);
            }
            next = Instant::now() + Duration::from_secs(self.args.compact_every);
        }
    }
}

/// What was seen from outside.
#[derive(Default)]
struct ResourceStats {
    warm: Memory,
    end: Memory,
    /// The mean of each minute.
    minutes: Vec<Memory>,
    dead_files_max: u64,
    dead_generations_max: u64,
    /// How long a file was seen that no manifest listed any more.
    dead_ms_max: u64,
    disk_bytes_max: u64,
}

fn watch(load: &Load<'_>, store: &Path) -> Result<ResourceStats> {
    let all = Duration::from_secs_f64(load.args.minutes * 60.0);
    let warm_up = all.mul_f64(load.args.warm_up);
    let started = Instant::now();
    let mut watched = ResourceStats::default();
    let mut files = Files::default();
    let mut memory = [Vec::new(), Vec::new()];
    let (mut minute, mut minute_began) = (Vec::new(), started);
    while started.elapsed() < all && !load.stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_EVERY);
        files.poll(&load.database, store, &mut watched)?;
        // The mean of some time before each moment, as what a merge needs comes and goes.
        let (age, now) = (started.elapsed(), Memory::now());
        if age < warm_up && age > warm_up.mul_f64(0.5) {
            memory[0].push(now);
        }
        if age > all - warm_up.mul_f64(0.5) {
            memory[1].push(now);
        }
        minute.push(now);
        if minute_began.elapsed() >= AVERAGED {
            watched.minutes.push(Memory::mean(&minute));
            minute.clear();
            minute_began = Instant::now();
        }
    }
    [watched.warm, watched.end] = memory.map(|memory| Memory::mean(&memory));
    Ok(watched)
}

/// Segment files, as they come and go.
#[derive(Default)]
struct Files {
    /// Were listed when they were last seen.
    listed: BTreeSet<String>,
    /// Were listed once, are not any more, and are there: since when.
    dead: BTreeMap<String, Instant>,
}

impl Files {
    fn poll(
        &mut self,
        database: &Database,
        store: &Path,
        watched: &mut ResourceStats,
    ) -> Result<()> {
        let mut there = BTreeSet::new();
        let mut bytes = 0;
        for entry in std::fs::read_dir(store.join("segments"))? {
            let entry = entry?;
            there.insert(entry.file_name().to_string_lossy().into_owned());
            // It may have been removed since.
            bytes += entry.metadata().map_or(0, |metadata| metadata.len());
        }
        let view = database.snapshot();
        let manifest = view.snapshot().manifest();
        let listed = manifest.parts().filter_map(|part| part.file.clone());
        let listed: BTreeSet<String> = listed.collect();
        let now = Instant::now();
        for name in self.listed.difference(&listed) {
            self.dead.insert(name.clone(), now);
        }
        self.dead.retain(|name, _| there.contains(name));
        self.listed = listed;
        // Files that went off the list together are of one generation: that of the last manifest that
        // listed them.
        let generations: BTreeSet<Instant> = self.dead.values().copied().collect();
        let oldest = self
            .dead
            .values()
            .min()
            .map_or(0, |since| since.elapsed().as_millis() as u64);
        watched.dead_files_max = watched.dead_files_max.max(self.dead.len() as u64);
        watched.dead_generations_max = watched.dead_generations_max.max(generations.len() as u64);
        watched.dead_ms_max = watched.dead_ms_max.max(oldest);
        watched.disk_bytes_max = watched.disk_bytes_max.max(bytes);
        Ok(())
    }
}

fn report_results(load: &Load<'_>, watched: &ResourceStats, running: &mut ReportBuilder) {
    let seconds = load.args.minutes * 60.0;
    let [quiet, compacting] = &load.latencies;
    let growth = |from: u64, to: u64| (to * 1000 / from.max(1)).saturating_sub(1000);
    let stats = load.database.stats();
    let written = load.written.load(Ordering::Relaxed);
    let counters = [
        ("anonymous_kib_warm", watched.warm.anonymous_kib),
        ("anonymous_kib_end", watched.end.anonymous_kib),
        ("resident_kib_warm", watched.warm.resident_kib),
        ("resident_kib_end", watched.end.resident_kib),
        (
            "anonymous_growth_permille",
            growth(watched.warm.anonymous_kib, watched.end.anonymous_kib),
        ),
        (
            "resident_growth_permille",
            growth(watched.warm.resident_kib, watched.end.resident_kib),
        ),
        ("dead_files_max", watched.dead_files_max),
        ("dead_generations_max", watched.dead_generations_max),
        ("dead_ms_max", watched.dead_ms_max),
        ("segment_disk_bytes_max", watched.disk_bytes_max),
        ("writes_per_s", (written as f64 / seconds) as u64),
        (
            "searches_per_s",
            ((quiet.len() + compacting.len()) as f64 / seconds) as u64,
        ),
        ("search_us_p50", quiet.at(0.5)),
        ("search_us_p99", quiet.at(0.99)),
        ("search_compacting_us_p50", compacting.at(0.5)),
        ("search_compacting_us_p99", compacting.at(0.99)),
        ("searches_compacting", compacting.len()),
        ("documents", stats.documents),
        ("generation", stats.generation),
        ("database_bytes", stats.database_bytes),
    ];
    for (name, counter) in counters {
        running.count(name, counter);
    }
}

/// Reports memory minute by minute, and how fast it grew since it settled.
///
/// # Errors
/// When resident memory grew faster than it may, by more than two standard errors.
fn report_growth(
    args: &MixedArgs,
    watched: &ResourceStats,
    running: &mut ReportBuilder,
) -> Result<()> {
    let kinds: [(&'static str, fn(&Memory) -> u64); 3] = [
        ("resident", |memory| memory.resident_kib),
        ("anonymous", |memory| memory.anonymous_kib),
        ("heap", |memory| memory.heap_kib),
    ];
    for memory in &watched.minutes {
        running.minute(kinds.map(|(name, of)| (name, of(memory) as f64)));
    }
    let settled = (args.settle * 60.0 / AVERAGED.as_secs_f64()).round() as usize;
    let Some(minutes) = watched.minutes.get(settled..) else {
        return Ok(());
    };
    let an_hour = 3_600.0 / AVERAGED.as_secs_f64();
    for (name, of) in kinds {
        let points: Vec<f64> = minutes.iter().map(|memory| of(memory) as f64).collect();
        let Some(line) = Line::through(&points) else {
            continue;
        };
        let percent = |slope: f64| 100.0 * slope * an_hour / line.mean.max(1.0);
        let (slope, error) = (percent(line.slope), percent(line.error));
        running.measure(&format!("{name}_slope_percent_an_hour"), slope);
        running.measure(&format!("{name}_slope_error_percent_an_hour"), error);
        let most = args.slope_max.filter(|_| name == "resident");
        if let Some(most) = most {
            ensure!(
                slope - 2.0 * error <= most,
                "resident memory grew by {slope:.2} ± {error:.2} % an hour"
            );
        }
    }
    Ok(())
}

/// The straight line that is nearest to points, by least squares.
#[derive(Clone, Copy, Debug)]
struct Line {
    mean: f64,
    /// From one point to the next.
    slope: f64,
    /// The slope's standard error.
    error: f64,
}

impl Line {
    /// `None` for fewer than three points.
    fn through(points: &[f64]) -> Option<Line> {
        if points.len() < 3 {
            return None;
        }
        let count = points.len() as f64;
        let middle = (count - 1.0) / 2.0;
        let mean = points.iter().sum::<f64>() / count;
        let numbered = || (0..).map(f64::from).zip(points);
        let spread: f64 = numbered().map(|(at, _)| (at - middle).powi(2)).sum();
        let together = numbered().map(|(at, of)| (at - middle) * (of - mean));
        let slope = together.sum::<f64>() / spread;
        let rest = numbered().map(|(at, of)| (of - mean - slope * (at - middle)).powi(2));
        let error = (rest.sum::<f64>() / (count - 2.0) / spread).sqrt();
        Some(Line { mean, slope, error })
    }
}

/// Memory of this process.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    resident_kib: u64,
    /// Without mapped files.
    anonymous_kib: u64,
    /// What the allocator has given out.
    heap_kib: u64,
}

impl Memory {
    /// As the system tells it; zeros where it does not.
    fn now() -> Memory {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            number.unwrap_or(0)
        };
        Memory {
            resident_kib: field("VmRSS:"),
            anonymous_kib: field("RssAnon:"),
            heap_kib: heap::live_bytes() >> 10,
        }
    }

    fn mean(of: &[Memory]) -> Memory {
        let count = of.len().max(1) as u64;
        let mean = |kib: fn(&Memory) -> u64| of.iter().map(kib).sum::<u64>() / count;
        Memory {
            resident_kib: mean(|memory| memory.resident_kib),
            anonymous_kib: mean(|memory| memory.anonymous_kib),
            heap_kib: mean(|memory| memory.heap_kib),
        }
    }
}

/// Counts of durations in buckets that are an eighth of a power of two wide; fixed in size, so that
/// counting does not show in the memory that is measured.
struct Histogram {
    buckets: Vec<AtomicU64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            buckets: (0..40 * 8).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Histogram {
    fn add(&self, took: Duration) {
        let us = (took.as_micros() as f64).max(1.0);
        let bucket = (us.log2() * 8.0) as usize;
        self.buckets[bucket.min(self.buckets.len() - 1)].fetch_add(1, Ordering::Relaxed);
    }

    fn len(&self) -> u64 {
        self.buckets
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }

    /// Microseconds below which this share of the durations lies, within a tenth.
    fn at(&self, share: f64) -> u64 {
        let target_count = (self.len() as f64 * share) as u64;
        let mut sum = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            sum += count.load(Ordering::Relaxed);
            if sum > target_count {
                return ((bucket as f64 + 1.0) / 8.0).exp2() as u64;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points_has_their_slope_and_says_how_sure_it_is() {
        let straight = Line::through(&[10.0, 12.0, 14.0, 16.0]).unwrap();
        assert_eq!(
            (straight.mean, straight.slope, straight.error),
            (13.0, 2.0, 0.0)
        );
        let scattered = Line::through(&[10.0, 13.0, 13.0, 16.0]).unwrap();
        assert!(
            (scattered.slope - 1.8).abs() < 1e-9 && scattered.error > 0.3,
            "{scattered:?}"
        );
        assert!(Line::through(&[1.0, 2.0]).is_none());
    }

    #[test]
    fn shares_of_durations_are_within_a_tenth() {
        let histogram = Histogram::default();
        (1..=1000).for_each(|us| histogram.add(Duration::from_micros(us)));
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0)] {
            let found = histogram.at(share) as f64;
            assert!(
                (0.9..=1.1).contains(&(found / expected)),
                "{share}: {found}"
            );
        }
    }
}
