//! What every measured system does, and which systems there are.
//!
//! A system is built from [`Data`] with the constants below and answers with row numbers. None is
//! measured before [`finds_what_it_stores`] passed: a wrong answer must not look fast.
//!
//! Start reading at [`System`].

use std::fmt;

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::data::{Data, K};
use crate::{hannoy, hnsw_rs, loci, usearch};

/// Links of a node above layer 0; every system keeps twice as many in it.
pub(crate) const M: usize = 16;
/// Candidates among which the links of a node are chosen.
pub(crate) const EF_CONSTRUCTION: usize = 200;

/// An index over all vectors of a [`Data`].
pub(crate) trait System {
    /// Appends the rows of the [`K`] nearest, nearest first; `hits` is empty.
    fn search(&mut self, query: &[f32], ef: usize, hits: &mut Vec<u32>) -> Result<()>;

    /// Bytes of the index with its vectors, in memory or on disk; `None` where it cannot tell.
    fn bytes(&self) -> Option<u64>;

    /// The instruction set that it says it uses.
    fn simd(&self) -> Option<String> {
        None
    }
}

/// The systems that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// LociDB: codes of a byte a number, hits ranked again at full precision.
    Loci,
    /// usearch over full precision.
    UsearchF32,
    /// usearch over the upper halves of numbers.
    UsearchBf16,
    /// usearch over a byte a number.
    UsearchI8,
    /// hnsw_rs over full precision.
    #[value(name = "hnsw_rs")]
    HnswRs,
    /// hannoy over full precision.
    Hannoy,
}

impl Kind {
    /// Those that are measured unless others are named.
    pub(crate) const USUAL: [Kind; 5] = [
        Kind::Loci,
        Kind::UsearchF32,
        Kind::UsearchI8,
        Kind::HnswRs,
        Kind::Hannoy,
    ];

    /// Builds this one.
    pub(crate) fn build(self, data: &Data) -> Result<Box<dyn System>> {
        Ok(match self {
            Kind::Loci => Box::new(loci::Loci::build(data)?),
            Kind::UsearchF32 => Box::new(usearch::Usearch::build(data, usearch::Numbers::F32)?),
            Kind::UsearchBf16 => Box::new(usearch::Usearch::build(data, usearch::Numbers::Bf16)?),
            Kind::UsearchI8 => Box::new(usearch::Usearch::build(data, usearch::Numbers::I8)?),
            Kind::HnswRs => Box::new(hnsw_rs::HnswRs::build(data)),
            Kind::Hannoy => Box::new(hannoy::Hannoy::build(data)?),
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Loci => "loci",
            Kind::UsearchF32 => "usearch-f32",
            Kind::UsearchBf16 => "usearch-bf16",
            Kind::UsearchI8 => "usearch-i8",
            Kind::HnswRs => "hnsw_rs",
            Kind::Hannoy => "hannoy",
        })
    }
}

/// Stored vectors that are looked for, spread over all of them.
const ASKED: usize = 200;
/// Those that may be missed: an approximate index owes no single answer.
const MISSED_MAX: usize = 2;

/// Fails unless stored vectors are among their own nearest.
pub(crate) fn finds_what_it_stores(system: &mut dyn System, data: &Data, ef: usize) -> Result<()> {
    let asked = ASKED.min(data.count());
    let mut missed = Vec::new();
    for i in 0..asked {
        let row = i * data.count() / asked;
        let mut hits = Vec::with_capacity(K);
        system.search(data.vector(row), ef, &mut hits)?;
        if !hits.contains(&(row as u32)) {
            missed.push(row);
        }
    }
    ensure!(
        missed.len() <= MISSED_MAX,
        "with ef {ef}, {} of {asked} stored vectors are not among their own {K} nearest: rows {missed:?}",
        missed.len()
    );
    Ok(())
}
