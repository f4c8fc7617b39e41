//! The seam between a store and whatever turns its texts into vectors.
//!
//! Several sides earn the trait: the built-in [`LsaEmbedder`](crate::lsa::LsaEmbedder), a model in
//! a local folder, an endpoint on the network, and the fakes of tests.

/// Turns texts into vectors of one length, whose cosine is the similarity of two texts in meaning.
///
/// What an implementer owes:
/// - **One space for each name.** [`model`](Self::model) names the space. Equal names promise
///   equal vectors for equal texts, in this process and in the next, for vectors are cached by
///   (content hash, model name). Change the weights, the prompt or the pooling: change the name.
/// - **One length.** Every vector is `[dim]`, finite, and of Euclidean length 1, so that a dot
///   product is the cosine. A text without a meaning to the model gets all zeros; callers
///   treat it as a text without a vector.
/// - **Order and number.** The answer has one vector for each text, in the order of the texts.
///   A vector does not depend on which other texts share its batch, nor on the number of threads.
/// - **Any text.** The empty string, a megabyte without a space and text in any script are answered
///   or refused with an error, never with a panic. What is too long for the model is cut.
/// - **All or nothing.** An error means that no text of the batch was embedded.
///
/// It is called from several threads at once. An implementation that can only do one thing at a time
/// locks itself.
pub trait Embedder: Send + Sync {
    /// Length of every vector, at least 1. Never changes during the life of a value.
    fn dim(&self) -> usize;

    /// Name and version of the vector space, such as `lsa-1:9f0c3b6a11d2e745`.
    fn model(&self) -> &str;

    /// Embeds `texts`, in batches of a size that suits the caller: 1 for a question, 100 to 1,000
    /// for a load. No texts give no vectors.
    ///
    /// Returns `[texts.len()][dim]`.
    ///
    /// # Errors
    /// [`EmbedError`]; none of the texts was embedded.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// Why a batch of texts has no vectors. Every variant documents what to do next.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model cannot be reached or is overloaded at present. Try the same batch again later.
    #[error("embedder is unavailable: {reason}")]
    Unavailable {
        /// The error of the model or the network.
        reason: String,
    },
    /// The model rejects this input permanently. Correct the settings or the text; trying
    /// again does not help.
    #[error("embedder refused the input: {reason}")]
    Refused {
        /// The model's error.
        reason: String,
    },
    /// The model answered with something other than one finite vector of the promised length for
    /// each text. Its name and its settings do not belong together: check which model answers.
    #[error("embedder broke its promise: {reason}")]
    InvalidOutput {
        /// The expected and the actual shape.
        reason: String,
    },
}
