//! Servers, and the keys that they ask for.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use loci_protocol::call::Role;
use loci_server::config::{LogFormat, Options};

/// Every one but the last five may also stand in the environment and in a file: `loci_server::config` says which goes over which.
#[derive(Debug, Args)]
#[command(
    after_help = "Every setting may also be given in the file of --config (tls_cert = \"…\") and in the environment (LOCI_TLS_CERT=…). A flag goes over the environment, and that over the file."
)]
pub(crate) struct Serve {
    /// Folder of the one store to host; made when missing
    #[arg(long, value_name = "DIR", conflicts_with = "root")]
    pub(crate) db: Option<PathBuf>,
    /// Folder whose stores are hosted, each by the name of its own folder
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Where the wire protocol is spoken; else 127.0.0.1:7625
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where HTTP is spoken: the API, MCP and pages; none: nowhere; else 127.0.0.1:7626
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<String>,
    /// PEM file with the certificate and those above it: TLS is spoken, and nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Folder that backups over the network go to; without one there are none
    #[arg(long, value_name = "DIR")]
    pub(crate) backups: Option<PathBuf>,
    /// Calls a second that a key may make, where it does not say so itself
    #[arg(long, value_name = "N")]
    pub(crate) calls_per_second: Option<u32>,
    /// Note calls in the log that take this many milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) slow_ms: Option<u64>,
    /// What lines of the log on standard error are; else text
    #[arg(long, value_enum)]
    pub(crate) log: Option<LogArg>,
    /// File that also keeps who showed a key, changed something or was refused, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Origins whose pages may call over HTTP; * for all
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    pub(crate) cors_origins: Option<Vec<String>>,
    /// File with the token that lets a program read /metrics
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics_token_file: Option<PathBuf>,
    /// Where a collector takes traces by OTLP over HTTP: http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp_endpoint: Option<String>,
    /// Share of the calls that are traced, 0 to 1; else 0.01
    #[arg(long, value_name = "SHARE")]
    pub(crate) otlp_sample: Option<f64>,
    /// A bound by its name in the file's [limits]: connections_max=100
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) limit: Vec<String>,
    /// File with settings, in TOML; else the one that LOCI_CONFIG names
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Ask for no keys, on a loopback address alone: everybody on this machine may do everything
    #[arg(long)]
    pub(crate) insecure_local: bool,
    /// Look at everything that starting needs, and end: a line each finding
    #[arg(long)]
    pub(crate) check: bool,
    /// Print every setting as it holds, without secrets, and end
    #[arg(long)]
    pub(crate) show_config: bool,
}

impl Serve {
    /// What the flags say of the server.
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
            log: log.map(LogFormat::from),
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

/// What lines of the log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogArg {
    /// Words
    Text,
    /// A JSON object
    Json,
    /// There is no log
    None,
}

impl From<LogArg> for LogFormat {
    fn from(form: LogArg) -> LogFormat {
        match form {
            LogArg::Text => LogFormat::Text,
            LogArg::Json => LogFormat::Json,
            LogArg::None => LogFormat::None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// What lines of the log on standard error are
    #[arg(long, value_enum, default_value = "text", env = "LOCI_LOG")]
    pub(crate) log: LogArg,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key, and print it this once
    Add(KeyAdd),
    /// List keys, without their secrets
    List(KeyList),
    /// Take a key back: at once, also where a server uses the store
    Revoke(KeyRevoke),
}

#[derive(Debug, Args)]
pub(crate) struct KeyAdd {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// What it allows: read, write (and read), admin (and everything)
    #[arg(long, value_parser = role, default_value = "read")]
    pub(crate) role: Role,
    /// Show it the documents of this user alone
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
    /// What it is for, in words
    #[arg(long, default_value = "")]
    pub(crate) note: String,
    /// Calls a second that it may make in the long run
    #[arg(long, value_name = "N")]
    pub(crate) calls_per_second: Option<u32>,
    /// Calls that it may make at once
    #[arg(long, value_name = "N", requires = "calls_per_second")]
    pub(crate) burst: Option<u32>,
    /// Bytes that a call may have
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
    /// The key's id: what stands between `loci_` and the next `_`
    pub(crate) id: String,
}

fn role(name: &str) -> Result<Role, String> {
    Role::from_name(name).ok_or_else(|| "read, write and admin are possible".into())
}
