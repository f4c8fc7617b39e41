//! Why a call of the database failed.

use loci_query::QueryError;
use loci_storage::StoreError;
use loci_storage::keys::KeyError;
use loci_storage::segment::PartError;
use loci_types::search::OptionError;
use loci_types::settings::SettingError;

/// An error of the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed, or refused its input.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A question could not be answered: its filter, strategy or vector is wrong.
    #[error(transparent)]
    Query(QueryError),
    /// A setting is unknown, or does not allow the value.
    #[error("{0}")]
    Setting(String),
    /// A key or name that nothing in the store has.
    #[error("there is no {0:?} in the store")]
    NotFound(String),
    /// The embedder failed. Text and graph still answer.
    #[error("embedder: {0}")]
    Embed(String),
    /// The budget is too small for a prompt. Raise it.
    #[error(transparent)]
    Budget(#[from] loci_query::prompt::BudgetTooSmall),
    /// The caller asked to stop; nothing of the interrupted step was stored.
    #[error("interrupted")]
    Interrupted,
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Error::Store(error.into())
    }
}

impl From<QueryError> for Error {
    fn from(error: QueryError) -> Self {
        match error {
            QueryError::Embed(why) => Error::Embed(why),
            error => Error::Query(error),
        }
    }
}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Self {
        Error::Query(error.into())
    }
}

impl From<SettingError> for Error {
    fn from(error: SettingError) -> Self {
        Error::Setting(error.0)
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error,
            other => StoreError::Caller(Box::new(other)),
        }
    }
}

impl Error {
    /// Whether a file of the store lost pages while it was read: the background rebuilds it, so the same call succeeds
    /// soon.
    pub fn is_lost_pages(&self) -> bool {
        let error = match self {
            Error::Store(error) | Error::Query(QueryError::Store(error)) => error,
            _ => return false,
        };
        matches!(
            error,
            StoreError::Part {
                source: PartError::LostPages,
                ..
            }
        )
    }

    /// The error of a closure that the committing thread ran, with the type that it had there.
    pub(crate) fn from_store_error(error: StoreError) -> Error {
        match error {
            StoreError::Caller(inner) => match inner.downcast::<Error>() {
                Ok(error) => *error,
                Err(inner) => Error::Store(StoreError::Caller(inner)),
            },
            error => Error::Store(error),
        }
    }
}
