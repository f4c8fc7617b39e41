//! Papers in small: what they list, and where they cite it.

use super::*;
use loci_documents::{Block, BlockKind, Kind};
use proptest::prelude::*;

fn paper(blocks: &[(BlockKind, &str)]) -> ParsedDocument {
    let mut parsed = ParsedDocument {
        kind: Kind::Pdf,
        ..ParsedDocument::default()
    };
    for (kind, text) in blocks {
        let start = parsed.text.len();
        parsed.text.push_str(text);
        parsed.blocks.push(Block {
            kind: kind.clone(),
            range: start..parsed.text.len(),
            ..Block::default()
        });
        parsed.text.push_str("\n\n");
    }
    link(&mut parsed);
    parsed.validate().unwrap();
    parsed
}

fn cited(parsed: &ParsedDocument) -> Vec<(&str, &[u32])> {
    let citations = parsed.citations.iter();
    citations
        .map(|one| (&parsed.text[one.range.clone()], &one.references[..]))
        .collect()
}

const AUTHOR_YEAR: [&str; 5] = [
    "Bezanson, J., Edelman, A., & Shah, V. B. (2017). Julia: A fresh approach. SIAM Review, 59(1), 65–98.",
    "Knuth, D. E. (1997). The Art of Computer Programming. Addison-Wesley.",
    "Knuth, D. E., & Plass, M. F. (1981). Breaking paragraphs into lines. Software, 11.",
    "Raffin, A., Hill, A., & Gleave, A. (2021a). Stable baselines. JMLR, 22.",
    "Raffin, A., & Stulp, F. (2021b). Generalized exploration. CoRL.",
];

#[test]
fn works_are_cited_by_author_and_year() {
    use BlockKind::{Heading, Paragraph};
    let text = "Julia (Bezanson et al., 2017) is a language (see Knuth, 1997; Raffin et al., 2021a, b, for more). \
                Knuth (1997) says so, as do Knuth and Plass (1981) and Raffin’s (2021b) later paper. It has (in all) 12 \
                parts (Smith, 1999), made in 2017 (2017).";
    let mut blocks = vec![
        (Heading(1), "1 Introduction"),
        (Paragraph, text),
        (Heading(1), "References"),
    ];
    blocks.extend(AUTHOR_YEAR.map(|entry| (Paragraph, entry)));
    let parsed = paper(&blocks);
    assert_eq!(parsed.references.len(), 5);
    assert_eq!(
        cited(&parsed),
        [
            ("(Bezanson et al., 2017)", &[0][..]),
            ("see Knuth, 1997", &[1]),
            ("Raffin et al., 2021a, b, for more", &[3, 4]),
            ("Knuth (1997)", &[1]),
            ("Knuth and Plass (1981)", &[2]),
            ("Raffin’s (2021b)", &[4]),
        ]
    );
}

#[test]
fn works_are_cited_by_number() {
    use BlockKind::{Heading, Paragraph};
    let entries: Vec<String> = (1..=6)
        .map(|n| format!("[{n}] A. Author{n}. Title number {n}. Venue, 200{n}."))
        .collect();
    let text = "One [1], some [2, 4–6] and [3, p. 12]; but x[7], [a] and [2000] are none.";
    let mut blocks = vec![(Paragraph, text), (Heading(2), "Bibliography")];
    blocks.extend(entries.iter().map(|entry| (Paragraph, &entry[..])));
    let parsed = paper(&blocks);
    assert_eq!(
        cited(&parsed),
        [
            ("[1]", &[0][..]),
            ("[2, 4–6]", &[1, 3, 4, 5]),
            ("[3, p. 12]", &[2])
        ]
    );
    // Brackets in a text without a list are no citations.
    assert!(paper(&[(Paragraph, text)]).citations.is_empty());
}

#[test]
fn appendices_behind_the_list_cite_it() {
    use BlockKind::{Heading, Paragraph};
    let entries = [
        "[1] A. Author. First title. Venue, 2001.",
        "[2] B. Author. Second title, after [1]. Venue, 2002.",
    ];
    for level in [1, 2] {
        let parsed = paper(&[
            (Paragraph, "One [1]."),
            (Heading(1), "References"),
            (Paragraph, entries[0]),
            (Paragraph, entries[1]),
            (Heading(level), "A Proofs"),
            (Paragraph, "As shown in [2], it holds."),
            (
                Paragraph,
                "[2] B. Author. A page of the list that came late [1].",
            ),
            (Heading(level + 1), "A.1 More"),
            (Paragraph, "And so on [1, 2]."),
        ]);
        assert_eq!(parsed.references.len(), 2);
        assert_eq!(
            cited(&parsed),
            [("[1]", &[0][..]), ("[2]", &[1]), ("[1, 2]", &[0, 1])]
        );
    }
}

#[test]
fn a_list_goes_on_behind_headings_that_only_look_like_those_of_appendices() {
    use BlockKind::{Heading, Paragraph};
    let entries = [
        "Knuth, D. E. (1997). The Art. Addison.",
        "Lamport, L. (1994). A System. Addison.",
        "Plass, M. (1981). Optimal Pagination. Stanford.",
    ];
    let entry_as_heading = "A. Einstein, On Moving Bodies, 1905.";
    let cases: &[(&str, &[(u8, &str)], usize)] = &[
        (
            "subheadings above entries",
            &[
                (2, "A. Primary Sources"),
                (0, entries[0]),
                (2, "B. Secondary Sources"),
                (0, entries[1]),
            ],
            2,
        ),
        (
            "more than one under each",
            &[
                (2, "A Books"),
                (0, entries[0]),
                (0, entries[1]),
                (2, "B Papers"),
                (0, entries[2]),
            ],
            3,
        ),
        (
            "no supplement",
            &[
                (0, entries[0]),
                (2, "Supplementary references"),
                (0, entries[1]),
                (0, entries[2]),
            ],
            3,
        ),
        (
            "an entry",
            &[(0, entries[0]), (2, entry_as_heading), (0, entries[1])],
            3,
        ),
        (
            "an entry at the end",
            &[(0, entries[0]), (2, entry_as_heading)],
            2,
        ),
        (
            "proofs",
            &[
                (0, entries[0]),
                (2, "A Proofs"),
                (0, "It holds, as Knuth (1997) says."),
                (0, "So be it."),
            ],
            1,
        ),
        (
            "nothing",
            &[
                (0, entries[0]),
                (2, "Appendix"),
                (1, "Index"),
                (0, entries[1]),
            ],
            1,
        ),
    ];
    for (name, below, want) in cases {
        let mut blocks = vec![(Heading(1), "Bibliography")];
        blocks.extend(below.iter().map(|(level, text)| match level {
            0 => (Paragraph, *text),
            level => (Heading(*level), *text),
        }));
        assert_eq!(paper(&blocks).references.len(), *want, "{name} {below:?}");
    }
}

#[test]
fn footnotes_that_are_references_are_cited_by_their_marks() {
    use BlockKind::{Footnote, Paragraph};
    let parsed = paper(&[
        (Paragraph, "Trees grow[^1] and fall[^2]."),
        (Footnote, "[^1]: Knuth, D. (1997). Trees. Forest Press."),
        (Footnote, "[^2]: Plass, M. (1981). Lines. Software 11."),
    ]);
    assert_eq!(cited(&parsed), [("[^1]", &[0][..]), ("[^2]", &[1])]);
}

#[test]
fn citations_are_stored_with_their_chunk_context_and_intent() {
    use crate::chunk::{ChunkSettings, Chunking, chunk};
    use BlockKind::{Heading, Paragraph};
    let text = "Trees are plants. In contrast to Knuth (1997), we found none of them in the sea. They grow (Bezanson et al., 2017).";
    let mut blocks = vec![
        (Heading(1), "Trees"),
        (Paragraph, text),
        (Heading(1), "References"),
    ];
    blocks.extend(AUTHOR_YEAR.map(|entry| (Paragraph, entry)));
    let parsed = paper(&blocks);
    for mode in [Chunking::Auto, Chunking::Sentence] {
        let settings = ChunkSettings {
            mode,
            ..ChunkSettings::default()
        };
        let chunks = chunk(&parsed, &settings);
        let stored = citations(&parsed, &chunks);
        assert_eq!(stored.len(), 2);
        assert_eq!(
            (stored[0].reference, stored[0].intent, stored[0].claim),
            (1, Intent::Contradicts, true)
        );
        assert_eq!(
            (stored[1].reference, stored[1].intent, stored[1].claim),
            (0, Intent::Background, false)
        );
        assert!(
            stored[0].context.starts_with("In contrast") && stored[0].context.ends_with("sea.")
        );
        for citation in stored {
            let chunk = &chunks[citation.chunk as usize].record;
            assert!(chunk.text.contains(&citation.text));
            assert_eq!(
                chunk.level,
                if mode == Chunking::Auto {
                    Level::Paragraph
                } else {
                    Level::Sentence
                }
            );
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(
        text in "[a-zA-Z0-9é \\[\\](),.;–^&]{0,120}",
        entries in prop::collection::vec("[A-Za-z0-9é \\[\\](),.:;“”/&-]{1,60}", 0..6),
    ) {
        let mut blocks = vec![(BlockKind::Paragraph, &text[..]), (BlockKind::Heading(1), "References")];
        blocks.extend(entries.iter().map(|entry| (BlockKind::Paragraph, &entry[..])));
        paper(&blocks);
    }

    #[test]
    fn an_entry_of_any_characters_is_taken_apart(entry in "\\PC{0,80}") {
        super::entry::parse(&entry);
    }
}
