//! How a server is configured: a file, the environment, and flags.
//!
//! Always true: a flag goes over the environment, that over the file, and that over what holds by default; a key that is
//! not known and a value that cannot be are refused, by where they stand and with what to give instead; a secret is told
//! to nobody; that no keys are asked for is said by a flag alone.
//!
//! [`SETTINGS`] has every setting once. Start reading at [`Config::read`].

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::{HeaderValue, Uri};
use figment::providers::{Format, Toml};
use figment::value::{Dict, Map, Value};
use figment::{Figment, Metadata, Profile, Provider};
use loci_protocol::frame::PAYLOAD_LEN_MAX;
use locidb::storage::permissions::UMASK_ENV;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use super::{HttpOptions, Limits, ServerOptions, Tls, WorkerOptions};
use crate::access::KeyLimits;
use crate::access::arrivals::{ArrivalLimits, Network, Rate};
use crate::service::{ParserFactory, Place, RoomOptions, StoresOptions};

/// What every name in the environment begins with.
const PREFIX: &str = "LOCI_";
/// Where the limits stand in the file.
const LIMITS: &str = "limits";
/// Names the file in the environment.
const CONFIG_ENV: &str = "LOCI_CONFIG";
/// Says in the environment that no keys are asked for, which it may not.
const INSECURE_ENV: &str = "LOCI_INSECURE_LOCAL";
/// Characters of the token for `/metrics` at least.
const TOKEN_CHARS_MIN: usize = 16;

/// One setting.
struct Setting {
    /// Its name in the file; `limits.NAME` where it stands there.
    name: &'static str,
    kind: Kind,
    /// What to give, in words.
    give: &'static str,
}

/// What a setting's value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// Of a file or folder; in the file, from the file's folder on.
    Path,
    /// Between these.
    Number(u64, u64),
    /// From 0 to 1.
    Share,
    /// In the environment, with commas between.
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
const SETTINGS: &[Setting] = &[
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

fn known(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// What a setting is called in the environment.
fn env_name(name: &str) -> String {
    format!("{PREFIX}{}", name.replace('.', "__").to_uppercase())
}

/// Why a server cannot be configured so.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there, or is no TOML.
    #[error("{file}: {why}")]
    File {
        /// The file.
        file: String,
        /// Why it cannot be read.
        why: String,
    },
    /// A key that is none.
    #[error("{origin}: there is no setting {name}: {hint}")]
    Unknown {
        /// Where it stands.
        origin: String,
        /// The key.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// A value that cannot be.
    #[error("{origin}: {name}: give {give}")]
    Wrong {
        /// Where it stands.
        origin: String,
        /// The key.
        name: &'static str,
        /// What can be.
        give: String,
    },
    /// Settings that do not go together.
    #[error("{0}")]
    Together(String),
}

/// Text that is told to nobody.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    /// The text, to be compared and no more.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    fn can_be(&self) -> bool {
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
        serializer.serialize_str("(set, and not told)")
    }
}

/// What the program that starts a server says itself, as by flags of a command line. It goes over the environment and the
/// file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Options {
    /// Folder of the one store to host; made when missing.
    pub db: Option<PathBuf>,
    /// Folder whose stores are hosted, each by the name of its own folder.
    pub root: Option<PathBuf>,
    /// Where the wire protocol is spoken.
    pub listen: Option<SocketAddr>,
    /// Where HTTP is spoken: an address and a port, or `none`.
    pub http: Option<String>,
    /// PEM file with the certificate and those above it: TLS is spoken, and nothing else.
    pub tls_cert: Option<PathBuf>,
    /// PEM file with the certificate's private key.
    pub tls_key: Option<PathBuf>,
    /// Folder that backups over the network go to; without one there are none.
    pub backups: Option<PathBuf>,
    /// Calls a second that a key may make, where it does not say so itself.
    pub calls_per_second: Option<u32>,
    /// Milliseconds from which on a call is in the log.
    pub slow_ms: Option<u64>,
    /// What lines of the log are.
    pub log: Option<LogForm>,
    /// File that keeps who showed a key, changed something or was refused.
    pub audit_log: Option<PathBuf>,
    /// Origins whose pages may call over HTTP; `*` alone for all.
    pub cors_origins: Option<Vec<String>>,
    /// File with the token that lets a program read `/metrics`.
    pub metrics_token_file: Option<PathBuf>,
    /// Where a collector takes traces by OTLP over HTTP.
    pub otlp_endpoint: Option<String>,
    /// Share of the calls that are traced, 0 to 1.
    pub otlp_sample: Option<f64>,
    /// Bounds by their names in the file's `[limits]`, each as `connections_max=100`.
    #[serde(skip)]
    pub limits: Option<Vec<String>>,
    /// File with settings, in TOML; else the one that `LOCI_CONFIG` names.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Whether no keys are asked for, on a loopback address alone: everybody on this machine may do everything.
    #[serde(skip)]
    pub insecure_local: Option<bool>,
}

/// What a line of the log is, for the program that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogForm {
    /// Words.
    Text,
    /// A JSON object.
    Json,
    /// There is no log.
    None,
}

/// All settings, by their names in the file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    db: Option<PathBuf>,
    root: Option<PathBuf>,
    listen: SocketAddr,
    #[serde(deserialize_with = "address_or_none", serialize_with = "or_none")]
    http: Option<SocketAddr>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    backups: Option<PathBuf>,
    calls_per_second: Option<u32>,
    slow_ms: Option<u64>,
    log: LogForm,
    audit_log: Option<PathBuf>,
    cors_origins: Vec<String>,
    metrics_token: Option<Secret>,
    metrics_token_file: Option<PathBuf>,
    otlp_endpoint: Option<String>,
    otlp_sample: f64,
    limits: Bounds,
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
            log: LogForm::Text,
            audit_log: None,
            cors_origins: Vec::new(),
            metrics_token: None,
            metrics_token_file: None,
            otlp_endpoint: None,
            otlp_sample: 0.01,
            limits: Bounds::default(),
        }
    }
}

/// What `[limits]` has.
#[derive(Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
struct Bounds {
    connections_max: usize,
    pending_max: usize,
    accept_per_second: u32,
    accept_burst: u32,
    accept_per_second_all: u32,
    accept_burst_all: u32,
    accept_unlimited: Vec<String>,
    payload_len_max: u32,
    room_bytes: usize,
    calls_max: u32,
    transactions_max: usize,
    call_wait_s: u64,
    idle_s: u64,
    drain_s: u64,
    open_max: usize,
    open_idle_s: u64,
    threads: usize,
    queue_max: usize,
    writes_max: usize,
    long_max: usize,
    streams_max: usize,
    store_share: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        let (limits, workers) = (Limits::default(), WorkerOptions::default());
        let stores = StoresOptions::default();
        Bounds {
            connections_max: limits.connections_max,
            pending_max: limits.pending_max,
            accept_per_second: limits.arrivals.network.per_second,
            accept_burst: limits.arrivals.network.burst,
            accept_per_second_all: limits.arrivals.all.per_second,
            accept_burst_all: limits.arrivals.all.burst,
            accept_unlimited: limits
                .arrivals
                .unlimited
                .iter()
                .map(Network::to_string)
                .collect(),
            payload_len_max: limits.payload_len_max,
            room_bytes: limits.room_bytes,
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

impl Bounds {
    /// Networks whose connections are not counted; `None` where one of them is none.
    fn unlimited_networks(&self) -> Option<Vec<Network>> {
        let networks = self.accept_unlimited.iter().map(|of| of.parse().ok());
        networks.collect()
    }

    fn arrivals(&self) -> ArrivalLimits {
        ArrivalLimits {
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

/// How a server is configured.
#[derive(Debug)]
pub struct Config {
    settings: Settings,
    /// Whether keys are not asked for.
    insecure_local: bool,
    /// Where each setting that was given stands, by name.
    origins: BTreeMap<&'static str, String>,
    /// Names in the environment that look like settings and are none.
    ignored: Vec<String>,
}

impl Config {
    /// What flags, the environment and the file say.
    ///
    /// # Errors
    /// [`ConfigError`] for a file that cannot be read, keys that are none, values that cannot be, and what does not go
    /// together.
    pub fn read(options: &Options) -> Result<Config, ConfigError> {
        Config::of(options, std::env::vars_os())
    }

    fn of(
        options: &Options,
        environment: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<Config, ConfigError> {
        let environment: Vec<(OsString, OsString)> = environment.collect();
        let named = environment.iter().find(|(name, _)| name == CONFIG_ENV);
        let named = named.map(|(_, file)| PathBuf::from(file));
        let named = named.filter(|file| !file.as_os_str().is_empty());
        let mut figment = Figment::new();
        if let Some(file) = options.file.clone().or(named) {
            figment = figment.merge(Layer::file(&file)?);
        }
        let (environment, ignored) = Layer::environment(environment.into_iter())?;
        let figment = figment.merge(environment).merge(Layer::flags(options)?);
        let mut settings: Settings = figment.extract().map_err(|error| wrong(&error))?;
        within_bounds(&figment)?;
        let origins = origins(&figment);
        if let Some(file) = &settings.metrics_token_file {
            settings.metrics_token = Some(secret(file)?);
        }
        let config = Config {
            settings,
            insecure_local: options.insecure_local.unwrap_or(false),
            origins,
            ignored,
        };
        config.check_each()?;
        config.check_together()?;
        Ok(config)
    }

    /// What types and numbers do not say of single values.
    fn check_each(&self) -> Result<(), ConfigError> {
        let settings = &self.settings;
        let token = settings.metrics_token.as_ref();
        let token_name = match settings.metrics_token_file {
            Some(_) => "metrics_token_file",
            None => "metrics_token",
        };
        let origins = &settings.cors_origins;
        let all = origins.iter().any(|origin| origin == "*");
        let endpoint = settings.otlp_endpoint.as_deref();
        let can_be = [
            (token_name, token.is_none_or(Secret::can_be)),
            (
                "cors_origins",
                if all {
                    origins.len() == 1
                } else {
                    origins.iter().all(|origin| is_origin(origin))
                },
            ),
            ("otlp_endpoint", endpoint.is_none_or(is_endpoint)),
            ("otlp_sample", (0.0..=1.0).contains(&settings.otlp_sample)),
            (
                "limits.accept_unlimited",
                settings.limits.unlimited_networks().is_some(),
            ),
            (
                "limits.store_share",
                (0.0..=1.0).contains(&settings.limits.store_share),
            ),
        ];
        for (name, can_be) in can_be {
            if !can_be {
                return Err(self.wrong(name));
            }
        }
        Ok(())
    }

    fn check_together(&self) -> Result<(), ConfigError> {
        let settings = &self.settings;
        let together = |why: String| Err(ConfigError::Together(why));
        if settings.tls_cert.is_some() != settings.tls_key.is_some() {
            return together("tls_cert and tls_key: give both, or none".into());
        }
        if settings.db.is_none() && settings.root.is_none() {
            return together("give --db DIR for one store, or --root DIR for a folder of them, or db or root in the environment or the file".into());
        }
        if settings.limits.room_bytes < settings.limits.payload_len_max as usize {
            return Err(self.wrong("limits.room_bytes"));
        }
        if self.insecure_local && settings.cors_origins.iter().any(|origin| origin == "*") {
            return together("--insecure-local lets everybody on this machine in, and cors_origins with * every page that is looked at there: name the origins".into());
        }
        for listen in self.addresses() {
            if self.insecure_local && !listen.ip().is_loopback() {
                return together(format!(
                    "--insecure-local lets everybody in, and {listen} can be reached from elsewhere: listen on 127.0.0.1 or [::1], or use keys"
                ));
            }
        }
        Ok(())
    }

    fn wrong(&self, name: &str) -> ConfigError {
        let origin = self.origins.get(name);
        let setting = known(name).expect("the names of settings are known");
        ConfigError::Wrong {
            origin: origin.map_or_else(|| "by default".into(), String::clone),
            name: setting.name,
            give: setting.give.into(),
        }
    }

    /// Where it listens: the wire protocol, then HTTP.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let both = [Some(self.settings.listen), self.settings.http];
        both.into_iter().flatten().collect()
    }

    /// Connections that may be open at a time.
    pub(crate) fn connections_max(&self) -> usize {
        let limits = &self.settings.limits;
        limits.connections_max.saturating_add(limits.pending_max)
    }

    /// Where its stores lie.
    pub(crate) fn place(&self) -> Place {
        match (&self.settings.db, &self.settings.root) {
            (Some(folder), _) => Place::One(folder.clone()),
            (None, root) => Place::Root(root.clone().unwrap_or_default()),
        }
    }

    /// What the log is.
    pub fn log(&self) -> LogForm {
        self.settings.log
    }

    /// The file that keeps who did what.
    pub fn audit_log(&self) -> Option<&Path> {
        self.settings.audit_log.as_deref()
    }

    /// The folder of backups.
    pub(crate) fn backups(&self) -> Option<&Path> {
        self.settings.backups.as_deref()
    }

    /// From when on a call is slow.
    pub(crate) fn slow(&self) -> Option<Duration> {
        self.settings.slow_ms.map(Duration::from_millis)
    }

    /// Files of the certificate and of its key.
    pub(crate) fn tls(&self) -> Option<(&Path, &Path)> {
        let (certificate, key) = (&self.settings.tls_cert, &self.settings.tls_key);
        certificate.as_deref().zip(key.as_deref())
    }

    /// Where spans go, and of which share of the calls.
    pub(crate) fn traces(&self) -> Option<(&str, f64)> {
        let endpoint = self.settings.otlp_endpoint.as_deref()?;
        Some((endpoint, self.settings.otlp_sample))
    }

    /// Names in the environment that look like settings and are none.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// How its stores are hosted. `parser`: parses the files that callers send.
    pub(crate) fn stores(&self, parser: ParserFactory) -> StoresOptions {
        let bounds = &self.settings.limits;
        StoresOptions {
            open_max: bounds.open_max,
            idle: Duration::from_secs(bounds.open_idle_s),
            backups: self.settings.backups.clone(),
            without_keys: self.insecure_local,
            limits: KeyLimits {
                calls_per_second: self.settings.calls_per_second,
                ..KeyLimits::default()
            },
            rooms: self.rooms(),
            parser,
        }
    }

    /// How much the callers of one store may have under way; those of the only one, as much as there is.
    fn rooms(&self) -> RoomOptions {
        let (bounds, workers) = (&self.settings.limits, self.workers());
        let share = match self.place() {
            Place::One(_) => return RoomOptions::default(),
            Place::Root(_) => bounds.store_share,
        };
        let of = |count: usize| ((count as f64 * share).ceil() as usize).max(1);
        RoomOptions {
            quick: of(workers.quick_max()),
            writes: of(workers.writes_max),
            long: of(workers.long_max),
            streams: of(workers.streams_max),
            transactions: of(bounds.transactions_max),
        }
    }

    /// How much is done at a time.
    pub(crate) fn workers(&self) -> WorkerOptions {
        let bounds = &self.settings.limits;
        WorkerOptions {
            threads: bounds.threads,
            queue_max: bounds.queue_max,
            writes_max: bounds.writes_max,
            long_max: bounds.long_max,
            streams_max: bounds.streams_max,
        }
    }

    /// How the server is started. `tls`: what was read of [`Config::tls`].
    pub(crate) fn server(&self, tls: Option<Tls>) -> ServerOptions {
        let settings = &self.settings;
        let bounds = &settings.limits;
        ServerOptions {
            listen: settings.listen,
            http: settings.http,
            http_options: HttpOptions {
                cors_origins: settings.cors_origins.clone(),
                metrics_token: settings.metrics_token.clone(),
            },
            tls,
            limits: Limits {
                connections_max: bounds.connections_max,
                pending_max: bounds.pending_max,
                arrivals: bounds.arrivals(),
                payload_len_max: bounds.payload_len_max,
                room_bytes: bounds.room_bytes,
                calls_max: bounds.calls_max,
                transactions_max: bounds.transactions_max,
                call_wait: Duration::from_secs(bounds.call_wait_s),
                idle: Duration::from_secs(bounds.idle_s),
                drain: Duration::from_secs(bounds.drain_s),
            },
            workers: self.workers(),
        }
    }

    /// Every setting as it holds, and where it stands if it was given; without secrets.
    pub fn told(&self) -> serde_json::Value {
        json!({
            "config": self.settings,
            "insecure_local": self.insecure_local,
            "from": self.origins,
        })
    }
}

/// Whether text is the origin of pages, as browsers write it.
fn is_origin(origin: &str) -> bool {
    let Ok(uri) = origin.parse::<Uri>() else {
        return false;
    };
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_all = uri
        .authority()
        .is_some_and(|of| origin.ends_with(of.as_str()));
    is_web && is_all && !origin.contains('@') && HeaderValue::from_str(origin).is_ok()
}

/// Whether text is the address of a collector, which holds no secret.
fn is_endpoint(endpoint: &str) -> bool {
    endpoint.parse::<Uri>().is_ok_and(|uri| {
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let is_plain = uri
            .authority()
            .is_some_and(|of| !of.as_str().contains('@') && !of.host().is_empty());
        is_web && is_plain && uri.query().is_none()
    })
}

/// The token that a file holds.
fn secret(file: &Path) -> Result<Secret, ConfigError> {
    let text = fs::read_to_string(file).map_err(|error| ConfigError::File {
        file: file.display().to_string(),
        why: format!("{error}: metrics_token_file names it"),
    })?;
    Ok(Secret(text.trim().to_owned()))
}

/// What one place says. Of settings that stand for each other, the one that is said here counts.
struct Layer {
    metadata: Metadata,
    settings: Dict,
}

/// Settings of which one place gives one at most; it puts the other aside where that stands below.
const INSTEAD: [(&str, &str); 2] = [("db", "root"), ("metrics_token", "metrics_token_file")];

impl Layer {
    fn of(metadata: Metadata, mut settings: Dict) -> Result<Layer, ConfigError> {
        for (one, other) in INSTEAD {
            let nothing = || Value::from(figment::value::Empty::None);
            match (settings.contains_key(one), settings.contains_key(other)) {
                (true, true) => {
                    let why = format!("{}: give {one} or {other}, not both", place(&metadata, one));
                    return Err(ConfigError::Together(why));
                }
                (true, false) => drop(settings.insert(other.into(), nothing())),
                (false, true) => drop(settings.insert(one.into(), nothing())),
                (false, false) => {}
            }
        }
        Ok(Layer { metadata, settings })
    }

    /// What the file at `path` says. Its text is in no error, as a secret may stand in it.
    fn file(path: &Path) -> Result<Layer, ConfigError> {
        let failed = |why: String| ConfigError::File {
            file: path.display().to_string(),
            why,
        };
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let mut settings: Dict = Toml::from_str(&text).map_err(|error| {
            let upto = error.span().and_then(|span| text.get(..span.start));
            let line = upto.map_or(1, |upto| upto.matches('\n').count() + 1);
            let why = error.message().lines().next().unwrap_or_default();
            failed(format!("line {line}: {why}"))
        })?;
        all_known(&settings, &path.display().to_string())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for setting in SETTINGS.iter().filter(|of| of.kind == Kind::Path) {
            if let Some(Value::String(_, value)) = settings.get_mut(setting.name) {
                *value = folder.join(&*value).display().to_string();
            }
        }
        Layer::of(Metadata::from("file", path), settings)
    }

    /// What the environment says, and the names in it that look like settings and are none. What is empty is not said.
    fn environment(
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Result<(Layer, Vec<String>), ConfigError> {
        let (mut settings, mut limits) = (Dict::new(), Dict::new());
        let mut ignored = Vec::new();
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
                continue;
            };
            if name == INSECURE_ENV {
                let why = format!(
                    "{INSECURE_ENV}: that no keys are asked for is said by the flag --insecure-local alone"
                );
                return Err(ConfigError::Together(why));
            }
            let setting = SETTINGS
                .iter()
                .find(|setting| env_name(setting.name) == name);
            let Some(setting) = setting else {
                if name.starts_with("LOCI_LIMITS__") {
                    let called = |of: &str| of.starts_with(LIMITS).then(|| env_name(of));
                    return Err(unknown("the environment", name, called));
                }
                if name != CONFIG_ENV && name != UMASK_ENV {
                    ignored.push(name.to_owned());
                }
                continue;
            };
            let Some(value) = value.to_str() else {
                return Err(ConfigError::Wrong {
                    origin: name.to_owned(),
                    name: setting.name,
                    give: format!("{}, in UTF-8", setting.give),
                });
            };
            if !value.is_empty() {
                put(&mut settings, &mut limits, setting, value);
            }
        }
        ignored.sort_unstable();
        let layer = Layer::of(Metadata::named("environment"), with(settings, limits))?;
        Ok((layer, ignored))
    }

    /// What flags say.
    fn flags(options: &Options) -> Result<Layer, ConfigError> {
        let failed = |_| {
            let why = "a path of a flag is not UTF-8: give one that is";
            ConfigError::Together(why.into())
        };
        let given = Value::serialize(options).map_err(failed)?;
        let mut settings = given.into_dict().unwrap_or_default();
        settings.retain(|_, value| !matches!(value, Value::Empty(..)));
        let mut limits = Dict::new();
        for limit in options.limits.iter().flatten() {
            let (name, value) = limit.split_once('=').unwrap_or((limit, ""));
            let full = format!("{LIMITS}.{name}");
            let Some(setting) = known(&full) else {
                let called = |of: &str| Some(of.split_once('.')?.1.to_owned());
                return Err(unknown("--limit", name, called));
            };
            put(&mut settings, &mut limits, setting, value);
        }
        Layer::of(Metadata::named("flags"), with(settings, limits))
    }
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        self.metadata.clone()
    }

    fn data(&self) -> figment::error::Result<Map<Profile, Dict>> {
        Ok(Profile::Default.collect(self.settings.clone()))
    }
}

/// Puts text in its place, as what the setting is of; what cannot be that stays text, and is refused later.
fn put(settings: &mut Dict, limits: &mut Dict, setting: &Setting, text: &str) {
    let value = match setting.kind {
        Kind::Text | Kind::Path => Value::from(text),
        Kind::Number(..) => text
            .parse::<u64>()
            .map_or_else(|_| text.into(), Value::from),
        Kind::Share => text
            .parse::<f64>()
            .map_or_else(|_| text.into(), Value::from),
        Kind::List => {
            let parts = text.split(',').map(str::trim);
            let parts = parts.filter(|part| !part.is_empty());
            Value::from(parts.collect::<Vec<&str>>())
        }
    };
    match setting.name.split_once('.') {
        Some((_, name)) => limits.insert(name.into(), value),
        None => settings.insert(setting.name.into(), value),
    };
}

fn with(mut settings: Dict, limits: Dict) -> Dict {
    if !limits.is_empty() {
        settings.insert(LIMITS.into(), Value::from(limits));
    }
    settings
}

/// Whether all keys of a file are settings.
fn all_known(settings: &Dict, file: &str) -> Result<(), ConfigError> {
    for (name, value) in settings {
        match value {
            Value::Dict(_, limits) if name == LIMITS => {
                for name in limits.keys() {
                    let name = format!("{LIMITS}.{name}");
                    if known(&name).is_none() {
                        return Err(unknown(file, &name, |of| Some(of.to_owned())));
                    }
                }
            }
            // What else stands there is no table, which is told with its place.
            _ if name == LIMITS => {}
            _ if known(name).is_none() => {
                return Err(unknown(file, name, |of| Some(of.to_owned())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// `called`: what a setting is called where the name stands, if it can stand there.
fn unknown(origin: &str, name: &str, called: impl Fn(&str) -> Option<String>) -> ConfigError {
    let near = |setting: &&Setting| {
        let parts = |name: &str| -> Vec<String> {
            let parts = name.to_lowercase();
            let parts = parts.split(['.', '_', '-']).map(str::to_owned);
            parts.filter(|part| part.len() > 2).collect()
        };
        let asked = parts(name.trim_start_matches("LOCI_LIMITS"));
        let own = parts(setting.name);
        own.iter()
            .any(|part| part != LIMITS && asked.contains(part))
    };
    let alike: Vec<String> = SETTINGS
        .iter()
        .filter(near)
        .filter_map(|setting| called(setting.name))
        .collect();
    let hint = match (name, &alike[..]) {
        ("insecure_local" | "insecure-local", _) => {
            "that no keys are asked for is said by the flag --insecure-local alone".into()
        }
        (_, []) => "docs/guide/operating.md has those that there are".into(),
        (_, alike) => format!("was {} meant?", alike.join(" or ")),
    };
    ConfigError::Unknown {
        origin: origin.to_owned(),
        name: name.to_owned(),
        hint,
    }
}

/// Where a setting stands, as a person would look for it.
fn place(metadata: &Metadata, name: &str) -> String {
    match (&metadata.source, &*metadata.name) {
        (Some(figment::Source::File(path)), _) => path.display().to_string(),
        (_, "environment") => env_name(name),
        _ => match name.split_once('.') {
            Some((_, name)) => format!("--limit {name}"),
            None => format!("--{}", name.replace('_', "-")),
        },
    }
}

/// Settings that were given, and where they stand.
fn origins(figment: &Figment) -> BTreeMap<&'static str, String> {
    let given = SETTINGS.iter().filter_map(|setting| {
        let value = figment.find_value(setting.name).ok()?;
        let metadata = figment.find_metadata(setting.name)?;
        let is_given = !matches!(value, Value::Empty(..));
        is_given.then(|| (setting.name, place(metadata, setting.name)))
    });
    given.collect()
}

/// A value that is of the wrong kind.
fn wrong(error: &figment::Error) -> ConfigError {
    let name = error.path.join(".");
    // Within a list, the number of the element follows the name.
    let setting = known(&name).or_else(|| known(error.path.first()?));
    let origin = error.metadata.as_ref();
    match setting {
        Some(setting) => ConfigError::Wrong {
            origin: origin.map_or_else(String::new, |origin| place(origin, setting.name)),
            name: setting.name,
            give: setting.give.into(),
        },
        None => ConfigError::Wrong {
            origin: origin.map_or_else(String::new, |origin| place(origin, LIMITS)),
            name: LIMITS,
            give: "a table of limits, as [limits]".into(),
        },
    }
}

/// Whether every number that was given is one that can be.
fn within_bounds(figment: &Figment) -> Result<(), ConfigError> {
    for setting in SETTINGS {
        let Kind::Number(least, most) = setting.kind else {
            continue;
        };
        let Ok(value) = figment.find_value(setting.name) else {
            continue;
        };
        let number = value.to_i128().or_else(|| value.to_u128()?.try_into().ok());
        let can_be = number.is_some_and(|of| (i128::from(least)..=i128::from(most)).contains(&of));
        if !can_be {
            let metadata = figment.find_metadata(setting.name);
            return Err(ConfigError::Wrong {
                origin: metadata.map_or_else(String::new, |of| place(of, setting.name)),
                name: setting.name,
                give: setting.give.into(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What these flags, this environment and a file with this text say.
    fn config(
        flags: &[&str],
        environment: &[(&str, &str)],
        file: &str,
    ) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loci.toml");
        fs::write(&path, file).unwrap();
        let path = path.to_str().unwrap();
        let options = Options {
            file: Some(path.into()),
            ..options(flags)
        };
        let environment = environment.iter();
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        Config::of(&options, environment)
    }

    /// What these flags of a command line say.
    fn options(flags: &[&str]) -> Options {
        let mut options = Options::default();
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            if *flag == "--insecure-local" {
                options.insecure_local = Some(true);
                continue;
            }
            let value = *flags.next().unwrap();
            match *flag {
                "--db" => options.db = Some(value.into()),
                "--root" => options.root = Some(value.into()),
                "--listen" => options.listen = Some(value.parse().unwrap()),
                "--http" => options.http = Some(value.into()),
                "--cors-origins" => {
                    let origins = value.split(',').map(str::to_owned);
                    options.cors_origins = Some(origins.collect());
                }
                "--otlp-sample" => options.otlp_sample = Some(value.parse().unwrap()),
                "--limit" => options
                    .limits
                    .get_or_insert_default()
                    .push(value.to_owned()),
                other => panic!("no test gives {other}"),
            }
        }
        options
    }

    fn told(config: &Config, name: &str) -> serde_json::Value {
        config.told().pointer(name).unwrap().clone()
    }

    #[test]
    fn a_flag_goes_over_the_environment_and_that_over_the_file_and_that_over_the_default() {
        let file = "db = \"store\"\nslow_ms = 1\nlisten = \"127.0.0.1:1\"\n[limits]\ndrain_s = 1\ncalls_max = 1\nthreads = 1\n";
        let environment = [
            ("LOCI_SLOW_MS", "2"),
            ("LOCI_LISTEN", "127.0.0.1:2"),
            ("LOCI_LIMITS__CALLS_MAX", "2"),
            ("LOCI_LIMITS__DRAIN_S", "2"),
            ("LOCI_LOG", ""),
        ];
        let flags = ["--listen", "127.0.0.1:3", "--limit", "drain_s=3"];
        let config = config(&flags, &environment, file).unwrap();
        let cases = [
            ("/config/listen", json!("127.0.0.1:3")),
            ("/config/slow_ms", json!(2)),
            ("/config/http", json!("127.0.0.1:7626")),
            ("/config/log", json!("text")),
            ("/config/limits/drain_s", json!(3)),
            ("/config/limits/calls_max", json!(2)),
            ("/config/limits/threads", json!(1)),
            ("/config/limits/queue_max", json!(1_024)),
            ("/from/listen", json!("--listen")),
            ("/from/slow_ms", json!("LOCI_SLOW_MS")),
            ("/from/limits.drain_s", json!("--limit drain_s")),
            ("/from/limits.calls_max", json!("LOCI_LIMITS__CALLS_MAX")),
        ];
        for (name, expected) in cases {
            assert_eq!(told(&config, name), expected, "{name}");
        }
        let Place::One(folder) = config.place() else {
            panic!("that is one store");
        };
        assert!(folder.is_absolute(), "a path of the file is from there on");
    }

    #[test]
    fn of_settings_that_stand_for_each_other_the_one_that_is_said_later_counts() {
        let one = config(&["--root", "r"], &[("LOCI_DB", "d")], "db = \"e\"").unwrap();
        assert!(matches!(one.place(), Place::Root(_)));
        let other = config(&[], &[("LOCI_DB", "d")], "root = \"r\"").unwrap();
        assert!(matches!(other.place(), Place::One(_)));
        let both = config(&[], &[], "root = \"r\"\ndb = \"d\"").unwrap_err();
        assert!(both.to_string().ends_with("give db or root, not both"));
    }

    #[test]
    fn what_cannot_be_is_refused_by_where_it_stands() {
        let cases: &[(&[&str], &[(&str, &str)], &str, &[&str])] = &[
            (&[], &[], "db = 5", &["loci.toml: db: give the folder"]),
            (&[], &[], "", &["give --db DIR"]),
            (
                &[],
                &[],
                "db = \"d\"\ndb_ = 1",
                &["loci.toml: there is no setting db_"],
            ),
            (
                &[],
                &[],
                "db = \"d\"\nmetrics_tokens = 1",
                &["no setting metrics_tokens: was metrics_token or metrics_token_file meant?"],
            ),
            (
                &[],
                &[],
                "db = \"d\"\n[limits]\nconnections = 1",
                &["limits.connections: was limits.connections_max meant?"],
            ),
            (
                &[],
                &[],
                "limits = 5\ndb = \"d\"",
                &["limits: give a table"],
            ),
            (&[], &[], "db = \"d\"\nlog \"x\"", &["loci.toml: line 2: "]),
            (
                &[],
                &[("LOCI_HTTP", "yes")],
                "db = \"d\"",
                &["LOCI_HTTP: http: give"],
            ),
            (
                &[],
                &[("LOCI_LIMITS__CALLS_MAX", "many")],
                "db = \"d\"",
                &["LOCI_LIMITS__CALLS_MAX: limits.calls_max: give a whole number"],
            ),
            (
                &[],
                &[("LOCI_LIMITS__CALS_MAX", "1")],
                "db = \"d\"",
                &["LOCI_LIMITS__CALS_MAX: was ", "LOCI_LIMITS__CALLS_MAX"],
            ),
            (
                &["--limit", "calls=1"],
                &[],
                "db = \"d\"",
                &["was calls_max meant?"],
            ),
            (
                &["--limit", "calls_max"],
                &[],
                "db = \"d\"",
                &["--limit calls_max: "],
            ),
            (
                &[],
                &[],
                "db = \"d\"\n[limits]\npayload_len_max = 1",
                &["limits.payload_len_max: give bytes"],
            ),
            (
                &["--limit", "room_bytes=65536"],
                &[],
                "db = \"d\"",
                &["--limit room_bytes: limits.room_bytes: give bytes"],
            ),
            (
                &[],
                &[("LOCI_TLS_CERT", "c")],
                "db = \"d\"",
                &["tls_cert and tls_key"],
            ),
            (
                &[],
                &[("LOCI_INSECURE_LOCAL", "1")],
                "db = \"d\"",
                &["by the flag"],
            ),
            (
                &[],
                &[],
                "db = \"d\"\ninsecure_local = true",
                &["by the flag"],
            ),
            (
                &["--insecure-local", "--listen", "0.0.0.0:1"],
                &[],
                "db = \"d\"",
                &["can be reached from elsewhere"],
            ),
            (
                &["--insecure-local"],
                &[("LOCI_HTTP", "[::]:1")],
                "db = \"d\"",
                &["can be reached from elsewhere"],
            ),
            (
                &["--insecure-local", "--cors-origins", "*"],
                &[],
                "db = \"d\"",
                &["name the origins"],
            ),
            (
                &["--otlp-sample", "2"],
                &[],
                "db = \"d\"",
                &["--otlp-sample: otlp_sample: give"],
            ),
            (
                &["--limit", "store_share=half"],
                &[],
                "db = \"d\"",
                &["--limit store_share: limits.store_share: give a share"],
            ),
            (
                &[],
                &[],
                "db = \"d\"\n[limits]\nstore_share = 1.5",
                &["loci.toml: limits.store_share: give a share"],
            ),
            (
                &[],
                &[("LOCI_OTLP_ENDPOINT", "http://me:pw@collector")],
                "db = \"d\"",
                &["LOCI_OTLP_ENDPOINT: otlp_endpoint: give"],
            ),
            (
                &[],
                &[(
                    "LOCI_CORS_ORIGINS",
                    "https://a.example, https://b.example/x",
                )],
                "db = \"d\"",
                &["LOCI_CORS_ORIGINS: cors_origins: give origins"],
            ),
            (
                &[],
                &[],
                "db = \"d\"\ncors_origins = [1]",
                &["cors_origins: give"],
            ),
            (
                &[],
                &[],
                "db = \"d\"\ncors_origins = [\"*\", \"https://a\"]",
                &["give origins"],
            ),
            (
                &[],
                &[],
                "db = \"d\"\nmetrics_token_file = \"none\"",
                &["metrics_token_file names it"],
            ),
        ];
        for (flags, environment, file, says) in cases {
            let why = config(flags, environment, file).unwrap_err().to_string();
            for says in *says {
                assert!(
                    why.contains(says),
                    "{flags:?} {environment:?} {file}: {why}"
                );
            }
        }
    }

    #[test]
    fn of_several_stores_one_may_take_its_share_and_the_only_one_everything() {
        let file = "[limits]\nwrites_max = 9\nlong_max = 1\nstore_share = 0.5\n";
        let rooms = |flags: &[&str]| config(flags, &[], file).unwrap().rooms();
        let several = rooms(&["--root", "r"]);
        assert_eq!(
            (several.writes, several.long, several.transactions),
            (5, 1, 32)
        );
        assert!(rooms(&["--db", "d"]).writes >= 9);
        assert_eq!(
            rooms(&["--root", "r", "--limit", "store_share=1"]).writes,
            9
        );
    }

    #[test]
    fn limits_of_new_connections_can_be_set_everywhere() {
        let file =
            "db = \"d\"\n[limits]\naccept_per_second = 7\naccept_unlimited = [\"10.0.0.0/8\"]\n";
        let environment = [
            ("LOCI_LIMITS__ACCEPT_PER_SECOND_ALL", "0"),
            ("LOCI_LIMITS__ACCEPT_UNLIMITED", "192.0.2.1, 2001:db8::/32"),
        ];
        let set = config(&["--limit", "accept_burst=9"], &environment, file).unwrap();
        let arrivals = set.server(None).limits.arrivals;
        let rate = |per_second, burst| Rate { per_second, burst };
        assert_eq!(arrivals.network, rate(7, 9));
        assert_eq!(arrivals.all, rate(0, ArrivalLimits::default().all.burst));
        let networks = arrivals.unlimited.iter().map(Network::to_string);
        let networks: Vec<String> = networks.collect();
        assert_eq!(networks, ["192.0.2.1/32", "2001:db8::/32"]);
        let none = config(&["--limit", "accept_unlimited="], &[], file).unwrap();
        assert_eq!(none.server(None).limits.arrivals.unlimited, []);
        let by_default = config(&[], &[], "db = \"d\"").unwrap();
        assert_eq!(
            by_default.server(None).limits.arrivals,
            ArrivalLimits::default()
        );
        for wrong in ["10.0.0.0/99", "here"] {
            let flag = format!("accept_unlimited={wrong}");
            let why = config(&["--limit", &flag], &[], file).unwrap_err();
            let why = why.to_string();
            assert!(
                why.starts_with("--limit accept_unlimited: limits.accept_unlimited: give networks"),
                "{why}"
            );
        }
    }

    #[test]
    fn secrets_are_in_no_error_and_not_told() {
        let token = "correct-horse-battery-staple";
        let file = format!("db = \"d\"\nmetrics_token = \"{token}\"\n");
        let kept = config(&[], &[], &file).unwrap();
        let told = format!("{} {kept:?}", kept.told());
        assert!(!told.contains("horse"), "{told}");
        assert_eq!(
            kept.settings.metrics_token.unwrap().bytes(),
            token.as_bytes()
        );
        // A token of digits alone is text, too.
        let digits = [("LOCI_METRICS_TOKEN", "01234567890123456789")];
        let kept = config(&[], &digits, &file).unwrap();
        assert_eq!(
            kept.settings.metrics_token.unwrap().bytes(),
            digits[0].1.as_bytes()
        );
        for wrong in [
            "db = \"d\"\nmetrics_token = \"horse and more\"",
            "db = \"d\"\nmetrics_token = [\"horse\"]",
            "db = \"d\"\nmetrics_token = \"horse",
        ] {
            let why = config(&[], &[], wrong).unwrap_err().to_string();
            assert!(!why.contains("horse"), "{why}");
        }
    }

    #[test]
    fn other_names_in_the_environment_are_left_alone() {
        let environment = [
            ("LOCI_DB", "d"),
            ("LOCI_SERVICE_HOST", "10.0.0.1"),
            ("LOCI_CONFIG", ""),
        ];
        let config = config(&[], &environment, "").unwrap();
        assert_eq!(config.ignored(), ["LOCI_SERVICE_HOST"]);
    }

    #[test]
    fn http_may_be_off_and_origins_may_be_all() {
        let file = "db = \"d\"\ncors_origins = [\"*\"]";
        let all = config(&["--http", "none"], &[], file).unwrap();
        assert_eq!(all.addresses().len(), 1);
        let some = "https://a.example,http://localhost:3000";
        let some = config(&["--cors-origins", some], &[], file).unwrap();
        assert_eq!(some.settings.cors_origins.len(), 2);
    }
}
