//! The best `k` of many scored chunks, in one reusable heap.
//!
//! Invariant: better is a higher score, and of equal scores the lower ordinal. That is a total
//! order, so the best `k` do not depend on the order in which chunks come.

use std::collections::BinaryHeap;

use loci_storage::{Ordinal, ScoredChunk};

/// Keeps the best `k` of what is pushed.
#[derive(Debug, Default)]
pub(crate) struct Top {
    k: usize,
    /// [`ScoredChunk::order_key`]: the worst of the kept is on top.
    heap: BinaryHeap<u64>,
}

impl Top {
    /// Forgets everything and will keep `k`.
    pub(crate) fn reset(&mut self, k: usize) {
        self.k = k;
        self.heap.clear();
    }

    /// Whether a chunk with these would be kept. Scores are not NaN.
    pub(crate) fn admits(&self, score: f32, ordinal: Ordinal) -> bool {
        if self.heap.len() < self.k {
            return true;
        }
        let key = ScoredChunk { ordinal, score }.order_key();
        self.heap.peek().is_some_and(|&worst| key < worst)
    }

    /// The score that `k` chunks reach; `None` while fewer were pushed.
    pub(crate) fn threshold(&self) -> Option<f32> {
        let worst = self.heap.peek().filter(|_| self.heap.len() == self.k);
        worst.map(|&worst| ScoredChunk::from_order_key(worst).score)
    }

    /// Keeps the chunk if it is among the best `k` so far.
    pub(crate) fn push(&mut self, score: f32, ordinal: Ordinal) {
        let key = ScoredChunk { ordinal, score }.order_key();
        if self.heap.len() < self.k {
            self.heap.push(key);
        } else if let Some(mut worst) = self.heap.peek_mut().filter(|worst| key < **worst) {
            *worst = key;
        }
    }

    /// Empties the heap: best first, ties by ascending ordinal.
    pub(crate) fn drain(&mut self) -> Vec<ScoredChunk> {
        let mut keys: Vec<u64> = self.heap.drain().collect();
        keys.sort_unstable();
        keys.into_iter().map(ScoredChunk::from_order_key).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(scores: &[u8], k: usize) -> Vec<(u32, f32)> {
        let mut all: Vec<(u32, f32)> = scores
            .iter()
            .enumerate()
            .map(|(i, &s)| (i as u32, f32::from(s)))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
        all
    }

    proptest! {
        #[test]
        fn top_k_equals_full_sort(
            scores in prop::collection::vec(0u8..8, 0..60), k in 0usize..70, flip in any::<bool>(),
        ) {
            let mut top = Top::default();
            top.reset(k);
            let mut order: Vec<usize> = (0..scores.len()).collect();
            if flip {
                order.reverse();
            }
            for i in order {
                top.push(f32::from(scores[i]), Ordinal(i as u32));
            }
            let got: Vec<_> = top.drain().iter().map(|s| (s.ordinal.0, s.score)).collect();
            prop_assert_eq!(got, sorted(&scores, k));
        }
    }
}
