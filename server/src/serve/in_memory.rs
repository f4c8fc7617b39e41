//! Connections over streams in memory, for fuzz targets.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::http::HttpOptions;
use super::{Limits, ServerState, WorkerOptions, http, prometheus, wire};
use crate::service::Stores;

/// Bytes that a stream holds between its two sides.
const STREAM_LEN: usize = 64 << 10;
/// How long a connection may take, all in all.
const WAIT: Duration = Duration::from_secs(20);

/// A server without listeners.
#[derive(Debug)]
pub(crate) struct InMemory {
    runtime: Runtime,
    shared: Arc<ServerState>,
    routes: axum::Router,
    _stop: watch::Sender<bool>,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Wire,
    Http,
}

impl InMemory {
    pub(crate) fn new(stores: Stores) -> std::io::Result<InMemory> {
        let (stop, stopping) = watch::channel(false);
        let workers = WorkerOptions::default();
        let runtime = workers.runtime()?;
        let within = runtime.enter();
        let shared = ServerState::new(Arc::new(stores), workers, Limits::default(), stopping)?;
        drop(within);
        let shared = Arc::new(shared);
        let options = HttpOptions::default();
        let routes = http::router(Arc::clone(&shared), options, prometheus::install_exporter());
        Ok(InMemory {
            runtime,
            shared,
            routes,
            _stop: stop,
        })
    }

    /// Sends bytes over a connection; returns what the server sent until it closed it. `None` if it did not in time. `ends`:
    /// whether this side closes first, so that the server cancels its calls.
    pub(crate) fn exchange(&self, protocol: Protocol, bytes: &[u8], ends: bool) -> Option<Vec<u8>> {
        let (here, there) = duplex(STREAM_LEN);
        let serving = serve(Arc::clone(&self.shared), self.routes.clone(), protocol, there);
        let bytes = bytes.to_vec();
        self.runtime.block_on(async move {
            let task = tokio::spawn(serving);
            let (mut read, mut write) = tokio::io::split(here);
            let sending = async move {
                let _ = write.write_all(&bytes).await;
                if ends {
                    let _ = write.shutdown().await;
                }
                write
            };
            let mut received = Vec::new();
            let receiving = read.read_to_end(&mut received);
            let both = async { tokio::join!(sending, receiving) };
            let ended = tokio::time::timeout(WAIT, both).await.is_ok();
            if let Err(error) = task.await
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
            ended.then_some(received)
        })
    }
}

async fn serve(shared: Arc<ServerState>, routes: axum::Router, protocol: Protocol, stream: DuplexStream) {
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let slot = shared.pending.register();
    match protocol {
        Protocol::Wire => {
            let (read, write) = tokio::io::split(stream);
            wire::serve(shared, read, write, peer, slot).await;
        }
        Protocol::Http => http::serve(shared, routes, stream, peer, false, slot).await,
    }
}
