//! Markdown notes in versions, and a store beside the notes that it must hold.
//!
//! A note follows from its number and version. Each has words that no other version of any note has,
//! a word that all have, and concepts that it shares with its neighbours. Every eighth is large: its
//! segment is a file of its own.
//!
//! Start reading at [`text`] and [`check`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::storage::{ConceptId, DocumentKey, Table};
use locidb::{Database, DatabaseSnapshot, Expr, Hit, SearchRequest, Strategy};

use crate::documents::unique_word;
use crate::integrity::verify_counts;
use crate::source::Source;

/// How many notes there are.
pub const NOTES: u32 = 24;

/// The version of each note that is there.
pub type Versions = BTreeMap<u32, u32>;

/// A word that every passage of every note has.
const COMMON: &str = "harbour";
/// More hits than any store here has.
const ALL: usize = 10_000;
/// Passages of a large note.
const LARGE_PASSAGES: u32 = 240;

/// The key of a note.
pub fn key(number: u32) -> String {
    format!("n{number:02}.md")
}

/// The word that only this version of this note has.
pub fn word(number: u32, version: u32) -> String {
    unique_word(0, version * 64 + number)
}

/// A version of a note.
pub fn text(number: u32, version: u32) -> String {
    let own = word(number, version);
    let (lock, table) = ((number + version) % 7, (number * 3 + version) % 11);
    let mut text = format!(
        "# Note {number}\n\nVersion {version} of the {COMMON} has the word {own}. The *lock {lock}* guards the \
         *table {table}*. It requires the lock {}.\n\n## Detail\n\nA row of table {table} in the {COMMON} holds \
         the word {own} and the number {}. Readers wait for nobody.\n",
        (lock + 1) % 7,
        number * version,
    );
    if is_large(number) {
        let mut source = Source::stream(version.into(), number.into());
        text.push_str("\n## List\n");
        for _ in 0..LARGE_PASSAGES {
            text.push_str(&format!("\n### The {COMMON}\n\n"));
            let words = (0..24).map(|_| unique_word(1, source.below(1 << 12)));
            text.push_str(&words.collect::<Vec<_>>().join(" "));
            text.push_str(&format!(" {COMMON}.\n"));
        }
    }
    text
}

fn is_large(number: u32) -> bool {
    number % 8 == 7
}

/// Writes a note as a file.
pub fn write(folder: &Path, number: u32, version: u32) -> Result<PathBuf> {
    let path = folder.join(key(number));
    std::fs::write(&path, text(number, version))?;
    Ok(path)
}

/// The notes that a store has, by their originals; an error when there is a document that is none.
pub fn found(view: &DatabaseSnapshot) -> Result<Versions> {
    let rows = view.snapshot().rows();
    let mut found = Versions::new();
    for number in 0..NOTES {
        let Some(id) = rows.document_id(&DocumentKey::new("", "", key(number))?)? else {
            continue;
        };
        let original = rows.original(id)?.context("a key without an original")?;
        let original = String::from_utf8(original)?;
        let version =
            version_of(&original).with_context(|| format!("{}: no version", key(number)))?;
        ensure!(
            original == text(number, version),
            "{} is not what version {version} was",
            key(number)
        );
        found.insert(number, version);
    }
    let documents = rows.count(Table::Documents)?;
    ensure!(
        documents == found.len() as u64,
        "{documents} documents, {} notes",
        found.len()
    );
    Ok(found)
}

fn version_of(original: &str) -> Option<u32> {
    let rest = original.split_once("\nVersion ")?.1;
    rest.split_once(' ')?.0.parse().ok()
}

/// Compares all that a reader can see of `view` with the expected notes; `gone` are
/// (number, version) that must not be found any more.
pub fn check(
    database: &Database,
    view: &DatabaseSnapshot,
    notes: &Versions,
    gone: &[(u32, u32)],
) -> Result<()> {
    let check = NoteCheck { database, view };
    let mut mentions = Mentions::new();
    for (&number, &version) in notes {
        let note = check.note(number, &mut mentions)?;
        check.finds(&note, &word(number, version), number)?;
        check.filters(&note, number)?;
    }
    for &(number, version) in gone {
        let hits = check.text(&word(number, version), None)?;
        ensure!(
            hits.is_empty(),
            "version {version} of {} is gone, and found in {}",
            key(number),
            hits[0].chunk
        );
    }
    check.graph(&mentions)?;
    verify_counts(database).map(drop)
}

/// (document's id, chunk's place) -> mentions there, of each concept.
type Mentions = BTreeMap<ConceptId, BTreeMap<(u64, u32), u32>>;

struct NoteCheck<'c> {
    database: &'c Database,
    view: &'c DatabaseSnapshot,
}

/// A note as its rows have it.
struct Note {
    chunks: Vec<ChunkRecord>,
}

impl Note {
    /// Places of the leaves that have a word.
    fn leaves_with(&self, word: &str) -> BTreeSet<u32> {
        let parents: BTreeSet<u32> = self
            .chunks
            .iter()
            .filter_map(|chunk| chunk.parent)
            .collect();
        let has = |chunk: &ChunkRecord| {
            let mut words = chunk.text.split(|c: char| !c.is_alphanumeric());
            words.any(|other| other == word)
        };
        let all = (0..).zip(&self.chunks);
        let with = all.filter(|(place, chunk)| !parents.contains(place) && has(chunk));
        with.map(|(_, chunk)| chunk.suffix).collect()
    }
}

impl NoteCheck<'_> {
    /// Rows of a note agree with each other; adds its mentions of concepts to `mentions`.
    fn note(&self, number: u32, mentions: &mut Mentions) -> Result<Note> {
        let rows = self.view.snapshot().rows();
        let of = key(number);
        let id = rows.document_id(&DocumentKey::new("", "", &of[..])?)?;
        let id = id.context("a note that was there is not")?;
        let record = rows.document(id)?.context("a document without a record")?;
        let original = rows
            .original(id)?
            .context("a document without its original")?;
        let chunks = rows.chunks(id)?;
        same_text(&record, &String::from_utf8(original)?, &chunks).with_context(|| of.clone())?;
        let concepts = rows.concept_contributions(id)?;
        ensure!(!concepts.is_empty(), "{of} speaks of no concept");
        for (concept, contribution) in concepts {
            ensure!(
                rows.concept(concept)?.is_some(),
                "{of} speaks of a concept that is not there"
            );
            let places = contribution
                .mentions
                .iter()
                .map(|&(place, count)| ((id.0, place), count));
            mentions.entry(concept).or_default().extend(places);
        }
        Ok(Note { chunks })
    }

    /// The note's own word finds its passages and nothing else.
    fn finds(&self, note: &Note, word: &str, number: u32) -> Result<()> {
        let expected = note.leaves_with(word);
        ensure!(
            !expected.is_empty(),
            "{}: no passage has {word}",
            key(number)
        );
        let hits = self.text(word, None)?;
        same(&hits, number, &expected).with_context(|| format!("the text {word}"))
    }

    /// The filter on a note leaves its passages, beside text and beside vectors.
    fn filters(&self, note: &Note, number: u32) -> Result<()> {
        let expected = note.leaves_with(COMMON);
        let filter = Expr::parse(&format!("key = {:?}", key(number)))?;
        let hits = self.text(COMMON, Some(&filter))?;
        same(&hits, number, &expected).context("the text filtered")?;
        if self.view.snapshot().active_space().is_none() {
            return Ok(());
        }
        let hits = self.search(Strategy::Vector, COMMON, Some(&filter))?;
        same(&hits, number, &expected).context("the vectors filtered")
    }

    /// Concepts in segments equal those in rows.
    fn graph(&self, mentions: &Mentions) -> Result<()> {
        let segments = self.view.read_view().graph_segments();
        let graph = self.view.read_view().graph(&segments);
        for (&concept, expected) in mentions {
            let mut found = BTreeMap::new();
            for (ordinal, count) in graph.chunks(concept) {
                let place = self.view.snapshot().position(ordinal);
                let place = place.context("a mention in no chunk")?;
                found.insert((place.document.0, place.index), count);
            }
            ensure!(
                found == *expected,
                "mentions of concept {}: {found:?}, rows say {expected:?}",
                concept.0
            );
        }
        Ok(())
    }

    fn text(&self, word: &str, filter: Option<&Expr>) -> Result<Vec<Hit>> {
        self.search(Strategy::Text, word, filter)
    }

    fn search(
        &self,
        strategy: Strategy,
        question: &str,
        filter: Option<&Expr>,
    ) -> Result<Vec<Hit>> {
        let request = SearchRequest {
            strategy,
            k: ALL,
            filter: filter.cloned(),
            ..SearchRequest::new(question)
        };
        let answer = self.database.search_in(self.view, &request)?;
        ensure!(
            answer.partial.is_empty(),
            "a partial answer: {:?}",
            answer.partial
        );
        Ok(answer.hits)
    }
}

/// Chunks are as many as the record says, and each is the text where it says it stands.
fn same_text(record: &DocumentRecord, text: &str, chunks: &[ChunkRecord]) -> Result<()> {
    ensure!(
        chunks.len() == record.chunk_count as usize,
        "{} chunks, {} in the record",
        chunks.len(),
        record.chunk_count
    );
    for chunk in chunks {
        let (from, to) = chunk.location.chars;
        let there = text.chars().skip(from as usize).take((to - from) as usize);
        ensure!(
            there.eq(chunk.text.chars()),
            "chunk #{} is not what stands at {from}..{to}",
            chunk.suffix
        );
    }
    Ok(())
}

/// Hits are these chunks of this note, each once.
fn same(hits: &[Hit], number: u32, expected: &BTreeSet<u32>) -> Result<()> {
    let found: BTreeSet<&str> = hits.iter().map(|hit| &hit.chunk[..]).collect();
    let keys: BTreeSet<String> = expected
        .iter()
        .map(|suffix| format!("{}#{suffix}", key(number)))
        .collect();
    let same = found.len() == hits.len() && found.iter().eq(keys.iter());
    ensure!(same, "{found:?}, expected {keys:?}");
    Ok(())
}
