//! `loci mcp`: serves a store to an assistant that starts this process.

use std::io;

use loci_server::StdioServer;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Mcp;
use crate::output::note;
use crate::{CommandStatus, UsageError, logs};

pub(crate) fn run(args: &Mcp) -> anyhow::Result<CommandStatus> {
    if !args.db.join("loci.redb").is_file() {
        let why = format!("--db {}: there is no store", args.db.display());
        return Err(UsageError(why).into());
    }
    logs::begin(args.log.into(), None)?;
    let server = StdioServer::open(&args.db)?;
    if let Some(why) = server.busy() {
        note!("loci: {why}");
    }
    server.serve(interrupted())?;
    Ok(CommandStatus::Success)
}

/// Waits for a signal that ends the process.
async fn interrupted() -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
