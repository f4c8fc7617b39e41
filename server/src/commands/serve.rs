//! `loci serve`: stores hosted for programs.

use std::sync::Arc;

use anyhow::Context;
use sd_notify::NotifyState;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::open_or_create;
use crate::args::Serve;
use crate::output::Out;
use crate::serve::check::{self, Level};
use crate::serve::config::Config;
use crate::serve::logs;
use crate::serve::otlp::Exporter;
use crate::serve::{Server, ServerOptions, Tls};
use crate::service::{Place, Stores, noted};
use crate::{Done, WrongCall};

pub(crate) fn run(args: &Serve, out: &Out) -> anyhow::Result<Done> {
    let config = Config::read(args).map_err(|error| WrongCall(error.to_string()))?;
    if args.show_config {
        return show(&config, out);
    }
    // A store has a file open for each of its mapped parts. As many as may be without asking anybody are allowed.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    if args.check {
        return check(&config, out);
    }
    let tls = match config.tls() {
        Some((certificate, key)) => {
            let tls = Tls::open(certificate.to_owned(), key.to_owned());
            Some(tls.map_err(|error| WrongCall(format!("TLS: {error}")))?)
        }
        None => None,
    };
    logs::begin(config.log(), config.audit_log())
        .map_err(|error| WrongCall(format!("audit_log: {error}")))?;
    let stores = Arc::new(stores(&config)?);
    for (store, key) in stores.first_keys()? {
        if out.json {
            out.json_line(&json!({ "store": store, "key": key.to_string() }))?
        } else {
            out.line(&format!(
                "key of an admin of {store}, told this once: {key}"
            ))?
        }
    }
    noted::slow_from(config.slow());
    let runtime = config.workers().runtime()?;
    let exporter = match config.traces() {
        Some((endpoint, share)) => {
            let exporter = Exporter::begin(endpoint, share, runtime.handle().clone());
            Some(exporter.map_err(|error| WrongCall(format!("otlp_endpoint: {error}")))?)
        }
        None => None,
    };
    let served = runtime.block_on(serve(stores, config.server(tls), out));
    if let Some(exporter) = exporter {
        exporter.stop();
    }
    served?;
    // Whoever still works after the time to drain is not waited for.
    runtime.shutdown_background();
    Ok(Done::Well)
}

/// Prints what there is to say of everything that starting needs; as JSON, the settings first.
fn check(config: &Config, out: &Out) -> anyhow::Result<Done> {
    if out.json {
        out.json_line(&config.told())?;
    }
    let mut done = Done::Well;
    check::findings(config, |finding| {
        if finding.level == Level::Wrong {
            done = Done::Wrong;
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

/// Prints every setting as it holds.
fn show(config: &Config, out: &Out) -> anyhow::Result<Done> {
    let told = config.told();
    if out.json {
        out.json_line(&told)?;
        return Ok(Done::Well);
    }
    let mut rows = Vec::new();
    rows_of(&told, "", &told["config"], &mut rows);
    out.table(&[], &rows)?;
    Ok(Done::Well)
}

/// A row for each setting in `values`: its name, what it is, and where that stands.
fn rows_of(told: &Value, prefix: &str, values: &Value, rows: &mut Vec<Vec<String>>) {
    for (name, value) in values.as_object().into_iter().flatten() {
        let name = format!("{prefix}{name}");
        match value {
            Value::Object(_) => rows_of(told, &format!("{name}."), value, rows),
            value => {
                let from = told["from"][&name].as_str().unwrap_or("by default");
                rows.push(vec![name, value.to_string(), from.to_owned()]);
            }
        }
    }
}

/// The stores to host. What keeps the one store from being opened is told now.
fn stores(config: &Config) -> anyhow::Result<Stores> {
    let place = config.place();
    match &place {
        Place::One(folder) if !folder.join("loci.redb").is_file() => {
            open_or_create(folder)?.close();
        }
        Place::Root(root) if !root.is_dir() => {
            let why = format!("root: there is no folder {}: make it", root.display());
            return Err(WrongCall(why).into());
        }
        _ => {}
    }
    let is_one = matches!(place, Place::One(_));
    let stores = Stores::new(place, config.stores())?;
    if is_one {
        for store in stores.all() {
            store.database().map_err(anyhow::Error::new)?;
        }
    }
    Ok(stores)
}

/// Serves until a signal ends it.
async fn serve(stores: Arc<Stores>, options: ServerOptions, out: &Out) -> anyhow::Result<()> {
    let listen = options.listen;
    let server = Server::start(stores, options).await;
    let server = server.with_context(|| format!("listening on {listen}"))?;
    let (address, http) = (server.address(), server.http());
    match (out.json, http) {
        (true, None) => out.json_line(&json!({ "listening": address.to_string() }))?,
        (true, Some(http)) => {
            let line = json!({ "listening": address.to_string(), "http": http.to_string() });
            out.json_line(&line)?;
        }
        (false, None) => out.line(&format!("listening on {address}"))?,
        (false, Some(http)) => out.line(&format!("listening on {address}, HTTP on {http}"))?,
    }
    let mut reload = signal(SignalKind::hangup())?;
    let mut ends = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    ];
    tell_manager(NotifyState::Ready);
    loop {
        let [interrupt, terminate] = &mut ends;
        tokio::select! {
            () = came(&mut reload) => server.reload(),
            () = came(interrupt) => break,
            () = came(terminate) => break,
        }
    }
    tell_manager(NotifyState::Stopping);
    tracing::info!("stopping: calls under way are finished");
    server.stop().await;
    Ok(())
}

/// Tells systemd how far the server is, where it was started by that.
fn tell_manager(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager is not told of the server");
    }
}

async fn came(signal: &mut Signal) {
    signal.recv().await;
}
