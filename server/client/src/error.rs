//! Why a call of a client failed.

use std::io;

use loci_protocol::codec::MessageError;
use loci_protocol::fault::{Code, Fault};

use crate::address::AddressError;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server refused the call.
    #[error("the server: {0}")]
    Fault(#[from] Fault),
    /// The connection could not be made or broke. A call that changes something may have been performed.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// What the server sent is none of the protocol.
    #[error("the server's answer cannot be read: {0}")]
    Protocol(String),
    /// No answer came in time. A call that changes something may have been performed.
    #[error("no answer in time")]
    Timeout,
    /// The address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// TLS cannot be spoken as the options say.
    #[error("TLS: {0}")]
    Tls(String),
    /// What a transaction's closure itself gave as its error.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
}

impl ClientError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> ClientError {
        move |source| ClientError::Io { what, source }
    }

    /// Whether the call was surely not performed and may be made again.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, ClientError::Fault(fault) if fault.code.is_transient())
    }

    /// Whether it is unknown if the call was performed.
    pub(crate) fn is_outcome_unknown(&self) -> bool {
        matches!(self, ClientError::Io { .. })
    }

    /// The server's code, where it is a fault of the server.
    pub fn code(&self) -> Option<Code> {
        match self {
            ClientError::Fault(fault) => Some(fault.code),
            _ => None,
        }
    }
}

impl From<MessageError> for ClientError {
    fn from(error: MessageError) -> ClientError {
        ClientError::Protocol(error.to_string())
    }
}
