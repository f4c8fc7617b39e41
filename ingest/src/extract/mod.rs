//! Concepts and relations of one file, by rules; no model, no corpus.
//!
//! A concept is a name with evidence in the file: a sentence defines it, a heading is
//! it, it is emphasised, capitalised, marked as code, spelled out beside its initials, or recurs as
//! a phrase of its own. Precision goes before recall: [`name`] says what a name may look like,
//! [`proper`] where a proper name begins and ends. Dates are concepts of their own type and take
//! part in no relation: a year would relate what has nothing in common.
//!
//! Always true: names are unique by their singular words; mentions are counted in passages (leaves)
//! only, ascending; a passage has at most [`ExtractSettings::entities_per_chunk`] concepts beside
//! half as many dates and serves as evidence of at most [`ExtractSettings::relations_per_chunk`]
//! relations; every name in a relation is a concept and no date; the same file gives the same
//! result.
//!
//! Steps: [`reading`] reads sentences and how words are used, [`gather`] collects candidates,
//! [`select`] keeps the good ones, [`relate`] joins them, [`dates`] reads dates outside of names;
//! [`code`] does the same for source files.
//! Start reading at [`extract`].

mod code;
mod dates;
mod define;
mod gather;
mod name;
mod occur;
mod proper;
mod reading;
mod relate;
mod select;

use std::collections::{BTreeMap, BTreeSet};

use loci_documents::{BlockKind, ParsedDocument};
use locidb::{NewChunk, NewConcept, NewRelation};

use crate::text::prose;
use crate::text::terms::truncate;
pub(crate) use code::documentation;
use gather::Candidates;
use reading::WordUsage;
use select::SelectedConcept;

/// How much is extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ExtractSettings {
    /// The most concepts that one passage mentions, not counting dates: of those it mentions half as
    /// many at most.
    pub entities_per_chunk: usize,
    /// The most relations that one passage is evidence of.
    pub relations_per_chunk: usize,
}

impl Default for ExtractSettings {
    fn default() -> Self {
        ExtractSettings {
            entities_per_chunk: 10,
            relations_per_chunk: 7,
        }
    }
}

/// The longest description, in characters.
const DESCRIPTION_CHARS_MAX: usize = 320;

/// Extracts the concepts of a file, best first, and the relations between them.
///
/// `chunks`: what [`chunk`](crate::chunk::chunk) made of `parsed`. Mentions and evidence are places
/// in that list. A weight is the number of sentences that state a relation; where two concepts only
/// are together, half the number of sentences, three at most.
///
/// # Cost
/// A few passes over the text.
pub fn extract(
    parsed: &ParsedDocument,
    chunks: &[NewChunk],
    settings: &ExtractSettings,
) -> (Vec<NewConcept>, Vec<NewRelation>) {
    let defines = |b: &loci_documents::Block| matches!(b.kind, BlockKind::Definition { .. });
    if parsed.kind.is_code() && parsed.blocks.iter().any(defines) {
        return code::extract(parsed, chunks, settings);
    }
    let lines = reading::lines(parsed, chunks);
    let words: Vec<Vec<prose::Word<'_>>> =
        lines.iter().map(|line| prose::words(&line.text)).collect();
    let body: Vec<Vec<prose::Word<'_>>> = lines
        .iter()
        .zip(&words)
        .filter(|(line, _)| !line.is_heading)
        .map(|(_, words)| words.clone())
        .collect();
    let usage = WordUsage::new(&body);
    let candidates = Candidates::gather(parsed.title.as_deref(), &lines, &words, &usage);
    let chosen = select::select(candidates, &lines, &words, &usage, settings);
    let relations = relate::relate(&chosen, &lines, &words, settings);
    let mut concepts = concepts(&chosen, &lines);
    concepts.extend(dates::concepts(&lines, &words, &chosen, settings));
    (concepts, relations)
}

fn concepts(chosen: &[SelectedConcept], lines: &[reading::Line]) -> Vec<NewConcept> {
    let make = |concept: &SelectedConcept| NewConcept {
        name: concept.name.clone(),
        kind: concept.kind.to_owned(),
        description: concept
            .description
            .map(|line| truncate(&lines[line].text, DESCRIPTION_CHARS_MAX))
            .unwrap_or_default(),
        synonyms: concept.synonyms.clone(),
        mentions: concept
            .mentions
            .iter()
            .map(|(&leaf, &count)| (leaf, count))
            .collect(),
    };
    chosen.iter().map(make).collect()
}

/// For every passage the best `limit` of what it contains. `contents`: what is in which passage,
/// with how well it ranks there. Ties go by number.
fn best_per_leaf(
    contents: &BTreeMap<u32, Vec<(f32, usize)>>,
    limit: usize,
) -> BTreeSet<(u32, usize)> {
    let mut best = BTreeSet::new();
    for (&leaf, items) in contents {
        let mut ranked = items.clone();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        best.extend(ranked.into_iter().take(limit).map(|(_, item)| (leaf, item)));
    }
    best
}

#[cfg(test)]
mod tests;
