//! Extraction from small documents, and the laws that hold for any.

use proptest::prelude::*;

use super::*;
use crate::chunk::{ChunkSettings, chunk};
use loci_documents::{Block, Kind, Mark, MarkKind};
use locidb::storage::records::Level;

/// A Markdown document of paragraphs; lines that start with `#` are headings. Text in underscores
/// is emphasised, text in back quotes is code.
fn document(text: &str) -> ParsedDocument {
    let mut parsed = ParsedDocument {
        kind: Kind::Markdown,
        text: text.to_owned(),
        text_is_original: true,
        ..ParsedDocument::default()
    };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end();
        let hashes = body.bytes().take_while(|&b| b == b'#').count();
        let range = start + hashes + usize::from(hashes > 0)..start + body.len();
        start += line.len();
        if range.start >= range.end {
            continue;
        }
        let kind = if hashes > 0 {
            BlockKind::Heading(hashes as u8)
        } else {
            BlockKind::Paragraph
        };
        let marks = [('_', MarkKind::Emphasis), ('`', MarkKind::Code)]
            .iter()
            .flat_map(|&(c, kind)| {
                let at: Vec<usize> = text[range.clone()]
                    .match_indices(c)
                    .map(|(i, _)| range.start + i)
                    .collect();
                let pairs: Vec<Mark> = at
                    .chunks_exact(2)
                    .map(|pair| Mark {
                        kind,
                        range: pair[0] + 1..pair[1],
                    })
                    .collect();
                pairs
            });
        let marks = marks.collect();
        parsed.blocks.push(Block {
            kind,
            range,
            marks,
            ..Block::default()
        });
    }
    parsed.validate().expect("a valid document");
    parsed
}

fn extracted(text: &str) -> (Vec<NewConcept>, Vec<NewRelation>) {
    let parsed = document(text);
    let chunks = chunk(&parsed, &ChunkSettings::default());
    extract(&parsed, &chunks, &ExtractSettings::default())
}

/// Source, kind and target.
type RelationTriple<'a> = (&'a str, &'a str, &'a str);

fn relation_triples(relations: &[NewRelation]) -> Vec<RelationTriple<'_>> {
    let typed = relations.iter().filter(|r| r.kind != "RELATED_TO");
    typed
        .map(|r| (r.source.as_str(), r.kind.as_str(), r.target.as_str()))
        .collect()
}

const OWNERSHIP: &str = "\
# What Is Ownership?
_Ownership_ is a set of rules that govern how a program manages memory. The compiler checks ownership.
## The Borrow Checker
The borrow checker is a compiler pass that checks references. The borrow checker depends on ownership.
It rejects a program. This is called _dangling prevention_, and dangling prevention is good.
## Heap
The memory allocator finds an empty spot on the heap. The heap is less organized. A memory allocator uses the heap.
The translation lookaside buffer (TLB) is fast. The TLB is flushed. Call `drop` or `drop` on `Box`.
";

#[test]
fn concepts_carry_their_defining_sentence() {
    let (concepts, _) = extracted(OWNERSHIP);
    let of = |name: &str| {
        concepts
            .iter()
            .find(|c| c.name == name)
            .unwrap_or_else(|| panic!("{name}: {concepts:#?}"))
    };
    assert_eq!(
        of("ownership").description,
        "Ownership is a set of rules that govern how a program manages memory."
    );
    assert!(
        of("borrow checker")
            .description
            .starts_with("The borrow checker is a compiler pass")
    );
    assert_eq!(of("translation lookaside buffer").synonyms, ["TLB"]);
    assert!(
        of("dangling prevention")
            .description
            .starts_with("This is called")
    );
    assert_eq!(of("drop").kind, "code");
    for junk in ["it", "this", "set", "program", "TLB", "spot", "less"] {
        assert!(concepts.iter().all(|c| c.name != junk), "{junk}");
    }
}

#[test]
fn what_is_required_comes_before_what_requires_it() {
    let (_, relations) = extracted(OWNERSHIP);
    let triples = relation_triples(&relations);
    assert!(
        triples.contains(&("ownership", "PREREQUISITE_FOR", "borrow checker")),
        "{triples:?}"
    );
    assert!(
        triples.contains(&("memory allocator", "USES", "heap")),
        "{triples:?}"
    );
}

#[test]
fn verbs_between_names_are_read_in_their_direction() {
    let cases: &[(&str, &[RelationTriple<'_>])] = &[
        (
            "The page cache requires the block layer.",
            &[("block layer", "PREREQUISITE_FOR", "page cache")],
        ),
        ("The page cache is built on top of the block layer.", &[]),
        ("The page cache does not require the block layer.", &[]),
        (
            "The page cache is used by the block layer.",
            &[("block layer", "USES", "page cache")],
        ),
        (
            "The page cache is a prerequisite for the block layer.",
            &[("page cache", "PREREQUISITE_FOR", "block layer")],
        ),
        (
            "The page cache is part of the block layer.",
            &[("page cache", "PART_OF", "block layer")],
        ),
        (
            "The page cache is a simple block layer.",
            &[("page cache", "IS_A", "block layer")],
        ),
        ("The size of the page cache causes the block layer.", &[]),
        ("The page cache uses the block layer device.", &[]),
    ];
    let names = "\nA _page cache_ helps. A _block layer_ helps.\nThe page cache is old. The block layer is old.\n";
    for (sentence, expected) in cases {
        let (_, relations) = extracted(&format!("{sentence}{names}"));
        assert_eq!(relation_triples(&relations), *expected, "in {sentence:?}");
    }
}

#[test]
fn dates_are_concepts_of_their_own_type_and_take_part_in_no_relation() {
    let (concepts, relations) = extracted(
        "# History\nAda Lovelace met Charles Babbage on 5 June 1833. In 1843 Ada Lovelace wrote to Charles Babbage. \
         They saw the 1908 Summer Games.",
    );
    let dates = concepts.iter().filter(|c| c.kind == "date");
    let dates: BTreeSet<&str> = dates.map(|c| c.name.as_str()).collect();
    assert_eq!(dates, BTreeSet::from(["5 June 1833", "1843"]));
    assert!(!relations.is_empty(), "{concepts:#?}");
    for relation in &relations {
        assert!(!dates.contains(relation.source.as_str()), "{relation:?}");
        assert!(!dates.contains(relation.target.as_str()), "{relation:?}");
    }
}

#[test]
fn a_closing_word_alone_is_a_mention_of_the_one_longer_name() {
    let (concepts, _) = extracted(
        "# Life\nAda Lovelace lived. Later Lovelace wrote to Charles Babbage, and Lovelace was right.",
    );
    let of = |name: &str| concepts.iter().find(|c| c.name == name);
    assert_eq!(of("Ada Lovelace").expect("the name").mentions[0].1, 3);
    assert!(of("Lovelace").is_none(), "{concepts:#?}");
}

#[test]
fn a_closing_word_of_several_names_stays_a_name() {
    let (concepts, _) =
        extracted("# Rivers\nThe Red Eyre and the Blue Eyre meet. In the Eyre there is fish.");
    assert!(concepts.iter().any(|c| c.name == "Eyre"), "{concepts:#?}");
}

#[test]
fn the_title_of_a_file_is_a_concept_though_no_sentence_repeats_it() {
    let text = "# The Good and the Ugly Duck (film)\nIt was made long ago by nobody in particular.";
    let mut parsed = document(text);
    parsed.title = Some("The Good and the Ugly Duck (film)".to_owned());
    let chunks = chunk(&parsed, &ChunkSettings::default());
    let (concepts, _) = extract(&parsed, &chunks, &ExtractSettings::default());
    let names: Vec<&str> = concepts.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["Good and the Ugly Duck"]);
}

#[test]
fn source_files_give_their_symbols() {
    let text = "/// A stack of values.\nstruct Stack {}\n\n/// Pushes one.\nfn push() { grow_buffer() }\n\nfn grow_buffer() {}\n";
    let mut parsed = ParsedDocument {
        kind: Kind::Code(loci_documents::Language::Rust),
        text: text.to_owned(),
        text_is_original: true,
        ..Default::default()
    };
    let mut start = 0;
    for (symbol, what) in [
        ("Stack", "struct"),
        ("Stack::push", "method"),
        ("grow_buffer", "function"),
    ] {
        let end = text[start..]
            .find("\n\n")
            .map_or(text.len() - 1, |n| start + n);
        let kind = BlockKind::Definition {
            symbol: symbol.to_owned(),
            what: what.to_owned(),
        };
        parsed.blocks.push(Block {
            kind,
            range: start..end,
            ..Block::default()
        });
        start = end + 2;
    }
    let chunks = chunk(&parsed, &ChunkSettings::default());
    let (concepts, relations) = extract(&parsed, &chunks, &ExtractSettings::default());
    let names: Vec<&str> = concepts.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["Stack", "grow_buffer", "Stack::push"]);
    assert_eq!(concepts[0].description, "A stack of values.");
    let expected = [
        ("Stack", "CONTAINS", "Stack::push"),
        ("Stack::push", "USES", "grow_buffer"),
    ];
    assert_eq!(relation_triples(&relations), expected);
}

fn any_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "kernel",
        "page table",
        "the",
        "is a",
        "requires",
        "uses",
        "_trap frame_",
        "`walk`",
        "It",
        "Linux",
        "TLB",
        "not",
        "Robert Morris",
        "(RCU)",
        "lock",
        "called",
        "of",
        "process",
        "\n# Traps\n",
        "\n",
        "42",
        "in 1963",
        "on 7 July 1937",
        "Ada Lovelace",
        "Lovelace",
    ]);
    let sentence = prop::collection::vec(words, 1..12).prop_map(|w| format!("{}.", w.join(" ")));
    prop::collection::vec(sentence, 1..60).prop_map(|s| s.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_extraction_keeps_the_laws(text in any_text(), entities in 1usize..6, relations in 1usize..4) {
        let parsed = document(&text);
        let chunks = chunk(&parsed, &ChunkSettings { child_tokens: 40, ..ChunkSettings::default() });
        let settings = ExtractSettings { entities_per_chunk: entities, relations_per_chunk: relations };
        let (concepts, found) = extract(&parsed, &chunks, &settings);
        let mut per_leaf = BTreeMap::new();
        let mut names = BTreeSet::new();
        for concept in &concepts {
            let letters: String = concept.name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
            prop_assert!(names.insert(letters), "{} stands twice", concept.name);
            let dated = concept.kind == "date";
            prop_assert!(concept.name.split(' ').count() <= 8);
            prop_assert!(dated || concept.name.chars().any(char::is_alphabetic));
            prop_assert!(!concept.mentions.is_empty());
            prop_assert!(concept.mentions.is_sorted_by(|a, b| a.0 < b.0));
            for &(leaf, count) in &concept.mentions {
                prop_assert_eq!(chunks[leaf as usize].record.level, Level::Paragraph);
                prop_assert!(count > 0);
                *per_leaf.entry((leaf, dated)).or_insert(0) += 1;
            }
        }
        let most = |dated| if dated { entities.div_ceil(2) } else { entities };
        prop_assert!(per_leaf.iter().all(|(&(_, dated), &n)| n <= most(dated)));
        let mut evidence = BTreeMap::new();
        for relation in &found {
            prop_assert!(relation.source != relation.target && relation.weight.is_finite() && relation.weight > 0.0);
            for name in [&relation.source, &relation.target] {
                let named = concepts.iter().find(|c| c.name == *name);
                prop_assert!(named.is_some_and(|c| c.kind != "date"), "{} is no name", name);
            }
            prop_assert!(!relation.chunks.is_empty() && relation.chunks.is_sorted_by(|a, b| a < b));
            relation.chunks.iter().for_each(|&leaf| *evidence.entry(leaf).or_insert(0) += 1);
        }
        prop_assert!(evidence.values().all(|&n| n <= relations));
        prop_assert_eq!(extract(&parsed, &chunks, &settings), (concepts, found));
    }
}
