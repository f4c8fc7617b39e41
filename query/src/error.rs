//! Why a question cannot be answered.

use loci_index::facets::FacetError;
use loci_index::text::{SyntaxError, TextError};
use loci_index::vector::VectorError;
use loci_storage::StoreError;
use loci_storage::keys::KeyError;
use loci_types::search::OptionError;

/// An error of a search. Every variant documents what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The vector strategy was requested where nothing is embedded. Fit the built-in embedder, or
    /// give a vector.
    #[error("the vector arm cannot answer: {0}")]
    NoVector(&'static str),
    /// The embedder failed, and the vector strategy cannot answer without it.
    #[error("embedder: {0}")]
    Embed(String),
    /// The global strategy was requested where communities have no digests. Run `analyze`, which writes them.
    #[error("there are no digests of communities to answer from; `loci analyze` writes them")]
    NoDigests,
    /// The question's vector is not of the store's space.
    #[error("the question's vector: {0}")]
    Vector(#[source] VectorError),
    /// The vectors of a segment cannot be read. They are rebuilt when the store is opened again.
    #[error("vector index: {0}")]
    VectorIndex(#[source] VectorError),
    /// The question is not in the language of text questions. Correct it at the column.
    #[error("the question, {0}")]
    Syntax(#[from] SyntaxError),
    /// The question asks for more than the language of text questions allows. Ask for less.
    #[error("the question: {0}")]
    Question(&'static str),
    /// An option of the request has no such name or value. The message lists the names or values.
    #[error("{0}")]
    Option(String),
    /// The text index cannot be read. It is rebuilt when the store is opened again.
    #[error("text index: {0}")]
    Text(#[source] TextError),
    /// The facets cannot be read. They are rebuilt when the store is opened again.
    #[error("facets: {0}")]
    Facets(#[from] FacetError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TextError> for QueryError {
    fn from(error: TextError) -> QueryError {
        match error {
            TextError::Question(why) => QueryError::Question(why),
            _ => QueryError::Text(error),
        }
    }
}

impl From<OptionError> for QueryError {
    fn from(error: OptionError) -> QueryError {
        QueryError::Option(error.0)
    }
}

impl From<KeyError> for QueryError {
    fn from(error: KeyError) -> QueryError {
        QueryError::Store(error.into())
    }
}

impl From<VectorError> for QueryError {
    fn from(error: VectorError) -> QueryError {
        match error {
            VectorError::Malformed(_) | VectorError::Version { .. } | VectorError::Mixed(..) => {
                QueryError::VectorIndex(error)
            }
            _ => QueryError::Vector(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_index_is_not_reported_as_a_question_error() {
        let damaged = QueryError::from(VectorError::Malformed("a link of the graph leads nowhere"));
        assert!(damaged.to_string().starts_with("vector index: malformed"));
        let question_error = QueryError::from(VectorError::Zero);
        assert!(
            question_error
                .to_string()
                .starts_with("the question's vector: ")
        );
    }
}
