//! Concepts and relations: what documents contribute, what is merged of it, and digests of communities.

record! {
    /// The contribution of one document to one concept. [`ConceptRecord`] is derived from all of them.
    #[derive(Default)]
    pub struct ConceptContribution {
        /// The name as this document writes it first.
        pub name: String,
        /// Its type, or empty.
        pub kind: String,
        /// A description or definition, or empty.
        pub description: String,
        /// Other names, normalised.
        pub synonyms: Vec<String>,
        /// (chunk's place in pre-order, mentions there), ascending.
        pub mentions: Vec<(u32, u32)>,
    }
}

record! {
    /// The contribution of one document to one relation.
    #[derive(Default)]
    pub struct RelationContribution {
        /// A description, or empty.
        pub description: String,
        /// Weight in millionths: sums are exact in any order.
        pub weight_micro: u64,
        /// Places in pre-order of the chunks that are its evidence, ascending.
        pub chunks: Vec<u32>,
    }
}

record! {
    /// A concept, merged from its contributions in the commit that changes them.
    #[derive(Default)]
    pub struct ConceptRecord {
        /// The name, as the first document wrote it.
        pub name: String,
        /// The normalised name: unique in the store.
        pub normalised: String,
        /// Its type: the first in byte order among contributions, or empty.
        pub kind: String,
        /// The longest description, or empty.
        pub description: String,
        /// Other names, normalised, sorted.
        pub synonyms: Vec<String>,
        /// Mentions over all documents.
        pub mention_count: u64,
        /// Documents that contribute; with none the concept is invisible.
        pub document_count: u64,
        /// The first document that contributed and still does.
        pub first_document: Option<u64>,
    }
}

record! {
    /// A relation, merged from its contributions in the commit that changes them.
    #[derive(Default)]
    pub struct RelationRecord {
        /// The longest description, or empty.
        pub description: String,
        /// Sum of weights, in millionths.
        pub weight_micro: u64,
        /// Documents that contribute; with none the relation is invisible.
        pub document_count: u64,
    }
}

record! {
    /// A manual merge or split: contributions of documents to one concept count for another.
    #[derive(Default)]
    pub struct ConceptEditRecord {
        /// The concept of the contributions, by id.
        pub from: u32,
        /// The concept that it counts as.
        pub to: u32,
        /// The documents in which it does, by id, ascending; none: all.
        pub documents: Vec<u64>,
        /// What the other concept is called where nothing but this edit names it.
        pub name: String,
        /// Milliseconds since 1970.
        pub at_ms: u64,
    }
}

record! {
    /// What a community of concepts is about, in sentences of the documents.
    #[derive(Default)]
    pub struct DigestRecord {
        /// The community's level, from the finest.
        pub level: u8,
        /// How many members it has.
        pub member_count: u32,
        /// The first of them by PageRank, by id.
        pub members: Vec<u32>,
        /// The relations among these of most weight: source, type, target.
        pub relations: Vec<(u32, String, u32)>,
        /// The sentences that cover most of these.
        pub sentences: Vec<DigestSentence>,
        /// The space of its vector, and the vector.
        pub vector: Option<(u32, Vec<f32>)>,
    }
}

record! {
    /// A sentence of a digest.
    #[derive(Default)]
    pub struct DigestSentence {
        /// The document, by id.
        pub document: u64,
        /// The chunk, by its suffix.
        pub suffix: u32,
        /// Characters `start..end` of the document's text.
        pub chars: (u64, u64),
        /// The sentence: exactly these characters.
        pub text: String,
    }
}
