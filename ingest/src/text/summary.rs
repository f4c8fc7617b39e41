//! What a document says in a few of its sentences.
//!
//! Sentences are chosen one after another: those whose words are frequent in the document, early ones first, words that
//! are stated already counting less (Vanderwende, Suzuki, Brockett, Nenkova, "Beyond SumBasic", 2007, for the idea).

use std::collections::HashMap;

use super::prose;
use super::terms::is_self_contained;
use crate::tokens;

/// The weight of a word that is stated already.
const REPEATED_WORD_WEIGHT: f32 = 0.3;
/// How much more the first sentence counts than one far behind.
const POSITION_BONUS: f32 = 0.8;
/// Sentences after which one counts half of what [`POSITION_BONUS`] adds.
const POSITION_HALF_SENTENCES: f32 = 12.0;

/// The sentences that together say most of all, in reading order: from `tokens_min` tokens on, never more than
/// `tokens_max`. Sentences that cannot stand alone are chosen only where there are no others.
///
/// Linear in the text, times the sentences that are chosen.
pub(crate) fn summary(sentences: &[String], tokens_min: u32, tokens_max: u32) -> Vec<usize> {
    let words: Vec<Vec<String>> = sentences
        .iter()
        .map(|of| prose::content_words(of))
        .collect();
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for word in words.iter().flatten() {
        *counts.entry(word).or_default() += 1.0;
    }
    for count in counts.values_mut() {
        *count = count.ln_1p();
    }
    let fit: Vec<bool> = sentences.iter().map(|of| is_self_contained(of)).collect();
    let costs: Vec<u32> = sentences.iter().map(|of| tokens::count(of)).collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut used = 0;
    for needs_fit in [true, false] {
        while used < tokens_min {
            let may = |at: &usize| {
                !chosen.contains(at)
                    && (fit[*at] || !needs_fit)
                    && used + costs[*at] <= tokens_max
                    && !words[*at].is_empty()
            };
            let score = |at: usize| {
                let total: f32 = words[at].iter().map(|word| counts[&word[..]]).sum();
                let early = 1.0 + POSITION_BONUS / (1.0 + at as f32 / POSITION_HALF_SENTENCES);
                total / (words[at].len() as f32).sqrt() * early
            };
            let best = (0..sentences.len()).filter(may);
            let best = best.max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a)));
            let Some(best) = best else { break };
            for word in &words[best] {
                if let Some(count) = counts.get_mut(&word[..]) {
                    *count *= REPEATED_WORD_WEIGHT;
                }
            }
            used += costs[best];
            chosen.push(best);
        }
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_keeps_its_size_and_its_order_and_tells_nothing_twice() {
        let about = |topic: &str, n: usize| {
            format!("The {topic} of the harbour was built by engineers in the year {n}.")
        };
        let mut sentences: Vec<String> = (0..40).map(|n| about("lighthouse", 1800 + n)).collect();
        sentences.insert(20, about("old fish market", 1700));
        sentences.push("It is so.".into());
        let chosen = summary(&sentences, 60, 90);
        let cost: u32 = chosen.iter().map(|&at| tokens::count(&sentences[at])).sum();
        assert!((60..=90).contains(&cost), "{cost}");
        assert!(chosen.is_sorted() && chosen.contains(&20), "{chosen:?}");
        assert_eq!(summary(&[], 60, 90), [0; 0]);
        assert_eq!(summary(&["Short.".into()], 60, 90), [0]);
    }
}
