//! The documents that stores are tortured with: small, few, and full of coincidences.
//!
//! A document follows from its number and a seed. Its title, headings and most passages are drawn
//! from a few that belong to its number, so that a document that is stored again keeps some chunks;
//! one passage has a word that no other version of any document has ([`unique_word`]).
//!
//! Invariant: every word is one term of the index, and different words are different terms.
//! Start reading at [`document`].

use locidb::storage::records::{ChunkRecord, DocumentRecord, Level, Location};
use locidb::{NewChunk, NewCitation, NewConcept, NewDocument, NewReference, NewRelation};

use crate::source::Source;

/// How many documents there are.
pub const DOCUMENTS: u8 = 12;

/// Numbers in a vector.
pub const DIM: usize = 8;

/// Chunks that a large document has at least: enough for its segment to be a file.
pub const LARGE_CHUNKS: u32 = 420;

/// The words of passages.
pub const WORDS: [&str; 24] = [
    "alfa", "bravo", "delta", "echo", "foxtrot", "golf", "hotel", "india", "kilo", "lima", "mango",
    "november", "oscar", "papa", "quebec", "romeo", "sierra", "tango", "umbra", "victor", "whisk",
    "xenon", "yonder", "zulu",
];

/// The title of each document.
pub const TITLES: [&str; DOCUMENTS as usize] = [
    "kestrel", "heron", "plover", "falcon", "raven", "finch", "robin", "magpi", "stork", "condor",
    "pelican", "osprey",
];

/// The headings of sections.
pub const HEADINGS: [&str; 4] = ["north", "east", "south", "west"];

/// Concepts that documents speak of; each is its own normalised name.
pub const CONCEPTS: [&str; 6] = ["amber", "basalt", "cobalt", "dolomit", "emerald", "flint"];

/// What concepts are called: also by what was merged or split.
pub const NAMES: [&str; 8] = [
    "amber", "basalt", "cobalt", "dolomit", "emerald", "flint", "garnet", "halite",
];

/// Kinds of relations.
pub const KINDS: [&str; 3] = ["USES", "PART_OF", "RELATED_TO"];

/// Values of the metadata field `tag`.
pub const TAGS: [&str; 3] = ["red", "green", "blue"];

/// The document with this number and seed.
///
/// `large`: it has [`LARGE_CHUNKS`] passages or more. `vectors`: most of its chunks bring one.
pub fn document(number: u8, seed: u32, large: bool, vectors: bool) -> NewDocument {
    let mut draft = Draft::new(number, seed, large, vectors);
    if !draft.source.one_in(12) {
        let sections = 1 + draft.source.below(3);
        for _ in 0..sections {
            draft.section();
        }
    }
    let count = draft.chunks.len() as u32;
    let (concepts, relations) = graph(&mut draft.source, count);
    let (references, citations) = citations(&mut draft.source, count);
    let year = 1990 + draft.source.below(20) as i32;
    let tag = draft.source.pick(&TAGS);
    NewDocument {
        record: record(number, year, tag),
        original: draft.text.into_bytes(),
        text: None,
        chunks: draft.chunks,
        concepts,
        relations,
        references,
        citations,
        ..NewDocument::default()
    }
}

/// Some documents, by their keys, and where they are cited.
fn citations(source: &mut Source<'_>, count: u32) -> (Vec<NewReference>, Vec<NewCitation>) {
    let of = |number: u32| NewReference {
        key: Some(key(number as u8)),
        ..NewReference::default()
    };
    let listed = source.below(3);
    let references: Vec<_> = (0..listed)
        .map(|_| of(source.below(DOCUMENTS.into())))
        .collect();
    let mut citations = Vec::new();
    for reference in (0..listed).filter(|_| count > 0) {
        citations.push(NewCitation {
            chunk: source.below(count),
            reference,
            created_at_ms: 1,
            ..NewCitation::default()
        });
    }
    (references, citations)
}

/// The word that only this version of this document has.
pub fn unique_word(number: u8, seed: u32) -> String {
    // Without vowels, so that no stemmer touches it.
    const LETTERS: &[u8; 16] = b"bcdfghjklmnpqrtv";
    let code = u64::from(seed) << 4 | u64::from(number);
    let letter = |place: u32| char::from(LETTERS[(code >> (4 * place) & 15) as usize]);
    "zx".chars().chain((0..9).map(letter)).collect()
}

/// The user that a document belongs to.
pub fn user(number: u8) -> &'static str {
    ["", "ada", "bob"][usize::from(number) % 3]
}

/// The key of a document.
pub fn key(number: u8) -> locidb::storage::DocumentKey {
    locidb::storage::DocumentKey {
        user: user(number).into(),
        collection: String::new(),
        key: format!("d{number}"),
    }
}

/// Concepts and relations that a document of `count` chunks states.
pub fn graph(source: &mut Source<'_>, count: u32) -> (Vec<NewConcept>, Vec<NewRelation>) {
    let mut concepts = Vec::new();
    for name in CONCEPTS {
        if source.one_in(3) {
            concepts.push(concept(source, name, count));
        }
    }
    let relations = (0..source.below(3)).filter_map(|_| relation(source, count));
    let relations = relations.collect();
    (concepts, relations)
}

/// Metadata of a document.
pub fn record(number: u8, year: i32, tag: &str) -> DocumentRecord {
    DocumentRecord {
        user: user(number).into(),
        key: format!("d{number}"),
        title: Some(TITLES[usize::from(number)].into()),
        year: Some(year),
        // What the store would tell from words drawn by chance is nobody's promise.
        language: Some("eng".into()),
        ingested_at_ms: 1,
        metadata: vec![("tag".into(), tag.into())],
        ..DocumentRecord::default()
    }
}

fn concept(source: &mut Source<'_>, name: &str, count: u32) -> NewConcept {
    let mut mentions: Vec<(u32, u32)> = Vec::new();
    for place in 0..count.min(6) {
        if source.one_in(2) {
            mentions.push((place, 1 + source.below(3)));
        }
    }
    NewConcept {
        name: if source.one_in(2) {
            name.to_uppercase()
        } else {
            name.into()
        },
        kind: source.pick(&["", "stone", "ore"]).to_string(),
        description: words(source, 0, 4).join(" "),
        synonyms: if source.one_in(4) {
            vec![format!("old {name}")]
        } else {
            Vec::new()
        },
        mentions,
    }
}

/// `None` where there is no chunk that could be its evidence.
fn relation(source: &mut Source<'_>, count: u32) -> Option<NewRelation> {
    let ends = (source.below(6) as usize, source.below(5) as usize);
    let target = (ends.0 + 1 + ends.1) % CONCEPTS.len();
    let relation = NewRelation {
        source: CONCEPTS[ends.0].into(),
        target: CONCEPTS[target].into(),
        kind: source.pick(&KINDS).to_string(),
        description: words(source, 0, 3).join(" "),
        weight: 0.25 * (1 + source.below(8)) as f32,
        chunks: vec![source.below(count.max(1))],
    };
    (count > 0).then_some(relation)
}

fn words(source: &mut Source<'_>, least: u32, more: u32) -> Vec<&'static str> {
    let count = least + source.below(more + 1);
    (0..count).map(|_| source.pick(&WORDS)).collect()
}

/// The vector of a chunk: the same text may get one of three.
fn vector(source: &mut Source<'_>, text: &str) -> Option<Vec<f32>> {
    let variant = source.below(4);
    if variant == 3 {
        return None;
    }
    let hash = text.bytes().fold(u64::from(variant), |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    Some(direction(&mut Source::seeded(hash)))
}

/// A vector that is not zero.
pub fn direction(source: &mut Source<'_>) -> Vec<f32> {
    let mut vector: Vec<f32> = (0..DIM)
        .map(|_| source.below(2001) as f32 / 1000.0 - 1.0)
        .collect();
    vector[0] += 1.5;
    vector
}

/// A document in the making: its text grows with its leaves.
struct Draft {
    number: u8,
    seed: u32,
    large: bool,
    vectors: bool,
    source: Source<'static>,
    text: String,
    chunks: Vec<NewChunk>,
}

impl Draft {
    fn new(number: u8, seed: u32, large: bool, vectors: bool) -> Draft {
        Draft {
            number,
            seed,
            large,
            vectors,
            source: Source::stream(u64::from(seed), u64::from(number)),
            text: String::new(),
            chunks: Vec::new(),
        }
    }

    /// A section with passages, now and then in a section of their own; or a bare one, which is a
    /// leaf.
    fn section(&mut self) {
        let heading = self.source.pick(&HEADINGS);
        let section = self.open(None, &[heading]);
        let inner = self.source.pick(&HEADINGS);
        let nested = self.source.one_in(4);
        let (parent, path) = if nested {
            (
                self.open(Some(section), &[heading, inner]),
                vec![heading, inner],
            )
        } else {
            (section, vec![heading])
        };
        let passages = if self.large {
            LARGE_CHUNKS + self.source.below(40)
        } else {
            self.source.below(4)
        };
        for place in 0..passages {
            let text = self.passage(place);
            self.push(Some(parent), Level::Paragraph, &path, &text);
        }
    }

    /// One of a few texts that belong to the document, or a new one.
    fn passage(&mut self, place: u32) -> String {
        if self.large {
            let mut own = Source::stream(u64::from(place), u64::from(self.number));
            let unique = unique_word(self.number, place | 0x8000_0000);
            return format!("{} {unique}", words(&mut own, 1, 1).join(" "));
        }
        match self.source.below(8) {
            0 => format!(
                "{} {}",
                words(&mut self.source, 1, 4).join(" "),
                unique_word(self.number, self.seed)
            ),
            variant => {
                let mut own = Source::stream(u64::from(variant), u64::from(self.number));
                words(&mut own, 2, 6).join(" ")
            }
        }
    }

    /// A section: its text is its last heading.
    fn open(&mut self, parent: Option<u32>, path: &[&str]) -> u32 {
        let text = path.last().copied().unwrap_or_default();
        self.push(parent, Level::Section, path, text)
    }

    fn push(&mut self, parent: Option<u32>, level: Level, path: &[&str], text: &str) -> u32 {
        let (place, at) = (self.chunks.len() as u32, self.text.len() as u64);
        self.text.push_str(text);
        self.text.push('\n');
        let vector = if self.vectors {
            vector(&mut self.source, text)
        } else {
            None
        };
        let record = ChunkRecord {
            parent,
            level,
            location: Location {
                chars: (at, at + text.len() as u64),
                pages: Some((place + 1, place + 1)),
                ..Location::default()
            },
            heading_path: path.iter().map(ToString::to_string).collect(),
            text: text.into(),
            ..ChunkRecord::default()
        };
        self.chunks.push(NewChunk { record, vector });
        place
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use loci_index::analysis::Analyzer;

    use super::*;

    #[test]
    fn every_word_is_a_term_of_its_own() {
        let mut analyzer = Analyzer::new();
        let unique = (0..500u32).map(|seed| unique_word((seed % 12) as u8, seed * 7_919));
        let all = WORDS
            .iter()
            .chain(&TITLES)
            .chain(&HEADINGS)
            .chain(&CONCEPTS);
        let all = all.map(ToString::to_string).chain(unique);
        let mut terms = BTreeMap::new();
        for word in all {
            let of = analyzer.terms(&word);
            assert_eq!(of.len(), 1, "{word}: {of:?}");
            if let Some(other) = terms.insert(of[0].clone(), word.clone()) {
                assert_eq!(other, word, "both are {}", of[0]);
            }
        }
    }

    #[test]
    fn a_document_follows_from_its_number_and_seed() {
        assert_eq!(document(3, 9, false, true), document(3, 9, false, true));
        assert_ne!(document(3, 9, false, true), document(3, 10, false, true));
        let large = (0..20).map(|seed| document(1, seed, true, false).chunks.len());
        assert!(large.max().unwrap_or(0) >= LARGE_CHUNKS as usize);
    }
}
