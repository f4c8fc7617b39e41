//! Linking: the concepts that a text names, found without a model.
//!
//! Start reading at [`link`].

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use loci_storage::ConceptId;

use crate::linking::names::{NameEntry, NamesReader};
use crate::linking::normalise::{Word, is_stop_word, singular, words};

/// How a text names a concept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// By its name.
    Name,
    /// By another name of it.
    Synonym,
    /// By words of its name, written with a capital.
    Part,
    /// Not at all, but its vector is near to that of the text.
    Near,
}

/// A concept that a text names.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityLink {
    /// The concept.
    pub concept: ConceptId,
    /// How it is named.
    pub match_kind: MatchKind,
    /// The dictionary's name, synonym or part of a name that matched.
    pub name: String,
    /// The words of the text, counted from 0, that matched.
    pub words: Range<usize>,
    /// The characters of the text that matched.
    pub chars: Range<usize>,
    /// How sure it is that the text means this concept: 1 where it is named; where words of its name stand for it,
    /// one over the number of concepts that they may stand for.
    pub confidence: f32,
}

/// The concept with this normalised name in any segment; names win over synonyms, then the lowest id.
pub fn lookup<B: AsRef<[u8]>>(readers: &[&NamesReader<B>], normalised: &str) -> Option<ConceptId> {
    lookup_filtered(readers, normalised, |_| true)
}

/// [`lookup`] among the concepts that `keep` accepts.
pub fn lookup_filtered<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    normalised: &str,
    keep: impl Fn(ConceptId) -> bool,
) -> Option<ConceptId> {
    let accepted = readers.iter().filter_map(|reader| {
        let first = reader.entry(normalised)?;
        reader.first_accepted(normalised, first, &keep)
    });
    accepted.min().map(|named| named.concept)
}

/// The concepts that `text` names: the longest match over all readers, left to right, no overlaps.
///
/// The text is folded like names are ([`crate::normalise()`]); where the last word of a match is not in
/// the dictionary as written, its naive singular is tried. Among equally long matches the word as
/// written wins over the singular, a name over a synonym, a lower id over a higher. A single function
/// word never matches. Names of more than [`LINK_WORDS_MAX`](crate::names::LINK_WORDS_MAX) words are not found.
///
/// Costs at most `words · LINK_WORDS_MAX` short walks a reader; most end at the first byte.
pub fn link<B: AsRef<[u8]>>(readers: &[&NamesReader<B>], text: &str) -> Vec<EntityLink> {
    link_filtered(readers, text, |_| true)
}

/// [`link`] with the concepts that `keep` accepts; the others do not hide shorter matches.
pub fn link_filtered<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    text: &str,
    keep: impl Fn(ConceptId) -> bool,
) -> Vec<EntityLink> {
    link_words(readers, &words(text), keep)
}

/// [`link_filtered`] in the words of a text.
pub(crate) fn link_words<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    words: &[Word],
    keep: impl Fn(ConceptId) -> bool,
) -> Vec<EntityLink> {
    let mut links = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let Some(found) = longest(readers, &words[at..], &keep) else {
            at += 1;
            continue;
        };
        let matched = &words[at..at + found.len];
        links.push(EntityLink {
            concept: found.named.0.concept,
            match_kind: if found.named.0.is_synonym {
                MatchKind::Synonym
            } else {
                MatchKind::Name
            },
            name: name_of(matched, found.as_written),
            words: at..at + found.len,
            confidence: 1.0,
            chars: matched[0].chars.start..matched[found.len - 1].chars.end,
        });
        at += found.len;
    }
    links
}

/// Names of a segment with one word that are looked at, dead ones included; a word of more says nothing.
const WITH_PART_MAX: usize = 4096;
/// Concepts that one phrase may stand for; of more it is not known which.
const SAME_PART_MAX: usize = 4;

/// The concepts that phrases of capitalised words stand for by being part of their names (`Einstein` for *Albert
/// Einstein*), where `links` of the same text do not cover them: by place in the text, then falling `rank`, then id.
///
/// A phrase is a run of such words; where no name has them all, each of them stands for itself. One that could
/// stand for more than four concepts is passed over.
///
/// Costs a look for each word in every reader.
pub fn link_parts<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    text: &str,
    links: &[EntityLink],
    keep: impl Fn(ConceptId) -> bool,
    rank: impl Fn(ConceptId) -> f32,
) -> Vec<EntityLink> {
    link_parts_in_words(readers, text, &words(text), links, keep, rank)
}

/// [`link_parts`] for a text with these words.
pub(crate) fn link_parts_in_words<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    text: &str,
    words: &[Word],
    links: &[EntityLink],
    keep: impl Fn(ConceptId) -> bool,
    rank: impl Fn(ConceptId) -> f32,
) -> Vec<EntityLink> {
    let is_ascii = text.is_ascii();
    let written: Vec<char> = text.chars().filter(|_| !is_ascii).collect();
    let char_at = |at: usize| {
        if is_ascii {
            text.as_bytes().get(at).map(|&byte| char::from(byte))
        } else {
            written.get(at).copied()
        }
    };
    let is_open = |&at: &usize| {
        let word: &Word = &words[at];
        let is_linked = links.iter().any(|link| link.words.contains(&at));
        let is_capitalised = || char_at(word.chars.start).is_some_and(char::is_uppercase);
        !is_linked && is_capitalised() && !is_stop_word(&word.text)
    };
    let open: Vec<usize> = (0..words.len()).filter(is_open).collect();
    let mut found = Vec::new();
    for run in open.chunk_by(|a, b| a + 1 == *b) {
        let range = run[0]..run[run.len() - 1] + 1;
        let parts = concepts_with_parts(readers, &words[range.clone()], &keep);
        if parts.is_empty() {
            for at in range {
                let parts = concepts_with_parts(readers, &words[at..at + 1], &keep);
                found.extend(with_confidence(&(at..at + 1), parts));
            }
        } else {
            found.extend(with_confidence(&range, parts))
        }
    }
    found.sort_by(|a, b| {
        let by_rank = rank(b.1).total_cmp(&rank(a.1));
        (a.0.start.cmp(&b.0.start))
            .then(by_rank)
            .then(a.1.cmp(&b.1))
    });
    let found = found.into_iter();
    found
        .map(|(range, concept, share)| EntityLink {
            concept,
            match_kind: MatchKind::Part,
            confidence: share,
            name: name_of(&words[range.clone()], true),
            chars: words[range.start].chars.start..words[range.end - 1].chars.end,
            words: range,
        })
        .collect()
}

/// What the words in a range may stand for, each with its share.
fn with_confidence(
    range: &Range<usize>,
    parts: Vec<ConceptId>,
) -> impl Iterator<Item = (Range<usize>, ConceptId, f32)> {
    let share = 1.0 / parts.len().max(1) as f32;
    let parts = parts.into_iter();
    parts.map(move |concept| (range.clone(), concept, share))
}

/// The concepts with all these words in their names; none where they are too many.
fn concepts_with_parts<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    words: &[Word],
    keep: &impl Fn(ConceptId) -> bool,
) -> Vec<ConceptId> {
    let mut common: Option<BTreeSet<ConceptId>> = None;
    for word in words {
        let mut with = BTreeSet::new();
        for reader in readers {
            match reader.concepts_with_part(&word.text, WITH_PART_MAX) {
                Some(found) => with.extend(found),
                None => return Vec::new(),
            }
        }
        common = Some(match common {
            Some(common) => common.intersection(&with).copied().collect(),
            None => with,
        });
    }
    let accepted = common.into_iter().flatten().filter(|&id| keep(id));
    let accepted: Vec<ConceptId> = accepted.take(SAME_PART_MAX + 1).collect();
    if accepted.len() > SAME_PART_MAX {
        Vec::new()
    } else {
        accepted
    }
}

/// A match at the start of some words. The largest is the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NameMatch {
    len: usize,
    as_written: bool,
    named: Reverse<NameEntry>,
}

fn longest<B: AsRef<[u8]>>(
    readers: &[&NamesReader<B>],
    words: &[Word],
    keep: &impl Fn(ConceptId) -> bool,
) -> Option<NameMatch> {
    let mut best: Option<NameMatch> = None;
    for reader in readers {
        reader.prefixes(words, |len, as_written, named| {
            let found = |named| NameMatch {
                len,
                as_written,
                named: Reverse(named),
            };
            // No rival of a name is better than its first.
            if best.is_some_and(|best| found(named) <= best) {
                return;
            }
            let name = name_of(&words[..len], as_written);
            if len == 1 && is_stop_word(&name) {
                return;
            }
            let accepted = reader.first_accepted(&name, named, keep).map(found);
            best = best.max(accepted);
        });
    }
    best
}

/// The dictionary's name for these words.
fn name_of(words: &[Word], as_written: bool) -> String {
    let mut name = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 && !word.is_joined {
            name.push(' ');
        }
        let last = index + 1 == words.len();
        match singular(&word.text).filter(|_| last && !as_written) {
            Some(singular) => name.push_str(&singular),
            None => name.push_str(&word.text),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NamesBuilder, normalise};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn reader(names: &[(&str, u32)], synonyms: &[(&str, u32)]) -> NamesReader<Vec<u8>> {
        let mut builder = NamesBuilder::default();
        for &(name, concept) in synonyms {
            builder.push_synonym(&normalise(name), ConceptId(concept));
        }
        for &(name, concept) in names {
            builder.push(&normalise(name), ConceptId(concept));
        }
        NamesReader::open(builder.finish()).unwrap()
    }

    #[test]
    fn a_name_in_one_segment_wins_over_a_synonym_in_another() {
        let (one, two) = (reader(&[], &[("qm", 1)]), reader(&[("qm", 7)], &[]));
        assert_eq!(lookup(&[&one, &two], "qm"), Some(ConceptId(7)));
        assert_eq!(link(&[&one, &two], "QM!")[0].concept, ConceptId(7));
        assert_eq!(lookup(&[&one, &two], "mq"), None);
    }

    #[test]
    fn the_longest_match_wins_over_all_readers() {
        let one = reader(
            &[
                ("neural", 1),
                ("network", 2),
                ("the", 3),
                ("café", 4),
                ("量子", 5),
            ],
            &[],
        );
        let two = reader(
            &[
                ("neural network", 10),
                ("neural networks of the brain", 11),
                ("C++", 12),
            ],
            &[],
        );
        type Expected = &'static [(u32, &'static str, Range<usize>)];
        let cases: &[(&str, &str, Expected)] = &[
            (
                "two words beat one",
                "a neural network",
                &[(10, "neural network", 2..16)],
            ),
            (
                "plural",
                "Neural Networks!",
                &[(10, "neural network", 0..15)],
            ),
            (
                "five words",
                "NEURAL networks of the brain",
                &[(11, "neural networks of the brain", 0..28)],
            ),
            (
                "falls back",
                "neural networks of the",
                &[(10, "neural network", 0..15)],
            ),
            (
                "function words are no concept",
                "the network",
                &[(2, "network", 4..11)],
            ),
            (
                "folded",
                "Cafés in C++",
                &[(4, "cafe", 0..5), (12, "c++", 9..12)],
            ),
            (
                "inside running ideographs",
                "说量子力学",
                &[(5, "量子", 1..3)],
            ),
            ("nothing", "plain text", &[]),
            ("no text", "", &[]),
        ];
        for (case, text, expected) in cases {
            let found: Vec<_> = link(&[&one, &two], text)
                .into_iter()
                .map(|link| (link.concept.0, link.name, link.chars))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(id, name, chars)| (*id, (*name).to_owned(), chars.clone()))
                .collect();
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn capitalised_words_link_to_names_containing_them() {
        let names = reader(
            &[
                ("Albert Einstein", 1),
                ("Alfred Einstein", 2),
                ("Marie Curie", 3),
                ("University of Oslo", 4),
                ("curie", 5),
                ("a b smith", 6),
                ("c smith", 7),
                ("d smith", 8),
                ("e smith", 9),
                ("f smith", 10),
            ],
            &[("Einstein the elder", 11)],
        );
        let rank = |concept: ConceptId| concept.0 as f32;
        let ask = |text: &str| -> Vec<(u32, String)> {
            let links = link(&[&names], text);
            assert!(links.iter().all(|link| link.match_kind != MatchKind::Part));
            let found = link_parts(&[&names], text, &links, |id| id != ConceptId(3), rank);
            let found = found.into_iter();
            found
                .map(|link| {
                    assert_eq!(link.match_kind, MatchKind::Part);
                    let chars = text.chars().skip(link.chars.start);
                    let written = chars.take(link.chars.len()).collect::<String>();
                    (link.concept.0, written)
                })
                .collect()
        };
        let einsteins = || vec![(2, "Einstein".to_owned()), (1, "Einstein".to_owned())];
        assert_eq!(ask("Who was Einstein?"), einsteins());
        assert_eq!(ask("who was einstein"), [], "not a name as it is written");
        assert_eq!(
            ask("Was Einstein, Alfred at work"),
            [(2, "Einstein, Alfred".into())]
        );
        assert_eq!(
            ask("Albert Einstein and Oslo"),
            [(4, "Oslo".into())],
            "the name is linked"
        );
        assert_eq!(ask("Curie"), [], "a name of its own");
        assert_eq!(ask("Marie"), [], "not kept");
        assert_eq!(ask("Smith"), [], "too many");
        assert_eq!(ask("Nothing Einstein"), einsteins(), "one of two words");
    }

    #[test]
    fn a_rejected_concept_does_not_hide_another_of_the_same_name() {
        let names = reader(&[("wave", 1)], &[("wave", 5), ("wave", 2), ("psi", 5)]);
        let live = |concept| concept == ConceptId(5);
        assert_eq!(lookup_filtered(&[&names], "wave", live), Some(ConceptId(5)));
        let links = link_filtered(&[&names], "Waves", live);
        assert_eq!(
            (links[0].concept, links[0].match_kind),
            (ConceptId(5), MatchKind::Synonym)
        );
    }

    #[test]
    fn a_rejected_concept_does_not_hide_a_shorter_one() {
        let names = reader(&[("neural", 1), ("neural network", 2)], &[]);
        let links = link_filtered(&[&names], "neural network", |concept| {
            concept != ConceptId(2)
        });
        assert_eq!(links.len(), 1);
        assert_eq!((links[0].concept, &links[0].words), (ConceptId(1), &(0..1)));
    }

    /// Plainly right: every window of every length, longest first.
    fn reference(dictionary: &BTreeMap<String, u32>, text: &str) -> Vec<(u32, Range<usize>)> {
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        let (mut at, mut links) = (0, Vec::new());
        'words: while at < words.len() {
            for len in (1..=words.len() - at).rev() {
                let name = words[at..at + len].join(" ");
                if let Some(&concept) = dictionary.get(&name).filter(|_| len > 1 || name != "a") {
                    links.push((concept, at..at + len));
                    at += len;
                    continue 'words;
                }
            }
            at += 1;
        }
        links
    }

    proptest! {
        #[test]
        fn linking_agrees_with_trying_every_window(
            names in prop::collection::btree_map("[abx]( [abx]){0,3}", 0u32..50, 0..8),
            homes in prop::collection::vec(0usize..3, 8),
            text in "[abx ]{0,24}",
        ) {
            let names: BTreeMap<String, u32> = names;
            let mut builders = [(); 3].map(|()| NamesBuilder::default());
            for ((name, &concept), &home) in names.iter().zip(&homes) {
                builders[home].push(name, ConceptId(concept));
            }
            let readers = builders.map(|builder| NamesReader::open(builder.finish()).unwrap());
            let readers: Vec<&NamesReader<Vec<u8>>> = readers.iter().collect();
            let got: Vec<_> =
                link(&readers, &text).into_iter().map(|link| (link.concept.0, link.words)).collect();
            prop_assert_eq!(got, reference(&names, &text));
            for (name, &concept) in &names {
                prop_assert_eq!(lookup(&readers, name), Some(ConceptId(concept)));
            }
        }
    }
}
