//! The server: listeners, and what all connections share.
//!
//! Start reading at [`server::Server`], then [`Listeners::start`].

pub mod check;
pub mod config;
mod frame_sender;
mod http;
mod listener;
pub(crate) mod mcp_stdio;
pub(crate) mod otlp;
mod pending;
mod prometheus;
pub(crate) mod server;
mod tls;
mod wire;
mod workers;

#[cfg(fuzzing)]
pub(crate) mod in_memory;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_protocol::fault::{Code, Fault};
use loci_protocol::frame::PAYLOAD_LEN_MAX;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::access::connection_rate::{ConnectionRateLimiter, ConnectionRateLimits};
use crate::access::limits::BackOff;
use crate::service::{Caller, Stores, audit};
use frame_sender::Socket;
pub(crate) use http::HttpOptions;
use pending::{PendingConnections, PendingSlot};
use prometheus::MetricsExporter;
use tls::Protocol;
pub(crate) use tls::Tls;
pub(crate) use workers::WorkerOptions;
use workers::Workers;

/// What a server allows.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Connections with a key at most.
    pub(crate) connections_max: usize,
    /// Connections that have shown no key yet, at most.
    pub(crate) pending_max: usize,
    /// New connections a second.
    pub(crate) connection_rate: ConnectionRateLimits,
    /// Bytes of a payload at most.
    pub(crate) payload_len_max: u32,
    /// Bytes of large payloads that are being received and decoded, of all connections.
    pub(crate) payload_memory_bytes: usize,
    /// Calls under way on a connection at most.
    pub(crate) calls_max: u32,
    /// Transactions that are open at a time at most.
    pub(crate) transactions_max: usize,
    /// How long a call may take.
    pub(crate) call_wait: Duration,
    /// How long a connection may be silent without calls under way.
    pub(crate) idle: Duration,
    /// How long calls under way are waited for when the server stops.
    pub(crate) drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections_max: 1_024,
            pending_max: 512,
            connection_rate: ConnectionRateLimits::default(),
            payload_len_max: PAYLOAD_LEN_MAX,
            payload_memory_bytes: 256 << 20,
            calls_max: 64,
            transactions_max: 64,
            call_wait: Duration::from_secs(3_600),
            idle: Duration::from_secs(300),
            drain: Duration::from_secs(30),
        }
    }
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct ServerState {
    stores: Arc<Stores>,
    workers: Workers,
    limits: Limits,
    back_off: BackOff,
    connection_rate: ConnectionRateLimiter,
    pending: Arc<PendingConnections>,
    connections: Arc<Semaphore>,
    transactions: Arc<Semaphore>,
    /// Kilobytes that large payloads may take.
    request_memory: Arc<Semaphore>,
    /// Kilobytes that large answers may take while they are sent.
    response_memory: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
}

impl ServerState {
    /// What connections share that end when `stopping` says so. Called within the runtime that serves them.
    fn new(
        stores: Arc<Stores>,
        workers: WorkerOptions,
        limits: Limits,
        stopping: watch::Receiver<bool>,
    ) -> io::Result<ServerState> {
        let runtime = tokio::runtime::Handle::current();
        Ok(ServerState {
            stores,
            workers: Workers::start(workers, runtime)?,
            back_off: BackOff::default(),
            connection_rate: ConnectionRateLimiter::new(limits.connection_rate.clone()),
            pending: PendingConnections::new(limits.pending_max),
            connections: Arc::new(Semaphore::new(limits.connections_max)),
            transactions: Arc::new(Semaphore::new(limits.transactions_max)),
            request_memory: Arc::new(Semaphore::new(limits.payload_memory_bytes >> 10)),
            response_memory: Arc::new(Semaphore::new(limits.payload_memory_bytes >> 10)),
            stopping,
            limits,
        })
    }

    /// Room for an answer of so many bytes that is being sent.
    ///
    /// # Errors
    /// [`Code::Overloaded`] where there is none now, [`Code::TooLarge`] where there never is.
    fn acquire_response_memory(&self, len: u64) -> Result<OwnedSemaphorePermit, Fault> {
        let units = len.div_ceil(1 << 10);
        if units > (self.limits.payload_memory_bytes >> 10) as u64 {
            let why = "the answer is larger than those of all may be: ask for less";
            return Err(Fault::new(Code::TooLarge, why));
        }
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.response_memory).try_acquire_many_owned(units);
        let why = "too many large answers wait to be read: come again";
        permit.map_err(|_| Fault::new(Code::Overloaded, why).with_retry_after(1_000))
    }

    /// Who has this key. A wrong one is answered the later the more often it came from there. `known`: the id of the key
    /// that the connection showed before, which is not noted again.
    ///
    /// # Errors
    /// [`Code::Unauthorized`], which does not tell a wrong key from a store that there is not.
    async fn authenticate(
        &self,
        key: &str,
        store: &str,
        peer: IpAddr,
        route: &'static str,
        known: Option<&str>,
    ) -> Result<Caller, Fault> {
        let caller = self.stores.authenticate(key, store);
        let is_known = |caller: &Caller| known == Some(&caller.key);
        if !caller.as_ref().is_some_and(is_known) {
            audit::record_access(peer, route, caller.as_ref());
        }
        match caller {
            Some(caller) => {
                self.record_valid_key(peer);
                Ok(caller)
            }
            None => {
                self.delay_failure(peer).await;
                let why = "the key is wrong, or there is no such store";
                Err(Fault::new(Code::Unauthorized, why))
            }
        }
    }

    /// Notes that somebody there showed what is right.
    fn record_valid_key(&self, peer: IpAddr) {
        self.back_off.record_success(peer);
        self.connection_rate.record_valid_key(peer, Instant::now());
    }

    /// Lets who showed something wrong wait, the longer the more often that came from there.
    async fn delay_failure(&self, peer: IpAddr) {
        let wait = self.back_off.record_failure(peer, Instant::now());
        tokio::time::sleep(wait).await;
    }
}

/// How a server is started.
#[derive(Clone, Debug)]
pub(crate) struct ServerOptions {
    /// Where the wire protocol is spoken.
    pub(crate) listen: SocketAddr,
    /// Where HTTP is spoken, where it is.
    pub(crate) http: Option<SocketAddr>,
    /// What is particular to HTTP.
    pub(crate) http_options: HttpOptions,
    /// The certificate, where TLS is spoken.
    pub(crate) tls: Option<Tls>,
    /// What it allows.
    pub(crate) limits: Limits,
    /// How much is done at a time.
    pub(crate) workers: WorkerOptions,
}

/// Listeners that take connections, and what these share.
#[derive(Debug)]
pub(crate) struct Listeners {
    shared: Arc<ServerState>,
    stop: watch::Sender<bool>,
    address: SocketAddr,
    http: Option<SocketAddr>,
    tls: Option<Tls>,
}

/// What is spoken on a listener.
#[derive(Clone, Debug)]
enum ListenerProtocol {
    /// The wire protocol.
    Wire,
    /// HTTP, with these routes.
    Http(axum::Router),
}

impl ListenerProtocol {
    /// What its port is called in metrics and logs.
    fn name(&self) -> &'static str {
        match self {
            ListenerProtocol::Wire => "wire",
            ListenerProtocol::Http(_) => "http",
        }
    }
}

impl Listeners {
    /// Listens, and answers from tasks of the runtime that it is called in.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub(crate) async fn start(
        stores: Arc<Stores>,
        options: ServerOptions,
    ) -> io::Result<Listeners> {
        let (stop, stopping) = watch::channel(false);
        let shared = ServerState::new(stores, options.workers, options.limits, stopping)?;
        let shared = Arc::new(shared);
        let listener = TcpListener::bind(options.listen).await?;
        let address = listener.local_addr()?;
        let tls = options.tls;
        tokio::spawn(accept(
            listener,
            ListenerProtocol::Wire,
            tls.clone(),
            Arc::clone(&shared),
        ));
        let mut http = None;
        if let Some(listen) = options.http {
            let listener = TcpListener::bind(listen).await?;
            http = Some(listener.local_addr()?);
            let exporter = prometheus::install_exporter();
            let routes = http::router(Arc::clone(&shared), options.http_options, exporter.clone());
            let protocol = ListenerProtocol::Http(routes);
            tokio::spawn(run_upkeep(exporter, Arc::clone(&shared)));
            tokio::spawn(accept(listener, protocol, tls.clone(), Arc::clone(&shared)));
        }
        tokio::spawn(refresh(Arc::clone(&shared)));
        Ok(Listeners {
            shared,
            stop,
            address,
            http,
            tls,
        })
    }

    /// Where the wire protocol is spoken.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where HTTP is spoken.
    pub(crate) fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Reads keys and certificates again. What cannot be read stays as it was, and is told in the log.
    pub(crate) fn reload(&self) {
        match self.shared.stores.refresh() {
            Ok(()) => tracing::info!("keys were read again"),
            Err(error) => tracing::error!(%error, "keys were not read again"),
        }
        if let Some(tls) = &self.tls {
            match tls.reload() {
                Ok(()) => tracing::info!("certificates were read again"),
                Err(error) => tracing::error!(%error, "certificates were not read again"),
            }
        }
    }

    /// Takes no more connections and calls, waits a while for those under way, and makes everything durable.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(true);
        let all = u32::try_from(self.shared.limits.connections_max).unwrap_or(u32::MAX);
        let ended = self.shared.connections.acquire_many(all);
        if tokio::time::timeout(self.shared.limits.drain, ended)
            .await
            .is_err()
        {
            tracing::warn!("calls under way were not waited for any longer");
        }
        let shared = Arc::clone(&self.shared);
        let closed = tokio::task::spawn_blocking(move || shared.stores.close());
        let _ = closed.await;
    }
}

/// Takes connections until the server stops.
async fn accept(
    listener: TcpListener,
    protocol: ListenerProtocol,
    tls: Option<Tls>,
    shared: Arc<ServerState>,
) {
    let mut stopping = shared.stopping.clone();
    let port = protocol.name();
    let admit = |peer: SocketAddr| {
        let admitted = shared.connection_rate.admit(peer.ip(), Instant::now());
        if let Err(limit) = &admitted {
            audit::record_refused_connection(peer.ip(), port, *limit);
        }
        admitted.is_ok()
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener::accept(&listener, admit) => accepted,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Files may be had again once other connections end.
                tracing::warn!(%error, "a connection was not taken");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        let slot = shared.pending.register();
        let number = slot.number();
        let (protocol, tls) = (protocol.clone(), tls.clone());
        let serving = connection(Arc::clone(&shared), stream, protocol, tls, peer.ip(), slot);
        let task = tokio::spawn(serving);
        shared.pending.set_task(number, task.abort_handle());
    }
}

/// How long nothing is accepted after a failure.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

async fn connection(
    shared: Arc<ServerState>,
    stream: TcpStream,
    protocol: ListenerProtocol,
    tls: Option<Tls>,
    peer: IpAddr,
    slot: PendingSlot,
) {
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else {
        return match protocol {
            ListenerProtocol::Wire => {
                let (read, write) = stream.into_split();
                wire::serve(shared, read, Socket::new(write), peer, slot).await;
            }
            ListenerProtocol::Http(routes) => {
                http::serve(shared, routes, stream, peer, false, slot).await
            }
        };
    };
    let acceptor = match protocol {
        ListenerProtocol::Wire => tls.acceptor(Protocol::Wire),
        ListenerProtocol::Http(_) => tls.acceptor(Protocol::Http),
    };
    let secured = acceptor.accept(stream);
    let Ok(Ok(stream)) = tokio::time::timeout(wire::HELLO_WAIT, secured).await else {
        return;
    };
    match protocol {
        ListenerProtocol::Wire => {
            let (read, write) = tokio::io::split(stream);
            wire::serve(shared, read, write, peer, slot).await;
        }
        ListenerProtocol::Http(routes) => {
            http::serve(shared, routes, stream, peer, true, slot).await
        }
    }
}

/// Reads keys again when their files change, and closes stores that nobody uses.
async fn refresh(shared: Arc<ServerState>) {
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(REFRESH_INTERVAL) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        let stores = Arc::clone(&shared.stores);
        // What fails is in the log.
        let _ = tokio::task::spawn_blocking(move || stores.refresh()).await;
        let served = shared.limits.connections_max - shared.connections.available_permits();
        metrics::gauge!("loci_connections").set(served as f64);
        metrics::gauge!("loci_connections_pending").set(shared.pending.len() as f64);
        metrics::gauge!("loci_calls_waiting").set(shared.workers.waiting() as f64);
    }
}

/// Puts figures away every few seconds, until the server stops.
async fn run_upkeep(exporter: MetricsExporter, shared: Arc<ServerState>) {
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_INTERVAL) => exporter.run_upkeep(),
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

/// How often figures are put away.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// How often files of keys are looked at.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
