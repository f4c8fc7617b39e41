//! Judging a ranked list against relevance judgements, as trec_eval does.
//!
//! All values lie in 0..=1. A query without relevant documents is not judged by the caller.

use std::collections::HashMap;

/// Relevance of documents to one query, by id; above 0 means relevant.
pub type Judgements = HashMap<String, f64>;

fn is_relevant(judged: &Judgements, id: &str) -> bool {
    judged.get(id).is_some_and(|&gain| gain > 0.0)
}

fn relevant_count(judged: &Judgements) -> usize {
    judged.values().filter(|&&gain| gain > 0.0).count()
}

/// Share of all relevant documents among the first `k`.
pub fn recall(ranked: &[String], judged: &Judgements, k: usize) -> f64 {
    let found = ranked
        .iter()
        .take(k)
        .filter(|id| is_relevant(judged, id))
        .count();
    ratio(found as f64, relevant_count(judged) as f64)
}

/// Share of the first `k` places that hold a relevant document.
pub fn precision(ranked: &[String], judged: &Judgements, k: usize) -> f64 {
    let found = ranked
        .iter()
        .take(k)
        .filter(|id| is_relevant(judged, id))
        .count();
    ratio(found as f64, k as f64)
}

/// One over the rank of the first relevant document among the first `k`; 0 when there is none.
pub fn reciprocal_rank(ranked: &[String], judged: &Judgements, k: usize) -> f64 {
    let first = ranked.iter().take(k).position(|id| is_relevant(judged, id));
    first.map_or(0.0, |place| 1.0 / (place + 1) as f64)
}

/// Normalised discounted cumulative gain of the first `k`, with linear gain.
///
/// Source: Järvelin, Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002.
pub fn ndcg(ranked: &[String], judged: &Judgements, k: usize) -> f64 {
    let gain_of = |id: &String| judged.get(id).copied().unwrap_or(0.0).max(0.0);
    let mut ideal: Vec<f64> = judged
        .values()
        .copied()
        .filter(|&gain| gain > 0.0)
        .collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let got = discounted(ranked.iter().take(k).map(gain_of));
    ratio(got, discounted(ideal.into_iter().take(k)))
}

fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    let gains = gains.enumerate();
    gains.fold(0.0, |sum, (place, gain)| {
        sum + gain / ((place + 2) as f64).log2()
    })
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The value below which a share `q` of `sorted` lies (nearest rank); 0 when it is empty.
pub fn percentile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1).min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &str) -> Vec<String> {
        names.split_whitespace().map(String::from).collect()
    }

    fn judged(pairs: &[(&str, f64)]) -> Judgements {
        pairs
            .iter()
            .map(|&(id, gain)| (id.to_string(), gain))
            .collect()
    }

    #[test]
    fn a_list_is_judged_as_trec_eval_does() {
        let judged = judged(&[("a", 3.0), ("b", 1.0), ("c", 0.0)]);
        let ranked = ids("c b x a");
        assert_eq!(recall(&ranked, &judged, 2), 0.5);
        assert_eq!(recall(&ranked, &judged, 4), 1.0);
        assert_eq!(precision(&ranked, &judged, 5), 0.4);
        assert_eq!(reciprocal_rank(&ranked, &judged, 10), 0.5);
        // DCG = 1/log2(3) + 3/log2(5), ideal = 3 + 1/log2(3)
        let want = (1.0 / 3f64.log2() + 3.0 / 5f64.log2()) / (3.0 + 1.0 / 3f64.log2());
        assert!((ndcg(&ranked, &judged, 10) - want).abs() < 1e-12);
    }

    #[test]
    fn an_ideal_list_has_ndcg_one_and_an_empty_one_zero() {
        let judged = judged(&[("a", 3.0), ("b", 1.0)]);
        assert_eq!(ndcg(&ids("a b"), &judged, 10), 1.0);
        assert_eq!(ndcg(&[], &judged, 10), 0.0);
        assert_eq!(recall(&[], &Judgements::new(), 10), 0.0);
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(percentile(&sorted, 0.5), 2.0);
        assert_eq!(percentile(&sorted, 0.99), 4.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }
}
