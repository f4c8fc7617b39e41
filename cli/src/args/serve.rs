//! Servers, and the keys of their stores.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use loci_protocol::call::Role;
use loci_server::config::{LogForm, Options};

/// All but the last five can also be set in the environment and in a file; `loci_server::config` documents the precedence.
#[derive(Debug, Args)]
#[command(
    after_help = "Every setting can also be given in the file of --config (tls_cert = \"…\") and in the environment (LOCI_TLS_CERT=…). A flag overrides the environment, and the environment overrides the file."
)]
pub(crate) struct Serve {
    /// Folder of the one store to serve; created if missing
    #[arg(long, value_name = "DIR", conflicts_with = "root")]
    pub(crate) db: Option<PathBuf>,
    /// Folder whose stores are served, each under the name of its own folder
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Address of the wire protocol; by default 127.0.0.1:7625
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Address of HTTP (the API, MCP and pages), or none; by default 127.0.0.1:7626
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<String>,
    /// PEM file with the certificate chain: the server accepts TLS only
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Folder for backups over the network; without it they are disabled
    #[arg(long, value_name = "DIR")]
    pub(crate) backups: Option<PathBuf>,
    /// Calls per second of a key without a limit of its own
    #[arg(long, value_name = "N")]
    pub(crate) calls_per_second: Option<u32>,
    /// Log calls that take at least this many milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) slow_ms: Option<u64>,
    /// Format of the log on standard error; by default text
    #[arg(long, value_enum)]
    pub(crate) log: Option<LogArg>,
    /// File that also receives the audit log, as JSON: keys used, changes, refusals
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Origins whose pages may call the HTTP API; * for all
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    pub(crate) cors_origins: Option<Vec<String>>,
    /// File with the token for reading /metrics
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics_token_file: Option<PathBuf>,
    /// URL of a collector of traces by OTLP over HTTP: http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp_endpoint: Option<String>,
    /// Fraction of calls that are traced, 0 to 1; by default 0.01
    #[arg(long, value_name = "SHARE")]
    pub(crate) otlp_sample: Option<f64>,
    /// A limit, by its name in the file's [limits]: connections_max=100
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) limit: Vec<String>,
    /// File with settings, in TOML; by default the one that LOCI_CONFIG names
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Require no keys; only on a loopback address. Everybody on this machine may do everything
    #[arg(long)]
    pub(crate) insecure_local: bool,
    /// Check everything that the server needs to start, and exit: one line per finding
    #[arg(long)]
    pub(crate) check: bool,
    /// Print every setting in effect, without secrets, and exit
    #[arg(long)]
    pub(crate) show_config: bool,
}

impl Serve {
    /// The server options that the flags give.
    pub(crate) fn options(&self) -> Options {
        let Serve {
            db,
            root,
            listen,
            http,
            tls_cert,
            tls_key,
            backups,
            calls_per_second,
            slow_ms,
            log,
            audit_log,
            cors_origins,
            metrics_token_file,
            otlp_endpoint,
            otlp_sample,
            limit,
            config,
            insecure_local,
            check: _,
            show_config: _,
        } = self;
        Options {
            db: db.clone(),
            root: root.clone(),
            listen: *listen,
            http: http.clone(),
            tls_cert: tls_cert.clone(),
            tls_key: tls_key.clone(),
            backups: backups.clone(),
            calls_per_second: *calls_per_second,
            slow_ms: *slow_ms,
            log: log.map(LogForm::from),
            audit_log: audit_log.clone(),
            cors_origins: cors_origins.clone(),
            metrics_token_file: metrics_token_file.clone(),
            otlp_endpoint: otlp_endpoint.clone(),
            otlp_sample: *otlp_sample,
            limits: Some(limit.clone()),
            file: config.clone(),
            insecure_local: Some(*insecure_local),
        }
    }
}

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogArg {
    /// Plain text
    Text,
    /// One JSON object per line
    Json,
    /// No log
    None,
}

impl From<LogArg> for LogForm {
    fn from(form: LogArg) -> LogForm {
        match form {
            LogArg::Text => LogForm::Text,
            LogArg::Json => LogForm::Json,
            LogArg::None => LogForm::None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Format of the log on standard error
    #[arg(long, value_enum, default_value = "text", env = "LOCI_LOG")]
    pub(crate) log: LogArg,
}

/// The command for keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Create a key, and print it once
    Add(KeyAdd),
    /// List keys, without their secrets
    List(KeyList),
    /// Revoke a key: effective immediately, also if a server uses the store
    Revoke(KeyRevoke),
}

#[derive(Debug, Args)]
pub(crate) struct KeyAdd {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Role of the key: read, write (includes read), admin (includes everything)
    #[arg(long, value_parser = role, default_value = "read")]
    pub(crate) role: Role,
    /// Restrict the key to the documents of this user
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
    /// Description of its purpose
    #[arg(long, default_value = "")]
    pub(crate) note: String,
    /// Calls per second, on average
    #[arg(long, value_name = "N")]
    pub(crate) calls_per_second: Option<u32>,
    /// Calls in a burst
    #[arg(long, value_name = "N", requires = "calls_per_second")]
    pub(crate) burst: Option<u32>,
    /// Maximum bytes of a call
    #[arg(long, value_name = "BYTES")]
    pub(crate) call_bytes_max: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct KeyList {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRevoke {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// The key's id: the part between `loci_` and the next `_`
    pub(crate) id: String,
}

fn role(name: &str) -> Result<Role, String> {
    Role::from_name(name).ok_or_else(|| "give read, write or admin".into())
}
