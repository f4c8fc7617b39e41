//! Vector spaces.

use loci_types::record;

use super::PartEntry;

record! {
    /// A vector space: a model with its parameters, and how much its arm helps.
    #[derive(Default)]
    pub struct SpaceRecord {
        /// Name and version of the model.
        pub model: String,
        /// Whether the store's own embedder made it: then vectors are views of text and projection,
        /// and have no rows.
        pub builtin: bool,
        /// Whether the caller brings the vectors, and no model that the store knows of.
        pub given: bool,
        /// Numbers in a vector.
        pub dim: u32,
        /// Chunks that it was fitted on, or that its share was measured on for a model that is not fitted here.
        pub fitted_chunks: u64,
        /// The projection of text into the space, for the built-in embedder.
        pub projection: Option<PartEntry>,
        /// The vector arm's share beside text, in 0..=1; `None` where nothing could be measured.
        pub vector_share: Option<f32>,
        /// (share, mean reciprocal rank) that calibration measured.
        pub calibration: Vec<(f32, f32)>,
        /// Known-item questions that calibration asked.
        pub calibration_questions: u32,
    }
}
