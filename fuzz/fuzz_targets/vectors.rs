//! Any bytes are flat vectors with a graph or a typed error; what opens is searched in bounds, in every direction.
//!
//! The first byte says what the others are: two sections as they are, or patches of sample ones, which are large
//! enough to be walked.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use loci_fuzz::{patched, pieces};
use loci_index::vector::{
    Codes, Effort, FlatBuilder, GraphOptions, Metric, REMOVED_NODE, VectorQuery, VectorReader,
    VectorScratch, search,
};
use loci_storage::{LocalOrdinal, Ordinal, SegmentReader};
use roaring::RoaringBitmap;

/// Vectors of the sample sections: enough that walks are cheaper than scans.
const COUNT: u32 = 800;
const DIM: usize = 3;

/// Flat vectors and a graph, for each kind of code.
static SAMPLE: LazyLock<Vec<(Vec<u8>, Vec<u8>)>> = LazyLock::new(|| {
    let codes = (0..).map_while(Codes::from_number);
    let metrics = [Metric::Cosine, Metric::Dot, Metric::L2]
        .into_iter()
        .cycle();
    codes
        .zip(metrics)
        .map(|(codes, metric)| sample(codes, metric))
        .collect()
});

fn number(seed: u32) -> f32 {
    (seed.wrapping_mul(2_654_435_761) >> 16) as f32 / 65_536.0 - 0.5
}

fn sample(codes: Codes, metric: Metric) -> (Vec<u8>, Vec<u8>) {
    let mut flat = FlatBuilder::new(DIM, metric).unwrap();
    for local in 0..COUNT {
        let vector: [f32; DIM] = std::array::from_fn(|at| number(local * DIM as u32 + at as u32));
        flat.push(LocalOrdinal(local), &vector).unwrap();
    }
    let options = GraphOptions {
        m: 4,
        ef_construction: 16,
        codes,
        seed: 7,
    };
    let graph = flat.build_graph(&options, 1).unwrap().unwrap();
    (flat.finish(), graph)
}

fn ask(reader: &VectorReader<&[u8]>) {
    let (dead, some): (RoaringBitmap, RoaringBitmap) =
        ((3..9).collect(), (0..COUNT).step_by(4).collect());
    let few: RoaringBitmap = (0..COUNT).step_by(40).collect();
    let chunk_count = reader.flat().local_end();
    let placed = [SegmentReader {
        base: Ordinal(0),
        chunk_count,
        dead: &dead,
        reader,
    }];
    let vector: Vec<f32> = (0..reader.flat().dim() as u32)
        .map(|at| number(at) + 0.1)
        .collect();
    let mut scratch = VectorScratch::default();
    for effort in [Effort::Ef(1), Effort::Ef(10), Effort::Recall(0.5)] {
        for (k, filter) in [(1, None), (10, Some(&some)), (10, Some(&few))] {
            for rescore in [true, false] {
                let query = VectorQuery {
                    filter,
                    effort,
                    rescore,
                    ..VectorQuery::new(&vector, k)
                };
                if let Ok(found) = search(&placed, &query, &mut scratch) {
                    assert!(found.iter().all(|hit| hit.ordinal.0 < chunk_count));
                }
            }
        }
    }
    reader.efforts().for_each(drop);
    let flat = reader.flat();
    for local in flat.locals().take(8) {
        assert_eq!(
            flat.vector(local).map(|vector| vector.len()),
            Some(flat.dim())
        );
        assert!(flat.position_of(local).is_some());
    }
}

/// Vectors of a graph that is built upon at most: it takes long.
const BUILT_UPON_MAX: usize = 64;

/// Builds on a graph that may be anything, as a merge does.
fn go_on(reader: &VectorReader<&[u8]>) {
    let flat = reader.flat();
    let Ok(mut builder) = FlatBuilder::new(flat.dim(), flat.metric()) else {
        return;
    };
    let mut kept = Vec::new();
    for local in flat.locals() {
        let vector = flat.vector(local).filter(|_| local.0 % 16 != 3);
        let pushed = vector.is_some_and(|vector| builder.push_prepared(local, &vector).is_ok());
        kept.push(if pushed {
            builder.len() as u32 - 1
        } else {
            REMOVED_NODE
        });
    }
    let options = GraphOptions {
        m: 4,
        ef_construction: 8,
        ..GraphOptions::default()
    };
    let _ = builder.build_graph_from(&options, 1, Some((reader, &kept)), &|| true);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else {
        return;
    };
    let [flat, graph] = pieces(rest);
    let sample = &SAMPLE[usize::from(kind >> 2) % SAMPLE.len()];
    let patched = (patched(&sample.0, flat), patched(&sample.1, graph));
    let (flat, graph) = match kind & 3 {
        0 => (rest, None),
        1 => (flat, Some(graph)),
        2 => (&sample.0[..], Some(&patched.1[..])),
        _ => (&patched.0[..], Some(&patched.1[..])),
    };
    if let Ok(reader) = VectorReader::new(flat, graph) {
        ask(&reader);
        if graph.is_some() && reader.flat().len() <= BUILT_UPON_MAX {
            go_on(&reader);
        }
    }
});
