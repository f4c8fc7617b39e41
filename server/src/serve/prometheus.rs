//! Metrics of this process for Prometheus: what [`audit`](crate::service::audit) counts, and the resources of the process.
//!
//! Always true: no metric names a store, a user, a key, a path of a request or any text; labels come
//! from fixed lists, so that no one can make metrics grow.
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

/// The metrics of this process.
static EXPORTER: OnceLock<MetricsExporter> = OnceLock::new();

/// A handle on the metrics.
#[derive(Clone, Debug)]
pub(crate) struct MetricsExporter {
    handle: PrometheusHandle,
    /// When they were begun: seconds since 1970.
    started_at_s: f64,
}

/// Installs the recorder of this process, or returns the one that is installed.
pub(crate) fn install_exporter() -> MetricsExporter {
    let begun = || {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &BUCKETS)
            .unwrap_or_default()
            .build_recorder();
        let handle = recorder.handle();
        // Nothing else in this program records metrics.
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

/// Says what each metric is.
fn describe_metrics() {
    let counters = [
        (
            "loci_calls_total",
            "Calls, by call and code of their outcome",
        ),
        (
            "loci_access_total",
            "Keys that were presented, by route and by whether they were valid",
        ),
        (
            "loci_connections_refused_total",
            "New connections that were closed at once, by port and by the limit that they exceeded",
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
            "Seconds that calls took, by call, without the network",
        ),
        (
            "loci_http_request_seconds",
            "Seconds until the head of the response to a request over HTTP, by pattern of the path",
        ),
    ];
    for (name, help) in times {
        describe_histogram!(name, Unit::Seconds, help);
    }
    let gauges = [
        ("loci_connections", "Connections with a valid key"),
        (
            "loci_connections_pending",
            "Connections that have presented no key yet",
        ),
        ("loci_calls_waiting", "Questions that wait for a thread"),
    ];
    for (name, help) in gauges {
        describe_gauge!(name, Unit::Count, help);
    }
}

/// A metric that is read at each scrape.
struct MetricLine {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: f64,
}

impl MetricsExporter {
    /// Compacts what was recorded since the last call, to bound memory: to be called every few seconds.
    pub(crate) fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }

    /// All metrics, as Prometheus reads them.
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

/// Resources of the process, as far as the system reports them.
fn process_metrics() -> Vec<MetricLine> {
    let mut lines = Vec::new();
    if let Ok(time) = ProcessTime::try_now() {
        lines.push(MetricLine {
            name: "process_cpu_seconds_total",
            kind: "counter",
            help: "Seconds of processor time that the server used",
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
            "Resident memory of the server in bytes, with mapped parts of files",
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
            "Files and sockets that may be open at a time",
            most as f64,
        )
    }));
    lines
}

/// Metrics that reveal nothing of one store to another: how many there are; and the size of a single store.
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
                "Bytes of the search segments of the one store",
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
