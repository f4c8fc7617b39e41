//! Recorded answers, and feedback on them.

stored_enum! {
    /// Feedback on a hit.
    #[derive(Default)]
    pub enum Feedback {
        /// No feedback.
        #[default]
        None = 0, "none";
        /// It was used in a text.
        Used = 1, "used";
        /// It helped.
        Helpful = 2, "helpful";
        /// It does not answer the question.
        Wrong = 3, "wrong";
    }
}

record! {
    /// A question that was answered, and its hits.
    #[derive(Default)]
    pub struct RetrievalRecord {
        /// Milliseconds since 1970.
        pub at_ms: u64,
        /// The question, in words.
        pub question: String,
        /// How it was to be answered: the request as JSON, without question and vector.
        pub request: String,
        /// The vector of the request.
        pub vector: Option<Vec<f32>>,
        /// The active space when it was recorded: the one that the vector is of.
        pub space: Option<u32>,
        /// The strategy that answered.
        pub strategy: String,
        /// The generation of the snapshot that answered.
        pub generation: u64,
        /// The hits, best first: the first has rank 1.
        pub hits: Vec<RetrievedRecord>,
    }
}

record! {
    /// A hit of a question that was answered.
    #[derive(Default)]
    pub struct RetrievedRecord {
        /// The chunk's public key.
        pub chunk: String,
        /// Its score.
        pub score: f32,
        /// Whether words found it.
        pub by_text: bool,
        /// Whether nearness found it.
        pub by_vector: bool,
        /// Whether the concept graph found it.
        pub by_graph: bool,
        /// Feedback on it.
        pub feedback: Feedback,
    }
}
