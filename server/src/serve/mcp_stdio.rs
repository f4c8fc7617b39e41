//! MCP over standard input and output, for an assistant that starts a process of its own.
//!
//! Always true: standard output carries messages of MCP alone; the assistant may read the one store, and no more; a store
//! without calls for a while is closed, so that other processes can write to it, and opened again for the next call.

use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use loci_mcp::{Dispatcher, Reading, StoreReader, serve_streams};
use loci_protocol::call::{Call, Role};
use loci_protocol::fault::{Code, Fault};
use loci_views::View;
use tokio::io::{stdin, stdout};
use tokio::runtime::Handle;

use crate::serve::http::{OutputForm, PendingCall, begin};
use crate::serve::server::StartError;
use crate::serve::workers::{WorkerOptions, Workers};
use crate::service::{Caller, StoreLocation, Stores, StoresOptions};

/// How long the store stays open without a call.
const IDLE: Duration = Duration::from_secs(30);
/// How long a call may take.
const CALL_WAIT: Duration = Duration::from_secs(600);
/// How often is checked whether the store had calls.
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// A store that an assistant may read, which speaks MCP over this process's standard input and output.
#[derive(Debug)]
pub struct StdioServer {
    stores: Arc<Stores>,
    busy: Option<String>,
}

impl StdioServer {
    /// Opens the store in a folder, in which there must be one.
    ///
    /// # Errors
    /// [`StartError`] where it cannot be opened, other than because another process has it.
    pub fn open(folder: &Path) -> Result<StdioServer, StartError> {
        let options = StoresOptions {
            idle: IDLE,
            without_keys: true,
            ..StoresOptions::default()
        };
        let stores = Arc::new(Stores::new(
            StoreLocation::Single(folder.to_owned()),
            options,
        )?);
        let mut busy = None;
        for store in stores.all() {
            match store.database() {
                // Another process may close it before the first call.
                Err(fault) if fault.code == Code::Unavailable => busy = Some(fault.message),
                opened => drop(opened.map_err(StartError::Refused)?),
            }
        }
        Ok(StdioServer { stores, busy })
    }

    /// Why the store cannot be used now, where another process has it.
    pub fn busy(&self) -> Option<&str> {
        self.busy.as_deref()
    }

    /// Serves until standard input ends, or `stop` does, which runs within the server's runtime.
    ///
    /// # Errors
    /// When threads cannot be created, the first message is none of MCP, or `stop` fails.
    pub fn serve(self, stop: impl Future<Output = io::Result<()>>) -> io::Result<()> {
        let runtime = WorkerOptions::default().runtime()?;
        let served = runtime.block_on(serve(Arc::clone(&self.stores), stop));
        self.stores.close();
        // A read of standard input may still block: it is not awaited.
        runtime.shutdown_background();
        served
    }
}

/// Makes calls for the one caller of this process.
struct StdioReader {
    workers: Workers,
    caller: Caller,
}

impl StdioReader {
    fn begin(&self, call: Call, form: OutputForm) -> Result<PendingCall, Fault> {
        begin(&self.workers, &self.caller, call, CALL_WAIT, None, form)
    }
}

impl StoreReader for StdioReader {
    fn read(&self, call: Call) -> Reading<Box<dyn View>> {
        let pending = self.begin(call, OutputForm::View);
        Box::pin(async { pending?.view().await })
    }

    fn read_file(&self, call: Call, len_max: usize) -> Reading<(Vec<u8>, bool)> {
        let pending = self.begin(call, OutputForm::Json);
        Box::pin(async move { pending?.bytes(len_max).await })
    }
}

async fn serve(stores: Arc<Stores>, stop: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    let workers = Workers::start(WorkerOptions::default(), Handle::current())?;
    let Some(caller) = stores.authenticate("", "") else {
        return Err(io::Error::other("there is no store to serve"));
    };
    // A process without keys reads, and changes nothing.
    let caller = Caller {
        role: Role::Read,
        ..caller
    };
    let dispatcher = Dispatcher::new(StdioReader { workers, caller });
    tokio::spawn(close_idle(Arc::clone(&stores)));
    let talk = serve_streams(dispatcher, stdin(), stdout());
    tokio::select! {
        ended = talk => ended,
        stopped = stop => stopped,
    }
}

/// Closes the store when it had no calls for a while.
async fn close_idle(stores: Arc<Stores>) {
    loop {
        tokio::time::sleep(IDLE_POLL_INTERVAL).await;
        let stores = Arc::clone(&stores);
        // What fails is in the log.
        let _ = tokio::task::spawn_blocking(move || stores.refresh()).await;
    }
}
