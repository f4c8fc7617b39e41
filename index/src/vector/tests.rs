use loci_storage::{LocalOrdinal, Ordinal, ScoredChunk, SegmentReader};
use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::*;

/// Chunks of a segment; those without a vector are `None`.
type Rows = Vec<Option<Vec<f32>>>;

fn section(rows: &[Option<Vec<f32>>], dim: usize, metric: Metric) -> Vec<u8> {
    let mut builder = FlatBuilder::new(dim, metric).unwrap();
    for (local, row) in rows.iter().enumerate() {
        if let Some(row) = row {
            builder.push(LocalOrdinal(local as u32), row).unwrap();
        }
    }
    builder.finish()
}

/// The flat section, and a graph where there is a vector.
fn sections(
    rows: &[Option<Vec<f32>>],
    dim: usize,
    metric: Metric,
    codes: Codes,
) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut builder = FlatBuilder::new(dim, metric).unwrap();
    for (local, row) in rows.iter().enumerate() {
        if let Some(row) = row {
            builder.push(LocalOrdinal(local as u32), row).unwrap();
        }
    }
    let options = GraphOptions {
        codes,
        ..GraphOptions::default()
    };
    let graph = builder.build_graph(&options, 1).unwrap();
    (builder.finish(), graph)
}

/// The metrics written down a second time, slowly and in f64.
fn oracle(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let pairs = || a.iter().zip(b).map(|(&x, &y)| (f64::from(x), f64::from(y)));
    let dot: f64 = pairs().map(|(x, y)| x * y).sum();
    let squares = |v: &[f32]| v.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
    match metric {
        Metric::Cosine => dot / (squares(a) * squares(b)).sqrt(),
        Metric::Dot => dot,
        Metric::L2 => -pairs().map(|(x, y)| (x - y).powi(2)).sum::<f64>(),
    }
}

fn any_metric() -> impl Strategy<Value = Metric> {
    prop::sample::select(vec![Metric::Cosine, Metric::Dot, Metric::L2])
}

fn any_vector(dim: usize) -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-4i8..5, dim)
        .prop_filter("has a direction", |v| v.iter().any(|&x| x != 0))
        .prop_map(|v| v.into_iter().map(f32::from).collect())
}

/// Dimensions 1..40: every tail of a SIMD loop.
fn any_rows() -> impl Strategy<Value = (Rows, Vec<f32>)> {
    (1usize..40).prop_flat_map(|dim| {
        let row = prop::option::weighted(0.8, any_vector(dim));
        (prop::collection::vec(row, 0..30), any_vector(dim))
    })
}

fn search_segments(
    rows: &[Option<Vec<f32>>],
    cut: usize,
    (query, metric): (&[f32], Metric),
    excluded: (Option<&RoaringBitmap>, &RoaringBitmap),
    k: usize,
) -> Vec<ScoredChunk> {
    let (filter, deleted) = excluded;
    let (left, right) = rows.split_at(cut.min(rows.len()));
    let build = |rows| {
        let (flat, graph) = sections(rows, query.len(), metric, Codes::I8);
        VectorReader::new(flat, graph).unwrap()
    };
    let readers = [build(left), build(right)];
    let base = left.len() as u32;
    let dead = [
        deleted.clone(),
        deleted.iter().filter_map(|o| o.checked_sub(base)).collect(),
    ];
    let segments = [
        SegmentReader {
            base: Ordinal(0),
            chunk_count: base,
            dead: &dead[0],
            reader: &readers[0],
        },
        SegmentReader {
            base: Ordinal(base),
            chunk_count: right.len() as u32,
            dead: &dead[1],
            reader: &readers[1],
        },
    ];
    let query = VectorQuery {
        filter,
        ..VectorQuery::new(query, k)
    };
    search(&segments, &query, &mut VectorScratch::default()).unwrap()
}

#[test]
fn prints_the_instruction_sets_that_the_kernels_use() {
    use simsimd::capabilities as has;
    println!("dispatch at run time: {}", has::uses_dynamic_dispatch());
    println!(
        "x86: haswell {} skylake {} ice {}",
        has::uses_haswell(),
        has::uses_skylake(),
        has::uses_ice()
    );
    println!(
        "x86: genoa {} sapphire {} turin {}",
        has::uses_genoa(),
        has::uses_sapphire(),
        has::uses_turin()
    );
    println!("arm: neon {} sve {}", has::uses_neon(), has::uses_sve());
    #[cfg(target_arch = "x86_64")]
    assert!(
        has::uses_haswell() || !std::arch::is_x86_feature_detected!("avx2"),
        "AVX2 is not used"
    );
}

#[test]
fn invalid_input_is_refused() {
    for dim in [0, DIM_MAX + 1] {
        assert!(matches!(
            FlatBuilder::new(dim, Metric::Dot),
            Err(VectorError::Dimensions(_))
        ));
    }
    let mut builder = FlatBuilder::new(2, Metric::Cosine).unwrap();
    builder.push(LocalOrdinal(1), &[3.0, 4.0]).unwrap();
    let mut refused =
        |local, vector: &[f32]| builder.push(LocalOrdinal(local), vector).unwrap_err();
    assert!(matches!(
        refused(1, &[1.0, 0.0]),
        VectorError::Order { local: 1, last: 1 }
    ));
    assert!(matches!(
        refused(2, &[1.0]),
        VectorError::Dimension {
            got: 1,
            expected: 2
        }
    ));
    assert!(matches!(
        refused(2, &[1.0, f32::NAN]),
        VectorError::NotFinite { at: 1 }
    ));
    assert!(matches!(
        refused(2, &[f32::INFINITY, 0.0]),
        VectorError::NotFinite { at: 0 }
    ));
    assert!(matches!(refused(2, &[0.0, -0.0]), VectorError::Zero));
    assert!(matches!(
        Metric::L2.prepare(&[1e30], 1),
        Err(VectorError::TooLong(_))
    ));
    Metric::Cosine.prepare(&[1e-45, 1e38], 2).unwrap();

    let reader = FlatReader::new(builder.finish()).unwrap();
    assert_eq!((reader.len(), reader.local_end()), (1, 2));
    assert_eq!(reader.vector(LocalOrdinal(1)).unwrap().as_ref(), [0.6, 0.8]);
    assert_eq!(reader.vector(LocalOrdinal(0)), None);
}

#[test]
fn segments_of_different_metric_or_dimension_are_refused() {
    let reader = |dim, metric| {
        VectorReader::new(section(&[Some(vec![1.0; dim])], dim, metric), None).unwrap()
    };
    let (a, b, c) = (
        reader(2, Metric::Dot),
        reader(2, Metric::L2),
        reader(3, Metric::Dot),
    );
    let dead = RoaringBitmap::new();
    let place = |base, reader| SegmentReader {
        base: Ordinal(base),
        chunk_count: 1,
        dead: &dead,
        reader,
    };
    let ask = |segments: &[_]| {
        let query = VectorQuery::new(&[1.0, 1.0], 1);
        search(segments, &query, &mut VectorScratch::default())
    };
    let run = |x, y| ask(&[place(0, x), place(1, y)]).unwrap_err();
    assert!(matches!(
        run(&a, &b),
        VectorError::Mixed(Metric::Dot, Metric::L2)
    ));
    assert!(matches!(
        run(&a, &c),
        VectorError::Dimension {
            got: 2,
            expected: 3
        }
    ));
    assert!(matches!(
        run(&c, &a),
        VectorError::Dimension {
            got: 2,
            expected: 3
        }
    ));
    assert_eq!(ask(&[]).unwrap(), []);
}

/// A change here is a new format version, not a new expectation.
#[test]
fn bytes_are_those_of_version_1() {
    let sparse = section(&[None, Some(vec![1.0])], 1, Metric::L2);
    let head = [1, 0, 2, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0];
    assert_eq!(sparse[..20], head);
    assert_eq!(
        (&sparse[20..64], &sparse[64..]),
        (&[0; 44][..], &1f32.to_le_bytes()[..])
    );
    let dense = section(&[Some(vec![1.0])], 1, Metric::Dot);
    assert_eq!(
        dense[..16],
        [1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    );
    assert_eq!(dense.len(), 68);
}

#[test]
fn vectors_are_read_at_any_alignment() {
    let bytes = section(&[Some(vec![1.5, -2.0])], 2, Metric::Dot);
    for shift in 0..4 {
        let mut shifted = vec![0; shift];
        shifted.extend(&bytes);
        let reader = FlatReader::new(&shifted[shift..]).unwrap();
        assert_eq!(
            reader.vector(LocalOrdinal(0)).unwrap().as_ref(),
            [1.5, -2.0]
        );
    }
}

proptest! {
    #[test]
    fn search_agrees_with_brute_force(
        (rows, query) in any_rows(),
        metric in any_metric(),
        cut in 0usize..30,
        deleted in prop::collection::btree_set(0u32..30, 0..8),
        filter in prop::option::of(prop::collection::btree_set(0u32..35, 0..30)),
        k in 0usize..35,
    ) {
        let deleted: RoaringBitmap = deleted.into_iter().collect();
        let filter: Option<RoaringBitmap> = filter.map(|set| set.into_iter().collect());
        let found = search_segments(&rows, cut, (&query, metric), (filter.as_ref(), &deleted), k);

        let may_be_found = |i: u32| {
            !deleted.contains(i) && filter.as_ref().is_none_or(|f| f.contains(i))
        };
        let mut scores: Vec<f64> = rows.iter().zip(0..)
            .filter(|&(_, i)| may_be_found(i))
            .filter_map(|(row, _)| Some(oracle(metric, &query, row.as_ref()?)))
            .collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.truncate(k);
        prop_assert_eq!(found.len(), scores.len());
        for (hit, best) in found.iter().zip(scores) {
            prop_assert!(may_be_found(hit.ordinal.0));
            let row = rows[hit.ordinal.0 as usize].as_ref().unwrap();
            let own = oracle(metric, &query, row);
            let slack = 1e-5 * own.abs().max(1.0);
            prop_assert!((f64::from(hit.score) - own).abs() <= slack, "{} {own}", hit.score);
            prop_assert!((f64::from(hit.score) - best).abs() <= slack, "{} {best}", hit.score);
        }
        for pair in found.windows(2) {
            let tie = pair[0].score == pair[1].score && pair[0].ordinal < pair[1].ordinal;
            prop_assert!(pair[0].score > pair[1].score || tie);
        }
    }

    #[test]
    fn pushed_vectors_round_trip((rows, query) in any_rows()) {
        let reader = FlatReader::new(section(&rows, query.len(), Metric::Dot)).unwrap();
        for (local, row) in (0..).zip(&rows) {
            let got = reader.vector(LocalOrdinal(local)).map(|v| v.into_owned());
            prop_assert_eq!(&got, row);
        }
        let locals: Vec<u32> = reader.locals().map(|l| l.0).collect();
        let with: Vec<u32> = (0..).zip(&rows).filter(|(_, r)| r.is_some()).map(|(i, _)| i).collect();
        prop_assert_eq!(locals, with);
        prop_assert_eq!(reader.vector(LocalOrdinal(u32::MAX)), None);
    }

    #[test]
    fn truncated_or_altered_bytes_never_panic(
        (rows, query) in any_rows(),
        metric in any_metric(),
        keep in any::<prop::sample::Index>(),
        changes in prop::collection::vec((0usize..96, any::<u8>()), 0..6),
    ) {
        let whole = section(&rows, query.len(), metric);
        prop_assert!(FlatReader::new(&whole[..keep.index(whole.len())]).is_err());
        let mut bytes = whole;
        for (place, value) in changes {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = value;
            }
        }
        let Ok(reader) = VectorReader::new(bytes, None) else { return Ok(()) };
        let dead = RoaringBitmap::new();
        let placed = [SegmentReader { base: Ordinal(0), chunk_count: 30, dead: &dead, reader: &reader }];
        let (filter, mut scratch) = (RoaringBitmap::from([0, 7, 29]), VectorScratch::default());
        for filter in [None, Some(&filter)] {
            let query = VectorQuery { filter, ..VectorQuery::new(&query, 5) };
            let _ = search(&placed, &query, &mut scratch);
        }
    }
}

#[test]
fn huge_k_returns_every_vector() {
    let mut flat = FlatBuilder::new(2, Metric::Dot).unwrap();
    for local in 0..200 {
        flat.push(LocalOrdinal(local), &[local as f32, 1.0])
            .unwrap();
    }
    let reader = VectorReader::new(flat.finish(), None).unwrap();
    let dead = RoaringBitmap::new();
    let placed = [SegmentReader {
        base: Ordinal(0),
        chunk_count: 200,
        dead: &dead,
        reader: &reader,
    }];
    let mut scratch = VectorScratch::default();
    // The second search goes by codes.
    for _ in 0..3 {
        let query = VectorQuery::new(&[1.0, 0.0], usize::MAX);
        assert_eq!(search(&placed, &query, &mut scratch).unwrap().len(), 200);
    }
}
