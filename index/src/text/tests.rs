use loci_storage::{LocalOrdinal, Ordinal, ScoredChunk, SegmentReader};
use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::*;
use crate::analysis::{Analyzer, Language, LanguageCounts, Languages};

mod merging;
mod questions;

type Chunk = Vec<String>;

fn section(chunks: &[Chunk]) -> Vec<u8> {
    let mut builder = TextBuilder::new();
    for (local, terms) in chunks.iter().enumerate() {
        builder.push(LocalOrdinal(local as u32), terms).unwrap();
    }
    builder.finish()
}

fn words(text: &str) -> Chunk {
    text.split_whitespace().map(str::to_owned).collect()
}

fn hits(scored: &[ScoredChunk]) -> Vec<u32> {
    scored.iter().map(|s| s.ordinal.0).collect()
}

/// A view of one segment.
fn single_segment<'a>(
    reader: &'a TextReader<Vec<u8>>,
    dead: &'a RoaringBitmap,
    chunk_count: u32,
) -> [SegmentReader<'a, TextReader<Vec<u8>>>; 1] {
    [SegmentReader {
        base: Ordinal(0),
        chunk_count,
        dead,
        reader,
    }]
}

/// Searches `corpus` cut into segments at `cuts`; ordinals are places in the corpus.
fn search_segments(
    corpus: &[Chunk],
    cuts: &[usize],
    question: &[String],
    excluded: (Option<&RoaringBitmap>, &RoaringBitmap),
    k: usize,
) -> Vec<ScoredChunk> {
    let (filter, deleted) = excluded;
    let mut bounds: Vec<usize> = cuts.iter().map(|&cut| cut.min(corpus.len())).collect();
    bounds.extend([0, corpus.len()]);
    bounds.sort_unstable();
    let parts: Vec<(usize, &[Chunk])> = bounds
        .windows(2)
        .map(|w| (w[0], &corpus[w[0]..w[1]]))
        .collect();
    let readers: Vec<_> = parts
        .iter()
        .map(|(_, chunks)| TextReader::new(section(chunks)).unwrap())
        .collect();
    let dead: Vec<RoaringBitmap> = parts
        .iter()
        .map(|&(base, part)| {
            (0..part.len() as u32)
                .filter(|&i| deleted.contains(base as u32 + i))
                .collect()
        })
        .collect();
    let segments: Vec<_> = parts
        .iter()
        .zip(readers.iter().zip(&dead))
        .map(|(&(base, part), (reader, dead))| SegmentReader {
            base: Ordinal(base as u32),
            chunk_count: part.len() as u32,
            dead,
            reader,
        })
        .collect();
    let mut scratch = TextScratch::new();
    search(
        &segments,
        question,
        &TextSearch {
            filter,
            ..TextSearch::new(k)
        },
        &mut scratch,
    )
    .unwrap()
}

/// BM25 written down a second time, slowly and in f64.
fn oracle(corpus: &[Chunk], question: &[String]) -> Vec<f64> {
    let with_terms: Vec<&Chunk> = corpus.iter().filter(|c| !c.is_empty()).collect();
    let n = with_terms.len() as f64;
    let average = with_terms.iter().map(|c| c.len()).sum::<usize>() as f64 / n;
    let score = |chunk: &Chunk| -> f64 {
        let length = f64::from(length::decode(length::encode(chunk.len() as u32)));
        let gain = |term: &String| {
            let tf = chunk.iter().filter(|t| *t == term).count().min(255) as f64;
            let df = corpus.iter().filter(|c| c.contains(term)).count() as f64;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            idf * tf / (tf + f64::from(1.2f32) * (0.25 + 0.75 * length / average))
        };
        question
            .iter()
            .filter(|term| chunk.contains(term))
            .map(gain)
            .sum()
    };
    corpus.iter().map(score).collect()
}

fn any_chunk() -> impl Strategy<Value = Chunk> {
    prop::collection::vec("[a-h]|[a-c][x-z]", 0..12)
}

fn any_corpus() -> impl Strategy<Value = Vec<Chunk>> {
    prop::collection::vec(any_chunk(), 0..40)
}

#[test]
fn rare_term_outranks_frequent_and_two_terms_outrank_one() {
    let corpus = [
        words("the cat"),
        words("the dog"),
        words("the cat dog"),
        vec![],
        words("the"),
    ];
    let nothing = RoaringBitmap::new();
    let cases: &[(&str, &[u32])] = &[
        ("", &[]),
        ("absent", &[]),
        ("the dog", &[1, 2, 4, 0]),
        ("cat dog", &[2, 0, 1]),
    ];
    for (question, expected) in cases {
        let found = search_segments(&corpus, &[], &words(question), (None, &nothing), 10);
        assert_eq!(hits(&found), *expected, "{question}");
    }
}

#[test]
fn deleted_and_filtered_chunks_do_not_use_up_k() {
    let corpus = vec![words("cat"); 6];
    let question = words("cat");
    let deleted = RoaringBitmap::from([0, 4]);
    let filter = RoaringBitmap::from([0, 3, 4, 5, 99]);
    let all = search_segments(&corpus, &[3], &question, (None, &deleted), 3);
    assert_eq!(hits(&all), [1, 2, 3]);
    let some = search_segments(&corpus, &[3], &question, (Some(&filter), &deleted), 3);
    assert_eq!(hits(&some), [3, 5]);
}

#[test]
fn postings_cross_windows_of_64k() {
    let mut builder = TextBuilder::new();
    for local in [0, 65_535, 65_536, 200_000] {
        builder.push(LocalOrdinal(local), ["a"]).unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let term = reader.term("a").unwrap().unwrap();
    let locals: Vec<u32> = reader.postings(term).map(|p| p.unwrap().local.0).collect();
    assert_eq!(locals, [0, 65_535, 65_536, 200_000]);

    let dead = RoaringBitmap::from([65_535]);
    let placed = SegmentReader {
        base: Ordinal(7),
        chunk_count: 200_001,
        dead: &dead,
        reader: &reader,
    };
    let mut scratch = TextScratch::new();
    let found = search(&[placed], &["a"], &TextSearch::new(9), &mut scratch).unwrap();
    assert_eq!(hits(&found), [7, 65_543, 200_007]);

    let short = SegmentReader {
        chunk_count: 200_000,
        ..placed
    };
    let refused = search(&[short], &["a"], &TextSearch::new(9), &mut scratch);
    assert!(matches!(refused, Err(TextError::Malformed(_))));
}

#[test]
fn frequent_terms_saturate() {
    let reader = TextReader::new(section(&[vec!["a".to_owned(); 300]])).unwrap();
    let term = reader.term("a").unwrap().unwrap();
    let posting = reader.postings(term).next().unwrap().unwrap();
    assert_eq!(
        (posting.tf, posting.length_code),
        (255, length::encode(300))
    );
    assert_eq!((reader.chunk_count(), reader.total_length()), (1, 300));
}

#[test]
fn invalid_input_is_refused() {
    let mut builder = TextBuilder::new();
    builder.push(LocalOrdinal(3), ["a"]).unwrap();
    assert!(matches!(
        builder.push(LocalOrdinal(3), ["a"]),
        Err(TextError::Order { local: 3, last: 3 })
    ));
    let long = "x".repeat(TERM_BYTES_MAX + 1);
    assert!(matches!(
        builder.push(LocalOrdinal(4), ["b", &long]),
        Err(TextError::TermLength(258))
    ));
    assert!(matches!(
        builder.push(LocalOrdinal(4), [""]),
        Err(TextError::TermLength(0))
    ));
    let reader = TextReader::new(builder.finish()).unwrap();
    assert_eq!((reader.term_count(), reader.local_end()), (1, 4));

    for params in [
        Bm25 { k1: -1.0, b: 0.5 },
        Bm25 {
            k1: 1.0,
            b: f32::NAN,
        },
    ] {
        assert!(matches!(
            Scorer::new(params, Statistics::default()),
            Err(TextError::Parameters { .. })
        ));
    }
}

#[test]
fn terms_are_sorted_with_their_chunks() {
    let corpus = [words("b a b"), words("c"), words("a")];
    let reader = TextReader::new(section(&corpus)).unwrap();
    let mut seen = Vec::new();
    reader
        .for_each_term(|text, term| {
            seen.push((text.to_owned(), term.df, reader.postings(term).count()));
            Ok(())
        })
        .unwrap();
    let owned = |s: &str, n: usize| (s.to_owned(), n as u32, n);
    assert_eq!(seen, [owned("a", 2), owned("b", 1), owned("c", 1)]);
    assert_eq!((reader.df("b").unwrap(), reader.df("x").unwrap()), (1, 0));
}

#[test]
fn texts_are_analysed_and_counted_together() {
    let mut builder = TextBuilder::new();
    let mut analyzer = crate::analysis::Analyzer::new();
    builder
        .push_texts(
            LocalOrdinal(0),
            &mut analyzer,
            [(Field::Title, "Cats"), (Field::Body, "A cat runs")],
            |_, _| {},
        )
        .unwrap();
    let reader = TextReader::new(builder.finish()).unwrap();
    let posting = reader
        .postings(reader.term("cat").unwrap().unwrap())
        .next()
        .unwrap()
        .unwrap();
    assert_eq!((posting.tf, reader.total_length()), (2, 4));
}

#[test]
fn fields_count_by_their_weights() {
    let mut builder = TextBuilder::with_weights([1, 3, 1, 1, 1]);
    let mut analyzer = crate::analysis::Analyzer::new();
    for (local, field) in [(0, Field::Body), (1, Field::Title)] {
        let texts = [(field, "water"), (Field::Body, "and some more words")];
        builder
            .push_texts(LocalOrdinal(local), &mut analyzer, texts, |_, _| {})
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let postings = reader.postings(reader.term("water").unwrap().unwrap());
    let postings_of_term: Vec<(u8, u8)> = postings
        .map(|p| p.unwrap())
        .map(|p| (p.tf, p.length_code))
        .collect();
    assert_eq!(postings_of_term, [(1, 5), (3, 7)]);
    assert_eq!(reader.total_length(), 12);
}

/// A change here is a new format version, not a new expectation.
#[test]
fn bytes_are_those_of_version_3() {
    let bytes = section(&[words("b a b")]);
    let head = [
        3, 0, 5, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1,
        1, 1, 1, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(bytes[..40], head);
    let lens = [22u64, 24, 3].map(u64::to_le_bytes).concat();
    assert_eq!(bytes[40..64], lens);
    let lengths = [&3f32.to_le_bytes()[..], &1f32.to_le_bytes().repeat(63)].concat();
    assert_eq!(bytes[64..320], lengths);
    let postings = [
        0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 3,
    ];
    let positions = [2, 1, 4];
    assert_eq!(
        bytes[bytes.len() - 27..],
        [&postings[..], &positions].concat()
    );
    let entries = &bytes[bytes.len() - 75..bytes.len() - 27];
    let entry = |postings: u64, tf_max: u8, positions: u64| {
        let ends = [postings.to_le_bytes(), positions.to_le_bytes()];
        [&ends[0][..], &[1, 0, 0, 0, 0, tf_max, 3, 0], &ends[1]].concat()
    };
    assert_eq!(entries, [entry(0, 1, 0), entry(12, 2, 1)].concat());
}

#[test]
fn a_row_of_version_3_has_these_bytes() {
    let mut corpus = vec![vec![]; 64];
    for chunk in &mut corpus[..9] {
        *chunk = words("a");
    }
    corpus[3] = words("a a a x");
    let bytes = section(&corpus);
    assert_eq!(bytes[24..28], [1, 0, 0, 0]);
    let row = [&[1, 1, 1, 3, 1, 1, 1, 1, 1][..], &[0; 55]].concat();
    assert_eq!(bytes[320..384], row);
    assert_eq!(
        bytes[384..400],
        [1, 1, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    // A skip, then the positions of nine chunks; those of x.
    let positions = [0, 0, 0, 0, 0, 0, 0, 1, 3, 2, 0, 0, 0, 0, 0, 6];
    assert_eq!(bytes[bytes.len() - 16..], positions);
}

/// Text as a language has it: a few words make up most of it.
fn skewed_corpus(count: u64, seed: u64, len: std::ops::Range<u64>) -> Vec<Chunk> {
    let chance = |n: u64| crate::random::splitmix64(seed ^ n.wrapping_mul(0x9e37_79b9));
    let word = |n: u64| {
        let share = (chance(n) >> 11) as f64 / (1u64 << 53) as f64;
        format!("w{}", (share.powi(3) * 2000.0) as u32)
    };
    let chunk = |n: u64| {
        let words = len.start + chance(n << 20) % (len.end - len.start);
        (0..words).map(|i| word(n << 20 | i << 1 | 1)).collect()
    };
    (0..count).map(chunk).collect()
}

#[test]
fn mixed_terms_agree_with_exhaustive_scoring() {
    let (corpus, questions) = (skewed_corpus(3000, 1, 5..60), skewed_corpus(40, 2, 1..16));
    let odd: RoaringBitmap = (0..3000).filter(|n| n % 2 == 1).collect();
    let few: RoaringBitmap = (0..3000).filter(|n| n % 97 == 0).collect();
    let nothing = RoaringBitmap::new();
    for (question, k) in questions.iter().zip([1, 10, 100].into_iter().cycle()) {
        let scores = oracle(&corpus, question);
        for filter in [None, Some(&odd), Some(&few)] {
            let rounded = |score: f64| (score * 1e5).round() as i64;
            let allowed = (0u32..).zip(&scores);
            let allowed = allowed.filter(|&(id, _)| filter.is_none_or(|f| f.contains(id)));
            let mut best: Vec<i64> = allowed.map(|(_, &score)| rounded(score)).collect();
            best.sort_unstable_by_key(|&score| -score);
            best.retain(|&score| score > 0);
            best.truncate(k);
            for cuts in [&[][..], &[700, 1800]] {
                let found = search_segments(&corpus, cuts, question, (filter, &nothing), k);
                let found = found.iter().map(|hit| scores[hit.ordinal.0 as usize]);
                let found: Vec<i64> = found.map(rounded).collect();
                assert_eq!(found.len(), best.len());
                let near = found.iter().zip(&best).all(|(a, b)| (a - b).abs() <= 2);
                assert!(near, "{question:?}: {found:?}, {best:?}");
            }
        }
    }
}

/// Beyond the first 65,536 chunks few windows are read whole.
#[test]
fn maxscore_windows_agree_with_exhaustive_scoring() {
    const COUNT: u32 = 200_000;
    let (corpus, questions) = (
        skewed_corpus(COUNT.into(), 3, 2..14),
        skewed_corpus(60, 4, 1..9),
    );
    let reader = TextReader::new(section(&corpus)).unwrap();
    let odd: RoaringBitmap = (0..COUNT).filter(|n| n % 2 == 1).collect();
    let few: RoaringBitmap = (0..COUNT).filter(|n| n % 997 == 0).collect();
    let dead: RoaringBitmap = (0..COUNT).filter(|n| n % 5 == 1).collect();
    let segments = single_segment(&reader, &dead, COUNT);
    let scorer = Scorer::new(Bm25::default(), statistics(&segments)).unwrap();
    let mut scratch = TextScratch::new();
    for question in &questions {
        let weights = weights(&segments, question).unwrap();
        let score = |chunk: &Chunk| {
            let tf = |term: &str| chunk.iter().filter(|word| *word == term).count() as u32;
            let terms: Vec<(f32, u32)> = weights.iter().map(|(term, w)| (*w, tf(term))).collect();
            scorer.score_chunk(&terms, chunk.len() as u32)
        };
        let scores: Vec<f32> = corpus.iter().map(score).collect();
        for filter in [None, Some(&odd), Some(&few)] {
            let may = |at: &u32| !dead.contains(*at) && filter.is_none_or(|f| f.contains(*at));
            let mut best: Vec<u32> = (0..COUNT).filter(may).collect();
            best.retain(|&at| scores[at as usize] > 0.0);
            best.sort_by(|&a, &b| {
                let by_score = scores[b as usize].total_cmp(&scores[a as usize]);
                by_score.then(a.cmp(&b))
            });
            best.truncate(10);
            let options = TextSearch {
                filter,
                ..TextSearch::new(10)
            };
            let found = search(&segments, question, &options, &mut scratch).unwrap();
            assert_eq!(hits(&found), best, "{question:?}");
            for hit in found {
                assert_eq!(hit.score, scores[hit.ordinal.0 as usize]);
            }
        }
    }
}

#[test]
fn terms_over_budget_are_skipped_lowest_weight_first() {
    let corpus: Vec<Chunk> = (0..200)
        .map(|n| {
            let rare = if n % 40 == 0 { "rare" } else { "x" };
            let middle = if n % 10 == 0 { "middle" } else { "y" };
            vec![rare.into(), middle.into(), "often".into()]
        })
        .collect();
    let reader = TextReader::new(section(&corpus)).unwrap();
    let dead = RoaringBitmap::new();
    let segments = single_segment(&reader, &dead, 200);
    let mut scratch = TextScratch::new();
    let mut found = |postings_max| {
        let options = TextSearch {
            postings_max,
            ..TextSearch::new(200)
        };
        let question = ["often", "middle", "rare"];
        let found = search(&segments, &question, &options, &mut scratch).unwrap();
        (found.len(), scratch.skipped_terms())
    };
    assert_eq!(found(None), (200, 0));
    assert_eq!(found(Some(1000)), (200, 0));
    assert_eq!(found(Some(25)), (20, 1), "5 and 20 postings, but no row");
    assert_eq!(found(Some(0)), (5, 2), "one word counts always");
}

/// Uses every reading function; only the absence of a panic is asked.
fn exercise(bytes: Vec<u8>) {
    let Ok(reader) = TextReader::new(bytes) else {
        return;
    };
    let _ = reader.for_each_term(|_, term| {
        reader.postings(term).take(1000).for_each(drop);
        Ok(())
    });
    let dead = RoaringBitmap::new();
    // The second is skimmed for what may beat the hits of the first.
    let placed = [0, 250].map(|base| SegmentReader {
        base: Ordinal(base),
        chunk_count: 250,
        dead: &dead,
        reader: &reader,
    });
    let mut scratch = TextScratch::new();
    let locals: Vec<u32> = (0..250)
        .map(|n| if n % 7 == 3 { REMOVED_LOCAL } else { n })
        .collect();
    let merged = [MergeInput {
        reader: &reader,
        locals: &locals,
    }];
    let _ = merge(&merged, reader.weights(), reader.languages().clone());
    let question = ["a", "b", "ax", "by", "h", "w0", "w7"];
    let few = RoaringBitmap::from([3, 60]);
    for (filter, k) in [(None, 1), (None, 5), (Some(&few), 5)] {
        let _ = search(
            &placed,
            &question,
            &TextSearch {
                filter,
                ..TextSearch::new(k)
            },
            &mut scratch,
        );
    }
    let mut analyzer = crate::analysis::Analyzer::new();
    for question in ["\"w0 w1\"", "+w0 -w3 title:w1", "w1* OR wz1~", "wwwwwwww"] {
        let query = TextQuery::parse(question).unwrap();
        let _ = search_query(
            &placed,
            &query,
            &mut analyzer,
            &TextSearch::new(5),
            &mut scratch,
        );
        let _ = suggest_spellings(&placed, &query, None, &mut analyzer);
    }
}

/// A section with everything: rows, windows, skips and an FST.
fn section_with_every_part() -> &'static [u8] {
    static BYTES: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
        let bytes = section(&skewed_corpus(200, 5, 20..60));
        let reader = TextReader::new(&bytes[..]).unwrap();
        assert!(reader.term_count() > dictionary::LIST_TERMS_MAX as u32);
        assert!(
            u32::from_le_bytes(bytes[24..28].try_into().unwrap()) > 3,
            "rows"
        );
        bytes
    });
    &BYTES
}

#[test]
fn every_truncation_is_refused() {
    let bytes = section(&[words("a b c"), words("b c d")]);
    for len in 0..bytes.len() {
        assert!(TextReader::new(&bytes[..len]).is_err(), "{len}");
    }
    TextReader::new(&bytes[..]).unwrap();
}

proptest! {
    #[test]
    fn search_agrees_with_exhaustive_scoring(corpus in any_corpus(), question in any_chunk(), k in 0usize..50) {
        let found = search_segments(&corpus, &[], &question, (None, &RoaringBitmap::new()), k);
        let scores = oracle(&corpus, &question);
        let mut best: Vec<f64> = scores.iter().copied().filter(|&s| s > 0.0).collect();
        best.sort_by(|a, b| b.total_cmp(a));
        best.truncate(k);
        prop_assert_eq!(found.len(), best.len());
        // A point is a four millionth of the greatest weight, which is below 4 here.
        for (hit, best) in found.iter().zip(best) {
            let own = scores[hit.ordinal.0 as usize];
            prop_assert!((f64::from(hit.score) - own).abs() < 1e-5 * own + 2e-5);
            prop_assert!((f64::from(hit.score) - best).abs() < 1e-5 * best + 2e-5);
        }
        for pair in found.windows(2) {
            let tie = pair[0].score == pair[1].score && pair[0].ordinal < pair[1].ordinal;
            prop_assert!(pair[0].score > pair[1].score || tie);
        }
    }

    #[test]
    fn scores_do_not_depend_on_segmentation(
        corpus in any_corpus(),
        question in any_chunk(),
        cuts in prop::collection::vec(0usize..40, 0..5),
        deleted in prop::collection::btree_set(0u32..40, 0..10),
        filter in prop::option::of(prop::collection::btree_set(0u32..45, 0..40)),
        k in 0usize..20,
    ) {
        let deleted: RoaringBitmap = deleted.into_iter().collect();
        let filter: Option<RoaringBitmap> = filter.map(|set| set.into_iter().collect());
        let excluded = (filter.as_ref(), &deleted);
        let whole = search_segments(&corpus, &[], &question, excluded, k);
        prop_assert_eq!(search_segments(&corpus, &cuts, &question, excluded, k), whole.clone());

        // Excluding inside the search is the same as finding all and dropping the excluded.
        let mut all = search_segments(&corpus, &cuts, &question, (None, &RoaringBitmap::new()), 1000);
        all.retain(|hit| !deleted.contains(hit.ordinal.0));
        all.retain(|hit| filter.as_ref().is_none_or(|f| f.contains(hit.ordinal.0)));
        all.truncate(k);
        prop_assert_eq!(all, whole);
    }

    #[test]
    fn score_chunk_agrees_with_search(corpus in any_corpus(), question in any_chunk()) {
        let reader = TextReader::new(section(&corpus)).unwrap();
        let dead = RoaringBitmap::new();
        let chunk_count = corpus.len() as u32;
        let segments = [SegmentReader { base: Ordinal(0), chunk_count, dead: &dead, reader: &reader }];
        let params = Bm25::default();
        let found = search(&segments, &question, &TextSearch::new(50), &mut TextScratch::new()).unwrap();
        let weights = weights(&segments, &question).unwrap();
        let scorer = Scorer::new(params, statistics(&segments)).unwrap();
        for hit in found {
            let chunk = &corpus[hit.ordinal.0 as usize];
            let tf = |term: &str| chunk.iter().filter(|t| *t == term).count() as u32;
            let terms: Vec<_> = weights.iter().map(|&(term, weight)| (weight, tf(term))).collect();
            prop_assert_eq!(scorer.score_chunk(&terms, chunk.len() as u32), hit.score);
        }
    }

    #[test]
    fn search_with_cached_lookups_finds_the_same(
        corpus in any_corpus(), question in any_chunk(), other in any_chunk(), begins in any::<bool>(),
    ) {
        let [reader, another] = [0, corpus.len() / 2]
            .map(|from| TextReader::new(section(&corpus[from..])).unwrap());
        let dead = RoaringBitmap::new();
        let segments = single_segment(&reader, &dead, corpus.len() as u32);
        let others = single_segment(&another, &dead, corpus.len() as u32);
        let asked = TextSearch::new(50);
        let want = search(&segments, &question, &asked, &mut TextScratch::new()).unwrap();
        let mut scratch = TextScratch::new();
        for (weighed, terms) in [(&segments, &question), (&segments, &other), (&others, &question)] {
            prop_assert_eq!(
                weights_with_scratch(weighed, terms, &mut scratch).unwrap(),
                weights(weighed, terms).unwrap()
            );
            if begins {
                scratch.clear_lookups();
            }
            for _ in 0..2 {
                let found = search(&segments, &question, &asked, &mut scratch).unwrap();
                prop_assert_eq!(&found, &want);
            }
        }
    }

    #[test]
    fn altered_bytes_never_panic(
        corpus in any_corpus(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = section(&corpus);
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        exercise(bytes);
    }

    #[test]
    fn altered_bytes_of_every_part_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut bytes = section_with_every_part().to_vec();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        exercise(bytes);
    }

    #[test]
    fn any_bytes_at_all_never_panic(tail in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = vec![3, 0, 5, 0];
        bytes.extend(tail);
        exercise(bytes);
    }
}
