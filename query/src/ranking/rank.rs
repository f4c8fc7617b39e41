//! What moves chunks after fusion: what they are for, how sure they are, what they cite, how alike they are.
//!
//! Always true: chunks are only put in another order; none is added, and only [`maximal_marginal_relevance`] leaves some out.
//!
//! Sources: halves by chunk type after tutoring systems over textbooks; maximal marginal relevance:
//! Carbonell and Goldstein, "The Use of MMR", SIGIR 1998.
//!
//! Start reading at [`apply_weights`], [`balance_types`], [`promote_quoted`], [`maximal_marginal_relevance`].

use std::cmp::Ordering;

use loci_storage::records::ChunkType;
use loci_storage::segment::SkeletonRow;

use crate::ranking::fuse::Fused;
use loci_types::search::{Intent, Rerank};

/// The share of the best score that a chunk must have to be brought up for its type.
pub const TYPE_SCORE_RATIO_MIN: f32 = 0.35;

/// Tokens for which one citation is a full density.
const TOKENS_PER_CITATION: f32 = 50.0;

/// Multiplies the scores by doubt, by citation density and by being cited, and sorts again.
///
/// `row`: the skeleton's row of a chunk; a chunk without one stays as it is. `citing`: how many documents cite the
/// one that a chunk is of.
pub fn apply_weights(
    hits: &mut [Fused],
    rerank: &Rerank,
    row: impl Fn(&Fused) -> Option<SkeletonRow>,
    citing: impl Fn(&Fused) -> usize,
) {
    let mut changed = false;
    for hit in &mut *hits {
        let Some(row) = row(hit) else { continue };
        let doubt = 1.0 - row.confidence.clamp(0.0, 1.0);
        let mut factor = (1.0 - rerank.confidence.clamp(0.0, 1.0) * doubt)
            * (1.0 + rerank.citations.clamp(0.0, 1.0) * citation_density(&row));
        if rerank.cited > 0.0 {
            factor *= 1.0 + rerank.cited.min(1.0) * cited_by_weight(citing(hit));
        }
        changed |= factor != 1.0;
        hit.score *= factor;
    }
    if changed {
        sort(hits);
    }
}

/// Citations for every 50 tokens, 1 at most.
pub fn citation_density(row: &SkeletonRow) -> f32 {
    let tokens = row.token_count.max(1) as f32;
    (row.citation_count as f32 * TOKENS_PER_CITATION / tokens).min(1.0)
}

/// How much it counts to be cited by so many documents: nothing for none, half for nine, 1 for 99 and more.
pub fn cited_by_weight(citing: usize) -> f32 {
    ((1.0 + citing as f32).log10() / 2.0).min(1.0)
}

/// Puts first, among the `k` first, half from the type that answers `intent` and half from the one that
/// supports it, all by score; then the others.
///
/// A chunk is brought up only when its score is at least [`TYPE_SCORE_RATIO_MIN`] of the best, so that the type of a chunk
/// never outweighs its content. Nothing changes for a mixed intent, or when there is no chunk of either type.
pub fn balance_types(
    hits: &mut Vec<Fused>,
    intent: Intent,
    k: usize,
    kind: impl Fn(&Fused) -> Option<ChunkType>,
) {
    let Some((primary, supporting)) = intent.chunk_types() else {
        return;
    };
    let Some(best) = hits.first().map(|hit| hit.score) else {
        return;
    };
    let quotas = [(primary, k.div_ceil(2)), (supporting, k / 2)];
    let mut chosen = vec![false; hits.len()];
    let mut count = 0;
    for (chunk_type, limit) in quotas {
        let good = hits
            .iter()
            .enumerate()
            .take_while(|(_, hit)| hit.score >= TYPE_SCORE_RATIO_MIN * best);
        let of_type = good.filter(|(_, hit)| kind(hit) == Some(chunk_type));
        for (place, _) in of_type.take(limit) {
            chosen[place] = true;
            count += 1;
        }
    }
    if count == 0 {
        return;
    }
    // Places that neither half fills go to the best of the rest.
    for chosen in chosen
        .iter_mut()
        .filter(|chosen| !**chosen)
        .take(k.saturating_sub(count))
    {
        *chosen = true;
    }
    let mut place = 0;
    let mut rest = Vec::with_capacity(hits.len());
    hits.retain(|hit| {
        place += 1;
        if !chosen[place - 1] {
            rest.push(*hit);
        }
        chosen[place - 1]
    });
    hits.append(&mut rest);
}

/// Moves the hits that quote the question before all others, the longest quotation first. `runs`: for the first hits, how
/// much of the question each has word for word. Their scores are lifted above the best, so that they stay first. Returns
/// how many there are.
pub fn promote_quoted(hits: &mut Vec<Fused>, runs: &[usize]) -> usize {
    if runs.iter().all(|&run| run == 0) {
        return 0;
    }
    let run = |place: usize| runs.get(place).copied().unwrap_or(0);
    let mut places: Vec<usize> = (0..hits.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(run(place)));
    let count = places.iter().take_while(|&&place| run(place) > 0).count();
    let best = hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
    let mut moved: Vec<Fused> = places.iter().map(|&place| hits[place]).collect();
    for (rank, hit) in moved[..count].iter_mut().enumerate() {
        hit.score = best * (1.0 + 1e-3 * (count - rank) as f32);
    }
    *hits = moved;
    count
}

/// Up to `k` of `hits` that are unlike each other: each next one is that with the greatest
/// `(1 - weight) · score - weight · (greatest likeness to those before it)`, with scores from 0 to 1 of the best.
///
/// `likeness`: of two hits by their places, 0..=1. Ties go to the earlier hit. Costs `k · hits` likenesses.
pub fn maximal_marginal_relevance(
    hits: &[Fused],
    weight: f32,
    k: usize,
    similarity: impl Fn(usize, usize) -> f32,
) -> Vec<Fused> {
    let best = hits.first().map_or(1.0, |hit| hit.score);
    let scale = if best > 0.0 { best } else { 1.0 };
    let mut left: Vec<(usize, f32)> = (0..hits.len()).map(|place| (place, 0.0)).collect();
    let mut chosen = Vec::with_capacity(k.min(hits.len()));
    while chosen.len() < k && !left.is_empty() {
        let gain = |&(place, like): &(usize, f32)| {
            (1.0 - weight) * hits[place].score / scale - weight * like
        };
        let next = (0..left.len())
            .reduce(|a, b| {
                if gain(&left[b]) > gain(&left[a]) {
                    b
                } else {
                    a
                }
            })
            .unwrap_or(0);
        let (place, _) = left.remove(next);
        for (other, like) in &mut left {
            *like = like.max(similarity(*other, place));
        }
        chosen.push(hits[place]);
    }
    chosen
}

/// The share that two ascending lists without repeats have in common, 0..=1.
pub fn jaccard_similarity(a: &[u32], b: &[u32]) -> f32 {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => (i, j, shared) = (i + 1, j + 1, shared + 1),
        }
    }
    shared as f32 / (a.len() + b.len() - shared).max(1) as f32
}

/// By falling score, ties by ascending ordinal.
pub(crate) fn sort(hits: &mut [Fused]) {
    hits.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.ordinal.cmp(&b.ordinal)));
}

#[cfg(test)]
mod tests {
    use loci_storage::LocalOrdinal;
    use loci_storage::Ordinal;
    use loci_storage::records::{ContentType, Level};
    use proptest::prelude::*;

    use super::*;

    fn hits(scores: &[f32]) -> Vec<Fused> {
        let hit = |(place, &score): (usize, &f32)| Fused {
            ordinal: Ordinal(place as u32),
            score,
            text: None,
            vector: None,
            graph: None,
        };
        scores.iter().enumerate().map(hit).collect()
    }

    fn ordinals(hits: &[Fused]) -> Vec<u32> {
        hits.iter().map(|hit| hit.ordinal.0).collect()
    }

    #[test]
    fn quoting_hits_rank_first_longest_quotation_first() {
        let mut found = hits(&[0.9, 0.8, 0.1, 0.7]);
        assert_eq!(promote_quoted(&mut found, &[0, 6, 9]), 2);
        assert_eq!(ordinals(&found), [2, 1, 0, 3]);
        sort(&mut found);
        assert_eq!(ordinals(&found), [2, 1, 0, 3]);
        assert_eq!(promote_quoted(&mut found, &[]), 0);
        assert_eq!(ordinals(&found), [2, 1, 0, 3]);
        assert_eq!(promote_quoted(&mut Vec::new(), &[]), 0);
    }

    fn row(confidence: f32, citation_count: u32, token_count: u32) -> SkeletonRow {
        SkeletonRow {
            parent: None,
            subtree_end: LocalOrdinal(1),
            document: 0,
            level: Level::Paragraph,
            chunk_type: ChunkType::Other,
            content_type: ContentType::Text,
            token_count,
            citation_count,
            confidence,
            suffix: 0,
        }
    }

    #[test]
    fn balance_types_splits_hits_between_primary_and_supporting_type() {
        let kinds = [
            ChunkType::Other,
            ChunkType::Example,
            ChunkType::Example,
            ChunkType::Example,
            ChunkType::Concept,
            ChunkType::Concept,
            ChunkType::Concept,
            ChunkType::Concept,
        ];
        let kinds = |hit: &Fused| Some(kinds[hit.ordinal.0 as usize]);
        let mut found = hits(&[1.0, 0.9, 0.89, 0.88, 0.8, 0.75, 0.72, 0.1]);
        balance_types(&mut found, Intent::Concept, 4, kinds);
        assert_eq!(ordinals(&found), [1, 2, 4, 5, 0, 3, 6, 7]);
    }

    #[test]
    fn missing_type_is_filled_with_the_best_hits_and_low_scores_stay_down() {
        let kinds = [
            ChunkType::Other,
            ChunkType::Other,
            ChunkType::Concept,
            ChunkType::Concept,
        ];
        let mut found = hits(&[1.0, 0.9, 0.8, 0.2]);
        balance_types(&mut found, Intent::Concept, 2, |hit| {
            Some(kinds[hit.ordinal.0 as usize])
        });
        assert_eq!(
            ordinals(&found),
            [0, 2, 1, 3],
            "the one at 0.2 is too far behind"
        );
        let before = hits(&[1.0, 0.9]);
        for intent in [Intent::Concept, Intent::Mixed] {
            let mut found = before.clone();
            balance_types(&mut found, intent, 2, |_| Some(ChunkType::Other));
            assert_eq!(found, before);
        }
    }

    #[test]
    fn low_confidence_demotes_and_citations_promote() {
        let rows = [row(0.5, 0, 50), row(1.0, 0, 50), row(1.0, 2, 100)];
        let of = |hit: &Fused| Some(rows[hit.ordinal.0 as usize]);
        let doubt = Rerank {
            types: false,
            confidence: 0.5,
            citations: 0.0,
            cited: 0.0,
        };
        let mut found = hits(&[1.0, 0.9, 0.8]);
        apply_weights(&mut found, &doubt, of, |_| 0);
        assert_eq!(ordinals(&found), [1, 2, 0]);
        let cited = Rerank {
            types: false,
            confidence: 0.0,
            citations: 0.5,
            cited: 0.0,
        };
        let mut found = hits(&[1.0, 0.9, 0.8]);
        apply_weights(&mut found, &cited, of, |_| 0);
        assert_eq!(ordinals(&found), [2, 0, 1]);
        let renowned = Rerank {
            citations: 0.0,
            cited: 0.5,
            ..cited
        };
        let mut found = hits(&[1.0, 0.9, 0.8]);
        apply_weights(&mut found, &renowned, of, |hit| 9 * hit.ordinal.0 as usize);
        assert_eq!(ordinals(&found), [1, 2, 0]);
        assert_eq!(
            (
                cited_by_weight(0),
                cited_by_weight(9),
                cited_by_weight(5_000)
            ),
            (0.0, 0.5, 1.0)
        );
    }

    #[test]
    fn near_duplicate_is_displaced_by_a_different_hit() {
        let alike = |a: usize, b: usize| if a < 2 && b < 2 { 1.0 } else { 0.0 };
        assert_eq!(
            ordinals(&maximal_marginal_relevance(
                &hits(&[1.0, 0.99, 0.6]),
                0.5,
                2,
                alike
            )),
            [0, 2]
        );
        assert_eq!(
            ordinals(&maximal_marginal_relevance(
                &hits(&[1.0, 0.99, 0.6]),
                0.0,
                2,
                alike
            )),
            [0, 1]
        );
    }

    proptest! {
        #[test]
        fn no_chunk_is_lost_or_made(scores in prop::collection::vec(0.0f32..1.0, 0..30), kinds in prop::collection::vec(0u8..4, 30), k in 0usize..12) {
            let mut found = hits(&scores);
            sort(&mut found);
            let kind = |hit: &Fused| Some(match kinds[hit.ordinal.0 as usize] {
                0 => ChunkType::Concept,
                1 => ChunkType::Example,
                2 => ChunkType::Question,
                _ => ChunkType::Other,
            });
            balance_types(&mut found, Intent::Example, k, kind);
            let mut all = ordinals(&found);
            all.sort_unstable();
            prop_assert_eq!(all, (0..scores.len() as u32).collect::<Vec<_>>());
            let first = &found[..k.min(found.len())];
            prop_assert!(first.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }
    }
}
