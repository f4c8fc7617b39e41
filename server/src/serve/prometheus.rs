//! Figures of this process for Prometheus: what [`noted`](crate::service::audit) counts, and what the process takes.
//!
//! Always true: no figure names a store, a user, a key, a path that was asked for or anything that was said; labels come
//! from fixed lists, so that nobody can make figures grow.
//!
//! `docs/guide/operating.md` has a line for each. Start reading at [`begin`].

use std::fmt::Write;
use std::fs;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use cpu_time::ProcessTime;
use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::service::Stores;

/// Bounds of the buckets that times are counted in, in seconds: 50 µs to a minute.
const BUCKETS: [f64; 19] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// The figures of this process.
static EXPORTER: OnceLock<MetricsExporter> = OnceLock::new();

/// Figures that are kept.
#[derive(Clone, Debug)]
pub(crate) struct MetricsExporter {
    handle: PrometheusHandle,
    /// When they were begun: seconds since 1970.
    started_at_s: f64,
}

/// Begins to keep figures of this process, or goes on.
pub(crate) fn install_exporter() -> MetricsExporter {
    let begun = || {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &BUCKETS)
            .unwrap_or_default()
            .build_recorder();
        let handle = recorder.handle();
        // Nothing else in this program records figures.
        let _ = metrics::set_global_recorder(recorder);
        describe_metrics();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.map_or(0.0, |since| since.as_secs_f64());
        MetricsExporter {
            handle,
            started_at_s: since,
        }
    };
    EXPORTER.get_or_init(begun).clone()
}

/// Says what each figure is.
fn describe_metrics() {
    let counters = [
        (
            "loci_calls_total",
            "Calls that were carried out, by call and by how they ended",
        ),
        (
            "loci_access_total",
            "Keys that were shown, by where and by whether they were right",
        ),
        (
            "loci_connections_refused_total",
            "New connections that were closed at once, by port and by the limit that they were over",
        ),
        (
            "loci_http_requests_total",
            "Requests over HTTP, by method, pattern of the path and status",
        ),
    ];
    for (name, help) in counters {
        describe_counter!(name, Unit::Count, help);
    }
    let times = [
        (
            "loci_call_seconds",
            "Seconds that calls took, by call, without their way over the network",
        ),
        (
            "loci_http_request_seconds",
            "Seconds until the head of the answer to a request over HTTP, by pattern of the path",
        ),
    ];
    for (name, help) in times {
        describe_histogram!(name, Unit::Seconds, help);
    }
    let gauges = [
        ("loci_connections", "Connections that have shown a key"),
        (
            "loci_connections_pending",
            "Connections that have shown no key yet",
        ),
        ("loci_calls_waiting", "Questions that wait for a thread"),
    ];
    for (name, help) in gauges {
        describe_gauge!(name, Unit::Count, help);
    }
}

/// A figure that is looked up when it is asked for.
struct MetricLine {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: f64,
}

impl MetricsExporter {
    /// Puts away what came since the last time, within bounds of memory: to be called every few seconds.
    pub(crate) fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }

    /// All figures, as Prometheus reads them.
    pub(crate) fn render(&self, stores: &Stores) -> String {
        let mut text = self.handle.render();
        let mut lines = process_metrics();
        lines.push(gauge(
            "process_start_time_seconds",
            "When the server started, in seconds since 1970",
            self.started_at_s,
        ));
        lines.extend(store_metrics(stores));
        for line in lines {
            let MetricLine {
                name,
                kind,
                help,
                value,
            } = line;
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n\n"
            );
        }
        let version = env!("CARGO_PKG_VERSION");
        let _ = write!(
            text,
            "# HELP loci_build_info The release of the server\n# TYPE loci_build_info gauge\nloci_build_info{{version=\"{version}\"}} 1\n"
        );
        text
    }
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> MetricLine {
    MetricLine {
        name,
        kind: "gauge",
        help,
        value,
    }
}

/// What the process takes, as far as the system tells it.
fn process_metrics() -> Vec<MetricLine> {
    let mut lines = Vec::new();
    if let Ok(time) = ProcessTime::try_now() {
        lines.push(MetricLine {
            name: "process_cpu_seconds_total",
            kind: "counter",
            help: "Seconds of processor time that the server took",
            value: time.as_duration().as_secs_f64(),
        });
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident_kib = status.lines().find_map(|line| {
        let kib = line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?;
        kib.parse::<f64>().ok()
    });
    lines.extend(resident_kib.map(|kib| {
        gauge(
            "process_resident_memory_bytes",
            "Bytes of memory that the server has, with the parts of files that are mapped",
            kib * 1_024.0,
        )
    }));
    // One of them is the folder that is being listed.
    let open = fs::read_dir("/proc/self/fd").map(|files| files.count().saturating_sub(1));
    lines.extend(open.map(|open| {
        gauge(
            "process_open_fds",
            "Files and sockets that are open",
            open as f64,
        )
    }));
    let most = rlimit::Resource::NOFILE.get_soft();
    lines.extend(most.map(|most| {
        gauge(
            "process_max_fds",
            "Files and sockets that may be open",
            most as f64,
        )
    }));
    lines
}

/// What tells nothing of one store to another: how many there are; and of a store that is alone, how large it is.
fn store_metrics(stores: &Stores) -> Vec<MetricLine> {
    let all = stores.all();
    let open = all.iter().filter_map(|store| store.database_if_open());
    let open: Vec<_> = open.collect();
    let mut lines = vec![
        gauge("loci_stores", "Stores that are hosted", all.len() as f64),
        gauge(
            "loci_stores_open",
            "Stores that are open",
            open.len() as f64,
        ),
    ];
    if let (true, [database]) = (stores.is_single(), &open[..]) {
        let stats = database.stats();
        let of_one = [
            (
                "loci_documents",
                "Documents of the one store",
                stats.documents,
            ),
            ("loci_chunks", "Chunks of the one store", stats.chunks),
            (
                "loci_segments",
                "Live segments of the one store",
                stats.segments as u64,
            ),
            (
                "loci_database_bytes",
                "Bytes of the file with the one store's rows",
                stats.database_bytes,
            ),
            (
                "loci_segment_bytes",
                "Bytes of what is searched in the one store",
                stats.segment_bytes,
            ),
        ];
        lines.extend(
            of_one
                .into_iter()
                .map(|(name, help, value)| gauge(name, help, value as f64)),
        );
    }
    lines
}
