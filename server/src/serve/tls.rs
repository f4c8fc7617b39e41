//! The server's certificate, which may be replaced while it runs.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

/// A certificate chain with its key, as PEM files have them.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    configs: Arc<ArcSwap<Configs>>,
}

/// One for each protocol: they differ in what they name it where clients ask.
#[derive(Debug)]
struct Configs {
    wire: Arc<ServerConfig>,
    http: Arc<ServerConfig>,
}

/// What is spoken within TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The wire protocol.
    Wire,
    /// HTTP.
    Http,
}

/// Why TLS cannot be spoken.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {why}")]
pub(crate) struct TlsError {
    /// The file with what is wrong.
    file: String,
    /// What that is.
    why: String,
}

impl Tls {
    /// Reads both files.
    ///
    /// # Errors
    /// [`TlsError`] where one holds no certificate or key, or the two do not belong together.
    pub(crate) fn open(certificate: PathBuf, key: PathBuf) -> Result<Tls, TlsError> {
        let configs = read(&certificate, &key)?;
        Ok(Tls {
            certificate,
            key,
            configs: Arc::new(ArcSwap::from_pointee(configs)),
        })
    }

    /// Reads both files again; connections from now on are of what they hold.
    ///
    /// # Errors
    /// As [`Tls::open`]; then what was read before is used.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let configs = read(&self.certificate, &self.key)?;
        self.configs.store(Arc::new(configs));
        Ok(())
    }

    /// What secures a connection.
    pub(crate) fn acceptor(&self, protocol: Protocol) -> TlsAcceptor {
        let configs = self.configs.load();
        let config = match protocol {
            Protocol::Wire => &configs.wire,
            Protocol::Http => &configs.http,
        };
        TlsAcceptor::from(Arc::clone(config))
    }
}

fn read(certificate: &PathBuf, key: &PathBuf) -> Result<Configs, TlsError> {
    let failed = |file: &PathBuf, why: &dyn std::fmt::Display| TlsError {
        file: file.display().to_string(),
        why: why.to_string(),
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(|chain| chain.collect::<Result<Vec<_>, _>>())
        .map_err(|error| failed(certificate, &error))?;
    if chain.is_empty() {
        return Err(failed(certificate, &"there is no certificate in it"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, &error))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(certificate, &error))?;
    let config = builder
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| failed(certificate, &error))?;
    let speaking = |name: &str| {
        let mut config = config.clone();
        config.alpn_protocols = vec![name.as_bytes().to_vec()];
        Arc::new(config)
    };
    Ok(Configs {
        wire: speaking("loci/1"),
        http: speaking("http/1.1"),
    })
}
