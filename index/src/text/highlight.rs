//! Which words of a text a question asked for, and what an unknown word may have meant.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use loci_storage::{Ordinal, SegmentReader};
use roaring::RoaringBitmap;

use super::automata::{LevenshteinAutomaton, RangeAutomaton, WildcardAutomaton, accepts};
use super::matching::{fuzzy_automata, range_automaton, single_char_wildcard, wildcard_automata};
use super::parse::{Clause, Node, Occur};
use super::search::check;
use super::{Term, TextError, TextQuery, TextReader};
use crate::analysis::{Analyzer, untagged};

/// Finds the words of a question in texts.
#[derive(Clone, Debug, Default)]
pub struct Highlighter {
    terms: HashSet<String>,
    patterns: Vec<WildcardAutomaton>,
    fuzzy: Vec<LevenshteinAutomaton>,
    ranges: Vec<RangeAutomaton>,
}

impl Highlighter {
    /// For all parts of a question but those that must not be there.
    pub fn new(query: &TextQuery, analyzer: &mut Analyzer) -> Highlighter {
        let mut highlighter = Highlighter::default();
        highlighter.add(&query.clauses, analyzer);
        highlighter
    }

    fn add(&mut self, clauses: &[Clause], analyzer: &mut Analyzer) {
        for clause in clauses
            .iter()
            .filter(|clause| clause.occur != Occur::MustNot)
        {
            match &clause.node {
                Node::Words(_, text) | Node::Phrase(_, text, _) => {
                    self.terms.extend(analyzer.terms(text));
                    self.patterns.extend(single_char_wildcard(text, analyzer));
                }
                Node::Wildcard(_, text) => {
                    self.patterns.extend(wildcard_automata(text, analyzer));
                }
                Node::Fuzzy(_, text, distance) => {
                    let misspelt = fuzzy_automata(text, *distance, analyzer);
                    self.fuzzy.extend(misspelt.into_iter().flatten());
                }
                Node::Range(_, from, to) => {
                    self.ranges
                        .push(range_automaton(from.as_deref(), to.as_deref(), analyzer));
                }
                Node::Group(clauses) => self.add(clauses, analyzer),
            }
        }
    }

    /// The bytes of `text` that its words stand in: ascending, apart from each other.
    ///
    /// Cost: an analysis of the text.
    pub fn spans(&self, text: &str, analyzer: &mut Analyzer) -> Vec<std::ops::Range<usize>> {
        let mut spans: Vec<std::ops::Range<usize>> = Vec::new();
        analyzer.for_each_token(text, |token| {
            if !self.is_match(token.term) {
                return;
            }
            match spans.last_mut() {
                Some(last) if token.span.start <= last.end => {
                    last.end = last.end.max(token.span.end)
                }
                _ => spans.push(token.span),
            }
        });
        spans
    }

    fn is_match(&self, term: &str) -> bool {
        let bytes = term.as_bytes();
        self.terms.contains(term)
            || self.patterns.iter().any(|pattern| accepts(pattern, bytes))
            || self.fuzzy.iter().any(|misspelt| accepts(misspelt, bytes))
            || self.ranges.iter().any(|range| accepts(range, bytes))
    }
}

/// A word of a question that no chunk has, and one that it may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpellingSuggestion {
    /// As it was written.
    pub word: String,
    /// The term that is nearest to it.
    pub term: String,
    /// A chunk that has that term.
    pub chunk: Ordinal,
}

/// Letters of a word below which nothing is suggested, and from which on two of them may be wrong.
const SUGGESTION_CHARS_MIN: usize = 4;
const TWO_EDIT_CHARS_MIN: usize = 5;

/// Words that get suggestions at most.
const SUGGESTIONS_MAX: usize = 8;

/// The mere words of `query` that no chunk has, with the nearest term that some have: one letter away, or
/// two for long words; of these the one that most chunks have. Words without such a term are left out, short
/// ones and those with digits too, and all after the first eight unknown ones.
///
/// - `filter`: ordinals that suggestions may come from; `None` for all.
///
/// # Errors
/// [`TextError::Malformed`].
///
/// # Cost
/// For each unknown word a walk through the dictionaries.
pub fn suggest_spellings<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    query: &TextQuery,
    filter: Option<&RoaringBitmap>,
    analyzer: &mut Analyzer,
) -> Result<Vec<SpellingSuggestion>, TextError> {
    check(segments)?;
    let mut words = Vec::new();
    collect_query_words(&query.clauses, analyzer, &mut words);
    let (mut tried, mut unknown) = (HashSet::new(), Vec::new());
    for QueryWord { word, terms } in words {
        let is_word =
            word.chars().count() >= SUGGESTION_CHARS_MIN && word.chars().all(char::is_alphabetic);
        if !is_word || tried.len() == SUGGESTIONS_MAX || tried.contains(&terms) {
            continue;
        }
        if is_known(segments, &terms, filter)? {
            continue;
        }
        if let Some((term, chunk)) = nearest_term(segments, &terms, filter)? {
            unknown.push(SpellingSuggestion { word, term, chunk });
        }
        tried.insert(terms);
    }
    Ok(unknown)
}

/// Whether a chunk that may be found has one of `terms`.
fn is_known<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    terms: &BTreeSet<String>,
    filter: Option<&RoaringBitmap>,
) -> Result<bool, TextError> {
    for placed in segments {
        for term in terms {
            let known = placed.reader.term(term)?;
            let known = known
                .map(|term| first_live_posting(placed, term, filter))
                .transpose()?;
            if known.flatten().is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The first chunk with a term that may be found.
fn first_live_posting<B: AsRef<[u8]>>(
    placed: &SegmentReader<'_, TextReader<B>>,
    term: Term,
    filter: Option<&RoaringBitmap>,
) -> Result<Option<Ordinal>, TextError> {
    for posting in placed.reader.postings(term) {
        let local = posting?.local;
        let ordinal = placed.ordinal(local);
        if !placed.is_dead(local) && filter.is_none_or(|filter| filter.contains(ordinal.0)) {
            return Ok(Some(ordinal));
        }
    }
    Ok(None)
}

/// A word of a question with its term in each language.
struct QueryWord {
    word: String,
    terms: BTreeSet<String>,
}

/// The words of clauses that are mere words. Words of several terms in one language are left out.
fn collect_query_words(clauses: &[Clause], analyzer: &mut Analyzer, words: &mut Vec<QueryWord>) {
    for clause in clauses
        .iter()
        .filter(|clause| clause.occur != Occur::MustNot)
    {
        match &clause.node {
            Node::Words(_, text) | Node::Phrase(_, text, _) => {
                let mut of_text: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
                for reading in analyzer.readings(text) {
                    for of_word in reading.chunk_by(|a, b| a.span == b.span) {
                        let at = (of_word[0].span.start, of_word[0].span.end);
                        let terms = of_text.entry(at).or_default();
                        if let [word] = of_word {
                            terms.insert(word.term.clone());
                        }
                    }
                }
                let single = of_text.into_iter().filter(|(_, terms)| !terms.is_empty());
                words.extend(single.map(|((start, end), terms)| QueryWord {
                    word: text[start..end].to_owned(),
                    terms,
                }));
            }
            Node::Group(clauses) => collect_query_words(clauses, analyzer, words),
            Node::Wildcard(..) | Node::Fuzzy(..) | Node::Range(..) => {}
        }
    }
}

fn nearest_term<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    terms: &BTreeSet<String>,
    filter: Option<&RoaringBitmap>,
) -> Result<Option<(String, Ordinal)>, TextError> {
    for distance in 1..=2 {
        let chars = |term: &str| untagged(term).chars().count();
        let may = |term: &&String| distance == 1 || chars(term) >= TWO_EDIT_CHARS_MIN;
        let mut near: HashMap<String, (u64, Ordinal)> = HashMap::new();
        for (placed, term) in segments
            .iter()
            .flat_map(|placed| terms.iter().filter(may).map(move |term| (placed, term)))
        {
            let misspelt = LevenshteinAutomaton::new(untagged(term), distance);
            placed.reader.for_each_match(&misspelt, |like, term| {
                let Some(first) = first_live_posting(placed, term, filter)? else {
                    return Ok(());
                };
                let (df, _) = near.entry(like.to_owned()).or_insert((0, first));
                *df += u64::from(term.df);
                Ok(())
            })?;
        }
        let best = near
            .into_iter()
            .max_by(|a, b| a.1.0.cmp(&b.1.0).then(b.0.cmp(&a.0)));
        if let Some((term, (_, chunk))) = best {
            return Ok(Some((term, chunk)));
        }
    }
    Ok(None)
}
