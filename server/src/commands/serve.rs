//! `loci serve`: stores hosted for programs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::open_or_create;
use crate::access::KeyLimits;
use crate::args::Serve;
use crate::output::Out;
use crate::serve::logs;
use crate::serve::{Limits, Server, ServerOptions, Tls, WorkerOptions};
use crate::service::{Place, Stores, StoresOptions, noted};
use crate::{Done, WrongCall};

pub(crate) fn run(args: &Serve, out: &Out) -> anyhow::Result<Done> {
    for listen in [Some(args.listen), args.http].into_iter().flatten() {
        if args.insecure_local && !listen.ip().is_loopback() {
            let why = format!(
                "--insecure-local lets everybody in, and {listen} can be reached from elsewhere: listen on 127.0.0.1 or [::1], or use keys",
            );
            return Err(WrongCall(why).into());
        }
    }
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => {
            let tls = Tls::open(certificate.clone(), key.clone());
            Some(tls.map_err(|error| WrongCall(format!("TLS: {error}")))?)
        }
        _ => None,
    };
    logs::begin(args.log, args.audit_log.as_deref())
        .map_err(|error| WrongCall(format!("--audit-log: {error}")))?;
    let stores = Arc::new(stores(args)?);
    if args.db.is_some() {
        // What keeps the one store from being opened is told now.
        for store in stores.all() {
            store.database().map_err(anyhow::Error::new)?;
        }
    }
    if args.check {
        out.line("everything that starting needs is there")?;
        return Ok(Done::Well);
    }
    for (store, key) in stores.first_keys()? {
        match out.json {
            true => out.json_line(&json!({ "store": store, "key": key.to_string() }))?,
            false => out.line(&format!(
                "key of an admin of {store}, told this once: {key}"
            ))?,
        }
    }
    noted::slow_from(args.slow_ms.map(Duration::from_millis));
    let options = ServerOptions {
        listen: args.listen,
        http: args.http,
        tls,
        limits: Limits::default(),
        workers: WorkerOptions::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve(stores, options, out))?;
    // Whoever still works after the time to drain is not waited for.
    runtime.shutdown_background();
    Ok(Done::Well)
}

fn stores(args: &Serve) -> anyhow::Result<Stores> {
    let place = match (&args.db, &args.root) {
        (Some(folder), _) => {
            if !folder.join("loci.redb").is_file() {
                open_or_create(folder)?.close();
            }
            Place::One(folder.clone())
        }
        (None, Some(root)) if root.is_dir() => Place::Root(root.clone()),
        (None, root) => {
            let root = root.clone().unwrap_or_else(PathBuf::new);
            let why = format!("--root {}: there is no such folder", root.display());
            return Err(WrongCall(why).into());
        }
    };
    let options = StoresOptions {
        backups: args.backups.clone(),
        without_keys: args.insecure_local,
        limits: KeyLimits {
            calls_per_second: args.calls_per_second,
            ..KeyLimits::default()
        },
        ..StoresOptions::default()
    };
    Ok(Stores::new(place, options)?)
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
    loop {
        let [interrupt, terminate] = &mut ends;
        tokio::select! {
            () = came(&mut reload) => server.reload(),
            () = came(interrupt) => break,
            () = came(terminate) => break,
        }
    }
    eprintln!("loci: stopping: calls under way are finished");
    server.stop().await;
    Ok(())
}

async fn came(signal: &mut Signal) {
    signal.recv().await;
}
