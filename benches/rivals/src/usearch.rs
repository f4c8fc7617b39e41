//! The usearch crate: a C++ library with kernels for many instruction sets, chosen while it runs.
//!
//! Default features of the crate. It ranks by the precision that it stores: with bytes, scores are those of
//! bytes.
//!
//! Start reading at [`Usearch::build`].

use ::usearch::{Index, IndexOptions, MetricKind, ScalarKind};
use anyhow::{Context, Result};

use crate::data::{Data, K};
use crate::system::{EF_CONSTRUCTION, M, System};

/// How a component of a vector is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Precision {
    /// 32 bits.
    F32,
    /// The upper 16 bits.
    Bf16,
    /// 8 bits.
    I8,
}

/// An index in memory.
pub(crate) struct Usearch {
    index: Index,
}

impl Usearch {
    /// Adds all vectors, one after the other.
    pub(crate) fn build(data: &Data, precision: Precision) -> Result<Usearch> {
        let quantization = match precision {
            Precision::F32 => ScalarKind::F32,
            Precision::Bf16 => ScalarKind::BF16,
            Precision::I8 => ScalarKind::I8,
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
        .context("cannot create an empty index")?;
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
