//! How much vectors count beside text, found without labels.
//!
//! Known-item questions are made from the store's own passages: hide one sentence of a passage, ask
//! with it, and see at which share the passage without it is found best. What is measured here is
//! what searches do: lists go through the same [`Accumulator`] and [`Mixture`].
//!
//! **A fitted space must not have seen the hidden sentences.** A space fitted on the whole corpus
//! remembers which passage a rare word came from and finds nearly everything; then a share of 1 is
//! chosen where 0 is best. So the built-in embedder is fitted once more, on the passages with their
//! sentences hidden, and that fit answers the questions. A model from elsewhere has seen nothing
//! of the corpus and needs no second fit.
//!
//! Start reading at [`calibrate`].

use loci_storage::{Ordinal, ScoredChunk};

use crate::ranking::fuse::{Accumulator, Arms, Fusion, Mixture};

/// Shares that are tried.
pub const VECTOR_WEIGHTS: [f32; 11] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Questions below which nothing is concluded.
pub const QUESTIONS_MIN: usize = 30;

/// Questions that are worth asking: more cost time and change little.
pub const QUESTIONS_TARGET: usize = 400;

/// The share that is supposed until something is measured: evidence may only lower it.
///
/// A hidden sentence shares rare words with its passage more often than a user's question does, so that words
/// look better here than they are; where the curve is flat, labels show that vectors help
/// (`docs/decisions/0011-planner.md`).
pub const VECTOR_WEIGHT_MAX: f32 = 0.7;

/// Ranks beyond this one count as not found.
const RANK_DEPTH: usize = 10;

/// One question whose answer is known: what both arms found for a hidden sentence.
///
/// The lists are those of a search among the store's passages, with the target's scores those of
/// the passage without the sentence; [`replace_score`] puts them in its list.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownItem {
    /// The passage that the sentence was taken from.
    pub target: Ordinal,
    /// What text found, best first.
    pub text: Vec<ScoredChunk>,
    /// What vectors found, best first.
    pub vector: Vec<ScoredChunk>,
}

/// What was measured, and what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The share to use, one of [`VECTOR_WEIGHTS`].
    pub vector_weight: f32,
    /// Questions that were asked.
    pub questions: usize,
    /// What each share finds, in the order of [`VECTOR_WEIGHTS`].
    pub metrics: Vec<WeightMetrics>,
}

/// What one share finds, means over all questions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightMetrics {
    /// The share of vectors.
    pub vector_weight: f32,
    /// Mean reciprocal rank of the target among the best ten: what is maximised.
    pub mrr: f32,
    /// Mean nDCG at 10 of the target.
    pub ndcg: f32,
}

/// The share of vectors that finds the targets best.
///
/// The greatest share up to [`VECTOR_WEIGHT_MAX`] that is within one standard error of the best, by the paired difference
/// of reciprocal ranks (the rule of Breiman et al., "Classification and Regression Trees", 1984, section 3.4.3,
/// with the prior share in the place of the simplest model). `None` for fewer than [`QUESTIONS_MIN`] questions.
pub fn calibrate(questions: &[KnownItem]) -> Option<Calibration> {
    if questions.len() < QUESTIONS_MIN {
        return None;
    }
    let mut scratch = Accumulator::default();
    // [share][question]: place of the target, from 1.
    let ranks: Vec<Vec<Option<usize>>> = VECTOR_WEIGHTS
        .iter()
        .map(|&share| {
            questions
                .iter()
                .map(|item| item.rank(share, &mut scratch))
                .collect()
        })
        .collect();
    let figures = VECTOR_WEIGHTS
        .iter()
        .zip(&ranks)
        .map(|(&share, ranks)| WeightMetrics {
            vector_weight: share,
            mrr: mean(ranks.iter().map(|rank| reciprocal_rank(*rank))) as f32,
            ndcg: mean(ranks.iter().map(|rank| discounted_gain(*rank))) as f32,
        });
    let figures: Vec<WeightMetrics> = figures.collect();
    let share = VECTOR_WEIGHTS[choose_weight(&ranks)];
    Some(Calibration {
        vector_weight: share,
        questions: questions.len(),
        metrics: figures,
    })
}

/// `list` with the target's score changed to `score`, or without it.
pub fn replace_score(
    list: &[ScoredChunk],
    target: Ordinal,
    score: Option<f32>,
) -> Vec<ScoredChunk> {
    let mut changed: Vec<ScoredChunk> = list
        .iter()
        .copied()
        .filter(|hit| hit.ordinal != target)
        .collect();
    if let Some(score) = score {
        let before = |hit: &ScoredChunk| {
            hit.score
                .total_cmp(&score)
                .reverse()
                .then(hit.ordinal.cmp(&target))
                .is_lt()
        };
        let at = changed.partition_point(before);
        changed.insert(
            at,
            ScoredChunk {
                ordinal: target,
                score,
            },
        );
    }
    changed
}

impl KnownItem {
    fn rank(&self, share: f32, scratch: &mut Accumulator) -> Option<usize> {
        let mixture = Mixture {
            vector_share: share,
            ..Mixture::default()
        };
        let arms = Arms {
            text: &self.text,
            vector: &self.vector,
            graph: &[],
        };
        let hits = scratch.fuse(&Fusion::Mixture(mixture), arms);
        let place = hits
            .iter()
            .take(RANK_DEPTH)
            .position(|hit| hit.ordinal == self.target);
        place.map(|place| place + 1)
    }
}

/// Index of the share to use: the greatest up to [`VECTOR_WEIGHT_MAX`] that is as good as the best, within one standard
/// error; the best where none of these is.
fn choose_weight(ranks: &[Vec<Option<usize>>]) -> usize {
    let gain = |of: usize, over: usize| {
        let pairs = ranks[of].iter().zip(&ranks[over]);
        gain_and_error(pairs.map(|(a, b)| reciprocal_rank(*a) - reciprocal_rank(*b)))
    };
    let better = |best: usize, next: usize| if gain(next, best).0 > 0.0 { next } else { best };
    let best = (1..ranks.len()).fold(0, better);
    let as_good = |&share: &usize| {
        let (lost, error) = gain(best, share);
        lost <= error
    };
    let allowed = VECTOR_WEIGHTS
        .iter()
        .take_while(|share| **share <= VECTOR_WEIGHT_MAX);
    (0..allowed.count()).rev().find(as_good).unwrap_or(best)
}

/// Mean and its standard error.
fn gain_and_error(differences: impl Iterator<Item = f64>) -> (f64, f64) {
    let differences: Vec<f64> = differences.collect();
    let count = differences.len() as f64;
    let mean = mean(differences.iter().copied());
    let squares: f64 = differences.iter().map(|d| (d - mean) * (d - mean)).sum();
    (mean, (squares / (count - 1.0)).sqrt() / count.sqrt())
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn reciprocal_rank(rank: Option<usize>) -> f64 {
    rank.map_or(0.0, |rank| 1.0 / rank as f64)
}

fn discounted_gain(rank: Option<usize>) -> f64 {
    rank.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0).log2())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TARGET: Ordinal = Ordinal(7);

    /// Ten passages; the target stands at `place` from 0, and scores fall by a tenth.
    fn list(place: usize) -> Vec<ScoredChunk> {
        let others = [0, 1, 2, 3, 4, 5, 6, 8, 9].map(Ordinal);
        let mut order = others.to_vec();
        order.insert(place, TARGET);
        let score = |i: usize| 1.0 - i as f32 / 10.0;
        order
            .iter()
            .enumerate()
            .map(|(i, &ordinal)| ScoredChunk {
                ordinal,
                score: score(i),
            })
            .collect()
    }

    fn questions(places: impl Fn(usize) -> (usize, usize)) -> Vec<KnownItem> {
        let item = |i: usize| {
            let (text, vector) = places(i);
            KnownItem {
                target: TARGET,
                text: list(text),
                vector: list(vector),
            }
        };
        (0..100).map(item).collect()
    }

    fn best_mrr(got: &Calibration) -> f32 {
        got.metrics
            .iter()
            .map(|figure| figure.mrr)
            .fold(0.0, f32::max)
    }

    fn chosen_mrr(got: &Calibration) -> f32 {
        let of_share = |figure: &&WeightMetrics| figure.vector_weight == got.vector_weight;
        got.metrics.iter().find(of_share).unwrap().mrr
    }

    #[test]
    fn harmful_vectors_get_a_lower_weight() {
        let got = calibrate(&questions(|i| (i % 3, 5 + i % 4))).unwrap();
        assert_eq!(got.questions, 100);
        assert!(got.metrics[0].mrr > got.metrics[10].mrr);
        assert!(got.vector_weight < VECTOR_WEIGHT_MAX, "{got:?}");
        assert_eq!(chosen_mrr(&got), best_mrr(&got));
        let got = calibrate(&questions(|_| (0, 9))).unwrap();
        assert!(got.vector_weight < 0.5, "{got:?}");
    }

    #[test]
    fn loss_within_noise_keeps_the_default_weight() {
        let got = calibrate(&questions(|i| if i == 0 { (0, 3) } else { (1, 1) })).unwrap();
        assert!(got.metrics[10].mrr < got.metrics[0].mrr);
        assert_eq!(got.vector_weight, VECTOR_WEIGHT_MAX);
    }

    #[test]
    fn helpful_vectors_get_the_best_weight() {
        let got = calibrate(&questions(|i| (9 - i % 3, 0))).unwrap();
        assert_eq!(chosen_mrr(&got), best_mrr(&got));
        assert!(got.vector_weight >= VECTOR_WEIGHT_MAX, "{got:?}");
    }

    #[test]
    fn too_few_questions_return_none() {
        assert_eq!(calibrate(&questions(|_| (3, 0))[..QUESTIONS_MIN - 1]), None);
    }

    #[test]
    fn metrics_at_extreme_weights_equal_a_single_arm() {
        let got = calibrate(&questions(|_| (3, 1))).unwrap();
        assert_eq!((got.metrics[0].mrr, got.metrics[10].mrr), (0.25, 0.5));
        assert!((f64::from(got.metrics[0].ndcg) - 1.0 / 5f64.log2()).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn a_rescored_list_is_in_order(
            scores in prop::collection::vec(0u8..5, 0..10), target in 0u32..10, score in prop::option::of(0u8..5),
        ) {
            let mut hits: Vec<ScoredChunk> = (0u32..).zip(&scores)
                .map(|(i, &score)| ScoredChunk { ordinal: Ordinal(i), score: f32::from(score) }).collect();
            let order = |a: &ScoredChunk, b: &ScoredChunk| b.score.total_cmp(&a.score).then(a.ordinal.cmp(&b.ordinal));
            hits.sort_by(order);
            let got = replace_score(&hits, Ordinal(target), score.map(f32::from));
            let mut want = hits.clone();
            want.retain(|hit| hit.ordinal.0 != target);
            want.extend(score.map(|score| ScoredChunk { ordinal: Ordinal(target), score: f32::from(score) }));
            want.sort_by(order);
            prop_assert_eq!(got, want);
        }
    }
}
