//! The laws of chunking over generated documents, and how small cases are cut.

use proptest::prelude::*;

use locidb::storage::records::{ChunkRecord, ChunkType, ContentType, Level};

use super::*;
use crate::tokens;
use loci_documents::{Block, BlockKind, Kind, Mark, MarkKind};

/// Builds a document by appending blocks with their markup.
#[derive(Default)]
struct Writer {
    parsed: ParsedDocument,
}

impl Writer {
    fn markdown() -> Writer {
        let parsed = ParsedDocument {
            kind: Kind::Markdown,
            text_is_original: true,
            ..ParsedDocument::default()
        };
        Writer { parsed }
    }

    fn block(mut self, before: &str, kind: BlockKind, text: &str, after: &str) -> Writer {
        self.parsed.text.push_str(before);
        let start = self.parsed.text.len();
        self.parsed.text.push_str(text);
        let range = start..self.parsed.text.len();
        self.parsed.text.push_str(after);
        let page = self.parsed.blocks.len() as u32 / 5 + 1;
        let pages = Some((page, page));
        self.parsed.blocks.push(Block {
            kind,
            range,
            pages,
            ..Block::default()
        });
        self
    }

    fn heading(self, level: u8, text: &str) -> Writer {
        self.block(
            &format!("{} ", "#".repeat(level.into())),
            BlockKind::Heading(level),
            text,
            "\n\n",
        )
    }

    fn prose(self, text: &str) -> Writer {
        self.block("", BlockKind::Paragraph, text, "\n\n")
    }

    fn code(self, text: &str) -> Writer {
        self.block("```rust\n", BlockKind::Code(None), text, "\n```\n\n")
    }
}

/// `n` sentences about `topic`, of eight tokens each.
fn sentences(topic: &str, n: usize) -> String {
    (0..n)
        .map(|i| format!("The {topic} has item {i} here."))
        .collect::<Vec<_>>()
        .join(" ")
}

fn tree_summary(chunks: &[NewChunk]) -> Vec<(Level, Option<u32>, String)> {
    chunks
        .iter()
        .map(|c| {
            (
                c.record.level,
                c.record.parent,
                c.record.heading_path.join(" / "),
            )
        })
        .collect()
}

fn section(parent: Option<u32>, path: &str) -> (Level, Option<u32>, String) {
    (Level::Section, parent, path.to_owned())
}

fn passage(parent: u32, path: &str) -> (Level, Option<u32>, String) {
    (Level::Paragraph, Some(parent), path.to_owned())
}

#[test]
fn an_empty_file_has_no_chunks() {
    assert!(chunk(&ParsedDocument::default(), &ChunkSettings::default()).is_empty());
    assert!(
        chunk(
            &Writer::markdown().prose(" \n").parsed,
            &ChunkSettings::default()
        )
        .is_empty()
    );
}

#[test]
fn a_section_that_fits_is_one_parent_with_its_subsections() {
    let doc = Writer::markdown()
        .prose("Before.")
        .heading(1, "Top")
        .prose("Lead.")
        .heading(2, "Sub")
        .prose("Body.");
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    let expected = [
        section(None, ""),
        passage(0, ""),
        section(None, "Top"),
        passage(2, "Top"),
    ];
    assert_eq!(tree_summary(&chunks), expected);
    assert_eq!(chunks[2].record.text, "# Top\n\nLead.\n\n## Sub\n\nBody.");
}

#[test]
fn a_large_section_splits_at_its_subsections() {
    let doc = Writer::markdown()
        .heading(1, "Top")
        .prose(&sentences("lead", 20))
        .heading(2, "One")
        .prose(&sentences("one", 90))
        .heading(2, "Two")
        .prose(&sentences("two", 90));
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    let sections: Vec<_> = tree_summary(&chunks)
        .into_iter()
        .filter(|(level, ..)| *level == Level::Section)
        .collect();
    assert_eq!(sections[0], section(None, "Top"));
    assert_eq!(
        sections[1..],
        [section(Some(0), "Top / One"), section(Some(0), "Top / Two")]
    );
    assert_eq!(chunks[0].record.subtree_end as usize, chunks.len());
}

#[test]
fn a_bare_heading_is_a_parent_whose_text_goes_along_with_the_first_passage() {
    let doc = Writer::markdown()
        .heading(1, "Chapter 3: Waves")
        .heading(2, "3.1 Sound")
        .prose(&sentences("sound", 80))
        .heading(2, "3.2 Light")
        .prose(&sentences("light", 80));
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    assert_eq!(chunks[0].record.text, "# Chapter 3: Waves");
    assert_eq!(
        chunks[1].record.heading_path,
        ["Chapter 3: Waves", "3.1 Sound"]
    );
    assert!(
        chunks[2]
            .record
            .text
            .starts_with("# Chapter 3: Waves\n\n## 3.1 Sound\n\nThe sound")
    );
    assert_eq!(chunks[2].record.chapter_number.as_deref(), Some("3"));
    assert_eq!(chunks[2].record.section_number.as_deref(), Some("3.1"));
}

#[test]
fn text_without_headings_is_cut_into_equal_parents() {
    let mut doc = Writer::default();
    for i in 0..30 {
        doc = doc.prose(&sentences(&format!("topic{i}"), 10));
    }
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    let sizes: Vec<u32> = chunks
        .iter()
        .filter(|c| c.record.level == Level::Section)
        .map(|c| c.record.token_count)
        .collect();
    assert!(
        sizes.len() >= 2 && sizes.iter().all(|&n| n <= 1024 && n > 500),
        "{sizes:?}"
    );
    assert!(
        chunks
            .iter()
            .all(|c| c.record.level != Level::Section || c.record.parent.is_none())
    );
}

#[test]
fn small_sections_join_their_neighbours() {
    let mut doc = Writer::markdown().heading(1, "Glossary");
    for i in 0..100 {
        doc = doc
            .heading(2, &format!("Term {i}"))
            .prose(&sentences("term", 3));
    }
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    let parents = chunks
        .iter()
        .filter(|c| c.record.level == Level::Section)
        .count();
    assert!((3..=6).contains(&parents), "{parents} parents");
}

#[test]
fn neighbours_share_whole_sentences_and_end_where_the_words_change() {
    let doc = Writer::markdown()
        .heading(1, "T")
        .prose(&sentences("kernel scheduler", 20))
        .prose("Rabbits eat grass. Foxes hunt rabbits at night. Grass feeds rabbits all year. Rabbits fear foxes. Rabbits dig deep burrows below the meadow. Foxes sleep in dens until the evening comes. Foxes sleep.");
    let settings = ChunkSettings {
        similarity_min: 0.05,
        ..ChunkSettings::default()
    };
    let chunks = chunk(&doc.parsed, &settings);
    assert_eq!(chunks.len(), 3);
    assert!(chunks[1].record.text.ends_with("item 19 here."));
    assert!(
        chunks[2]
            .record
            .text
            .starts_with("The kernel scheduler has item")
    );
    assert!(chunks[2].record.text.ends_with("Foxes sleep."));
}

#[test]
fn code_in_a_document_stays_whole_up_to_the_hard_limit() {
    let line = "let value = compute(first, second);\n";
    let doc = Writer::markdown()
        .prose("Look at this:")
        .code(&line.repeat(30))
        .prose("Done now.");
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    let whole = chunks
        .iter()
        .find(|c| c.record.level == Level::Paragraph && c.record.text.contains("let"));
    let whole = &whole.expect("a passage with the code").record;
    assert!(whole.text.starts_with("Look at this:\n\n```rust\n"));
    assert_eq!(whole.text.matches("compute").count(), 30);
    assert_eq!(whole.content_type, ContentType::Code);
}

fn definition(symbol: &str) -> BlockKind {
    BlockKind::Definition {
        symbol: symbol.to_owned(),
        what: "function".to_owned(),
    }
}

#[test]
fn source_code_is_grouped_by_definitions() {
    let body = "    self.items.push(value);\n".repeat(20);
    let mut doc = Writer::default().block("", definition(""), "use std::fmt;", "\n\n");
    doc.parsed.kind = Kind::Code(loci_documents::Language::Rust);
    doc.parsed.text_is_original = true;
    for name in ["Stack::push", "Stack::pop", "Stack::peek", "run"] {
        doc = doc.block(
            "",
            definition(name),
            &format!("/// Docs.\nfn f() {{\n{body}}}"),
            "\n\n",
        );
    }
    doc = doc.block("", definition("huge"), &body.repeat(8), "\n");
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    assert!(
        chunks[1..]
            .iter()
            .all(|c| c.record.level == Level::Paragraph || c.record.parent == Some(0))
    );
    assert!(
        chunks.iter().all(
            |c| c.record.content_type == ContentType::Code && c.record.location.lines.is_some()
        )
    );
    let leaves: Vec<&ChunkRecord> = chunks
        .iter()
        .map(|c| &c.record)
        .filter(|r| r.level == Level::Paragraph)
        .collect();
    assert!(leaves.iter().all(|leaf| leaf.token_count <= 512));
    assert_eq!(leaves[0].key_terms[0], "Stack::push");
    assert!(
        leaves
            .iter()
            .filter(|leaf| leaf.symbol.as_deref() == Some("huge"))
            .count()
            >= 2
    );
}

#[test]
fn marks_become_key_terms() {
    let mut doc = Writer::markdown().prose("A _borrow checker_ is a program.");
    doc.parsed.blocks[0].marks.push(Mark {
        kind: MarkKind::Emphasis,
        range: 2..18,
    });
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    assert_eq!(chunks[1].record.key_terms, ["borrow checker"]);
    assert_eq!(chunks[1].record.chunk_type, ChunkType::Concept);
}

fn any_block() -> impl Strategy<Value = (u8, String)> {
    let words = prop::collection::vec("[a-zA-Zé日]{1,12}[.?,]?", 1..60).prop_map(|w| w.join(" "));
    (0u8..12, words)
}

#[test]
fn a_page_has_a_parent_for_each_heading_of_level_two_and_no_passage_across_headings() {
    let mut doc = Writer::markdown()
        .heading(1, "Top")
        .prose(&sentences("lead", 12));
    for name in ["One", "Two"] {
        doc = doc
            .heading(2, name)
            .prose(&sentences(name, 10))
            .heading(3, &format!("{name} more"))
            .prose(&sentences("more", 10));
    }
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    let expected = [
        section(None, "Top"),
        passage(0, "Top"),
        section(Some(0), "Top / One"),
        passage(2, "Top / One"),
        passage(2, "Top / One / One more"),
        section(Some(0), "Top / Two"),
        passage(5, "Top / Two"),
        passage(5, "Top / Two / Two more"),
    ];
    assert_eq!(tree_summary(&chunks), expected);
    // As a paper it is one section.
    let papers = ChunkSettings {
        mode: Chunking::Hierarchical,
        ..ChunkSettings::default()
    };
    let chunks = chunk(&doc.parsed, &papers);
    assert_eq!(chunks[0].record.subtree_end as usize, chunks.len());
    let is_section = |chunk: &&NewChunk| chunk.record.level == Level::Section;
    assert_eq!(chunks.iter().filter(is_section).count(), 1);
}

/// A deck: (title, blocks of the slide).
fn deck(slides: &[(&str, &[(BlockKind, &str)])]) -> ParsedDocument {
    let mut doc = Writer::markdown();
    doc.parsed.kind = Kind::Pptx;
    for (number, (title, blocks)) in (1u32..).zip(slides) {
        let first = doc.parsed.blocks.len();
        doc = doc.block("", BlockKind::Heading(1), title, "\n\n");
        for (kind, text) in *blocks {
            doc = doc.block("", kind.clone(), text, "\n\n");
        }
        for block in &mut doc.parsed.blocks[first..] {
            (block.slide, block.pages) = (Some(number), None);
        }
    }
    doc.parsed
}

#[test]
fn slides_are_parents_and_those_of_like_titles_are_one() {
    use BlockKind::{Aside, ListItem, Table};
    let deck = deck(&[
        (
            "Memory",
            &[
                (ListItem, "Stack"),
                (ListItem, "Heap"),
                (Aside, "Ask who knows them."),
            ],
        ),
        ("Garbage collection", &[(ListItem, "Mark and sweep")]),
        (
            "Garbage collection (2/2)",
            &[(Table, "| a | b |"), (ListItem, "Generations")],
        ),
    ]);
    let chunks = chunk(&deck, &ChunkSettings::default());
    let actual: Vec<_> = chunks
        .iter()
        .map(|chunk| {
            let record = &chunk.record;
            (
                record.level,
                record.location.slide.unwrap(),
                &record.text[..],
            )
        })
        .collect();
    assert_eq!(
        actual,
        [
            (
                Level::Section,
                1,
                "Memory\n\nStack\n\nHeap\n\nAsk who knows them."
            ),
            (Level::Paragraph, 1, "Memory\n\nStack\n\nHeap"),
            (Level::Paragraph, 1, "Ask who knows them."),
            (
                Level::Section,
                2,
                "Garbage collection\n\nMark and sweep\n\nGarbage collection (2/2)\n\n| a | b |\n\nGenerations"
            ),
            (Level::Paragraph, 2, "Garbage collection\n\nMark and sweep"),
            (Level::Paragraph, 3, "Garbage collection (2/2)\n\n| a | b |"),
            (Level::Paragraph, 3, "Generations"),
        ]
    );
}

#[test]
fn an_exchange_is_a_parent_and_a_turn_a_passage() {
    let mut doc = Writer::markdown();
    doc.parsed.kind = Kind::Chat;
    let turns = [
        ("system", "Answer in one sentence."),
        (
            "user",
            "What is a lighthouse for, and who looks after it at night?",
        ),
        ("assistant", "It warns ships of a coast."),
        ("user", "Why at night?"),
        ("assistant", "Because nobody sees the coast then."),
        (
            "user",
            "Which cheese is best for a fondue with white wine in winter?",
        ),
        ("assistant", "Gruyere and vacherin, half and half."),
    ];
    for (speaker, text) in turns {
        let speaker = speaker.to_owned();
        doc = doc.block("", BlockKind::Turn { speaker }, text, "\n\n");
    }
    let chunks = chunk(&doc.parsed, &ChunkSettings::default());
    let actual: Vec<_> = chunks
        .iter()
        .map(|chunk| {
            let record = &chunk.record;
            let speaker = record.metadata.first().map_or("", |(_, speaker)| speaker);
            (record.parent, speaker, record.text.lines().count())
        })
        .collect();
    assert_eq!(
        actual,
        [
            (None, "", 9),
            (Some(0), "system", 1),
            (Some(0), "user", 1),
            (Some(0), "assistant", 1),
            (Some(0), "user", 1),
            (Some(0), "assistant", 1),
            (None, "", 3),
            (Some(6), "user", 1),
            (Some(6), "assistant", 1),
        ]
    );
}

#[test]
fn sentences_hang_below_their_passage_with_their_type() {
    let doc = Writer::markdown()
        .heading(1, "The Heap")
        .prose("A heap is a region of memory. We found that it grows by 20 %.")
        .code("let x = 1;");
    let settings = ChunkSettings {
        mode: Chunking::Sentence,
        ..ChunkSettings::default()
    };
    let chunks = chunk(&doc.parsed, &settings);
    let actual: Vec<_> = chunks
        .iter()
        .map(|chunk| {
            (
                chunk.record.level,
                chunk.record.parent,
                chunk.record.sentence_type,
            )
        })
        .collect();
    use locidb::storage::records::SentenceType::{Definition, Result};
    assert_eq!(
        actual,
        [
            (Level::Section, None, None),
            (Level::Paragraph, Some(0), None),
            (Level::Sentence, Some(1), Some(Definition)),
            (Level::Sentence, Some(1), Some(Result)),
        ]
    );
    assert_eq!(chunks[2].record.text, "A heap is a region of memory.");
}

#[test]
fn three_levels_are_a_summary_sections_and_propositions() {
    let about = "It holds what outlives the call that made it, and a program gives the room back by itself or has a \
                 collector look for what nobody needs any more while it runs.";
    let doc = Writer::markdown()
        .heading(1, "Memory")
        .heading(2, "The Heap")
        .prose(about)
        .code("let x = Box::new(1);")
        .heading(2, "The Stack")
        .prose(&sentences("stack", 60));
    let settings = ChunkSettings {
        mode: Chunking::ThreeLevel,
        ..ChunkSettings::default()
    };
    let chunks = chunk(&doc.parsed, &settings);
    let records: Vec<&ChunkRecord> = chunks.iter().map(|chunk| &chunk.record).collect();
    assert_eq!(
        (records[0].level, records[0].parent),
        (Level::Summary, None)
    );
    assert_eq!(records[0].subtree_end as usize, records.len());
    assert!((100..=200).contains(&records[0].token_count));
    for (place, record) in records.iter().enumerate().skip(1) {
        match record.level {
            Level::Section => {
                assert_eq!(record.parent, Some(0));
                assert!(
                    (150..=500).contains(&record.token_count),
                    "{}",
                    record.token_count
                );
            }
            level => {
                assert_eq!(level, Level::Proposition, "{place}");
                assert!(record.token_count <= 200);
            }
        }
    }
    let first = records
        .iter()
        .find(|record| record.level == Level::Proposition)
        .unwrap();
    assert!(
        first.text.starts_with("The Heap holds what outlives"),
        "{}",
        first.text
    );
    assert_eq!(first.content_type, ContentType::Proposition);
    assert!(first.proposition_type.is_some() && first.verifiable.is_some());
    let code = records
        .iter()
        .find(|record| record.text.contains("Box::new") && record.level == Level::Proposition);
    assert_eq!(code.unwrap().content_type, ContentType::Code);
}

prop_compose! {
    fn any_document()(blocks in prop::collection::vec(any_block(), 0..40), lead in "[a-z\n ]{0,20}") -> ParsedDocument {
        let mut doc = Writer::markdown();
        doc.parsed.text.push_str(&lead);
        for (kind, words) in blocks {
            doc = match kind {
                0..=3 => {
                    let title: String = words.chars().take(30).collect();
                    doc.heading(kind + 1, title.trim())
                }
                4 => doc.code(&words.replace(' ', "\n")),
                5 => doc.block("- ", BlockKind::ListItem, &words, "\n"),
                6 => doc.block("", BlockKind::Table, &words.replace(' ', "|"), "\n\n"),
                _ => doc.prose(&words),
            };
        }
        doc.parsed.text.push_str("\n<!-- end -->");
        doc.parsed
    }
}

fn any_settings() -> impl Strategy<Value = ChunkSettings> {
    (120u32..400, 16u32..60, 0.0f32..0.5, 0.0f32..0.5).prop_map(
        |(parent, child, overlap, similarity)| ChunkSettings {
            parent_tokens: parent,
            child_tokens: child,
            code_tokens: child * 2,
            overlap,
            similarity_min: similarity,
            mode: Chunking::Auto,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn every_chunk_tree_keeps_the_laws(parsed in any_document(), settings in any_settings()) {
        parsed.validate().unwrap();
        let chunks = chunk(&parsed, &settings);
        let characters: Vec<char> = parsed.text.chars().collect();
        let mut covered = vec![false; characters.len()];
        let mut start = 0;
        for (i, NewChunk { record, .. }) in chunks.iter().enumerate() {
            let (from, to) = record.location.chars;
            let text: String = characters[from as usize..to as usize].iter().collect();
            prop_assert_eq!(&text, &record.text);
            prop_assert!(!text.trim().is_empty());
            prop_assert_eq!(record.token_count, tokens::count(&text));
            prop_assert!(from >= start || record.level == Level::Paragraph, "sections are in reading order");
            if record.level == Level::Section {
                start = from;
                // A word that had to be cut may count for a little more when put together again.
                prop_assert!(record.token_count <= settings.parent_tokens + 8, "section of {}", record.token_count);
                prop_assert!(record.subtree_end as usize > i + 1, "every section has a child");
            } else {
                covered[from as usize..to as usize].fill(true);
                prop_assert!(record.token_count <= settings.passage_tokens_max() + 8, "passage of {}", record.token_count);
                prop_assert_eq!(record.subtree_end as usize, i + 1);
                let parent = &chunks[record.parent.unwrap() as usize].record.location.chars;
                prop_assert!(parent.0 <= from && to <= parent.1, "a passage lies inside its parent");
            }
            if let Some(parent) = record.parent {
                prop_assert!((parent as usize) < i);
                prop_assert_eq!(chunks[parent as usize].record.level, Level::Section);
                prop_assert!(chunks[parent as usize].record.subtree_end >= record.subtree_end, "subtrees are runs");
                prop_assert!(i < chunks[parent as usize].record.subtree_end as usize);
            }
        }
        for (i, c) in characters.iter().enumerate() {
            prop_assert!(covered[i] || c.is_whitespace(), "character {i} {c:?} is in no passage");
        }
        prop_assert_eq!(chunk(&parsed, &settings), chunks);
    }

    #[test]
    fn every_other_way_covers_the_text_and_keeps_the_tree(
        mut parsed in any_document(),
        settings in any_settings(),
        way in 0usize..5,
        marks in prop::collection::vec(0u8..4, 40),
    ) {
        let mode = [Chunking::Hierarchical, Chunking::ThreeLevel, Chunking::Sentence, Chunking::Auto, Chunking::Auto][way];
        for (block, mark) in parsed.blocks.iter_mut().zip(&marks) {
            match (way, mark) {
                (3, mark) => block.slide = Some(u32::from(*mark)),
                (4, 0 | 1) => block.kind = BlockKind::Turn { speaker: ["user", "assistant"][usize::from(*mark)].into() },
                _ => {}
            }
        }
        parsed.kind = [Kind::Markdown, Kind::Html, Kind::Markdown, Kind::Pptx, Kind::Chat][way];
        let settings = ChunkSettings { mode, ..settings };
        let chunks = chunk(&parsed, &settings);
        let characters: Vec<char> = parsed.text.chars().collect();
        let mut covered = vec![false; characters.len()];
        for (i, NewChunk { record, .. }) in chunks.iter().enumerate() {
            let (from, to) = record.location.chars;
            let text: String = characters[from as usize..to as usize].iter().collect();
            let is_told = matches!(record.level, Level::Summary | Level::Proposition);
            prop_assert!(record.text == text || is_told, "{:?} of {text:?}", record);
            prop_assert!(!record.text.trim().is_empty());
            if matches!(record.level, Level::Paragraph) || way == 1 && record.level == Level::Section {
                covered[from as usize..to as usize].fill(true);
            }
            if let Some(parent) = record.parent {
                let above = &chunks[parent as usize].record;
                prop_assert!((parent as usize) < i && i < above.subtree_end as usize);
                prop_assert!(above.level < record.level || above.level == Level::Section);
                prop_assert!(above.subtree_end >= record.subtree_end);
            }
        }
        for (i, c) in characters.iter().enumerate() {
            prop_assert!(covered[i] || c.is_whitespace(), "character {i} {c:?} is in no chunk");
        }
        prop_assert_eq!(chunk(&parsed, &settings), chunks);
    }
}

#[test]
fn the_speaker_of_a_turn_of_many_blocks_goes_on_until_the_next_conversation() {
    let block = |kind| Block {
        kind,
        ..Block::default()
    };
    let turn = |name: &str| {
        block(BlockKind::Turn {
            speaker: name.to_owned(),
        })
    };
    let parsed = ParsedDocument {
        blocks: vec![
            block(BlockKind::Paragraph),
            turn("Ann"),
            block(BlockKind::Paragraph),
            turn(""),
            block(BlockKind::Heading(2)),
            turn("Bo"),
            block(BlockKind::Heading(1)),
            block(BlockKind::Paragraph),
        ],
        ..ParsedDocument::default()
    };
    let (ann, bo) = (Some("Ann"), Some("Bo"));
    let want = [None, ann, ann, ann, ann, bo, None, None];
    assert_eq!(super::exchanges::speakers(&parsed), want);
}
