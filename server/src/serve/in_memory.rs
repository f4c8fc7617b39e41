//! Connections that are streams in memory, for fuzz targets: what comes over them is whatever they say.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::http::HttpOptions;
use super::{Limits, Shared, WorkerOptions, figures, http, wire};
use crate::service::Stores;

/// Bytes that a stream holds between its two sides.
const STREAM_LEN: usize = 64 << 10;
/// How long a connection may take, all in all.
const WAIT: Duration = Duration::from_secs(20);

/// A server without listeners.
#[derive(Debug)]
pub(crate) struct InMemory {
    runtime: Runtime,
    shared: Arc<Shared>,
    routes: axum::Router,
    _stop: watch::Sender<bool>,
}

/// What is spoken over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Wire,
    Http,
}

impl InMemory {
    pub(crate) fn new(stores: Stores) -> std::io::Result<InMemory> {
        let (stop, stopping) = watch::channel(false);
        let workers = WorkerOptions::default();
        let runtime = workers.runtime()?;
        let within = runtime.enter();
        let shared = Shared::new(Arc::new(stores), workers, Limits::default(), stopping)?;
        drop(within);
        let shared = Arc::new(shared);
        let options = HttpOptions::default();
        let routes = http::router(Arc::clone(&shared), options, figures::begin());
        Ok(InMemory {
            runtime,
            shared,
            routes,
            _stop: stop,
        })
    }

    /// Sends bytes over a connection; what came back until the server ended it. `None` where it did not in time. `ends`:
    /// whether this side ends first, which lets a server give up what it was asked.
    pub(crate) fn exchange(&self, spoken: Spoken, bytes: &[u8], ends: bool) -> Option<Vec<u8>> {
        let (here, there) = duplex(STREAM_LEN);
        let serving = serve(Arc::clone(&self.shared), self.routes.clone(), spoken, there);
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
            let mut told = Vec::new();
            let receiving = read.read_to_end(&mut told);
            let both = async { tokio::join!(sending, receiving) };
            let ended = tokio::time::timeout(WAIT, both).await.is_ok();
            if let Err(error) = task.await
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
            ended.then_some(told)
        })
    }
}

async fn serve(shared: Arc<Shared>, routes: axum::Router, spoken: Spoken, stream: DuplexStream) {
    let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let place = shared.pending.enter();
    match spoken {
        Spoken::Wire => {
            let (read, write) = tokio::io::split(stream);
            wire::serve(shared, read, write, peer, place).await;
        }
        Spoken::Http => http::serve(shared, routes, stream, peer, false, place).await,
    }
}
