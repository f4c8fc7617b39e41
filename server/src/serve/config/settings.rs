//! Every setting once: its name, its valid values, and its default.
//!
//! Start reading at [`SETTINGS`], then [`Settings`].

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use loci_protocol::frame::PAYLOAD_LEN_MAX;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::LogFormat;
use crate::access::connection_rate::{ConnectionRateLimits, Network, Rate};
use crate::serve::{Limits, WorkerOptions};
use crate::service::StoresOptions;

/// Prefix of every name in the environment.
pub(super) const PREFIX: &str = "LOCI_";
/// The table of limits in the file.
pub(super) const LIMITS: &str = "limits";
/// Shortest token for `/metrics`, in characters.
const TOKEN_CHARS_MIN: usize = 16;

/// One setting.
pub(super) struct Setting {
    /// Its name in the file; `limits.NAME` for a limit.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The valid values, in words.
    pub(super) give: &'static str,
}

/// The type of a setting's value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// A path; one in the file is relative to the file's folder.
    Path,
    /// Between these.
    Number(u64, u64),
    /// From 0 to 1.
    Share,
    /// Separated by commas in the environment.
    List,
}

const fn setting(name: &'static str, kind: Kind, give: &'static str) -> Setting {
    Setting { name, kind, give }
}

const NUMBER: Kind = Kind::Number(1, u32::MAX as u64);
const COUNT: Kind = Kind::Number(1, 1 << 20);
const PER_SECOND: Kind = Kind::Number(0, 1_000_000);
const SECONDS: Kind = Kind::Number(1, 7 * 24 * 3_600);

/// Every setting.
pub(super) const SETTINGS: &[Setting] = &[
    setting("db", Kind::Path, "the folder of a store"),
    setting("root", Kind::Path, "a folder with stores"),
    setting(
        "listen",
        Kind::Text,
        "an address and a port, as 127.0.0.1:7625 or [::]:7625",
    ),
    setting(
        "http",
        Kind::Text,
        "an address and a port, as 127.0.0.1:7626, or none",
    ),
    setting(
        "tls_cert",
        Kind::Path,
        "a PEM file with the certificate and those above it",
    ),
    setting(
        "tls_key",
        Kind::Path,
        "a PEM file with the certificate's private key",
    ),
    setting("backups", Kind::Path, "a folder"),
    setting(
        "calls_per_second",
        NUMBER,
        "a whole number, 1 to 4294967295",
    ),
    setting(
        "slow_ms",
        Kind::Number(0, u32::MAX as u64),
        "milliseconds, a whole number; 0 for none",
    ),
    setting("log", Kind::Text, "text, json or none"),
    setting("audit_log", Kind::Path, "a file"),
    setting(
        "cors_origins",
        Kind::List,
        "origins such as https://notes.example.org, or * alone for all",
    ),
    setting(
        "metrics_token",
        Kind::Text,
        "16 characters or more, without blanks, that nobody can guess",
    ),
    setting(
        "metrics_token_file",
        Kind::Path,
        "a file with 16 characters or more, without blanks, that nobody can guess",
    ),
    setting(
        "otlp_endpoint",
        Kind::Text,
        "where a collector takes OTLP over HTTP, as http://127.0.0.1:4318, without a password",
    ),
    setting("otlp_sample", Kind::Share, "a share from 0 to 1"),
    setting(
        "limits.connections_max",
        COUNT,
        "a whole number, 1 to 1048576",
    ),
    setting("limits.pending_max", COUNT, "a whole number, 1 to 1048576"),
    setting(
        "limits.accept_per_second",
        PER_SECOND,
        "connections a second, a whole number up to 1000000; 0 for no limit",
    ),
    setting("limits.accept_burst", COUNT, "a whole number, 1 to 1048576"),
    setting(
        "limits.accept_per_second_all",
        PER_SECOND,
        "connections a second, a whole number up to 1000000; 0 for no limit",
    ),
    setting(
        "limits.accept_burst_all",
        COUNT,
        "a whole number, 1 to 1048576",
    ),
    setting(
        "limits.accept_unlimited",
        Kind::List,
        "networks such as 10.1.0.0/16 or 2001:db8::/32, or addresses",
    ),
    setting(
        "limits.payload_len_max",
        Kind::Number(64 << 10, PAYLOAD_LEN_MAX as u64),
        "bytes, from 65536 to what the protocol allows (83886080)",
    ),
    setting(
        "limits.room_bytes",
        Kind::Number(64 << 10, 1 << 40),
        "bytes, no fewer than limits.payload_len_max",
    ),
    setting("limits.calls_max", COUNT, "a whole number, 1 to 1048576"),
    setting(
        "limits.transactions_max",
        COUNT,
        "a whole number, 1 to 1048576",
    ),
    setting("limits.call_wait_s", SECONDS, "seconds, 1 to 604800"),
    setting("limits.idle_s", SECONDS, "seconds, 1 to 604800"),
    setting(
        "limits.drain_s",
        Kind::Number(0, 3_600),
        "seconds, 0 to 3600",
    ),
    setting("limits.open_max", COUNT, "a whole number, 1 to 1048576"),
    setting("limits.open_idle_s", SECONDS, "seconds, 1 to 604800"),
    setting(
        "limits.threads",
        Kind::Number(0, 1_024),
        "a whole number, 0 (as many as there are cores) to 1024",
    ),
    setting("limits.queue_max", COUNT, "a whole number, 1 to 1048576"),
    setting("limits.writes_max", COUNT, "a whole number, 1 to 1048576"),
    setting("limits.long_max", COUNT, "a whole number, 1 to 1048576"),
    setting("limits.streams_max", COUNT, "a whole number, 1 to 1048576"),
    setting(
        "limits.store_share",
        Kind::Share,
        "a share from 0 to 1: what one store may take where there are several",
    ),
];

pub(super) fn known(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The name of a setting in the environment.
pub(super) fn env_name(name: &str) -> String {
    format!("{PREFIX}{}", name.replace('.', "__").to_uppercase())
}

/// Text that is never printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(pub(super) String);

impl Secret {
    /// The text, for comparisons alone.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    pub(super) fn is_valid(&self) -> bool {
        self.0.len() >= TOKEN_CHARS_MIN && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("(set, not shown)")
    }
}

/// All settings, by their names in the file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Settings {
    pub(super) db: Option<PathBuf>,
    pub(super) root: Option<PathBuf>,
    pub(super) listen: SocketAddr,
    #[serde(deserialize_with = "address_or_none", serialize_with = "or_none")]
    pub(super) http: Option<SocketAddr>,
    pub(super) tls_cert: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    pub(super) backups: Option<PathBuf>,
    pub(super) calls_per_second: Option<u32>,
    pub(super) slow_ms: Option<u64>,
    pub(super) log: LogFormat,
    pub(super) audit_log: Option<PathBuf>,
    pub(super) cors_origins: Vec<String>,
    pub(super) metrics_token: Option<Secret>,
    pub(super) metrics_token_file: Option<PathBuf>,
    pub(super) otlp_endpoint: Option<String>,
    pub(super) otlp_sample: f64,
    pub(super) limits: LimitSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            db: None,
            root: None,
            listen: SocketAddr::from(([127, 0, 0, 1], 7625)),
            http: Some(SocketAddr::from(([127, 0, 0, 1], 7626))),
            tls_cert: None,
            tls_key: None,
            backups: None,
            calls_per_second: None,
            slow_ms: None,
            log: LogFormat::Text,
            audit_log: None,
            cors_origins: Vec::new(),
            metrics_token: None,
            metrics_token_file: None,
            otlp_endpoint: None,
            otlp_sample: 0.01,
            limits: LimitSettings::default(),
        }
    }
}

/// The table `[limits]`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LimitSettings {
    pub(super) connections_max: usize,
    pub(super) pending_max: usize,
    pub(super) accept_per_second: u32,
    pub(super) accept_burst: u32,
    pub(super) accept_per_second_all: u32,
    pub(super) accept_burst_all: u32,
    pub(super) accept_unlimited: Vec<String>,
    pub(super) payload_len_max: u32,
    #[serde(rename = "room_bytes")]
    pub(super) payload_memory_bytes: usize,
    pub(super) calls_max: u32,
    pub(super) transactions_max: usize,
    pub(super) call_wait_s: u64,
    pub(super) idle_s: u64,
    pub(super) drain_s: u64,
    pub(super) open_max: usize,
    pub(super) open_idle_s: u64,
    pub(super) threads: usize,
    pub(super) queue_max: usize,
    pub(super) writes_max: usize,
    pub(super) long_max: usize,
    pub(super) streams_max: usize,
    pub(super) store_share: f64,
}

impl Default for LimitSettings {
    fn default() -> Self {
        let (limits, workers) = (Limits::default(), WorkerOptions::default());
        let stores = StoresOptions::default();
        LimitSettings {
            connections_max: limits.connections_max,
            pending_max: limits.pending_max,
            accept_per_second: limits.connection_rate.network.per_second,
            accept_burst: limits.connection_rate.network.burst,
            accept_per_second_all: limits.connection_rate.all.per_second,
            accept_burst_all: limits.connection_rate.all.burst,
            accept_unlimited: limits
                .connection_rate
                .unlimited
                .iter()
                .map(Network::to_string)
                .collect(),
            payload_len_max: limits.payload_len_max,
            payload_memory_bytes: limits.payload_memory_bytes,
            calls_max: limits.calls_max,
            transactions_max: limits.transactions_max,
            call_wait_s: limits.call_wait.as_secs(),
            idle_s: limits.idle.as_secs(),
            drain_s: limits.drain.as_secs(),
            open_max: stores.open_max,
            open_idle_s: stores.idle.as_secs(),
            threads: workers.threads,
            queue_max: workers.queue_max,
            writes_max: workers.writes_max,
            long_max: workers.long_max,
            streams_max: workers.streams_max,
            store_share: 0.5,
        }
    }
}

impl LimitSettings {
    /// Networks whose connections are not counted; `None` if one cannot be parsed.
    pub(super) fn unlimited_networks(&self) -> Option<Vec<Network>> {
        let networks = self.accept_unlimited.iter().map(|of| of.parse().ok());
        networks.collect()
    }

    pub(super) fn connection_rate(&self) -> ConnectionRateLimits {
        ConnectionRateLimits {
            network: Rate {
                per_second: self.accept_per_second,
                burst: self.accept_burst,
            },
            all: Rate {
                per_second: self.accept_per_second_all,
                burst: self.accept_burst_all,
            },
            unlimited: self.unlimited_networks().unwrap_or_default(),
        }
    }
}

fn address_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    match String::deserialize(from)?.as_str() {
        "none" => Ok(None),
        address => address.parse().map(Some).map_err(D::Error::custom),
    }
}

fn or_none<S: Serializer>(address: &Option<SocketAddr>, to: S) -> Result<S::Ok, S::Error> {
    match address {
        Some(address) => to.collect_str(address),
        None => to.serialize_str("none"),
    }
}
