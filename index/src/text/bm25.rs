//! The one formula that every score of text comes from.
//!
//! ```text
//! score(q, c) = Σ over distinct terms t of q:  occurrences(t, q) · idf(t) · tf / (tf + norm(c))
//! idf(t)      = ln(1 + (N - df + 1/2) / (df + 1/2))
//! norm(c)     = k1 · (1 - b + b · length(c) / average length)
//! ```
//!
//! N, df and the average are those of the whole view; the length is the decoded length code. tf and
//! length count a term as often as the weight of its field says (BM25F). The factor k1 + 1 of the original is
//! left out: it changes no order.
//!
//! A term's part of the sum is rounded to a whole number of *points*, some four million for the greatest
//! part there can be, and one more for being there, so that the sum is the same in whatever order it is taken: term by term, chunk by
//! chunk, sixteen chunks at a time. Scores are points over [`Scale`].
//!
//! Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
//! Foundations and Trends in Information Retrieval 3(4), 2009; idf as in Apache Lucene.

use super::{TextError, length};

/// The two settings of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// How slowly repeated terms stop counting; 0 or more.
    pub k1: f32,
    /// How much length counts; 0..=1.
    pub b: f32,
}

impl Default for Bm25 {
    fn default() -> Self {
        Bm25 { k1: 1.2, b: 0.75 }
    }
}

/// What a view knows of its text, summed over its segments. Deleted chunks count until compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Chunks with at least one term: N.
    pub chunk_count: u64,
    /// Terms in all of them.
    pub total_length: u64,
}

impl Statistics {
    /// Terms a chunk; 0 when there are no chunks.
    pub fn average_length(&self) -> f64 {
        self.total_length as f64 / self.chunk_count.max(1) as f64
    }

    /// The weight of one occurrence in a question of a term that `df` chunks have. Above 0.
    pub fn idf(&self, df: u64) -> f32 {
        let others = self.chunk_count.saturating_sub(df) as f64;
        ((others + 0.5) / (df as f64 + 0.5)).ln_1p() as f32
    }
}

/// Greatest tf whose gains are kept in a table.
const TABLE_TF_MAX: usize = 8;

/// BM25 with settings and statistics worked in.
#[derive(Clone, Debug)]
pub struct Scorer {
    params: Bm25,
    statistics: Statistics,
    /// norm = base + slope · length.
    base: f32,
    slope: f32,
    /// gain by tf - 1 and length code.
    gains: Box<[[f32; 256]; TABLE_TF_MAX]>,
}

impl Scorer {
    /// A scorer for one view.
    ///
    /// # Errors
    /// [`TextError::Parameters`].
    ///
    /// # Cost
    /// Two thousand divisions: keep it while the view stays.
    pub fn new(params: Bm25, statistics: Statistics) -> Result<Scorer, TextError> {
        let Bm25 { k1, b } = params;
        if !(k1.is_finite() && k1 >= 0.0 && (0.0..=1.0).contains(&b)) {
            return Err(TextError::Parameters { k1, b });
        }
        // Every chunk that counts has a term, so the average is at least 1 where it is needed.
        let average = statistics.average_length().max(1.0);
        let (k1, b) = (f64::from(k1), f64::from(b));
        let mut scorer = Scorer {
            params,
            statistics,
            base: (k1 * (1.0 - b)) as f32,
            slope: (k1 * b / average) as f32,
            gains: Box::new([[0.0; 256]; TABLE_TF_MAX]),
        };
        for tf in 1..=TABLE_TF_MAX {
            for code in 0..=u8::MAX {
                let norm = scorer.norm(length::decode(code) as f32);
                scorer.gains[tf - 1][usize::from(code)] = gain(tf as f32, norm);
            }
        }
        Ok(scorer)
    }

    /// Whether it was made of these.
    pub(super) fn is_for(&self, params: Bm25, statistics: Statistics) -> bool {
        self.params == params && self.statistics == statistics
    }

    /// The norm of a chunk of this decoded length: above 0.
    #[inline(always)]
    pub(super) fn norm(&self, length: f32) -> f32 {
        // Above 0 even where the settings say 0, so that no occurrence is no gain.
        let norm = self.base + self.slope * length;
        if norm > f32::MIN_POSITIVE {
            norm
        } else {
            f32::MIN_POSITIVE
        }
    }

    /// The gains of a tf by length code, where there is a table: not for 0, nor for great ones.
    #[inline(always)]
    pub(super) fn gains_for_tf(&self, tf: u8) -> Option<&[f32; 256]> {
        self.gains.get(usize::from(tf).wrapping_sub(1))
    }

    /// tf / (tf + norm): in 0..=1. `tf` is 1 or more.
    #[inline(always)]
    pub(super) fn gain(&self, tf: u8, length_code: u8) -> f32 {
        match self.gains_for_tf(tf) {
            Some(gains) => gains[usize::from(length_code)],
            None => gain(f32::from(tf), self.norm(length::decode(length_code) as f32)),
        }
    }

    /// The score of a chunk, stored or imagined, that has `length` terms.
    ///
    /// `terms`: weight (of [`super::weights()`]) and tf of all of the question's terms; those with tf 0 add
    /// nothing. Bit for bit the score that [`super::search()`] gives to a stored chunk.
    pub fn score_chunk(&self, terms: &[(f32, u32)], length: u32) -> f32 {
        let length_code = length::encode(length);
        let scale = Scale::from_weights(terms.iter().map(|&(weight, _)| weight));
        let matching = terms.iter().filter(|&&(_, tf)| tf > 0);
        let sum = matching.fold(0, |sum: u32, &(weight, tf)| {
            let gain = self.gain(saturate_tf(tf), length_code);
            sum + points(scale.weight(weight), gain)
        });
        scale.score(sum)
    }
}

/// tf / (tf + norm).
#[inline(always)]
pub(super) fn gain(tf: f32, norm: f32) -> f32 {
    tf / (tf + norm)
}

/// 2^23: a number added to it is rounded to a whole one, which its lower bits then hold.
const ROUNDER: f32 = 8_388_608.0;

/// The points of an occurrence: `weight`, scaled, times `gain`, rounded, and 1 for being there.
#[inline(always)]
pub(super) fn points(weight: f32, gain: f32) -> u32 {
    (weight * gain + ROUNDER).to_bits() - ROUNDER.to_bits() + 1
}

/// The points of tf occurrences, 0 for none, without a branch.
#[inline(always)]
pub(super) fn points_or_zero(weight: f32, tf: u8, norm: f32) -> u32 {
    let rounded = (weight * gain(f32::from(tf), norm) + ROUNDER).to_bits() - ROUNDER.to_bits();
    rounded + u32::from(tf > 0)
}

/// Points that the weight of one term is worth at most, and all terms together.
const POINTS_MAX: f32 = 4_194_304.0;
const SUM_MAX: f64 = 1_073_741_824.0;

/// How many points a score of 1 has: a power of two, chosen by the weights of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale(f32);

impl Scale {
    /// For questions of these weights: all of them, also those of terms that no chunk has.
    pub(super) fn from_weights(weights: impl Iterator<Item = f32>) -> Scale {
        let (mut greatest, mut sum) = (0f32, 0f64);
        for weight in weights {
            greatest = greatest.max(weight);
            sum += f64::from(weight);
        }
        let most = (POINTS_MAX / greatest).min((SUM_MAX / sum) as f32);
        // Down to a power of two; weights of nothing, or too great to be, have any scale.
        let exponent = most.log2().floor().clamp(-100.0, 100.0);
        Scale(if exponent.is_nan() {
            1.0
        } else {
            exponent.exp2()
        })
    }

    /// A weight in points, as [`points`] takes it.
    pub(super) fn weight(self, weight: f32) -> f32 {
        (weight * self.0).min(POINTS_MAX)
    }

    /// The score that points stand for.
    pub(super) fn score(self, points: u32) -> f32 {
        points as f32 / self.0
    }

    /// The score of points that were turned to a float before.
    pub(super) fn score_from_points(self, points: f32) -> f32 {
        points / self.0
    }
}

/// A count as a posting keeps it.
pub(super) fn saturate_tf(tf: u32) -> u8 {
    u8::try_from(tf).unwrap_or(u8::MAX)
}
