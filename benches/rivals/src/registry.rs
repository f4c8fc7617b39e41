//! The systems that can be measured, by the name that the command line and the results use.
//!
//! Start reading at [`SystemKind::build`].

use std::fmt;

use anyhow::Result;
use clap::ValueEnum;

use crate::data::Data;
use crate::system::System;
use crate::{hannoy, hnsw_rs, loci, usearch};

/// The systems that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SystemKind {
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

impl SystemKind {
    /// The systems that are measured by default.
    pub(crate) const DEFAULT: [SystemKind; 5] = [
        SystemKind::Loci,
        SystemKind::UsearchF32,
        SystemKind::UsearchI8,
        SystemKind::HnswRs,
        SystemKind::Hannoy,
    ];

    /// Builds the system over all vectors of `data`.
    pub(crate) fn build(self, data: &Data) -> Result<Box<dyn System>> {
        Ok(match self {
            SystemKind::Loci => Box::new(loci::Loci::build(data)?),
            SystemKind::UsearchF32 => {
                Box::new(usearch::Usearch::build(data, usearch::Precision::F32)?)
            }
            SystemKind::UsearchBf16 => {
                Box::new(usearch::Usearch::build(data, usearch::Precision::Bf16)?)
            }
            SystemKind::UsearchI8 => {
                Box::new(usearch::Usearch::build(data, usearch::Precision::I8)?)
            }
            SystemKind::HnswRs => Box::new(hnsw_rs::HnswRs::build(data)),
            SystemKind::Hannoy => Box::new(hannoy::Hannoy::build(data)?),
        })
    }
}

impl fmt::Display for SystemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SystemKind::Loci => "loci",
            SystemKind::UsearchF32 => "usearch-f32",
            SystemKind::UsearchBf16 => "usearch-bf16",
            SystemKind::UsearchI8 => "usearch-i8",
            SystemKind::HnswRs => "hnsw_rs",
            SystemKind::Hannoy => "hannoy",
        })
    }
}
