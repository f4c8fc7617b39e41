//! What a row holds: documents, chunks, contributions, spaces, segments.
//!
//! Records are archived by rkyv (little-endian, unaligned) and read in place. A field is added at
//! the end of its record and with a new format version only: `docs/format.md` lists them.
//!
//! Character positions count Unicode scalar values from the start of the document's *text*: the
//! file itself for text, Markdown and code; the text that the parser made for HTML and PDF, which
//! is then stored beside the original bytes. `text[chars]` is always exactly the chunk's text.

use rkyv::{Archive, Deserialize, Serialize};

/// What a chunk stands for in its document's tree, coarsest first.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Level {
    /// A summary of the whole document.
    Summary = 0,
    /// A section, a slide, an exchange or a code file: the parent that a hit climbs to.
    Section = 1,
    /// A passage: what is found by default.
    Paragraph = 2,
    /// One self-contained statement.
    Proposition = 3,
    /// One sentence.
    Sentence = 4,
    /// One citation of another work.
    Citation = 5,
}

/// What a chunk consists of.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum ContentType {
    /// Prose.
    #[default]
    Text = 0,
    /// An image, by reference and caption.
    Image = 1,
    /// A table.
    Table = 2,
    /// Source code.
    Code = 3,
    /// A diagram.
    Diagram = 4,
    /// A statement taken out of prose.
    Proposition = 5,
}

/// What a chunk is for, to a learner.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum ChunkType {
    /// A definition, law, principle or key idea.
    Concept = 0,
    /// A worked example or demonstration.
    Example = 1,
    /// An exercise or question.
    Question = 2,
    /// None of these.
    #[default]
    Other = 3,
}

/// What kind of file a document came from.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum FileType {
    /// Plain text.
    #[default]
    Text = 0,
    /// Markdown.
    Markdown = 1,
    /// HTML.
    Html = 2,
    /// PDF.
    Pdf = 3,
    /// Source code.
    Code = 4,
    /// Presentation slides.
    Pptx = 5,
    /// Word-processor document.
    Docx = 6,
    /// EPUB book.
    Epub = 7,
    /// LaTeX source.
    Latex = 8,
    /// JATS article.
    Jats = 9,
    /// Chat transcript or subtitles.
    Transcript = 10,
    /// An image.
    Image = 11,
}

/// What a hit of the document returns as its context.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum RetrievalMode {
    /// The hit's parent.
    #[default]
    Paragraph = 0,
    /// The whole document, within the budget.
    FullDoc = 1,
}

/// Which chunks of a document are embedded.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum EmbedLevels {
    /// All of them.
    #[default]
    All = 0,
    /// Those without children.
    Children = 1,
    /// None.
    None = 2,
}

/// A box on a page, in 0..1 units of its width and height, origin at the top left.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    PartialEq,
)]
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

/// Where a chunk stands in its document.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
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

/// One document. Its original bytes and, where it differs, its text are rows of their own.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct DocumentRecord {
    /// Who owns it; empty for nobody in particular.
    pub user: String,
    /// The named collection; empty for the default one.
    pub collection: String,
    /// The caller's name for it, unique by user and collection.
    pub key: String,
    /// The file's name, where it came from a file.
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

/// One chunk. Keyed by document and place in pre-order; its public key is the document's key and
/// `suffix`.
#[derive(
    Archive, Serialize, Deserialize, serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq,
)]
pub struct ChunkRecord {
    /// The number in its public key: unique in its document, never reused.
    pub suffix: u32,
    /// The parent's place in pre-order.
    pub parent: Option<u32>,
    /// One past the last place of its subtree.
    pub subtree_end: u32,
    /// What it stands for.
    pub level: Level,
    /// What it consists of.
    pub content_type: ContentType,
    /// What it is for.
    pub chunk_type: ChunkType,
    /// Its text: exactly `text[chars]` of its document.
    pub text: String,
    /// Headings above it, outermost first, its own section's last.
    pub heading_path: Vec<String>,
    /// Where it stands.
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
    /// One line that says what it is about.
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
}

impl Default for ChunkRecord {
    /// An empty passage that stands alone.
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
        }
    }
}

/// What one document says of one concept. The truth; [`ConceptRecord`] is derived from all of them.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
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

/// What one document says of one relation.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct RelationContribution {
    /// A description, or empty.
    pub description: String,
    /// Weight in millionths: sums are exact in any order.
    pub weight_micro: u64,
    /// Places in pre-order of the chunks that are its evidence, ascending.
    pub chunks: Vec<u32>,
}

/// A concept, merged from its contributions in the commit that changes them.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
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

/// What a community of concepts is about, in sentences of the documents.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct DigestRecord {
    /// The community's level, from the finest.
    pub level: u8,
    /// How many members it has.
    pub member_count: u32,
    /// The first of them by PageRank, by id.
    pub members: Vec<u32>,
    /// The relations among these of most weight: source, type, target.
    pub relations: Vec<(u32, String, u32)>,
    /// The sentences that say most of these.
    pub sentences: Vec<DigestSentence>,
    /// The space of its vector, and the vector.
    pub vector: Option<(u32, Vec<f32>)>,
}

/// A sentence of a digest.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
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

/// What a citation is for (C2), and what one claim says of another (C5).
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Intent {
    /// It names what is known.
    #[default]
    Background = 0,
    /// It agrees with the other.
    Supports = 1,
    /// It disagrees.
    Contradicts = 2,
    /// It goes on from there.
    Extends = 3,
    /// It uses a method, data or a tool of the other.
    Uses = 4,
}

/// A work in a document's list of references.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
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

/// A place where a document cites a work.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
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

/// What a chunk claims about another chunk.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct ClaimRecord {
    /// The chunk's place in pre-order.
    pub chunk: u32,
    /// The public key of the other chunk, which need not be stored.
    pub about: String,
    /// What it says of it.
    pub intent: Intent,
    /// How sure that is, in 0..=1.
    pub confidence: f32,
    /// Milliseconds since 1970 when it was stored first.
    pub created_at_ms: u64,
}

/// A cited work, from the references to it: each field of the first document that gives it.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
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

/// A merge or split by hand: what documents say of one concept counts as said of another.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct ConceptEditRecord {
    /// The concept that is spoken of, by id.
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

/// A relation, merged from its contributions in the commit that changes them.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct RelationRecord {
    /// The longest description, or empty.
    pub description: String,
    /// Sum of weights, in millionths.
    pub weight_micro: u64,
    /// Documents that contribute; with none the relation is invisible.
    pub document_count: u64,
}

/// A vector space: a model with its parameters, and how much its arm helps.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
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
    /// Chunks that it was fitted on; 0 for a model that is not fitted here.
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

/// What kind of question a learning item puts.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum ItemType {
    /// A front and a back.
    #[default]
    Flashcard = 0,
    /// A question with options, of which one is right.
    Mcq = 1,
    /// A sentence with a gap.
    Cloze = 2,
    /// Code with a gap.
    CodeCompletion = 3,
    /// A diagram to be labelled.
    Diagram = 4,
}

/// How hard a learning item is.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
)]
#[rkyv(derive(Clone, Copy, Debug, PartialEq, Eq))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Difficulty {
    /// One statement is recalled.
    #[default]
    Easy = 0,
    /// One step from what must be known before.
    Medium = 1,
    /// Two steps or more.
    Hard = 2,
}

/// How often an item was asked, and when it is due again.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct ReviewState {
    /// Times that it was asked.
    pub attempts: u32,
    /// Times that the answer was right.
    pub correct: u32,
    /// Milliseconds since 1970 when it was asked last.
    pub last_ms: u64,
    /// Milliseconds since 1970 when it is due.
    pub due_ms: u64,
    /// Days between the last time and the next.
    pub interval_days: f32,
    /// What the interval grows by when the answer is right.
    pub ease: f32,
}

/// One learning item. It outlives the chunk that it is about.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct ItemRecord {
    /// What kind of question it puts.
    pub kind: ItemType,
    /// What is asked.
    pub front: String,
    /// What is the answer.
    pub back: String,
    /// Answers to choose from.
    pub options: Vec<String>,
    /// How hard it is.
    pub difficulty: Difficulty,
    /// The chunk that it is about, by document id and suffix; `None` once that is gone.
    pub chunk: Option<(u64, u32)>,
    /// The concept that it is about, by id.
    pub concept: Option<u32>,
    /// Who owns it; empty for nobody in particular.
    pub owner: String,
    /// The item that says the same better, by id.
    pub merged_into: Option<u64>,
    /// How learning it goes; `None` before the first review.
    pub review: Option<ReviewState>,
}

/// Which segments are live: the row that redb's commit switches.
#[derive(
    Archive,
    Serialize,
    Deserialize,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
    Default,
    PartialEq,
)]
pub struct ManifestRecord {
    /// Counts commits.
    pub generation: u64,
    /// The next document id; from 1.
    pub next_document: u64,
    /// The next concept id; from 0.
    pub next_concept: u32,
    /// The next segment id; from 1.
    pub next_segment: u64,
    /// The next part id; from 1.
    pub next_part: u64,
    /// The next space id; from 1.
    pub next_space: u32,
    /// The next item id; from 1.
    pub next_item: u64,
    /// Learning items.
    pub item_count: u64,
    /// Documents.
    pub document_count: u64,
    /// Chunks.
    pub chunk_count: u64,
    /// Visible concepts.
    pub concept_count: u64,
    /// Visible relations.
    pub relation_count: u64,
    /// Live segments, in the order of their ordinals.
    pub segments: Vec<SegmentEntry>,
    /// The space that searches use.
    pub active_space: Option<u32>,
    /// The space that is being built and will be switched to.
    pub pending_space: Option<u32>,
    /// Spaces given up, whose vectors are not all deleted yet.
    pub dropped_spaces: Vec<u32>,
    /// PageRank and what else `analyze` computes.
    pub analysis: Option<PartEntry>,
    /// The next id of a merge or split of concepts; from 1.
    pub next_edit: u64,
    /// The next id of a cited work; from 0.
    pub next_work: u32,
}

/// A live segment.
#[derive(
    Archive, Serialize, Deserialize, serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq,
)]
pub struct SegmentEntry {
    /// Its id.
    pub id: u64,
    /// Its chunks, dead ones included.
    pub chunk_count: u32,
    /// Its documents, dead ones included.
    pub document_count: u32,
    /// Skeleton, text, facets, names, mentions, relations.
    pub base: PartEntry,
    /// Its vectors, and the space that they lie in.
    pub vectors: Option<(u32, PartEntry)>,
    /// Its vectors in the space that is being built.
    pub pending: Option<(u32, PartEntry)>,
}

impl SegmentEntry {
    /// All its parts.
    pub fn parts(&self) -> impl Iterator<Item = &PartEntry> {
        let spaces = [&self.vectors, &self.pending];
        let vectors = spaces.into_iter().flatten().map(|(_, part)| part);
        [&self.base].into_iter().chain(vectors)
    }
}

impl ManifestRecord {
    /// All parts that it lists; projections are listed by their spaces.
    pub fn parts(&self) -> impl Iterator<Item = &PartEntry> {
        let segments = self.segments.iter().flat_map(SegmentEntry::parts);
        segments.chain(&self.analysis)
    }
}

/// A part and where it lies.
#[derive(
    Archive, Serialize, Deserialize, serde::Serialize, serde::Deserialize, Clone, Debug, PartialEq,
)]
pub struct PartEntry {
    /// Its id.
    pub id: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The name of its file; `None` when it lies in the table `parts`.
    pub file: Option<String>,
}

/// A hash in JSON: 32 hexadecimal digits.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(hash: &[u8; 16], to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{:032x}", u128::from_be_bytes(*hash)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 16], D::Error> {
        let digits = String::deserialize(from)?;
        let number = u128::from_str_radix(&digits, 16).map_err(D::Error::custom)?;
        Ok(number.to_be_bytes())
    }
}

macro_rules! numbered {
    ($($(#[$doc:meta])* $plain:ident { $($variant:ident = $name:literal),* $(,)? })*) => {$(
        impl $plain {
            /// All values, by number.
            pub const ALL: &'static [$plain] = &[$($plain::$variant),*];

            /// The value with this number in the format.
            pub fn from_number(number: u8) -> Option<$plain> {
                Self::ALL.get(usize::from(number)).copied()
            }

            /// The name that filters and JSON use.
            pub const fn name(self) -> &'static str {
                match self { $($plain::$variant => $name,)* }
            }

            /// The value with this name.
            pub fn from_name(name: &str) -> Option<$plain> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    )*};
}

numbered! {
    Level {
        Summary = "summary", Section = "section", Paragraph = "paragraph",
        Proposition = "proposition", Sentence = "sentence", Citation = "citation",
    }
    ContentType {
        Text = "text", Image = "image", Table = "table", Code = "code", Diagram = "diagram",
        Proposition = "proposition",
    }
    Intent {
        Background = "background", Supports = "supports", Contradicts = "contradicts",
        Extends = "extends", Uses = "uses",
    }
    ChunkType {
        Concept = "concept", Example = "example", Question = "question", Other = "other",
    }
    FileType {
        Text = "text", Markdown = "markdown", Html = "html", Pdf = "pdf", Code = "code",
        Pptx = "pptx", Docx = "docx", Epub = "epub", Latex = "latex", Jats = "jats",
        Transcript = "transcript", Image = "image",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_give_back_their_value() {
        for (number, &level) in Level::ALL.iter().enumerate() {
            assert_eq!(level as usize, number);
            assert_eq!(Level::from_number(number as u8), Some(level));
            assert_eq!(Level::from_name(level.name()), Some(level));
        }
        for (number, &kind) in FileType::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
            assert_eq!(FileType::from_name(kind.name()), Some(kind));
        }
        for (number, &kind) in ContentType::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
        for (number, &kind) in ChunkType::ALL.iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
        assert_eq!(Level::from_number(6), None);
    }
}
