//! Errors of the library as faults for a caller: a code, and a message without paths of the server.
//!
//! What a caller cannot correct goes to the log, under a number that the fault's message names.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_protocol::fault::{Code, Fault};
use locidb::Error;
use locidb::query::QueryError;
use locidb::storage::StoreError;

/// Numbers of what went to the log.
static INCIDENTS: AtomicU64 = AtomicU64::new(1);

/// After how long a call that met lost pages can be tried again: by then the pages are given up.
const LOST_PAGES_WAIT_MS: u32 = 1_000;

/// The fault that an error of the library is.
pub fn from_error(error: Error) -> Fault {
    if error.is_lost_pages() {
        return logged_fault(Code::Unavailable, &error).with_retry_after(LOST_PAGES_WAIT_MS);
    }
    let code = match &error {
        Error::NotFound(_) => Code::NotFound,
        Error::Setting(_) | Error::Budget(_) => Code::Invalid,
        Error::Embed(_) => Code::Model,
        Error::Interrupted => Code::Cancelled,
        Error::Query(error) => query_code(error),
        Error::Store(error) => store_code(error),
        _ => Code::Internal,
    };
    match code {
        Code::Internal | Code::Damaged | Code::Unavailable => logged_fault(code, &error),
        Code::ReadOnly => Fault::new(
            code,
            "the store takes no writes now: its server has to be started again",
        ),
        code => Fault::new(code, error.to_string()),
    }
}

fn query_code(error: &QueryError) -> Code {
    match error {
        QueryError::NoVector(_)
        | QueryError::NoDigests
        | QueryError::Vector(_)
        | QueryError::Syntax(_)
        | QueryError::Question(_)
        | QueryError::Option(_) => Code::Invalid,
        QueryError::VectorIndex(_) | QueryError::Text(_) | QueryError::Facets(_) => Code::Damaged,
        QueryError::Store(error) => store_code(error),
        _ => Code::Internal,
    }
}

fn store_code(error: &StoreError) -> Code {
    match error {
        StoreError::Invalid(_) => Code::Invalid,
        StoreError::Limit { .. } => Code::TooLarge,
        StoreError::ReadOnly(_) | StoreError::OpenedReadOnly => Code::ReadOnly,
        StoreError::DamagedRow { .. }
        | StoreError::DamagedTable { .. }
        | StoreError::DamagedDatabase { .. }
        | StoreError::DamagedFreePages { .. }
        | StoreError::UnreadableDatabase { .. }
        | StoreError::MissingRow { .. }
        | StoreError::NoDatabase { .. }
        | StoreError::Part { .. } => Code::Damaged,
        StoreError::Locked { .. }
        | StoreError::Missing { .. }
        | StoreError::Unfinished { .. }
        | StoreError::Closed => Code::Unavailable,
        _ => Code::Internal,
    }
}

/// A defect, or a failure of the machine.
pub fn internal(error: &dyn Display) -> Fault {
    logged_fault(Code::Internal, error)
}

/// A fault whose reason is in the log alone.
fn logged_fault(code: Code, error: &dyn Display) -> Fault {
    let incident = INCIDENTS.fetch_add(1, Ordering::Relaxed);
    tracing::error!(incident, code = code.name(), %error, "a call failed");
    let message = match code {
        Code::Damaged => "something in the store is damaged",
        Code::Unavailable => "the store cannot be used now",
        _ => "the server failed",
    };
    let message = format!("{message}; its log says more under incident {incident}");
    Fault::new(code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_do_not_reveal_server_paths() {
        let path = std::path::PathBuf::from("/srv/secret");
        let io = || std::io::Error::other("/srv/secret/loci.redb");
        let errors = [
            StoreError::Locked {
                path: path.clone(),
                holders: vec!["process 1 (secret)".into()],
            },
            StoreError::Missing { path },
            StoreError::Io {
                what: "writing /srv/secret".into(),
                source: io(),
            },
            StoreError::ReadOnly("/srv/secret is full".into()),
        ];
        for error in errors {
            let fault = from_error(error.into());
            assert!(!fault.message.contains("secret"), "{fault}");
            assert!(!fault.message.is_empty());
        }
    }

    #[test]
    fn errors_caused_by_the_caller_are_passed_through() {
        let fault = from_error(Error::NotFound("heron".into()));
        assert_eq!(fault.code, Code::NotFound);
        assert!(fault.message.contains("heron"));
        let fault = from_error(StoreError::Invalid("a document's key is empty".into()).into());
        assert_eq!(fault.code, Code::Invalid);
    }
}
