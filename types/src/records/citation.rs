//! References, citations, claims and cited works.

stored_enum! {
    /// The intent of a citation, and the relation of one claim to another.
    #[derive(Default)]
    pub enum Intent {
        /// It names what is known.
        #[default]
        Background = 0, "background";
        /// It agrees with the other.
        Supports = 1, "supports";
        /// It disagrees.
        Contradicts = 2, "contradicts";
        /// It extends the cited work.
        Extends = 3, "extends";
        /// It uses a method, data or a tool of the other.
        Uses = 4, "uses";
    }
}

record! {
    /// A work in a document's list of references.
    #[derive(Default)]
    pub struct ReferenceRecord {
        /// As it is written there.
        pub text: String,
        /// The key of its document, where the caller knows it.
        pub key: Option<String>,
        /// Digital object identifier.
        pub doi: Option<String>,
        /// Its title.
        pub title: Option<String>,
        /// Authors, in order.
        pub authors: Vec<String>,
        /// Year of publication.
        pub year: Option<i32>,
        /// Journal, conference or publisher.
        pub venue: Option<String>,
        /// The work, by id.
        pub work: u32,
    }
}

record! {
    /// A place where a document cites a work.
    #[derive(Default)]
    pub struct CitationRecord {
        /// The chunk's place in pre-order.
        pub chunk: u32,
        /// The reference, by its number in the document.
        pub reference: u32,
        /// The citation as it is written: `[12]`, `(Author, 2020)`.
        pub text: String,
        /// The words around it.
        pub context: String,
        /// How sure it is that this reference is meant, in 0..=1.
        pub confidence: f32,
        /// What it is for.
        pub intent: Intent,
        /// Whether the chunk makes a claim about the work, rather than just citing it.
        pub claim: bool,
        /// Milliseconds since 1970 when it was stored first.
        pub created_at_ms: u64,
    }
}

record! {
    /// What a chunk claims about another chunk.
    #[derive(Default)]
    pub struct ClaimRecord {
        /// The chunk's place in pre-order.
        pub chunk: u32,
        /// The public key of the other chunk, which need not be stored.
        pub about: String,
        /// The relation of the claim to the cited one.
        pub intent: Intent,
        /// How sure that is, in 0..=1.
        pub confidence: f32,
        /// Milliseconds since 1970 when it was stored first.
        pub created_at_ms: u64,
    }
}

record! {
    /// A cited work, from the references to it: each field of the first document that gives it.
    #[derive(Default)]
    pub struct WorkRecord {
        /// Its title.
        pub title: Option<String>,
        /// Authors, in order.
        pub authors: Vec<String>,
        /// Year of publication.
        pub year: Option<i32>,
        /// Journal, conference or publisher.
        pub venue: Option<String>,
        /// Digital object identifier, normalised.
        pub doi: Option<String>,
        /// As the first reference without a title is written.
        pub text: String,
        /// Its document, by id, where that is stored; a work without one is a stub.
        pub document: Option<u64>,
        /// What identifies it, in the order in which that counts.
        pub identities: Vec<String>,
        /// References to it.
        pub reference_count: u64,
    }
}
