//! Statistics of learning items: diversity, merged items, reviews.
//!
//! Start reading at [`DatabaseSnapshot::item_stats`].

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use loci_storage::Table;
use loci_storage::records::ItemRecord;
use loci_storage::rows::decode;
use serde::Serialize;
use unicode_segmentation::UnicodeSegmentation;

use crate::error::Error;
use crate::state::snapshot::DatabaseSnapshot;

/// Pairs of items that are compared at most; of more, a sample spread evenly over all.
const PAIRS_MAX: u64 = 500_000;

/// Statistics of the learning items of one state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ItemStats {
    /// Items.
    pub items: u64,
    /// Those that were merged into another.
    pub merged: u64,
    /// Their share; `None` where there are no items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_share: Option<f64>,
    /// Mean over pairs of items that were not merged of one less the share of words that their fronts have in
    /// common (Jaccard distance); `None` for fewer than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diversity: Option<f64>,
    /// Items that were reviewed.
    pub reviewed: u64,
    /// Times that items were asked.
    pub attempts: u64,
    /// Times that the answer was right.
    pub correct: u64,
    /// Share of right answers; `None` before the first review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
}

impl DatabaseSnapshot {
    /// Statistics of the learning items. Costs a pass over them, and up to 500,000 comparisons.
    pub fn item_stats(&self) -> Result<ItemStats, Error> {
        let mut stats = ItemStats::default();
        let mut fronts: Vec<BTreeSet<String>> = Vec::new();
        self.rows().scan_all(Table::Items, &mut |key, payload| {
            let item: ItemRecord = decode(Table::Items, key, payload)?;
            stats.items += 1;
            match item.merged_into {
                Some(_) => stats.merged += 1,
                None => fronts.push(words(&item.front)),
            }
            if let Some(review) = item.review {
                stats.reviewed += 1;
                stats.attempts += u64::from(review.attempts);
                stats.correct += u64::from(review.correct);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let ratio = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
        stats.merged_share = ratio(stats.merged, stats.items);
        stats.accuracy = ratio(stats.correct, stats.attempts);
        stats.diversity = diversity(&fronts);
        Ok(stats)
    }
}

fn words(text: &str) -> BTreeSet<String> {
    text.unicode_words().map(str::to_lowercase).collect()
}

/// Mean distance of pairs; `None` where there is none.
fn diversity(fronts: &[BTreeSet<String>]) -> Option<f64> {
    let count = fronts.len() as u64;
    let pairs = count * count.saturating_sub(1) / 2;
    if pairs == 0 {
        return None;
    }
    let step = pairs.div_ceil(PAIRS_MAX);
    let (mut total, mut compared, mut next, mut number) = (0.0, 0u64, 0, 0);
    for (at, front) in fronts.iter().enumerate() {
        let row = (fronts.len() - at - 1) as u64;
        while next < number + row {
            let other = &fronts[at + 1 + (next - number) as usize];
            total += jaccard_distance(front, other);
            compared += 1;
            next += step;
        }
        number += row;
    }
    Some(total / compared as f64)
}

/// One less the share of words that two texts have in common; 0 for two without words.
fn jaccard_distance(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    match all {
        0 => 0.0,
        all => 1.0 - common as f64 / all as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diversity_is_the_mean_distance_of_pairs() {
        let fronts = ["What is a heron?", "what is a HERON", "Name two metals"];
        let fronts: Vec<_> = fronts.iter().map(|front| words(front)).collect();
        assert_eq!(diversity(&fronts), Some(2.0 / 3.0));
        assert_eq!(diversity(&fronts[..2]), Some(0.0));
        assert_eq!(diversity(&fronts[..1]), None);
    }

    #[test]
    fn diversity_samples_pairs_when_items_are_many() {
        // Every item is like half of the others and unlike the other half.
        let front = |n: u32| words(if n.is_multiple_of(2) { "odd" } else { "even" });
        let fronts: Vec<_> = (0..1500).map(front).collect();
        let got = diversity(&fronts).unwrap();
        assert!((got - 0.5).abs() < 0.01, "{got}");
    }
}
