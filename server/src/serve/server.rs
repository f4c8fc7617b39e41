//! A server from its configuration to its end: opened, started, stopped.
//!
//! Start reading at [`Server::open`].

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use loci_protocol::fault::Fault;
use locidb::Database;
use tokio::runtime::Runtime;

use super::config::Config;
use super::otlp::Exporter;
use super::{Listeners, ServerOptions, Tls};
use crate::access::{AccessError, Key};
use crate::service::{ParserFactory, StoreLocation, Stores, audit};

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// What a setting names cannot be used. Change the setting, or what it names.
    #[error("{setting}: {why}")]
    Setting {
        /// The setting, or what it is part of.
        setting: &'static str,
        /// Why it cannot be used.
        why: String,
    },
    /// Keys cannot be read or created.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The one store cannot be created.
    #[error(transparent)]
    Store(#[from] locidb::Error),
    /// The one store cannot be opened.
    #[error(transparent)]
    Refused(Fault),
    /// The system gives no threads.
    #[error(transparent)]
    Threads(io::Error),
    /// The server cannot listen.
    #[error("listening on {address}")]
    Listen {
        /// Where the wire protocol was to be spoken.
        address: SocketAddr,
        /// Why it cannot be.
        source: io::Error,
    },
}

/// A server whose stores are known, and that does not listen yet.
#[derive(Debug)]
pub struct Server {
    stores: Arc<Stores>,
    options: ServerOptions,
    /// Where spans go, and of which share of the calls.
    traces: Option<(String, f64)>,
}

impl Server {
    /// Reads certificates, finds the stores and reads their keys. A single store is created if it is missing, and opened.
    /// `parser`: parses the files that callers send.
    ///
    /// # Errors
    /// [`StartError`] where something that starting needs is not as it must be.
    pub fn open(config: &Config, parser: ParserFactory) -> Result<Server, StartError> {
        let tls = match config.tls() {
            Some((certificate, key)) => {
                let tls = Tls::open(certificate.to_owned(), key.to_owned());
                Some(tls.map_err(|error| setting("TLS", error))?)
            }
            None => None,
        };
        let stores = Arc::new(stores(config, parser)?);
        audit::set_slow_threshold(config.slow());
        let traces = config.traces();
        Ok(Server {
            stores,
            options: config.server(tls),
            traces: traces.map(|(endpoint, share)| (endpoint.to_owned(), share)),
        })
    }

    /// Creates an admin key for each store without keys, if keys are needed: the store's name, and its key. A key is returned
    /// only here, and stored only as a hash.
    ///
    /// # Errors
    /// [`AccessError`] where a key cannot be created or kept.
    pub fn first_keys(&self) -> Result<Vec<(String, Key)>, AccessError> {
        self.stores.create_first_keys()
    }

    /// Listens, and answers from threads of its own.
    ///
    /// # Errors
    /// [`StartError`] where an address cannot be listened on, a thread cannot be started, or spans cannot be sent.
    pub fn start(self) -> Result<RunningServer, StartError> {
        let runtime = self.options.workers.runtime();
        let runtime = runtime.map_err(StartError::Threads)?;
        let exporter = match &self.traces {
            Some((endpoint, share)) => {
                let exporter = Exporter::begin(endpoint, *share, runtime.handle().clone());
                Some(exporter.map_err(|error| setting("otlp_endpoint", error))?)
            }
            None => None,
        };
        let address = self.options.listen;
        match runtime.block_on(Listeners::start(self.stores, self.options)) {
            Ok(listeners) => Ok(RunningServer {
                listeners,
                exporter,
                runtime,
            }),
            Err(source) => {
                if let Some(exporter) = exporter {
                    exporter.stop();
                }
                Err(StartError::Listen { address, source })
            }
        }
    }
}

fn setting(setting: &'static str, error: impl ToString) -> StartError {
    StartError::Setting {
        setting,
        why: error.to_string(),
    }
}

/// The stores to host. What keeps the one store from being opened is an error now.
fn stores(config: &Config, parser: ParserFactory) -> Result<Stores, StartError> {
    let place = config.store_location();
    match &place {
        StoreLocation::Single(folder) if !folder.join("loci.redb").is_file() => {
            Database::open(folder)?.close();
        }
        StoreLocation::Root(root) if !root.is_dir() => {
            let why = format!("there is no folder {}: make it", root.display());
            return Err(setting("root", why));
        }
        _ => {}
    }
    let is_one = matches!(place, StoreLocation::Single(_));
    let stores = Stores::new(place, config.stores(parser))?;
    if is_one {
        for store in stores.all() {
            store.database().map_err(StartError::Refused)?;
        }
    }
    Ok(stores)
}

/// A server that answers. [`RunningServer::stop`] ends it; dropped, it ends without finishing the calls in flight.
#[derive(Debug)]
pub struct RunningServer {
    listeners: Listeners,
    exporter: Option<Exporter>,
    runtime: Runtime,
}

impl RunningServer {
    /// Where the wire protocol is spoken.
    pub fn address(&self) -> SocketAddr {
        self.listeners.address()
    }

    /// Where HTTP is spoken, if it is.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.listeners.http()
    }

    /// Waits for `future`, as for a signal, while the server answers. It runs within the server's runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Reads keys and certificates again. What cannot be read stays as it was, and is in the log.
    pub fn reload(&self) {
        self.listeners.reload();
    }

    /// Accepts no more connections and calls, waits a while for those in flight, makes everything durable, and sends the
    /// spans that wait.
    pub fn stop(self) {
        self.runtime.block_on(self.listeners.stop());
        if let Some(exporter) = self.exporter {
            exporter.stop();
        }
        // Whoever still works after the time to drain is not waited for.
        self.runtime.shutdown_background();
    }
}
