//! MCP over standard input and output, for an assistant that starts a process of its own.
//!
//! Always true: standard output carries messages of MCP alone; the assistant may look at the one store, and no more; a
//! store that nobody asked for a while is closed, so that other processes can write to it, and opened again for the next
//! call.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use loci_protocol::call::Role;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{stdin, stdout};
use tokio::runtime::Handle;

use super::{Assistant, Door, MESSAGE_LEN_MAX};
use crate::serve::http::begin;
use crate::serve::workers::{WorkerOptions, Workers};
use crate::service::{Caller, Stores};

/// How long a call may take.
const CALL_WAIT: Duration = Duration::from_secs(600);
/// How often it is looked whether the store is still asked.
const IDLE_ASK: Duration = Duration::from_secs(1);

/// Serves the one store until standard input ends, or `stop` comes.
///
/// # Errors
/// When threads cannot be made, or the first message is none of MCP.
pub(crate) async fn serve(stores: Arc<Stores>, stop: impl Future<Output = ()>) -> io::Result<()> {
    let workers = Workers::start(WorkerOptions::default(), Handle::current())?;
    let Some(caller) = stores.authenticate("", "") else {
        return Err(io::Error::other("there is no store to serve"));
    };
    // A process without keys: it looks, and changes nothing.
    let caller = Caller {
        role: Role::Read,
        ..caller
    };
    let door = Door::new(move |call| begin(&workers, &caller, call, CALL_WAIT, None));
    let transport = AsyncRwTransport::new_server(stdin(), stdout());
    let transport = transport.with_max_line_length(MESSAGE_LEN_MAX);
    tokio::spawn(close_idle(Arc::clone(&stores)));
    let talk = async {
        let service = match Assistant::of(door).serve(transport).await {
            Ok(service) => service,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        service.waiting().await.map_err(io::Error::other)?;
        Ok(())
    };
    tokio::select! {
        ended = talk => ended,
        () = stop => Ok(()),
    }
}

/// Closes the store when it was not asked for a while.
async fn close_idle(stores: Arc<Stores>) {
    loop {
        tokio::time::sleep(IDLE_ASK).await;
        let stores = Arc::clone(&stores);
        // What fails is in the log.
        let _ = tokio::task::spawn_blocking(move || stores.refresh()).await;
    }
}
