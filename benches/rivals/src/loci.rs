//! LociDB's vector index, in a segment like those of a store: written to a file, mapped, and searched
//! with the reader that a store uses.
//!
//! The default codes, with hits ranked again at full precision.
//!
//! Start reading at [`Loci::build`].

use std::sync::Arc;

use anyhow::{Context, Result};
use loci_index::vector::{
    Effort, FlatBuilder, GraphOptions, Metric, VectorQuery, VectorReader, VectorScratch,
    instruction_set, search,
};
use loci_storage::disk::{Disk, OsDisk};
use loci_storage::segment::{Part, PartBuilder, PartKind, Section, SectionId};
use loci_storage::{LocalOrdinal, Ordinal, SegmentReader};
use roaring::RoaringBitmap;
use tempfile::TempDir;

use crate::data::{Data, K};
use crate::system::{EF_CONSTRUCTION, M, System};

/// The only generation of the segment.
const GENERATION: u64 = 1;

/// A mapped segment.
pub(crate) struct Loci {
    reader: VectorReader<Section>,
    dead: RoaringBitmap,
    scratch: VectorScratch,
    count: u32,
    bytes: u64,
    /// Removed with the segment in it when this is dropped.
    _folder: TempDir,
}

impl Loci {
    /// Builds the flat vectors and the graph, writes both and maps them.
    pub(crate) fn build(data: &Data) -> Result<Loci> {
        let count = u32::try_from(data.count()).context("too many vectors for a segment")?;
        let segment = segment(data, count)?;
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let file = folder.path().join("segment");
        std::fs::write(&file, &segment).context("cannot write the segment")?;
        let mapped = OsDisk.map(&file).context("cannot map the segment")?;
        let part = Arc::new(Part::new(mapped)?);
        let flat = part.section(SectionId::Vectors, 0)?;
        let graph = part.section(SectionId::VectorGraph, 0)?;
        Ok(Loci {
            reader: VectorReader::new(flat, Some(graph))?,
            dead: RoaringBitmap::new(),
            scratch: VectorScratch::default(),
            count,
            bytes: segment.len() as u64,
            _folder: folder,
        })
    }
}

fn segment(data: &Data, count: u32) -> Result<Vec<u8>> {
    let options = GraphOptions {
        m: M,
        ef_construction: EF_CONSTRUCTION,
        ..GraphOptions::default()
    };
    let mut flat = FlatBuilder::new(data.dim, Metric::Dot)?;
    for (local, vector) in (0..).zip(data.vectors()) {
        flat.push(LocalOrdinal(local), vector)?;
    }
    let graph = flat
        .build_graph(&options, 1)?
        .context("too few vectors for a graph")?;
    let mut part = PartBuilder::new(PartKind::Vectors, count, 1);
    part.push(SectionId::Vectors, 0, flat.finish());
    part.push(SectionId::VectorGraph, 0, graph);
    Ok(part.finish(1, GENERATION))
}

impl System for Loci {
    fn search(&mut self, query: &[f32], ef: usize, hits: &mut Vec<u32>) -> Result<()> {
        let placed = [SegmentReader {
            base: Ordinal(0),
            chunk_count: self.count,
            dead: &self.dead,
            reader: &self.reader,
        }];
        let query = VectorQuery {
            effort: Effort::Ef(ef),
            ..VectorQuery::new(query, K)
        };
        let found = search(&placed, &query, &mut self.scratch)?;
        hits.extend(found.iter().map(|hit| hit.ordinal.0));
        Ok(())
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.bytes)
    }

    fn simd(&self) -> Option<String> {
        Some(instruction_set().to_owned())
    }
}
