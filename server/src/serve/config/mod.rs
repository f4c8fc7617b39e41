//! The configuration of a server: a file, the environment, and flags.
//!
//! Always true: a flag overrides the environment, which overrides the file, which overrides the defaults; an unknown
//! key and an invalid value are refused with their origin and the valid values; a secret is never printed; only a
//! flag turns keys off. `variables.rs` finds unknown environment variables.
//!
//! `settings.rs` has every setting once. Start reading at [`Config::read`].

mod checks;
mod layers;
mod settings;
#[cfg(test)]
mod tests;
mod variables;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::Figment;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{HttpOptions, Limits, ServerOptions, Tls, WorkerOptions};
use crate::access::KeyLimits;
use crate::service::{ConcurrencyLimits, ParserFactory, StoreLocation, StoresOptions};
use checks::within_bounds;
use layers::{Layer, origins, wrong};
pub(crate) use settings::Secret;
use settings::Settings;
pub use variables::{UnknownVariable, unknown_variables};

/// Names the file in the environment.
const CONFIG_ENV: &str = "LOCI_CONFIG";

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is missing, or is no TOML.
    #[error("{file}: {why}")]
    File {
        /// The file.
        file: String,
        /// Why it cannot be read.
        why: String,
    },
    /// An unknown key.
    #[error("{origin}: there is no setting {name}: {hint}")]
    Unknown {
        /// Where it was given.
        origin: String,
        /// The key.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// An invalid value.
    #[error("{origin}: {name}: give {give}")]
    Wrong {
        /// Where it was given.
        origin: String,
        /// The key.
        name: &'static str,
        /// What to give instead.
        give: String,
    },
    /// Settings that contradict each other.
    #[error("{0}")]
    Together(String),
}

/// Settings of the program that starts a server, as flags of a command line. They override the environment and the file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Options {
    /// Folder of the one store to host; created if it is missing.
    pub db: Option<PathBuf>,
    /// Folder whose stores are hosted, each by the name of its own folder.
    pub root: Option<PathBuf>,
    /// Address of the wire protocol.
    pub listen: Option<SocketAddr>,
    /// Address of HTTP: an address and a port, or `none`.
    pub http: Option<String>,
    /// PEM file with the certificate and its chain: the server accepts TLS only.
    pub tls_cert: Option<PathBuf>,
    /// PEM file with the certificate's private key.
    pub tls_key: Option<PathBuf>,
    /// Folder for backups over the network, which need one.
    pub backups: Option<PathBuf>,
    /// Calls a second of a key that has no limit of its own.
    pub calls_per_second: Option<u32>,
    /// Milliseconds from which a call is in the slow log.
    pub slow_ms: Option<u64>,
    /// Format of the log.
    pub log: Option<LogFormat>,
    /// File of the audit log: who presented a key, changed something or was refused.
    pub audit_log: Option<PathBuf>,
    /// Origins whose pages may call over HTTP; `*` alone for all.
    pub cors_origins: Option<Vec<String>>,
    /// File with the token that lets a program read `/metrics`.
    pub metrics_token_file: Option<PathBuf>,
    /// Address of a collector of traces by OTLP over HTTP.
    pub otlp_endpoint: Option<String>,
    /// Share of the calls that are traced, 0 to 1.
    pub otlp_sample: Option<f64>,
    /// LimitSettings by their names in the file's `[limits]`, each as `connections_max=100`.
    #[serde(skip)]
    pub limits: Option<Vec<String>>,
    /// File with settings in TOML; else the one that `LOCI_CONFIG` names.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Whether the server needs no keys, on a loopback address alone: everybody on this machine may do everything.
    #[serde(skip)]
    pub insecure_local: Option<bool>,
}

/// Format of a line of the log, for the program that writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text.
    Text,
    /// A JSON object.
    Json,
    /// There is no log.
    None,
}

/// The configuration of a server.
#[derive(Debug)]
pub struct Config {
    settings: Settings,
    /// Whether the server needs no keys.
    insecure_local: bool,
    /// The origin of each setting that was given, by name.
    origins: BTreeMap<&'static str, String>,
    /// Names in the environment that look like settings and are not.
    ignored: Vec<String>,
}

impl Config {
    /// Reads flags, the environment and the file.
    ///
    /// # Errors
    /// [`ConfigError`] for a file that cannot be read, unknown keys, invalid values, and settings that contradict each
    /// other.
    pub fn read(options: &Options) -> Result<Config, ConfigError> {
        Config::from_sources(options, std::env::vars_os())
    }

    fn from_sources(
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

    /// Its addresses: the wire protocol, then HTTP.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let both = [Some(self.settings.listen), self.settings.http];
        both.into_iter().flatten().collect()
    }

    /// Connections that may be open at a time.
    pub(crate) fn connections_max(&self) -> usize {
        let limits = &self.settings.limits;
        limits.connections_max.saturating_add(limits.pending_max)
    }

    /// Location of its stores.
    pub(crate) fn store_location(&self) -> StoreLocation {
        match (&self.settings.db, &self.settings.root) {
            (Some(folder), _) => StoreLocation::Single(folder.clone()),
            (None, root) => StoreLocation::Root(root.clone().unwrap_or_default()),
        }
    }

    /// Format of the log.
    pub fn log(&self) -> LogFormat {
        self.settings.log
    }

    /// File of the audit log.
    pub fn audit_log(&self) -> Option<&Path> {
        self.settings.audit_log.as_deref()
    }

    /// The folder of backups.
    pub(crate) fn backups(&self) -> Option<&Path> {
        self.settings.backups.as_deref()
    }

    /// From which time a call is slow.
    pub(crate) fn slow(&self) -> Option<Duration> {
        self.settings.slow_ms.map(Duration::from_millis)
    }

    /// Files of the certificate and of its key.
    pub(crate) fn tls(&self) -> Option<(&Path, &Path)> {
        let (certificate, key) = (&self.settings.tls_cert, &self.settings.tls_key);
        certificate.as_deref().zip(key.as_deref())
    }

    /// The collector of traces, and the share of the calls that are traced.
    pub(crate) fn traces(&self) -> Option<(&str, f64)> {
        let endpoint = self.settings.otlp_endpoint.as_deref()?;
        Some((endpoint, self.settings.otlp_sample))
    }

    /// Names in the environment that look like settings and are not.
    pub(crate) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// How its stores are hosted. `parser`: parses the files that callers send.
    pub(crate) fn stores(&self, parser: ParserFactory) -> StoresOptions {
        let limits = &self.settings.limits;
        StoresOptions {
            open_max: limits.open_max,
            idle: Duration::from_secs(limits.open_idle_s),
            backups: self.settings.backups.clone(),
            without_keys: self.insecure_local,
            limits: KeyLimits {
                calls_per_second: self.settings.calls_per_second,
                ..KeyLimits::default()
            },
            concurrency: self.store_concurrency(),
            parser,
        }
    }

    /// How many calls one store may have in flight; a single store, as many as the server.
    fn store_concurrency(&self) -> ConcurrencyLimits {
        let (limits, workers) = (&self.settings.limits, self.workers());
        let share = match self.store_location() {
            StoreLocation::Single(_) => return ConcurrencyLimits::default(),
            StoreLocation::Root(_) => limits.store_share,
        };
        let scaled = |count: usize| ((count as f64 * share).ceil() as usize).max(1);
        ConcurrencyLimits {
            quick: scaled(workers.quick_max()),
            writes: scaled(workers.writes_max),
            long: scaled(workers.long_max),
            streams: scaled(workers.streams_max),
            transactions: scaled(limits.transactions_max),
        }
    }

    /// How much is done at a time.
    pub(crate) fn workers(&self) -> WorkerOptions {
        let limits = &self.settings.limits;
        WorkerOptions {
            threads: limits.threads,
            queue_max: limits.queue_max,
            writes_max: limits.writes_max,
            long_max: limits.long_max,
            streams_max: limits.streams_max,
        }
    }

    /// How the server is started. `tls`: what was read of [`Config::tls`].
    pub(crate) fn server(&self, tls: Option<Tls>) -> ServerOptions {
        let settings = &self.settings;
        let limits = &settings.limits;
        ServerOptions {
            listen: settings.listen,
            http: settings.http,
            http_options: HttpOptions {
                cors_origins: settings.cors_origins.clone(),
                metrics_token: settings.metrics_token.clone(),
            },
            tls,
            limits: Limits {
                connections_max: limits.connections_max,
                pending_max: limits.pending_max,
                connection_rate: limits.connection_rate(),
                payload_len_max: limits.payload_len_max,
                payload_memory_bytes: limits.payload_memory_bytes,
                calls_max: limits.calls_max,
                transactions_max: limits.transactions_max,
                call_wait: Duration::from_secs(limits.call_wait_s),
                idle: Duration::from_secs(limits.idle_s),
                drain: Duration::from_secs(limits.drain_s),
            },
            workers: self.workers(),
        }
    }

    /// Every setting in force, and its origin if it was given; without secrets.
    pub fn to_json(&self) -> serde_json::Value {
        json!({
            "config": self.settings,
            "insecure_local": self.insecure_local,
            "from": self.origins,
        })
    }
}

/// The token that a file holds.
fn secret(file: &Path) -> Result<Secret, ConfigError> {
    let text = fs::read_to_string(file).map_err(|error| ConfigError::File {
        file: file.display().to_string(),
        why: format!("{error}: metrics_token_file names it"),
    })?;
    Ok(Secret(text.trim().to_owned()))
}
