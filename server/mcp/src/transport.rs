//! The tools over HTTP, a message a request, and over a pair of streams.
//!
//! Always true: no message is longer than [`MESSAGE_LEN_MAX`]; nothing is retained between requests over HTTP. Futures are
//! boxed, so that the protocol's code is compiled in this crate and not in its callers.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use rmcp::ServiceExt;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Dispatcher, MESSAGE_LEN_MAX, McpServer};

/// What a request is answered with, or the error of a body that is no message.
pub type HttpAnswer = Result<Response<BoxBody<Bytes, Infallible>>, serde_json::Error>;

/// MCP over HTTP, for the caller of each request. It checks neither keys nor names of hosts.
#[derive(Clone)]
pub struct HttpService(StreamableHttpService<McpServer, NeverSessionManager>);

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpService")
    }
}

impl Default for HttpService {
    fn default() -> HttpService {
        let tools = McpServer::per_request();
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(MESSAGE_LEN_MAX)
            .disable_allowed_hosts();
        let sessions = Arc::new(NeverSessionManager::default());
        HttpService(StreamableHttpService::new(
            move || Ok(tools.clone()),
            sessions,
            config,
        ))
    }
}

impl HttpService {
    /// Answers the message of a request, with the rights of `dispatcher`.
    pub fn answer(
        &self,
        mut request: Request<Bytes>,
        dispatcher: Dispatcher,
    ) -> Pin<Box<dyn Future<Output = HttpAnswer> + Send>> {
        let service = self.0.clone();
        request.extensions_mut().insert(dispatcher);
        Box::pin(async move {
            let bytes = request.body().clone();
            let response = service.handle(request.map(Full::new)).await;
            if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
                serde_json::from_slice::<ClientJsonRpcMessage>(&bytes)?;
            }
            Ok(response)
        })
    }
}

/// Serves one caller over a pair of streams until the input ends.
///
/// # Errors
/// When the first message is none of MCP, or the service fails.
pub fn serve_streams(
    dispatcher: Dispatcher,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
    serve(dispatcher, Box::new(input), Box::new(output))
}

/// [`serve_streams`] over streams of any type.
fn serve(
    dispatcher: Dispatcher,
    input: Box<dyn AsyncRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
    let transport = AsyncRwTransport::new_server(input, output);
    let transport = transport.with_max_line_length(MESSAGE_LEN_MAX);
    Box::pin(async {
        let service = match McpServer::for_caller(dispatcher).serve(transport).await {
            Ok(service) => service,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(io::Error::other(error)),
        };
        service.waiting().await.map_err(io::Error::other)?;
        Ok(())
    })
}
