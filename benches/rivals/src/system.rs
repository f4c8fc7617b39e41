//! The interface of a measured system, the parameters that all of them share, and the check of their answers.
//!
//! A system is built from [`Data`] and answers with row numbers. None is measured before
//! [`check_self_recall`] passes: a wrong answer must not look fast.
//!
//! Start reading at [`System`].

use anyhow::{Result, ensure};

use crate::data::{Data, K};

/// Links of a node above layer 0; every system has twice as many in layer 0.
pub(crate) const M: usize = 16;
/// Candidates among which the links of a node are chosen.
pub(crate) const EF_CONSTRUCTION: usize = 200;

/// An index over all vectors of a [`Data`].
pub(crate) trait System {
    /// Appends the rows of the [`K`] nearest, nearest first; `hits` is empty.
    fn search(&mut self, query: &[f32], ef: usize, hits: &mut Vec<u32>) -> Result<()>;

    /// Bytes of the index with its vectors, in memory or on disk; `None` if the system does not report it.
    fn bytes(&self) -> Option<u64>;

    /// The instruction set that the system reports.
    fn simd(&self) -> Option<String> {
        None
    }
}

/// Stored vectors that the check searches for, spread over all rows.
const SAMPLES: usize = 200;
/// Samples that may be missed: an approximate index guarantees no single hit.
const MISSED_MAX: usize = 2;

/// Fails unless stored vectors are among their own nearest neighbours.
pub(crate) fn check_self_recall(system: &mut dyn System, data: &Data, ef: usize) -> Result<()> {
    let samples = SAMPLES.min(data.count());
    let mut missed = Vec::new();
    for i in 0..samples {
        let row = i * data.count() / samples;
        let mut hits = Vec::with_capacity(K);
        system.search(data.vector(row), ef, &mut hits)?;
        if !hits.contains(&(row as u32)) {
            missed.push(row);
        }
    }
    ensure!(
        missed.len() <= MISSED_MAX,
        "with ef {ef}, {} of {samples} stored vectors are not among their own {K} nearest: rows {missed:?}",
        missed.len()
    );
    Ok(())
}
