//! Documents and what kind they are.

use super::hex;

stored_enum! {
    /// The format of a document's file.
    #[derive(Default)]
    pub enum FileType {
        /// Plain text.
        #[default]
        Text = 0, "text";
        /// Markdown.
        Markdown = 1, "markdown";
        /// HTML.
        Html = 2, "html";
        /// PDF.
        Pdf = 3, "pdf";
        /// Source code.
        Code = 4, "code";
        /// Presentation slides.
        Pptx = 5, "pptx";
        /// Word-processor document.
        Docx = 6, "docx";
        /// EPUB book.
        Epub = 7, "epub";
        /// LaTeX source.
        Latex = 8, "latex";
        /// JATS article.
        Jats = 9, "jats";
        /// Chat transcript or subtitles.
        Transcript = 10, "transcript";
        /// An image.
        Image = 11, "image";
    }
}

stored_enum! {
    /// What a hit of the document returns as its context.
    #[derive(Default)]
    pub enum RetrievalMode {
        /// The hit's parent.
        #[default]
        Paragraph = 0, "paragraph";
        /// The whole document, within the budget.
        FullDoc = 1, "full-doc";
    }
}

stored_enum! {
    /// Which chunks of a document are embedded.
    #[derive(Default)]
    pub enum EmbedLevels {
        /// All of them.
        #[default]
        All = 0, "all";
        /// Those without children.
        Children = 1, "children";
        /// None.
        None = 2, "none";
    }
}

record! {
    /// One document. Its original bytes and, where it differs, its text are rows of their own.
    #[derive(Default)]
    pub struct DocumentRecord {
        /// The owner; empty for a shared document.
        pub user: String,
        /// The named collection; empty for the default one.
        pub collection: String,
        /// The caller's name for it, unique by user and collection.
        pub key: String,
        /// The file's name, if it was read from a file.
        pub filename: Option<String>,
        /// Where it was fetched from.
        pub address: Option<String>,
        /// Its title.
        pub title: Option<String>,
        /// Year of publication.
        pub year: Option<i32>,
        /// Journal, conference or publisher.
        pub venue: Option<String>,
        /// Digital object identifier.
        pub doi: Option<String>,
        /// Authors, in order.
        pub authors: Vec<String>,
        /// The kind of file.
        pub file_type: FileType,
        /// Language of the text, as ISO 639-3 (`eng`), where it was detected or set.
        pub language: Option<String>,
        /// Free category.
        pub category: Option<String>,
        /// Topics.
        pub topics: Vec<String>,
        /// How hard it is to read.
        pub difficulty: Option<String>,
        /// What a reader should know first.
        pub prerequisites: Vec<String>,
        /// What a reader learns.
        pub learning_outcomes: Vec<String>,
        /// A summary.
        pub summary: Option<String>,
        /// Milliseconds since 1970 when it was stored.
        pub ingested_at_ms: u64,
        /// Name and version of the parser and chunker with their settings; a change redoes the document.
        pub parser: String,
        /// xxh3-128 of the original bytes.
        #[serde(with = "hex")]
        pub content_hash: [u8; 16],
        /// What a hit returns as context.
        pub retrieval_mode: RetrievalMode,
        /// Known only because another document cites it.
        pub stub: bool,
        /// Free metadata, sorted by key.
        pub metadata: Vec<(String, String)>,
        /// How many chunks it has.
        pub chunk_count: u32,
        /// The suffix that the next new chunk's key gets.
        pub next_suffix: u32,
        /// Characters in the document's text.
        pub char_count: u64,
        /// Bytes of the original.
        pub original_len: u64,
        /// Which of its chunks are embedded.
        pub embed: EmbedLevels,
    }
}
