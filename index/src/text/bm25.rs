//! The one formula that every score of text comes from.
//!
//! ```text
//! score(q, c) = Σ over distinct terms t of q:  occurrences(t, q) · idf(t) · tf / (tf + norm(c))
//! idf(t)      = ln(1 + (N - df + 1/2) / (df + 1/2))
//! norm(c)     = k1 · (1 - b + b · length(c) / average length)
//! ```
//!
//! N, df and the average are those of the whole view; the length is the decoded length code. The
//! factor k1 + 1 of the original is left out: it changes no order.
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

/// BM25 with settings and statistics worked in.
#[derive(Clone, Debug)]
pub struct Scorer {
    /// norm by length code.
    norms: [f32; 256],
}

impl Scorer {
    /// A scorer for one view.
    ///
    /// # Errors
    /// [`TextError::Parameters`].
    pub fn new(params: Bm25, statistics: Statistics) -> Result<Scorer, TextError> {
        let Bm25 { k1, b } = params;
        if !(k1.is_finite() && k1 >= 0.0 && (0.0..=1.0).contains(&b)) {
            return Err(TextError::Parameters { k1, b });
        }
        let (k1, b) = (f64::from(k1), f64::from(b));
        // Every chunk that counts has a term, so the average is at least 1 where it is needed.
        let average = statistics.average_length().max(1.0);
        let norm = |code: usize| {
            let length = f64::from(length::decode(code as u8));
            (k1 * (1.0 - b + b * length / average)) as f32
        };
        Ok(Scorer {
            norms: std::array::from_fn(norm),
        })
    }

    /// tf / (tf + norm): in 0..=1. `tf` is 1 or more.
    #[inline]
    pub(super) fn gain(&self, tf: u8, length_code: u8) -> f32 {
        let tf = f32::from(tf);
        tf / (tf + self.norms[usize::from(length_code)])
    }

    /// The score of a chunk, stored or imagined, that has `length` terms.
    ///
    /// `terms`: weight (of [`super::weights`]) and tf of the question's terms, in the order of the
    /// weights; those with tf 0 add nothing. Bit for bit the score that [`super::search`] gives to
    /// a stored chunk.
    pub fn score_chunk(&self, terms: impl IntoIterator<Item = (f32, u32)>, length: u32) -> f32 {
        let length_code = length::encode(length);
        let held = terms.into_iter().filter(|&(_, tf)| tf > 0);
        held.fold(0.0, |score, (weight, tf)| {
            score + weight * self.gain(saturated(tf), length_code)
        })
    }
}

/// A count as a posting keeps it.
pub(super) fn saturated(tf: u32) -> u8 {
    u8::try_from(tf).unwrap_or(u8::MAX)
}
