//! Chunks: their levels, types and places.

use super::hex;

stored_enum! {
    /// The level of a chunk in its document's tree, coarsest first.
    pub enum Level {
        /// A summary of the whole document.
        Summary = 0, "summary";
        /// A section, a slide, an exchange or a code file: the parent that a hit climbs to.
        Section = 1, "section";
        /// A passage: what is found by default.
        Paragraph = 2, "paragraph";
        /// One self-contained statement.
        Proposition = 3, "proposition";
        /// One sentence.
        Sentence = 4, "sentence";
        /// One citation of another work.
        Citation = 5, "citation";
    }
}

stored_enum! {
    /// What a chunk consists of.
    #[derive(Default)]
    pub enum ContentType {
        /// Prose.
        #[default]
        Text = 0, "text";
        /// An image, by reference and caption.
        Image = 1, "image";
        /// A table.
        Table = 2, "table";
        /// Source code.
        Code = 3, "code";
        /// A diagram.
        Diagram = 4, "diagram";
        /// A statement extracted from prose.
        Proposition = 5, "proposition";
    }
}

stored_enum! {
    /// What a chunk is for, to a learner.
    #[derive(Default)]
    pub enum ChunkType {
        /// A definition, law, principle or key idea.
        Concept = 0, "concept";
        /// A worked example or demonstration.
        Example = 1, "example";
        /// An exercise or question.
        Question = 2, "question";
        /// None of these.
        #[default]
        Other = 3, "other";
    }
}

stored_enum! {
    /// What a section does for its reader.
    pub enum SectionType {
        /// It explains something.
        Explanation = 0, "explanation";
        /// It leads through something step by step.
        Tutorial = 1, "tutorial";
        /// It is there to look things up.
        Reference = 2, "reference";
        /// It shows an example.
        Example = 3, "example";
        /// None of these.
        Other = 4, "other";
    }
}

stored_enum! {
    /// What a sentence does in an argument.
    pub enum SentenceType {
        /// It claims something.
        Claim = 0, "claim";
        /// It describes a method.
        Method = 1, "method";
        /// It states a result.
        Result = 2, "result";
        /// It defines a term.
        Definition = 3, "definition";
        /// It names what is known.
        Background = 4, "background";
        /// None of these.
        Other = 5, "other";
    }
}

stored_enum! {
    /// What a proposition states.
    pub enum PropositionType {
        /// What something is.
        Definition = 0, "definition";
        /// How something is done.
        Procedure = 1, "procedure";
        /// A case of something.
        Example = 2, "example";
        /// How things differ or are alike.
        Comparison = 3, "comparison";
        /// That something is so.
        Claim = 4, "claim";
        /// None of these.
        Other = 5, "other";
    }
}

record! {
    /// A box on a page, in 0..1 units of its width and height, origin at the top left.
    #[derive(Copy)]
    pub struct PageBox {
        /// The page, from 1.
        pub page: u32,
        /// Left edge.
        pub x0: f32,
        /// Top edge.
        pub y0: f32,
        /// Right edge.
        pub x1: f32,
        /// Bottom edge.
        pub y1: f32,
    }
}

record! {
    /// The location of a chunk in its document.
    #[derive(Default)]
    pub struct Location {
        /// Characters `start..end` of the document's text.
        pub chars: (u64, u64),
        /// First and last page, from 1.
        pub pages: Option<(u32, u32)>,
        /// Slide, from 1.
        pub slide: Option<u32>,
        /// Start and end in milliseconds.
        pub time_ms: Option<(u64, u64)>,
        /// First and last line, from 1.
        pub lines: Option<(u32, u32)>,
        /// Boxes on pages.
        pub boxes: Vec<PageBox>,
    }
}

record! {
    /// One chunk. Keyed by document and place in pre-order; its public key is the document's key and
    /// `suffix`.
    pub struct ChunkRecord {
        /// The number in its public key: unique in its document, never reused.
        pub suffix: u32,
        /// The parent's place in pre-order.
        pub parent: Option<u32>,
        /// One past the last place of its subtree.
        pub subtree_end: u32,
        /// Its level.
        pub level: Level,
        /// What it consists of.
        pub content_type: ContentType,
        /// What it is for.
        pub chunk_type: ChunkType,
        /// Its text: exactly `text[chars]` of its document; for a summary or proposition the statement, with `chars` of
        /// its source.
        pub text: String,
        /// Headings above it, outermost first, its own section's last.
        pub heading_path: Vec<String>,
        /// Its location.
        pub location: Location,
        /// Estimated tokens.
        pub token_count: u32,
        /// Words.
        pub word_count: u32,
        /// Chapter number as printed.
        pub chapter_number: Option<String>,
        /// Chapter title.
        pub chapter_title: Option<String>,
        /// Section number as printed (`3.2`).
        pub section_number: Option<String>,
        /// Section title.
        pub section_title: Option<String>,
        /// A summary in one line.
        pub summary: Option<String>,
        /// Its most telling words.
        pub keywords: Vec<String>,
        /// Quoted, emphasised and capitalised phrases.
        pub key_terms: Vec<String>,
        /// Equations, as written.
        pub equations: Vec<String>,
        /// `Figure 3.1`, as written.
        pub figure_refs: Vec<String>,
        /// Whether it shows or refers to a diagram.
        pub has_diagrams: bool,
        /// Name of the function, class or method, for code.
        pub symbol: Option<String>,
        /// How many citations it makes.
        pub citation_count: u32,
        /// How sure the extractor was, in 0..=1.
        pub confidence: f32,
        /// Free metadata, sorted by key.
        pub metadata: Vec<(String, String)>,
        /// xxh3-128 of what is embedded and indexed (title, heading path, text): the vectors' key.
        #[serde(with = "hex")]
        pub content_hash: [u8; 16],
        /// Topics, beside those of the document.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub topics: Vec<String>,
        /// Sections that it has to do with, by number or title as printed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub related_sections: Vec<String>,
        /// Seconds that reading it takes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reading_time_s: Option<u32>,
        /// Names of the images that it shows or refers to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub images: Vec<String>,
        /// What it does for its reader, for a section.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub section_type: Option<SectionType>,
        /// What it does in an argument, for a sentence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub sentence_type: Option<SentenceType>,
        /// What it states, for a proposition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub proposition_type: Option<PropositionType>,
        /// Names in it, as written, that the caller lists; what it mentions in the graph is in
        /// [`ConceptContribution::mentions`](super::ConceptContribution::mentions).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub entities: Vec<String>,
        /// Whether what it states can be checked; `None`: not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub verifiable: Option<bool>,
    }
}

impl Default for ChunkRecord {
    /// An empty passage without a parent.
    fn default() -> Self {
        ChunkRecord {
            suffix: 0,
            parent: None,
            subtree_end: 1,
            level: Level::Paragraph,
            content_type: ContentType::default(),
            chunk_type: ChunkType::default(),
            text: String::new(),
            heading_path: Vec::new(),
            location: Location::default(),
            token_count: 0,
            word_count: 0,
            chapter_number: None,
            chapter_title: None,
            section_number: None,
            section_title: None,
            summary: None,
            keywords: Vec::new(),
            key_terms: Vec::new(),
            equations: Vec::new(),
            figure_refs: Vec::new(),
            has_diagrams: false,
            symbol: None,
            citation_count: 0,
            confidence: 1.0,
            metadata: Vec::new(),
            content_hash: [0; 16],
            topics: Vec::new(),
            related_sections: Vec::new(),
            reading_time_s: None,
            images: Vec::new(),
            section_type: None,
            sentence_type: None,
            proposition_type: None,
            entities: Vec::new(),
            verifiable: None,
        }
    }
}
