//! Which sections of a document have to do with each other: those that a text names (*see Section 3.2*), and those whose
//! words are most alike.
//!
//! Similarity is the cosine of tf-idf weights over the sections of the one document, so it knows nothing but the file.

use std::collections::{BTreeMap, HashMap};

use locidb::NewChunk;
use locidb::storage::records::Level;

use crate::text::prose;

/// Sections that are named of one.
const RELATED_MAX: usize = 4;
/// Those among them that are only alike.
const SIMILAR_MAX: usize = 2;
/// Cosine from which on sections are alike.
const SIMILARITY_MIN: f32 = 0.25;
/// Words of a section that count: the most telling ones.
const WORDS_MAX: usize = 48;
/// Sections with a word that tells anything, at most.
const WORD_SECTIONS_MAX: usize = 64;
/// Documents of fewer sections have none that could be found better by reading on.
const SECTIONS_MIN: usize = 4;

/// Fills in `related_sections` of all sections.
///
/// Linear in the text; a word that more than a tenth of the sections have, or 64 of them, is left out.
pub(super) fn relate(chunks: &mut [NewChunk]) {
    let is_section = |place: &usize| chunks[*place].record.level == Level::Section;
    let sections: Vec<usize> = (0..chunks.len()).filter(is_section).collect();
    let names: Vec<Option<String>> = sections
        .iter()
        .map(|&at| section_label(&chunks[at]))
        .collect();
    let alike = if sections.len() < SECTIONS_MIN {
        vec![Vec::new(); sections.len()]
    } else {
        similar_sections(&sections, chunks)
    };
    for (at, alike) in alike.into_iter().enumerate() {
        let own = names[at].clone();
        let text = &chunks[sections[at]].record.text;
        let mut related: Vec<String> = referenced_numbers(text);
        related.extend(alike.into_iter().filter_map(|other| names[other].clone()));
        let mut unique: Vec<String> = Vec::new();
        for name in related {
            if Some(&name) != own.as_ref() && !unique.contains(&name) && unique.len() < RELATED_MAX
            {
                unique.push(name);
            }
        }
        chunks[sections[at]].record.related_sections = unique;
    }
}

/// Its number as printed, else its heading.
fn section_label(chunk: &NewChunk) -> Option<String> {
    let record = &chunk.record;
    let number = record.section_number.clone();
    number.or_else(|| record.heading_path.last().cloned())
}

/// Numbers behind `Section`, `Chapter`, `§`.
fn referenced_numbers(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let bare = word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '§');
        let is_name = matches!(
            bare,
            "Section" | "Sections" | "section" | "Chapter" | "chapter" | "Sec." | "§" | "Appendix"
        );
        let number = match bare.strip_prefix('§').filter(|rest| !rest.is_empty()) {
            Some(rest) => Some(rest),
            None => words.peek().copied().filter(|_| is_name),
        };
        let number = number.map(|number| {
            let end = number
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '.')
                .unwrap_or(number.len());
            number[..end].trim_end_matches('.')
        });
        let is_number =
            |number: &&str| number.starts_with(|c: char| c.is_ascii_digit()) && number.len() <= 12;
        found.extend(number.filter(is_number).map(str::to_owned));
    }
    found
}

/// For each section the others that are most alike, best first; none that contains the other.
fn similar_sections(sections: &[usize], chunks: &[NewChunk]) -> Vec<Vec<usize>> {
    let words: Vec<BTreeMap<String, f32>> = sections
        .iter()
        .map(|&at| {
            let mut counts = BTreeMap::new();
            for word in prose::content_words(&chunks[at].record.text) {
                *counts.entry(word).or_insert(0.0) += 1.0;
            }
            counts
        })
        .collect();
    let mut spread: HashMap<&str, usize> = HashMap::new();
    for word in words.iter().flat_map(BTreeMap::keys) {
        *spread.entry(word).or_default() += 1;
    }
    let common = (sections.len() / 10).clamp(8, WORD_SECTIONS_MAX);
    let weighed: Vec<Vec<(&str, f32)>> = words
        .iter()
        .map(|counts| {
            let weight = |(word, count): (&'_ String, &f32)| {
                let spread = spread.get(&word[..]).copied().unwrap_or(1);
                (1.0 + count.ln()) * (sections.len() as f32 / spread as f32).ln_1p()
            };
            let mut weighed: Vec<(&str, f32)> = counts
                .iter()
                .filter(|(word, _)| spread.get(&word[..]).is_some_and(|&n| n > 1 && n <= common))
                .map(|(word, count)| (&word[..], weight((word, count))))
                .collect();
            weighed.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
            let norm = counts
                .iter()
                .map(weight)
                .map(|weight| weight * weight)
                .sum::<f32>()
                .sqrt();
            weighed.truncate(WORDS_MAX);
            weighed
                .iter_mut()
                .for_each(|(_, weight)| *weight /= norm.max(f32::MIN_POSITIVE));
            weighed
        })
        .collect();
    let mut postings: HashMap<&str, Vec<(usize, f32)>> = HashMap::new();
    for (at, words) in weighed.iter().enumerate() {
        for (word, weight) in words {
            postings.entry(word).or_default().push((at, *weight));
        }
    }
    let contains = |a: usize, b: usize| {
        let end = chunks[sections[a]].record.subtree_end as usize;
        (sections[a]..end).contains(&sections[b])
    };
    let best = |at: usize| {
        let mut scores: BTreeMap<usize, f32> = BTreeMap::new();
        for (word, weight) in &weighed[at] {
            for &(other, its) in postings.get(word).into_iter().flatten() {
                *scores.entry(other).or_default() += weight * its;
            }
        }
        let mut scores: Vec<(usize, f32)> = scores
            .into_iter()
            .filter(|&(other, score)| {
                score >= SIMILARITY_MIN && !contains(at, other) && !contains(other, at)
            })
            .collect();
        scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scores
            .into_iter()
            .take(SIMILAR_MAX)
            .map(|(other, _)| other)
            .collect()
    };
    (0..sections.len()).map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use locidb::storage::records::ChunkRecord;

    #[test]
    fn sections_are_related_by_what_they_name_and_by_their_words() {
        let texts = [
            (
                "1",
                "Herons fish at dawn in shallow ponds. See Section 4 and §2.1.",
            ),
            (
                "2",
                "Compilers lower syntax trees to machine code with registers.",
            ),
            ("3", "Bread rises while yeast ferments the dough."),
            ("4", "At dawn the herons of the shallow ponds are hunted."),
            ("5", "Lighthouses warn ships of rocks."),
        ];
        let mut chunks: Vec<NewChunk> = (1u32..)
            .zip(texts)
            .map(|(end, (number, text))| NewChunk {
                record: ChunkRecord {
                    level: Level::Section,
                    section_number: Some(number.into()),
                    text: text.into(),
                    subtree_end: end,
                    ..ChunkRecord::default()
                },
                vector: None,
            })
            .collect();
        relate(&mut chunks);
        let related: Vec<_> = chunks
            .iter()
            .map(|chunk| chunk.record.related_sections.join(" "))
            .collect();
        assert_eq!(related, ["4 2.1", "", "", "1", ""]);
    }
}
