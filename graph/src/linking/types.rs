//! Consolidates the many types of concepts that extractors write to few.
//!
//! Types that differ only in case, punctuation or number are one. Of these some are kept: the most frequent of all
//! (*global*), or the most frequent of each corpus, so that a large one does not crowd out the others (*stratified*).
//! Each other becomes the kept one that concepts most often have beside it; else the most frequent that shares its
//! last word, else any of its words; else [`OTHER`].
//!
//! Start reading at [`consolidate`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::linking::normalise::{normalise, singular};

/// What types become that are like none of the kept ones.
pub const OTHER: &str = "OTHER";

/// Types of one concept that are counted together; who has more was merged of very different ones.
const CO_OCCURRING_TYPES_MAX: usize = 32;

/// Which types are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TypeSelection {
    /// The most frequent of all corpora together.
    Global,
    /// The most frequent of each corpus that make up a least share of it.
    #[default]
    Stratified,
}

/// How many types are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TypeOptions {
    /// Which.
    pub selection: TypeSelection,
    /// Types of a corpus, or of all together, at most.
    pub types: usize,
    /// The least share of a corpus that a type of it must make up, in 0..=1.
    pub share_min: f64,
}

impl Default for TypeOptions {
    /// Stratified, 12 types a corpus, of at least 1 %.
    fn default() -> TypeOptions {
        TypeOptions {
            selection: TypeSelection::Stratified,
            types: 12,
            share_min: 0.01,
        }
    }
}

/// Counts of types as they are written.
#[derive(Clone, Debug, Default)]
pub struct TypeCounts {
    /// By corpus, by type: concepts that have it.
    corpora: BTreeMap<String, BTreeMap<String, u64>>,
    /// By two different types, the lesser first: concepts that have both.
    co_occurrences: BTreeMap<(String, String), u64>,
}

impl TypeCounts {
    /// Counts one concept that has a type in a corpus. An empty type is none.
    pub fn add(&mut self, corpus: &str, kind: &str) {
        if !fold_type(kind).is_empty() {
            let corpus = self.corpora.entry(corpus.to_owned()).or_default();
            *corpus.entry(kind.to_owned()).or_default() += 1;
        }
    }

    /// Counts one concept that has all these types.
    pub fn add_co_occurring<'k>(&mut self, kinds: impl IntoIterator<Item = &'k str>) {
        let kinds: BTreeSet<String> = kinds.into_iter().map(fold_type).collect();
        let kinds = kinds.into_iter().filter(|kind| !kind.is_empty());
        let kinds: Vec<String> = kinds.take(CO_OCCURRING_TYPES_MAX).collect();
        for (at, first) in kinds.iter().enumerate() {
            for second in &kinds[at + 1..] {
                let pair = (first.clone(), second.clone());
                *self.co_occurrences.entry(pair).or_default() += 1;
            }
        }
    }
}

/// A type as it is compared: `Brain regions` and `BRAIN_REGION` are `BRAIN_REGION`.
fn fold_type(kind: &str) -> String {
    let name = normalise(&kind.replace('_', " "));
    let mut words: Vec<String> = name.split(' ').map(str::to_owned).collect();
    if let Some(last) = words.last_mut()
        && let Some(one) = singular(last)
    {
        *last = one;
    }
    words.join("_").to_uppercase()
}

/// What becomes of each type as it is written, the kept ones included.
pub fn consolidate(counts: &TypeCounts, options: TypeOptions) -> BTreeMap<String, String> {
    let mut total: BTreeMap<String, u64> = BTreeMap::new();
    let mut selected_types: BTreeSet<String> = BTreeSet::new();
    for corpus in counts.corpora.values() {
        let mut own: BTreeMap<String, u64> = BTreeMap::new();
        for (kind, count) in corpus {
            *own.entry(fold_type(kind)).or_default() += count;
        }
        for (kind, count) in &own {
            *total.entry(kind.clone()).or_default() += count;
        }
        if options.selection == TypeSelection::Stratified {
            let all: u64 = own.values().sum();
            let least = options.share_min * all as f64;
            own.retain(|_, count| *count as f64 >= least);
            selected_types.extend(most_frequent(&own, options.types));
        }
    }
    if options.selection == TypeSelection::Global {
        selected_types.extend(most_frequent(&total, options.types));
    }
    let become_of = |kind: &String| {
        if selected_types.contains(kind) {
            kind.clone()
        } else {
            nearest_type(kind, &selected_types, &total, &counts.co_occurrences)
        }
    };
    let become_of: BTreeMap<&String, String> =
        total.keys().map(|kind| (kind, become_of(kind))).collect();
    let written = counts.corpora.values().flat_map(BTreeMap::keys);
    written
        .filter_map(|kind| Some((kind.clone(), become_of.get(&fold_type(kind))?.clone())))
        .collect()
}

/// The most frequent types, ties by name.
fn most_frequent(counts: &BTreeMap<String, u64>, limit: usize) -> impl Iterator<Item = String> {
    let mut kinds: Vec<(Reverse<u64>, String)> = counts
        .iter()
        .map(|(kind, count)| (Reverse(*count), kind.clone()))
        .collect();
    kinds.sort();
    kinds.into_iter().take(limit).map(|(_, kind)| kind)
}

fn nearest_type(
    kind: &str,
    selected_types: &BTreeSet<String>,
    total: &BTreeMap<String, u64>,
    co_occurrences: &BTreeMap<(String, String), u64>,
) -> String {
    let pair = |other: &String| {
        if kind < other.as_str() {
            (kind.to_owned(), other.clone())
        } else {
            (other.clone(), kind.to_owned())
        }
    };
    let words: BTreeSet<&str> = kind.split('_').collect();
    let last = kind.rsplit('_').next();
    let like = |other: &&String| {
        let beside = co_occurrences.get(&pair(other)).copied().unwrap_or(0);
        let same_last = other.rsplit('_').next() == last;
        let shares = other.split('_').any(|word| words.contains(word));
        (beside, same_last, shares)
    };
    let best = selected_types.iter().max_by_key(|other| {
        let count = total.get(*other).copied().unwrap_or(0);
        (like(other), count, Reverse(*other))
    });
    let best = best.filter(|other| like(other) != (0, false, false));
    best.map_or_else(|| OTHER.to_owned(), Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(corpora: &[(&str, &[(&str, u64)])]) -> TypeCounts {
        let mut counts = TypeCounts::default();
        for (corpus, kinds) in corpora {
            for (kind, count) in *kinds {
                (0..*count).for_each(|_| counts.add(corpus, kind));
            }
        }
        counts
    }

    fn options(method: TypeSelection, types: usize) -> TypeOptions {
        TypeOptions {
            selection: method,
            types,
            ..TypeOptions::default()
        }
    }

    #[test]
    fn case_punctuation_and_number_make_no_difference() {
        let counts = counts(&[(
            "",
            &[
                ("Brain regions", 2),
                ("BRAIN_REGION", 3),
                ("brain-region", 1),
            ],
        )]);
        let map = consolidate(&counts, options(TypeSelection::Global, 1));
        let became: BTreeSet<&str> = map.values().map(String::as_str).collect();
        assert_eq!((map.len(), became), (3, BTreeSet::from(["BRAIN_REGION"])));
    }

    #[test]
    fn small_corpus_keeps_its_types_when_stratified() {
        let counts = counts(&[
            ("large", &[("CELL", 900), ("DRUG", 800), ("RARE", 5)]),
            ("small", &[("PHILOSOPHER", 10), ("IDEA", 4)]),
        ]);
        let global = consolidate(&counts, options(TypeSelection::Global, 2));
        assert_eq!(global["PHILOSOPHER"], OTHER);
        let stratified = consolidate(&counts, options(TypeSelection::Stratified, 2));
        assert_eq!(
            (&stratified["PHILOSOPHER"][..], &stratified["IDEA"][..]),
            ("PHILOSOPHER", "IDEA")
        );
        assert_eq!(stratified["RARE"], OTHER, "less than one in a hundred");
    }

    #[test]
    fn dropped_types_map_to_co_occurring_or_similarly_named_types() {
        let mut counts = counts(&[(
            "",
            &[
                ("RESEARCHER", 50),
                ("NEURAL_SYSTEM", 40),
                ("SYSTEM_THEORY", 30),
                ("SCIENTIST", 3),
                ("CONTROL SYSTEM", 2),
                ("THEORY OF MIND", 2),
                ("COLOUR", 1),
            ],
        )]);
        counts.add_co_occurring(["SCIENTIST", "Researchers", ""]);
        let map = consolidate(&counts, options(TypeSelection::Global, 3));
        assert_eq!(map["SCIENTIST"], "RESEARCHER");
        assert_eq!(map["CONTROL SYSTEM"], "NEURAL_SYSTEM", "the same last word");
        assert_eq!(map["THEORY OF MIND"], "SYSTEM_THEORY", "a word of it");
        assert_eq!(map["COLOUR"], OTHER);
    }

    #[test]
    fn consolidate_of_no_types_is_empty() {
        let mut none = TypeCounts::default();
        none.add("", " ");
        assert!(consolidate(&none, TypeOptions::default()).is_empty());
    }
}
