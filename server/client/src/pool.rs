//! A client that does not block: a pool of connections, which are opened again when they break.
//!
//! Start reading at [`AsyncClient`].

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loci_protocol::call::{
    Analyse, Ask, AskPrompt, Begin, Change, Commit, Finish, GetSettings, GetStats, GiveFeedback,
    Method, Outcome, Progress, Record, Rollback, Search, SetSetting, Step, Write,
};
use loci_types::answer::{Answer, Prompt};
use loci_types::records::Feedback;
use loci_types::search::SearchRequest;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::address::Address;
use crate::connection::{Connection, Session};
use crate::error::ClientError;

/// How a client behaves.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Connections at most.
    pub connections_max: usize,
    /// How long opening a connection may take.
    pub connect_wait: Duration,
    /// How long a call may take between two replies.
    pub call_wait: Duration,
    /// How often a call that allows it is repeated.
    pub retries: u32,
    /// Time before the first try again; it doubles with each.
    pub retry_after: Duration,
    /// PEM file with the authorities that the server's certificate may be of, in the place of the public ones.
    pub authorities: Option<PathBuf>,
}

impl Default for ClientOptions {
    /// 4 connections, 10 seconds to connect, 60 for a call, 8 tries again from 50 ms on.
    fn default() -> Self {
        ClientOptions {
            connections_max: 4,
            connect_wait: Duration::from_secs(10),
            call_wait: Duration::from_secs(60),
            retries: 8,
            retry_after: Duration::from_millis(50),
            authorities: None,
        }
    }
}

/// A client of a server. Cloned, it shares its connections. It needs a tokio runtime with I/O and time.
#[derive(Clone)]
pub struct AsyncClient {
    inner: Arc<Inner>,
}

struct Inner {
    address: Address,
    tls: Option<TlsConnector>,
    options: ClientOptions,
    connections: Mutex<Vec<Arc<Connection>>>,
    /// Held while a connection is opened.
    connecting: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for AsyncClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AsyncClient")
            .field(&self.inner.address)
            .finish()
    }
}

impl AsyncClient {
    /// Connects to the server at `address`: `loci://KEY@HOST:PORT/STORE`, see [`Address`].
    ///
    /// # Errors
    /// [`ClientError::Address`]; [`Code::Unauthorized`](crate::Code::Unauthorized) for a wrong key.
    pub async fn connect(address: &str) -> Result<AsyncClient, ClientError> {
        Self::connect_with(address.parse()?, ClientOptions::default()).await
    }

    /// Connects as `options` say.
    ///
    /// # Errors
    /// As [`AsyncClient::connect`]; [`ClientError::Tls`] for authorities that cannot be read.
    pub async fn connect_with(
        address: Address,
        options: ClientOptions,
    ) -> Result<AsyncClient, ClientError> {
        let tls = if address.tls {
            Some(connector(&options)?)
        } else {
            None
        };
        let inner = Inner {
            address,
            tls,
            options,
            connections: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
        };
        let client = AsyncClient {
            inner: Arc::new(inner),
        };
        client.connection().await?;
        Ok(client)
    }

    /// What the server says about this client: its store, role and limits.
    ///
    /// # Errors
    /// When there is no connection and none can be made.
    pub async fn session(&self) -> Result<Session, ClientError> {
        Ok(self.connection().await?.session.clone())
    }

    /// The connection with the fewest calls, if it accepts more, or a new one.
    async fn connection(&self) -> Result<Arc<Connection>, ClientError> {
        if let Some(connection) = self.available() {
            return Ok(connection);
        }
        let _one = self.inner.connecting.lock().await;
        // Another task may have opened one meanwhile.
        if let Some(connection) = self.available() {
            return Ok(connection);
        }
        let Inner {
            address,
            tls,
            options,
            ..
        } = &*self.inner;
        match Connection::open(address, tls.as_ref(), options.connect_wait).await {
            Ok(created) => {
                let created = Arc::new(created);
                self.inner.connections.lock().push(Arc::clone(&created));
                Ok(created)
            }
            // A busy connection is better than none.
            Err(error) => self.least_busy().ok_or(error),
        }
    }

    fn least_busy(&self) -> Option<Arc<Connection>> {
        let mut connections = self.inner.connections.lock();
        connections.retain(|connection| connection.is_open());
        let least = connections
            .iter()
            .min_by_key(|connection| connection.in_flight())?;
        Some(Arc::clone(least))
    }

    /// The open connection with the fewest calls, unless another one should be made first.
    fn available(&self) -> Option<Arc<Connection>> {
        let mut connections = self.inner.connections.lock();
        connections.retain(|connection| connection.is_open());
        let least = connections
            .iter()
            .min_by_key(|connection| connection.in_flight())?;
        let is_full = connections.len() >= self.inner.options.connections_max;
        (is_full || least.in_flight() == 0).then(|| Arc::clone(least))
    }

    /// Makes any call. It is made again while the server has no room, and after a connection broke where that does no
    /// harm.
    ///
    /// # Errors
    /// [`ClientError::Fault`] of the server.
    pub async fn call<M: Method + Sync>(&self, method: &M) -> Result<M::Last, ClientError> {
        self.call_each(method, &mut |_| {}).await
    }

    /// As [`AsyncClient::call`]; `each` is given what comes before the last reply. Once something came, the call is not made
    /// again.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn call_each<M: Method + Sync>(
        &self,
        method: &M,
        each: &mut (dyn FnMut(M::Each) + Send),
    ) -> Result<M::Last, ClientError> {
        let options = &self.inner.options;
        let mut wait = options.retry_after;
        let has_received = AtomicBool::new(false);
        let each = &mut |item: M::Each| {
            has_received.store(true, Ordering::Relaxed);
            each(item);
        };
        for left in (0..=options.retries).rev() {
            let connection = self.connection().await;
            let (result, connected) = match connection {
                Ok(connection) => {
                    let called = connection.call(method, options.call_wait, each).await;
                    (called, true)
                }
                Err(error) => (Err(error), false),
            };
            let error = match result {
                Ok((_, last)) => return Ok(last),
                Err(error) => error,
            };
            // A call that was never sent, or was refused, was not performed.
            let harmless = !connected || method.is_idempotent();
            let may = error.is_transient() || (error.is_outcome_unknown() && harmless);
            if !may || left == 0 || has_received.load(Ordering::Relaxed) {
                return Err(error);
            }
            sleep(retry_after(&error).unwrap_or(wait)).await;
            wait = wait.saturating_mul(2);
        }
        Err(ClientError::Timeout)
    }

    /// As `Database::search`.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn search(&self, request: &SearchRequest) -> Result<Answer, ClientError> {
        let request = Box::new(request.clone());
        self.call(&Search {
            request,
            record: false,
        })
        .await
    }

    /// As `Database::ask`.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn ask(&self, request: &SearchRequest) -> Result<Answer, ClientError> {
        let request = Box::new(request.clone());
        self.call(&Ask {
            request,
            record: false,
        })
        .await
    }

    /// As `Database::prompt`.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn prompt(&self, request: &SearchRequest) -> Result<Prompt, ClientError> {
        let request = Box::new(request.clone());
        self.call(&AskPrompt { request }).await
    }

    /// The store's settings by name.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn settings(&self) -> Result<Value, ClientError> {
        Ok(self.call(&GetSettings {}).await?.0)
    }

    /// As `Database::set`; needs a key of an admin.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn set(&self, name: &str, value: &str) -> Result<(), ClientError> {
        let (name, value) = (name.to_owned(), value.to_owned());
        self.call(&SetSetting { name, value }).await
    }

    /// Figures of the store, as `loci stats --json` prints them.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn stats(&self) -> Result<Value, ClientError> {
        Ok(self.call(&GetStats {}).await?.0)
    }

    /// Makes changes in one transaction: all or nothing, durable when it returns.
    ///
    /// # Errors
    /// As [`AsyncClient::call`]. When the connection breaks, the changes may have been made.
    pub async fn apply(&self, changes: Vec<Change>) -> Result<Vec<Outcome>, ClientError> {
        self.call(&Write { changes }).await
    }

    /// As `Database::record`: what the answer is called.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn record(
        &self,
        request: &SearchRequest,
        answer: &Answer,
    ) -> Result<u64, ClientError> {
        self.call(&Record {
            request: Box::new(request.clone()),
            answer: Box::new(answer.clone()),
        })
        .await
    }

    /// As `Database::feedback`; `hit`: its rank, or its chunk's key.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn feedback(
        &self,
        response: u64,
        hit: &str,
        feedback: Feedback,
    ) -> Result<(), ClientError> {
        let hit = hit.to_owned();
        self.call(&GiveFeedback {
            response,
            hit,
            feedback,
        })
        .await
    }

    /// As `Database::finish`.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn finish(
        &self,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), ClientError> {
        self.call_each(&Finish {}, progress).await
    }

    /// As `Database::analyse`; needs a key of an admin.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn analyse(
        &self,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Value, ClientError> {
        Ok(self.call_each(&Analyse {}, progress).await?.0)
    }

    /// Opens a transaction. Other writers of the store wait until it is over, so make it short; where the changes are
    /// known beforehand, [`AsyncClient::apply`] is better.
    ///
    /// # Errors
    /// As [`AsyncClient::call`].
    pub async fn begin(&self) -> Result<AsyncTransaction, ClientError> {
        let Inner {
            address,
            tls,
            options,
            ..
        } = &*self.inner;
        // A transaction has a connection of its own, as each has but one.
        let connection = Connection::open(address, tls.as_ref(), options.connect_wait).await?;
        let (id, ()) = connection
            .call(&Begin {}, options.call_wait, &mut |_| {})
            .await?;
        Ok(AsyncTransaction {
            connection,
            id,
            wait: options.call_wait,
        })
    }
}

/// How long to wait after a fault.
fn retry_after(error: &ClientError) -> Option<Duration> {
    match error {
        ClientError::Fault(fault) => fault
            .retry_after_ms
            .map(|ms| Duration::from_millis(ms.into())),
        _ => None,
    }
}

/// A transaction that is open. Dropped, nothing of it is stored.
#[derive(Debug)]
pub struct AsyncTransaction {
    connection: Connection,
    id: u64,
    wait: Duration,
}

impl AsyncTransaction {
    /// Makes a change; it sees those before it. After a failure the transaction is over.
    ///
    /// # Errors
    /// [`ClientError::Fault`] of the server.
    pub async fn step(&self, change: Change) -> Result<Outcome, ClientError> {
        let step = Step {
            transaction: self.id,
            change,
        };
        let (_, outcome) = self.connection.call(&step, self.wait, &mut |_| {}).await?;
        Ok(outcome)
    }

    /// Makes all changes durable.
    ///
    /// # Errors
    /// [`ClientError::Fault`] of the server; when the connection breaks, the changes may have been made.
    pub async fn commit(self) -> Result<(), ClientError> {
        let commit = Commit {
            transaction: self.id,
        };
        self.connection
            .call(&commit, self.wait, &mut |_| {})
            .await?;
        Ok(())
    }

    /// Drops all changes.
    ///
    /// # Errors
    /// When the connection breaks; the changes are dropped then, too.
    pub async fn rollback(self) -> Result<(), ClientError> {
        let rollback = Rollback {
            transaction: self.id,
        };
        self.connection
            .call(&rollback, self.wait, &mut |_| {})
            .await?;
        Ok(())
    }
}

fn connector(options: &ClientOptions) -> Result<TlsConnector, ClientError> {
    let failed = |error: &dyn std::fmt::Display| ClientError::Tls(error.to_string());
    let mut roots = RootCertStore::empty();
    match &options.authorities {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(path) => {
            let certificates =
                CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| failed(&error))?;
                roots.add(certificate).map_err(|error| failed(&error))?;
            }
        }
    }
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"loci/1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
