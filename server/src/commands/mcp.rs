//! `loci mcp`: a store for an assistant that starts this process.

use std::sync::Arc;
use std::time::Duration;

use loci_protocol::fault::Code;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Mcp;
use crate::output::note;
use crate::serve::{WorkerOptions, logs, mcp};
use crate::service::{Place, Stores, StoresOptions};
use crate::{Done, WrongCall};

/// How long the store stays open without a call.
const IDLE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Mcp) -> anyhow::Result<Done> {
    if !args.db.join("loci.redb").is_file() {
        let why = format!("--db {}: there is no store", args.db.display());
        return Err(WrongCall(why).into());
    }
    logs::begin(args.log, None)?;
    let options = StoresOptions {
        idle: IDLE,
        without_keys: true,
        ..StoresOptions::default()
    };
    let stores = Arc::new(Stores::new(Place::One(args.db.clone()), options)?);
    for store in stores.all() {
        match store.database() {
            // Another process may let go of it before it is asked.
            Err(fault) if fault.code == Code::Unavailable => note!("loci: {}", fault.message),
            opened => drop(opened.map_err(anyhow::Error::new)?),
        }
    }
    let runtime = WorkerOptions::default().runtime()?;
    let served = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let stop = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        mcp::stdio::serve(Arc::clone(&stores), stop).await
    });
    stores.close();
    // Standard input may still be read: nobody waits for it.
    runtime.shutdown_background();
    served?;
    Ok(Done::Well)
}
