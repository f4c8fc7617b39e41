//! Relations between the concepts of a file.
//!
//! Two concepts that follow one another in a sentence are related by the verb between them, where
//! it is one of [`VERBS`] and nothing else of weight is between. Direction: what is required is
//! `PREREQUISITE_FOR` what requires it. A definition relates a concept to its genus by `IS_A`.
//! Concepts that keep standing in the same sentences are `RELATED_TO` one another.

use std::collections::{BTreeMap, BTreeSet};

use locidb::NewRelation;

use super::reading::Line;
use super::select::SelectedConcept;
use super::{ExtractSettings, best_per_leaf};
use crate::text::lexicon;
use crate::text::prose::Word;
use crate::text::terms::truncate;

const DESCRIPTION_CHARS_MAX: usize = 240;
/// What one shared sentence is worth, and the most that sharing is worth.
const COOCCURRENCE_WEIGHT: f32 = 0.5;
const COOCCURRENCES_MAX: u32 = 6;
/// A concept in more sentences of one line than this is not paired there.
const PAIRED_CONCEPTS_MAX: usize = 8;
/// Files of up to this many sentences are short: standing together once is enough.
const SHORT_FILE_SENTENCES_MAX: usize = 40;

/// Verbs by the relation that they state, and whether it leads from the second concept to the first.
#[rustfmt::skip]
const VERBS: &[(&str, bool, &[&str])] = &[
    ("PREREQUISITE_FOR", true, &["requires", "require", "needs", "need", "depends on",
        "depends upon", "depend on", "relies on", "rely on", "based on", "built on", "built upon",
        "builds on", "builds upon", "build on", "presupposes"]),
    ("PREREQUISITE_FOR", false, &["prerequisite for", "prerequisite of", "required for",
        "required by", "needed for", "needed by", "necessary for", "underlies"]),
    ("IS_A", false, &["is a", "is an", "is a kind of", "is a type of", "is a form of",
        "is an example of", "is an instance of"]),
    ("IS_A", true, &["such as"]),
    ("USES", false, &["uses", "use", "using", "employs"]),
    ("USES", true, &["used by", "used in"]),
    ("CONTAINS", false, &["contains", "contain", "includes", "include", "comprises", "consists of",
        "consist of"]),
    ("HOLDS", false, &["holds", "hold"]),
    ("PART_OF", false, &["part of", "belongs to", "belong to", "contained in"]),
    ("STORED_IN", false, &["stored in", "stored on", "allocated on"]),
    ("CAUSES", false, &["causes", "cause", "leads to", "lead to", "results in", "triggers"]),
    ("CAUSES", true, &["caused by"]),
    ("PRODUCES", false, &["produces", "produce", "creates", "create", "generates"]),
    ("PRODUCES", true, &["produced by", "created by"]),
    ("IMPLEMENTS", false, &["implements", "implement"]),
    ("IMPLEMENTS", true, &["implemented by"]),
    ("EXTENDS", false, &["extends", "inherits from"]),
    ("PROVIDES", false, &["provides", "provide"]),
    ("PROVIDES", true, &["provided by"]),
    ("PREVENTS", false, &["prevents", "prevent"]),
    ("PROTECTS", false, &["protects", "protect"]),
    ("PROTECTS", true, &["protected by"]),
    ("MANAGES", false, &["manages"]),
    ("MANAGES", true, &["managed by"]),
    ("CONTROLS", false, &["controls"]),
    ("CONTROLS", true, &["controlled by"]),
    ("CALLS", false, &["calls", "invokes"]),
    ("CALLS", true, &["called by"]),
    ("POINTS_TO", false, &["points to", "point to"]),
    ("OWNS", false, &["owns"]),
    ("OWNS", true, &["owned by"]),
    ("REPLACES", false, &["replaces"]),
    ("REPLACES", true, &["replaced by"]),
    ("CREATED", true, &["written by", "directed by", "founded by", "invented by", "developed by"]),
    ("LOCATED_IN", false, &["located in"]),
    ("BORN_IN", false, &["born in"]),
];

/// Words between a concept and its verb that state nothing.
#[rustfmt::skip]
const AUXILIARIES: &[&str] = &[
    "is", "are", "was", "were", "be", "been", "being", "can", "may", "will", "must", "should",
    "also", "often", "always", "that", "which", "then", "thus", "has", "have", "to", "itself", "a",
    "an", "the", "itself,",
];

/// Words whose object a concept behind them is.
#[rustfmt::skip]
const PREPOSITIONS: &[&str] = &[
    "of", "in", "on", "with", "by", "for", "from", "to", "into", "at", "between", "through",
    "within", "over", "under",
];

/// A relation while its evidence is gathered.
#[derive(Clone, Debug, Default)]
struct RelationEvidence {
    weight: f32,
    description: Option<usize>,
    leaves: BTreeSet<u32>,
    rank: f32,
}

type RelationKey = (usize, usize, &'static str);

/// Relates the concepts of a file. Strongest first.
pub(crate) fn relate(
    chosen: &[SelectedConcept],
    lines: &[Line],
    words: &[Vec<Word<'_>>],
    settings: &ExtractSettings,
) -> Vec<NewRelation> {
    let mut found: BTreeMap<RelationKey, RelationEvidence> = BTreeMap::new();
    let by_line = concepts_by_line(chosen, lines.len());
    for (at, standing) in by_line
        .iter()
        .enumerate()
        .filter(|(at, _)| !lines[*at].is_heading)
    {
        let asks = lines[at].text.ends_with('?') || lines[at].is_contents_or_references;
        for pair in standing.windows(2).filter(|_| !asks) {
            if let Some((kind, reversed)) = verb_between(&words[at], &pair[0].1, &pair[1].1) {
                let (a, b) = if reversed {
                    (pair[1].0, pair[0].0)
                } else {
                    (pair[0].0, pair[1].0)
                };
                // A proper name is no kind of thing: in `a Julia library` it only describes.
                if kind != "IS_A" || chosen[b].kind != "name" {
                    add_evidence(&mut found, (a, b, kind), at, lines);
                }
            }
        }
    }
    add_is_a_relations(&mut found, chosen, lines);
    add_cooccurrences(&mut found, chosen, &by_line, lines);
    let retained = retain_best(found, settings.relations_per_chunk);
    let make = |((a, b, kind), found): (RelationKey, RelationEvidence)| NewRelation {
        source: chosen[a].name.clone(),
        target: chosen[b].name.clone(),
        kind: kind.to_owned(),
        description: found
            .description
            .map(|l| truncate(&lines[l].text, DESCRIPTION_CHARS_MAX))
            .unwrap_or_default(),
        weight: found.weight,
        chunks: found.leaves.into_iter().collect(),
    };
    retained.into_iter().map(make).collect()
}

type LineConcepts = Vec<(usize, std::ops::Range<usize>)>;

/// The concepts of every line in the order of the line.
fn concepts_by_line(chosen: &[SelectedConcept], line_count: usize) -> Vec<LineConcepts> {
    let mut lines: Vec<LineConcepts> = vec![Vec::new(); line_count];
    for (i, concept) in chosen.iter().enumerate() {
        for (&line, runs) in &concept.occurrences {
            lines[line].extend(runs.iter().map(|run| (i, run.clone())));
        }
    }
    lines
        .iter_mut()
        .for_each(|standing| standing.sort_by_key(|(_, run)| run.start));
    lines
}

/// Adds a sentence that states a relation.
fn add_evidence(
    found: &mut BTreeMap<RelationKey, RelationEvidence>,
    key: RelationKey,
    line: usize,
    lines: &[Line],
) {
    if key.0 == key.1 {
        return;
    }
    let relation = found.entry(key).or_default();
    relation.weight += 1.0;
    relation.rank = 100.0 + relation.weight;
    relation.description.get_or_insert(line);
    relation.leaves.extend(&lines[line].leaves);
}

/// The relation that the words between two concepts state.
fn verb_between(
    words: &[Word<'_>],
    a: &std::ops::Range<usize>,
    b: &std::ops::Range<usize>,
) -> Option<(&'static str, bool)> {
    let between = &words[a.end..b.start];
    if between.is_empty()
        || between.len() > 8
        || words[a.end..=b.start].iter().any(|w| w.gap_before)
    {
        return None;
    }
    if !is_subject(words, a.start) || !is_head(words, b) || words[a.end - 1].is_possessive {
        return None;
    }
    let lowered: Vec<String> = between.iter().map(|w| w.surface.to_lowercase()).collect();
    if lowered.iter().any(|w| {
        matches!(w.as_str(), "not" | "never" | "no" | "without" | "cannot")
            || w.contains("n't")
            || w.contains("n’t")
    }) {
        return None;
    }
    let start = lowered
        .iter()
        .position(|word| !is_auxiliary(word))
        .unwrap_or(lowered.len());
    // `is a` begins with what is an auxiliary elsewhere, so every start up to the verb is tried.
    let fitting = (0..=start).filter_map(|from| verb_at(&lowered[from..]).map(|verb| (from, verb)));
    let (from, (len, kind, reversed)) = fitting.max_by_key(|(from, (len, ..))| (*len, *from))?;
    let after = &lowered[from + len..];
    let loose = if kind == "IS_A" { 1 } else { 3 };
    let next = words
        .get(b.end)
        .map(|w| w.surface.to_lowercase())
        .unwrap_or_default();
    // `causes the shell to stop` and `prevents a user from reading` say something else.
    let goes_on = matches!(kind, "CAUSES" | "PREVENTS") && matches!(next.as_str(), "to" | "from");
    if goes_on || (kind == "IS_A" && is_conditional(words, a.start)) {
        return None;
    }
    let describes = |word: &String| {
        lexicon::is_determiner(word) && word != "that"
            || lexicon::is_weak(word)
            || !(lexicon::is_stop(word) || lexicon::is_verb(word))
    };
    let counted = after.iter().filter(|w| !lexicon::is_determiner(w)).count();
    (counted <= loose && after.iter().all(describes)).then_some((kind, reversed))
}

/// The longest verb that `words` start with: its length in words, relation, direction. Of equals the last one.
fn verb_at(words: &[String]) -> Option<(usize, &'static str, bool)> {
    let len_of = |verb: &str| {
        let mut words = words.iter();
        let fits = verb
            .split(' ')
            .all(|part| words.next().is_some_and(|word| word == part));
        fits.then(|| verb.split(' ').count())
    };
    let verbs = VERBS.iter().flat_map(|&(kind, reversed, verbs)| {
        let verbs = verbs.iter();
        verbs.filter_map(move |verb| Some((len_of(verb)?, kind, reversed)))
    });
    verbs.max_by_key(|(len, ..)| *len)
}

fn is_auxiliary(word: &str) -> bool {
    lexicon::is_adverb(word) || AUXILIARIES.contains(&word)
}

/// Whether the concept at `start` is what the clause speaks of: not the object of a preposition.
fn is_subject(words: &[Word<'_>], start: usize) -> bool {
    let mut at = start;
    while at > 0 && !words[at].gap_before {
        at -= 1;
        let word = words[at].surface.to_lowercase();
        let describes = lexicon::is_determiner(&word) || lexicon::is_weak(&word);
        if !describes {
            let preposition = PREPOSITIONS.contains(&word.as_str());
            return !preposition;
        }
    }
    true
}

/// Whether the concept `run` is a whole phrase: no further noun follows it, and it owns none.
fn is_head(words: &[Word<'_>], run: &std::ops::Range<usize>) -> bool {
    let follows = words.get(run.end).is_none_or(|next| {
        let lower = next.surface.to_lowercase();
        let verb = lexicon::is_verb(&lower) && !lexicon::is_base_verb(&lower);
        next.gap_before || lexicon::is_stop(&lower) || verb
    });
    follows && !words[run.end - 1].is_possessive
}

/// Whether what precedes the clause of the word at `start` makes it a condition.
fn is_conditional(words: &[Word<'_>], start: usize) -> bool {
    let clause = (1..=start)
        .rev()
        .find(|&i| words[i].gap_before)
        .unwrap_or(0);
    let conditions = [
        "if", "when", "whether", "unless", "while", "suppose", "although", "though",
    ];
    words[clause..start]
        .iter()
        .any(|w| conditions.contains(&w.surface.to_lowercase().as_str()))
}

/// What concepts are defined as, where that is a concept too.
fn add_is_a_relations(
    found: &mut BTreeMap<RelationKey, RelationEvidence>,
    chosen: &[SelectedConcept],
    lines: &[Line],
) {
    let places: BTreeMap<&str, usize> = chosen
        .iter()
        .enumerate()
        .map(|(i, c)| (c.key.as_str(), i))
        .collect();
    for (i, concept) in chosen.iter().enumerate() {
        for (genus, line) in &concept.genera {
            // The head of a longer genus will do: a compiler pass is a pass.
            let tail = |at: usize| places.get(&genus[at..]);
            let starts = std::iter::once(0).chain(genus.match_indices(' ').map(|(at, _)| at + 1));
            let Some(&target) = starts
                .filter_map(tail)
                .find(|&&at| chosen[at].kind != "name")
            else {
                continue;
            };
            let is_stated_elsewhere = found.get(&(i, target, "IS_A")).is_some_and(|f| {
                f.leaves
                    .is_superset(&lines[*line].leaves.iter().copied().collect())
            });
            if !is_stated_elsewhere {
                add_evidence(found, (i, target, "IS_A"), *line, lines);
            }
        }
    }
}

/// Concepts that keep standing in the same sentences.
fn add_cooccurrences(
    found: &mut BTreeMap<RelationKey, RelationEvidence>,
    chosen: &[SelectedConcept],
    by_line: &[LineConcepts],
    lines: &[Line],
) {
    let mut together: BTreeMap<(usize, usize), (u32, BTreeSet<u32>)> = BTreeMap::new();
    for (line, standing) in lines
        .iter()
        .zip(by_line)
        .filter(|(line, _)| !line.is_heading)
    {
        let mut here: Vec<usize> = standing.iter().map(|(i, _)| *i).collect();
        here.sort_unstable();
        here.dedup();
        here.truncate(PAIRED_CONCEPTS_MAX);
        for (n, &a) in here.iter().enumerate() {
            for &b in &here[n + 1..] {
                let pair = together.entry((a, b)).or_default();
                pair.0 += 1;
                pair.1.extend(&line.leaves);
            }
        }
    }
    let enough = if lines.len() <= SHORT_FILE_SENTENCES_MAX {
        1
    } else {
        2
    };
    let typed: BTreeSet<(usize, usize)> = found
        .keys()
        .map(|&(a, b, _)| (a.min(b), a.max(b)))
        .collect();
    for ((a, b), (count, leaves)) in together {
        if count < enough || typed.contains(&(a, b)) {
            continue;
        }
        // Cosine of the two sets of sentences.
        let size = |i: usize| chosen[i].occurrences.len() as f32;
        let close = count as f32 / (size(a) * size(b)).sqrt() * (1.0 + count as f32).ln();
        // Concepts come best first: what the file is about is what the others are related to.
        let rank = close * (1.0 + 1.0 / (1.0 + a.min(b) as f32));
        let weight = COOCCURRENCE_WEIGHT * count.min(COOCCURRENCES_MAX) as f32;
        found.insert(
            (a, b, "RELATED_TO"),
            RelationEvidence {
                weight,
                description: None,
                leaves,
                rank,
            },
        );
    }
}

/// Keeps the evidence of the best `limit` relations of every passage, and the relations that have
/// any.
fn retain_best(
    found: BTreeMap<RelationKey, RelationEvidence>,
    limit: usize,
) -> Vec<(RelationKey, RelationEvidence)> {
    let mut all: Vec<(RelationKey, RelationEvidence)> = found.into_iter().collect();
    let mut contents: BTreeMap<u32, Vec<(f32, usize)>> = BTreeMap::new();
    for (i, (_, relation)) in all.iter().enumerate() {
        relation
            .leaves
            .iter()
            .for_each(|&leaf| contents.entry(leaf).or_default().push((relation.rank, i)));
    }
    let retained = best_per_leaf(&contents, limit);
    for (i, (_, relation)) in all.iter_mut().enumerate() {
        relation
            .leaves
            .retain(|&leaf| retained.contains(&(leaf, i)));
    }
    all.retain(|(_, relation)| !relation.leaves.is_empty());
    all.sort_by(|a, b| b.1.rank.total_cmp(&a.1.rank).then(a.0.cmp(&b.0)));
    all
}
