//! Learning items.

stored_enum! {
    /// What kind of question a learning item puts.
    #[derive(Default)]
    pub enum ItemType {
        /// A front and a back.
        #[default]
        Flashcard = 0, "flashcard";
        /// A question with options, of which one is right.
        Mcq = 1, "mcq";
        /// A sentence with a gap.
        Cloze = 2, "cloze";
        /// Code with a gap.
        CodeCompletion = 3, "code-completion";
        /// A diagram to be labelled.
        Diagram = 4, "diagram";
    }
}

stored_enum! {
    /// How hard a learning item is.
    #[derive(Default)]
    pub enum Difficulty {
        /// One statement is recalled.
        #[default]
        Easy = 0, "easy";
        /// One step from what must be known before.
        Medium = 1, "medium";
        /// Two steps or more.
        Hard = 2, "hard";
    }
}

record! {
    /// How often an item was reviewed, and when it is due again.
    #[derive(Default)]
    pub struct ReviewState {
        /// Number of reviews.
        pub attempts: u32,
        /// Times that the answer was right.
        pub correct: u32,
        /// Time of the last review, in milliseconds since 1970.
        pub last_ms: u64,
        /// Milliseconds since 1970 when it is due.
        pub due_ms: u64,
        /// Days between the last time and the next.
        pub interval_days: f32,
        /// What the interval grows by when the answer is right.
        pub ease: f32,
    }
}

record! {
    /// One learning item. It outlives the chunk that it is about.
    #[derive(Default)]
    pub struct ItemRecord {
        /// What kind of question it puts.
        pub kind: ItemType,
        /// The question.
        pub front: String,
        /// What is the answer.
        pub back: String,
        /// Answers to choose from.
        pub options: Vec<String>,
        /// How hard it is.
        pub difficulty: Difficulty,
        /// The chunk that it is about, by document id and suffix; `None` once that is deleted.
        pub chunk: Option<(u64, u32)>,
        /// The concept that it is about, by id.
        pub concept: Option<u32>,
        /// The owner; empty for a shared item.
        pub owner: String,
        /// The item that it is merged into, by id.
        pub merged_into: Option<u64>,
        /// The state of its reviews; `None` before the first.
        pub review: Option<ReviewState>,
    }
}
