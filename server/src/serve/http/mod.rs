//! HTTP: connections and routes.
//!
//! Always true:
//!
//! - A request without a valid key reaches no store. `/healthz`, `/readyz`, `/openapi.json` and the pages to sign in need
//!   none.
//! - A request names one host. A browser treats every response as plain data, unless it is a page.
//! - The server may close a connection without a key in favour of a newer one.
//! - A body is read after the key was checked, within its time and within the memory that all connections share.
//! - A large response needs a permit of that memory. If the client does not read it, the connection is closed.
//!
//! Start reading at [`serve`], then [`router`].

mod access;
mod api;
mod body;
mod call;
mod cors;
mod guard;
mod mcp;
mod metrics_route;
mod pages;
mod problem;
mod stall_timeout;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use loci_protocol::fault::{Code, Fault};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tower::ServiceExt;
use tower_http::compression::CompressionLayer;

use super::ServerState;
use super::config::Secret;
use super::pending::PendingSlot;
use super::prometheus::MetricsExporter;
pub(crate) use call::{OutputForm, PendingCall, begin};
pub(crate) use problem::Problem;
use stall_timeout::StallTimeout;

/// How long the head of a request is waited for, also between requests.
const HEAD_WAIT: Duration = Duration::from_secs(30);
/// Bytes of a request's head at most.
const HEAD_LEN_MAX: usize = 32 << 10;
/// Fields of a request's head at most.
const FIELDS_MAX: usize = 64;

/// What is particular to HTTP.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpOptions {
    /// Origins whose pages may call; `*` alone for all.
    pub(crate) cors_origins: Vec<String>,
    /// What lets a program read `/metrics`.
    pub(crate) metrics_token: Option<Secret>,
}

/// What all requests share.
#[derive(Clone, Debug)]
pub(crate) struct HttpState {
    shared: Arc<ServerState>,
    options: Arc<HttpOptions>,
    /// The metrics.
    exporter: MetricsExporter,
    /// Who signed in on the pages.
    sessions: Arc<pages::Sessions>,
}

/// What requests of one connection share.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The address of the client.
    peer: IpAddr,
    /// Whether it is encrypted.
    is_secure: bool,
    state: Mutex<ConnectionState>,
    /// There is no room for it: it ends with the answer that says so.
    is_refused: AtomicBool,
}

#[derive(Debug, Default)]
struct ConnectionState {
    /// Its slot among those without a key.
    pending: Option<PendingSlot>,
    /// Its permit among the others.
    permit: Option<OwnedSemaphorePermit>,
    /// The id of the key that it showed last.
    key: Option<String>,
}

impl Connection {
    /// Leaves for the connections that have shown a key.
    fn admit(&self, shared: &ServerState) -> Result<(), Fault> {
        let mut state = self.state.lock();
        if state.permit.is_none() {
            let slot = state.pending.take();
            state.permit = slot.and_then(|place| place.admit(&shared.connections));
        }
        match state.permit {
            Some(_) => Ok(()),
            None => {
                self.is_refused.store(true, Ordering::Relaxed);
                let why = "the server has too many connections: try again later";
                Err(Fault::new(Code::Overloaded, why).with_retry_after(1_000))
            }
        }
    }
}

/// Serves a connection until either side ends it. `place`: its slot among those without a key.
pub(super) async fn serve<S>(
    shared: Arc<ServerState>,
    routes: Router,
    stream: S,
    peer: IpAddr,
    is_secure: bool,
    slot: PendingSlot,
) where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let connection = Arc::new(Connection {
        peer,
        is_secure,
        state: Mutex::new(ConnectionState {
            pending: Some(slot),
            ..ConnectionState::default()
        }),
        is_refused: AtomicBool::new(false),
    });
    let of = Arc::clone(&connection);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Arc::clone(&of));
        let (routes, of) = (routes.clone(), Arc::clone(&of));
        async move {
            let mut response = routes.oneshot(request).await?;
            if of.is_refused.load(Ordering::Relaxed) {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut served = std::pin::pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WAIT)
            .max_buf_size(HEAD_LEN_MAX)
            .max_headers(FIELDS_MAX)
            .serve_connection(TokioIo::new(StallTimeout::new(Box::pin(stream))), service)
    );
    let mut stopping = shared.stopping.clone();
    let stops = async move {
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    let ended = tokio::select! {
        ended = &mut served => Some(ended),
        () = stops => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection of HTTP ended");
    }
}

/// The routes of a server.
pub(super) fn router(
    shared: Arc<ServerState>,
    options: HttpOptions,
    exporter: MetricsExporter,
) -> Router {
    let cors = cors::layer(&options.cors_origins);
    let options = Arc::new(options);
    let http = HttpState {
        shared,
        options,
        exporter,
        sessions: Arc::default(),
    };
    let routes = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics_route::show_metrics))
        .merge(api::router())
        .merge(mcp::router())
        .merge(pages::router())
        .fallback(|headers: HeaderMap| async move {
            if pages::is_browser(&headers) {
                pages::not_found()
            } else {
                Problem::no_such_route().into_response()
            }
        })
        .method_not_allowed_fallback(|| async {
            Problem::from_status(StatusCode::METHOD_NOT_ALLOWED)
        })
        .layer(from_fn_with_state(
            http.clone(),
            body::limit_response_memory,
        ))
        .layer(CompressionLayer::new())
        .layer(from_fn(api::add_encoding_to_etag))
        .with_state(http);
    let routes = match cors {
        Some(cors) => routes.layer(cors),
        None => routes,
    };
    routes
        .layer(from_fn(guard::require_one_host))
        .layer(map_response(guard::set_default_headers))
        .layer(from_fn(metrics_route::count_request))
}

/// Whether the server accepts calls.
async fn ready(State(http): State<HttpState>) -> Response {
    if *http.shared.stopping.borrow() {
        Problem::from(Fault::new(Code::Unavailable, "the server is stopping")).into_response()
    } else {
        "ready\n".into_response()
    }
}
