//! What a measurement reads: wall time, processor time, memory.

use std::path::Path;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;

use crate::metrics::percentile;

/// Wall and processor time since a moment.
#[derive(Debug)]
pub struct Stopwatch {
    wall: Instant,
    cpu: ProcessTime,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        Stopwatch {
            wall: Instant::now(),
            cpu: ProcessTime::now(),
        }
    }

    /// Wall time, and processor time of all threads, so far.
    pub fn read(&self) -> (Duration, Duration) {
        (self.wall.elapsed(), self.cpu.elapsed())
    }
}

/// How long the calls of one pass took.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Latency {
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Mean.
    pub mean_ms: f64,
    /// Calls.
    pub samples: usize,
    /// Calls a second, of all threads.
    pub qps: f64,
    /// Processor time a call, of all threads.
    pub cpu_ms: f64,
}

/// Calls `call(i)` for every `i` below `calls`, from `threads` threads in turns; each thread has its
/// own `state`, over all passes. One pass to warm up, then three; the one with the middle median counts.
pub fn latency<S: Send>(
    calls: usize,
    threads: usize,
    state: impl Fn() -> S,
    call: impl Fn(&mut S, usize) + Sync,
) -> Latency {
    let mut states: Vec<S> = (0..threads).map(|_| state()).collect();
    let mut pass = || {
        let watch = Stopwatch::start();
        let mut took: Vec<f64> = std::thread::scope(|scope| {
            let run = |(thread, state): (usize, &mut S)| {
                let each = (thread..calls).step_by(threads);
                each.map(|i| {
                    let started = Instant::now();
                    call(state, i);
                    started.elapsed().as_secs_f64() * 1e3
                })
                .collect::<Vec<f64>>()
            };
            let mut states = states.iter_mut().enumerate();
            let own = states.next();
            let handles: Vec<_> = states
                .map(|state| scope.spawn(move || run(state)))
                .collect();
            let mut took = own.map(run).unwrap_or_default();
            for handle in handles {
                took.extend(handle.join().expect("a measured call does not panic"));
            }
            took
        });
        let (wall, cpu) = watch.read();
        took.sort_unstable_by(f64::total_cmp);
        summary(&took, wall, cpu)
    };
    pass();
    let mut passes = [pass(), pass(), pass()];
    passes.sort_by(|a, b| a.p50_ms.total_cmp(&b.p50_ms));
    let [_, middle, _] = passes;
    middle
}

fn summary(sorted: &[f64], wall: Duration, cpu: Duration) -> Latency {
    let samples = sorted.len().max(1);
    Latency {
        p50_ms: percentile(sorted, 0.50),
        p95_ms: percentile(sorted, 0.95),
        p99_ms: percentile(sorted, 0.99),
        mean_ms: sorted.iter().sum::<f64>() / samples as f64,
        samples: sorted.len(),
        qps: sorted.len() as f64 / wall.as_secs_f64().max(1e-9),
        cpu_ms: cpu.as_secs_f64() * 1e3 / samples as f64,
    }
}

/// Memory of this process in MiB: resident now, and at most so far. `None` where the system does
/// not tell as Linux does.
pub fn resident_mib() -> Option<(f64, f64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| -> Option<f64> {
        let line = status.lines().find(|line| line.starts_with(name))?;
        Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

/// MiB of the mapped file `path` that this process has in memory. `None` where the system does not tell
/// as Linux does.
pub fn mapped_resident_mib(path: &Path) -> Option<f64> {
    let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let path = path.to_str()?;
    let mut lines = maps.lines();
    let mut kib = 0.0;
    while lines.any(|line| line.ends_with(path)) {
        let line = lines.find(|line| line.starts_with("Rss:"))?;
        kib += line.split_whitespace().nth(1)?.parse::<f64>().ok()?;
    }
    Some(kib / 1024.0)
}
