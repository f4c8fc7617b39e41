//! Text questions, answered: what they count by, and which chunks they let through.
//!
//! Words are counted as terms of the index. Everything else (phrases, patterns, misspellings, words of a
//! field) becomes a list of chunks with how often it stands in each, and is counted like a term that has just
//! these chunks. What must and must not be there becomes a set of chunks.

use std::collections::{BTreeMap, BTreeSet};

use loci_storage::{ScoredChunk, SegmentReader};
use roaring::RoaringBitmap;

use super::automata::{LevenshteinAutomaton, RangeAutomaton, WildcardAutomaton, accepts};
use super::cursor::{TermCursor, phrase_occurrences};
use super::items::{MatchedChunks, ScoringPart};
use super::parse::{Clause, Node, Occur};
use super::positions::field_number;
use super::search::{TextScratch, TextSearch, check, search_parts};
use super::{Field, Term, TextError, TextQuery, TextReader};
use crate::analysis::{Analyzer, OwnedToken, is_unspaced, untagged};

/// The chunks that answer `query` best, scored by BM25.
///
/// A chunk answers when it has all parts that must be there, none that must not, and of a question without
/// such parts at least one. See [`TextQuery`] for the language, and [`super::search()`] for the rest.
///
/// # Errors
/// [`TextError::Question`], [`TextError::Parameters`], [`TextError::Malformed`].
///
/// # Cost
/// That of [`super::search()`]; for phrases and fields also the positions of their chunks, for patterns and
/// misspellings a walk through the dictionary and the postings of all words that fit.
pub fn search_query<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    query: &TextQuery,
    analyzer: &mut Analyzer,
    options: &TextSearch<'_>,
    scratch: &mut TextScratch,
) -> Result<Vec<ScoredChunk>, TextError> {
    check(segments)?;
    let languages = analyzer.languages().iter().count();
    let mut matcher = Matcher {
        segments,
        analyzer,
        parts: Vec::new(),
        automaton_count: 0,
        word_count: 0,
    };
    let allowed = matcher
        .match_clauses(&query.clauses, 1.0, true)?
        .into_bitmap();
    let parts = matcher.parts;
    if parts.len() > SCORING_PARTS_MAX * languages {
        return Err(TextError::Question("a question has at most 1,024 words"));
    }
    let Some(allowed) = allowed else {
        return search_parts(segments, &parts, options, scratch);
    };
    let filter = match options.filter {
        Some(filter) => filter & allowed,
        None => allowed,
    };
    // All that lets a chunk through has been read; what is counted must not be less.
    let filtered_options = TextSearch {
        filter: Some(&filter),
        postings_max: None,
        ..*options
    };
    search_parts(segments, &parts, &filtered_options, scratch)
}

/// Words, patterns and misspelt words, and words of a phrase, that a question has at most.
const SCORING_PARTS_MAX: usize = 1024;
const AUTOMATA_MAX: usize = 32;
const PHRASE_WORDS_MAX: usize = 64;

/// How often a part counts, with all groups around it.
const BOOST_RANGE: std::ops::RangeInclusive<f32> = 0.01..=100.0;

fn clamp_boost(boost: f32) -> f32 {
    boost.clamp(*BOOST_RANGE.start(), *BOOST_RANGE.end())
}

/// What some clauses let through.
enum ClauseFilter {
    /// Whatever has a word that is counted.
    AnyScored,
    /// These ordinals.
    Ordinals(RoaringBitmap),
}

impl ClauseFilter {
    /// What the search needs to be told.
    fn into_bitmap(self) -> Option<RoaringBitmap> {
        match self {
            ClauseFilter::AnyScored => None,
            ClauseFilter::Ordinals(ordinals) => Some(ordinals),
        }
    }
}

struct Matcher<'a, 'b, B> {
    segments: &'a [SegmentReader<'b, TextReader<B>>],
    analyzer: &'a mut Analyzer,
    parts: Vec<ScoringPart>,
    /// Patterns and misspelt words so far.
    automaton_count: usize,
    /// Words that were counted so far.
    word_count: u32,
}

/// A part that has been looked up: one or several that are counted, any of which it is enough to have.
struct NodeMatch {
    parts: Vec<ScoringPart>,
}

impl<B: AsRef<[u8]>> Matcher<'_, '_, B> {
    /// Looks up clauses.
    /// - `boost`: how often they count.
    /// - `is_top`: whether mere words need no set.
    fn match_clauses(
        &mut self,
        clauses: &[Clause],
        boost: f32,
        is_top: bool,
    ) -> Result<ClauseFilter, TextError> {
        let has = |occur| clauses.iter().any(|clause: &Clause| clause.occur == occur);
        let is_plain = |clause: &Clause| matches!(clause.node, Node::Words(None, _));
        if is_top && !has(Occur::Must) && !has(Occur::MustNot) && clauses.iter().all(is_plain) {
            for clause in clauses {
                let leaf =
                    self.match_node(&clause.node, clamp_boost(boost * clause.boost), false)?;
                self.parts.extend(leaf.parts);
            }
            return Ok(ClauseFilter::AnyScored);
        }
        let (mut must, mut should) = (None::<RoaringBitmap>, RoaringBitmap::new());
        if clauses.iter().all(|clause| clause.occur == Occur::MustNot) {
            should = self.all_live();
        }
        for clause in clauses
            .iter()
            .filter(|clause| clause.occur != Occur::MustNot)
        {
            let Some(found) = self.match_clause(clause, boost, true)? else {
                continue;
            };
            match clause.occur {
                Occur::Must => {
                    must = Some(match must {
                        Some(must) => must & found,
                        None => found,
                    });
                }
                _ => should |= found,
            }
        }
        let mut through = must.unwrap_or(should);
        for clause in clauses
            .iter()
            .filter(|clause| clause.occur == Occur::MustNot)
        {
            through -= self.match_clause(clause, boost, false)?.unwrap_or_default();
        }
        Ok(ClauseFilter::Ordinals(through))
    }

    /// All chunks that are not deleted.
    fn all_live(&self) -> RoaringBitmap {
        let mut all = RoaringBitmap::new();
        for placed in self.segments {
            let base = placed.base.0;
            all.insert_range(base..base.saturating_add(placed.chunk_count));
            for local in placed.dead {
                all.remove(base.saturating_add(local));
            }
        }
        all
    }

    /// The ordinals that a clause finds; `None` for one that has no words.
    /// - `is_counted`: whether it adds to scores.
    fn match_clause(
        &mut self,
        clause: &Clause,
        boost: f32,
        is_counted: bool,
    ) -> Result<Option<RoaringBitmap>, TextError> {
        let boost = clamp_boost(boost * clause.boost);
        if let Node::Group(clauses) = &clause.node {
            let before = self.parts.len();
            let through = self.match_clauses(clauses, boost, false)?;
            if !is_counted {
                self.parts.truncate(before);
            }
            if let ClauseFilter::Ordinals(ordinals) = &through
                && clauses.iter().any(|clause| clause.occur != Occur::Should)
            {
                self.restrict_to(before, ordinals)?;
            }
            return Ok(match through {
                ClauseFilter::Ordinals(ordinals) => Some(ordinals),
                ClauseFilter::AnyScored => None,
            });
        }
        let leaf = self.match_node(&clause.node, boost, clause.occur != Occur::Should)?;
        if leaf.parts.is_empty() {
            return Ok(None);
        }
        let mut found = RoaringBitmap::new();
        for counted in &leaf.parts {
            found |= self.ordinals(counted)?;
        }
        if is_counted {
            self.parts.extend(leaf.parts);
        }
        Ok(Some(found))
    }

    /// - `is_whole`: whether the parts of a word that is cut must stand together.
    fn match_node(
        &mut self,
        node: &Node,
        boost: f32,
        is_whole: bool,
    ) -> Result<NodeMatch, TextError> {
        let counted = match node {
            Node::Words(None, text) => {
                let is_cut = is_whole
                    && self
                        .positioned_terms(text)
                        .iter()
                        .any(|words| is_compound(words));
                match (is_cut, single_char_wildcard(text, self.analyzer)) {
                    (true, _) => self.match_phrase(None, text, 0, boost)?,
                    (false, Some(pattern)) => vec![self.match_automata(None, &[pattern], boost)?],
                    (false, None) => self.word_parts(text, boost),
                }
            }
            Node::Words(Some(field), text) => self.match_phrase(Some(*field), text, 0, boost)?,
            Node::Phrase(field, text, slop) => self.match_phrase(*field, text, *slop, boost)?,
            Node::Wildcard(field, text) => {
                let patterns = wildcard_automata(text, self.analyzer);
                if patterns.is_empty() {
                    Vec::new()
                } else {
                    vec![self.match_automata(*field, &patterns, boost)?]
                }
            }
            Node::Fuzzy(field, text, distance) => {
                self.match_fuzzy(*field, text, *distance, boost)?
            }
            Node::Range(field, from, to) => {
                let range = range_automaton(from.as_deref(), to.as_deref(), self.analyzer);
                vec![self.match_automata(*field, &[range], boost)?]
            }
            Node::Group(_) => Vec::new(),
        };
        Ok(NodeMatch { parts: counted })
    }

    /// The terms of a text.
    fn word_parts(&mut self, text: &str, boost: f32) -> Vec<ScoringPart> {
        let (mut words, before, mut end) = (Vec::new(), self.word_count, self.word_count);
        self.analyzer.for_each_token(text, |token| {
            let word = before.saturating_add(token.position);
            end = end.max(word.saturating_add(1));
            words.push(ScoringPart::Term(token.term.to_owned(), boost, word));
        });
        self.word_count = end;
        words
    }

    /// Place and term of the words of a text, in each language.
    fn positioned_terms(&mut self, text: &str) -> Vec<Vec<(u32, String)>> {
        let readings = self.analyzer.readings(text).into_iter();
        let words = |reading: Vec<OwnedToken>| {
            let words = reading.into_iter();
            words.map(|word| (word.position, word.term)).collect()
        };
        readings.map(words).collect()
    }

    /// The chunks in which words stand as in the question, in any language.
    fn match_phrase(
        &mut self,
        field: Option<Field>,
        text: &str,
        slop: u32,
        boost: f32,
    ) -> Result<Vec<ScoringPart>, TextError> {
        let mut readings = self.positioned_terms(text);
        readings.retain(|words| !words.is_empty());
        if readings.iter().any(|words| words.len() > PHRASE_WORDS_MAX) {
            return Err(TextError::Question("a phrase has at most 64 words"));
        }
        if readings.is_empty() {
            return Ok(Vec::new());
        }
        let mut chunks_by_segment = Vec::with_capacity(self.segments.len());
        for placed in self.segments {
            let mut found = Vec::new();
            for words in &readings {
                let more = phrase_postings(placed.reader, field, words, slop)?;
                found = union_postings(found, more);
            }
            chunks_by_segment.push(found);
        }
        Ok(vec![ScoringPart::Matches(
            MatchedChunks::new(chunks_by_segment),
            boost,
        )])
    }

    /// The chunks that have terms near to those of a text, word by word.
    fn match_fuzzy(
        &mut self,
        field: Option<Field>,
        text: &str,
        distance: u8,
        boost: f32,
    ) -> Result<Vec<ScoringPart>, TextError> {
        let mut all = Vec::new();
        for like in fuzzy_automata(text, distance, self.analyzer) {
            all.push(self.match_automata(field, &like, boost)?);
        }
        Ok(all)
    }

    /// The chunks that have any of the terms that look like one of these.
    fn match_automata<A: fst::Automaton>(
        &mut self,
        field: Option<Field>,
        automata: &[A],
        boost: f32,
    ) -> Result<ScoringPart, TextError> {
        self.automaton_count += 1;
        if self.automaton_count > AUTOMATA_MAX {
            return Err(TextError::Question(
                "a question has at most 32 patterns, ranges and misspelt words",
            ));
        }
        let mut chunks_by_segment = Vec::with_capacity(self.segments.len());
        for placed in self.segments {
            chunks_by_segment.push(matching_postings(placed.reader, field, automata)?);
        }
        Ok(ScoringPart::Matches(
            MatchedChunks::new(chunks_by_segment),
            boost,
        ))
    }

    /// Lets what is counted from `first` on count in these chunks alone.
    fn restrict_to(&mut self, first: usize, ordinals: &RoaringBitmap) -> Result<(), TextError> {
        for at in first..self.parts.len() {
            let mut chunks_by_segment = Vec::with_capacity(self.segments.len());
            for (i, placed) in self.segments.iter().enumerate() {
                let is_through = |local: u32| ordinals.contains(placed.base.0 + local);
                let mut chunks = Vec::new();
                match &self.parts[at] {
                    ScoringPart::Term(term, ..) => {
                        if let Some(term) = placed.reader.term(term)? {
                            for posting in placed.reader.postings(term) {
                                let posting = posting?;
                                chunks.push((posting.local.0, posting.tf));
                            }
                        }
                    }
                    ScoringPart::Matches(matched, _) => {
                        chunks.extend_from_slice(matched.in_segment(i))
                    }
                }
                chunks.retain(|&(local, _)| is_through(local));
                chunks_by_segment.push(chunks);
            }
            let counted = &mut self.parts[at];
            let (df, often) = match counted {
                ScoringPart::Matches(matched, often) => (matched.df(), *often),
                ScoringPart::Term(term, often, _) => {
                    let mut df = 0;
                    for placed in self.segments {
                        df += u64::from(placed.reader.df(term)?);
                    }
                    (df, *often)
                }
            };
            *counted = ScoringPart::Matches(MatchedChunks::with_df(chunks_by_segment, df), often);
        }
        Ok(())
    }

    fn ordinals(&self, counted: &ScoringPart) -> Result<RoaringBitmap, TextError> {
        let mut all = RoaringBitmap::new();
        for (i, placed) in self.segments.iter().enumerate() {
            let base = placed.base.0;
            match counted {
                ScoringPart::Term(term, ..) => {
                    if let Some(term) = placed.reader.term(term)? {
                        for posting in placed.reader.postings(term) {
                            all.insert(base + posting?.local.0);
                        }
                    }
                }
                ScoringPart::Matches(matched, _) => {
                    all.extend(matched.in_segment(i).iter().map(|&(local, _)| base + local))
                }
            }
        }
        Ok(all)
    }
}

/// A word as it is written, and as stems write it: `history` is `histori`.
fn spellings(word: &str) -> impl Iterator<Item = String> {
    let stem = word.strip_suffix('y').filter(|stem| !stem.is_empty());
    std::iter::once(word.to_owned()).chain(stem.map(|stem| format!("{stem}i")))
}

/// What a pattern finds: terms that read so, and for a word with a star at its end the stem of the word, which
/// the dictionary has in its place.
pub(super) fn wildcard_automata(pattern: &str, analyzer: &mut Analyzer) -> Vec<WildcardAutomaton> {
    let folded = analyzer.folded_pattern(pattern);
    let mut spellings_and_stems: Vec<String> = spellings(&folded).collect();
    let word = pattern.trim_end_matches('*');
    if word.len() < pattern.len() && !word.contains('*') {
        spellings_and_stems.extend(stems(word, analyzer));
    }
    spellings_and_stems
        .iter()
        .filter_map(|pattern| WildcardAutomaton::new(pattern))
        .collect()
}

/// The stems of a word in each language; none where it is cut.
fn stems(word: &str, analyzer: &mut Analyzer) -> Vec<String> {
    let readings = analyzer.readings(word).into_iter();
    let single = readings.filter(|reading| reading.iter().all(|read| read.position == 0));
    let stems = single.flatten().map(|read| untagged(&read.term).to_owned());
    stems.collect()
}

/// What finds a text of one character of a script that is indexed by pairs: the pairs that it is in.
pub(super) fn single_char_wildcard(
    text: &str,
    analyzer: &mut Analyzer,
) -> Option<WildcardAutomaton> {
    let mut chars = text.chars();
    let first = chars.next().filter(|&c| is_unspaced(c))?;
    match chars.next() {
        None => WildcardAutomaton::new(&analyzer.folded_pattern(&format!("*{first}*"))),
        Some(_) => None,
    }
}

/// For each word of a text, what is near to its stem in some language, or to how it is written.
pub(super) fn fuzzy_automata(
    text: &str,
    distance: u8,
    analyzer: &mut Analyzer,
) -> Vec<Vec<LevenshteinAutomaton>> {
    let mut by_place: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for read in analyzer.readings(text).into_iter().flatten() {
        let term = untagged(&read.term).to_owned();
        by_place.entry(read.position).or_default().insert(term);
    }
    if let [terms] = &mut by_place.values_mut().collect::<Vec<_>>()[..] {
        terms.extend(spellings(&analyzer.folded_pattern(text)));
    }
    let near = |term: &String| LevenshteinAutomaton::new(term, distance);
    let of_word = |terms: &BTreeSet<String>| terms.iter().map(near).collect();
    by_place.values().map(of_word).collect()
}

/// The terms between two words as they are written.
pub(super) fn range_automaton(
    from: Option<&str>,
    to: Option<&str>,
    analyzer: &mut Analyzer,
) -> RangeAutomaton {
    // Stems stand in the dictionary for the words that they are of.
    let mut bounds = |word: &str| {
        let mut all = stems(word, analyzer);
        all.push(analyzer.folded_pattern(word));
        all
    };
    let from = from.and_then(|from| bounds(from).into_iter().min());
    let to = to.and_then(|to| bounds(to).into_iter().max());
    RangeAutomaton::new(from.as_deref().unwrap_or_default(), to.as_deref())
}

/// Local ordinal and count of the chunks of a segment in which `words` stand as in the question.
fn phrase_postings<B: AsRef<[u8]>>(
    reader: &TextReader<B>,
    field: Option<Field>,
    words: &[(u32, String)],
    slop: u32,
) -> Result<Vec<(u32, u8)>, TextError> {
    let mut terms = Vec::with_capacity(words.len());
    for (place, term) in words {
        match reader.term(term)? {
            Some(term) => terms.push((*place, term, TermCursor::new(reader, term)?)),
            None => return Ok(Vec::new()),
        }
    }
    let Some((_, rarest, _)) = terms.iter().min_by_key(|(_, term, _)| term.df) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let mut lists: Vec<(u32, Vec<u32>)> = terms
        .iter()
        .map(|(place, ..)| (*place, Vec::new()))
        .collect();
    let rarest = *rarest;
    for posting in reader.postings(rarest) {
        let local = posting?.local.0;
        if terms.iter().any(|(_, _, cursor)| cursor.tf(local) == 0) {
            continue;
        }
        for ((_, _, cursor), (_, list)) in terms.iter_mut().zip(&mut lists) {
            cursor.positions(local, list)?;
            if let Some(field) = field {
                list.retain(|&at| field.matches_number(field_number(at)));
            }
        }
        let count = phrase_occurrences(&lists, slop);
        if count > 0 {
            found.push((local, u8::try_from(count).unwrap_or(u8::MAX)));
        }
    }
    Ok(found)
}

/// Whether a word has parts: several terms that are not the stems of one word with its accents and without.
fn is_compound(words: &[(u32, String)]) -> bool {
    let is_stem = |(place, term): &(u32, String)| *place == 0 && untagged(term) != term;
    words.len() > 1 && !words.iter().all(is_stem)
}

/// Two lists of chunks as one; the greater count of those in both.
fn union_postings(a: Vec<(u32, u8)>, b: Vec<(u32, u8)>) -> Vec<(u32, u8)> {
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() { b } else { a };
    }
    let mut all = a;
    all.extend(b);
    all.sort_unstable_by_key(|&(local, count)| (local, std::cmp::Reverse(count)));
    all.dedup_by_key(|&mut (local, _)| local);
    all
}

/// Local ordinal and count of the chunks of a segment that have terms which look like one of these.
fn matching_postings<B: AsRef<[u8]>, A: fst::Automaton>(
    reader: &TextReader<B>,
    field: Option<Field>,
    automata: &[A],
) -> Result<Vec<(u32, u8)>, TextError> {
    let mut counts = vec![0u8; reader.local_end() as usize];
    let mut scratch = Vec::new();
    let mut each = |_: &str, term: Term| {
        let mut cursor = field.map(|_| TermCursor::new(reader, term)).transpose()?;
        for posting in reader.postings(term) {
            let posting = posting?;
            let tf = match (&mut cursor, field) {
                (Some(cursor), Some(field)) => {
                    let tf = cursor.tf_in_field(field, posting.local.0, &mut scratch)?;
                    u8::try_from(tf).unwrap_or(u8::MAX)
                }
                _ => posting.tf,
            };
            if let Some(count) = counts.get_mut(posting.local.0 as usize) {
                *count = count.saturating_add(tf);
            }
        }
        Ok(())
    };
    for (i, one) in automata.iter().enumerate() {
        let before = &automata[..i];
        reader.for_each_match(one, |text, term| {
            let is_known = before.iter().any(|known| accepts(known, text.as_bytes()));
            if is_known { Ok(()) } else { each(text, term) }
        })?;
    }
    let found = (0..).zip(counts).filter(|&(_, count)| count > 0);
    Ok(found.collect())
}
