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
    /// Names of the protocols that are spoken, for clients that ask.
    protocols: &'static [&'static str],
    config: Arc<ArcSwap<ServerConfig>>,
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
    pub(crate) fn open(
        certificate: PathBuf,
        key: PathBuf,
        protocols: &'static [&'static str],
    ) -> Result<Tls, TlsError> {
        let config = read(&certificate, &key, protocols)?;
        Ok(Tls {
            certificate,
            key,
            protocols,
            config: Arc::new(ArcSwap::from_pointee(config)),
        })
    }

    /// Reads both files again; connections from now on are of what they hold.
    ///
    /// # Errors
    /// As [`Tls::open`]; then what was read before is used.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let config = read(&self.certificate, &self.key, self.protocols)?;
        self.config.store(Arc::new(config));
        Ok(())
    }

    /// What secures a connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.load_full())
    }
}

fn read(
    certificate: &PathBuf,
    key: &PathBuf,
    protocols: &[&str],
) -> Result<ServerConfig, TlsError> {
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
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| failed(certificate, &error))?;
    config.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    Ok(config)
}
