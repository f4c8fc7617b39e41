//! Why a question cannot be answered.

use loci_index::facets::FacetError;
use loci_index::text::TextError;
use loci_index::vector::VectorError;
use loci_storage::StoreError;

/// An error of a search. Every variant tells its reader what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The vector strategy was asked for where nothing is embedded. Fit the built-in embedder, or
    /// bring a vector.
    #[error("the vector arm cannot answer: {0}")]
    NoVector(&'static str),
    /// The question's vector is not of the store's space.
    #[error("the question's vector: {0}")]
    Vector(#[from] VectorError),
    /// The text index cannot be read. It is rebuilt when the store is opened again.
    #[error("text index: {0}")]
    Text(#[from] TextError),
    /// The facets cannot be read. They are rebuilt when the store is opened again.
    #[error("facets: {0}")]
    Facets(#[from] FacetError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
