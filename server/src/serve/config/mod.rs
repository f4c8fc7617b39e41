//! How a server is configured: a file, the environment, and flags.
//!
//! Always true: a flag goes over the environment, that over the file, and that over what holds by default; a key that is
//! not known and a value that cannot be are refused, by where they stand and with what to give instead; a secret is told
//! to nobody; that no keys are asked for is said by a flag alone.
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
    pub(crate) fn place(&self) -> StoreLocation {
        match (&self.settings.db, &self.settings.root) {
            (Some(folder), _) => StoreLocation::Single(folder.clone()),
            (None, root) => StoreLocation::Root(root.clone().unwrap_or_default()),
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
            concurrency: self.rooms(),
            parser,
        }
    }

    /// How much the callers of one store may have under way; those of the only one, as much as there is.
    fn rooms(&self) -> ConcurrencyLimits {
        let (bounds, workers) = (&self.settings.limits, self.workers());
        let share = match self.place() {
            StoreLocation::Single(_) => return ConcurrencyLimits::default(),
            StoreLocation::Root(_) => bounds.store_share,
        };
        let of = |count: usize| ((count as f64 * share).ceil() as usize).max(1);
        ConcurrencyLimits {
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
                connection_rate: bounds.arrivals(),
                payload_len_max: bounds.payload_len_max,
                payload_memory_bytes: bounds.room_bytes,
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

/// The token that a file holds.
fn secret(file: &Path) -> Result<Secret, ConfigError> {
    let text = fs::read_to_string(file).map_err(|error| ConfigError::File {
        file: file.display().to_string(),
        why: format!("{error}: metrics_token_file names it"),
    })?;
    Ok(Secret(text.trim().to_owned()))
}
