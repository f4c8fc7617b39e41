//! Which candidates become concepts, and where each is mentioned.

use std::collections::BTreeMap;

use super::gather::{Candidate, Candidates};
use super::occur::{NameFinder, Occurrence, RequiredForm, SurfaceForms, required_form};
use super::reading::{Line, WordUsage};
use super::{ExtractSettings, best_per_leaf};
use crate::text::lexicon;
use crate::text::prose::{self, Word};

/// A concept with its places.
#[derive(Clone, Debug)]
pub(crate) struct SelectedConcept {
    /// As it is best written.
    pub(crate) name: String,
    /// Folded words.
    pub(crate) key: String,
    /// `term`, `name`, `heading`, `code` or `acronym`.
    pub(crate) kind: &'static str,
    /// The line that says what it is.
    pub(crate) description: Option<usize>,
    /// Other names.
    pub(crate) synonyms: Vec<String>,
    /// Keys of what it is defined as, with the line that says so.
    pub(crate) genera: Vec<(String, usize)>,
    /// Mentions by passage.
    pub(crate) mentions: BTreeMap<u32, u32>,
    /// Where it stands, by line.
    pub(crate) occurrences: BTreeMap<usize, Vec<std::ops::Range<usize>>>,
    score: f32,
}

/// Files of up to this many passages are short: names need not recur.
const SHORT_FILE_PASSAGES_MAX: usize = 8;

/// A sentence of fewer words describes nothing.
const DESCRIPTION_WORDS_MIN: usize = 6;

fn leaf_count(lines: &[Line]) -> usize {
    let last = lines.iter().filter_map(|line| line.leaves.last());
    last.collect::<std::collections::BTreeSet<_>>().len()
}

/// Whether a file is so short that names need not recur.
pub(crate) fn is_short(lines: &[Line]) -> bool {
    leaf_count(lines) <= SHORT_FILE_PASSAGES_MAX
}

/// Chooses the concepts of a file, best first.
pub(crate) fn select(
    candidates: Candidates,
    lines: &[Line],
    words: &[Vec<Word<'_>>],
    usage: &WordUsage,
    settings: &ExtractSettings,
) -> Vec<SelectedConcept> {
    let leaf_count = leaf_count(lines);
    let judge = CandidateFilter {
        usage,
        is_short: leaf_count <= SHORT_FILE_PASSAGES_MAX,
        leaf_count,
    };
    let mut pool: Vec<(String, Candidate)> = candidates
        .0
        .into_iter()
        .filter(|(key, c)| judge.is_plausible(key, c))
        .collect();
    merge_synonyms(&mut pool);
    // Longer names that turn out too rare must not hide the shorter ones inside them: look twice.
    let seen = count_occurrences(&pool, lines, words, usage);
    let mut seen = seen.into_iter();
    pool.retain(|(key, c)| seen.next().is_some_and(|t| judge.accepts(key, c, &t)));
    let seen = count_occurrences(&pool, lines, words, usage);
    let chosen: Vec<SelectedConcept> = pool
        .into_iter()
        .zip(seen)
        .filter(|((key, c), t)| judge.accepts(key, c, t))
        .map(|((key, candidate), tally)| judge.to_concept(key, candidate, tally, lines, words))
        .collect();
    let chosen = merge_short_forms(merge_spellings(chosen));
    retain_best(chosen, settings.entities_per_chunk)
}

/// A capitalised word that closes just one longer name of the file is that name for short, as
/// `Lovelace` is `Ada Lovelace`: its mentions are those of the longer.
fn merge_short_forms(mut chosen: Vec<SelectedConcept>) -> Vec<SelectedConcept> {
    let mut longer: BTreeMap<String, Option<usize>> = BTreeMap::new();
    for (i, concept) in chosen.iter().enumerate() {
        let words: Vec<&str> = concept.name.split(' ').collect();
        let named = words
            .iter()
            .all(|word| word.starts_with(char::is_uppercase));
        if let ([_, .., last], true) = (&words[..], named && words.len() <= 4) {
            let only = longer.entry((*last).to_owned()).or_insert(Some(i));
            *only = only.filter(|&other| other == i);
        }
    }
    let short: Vec<(usize, usize)> = chosen
        .iter()
        .enumerate()
        .filter(|(_, c)| c.kind == "name" && c.synonyms.is_empty())
        .filter_map(|(i, c)| longer.get(&c.name).copied().flatten().map(|full| (i, full)))
        .collect();
    for &(from, into) in &short {
        let (mentions, occurrences) = (
            std::mem::take(&mut chosen[from].mentions),
            std::mem::take(&mut chosen[from].occurrences),
        );
        chosen[into].merge_into(mentions, occurrences);
    }
    chosen.retain(|concept| !concept.mentions.is_empty());
    chosen
}

impl SelectedConcept {
    /// Adds what was seen under another name.
    fn merge_into(
        &mut self,
        mentions: BTreeMap<u32, u32>,
        occurrences: BTreeMap<usize, Vec<std::ops::Range<usize>>>,
    ) {
        for (leaf, count) in mentions {
            *self.mentions.entry(leaf).or_default() += count;
        }
        for (line, runs) in occurrences {
            let all = self.occurrences.entry(line).or_default();
            all.extend(runs);
            all.sort_by_key(|run| run.start);
        }
    }
}

/// Names that differ in hyphens and the like only are one; the better one stays.
fn merge_spellings(mut chosen: Vec<SelectedConcept>) -> Vec<SelectedConcept> {
    chosen.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.key.cmp(&b.key)));
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut merged: Vec<SelectedConcept> = Vec::new();
    for concept in chosen {
        let letters: String = concept
            .name
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect();
        let Some(&at) = places.get(&letters) else {
            places.insert(letters, merged.len());
            merged.push(concept);
            continue;
        };
        merged[at].merge_into(concept.mentions, concept.occurrences);
    }
    merged
}

/// A synonym that is a candidate itself lends its evidence to the name and is dropped.
fn merge_synonyms(pool: &mut Vec<(String, Candidate)>) {
    let keys: Vec<(String, Vec<String>)> = pool
        .iter()
        .filter(|(_, c)| !c.synonyms.is_empty())
        .map(|(key, c)| (key.clone(), c.synonyms.iter().map(|s| key_of(s)).collect()))
        .collect();
    for (name, others) in keys {
        for other in others {
            let (Some(from), true) = (
                pool.iter().position(|(key, _)| *key == other),
                other != name,
            ) else {
                continue;
            };
            let (_, synonym) = pool.remove(from);
            if let Some((_, c)) = pool.iter_mut().find(|(key, _)| *key == name) {
                c.definitions.extend(synonym.definitions);
                c.genera.extend(synonym.genera);
                c.headings += synonym.headings;
                c.emphasised += synonym.emphasised;
                c.capitalised += synonym.capitalised;
            }
        }
    }
}

fn key_of(name: &str) -> String {
    super::name::key(&prose::words(name))
}

/// What was seen of one candidate.
#[derive(Clone, Debug, Default)]
struct CandidateStats {
    /// Ways of writing it in running text.
    forms: SurfaceForms,
    /// Ways of writing it in headings.
    heading_forms: SurfaceForms,
    occurrences: BTreeMap<usize, Vec<std::ops::Range<usize>>>,
    mentions: BTreeMap<u32, u32>,
    /// Occurrences in running text.
    body_count: u32,
}

fn count_occurrences(
    pool: &[(String, Candidate)],
    lines: &[Line],
    words: &[Vec<Word<'_>>],
    usage: &WordUsage,
) -> Vec<CandidateStats> {
    let mut finder = NameFinder::default();
    for (i, (key, candidate)) in pool.iter().enumerate() {
        let is_proper =
            candidate.capitalised > 0 && key.split(' ').all(|word| usage.is_proper(word));
        finder.add(
            key,
            i,
            required_form(key, is_code(candidate), is_proper && !key.contains(' ')),
        );
        candidate
            .synonyms
            .iter()
            .for_each(|other| finder.add(&key_of(other), i, RequiredForm::Any));
    }
    let mut seen = vec![CandidateStats::default(); pool.len()];
    for (at, (line, words)) in lines.iter().zip(words).enumerate() {
        for Occurrence { name, words: run } in finder.find(line, words) {
            let tally = &mut seen[name];
            line.leaves
                .iter()
                .for_each(|&leaf| *tally.mentions.entry(leaf).or_default() += 1);
            let found = &words[run.clone()];
            let forms = if line.is_heading {
                &mut tally.heading_forms
            } else {
                &mut tally.forms
            };
            if super::name::key(found) == pool[name].0 {
                forms.add(&line.text, found, run.start == 0, usage);
            }
            tally.body_count += u32::from(!line.is_heading);
            tally.occurrences.entry(at).or_default().push(run);
        }
    }
    seen
}

/// Whether a name is one of code: marked so, and no word of the text's own.
fn is_code(c: &Candidate) -> bool {
    c.code > 0 && !is_prose(c) && c.code * 2 > c.phrase
}

/// Whether the words of a sentence open with the name at `run`, an article aside, and go on with
/// something other than a further noun.
fn opens_sentence(words: &[Word<'_>], run: &std::ops::Range<usize>) -> bool {
    let article =
        run.start == 1 && matches!(words[0].surface.to_lowercase().as_str(), "a" | "an" | "the");
    let next = words
        .get(run.end)
        .filter(|next| !next.gap_before)
        .map(|w| w.surface.to_lowercase());
    (run.start == 0 || article)
        && next.is_some_and(|w| {
            lexicon::is_stop(&w) || (lexicon::is_verb(&w) && !lexicon::is_base_verb(&w))
        })
        && !words[run.end - 1].is_possessive
}

/// Whether prose, not code, speaks for a name.
fn is_prose(c: &Candidate) -> bool {
    !c.definitions.is_empty() || c.headings > 0 || c.emphasised > 0
}

struct CandidateFilter<'a> {
    usage: &'a WordUsage,
    is_short: bool,
    leaf_count: usize,
}

impl CandidateFilter<'_> {
    /// Whether anything speaks for a candidate, before its occurrences are counted.
    fn is_plausible(&self, key: &str, c: &Candidate) -> bool {
        is_prose(c)
            || c.capitalised > 0
            || c.code >= 2
            || c.quoted > 0
            || !c.synonyms.is_empty()
            || self.is_recurring(key, c)
    }

    fn is_recurring(&self, key: &str, c: &Candidate) -> bool {
        let often = if self.is_short { 2 } else { 3 };
        let verbal = key.ends_with("ing") || key.ends_with("ed");
        match key.contains(' ') {
            true => c.phrase >= often,
            false if verbal => false,
            false => {
                c.phrase as usize >= 5.max(self.leaf_count / 12) && self.usage.noun_count(key) >= 3
            }
        }
    }

    fn accepts(&self, key: &str, c: &Candidate, seen: &CandidateStats) -> bool {
        let several = key.contains(' ');
        let headed = !c.definitions.is_empty() && c.headings > 0;
        let twice = several || seen.body_count >= 2 || headed;
        let nominal = several || self.usage.noun_count(key) > 0 || self.usage.is_proper(key);
        let named = if self.is_short { 1 } else { 2 };
        c.is_title && !seen.mentions.is_empty()
            || seen.body_count > 0
                && ((!c.synonyms.is_empty())
                    || (!c.definitions.is_empty() && twice)
                    || (c.emphasised > 0 && twice && nominal)
                    || (c.headings > 0 && twice && nominal)
                    || (c.capitalised >= named)
                    || (c.code >= 2)
                    || (c.quoted > 0 && seen.body_count >= 2)
                    || self.is_recurring(key, c))
    }

    fn to_concept(
        &self,
        key: String,
        c: Candidate,
        seen: CandidateStats,
        lines: &[Line],
        words: &[Vec<Word<'_>>],
    ) -> SelectedConcept {
        let name = (seen
            .forms
            .best(&key)
            .or_else(|| seen.heading_forms.best(&key)))
        .unwrap_or_else(|| key.clone());
        let kind = kind(&name, &c);
        let best = c
            .definitions
            .iter()
            .filter(|(_, line)| words[*line].len() >= 5)
            .max_by_key(|(rank, line)| (*rank, std::cmp::Reverse(*line)))
            .map(|d| d.1);
        let is_descriptive = |line: &usize| words[*line].len() >= DESCRIPTION_WORDS_MIN;
        let introduced = c.first_emphasis_line.filter(is_descriptive);
        let subject = || {
            let mut body = seen
                .occurrences
                .iter()
                .filter(|(line, _)| !lines[**line].is_heading);
            body.find(|(line, runs)| {
                is_descriptive(line) && opens_sentence(&words[**line], &runs[0])
            })
            .map(|(line, _)| *line)
        };
        let mut synonyms: Vec<String> = c.synonyms.clone();
        synonyms.retain(|other| key_of(other) != key);
        SelectedConcept {
            score: self.score(&key, &c, &seen),
            description: best
                .or(introduced)
                .or_else(|| subject().filter(|_| c.headings > 0)),
            name,
            key,
            kind,
            synonyms,
            genera: c.genera,
            mentions: seen.mentions,
            occurrences: seen.occurrences,
        }
    }

    fn score(&self, key: &str, c: &Candidate, seen: &CandidateStats) -> f32 {
        let defined = c
            .definitions
            .iter()
            .map(|(rank, _)| f32::from(*rank))
            .fold(0.0, f32::max);
        let evidence = defined
            + 2.0 * c.headings.min(1) as f32
            + if c.is_title { 2.0 } else { 0.0 }
            + 2.0 * c.emphasised.min(2) as f32
            + 2.0 * c.synonyms.len().min(1) as f32
            + 1.5 * c.capitalised.min(1) as f32
            + c.code.min(1) as f32
            + (1.0 + c.phrase as f32).ln()
            + if key.contains(' ') { 0.5 } else { 0.0 };
        evidence * (1.0 + (1.0 + seen.body_count as f32).ln())
    }
}

/// What sort of name it is.
fn kind(name: &str, c: &Candidate) -> &'static str {
    let words = prose::words(name);
    let symbolic = name.contains(['_', ':']) || name.contains('.') && !name.contains(' ');
    match words.as_slice() {
        [word] if word.is_acronym() => "acronym",
        _ if symbolic || is_code(c) => "code",
        _ if c.capitalised > 0 && words.iter().any(Word::is_capitalised) => "name",
        _ if c.headings > 0 && c.definitions.is_empty() && c.emphasised == 0 && c.phrase < 2 => {
            "heading"
        }
        _ => "term",
    }
}

/// Keeps the mentions of the best `limit` concepts of every passage, and the concepts that have any.
fn retain_best(mut chosen: Vec<SelectedConcept>, limit: usize) -> Vec<SelectedConcept> {
    let mut contents: BTreeMap<u32, Vec<(f32, usize)>> = BTreeMap::new();
    for (i, concept) in chosen.iter().enumerate() {
        for (&leaf, &count) in &concept.mentions {
            let rank = concept.score * (1.0 + count as f32).ln();
            contents.entry(leaf).or_default().push((rank, i));
        }
    }
    let retained = best_per_leaf(&contents, limit);
    for (i, concept) in chosen.iter_mut().enumerate() {
        concept
            .mentions
            .retain(|&leaf, _| retained.contains(&(leaf, i)));
    }
    chosen.retain(|concept| !concept.mentions.is_empty());
    chosen.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.key.cmp(&b.key)));
    chosen
}
