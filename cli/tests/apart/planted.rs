//! Stores with words that no other has, and how such words are found again in what a server says.
//!
//! Always true: every name and text that is planted for an owner holds the owner's mark, and it takes four changes of a
//! letter and more to make one mark of another, so that no word of an owner is another's misspelt.
//!
//! Start reading at [`Owner`] and [`plant`].

use std::path::Path;

use locidb::storage::records::{ChunkRecord, DocumentRecord, Level, Location};
use locidb::storage::{ChunkKey, DocumentKey};
use locidb::{
    Database, NewAsset, NewChunk, NewCitation, NewClaim, NewConcept, NewDocument, NewItem,
    NewReference, NewRelation, NoProgress, SearchRequest, Strategy,
};

/// The letters of marks: an odd prime number of them.
const LETTERS: &[u8; 17] = b"bcdfghjklmnprstvy";
/// What stands before and behind the letters of a mark.
const ENDS: (&str, &str) = ("qz", "xw");
/// Bytes of a mark.
const MARK_LEN: usize = 11;

/// Whose something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Owner(pub(crate) u32);

impl Owner {
    /// What is in all that is planted for the owner.
    ///
    /// Two numbers of the field of 17 elements, and sums of them that no letter left out or put in makes another's.
    pub(crate) fn mark(self) -> String {
        let (a, b) = (self.0 / 17, self.0 % 17);
        assert!(a < 17, "there are marks for 289 owners");
        let sums = [
            a + b + 1,
            a + 2 * b + 5,
            a + 3 * b + 11,
            a + 5 * b + 3,
            a + 7 * b + 13,
        ];
        let letters = [&[a, b][..], &sums].concat().into_iter();
        let letters = letters.map(|at| char::from(LETTERS[at as usize % LETTERS.len()]));
        format!("{}{}{}", ENDS.0, String::from_iter(letters), ENDS.1)
    }

    /// A word of the owner's.
    pub(crate) fn word(self, what: &str) -> String {
        format!("{what}{}", self.mark())
    }

    /// The same with two letters changed places, as somebody types it in haste.
    pub(crate) fn misspelled(self, what: &str) -> String {
        let mut word = self.word(what);
        let (first, rest) = word.split_at(1);
        let second: String = rest.chars().take(1).collect();
        word = format!("{second}{first}{}", &rest[second.len()..]);
        word
    }

    /// A word of the owner's for each number.
    pub(crate) fn nth(self, what: &str, n: u32) -> String {
        let letter = |at: u32| char::from(b'a' + (at % 26) as u8);
        self.word(&format!("{what}{}{}", letter(n / 26), letter(n)))
    }

    /// The key of the owner's n-th document. Every second is a user's.
    pub(crate) fn document(self, n: u32) -> DocumentKey {
        let user = match n % 2 {
            0 => String::new(),
            _ => self.word("user"),
        };
        DocumentKey::new(
            user,
            self.word("collection"),
            self.nth("document", n) + ".md",
        )
        .unwrap()
    }

    /// The key of a chunk of it.
    pub(crate) fn chunk(self, n: u32, suffix: u32) -> ChunkKey {
        ChunkKey {
            document: self.document(n),
            suffix,
        }
    }
}

/// What lies in a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeededStore {
    pub(crate) owner: Owner,
    pub(crate) documents: u32,
    pub(crate) items: u32,
    pub(crate) records: u32,
}

impl SeededStore {
    /// What lies in the n-th store: of each thing another number than in others.
    pub(crate) fn nth(n: u32) -> SeededStore {
        SeededStore {
            owner: Owner(n),
            // Vectors are made of eight chunks and more.
            documents: 3 + n,
            items: 4 + n,
            records: 1 + n,
        }
    }

    /// The store's name.
    pub(crate) fn name(&self) -> String {
        self.owner.word("store")
    }

    /// Every kind of word that is planted, but those of keys.
    pub(crate) const KINDS: &[&str] = &[
        "title",
        "heading",
        "text",
        "author",
        "user",
        "collection",
        "document",
        "file",
        "venue",
        "doi",
        "category",
        "topic",
        "summary",
        "metakey",
        "metavalue",
        "keyword",
        "keyterm",
        "concept",
        "kind",
        "describes",
        "synonym",
        "relates",
        "because",
        "reference",
        "cited",
        "work",
        "journal",
        "mark",
        "around",
        "asset",
        "inside",
        "front",
        "back",
        "option",
        "asked",
    ];
}

/// Makes the store in a folder of `root`.
pub(crate) fn seed(root: &Path, planted: &SeededStore) {
    let (owner, database) = (planted.owner, root.join(planted.name()));
    let database = Database::open(database).unwrap();
    let (documents, items) = (planted.documents, planted.items);
    database
        .write(move |tx| {
            for n in 0..documents {
                tx.put_document(document(owner, n))?;
            }
            for n in 0..items {
                tx.put_item(item(owner, n % documents, n))?;
            }
            Ok(())
        })
        .unwrap();
    database.finish(&NoProgress).unwrap();
    database.analyse(&NoProgress).unwrap();
    for _ in 0..planted.records {
        let request = SearchRequest {
            strategy: Strategy::Text,
            ..SearchRequest::new(format!("heap {}", owner.word("asked")))
        };
        let answer = database.search(&request).unwrap();
        database.record(&request, &answer).unwrap();
    }
    database.close();
}

/// The owner's n-th document: a section with two paragraphs.
pub(crate) fn document(owner: Owner, n: u32) -> NewDocument {
    let word = |what: &str| owner.word(what);
    let key = owner.document(n);
    let first = format!(
        "A heap keeps the smallest key at its root, says {}. Trees and heaps were told of in {}.",
        word("text"),
        word("text"),
    );
    let second = format!(
        "The tree of number {n} has leaves of {} and a root.",
        word("text")
    );
    let text = format!("{first}\n\n{second}");
    let len = |text: &str| text.chars().count() as u64;
    let all = (0, len(&text));
    let places = [all, (0, len(&first)), (len(&first) + 2, len(&text))];
    let texts = [&text, &first, &second];
    let chunks = texts
        .iter()
        .zip(places)
        .enumerate()
        .map(|(at, (text, chars))| {
            let record = ChunkRecord {
                parent: (at > 0).then_some(0),
                level: if at > 0 {
                    Level::Paragraph
                } else {
                    Level::Section
                },
                text: (*text).clone(),
                heading_path: vec![word("heading")],
                location: Location {
                    chars,
                    ..Location::default()
                },
                token_count: 20,
                keywords: vec![word("keyword")],
                key_terms: vec![word("keyterm")],
                images: vec![word("asset") + ".png"],
                ..ChunkRecord::default()
            };
            NewChunk {
                record,
                vector: None,
            }
        });
    NewDocument {
        record: DocumentRecord {
            user: key.user,
            collection: key.collection,
            key: key.key,
            filename: Some(word("file") + ".md"),
            title: Some(format!("Heaps of {}", word("title"))),
            authors: vec![word("author")],
            year: Some(2000 + n as i32),
            venue: Some(word("venue")),
            doi: Some(format!("10.1000/{}", owner.nth("doi", n))),
            category: Some(word("category")),
            topics: vec![word("topic")],
            summary: Some(word("summary")),
            metadata: vec![(word("metakey"), word("metavalue"))],
            ..DocumentRecord::default()
        },
        chunks: chunks.collect(),
        original: text.into_bytes(),
        concepts: concepts(owner, n),
        relations: vec![NewRelation {
            source: owner.nth("concept", n),
            target: "Heap".into(),
            kind: word("relates"),
            description: word("because"),
            weight: 1.0,
            chunks: vec![1],
        }],
        references: vec![NewReference {
            text: word("reference"),
            title: Some(format!(
                "On the {} of heaps and trees",
                owner.nth("work", n)
            )),
            authors: vec![word("cited")],
            year: Some(1964),
            venue: Some(word("journal")),
            ..NewReference::default()
        }],
        citations: vec![NewCitation {
            chunk: 1,
            text: word("mark"),
            context: word("around"),
            ..NewCitation::default()
        }],
        claims: vec![NewClaim {
            chunk: 1,
            about: owner.chunk(0, 1),
            intent: Default::default(),
            confidence: 1.0,
            created_at_ms: 0,
        }],
        assets: vec![NewAsset {
            name: word("asset") + ".png",
            bytes: [b"\x89PNG\r\n\x1a\n", word("inside").as_bytes()].concat(),
        }],
        ..NewDocument::default()
    }
}

/// A concept that is the owner's alone, and two that all owners speak of.
fn concepts(owner: Owner, n: u32) -> Vec<NewConcept> {
    let concept = |name: String| NewConcept {
        name,
        kind: owner.word("kind"),
        description: owner.word("describes"),
        mentions: vec![(1, 1), (2, 1)],
        ..NewConcept::default()
    };
    vec![
        NewConcept {
            synonyms: vec![owner.nth("synonym", n)],
            ..concept(owner.nth("concept", n))
        },
        concept("Heap".into()),
        concept("Tree".into()),
    ]
}

/// An item about the owner's document.
pub(crate) fn item(owner: Owner, of: u32, n: u32) -> NewItem {
    NewItem {
        front: format!("{} {n}", owner.word("front")),
        back: owner.word("back"),
        options: vec![owner.word("option")],
        chunk: Some(owner.chunk(of, 1)),
        concept: Some(owner.nth("concept", of)),
        owner: owner.document(of).user,
        ..NewItem::default()
    }
}

/// The first word in `said` that is marked as somebody's who is not of `own`, that is of none of
/// the `shared` kinds, and that who asked had not said in `asked`.
pub(crate) fn find_foreign_word(
    response: &[u8],
    own: &[Owner],
    request_text: &str,
    shared: &[&str],
) -> Option<String> {
    let response = response.to_ascii_lowercase();
    let own: Vec<String> = own.iter().map(|owner| owner.mark()).collect();
    let begins = response.windows(MARK_LEN).enumerate().filter(|(_, mark)| {
        mark.starts_with(ENDS.0.as_bytes()) && mark.ends_with(ENDS.1.as_bytes())
    });
    let mut asked_low = None;
    for (at, mark) in begins {
        if own.iter().any(|own| own.as_bytes() == mark) {
            continue;
        }
        let request_lower = asked_low.get_or_insert_with(|| request_text.to_ascii_lowercase());
        let word = word_at(&response, at);
        let is_shared = shared.iter().any(|kind| word.starts_with(kind));
        if !is_shared && !request_lower.contains(&word) {
            return Some(word);
        }
    }
    None
}

/// The word around a place.
fn word_at(response: &[u8], at: usize) -> String {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic();
    let before = response[..at]
        .iter()
        .rev()
        .take_while(|byte| is_letter(byte))
        .count();
    let after = response[at..]
        .iter()
        .take_while(|byte| is_letter(byte))
        .count();
    let mut from = at - before;
    // The letter of a code as `%3A` is not the word's.
    if matches!(response[..from], [.., b'%', b'0'..=b'9']) {
        from += 1;
    }
    String::from_utf8_lossy(&response[from..at + after]).into_owned()
}

/// Which of the kinds of words are in `said`, as the owner's.
pub(crate) fn kinds_in(response: &[u8], owner: Owner) -> Vec<&'static str> {
    let response = String::from_utf8_lossy(response).to_ascii_lowercase();
    let mark = owner.mark();
    if !response.contains(&mark) {
        return Vec::new();
    }
    let words: Vec<&str> = response
        .split(|c: char| !c.is_ascii_alphabetic())
        .filter(|word| word.ends_with(&mark))
        .collect();
    let is_there = |kind: &&str| words.iter().any(|word| word.starts_with(*kind));
    SeededStore::KINDS
        .iter()
        .copied()
        .filter(is_there)
        .collect()
}

/// Letters that are to be changed, left out and put in to make one text of another.
fn edit_distance(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.iter().enumerate() {
        let mut next = vec![at + 1];
        for (column, other) in to.iter().enumerate() {
            let changed = row[column] + usize::from(letter != other);
            next.push(changed.min(row[column + 1] + 1).min(next[column] + 1));
        }
        row = next;
    }
    row[to.len()]
}

#[test]
fn marks_are_distinct_and_found_in_any_bytes() {
    for a in 0..289 {
        for b in 0..a {
            let (a, b) = (Owner(a).mark(), Owner(b).mark());
            assert_eq!(a.len(), MARK_LEN);
            assert!(edit_distance(a.as_bytes(), b.as_bytes()) >= 4, "{a} {b}");
        }
    }
    let (one, two) = (Owner(1), Owner(2));
    let bytes = [b"\xff{\"", two.word("Title").as_bytes(), b"\"}"].concat();
    assert_eq!(
        find_foreign_word(&bytes, &[one], "", &[]),
        Some(two.word("title"))
    );
    assert_eq!(
        find_foreign_word(&bytes, &[one], &two.word("title"), &[]),
        None
    );
    assert_eq!(find_foreign_word(&bytes, &[two], "", &[]), None);
    assert_eq!(kinds_in(&bytes, two), ["title"]);
}
