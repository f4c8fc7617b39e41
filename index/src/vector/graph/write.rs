//! A graph → bytes.

use rayon::prelude::*;

use super::super::Metric;
use super::super::codes::{Quantiser, TransformScratch};
use super::build::{ENCODED_AT_ONCE, Graph};
use super::{ALIGNMENT, GraphOptions, HEADER_LEN, NO_LINK, RecordLayout, VERSION};

/// The bytes of a section with `graph` over `vectors` `[any number, dim]`.
pub(super) fn write_section(
    vectors: &[f32],
    dim: usize,
    metric: Metric,
    options: &GraphOptions,
    graph: &Graph,
) -> Vec<u8> {
    let quantiser = Quantiser::fit(options.codes, vectors, dim);
    let codes = options.codes;
    let record = RecordLayout::new(codes, dim, metric, 2 * options.m);
    let (bottom, upper) = graph.layers.split_first().expect("a graph has layer 0");
    let mut out = Vec::with_capacity(HEADER_LEN + bottom.len() * record.len + 4096);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&[metric as u8, codes as u8]);
    let numbers = [
        dim as u32,
        bottom.len() as u32,
        options.m as u32,
        options.ef_construction as u32,
        upper.len() as u32,
        graph.entry,
        quantiser.step.to_bits(),
    ];
    extend(&mut out, numbers);
    out.extend_from_slice(&options.seed.to_le_bytes());
    extend(&mut out, [typical_length_max(vectors, dim).to_bits()]);
    // Error and efforts are measured when the graph can be walked.
    out.resize(HEADER_LEN, 0);
    extend(&mut out, upper.iter().map(|layer| layer.len() as u32));
    extend(&mut out, quantiser.mean.iter().map(|x| x.to_bits()));
    pad(&mut out);
    let vectors = vectors.par_chunks(dim * ENCODED_AT_ONCE).enumerate();
    let records = vectors.map(|(part, vectors)| {
        let mut out = Vec::with_capacity(vectors.len() / dim * record.len);
        let mut scratch = TransformScratch::default();
        let first = (part * ENCODED_AT_ONCE) as u32;
        for (node, vector) in (first..).zip(vectors.chunks_exact(dim)) {
            let start = out.len();
            quantiser.encode(vector, &mut scratch, &mut out);
            push_norm_and_links(&mut out, start, &record, vector, bottom.links(node));
        }
        out
    });
    for some in records.collect::<Vec<_>>() {
        out.extend_from_slice(&some);
    }
    for layer in upper {
        extend(&mut out, layer.nodes.iter().copied());
        extend(&mut out, layer.below.iter().copied());
        extend(&mut out, layer.links.iter().copied());
    }
    out
}

/// What follows the code in a record that began at `start`.
fn push_norm_and_links(
    out: &mut Vec<u8>,
    start: usize,
    record: &RecordLayout,
    vector: &[f32],
    links: &[u32],
) {
    if record.has_norm() {
        let norm: f32 = vector.iter().map(|x| x * x).sum();
        out.extend_from_slice(&norm.to_le_bytes());
    }
    extend(out, links.iter().copied());
    extend(
        out,
        (4 * links.len()..record.links_len)
            .step_by(4)
            .map(|_| NO_LINK),
    );
    out.resize(start + record.len, 0);
}

/// The length that all but one in a hundred vectors have at most.
fn typical_length_max(vectors: &[f32], dim: usize) -> f32 {
    let squared = |vector: &[f32]| vector.iter().map(|x| x * x).sum::<f32>();
    let mut lengths: Vec<f32> = vectors.chunks_exact(dim).map(squared).collect();
    let at = lengths.len() * 99 / 100;
    let (_, long, _) = lengths.select_nth_unstable_by(at, f32::total_cmp);
    long.sqrt()
}

fn extend(out: &mut Vec<u8>, numbers: impl IntoIterator<Item = u32>) {
    out.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
}
