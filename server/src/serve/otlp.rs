//! Spans on their way to a collector: OTLP over HTTP, as protobuf.
//!
//! Always true: spans wait in a queue of bounded length, and are sent by a thread of its own; a collector that is down or
//! slow loses spans and slows no call.
//!
//! Start reading at [`Exporter::begin`].

use std::fmt;
use std::io;
use std::net::ToSocketAddrs;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::header::HOST;
use axum::http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

use crate::service::traces;

/// Where a collector takes spans, after its address.
const PATH: &str = "/v1/traces";
/// How long a check of the collector may take.
const REACH_WAIT: Duration = Duration::from_secs(2);
/// How long one message may take.
const SEND_WAIT: Duration = Duration::from_secs(5);
/// How long the last spans are waited for when the server stops.
const STOP_WAIT: Duration = Duration::from_secs(6);
/// Bytes of an answer at most.
const ANSWER_LEN_MAX: usize = 64 << 10;
/// Where systems keep the certificates that they trust; `SSL_CERT_FILE` names another file.
const ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OtlpError {
    /// The exporter does not take the address, or the environment (`OTEL_EXPORTER_OTLP_HEADERS` and so on).
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
    /// No certificates to check the collector's by.
    #[error("no certificates that are trusted: name their file in SSL_CERT_FILE")]
    NoRoots,
    /// The system gives no runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// TLS cannot be spoken.
    #[error("TLS: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
}

/// What sends spans.
#[derive(Debug)]
pub(crate) struct Exporter(SdkTracerProvider);

impl Exporter {
    /// Sends spans of this share of the calls to the collector at `endpoint`, by tasks of `runtime`.
    ///
    /// # Errors
    /// [`OtlpError`] where that cannot be; a collector that does not answer is none.
    pub(crate) fn begin(
        endpoint: &str,
        sample_rate: f64,
        runtime: Handle,
    ) -> Result<Exporter, OtlpError> {
        let exporter = exporter(endpoint, runtime)?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder_empty()
            .with_service_name("loci")
            .with_attribute(version);
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            // A span exists only for a call that is sampled.
            .with_sampler(Sampler::AlwaysOn)
            .with_resource(resource.build())
            .build();
        traces::init(provider.tracer("loci"), sample_rate);
        Ok(Exporter(provider))
    }

    /// Sends what waits still. Blocks for [`STOP_WAIT`] at most.
    pub(crate) fn stop(self) {
        // The client logs failures.
        let _ = self.0.shutdown_with_timeout(STOP_WAIT);
    }
}

/// Whether spans could be sent there, for all that is known without sending one.
///
/// # Errors
/// Those of [`Exporter::begin`].
pub(crate) fn check(endpoint: &str) -> Result<(), OtlpError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    exporter(endpoint, runtime.handle().clone()).map(drop)
}

fn exporter(endpoint: &str, runtime: Handle) -> Result<SpanExporter, OtlpError> {
    let client = Client {
        tls: if endpoint.starts_with("https:") {
            Some(connector()?)
        } else {
            None
        },
        runtime,
        is_failing: AtomicBool::new(false),
    };
    let base = endpoint.trim_end_matches('/');
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{}{PATH}", base.trim_end_matches(PATH)))
        .with_timeout(SEND_WAIT)
        .build()?;
    Ok(exporter)
}

/// What trusts the system's certificates.
fn connector() -> Result<TlsConnector, OtlpError> {
    let named = std::env::var("SSL_CERT_FILE").ok();
    let files = named.iter().map(String::as_str).chain(ROOTS);
    let mut roots = RootCertStore::empty();
    for file in files {
        let Ok(certificates) = CertificateDer::pem_file_iter(file) else {
            continue;
        };
        roots.add_parsable_certificates(certificates.filter_map(Result::ok));
        if !roots.is_empty() {
            break;
        }
    }
    if roots.is_empty() {
        return Err(OtlpError::NoRoots);
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Sends one message at a time, each over a new connection.
struct Client {
    tls: Option<TlsConnector>,
    runtime: Handle,
    /// Whether the last message failed, which is logged once.
    is_failing: AtomicBool,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

type Sending<'s> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 's>>;

impl HttpClient for Client {
    fn send_bytes<'s, 'f>(&'s self, request: Request<Bytes>) -> Sending<'f>
    where
        's: 'f,
    {
        Box::pin(async move {
            let sending = send(request, self.tls.clone());
            let sending = async move { timeout(SEND_WAIT, sending).await };
            // Whoever waits here is a thread without a runtime.
            let sent = match self.runtime.spawn(sending).await {
                Ok(Ok(sent)) => sent,
                Ok(Err(_)) => Err("it did not answer in time".into()),
                Err(_) => Err("the server is ending".into()),
            };
            self.log_transition(&sent);
            sent
        })
    }
}

impl Client {
    /// Logs when spans begin to be lost, and when the collector accepts them again.
    fn log_transition(&self, sent: &Result<Response<Bytes>, HttpError>) {
        let why = match sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(response.status().to_string()),
            Err(error) => Some(error.to_string()),
        };
        let was_failing = self.is_failing.swap(why.is_some(), Ordering::Relaxed);
        match why {
            Some(why) if !was_failing => {
                tracing::warn!(
                    why,
                    "the collector accepts no traces: they are lost meanwhile"
                );
            }
            None if was_failing => tracing::info!("the collector accepts traces again"),
            _ => {}
        }
    }
}

fn host_and_port(uri: &Uri) -> Option<(String, u16)> {
    let host = uri.host()?.trim_matches(['[', ']']).to_owned();
    let port = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    Some((host, uri.port_u16().unwrap_or(port)))
}

/// Connects to `endpoint`, within a short time, and closes the connection.
pub(super) fn reach(endpoint: &str) -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "that is no address");
    let uri: Uri = endpoint.parse().map_err(|_| wrong())?;
    let (host, port) = host_and_port(&uri).ok_or_else(wrong)?;
    let mut failed = wrong();
    for address in (&host[..], port).to_socket_addrs()? {
        match std::net::TcpStream::connect_timeout(&address, REACH_WAIT) {
            Ok(_) => return Ok(()),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Sends a message and reads the response.
async fn send(
    request: Request<Bytes>,
    tls: Option<TlsConnector>,
) -> Result<Response<Bytes>, HttpError> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "that is no address");
    let authority = request.uri().authority().ok_or_else(wrong)?.clone();
    let (host, port) = host_and_port(request.uri()).ok_or_else(wrong)?;
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().ok_or_else(wrong)?;
    head.uri = Uri::from(path.clone());
    let field = HeaderValue::from_str(authority.as_str())?;
    head.headers.insert(HOST, field);
    let request = Request::from_parts(head, Full::new(body));
    let stream = TcpStream::connect((&host[..], port)).await?;
    match tls {
        None => exchange(stream, request).await,
        Some(tls) => {
            let stream = tls.connect(ServerName::try_from(host)?, stream).await?;
            exchange(stream, request).await
        }
    }
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, HttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request_future = async {
        let response = sender.send_request(request).await?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_LEN_MAX).collect().await?;
        Ok(Response::from_parts(head, body.to_bytes()))
    };
    let mut request_future = std::pin::pin!(request_future);
    tokio::select! {
        answer = &mut request_future => answer,
        // The connection may end before its last bytes are read.
        _ = connection => request_future.await,
    }
}
