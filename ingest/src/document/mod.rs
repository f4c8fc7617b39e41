//! Builds the document to store from a parsed file: chunks, citations, concepts, relations and metadata.
//!
//! Always true: [`build`] depends on its arguments only, so the same file and settings give the same document.
//!
//! Start reading at [`build`].

mod learning;
mod related;

use loci_documents::{BlockKind, Kind, ParsedDocument, title_heading};
use loci_types::text::sentences::{SentenceRule, sentences};
use locidb::storage::records::{DocumentRecord, FileType, Level};
use locidb::{NewAsset, NewChunk, NewDocument};
use serde::{Deserialize, Serialize};

use crate::captions::{self, Captions};
use crate::chunk::{ChunkSettings, chunk};
use crate::cite;
use crate::extract::{ExtractSettings, documentation, extract};
use crate::text::prose;

/// Version of chunking, classification and extraction. A change of what they make of a file raises
/// it, and documents made by an older version are made again when their file is next ingested.
pub const VERSION: u16 = 6;

/// Where a file came from, whose it is, and what its pictures show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentSource {
    /// The document's key, unique by user and collection.
    pub key: String,
    /// Who owns it; empty for nobody in particular.
    pub user: String,
    /// The named collection; empty for the default one.
    pub collection: String,
    /// The file's name.
    pub filename: Option<String>,
    /// Where it was fetched from.
    pub address: Option<String>,
    /// Free category.
    pub category: Option<String>,
    /// Free metadata, beside what the file states about itself; wins over that.
    pub metadata: Vec<(String, String)>,
    /// What a model says of its pictures.
    #[serde(default)]
    pub captions: Captions,
}

/// How a parsed file is made into a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BuildSettings {
    /// How it is cut.
    pub chunking: ChunkSettings,
    /// How much is extracted.
    pub extraction: ExtractSettings,
}

impl BuildSettings {
    /// Names everything that a document depends on beside its file and the captions of its pictures: versions and
    /// settings. Two documents of one file with the same signature are equal but for such captions.
    pub fn signature(&self) -> String {
        let c = &self.chunking;
        let e = &self.extraction;
        format!(
            "loci parse={} build={VERSION} mode={:?} parent={} child={} code={} overlap={} similarity={} entities={} relations={}",
            loci_documents::VERSION,
            c.mode,
            c.parent_tokens,
            c.child_tokens,
            c.code_tokens,
            c.overlap,
            c.similarity_min,
            e.entities_per_chunk,
            e.relations_per_chunk,
        )
    }
}

/// How many concepts name a document's topics.
const TOPICS_MAX: usize = 5;

/// Makes a parsed file a document with chunks, concepts and relations, without vectors.
///
/// `original`: the file's bytes. A function of its arguments alone.
pub fn build(
    mut parsed: ParsedDocument,
    original: Vec<u8>,
    source: DocumentSource,
    settings: &BuildSettings,
) -> NewDocument {
    let captioned = captions::apply(&mut parsed, &source.captions);
    cite::link(&mut parsed);
    let mut chunks = chunk(&parsed, &settings.chunking);
    captions::mark_caption_model(&mut chunks, &captioned, &source.captions.by);
    related::relate(&mut chunks);
    let difficulty = difficulty(&parsed);
    let prerequisites = learning::prerequisites(&parsed);
    let learning_outcomes = learning::learning_outcomes(&parsed);
    let references = cite::references(&parsed);
    let citations = cite::citations(&parsed, &chunks);
    let (concepts, relations) = extract(&parsed, &chunks, &settings.extraction);
    let topics = concepts
        .iter()
        .filter(|c| c.kind != "code")
        .take(TOPICS_MAX)
        .map(|c| c.name.clone())
        .collect();
    let summary = summary(&parsed, &chunks);
    let title = parsed
        .title
        .clone()
        .filter(|t| !t.trim().is_empty())
        .or_else(|| heading_title(&parsed));
    let title = title.or_else(|| source.filename.as_deref().map(|name| stem(name).to_owned()));
    let is_file = parsed.text_is_original && parsed.text.as_bytes() == original;
    let ParsedDocument {
        kind,
        authors,
        year,
        mut facts,
        text,
        assets,
        ..
    } = parsed;
    let mut free = facts.take_free();
    free.extend(source.metadata);
    let record = DocumentRecord {
        venue: facts.venue,
        doi: facts.doi,
        language: facts.language,
        user: source.user,
        collection: source.collection,
        key: source.key,
        filename: source.filename,
        address: source.address.or(facts.address),
        category: source.category.or(facts.category),
        difficulty: facts.difficulty.or(difficulty),
        prerequisites: declared(facts.prerequisites, prerequisites),
        learning_outcomes: declared(facts.learning_outcomes, learning_outcomes),
        title,
        year,
        authors,
        file_type: file_type(kind),
        topics: declared(facts.tags, topics),
        summary,
        parser: settings.signature(),
        metadata: free.into_iter().collect(),
        ..DocumentRecord::default()
    };
    NewDocument {
        record,
        original,
        text: (!is_file).then_some(text),
        chunks,
        concepts,
        relations,
        references,
        citations,
        assets: assets
            .into_iter()
            .map(|asset| NewAsset {
                name: asset.name,
                bytes: asset.bytes,
            })
            .collect(),
        ..NewDocument::default()
    }
}

/// What the file states, else what was found in its text.
fn declared(declared: Vec<String>, found: Vec<String>) -> Vec<String> {
    if declared.is_empty() { found } else { declared }
}

/// How hard its prose is to read.
fn difficulty(parsed: &ParsedDocument) -> Option<String> {
    if parsed.kind.is_code() {
        return None;
    }
    let is_prose = |kind: &BlockKind| {
        matches!(
            kind,
            BlockKind::Paragraph | BlockKind::ListItem | BlockKind::Turn { .. }
        )
    };
    let prose = parsed.blocks.iter().filter(|block| is_prose(&block.kind));
    let sentences: Vec<String> = prose
        .flat_map(|block| {
            let text = &parsed.text[block.range.clone()];
            let spans = sentences(text, SentenceRule::Reader).into_iter();
            spans.map(|span| prose::visible(&text[span], parsed.kind))
        })
        .collect();
    learning::difficulty(&sentences).map(str::to_owned)
}

/// What the file says of itself first: the comment that opens a source file, else the summary of
/// the first section that has one.
fn summary(parsed: &ParsedDocument, chunks: &[NewChunk]) -> Option<String> {
    if parsed.kind.is_code() {
        return documentation(&parsed.text);
    }
    let whole = chunks.first().map(|chunk| &chunk.record);
    if let Some(whole) = whole.filter(|record| record.level == Level::Summary) {
        return Some(whole.text.clone());
    }
    let mut sections = chunks
        .iter()
        .map(|c| &c.record)
        .filter(|r| r.level == Level::Section);
    sections.find_map(|record| record.summary.clone())
}

/// The words of the heading above all others, where there is one.
fn heading_title(parsed: &ParsedDocument) -> Option<String> {
    let heading = title_heading(&parsed.text, &parsed.blocks)?;
    let title = prose::visible(&parsed.text[heading.range.clone()], parsed.kind);
    (!title.is_empty()).then_some(title)
}

/// The stored type of a kind of file.
fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Text => FileType::Text,
        Kind::Markdown => FileType::Markdown,
        Kind::Html => FileType::Html,
        Kind::Pdf => FileType::Pdf,
        Kind::Code(_) => FileType::Code,
        Kind::Pptx => FileType::Pptx,
        Kind::Docx => FileType::Docx,
        Kind::Epub => FileType::Epub,
        Kind::Latex => FileType::Latex,
        Kind::Jats => FileType::Jats,
        Kind::Chat | Kind::Subtitles => FileType::Transcript,
        Kind::Image => FileType::Image,
    }
}

/// A file's name without its folder and ending.
fn stem(name: &str) -> &str {
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    match base.rfind('.') {
        Some(at) if at > 0 => &base[..at],
        _ => base,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chunk::Chunking;
    use loci_documents::{Block, Kind, TextMetrics, parse};

    #[test]
    fn a_document_keeps_what_the_file_states() {
        let text = "# The Heap\n\nThe heap is a region of memory. A heap grows.";
        let block = |kind, range| Block {
            kind,
            range,
            ..Block::default()
        };
        let parsed = ParsedDocument {
            text: text.into(),
            text_is_original: true,
            blocks: vec![
                block(BlockKind::Heading(1), 2..10),
                block(BlockKind::Paragraph, 12..text.len()),
            ],
            facts: TextMetrics {
                doi: Some("10.1/x".into()),
                other: [("z".into(), "1".into()), ("a".into(), "2".into())].into(),
                ..TextMetrics::default()
            },
            ..ParsedDocument::default()
        };
        let source = DocumentSource {
            key: "k".into(),
            filename: Some("a/b.md".into()),
            ..DocumentSource::default()
        };
        let document = build(
            parsed.clone(),
            text.into(),
            source.clone(),
            &BuildSettings::default(),
        );
        assert_eq!(document.record.title.as_deref(), Some("The Heap"));
        assert_eq!(document.record.doi.as_deref(), Some("10.1/x"));
        assert_eq!(
            document.record.metadata,
            [("a".into(), "2".into()), ("z".into(), "1".into())]
        );
        assert_eq!(document.text, None);
        assert_eq!(document.chunks.len(), 2);
        assert_eq!(document.concepts[0].name, "heap");
        let rendered = ParsedDocument {
            text_is_original: false,
            blocks: Vec::new(),
            ..parsed
        };
        let document = build(rendered, Vec::new(), source, &BuildSettings::default());
        assert_eq!(document.text.as_deref(), Some(text));
        assert_eq!(document.record.title.as_deref(), Some("b"));
    }

    #[test]
    fn a_document_of_equal_headings_goes_by_its_file() {
        let title = |text: &str, at: [usize; 2]| {
            let block = |range: std::ops::Range<usize>| Block {
                kind: BlockKind::Heading(1),
                range,
                ..Block::default()
            };
            let parsed = ParsedDocument {
                text: text.into(),
                blocks: vec![block(0..at[0]), block(at[1]..text.len())],
                ..ParsedDocument::default()
            };
            let source = DocumentSource {
                key: "k".into(),
                filename: Some("a/questions.jsonl".into()),
                ..DocumentSource::default()
            };
            build(parsed, Vec::new(), source, &BuildSettings::default())
                .record
                .title
        };
        let questions = "Question 101\n\nQuestion 102";
        assert_eq!(title(questions, [12, 14]).as_deref(), Some("questions"));
        let chapters = "Chapter 1: Ice\n\nChapter 2: Snow";
        assert_eq!(title(chapters, [14, 16]).as_deref(), Some("questions"));
    }

    #[test]
    fn stated_metadata_fills_the_fields_of_the_record() {
        let parsed = ParsedDocument {
            text: "The heap.".into(),
            facts: TextMetrics {
                address: Some("https://x.org/".into()),
                category: Some("maths".into()),
                tags: vec!["heaps".into(), "trees".into()],
                difficulty: Some("hard".into()),
                prerequisites: vec!["a".into(), "b, c".into()],
                learning_outcomes: vec!["d".into()],
                other: [("note".into(), "e".into())].into(),
                ..TextMetrics::default()
            },
            ..ParsedDocument::default()
        };
        let build = |source| {
            build(
                parsed.clone(),
                Vec::new(),
                source,
                &BuildSettings::default(),
            )
            .record
        };
        let record = build(DocumentSource::default());
        assert_eq!(record.address.as_deref(), Some("https://x.org/"));
        assert_eq!(record.category.as_deref(), Some("maths"));
        assert_eq!(record.topics, ["heaps", "trees"]);
        assert_eq!(record.difficulty.as_deref(), Some("hard"));
        assert_eq!(record.prerequisites, ["a", "b, c"]);
        assert_eq!(record.learning_outcomes, ["d"]);
        assert_eq!(record.metadata, [("note".into(), "e".into())]);
        let given = build(DocumentSource {
            address: Some("https://y.org/".into()),
            category: Some("other".into()),
            ..DocumentSource::default()
        });
        assert_eq!(given.address.as_deref(), Some("https://y.org/"));
        assert_eq!(given.category.as_deref(), Some("other"));
    }

    #[test]
    fn the_signature_tells_settings_apart() {
        let other = BuildSettings {
            chunking: ChunkSettings::large(),
            ..BuildSettings::default()
        };
        assert_ne!(BuildSettings::default().signature(), other.signature());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Pieces that rules look for, in any order and beside letters of more than one byte.
        #[test]
        fn whatever_a_text_says_it_becomes_a_document(
            pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..60),
            glue in prop::sample::select(vec!["", " ", "\n", "\n\n"]),
        ) {
            let text = pieces.join(glue);
            for kind in [Kind::Text, Kind::Markdown] {
                let Ok(parsed) = parse(kind, text.as_bytes(), Some("größe.md")) else {
                    continue;
                };
                for mode in [Chunking::Auto, Chunking::Hierarchical, Chunking::ThreeLevel, Chunking::Sentence] {
                    let mut settings = BuildSettings::default();
                    settings.chunking.mode = mode;
                    let document = build(parsed.clone(), Vec::new(), DocumentSource::default(), &settings);
                    prop_assert!(!document.chunks.is_empty() || text.trim().is_empty());
                }
            }
        }
    }

    const PIECES: [&str; 56] = [
        "Call it (e.g., part of the application’s memory), and",
        "’",
        "“",
        "”",
        "é",
        "ﬃ",
        "量子",
        "\u{a0}",
        "\u{200b}",
        "(Knuth, 1997)",
        "(Größe, 19é",
        "[12",
        "[3, 5–7]",
        "et al.",
        "et al. (2020",
        "§",
        "May",
        "may 3",
        "12 May 1945’s",
        "the 1990s",
        "19th century",
        "von ",
        "St. ",
        "L.K. Advani",
        "Dr.",
        "Definition:",
        "Example 3.",
        "Exercises",
        "# ",
        "## 2.1 Größen",
        "- ",
        "1. ",
        "> ",
        "```",
        "$x^2$",
        "$$",
        "| a | b |",
        "|---|---|",
        "?",
        "!",
        "...",
        "…",
        ".",
        ",",
        ";",
        ":",
        "(",
        ")",
        "[",
        "]",
        "Figure 3",
        "see Section 2.1",
        "İstanbul",
        "ß",
        "References",
        "10.1000/é",
    ];
}
