//! The usearch crate: a C++ library with kernels for many instruction sets, chosen while it runs.
//!
//! Always the crate's default features, and what it stores is what it ranks by: with bytes, scores
//! are those of bytes.
//!
//! Start reading at [`Usearch::build`].

use ::usearch::{Index, IndexOptions, MetricKind, ScalarKind};
use anyhow::{Context, Result};

use crate::data::{Data, K};
use crate::system::{EF_CONSTRUCTION, M, System};

/// What it stores of a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Numbers {
    /// All of it.
    F32,
    /// Its upper half.
    Bf16,
    /// A byte.
    I8,
}

/// An index in memory.
pub(crate) struct Usearch {
    index: Index,
}

impl Usearch {
    /// Adds all vectors, one after the other.
    pub(crate) fn build(data: &Data, numbers: Numbers) -> Result<Usearch> {
        let quantization = match numbers {
            Numbers::F32 => ScalarKind::F32,
            Numbers::Bf16 => ScalarKind::BF16,
            Numbers::I8 => ScalarKind::I8,
        };
        let index = Index::new(&IndexOptions {
            dimensions: data.dim,
            metric: MetricKind::IP,
            quantization,
            connectivity: M,
            expansion_add: EF_CONSTRUCTION,
            expansion_search: K,
            multi: false,
        })
        .context("cannot make an empty index")?;
        index
            .reserve_capacity_and_threads(data.count(), 1)
            .context("cannot reserve memory")?;
        for (row, vector) in (0..).zip(data.vectors()) {
            index
                .add(row, vector)
                .with_context(|| format!("cannot add row {row}"))?;
        }
        Ok(Usearch { index })
    }
}

impl System for Usearch {
    fn search(&mut self, query: &[f32], ef: usize, hits: &mut Vec<u32>) -> Result<()> {
        self.index.change_expansion_search(ef);
        let found = self.index.search(query, K)?;
        hits.extend(found.keys.iter().map(|&row| row as u32));
        Ok(())
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.index.memory_usage() as u64)
    }

    fn simd(&self) -> Option<String> {
        Some(self.index.hardware_acceleration())
    }
}
