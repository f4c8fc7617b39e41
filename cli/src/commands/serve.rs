//! `loci serve`: serves stores to programs.

use std::io;

use loci_server::check::{self, Level};
use loci_server::config::Config;
use loci_server::{RunningServer, Server, StartError};
use sd_notify::NotifyState;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::parse;
use crate::args::Serve;
use crate::output::Printer;
use crate::{CommandStatus, UsageError, logs};

pub(crate) fn run(args: &Serve, out: &Printer) -> anyhow::Result<CommandStatus> {
    let config = Config::read(&args.options()).map_err(|error| UsageError(error.to_string()))?;
    if args.show_config {
        return show(&config, out);
    }
    // A store has one open file for each mapped part: raise the limit as far as the process may.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    if args.check {
        return check(&config, out);
    }
    logs::begin(config.log(), config.audit_log())
        .map_err(|error| UsageError(format!("audit_log: {error}")))?;
    let server = Server::open(&config, parse::factory()).map_err(failed)?;
    for (store, key) in server.first_keys()? {
        if out.json {
            out.json_line(&json!({ "store": store, "key": key.to_string() }))?
        } else {
            out.line(&format!("admin key of {store}, printed only once: {key}"))?
        }
    }
    let server = server.start().map_err(failed)?;
    // A signal that arrives right after the addresses are printed also stops the server in order.
    let signals = server.block_on(async { Signals::register() })?;
    print_addresses(&server, out)?;
    server.block_on(wait_until_stopped(&server, signals));
    notify_systemd(NotifyState::Stopping);
    tracing::info!("stopping: running calls are finished");
    server.stop();
    Ok(CommandStatus::Success)
}

/// A setting that cannot be used is a usage error.
fn failed(error: StartError) -> anyhow::Error {
    match error {
        StartError::Setting { .. } => UsageError(error.to_string()).into(),
        error => error.into(),
    }
}

/// Prints the findings about everything that the server needs to start; as JSON, the settings first.
fn check(config: &Config, out: &Printer) -> anyhow::Result<CommandStatus> {
    if out.json {
        out.json_line(&config.told())?;
    }
    let mut done = CommandStatus::Success;
    check::findings(config, |finding| {
        if finding.level == Level::Wrong {
            done = CommandStatus::ProblemsFound;
        }
        if out.json {
            return out.json_line(&finding);
        }
        let level = match finding.level {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Wrong => "wrong",
        };
        out.line(&format!("{level}: {}: {}", finding.what, finding.detail))
    })?;
    Ok(done)
}

/// Prints every setting in effect.
fn show(config: &Config, out: &Printer) -> anyhow::Result<CommandStatus> {
    let shown = config.told();
    if out.json {
        out.json_line(&shown)?;
        return Ok(CommandStatus::Success);
    }
    let mut rows = Vec::new();
    setting_rows(&shown, "", &shown["config"], &mut rows);
    out.table(&[], &rows)?;
    Ok(CommandStatus::Success)
}

/// A row for each setting in `values`: its name, value and origin.
fn setting_rows(shown: &Value, prefix: &str, values: &Value, rows: &mut Vec<Vec<String>>) {
    for (name, value) in values.as_object().into_iter().flatten() {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(_) => setting_rows(shown, &format!("{name}."), value, rows),
            value => {
                let from = shown["from"][&name].as_str().unwrap_or("default");
                rows.push(vec![name, value.to_string(), from.to_owned()]);
            }
        }
    }
}

fn print_addresses(server: &RunningServer, out: &Printer) -> anyhow::Result<()> {
    let address = server.address();
    match (out.json, server.http_address()) {
        (true, None) => out.json_line(&json!({ "listening": address.to_string() })),
        (true, Some(http)) => {
            let line = json!({ "listening": address.to_string(), "http": http.to_string() });
            out.json_line(&line)
        }
        (false, None) => out.line(&format!("listening on {address}")),
        (false, Some(http)) => out.line(&format!("listening on {address}, HTTP on {http}")),
    }
}

/// The signals that a server handles.
struct Signals {
    reload: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Registers handlers for these signals. Call it within a runtime.
    fn register() -> io::Result<Signals> {
        Ok(Signals {
            reload: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }
}

/// Notifies the service manager that the server is ready, reloads keys and certificates on SIGHUP, and returns at the
/// signal that ends the server.
async fn wait_until_stopped(server: &RunningServer, mut signals: Signals) {
    notify_systemd(NotifyState::Ready);
    loop {
        tokio::select! {
            _ = signals.reload.recv() => server.reload(),
            _ = signals.interrupt.recv() => return,
            _ = signals.terminate.recv() => return,
        }
    }
}

/// Notifies systemd of the state, if it started the server.
fn notify_systemd(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager was not notified");
    }
}
