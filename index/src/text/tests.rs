use loci_storage::{Local, Ordinal, Placed, Scored};
use proptest::prelude::*;
use roaring::RoaringBitmap;

use super::*;
use crate::analysis::{Analyzer, Language, LanguageCounts, Languages};

type Chunk = Vec<String>;

fn section(chunks: &[Chunk]) -> Vec<u8> {
    let mut builder = TextBuilder::new();
    for (local, terms) in chunks.iter().enumerate() {
        builder.push(Local(local as u32), terms).unwrap();
    }
    builder.finish()
}

fn words(text: &str) -> Chunk {
    text.split_whitespace().map(str::to_owned).collect()
}

fn hits(scored: &[Scored]) -> Vec<u32> {
    scored.iter().map(|s| s.ordinal.0).collect()
}

/// Searches `corpus` cut into segments at `cuts`; ordinals are places in the corpus.
fn search_cut(
    corpus: &[Chunk],
    cuts: &[usize],
    question: &[String],
    excluded: (Option<&RoaringBitmap>, &RoaringBitmap),
    k: usize,
) -> Vec<Scored> {
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
        .map(|(&(base, part), (reader, dead))| Placed {
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
fn a_rare_word_beats_a_frequent_one_and_two_beat_one() {
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
        let found = search_cut(&corpus, &[], &words(question), (None, &nothing), 10);
        assert_eq!(hits(&found), *expected, "{question}");
    }
}

#[test]
fn deleted_and_filtered_chunks_leave_room_for_others() {
    let corpus = vec![words("cat"); 6];
    let question = words("cat");
    let deleted = RoaringBitmap::from([0, 4]);
    let filter = RoaringBitmap::from([0, 3, 4, 5, 99]);
    let all = search_cut(&corpus, &[3], &question, (None, &deleted), 3);
    assert_eq!(hits(&all), [1, 2, 3]);
    let some = search_cut(&corpus, &[3], &question, (Some(&filter), &deleted), 3);
    assert_eq!(hits(&some), [3, 5]);
}

#[test]
fn postings_cross_windows_of_64k() {
    let mut builder = TextBuilder::new();
    for local in [0, 65_535, 65_536, 200_000] {
        builder.push(Local(local), ["a"]).unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let term = reader.term("a").unwrap().unwrap();
    let locals: Vec<u32> = reader.postings(term).map(|p| p.unwrap().local.0).collect();
    assert_eq!(locals, [0, 65_535, 65_536, 200_000]);

    let dead = RoaringBitmap::from([65_535]);
    let placed = Placed {
        base: Ordinal(7),
        chunk_count: 200_001,
        dead: &dead,
        reader: &reader,
    };
    let mut scratch = TextScratch::new();
    let found = search(&[placed], &["a"], &TextSearch::new(9), &mut scratch).unwrap();
    assert_eq!(hits(&found), [7, 65_543, 200_007]);

    let short = Placed {
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
fn what_breaks_a_rule_is_refused() {
    let mut builder = TextBuilder::new();
    builder.push(Local(3), ["a"]).unwrap();
    assert!(matches!(
        builder.push(Local(3), ["a"]),
        Err(TextError::Order { local: 3, last: 3 })
    ));
    let long = "x".repeat(TERM_BYTES_MAX + 1);
    assert!(matches!(
        builder.push(Local(4), ["b", &long]),
        Err(TextError::TermLength(258))
    ));
    assert!(matches!(
        builder.push(Local(4), [""]),
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
fn terms_come_sorted_with_their_chunks() {
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
            Local(0),
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
fn fields_count_as_their_weights_say() {
    let mut builder = TextBuilder::with_weights([1, 3, 1, 1, 1]);
    let mut analyzer = crate::analysis::Analyzer::new();
    for (local, field) in [(0, Field::Body), (1, Field::Title)] {
        let texts = [(field, "water"), (Field::Body, "and some more words")];
        builder
            .push_texts(Local(local), &mut analyzer, texts, |_, _| {})
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let postings = reader.postings(reader.term("water").unwrap().unwrap());
    let told: Vec<(u8, u8)> = postings
        .map(|p| p.unwrap())
        .map(|p| (p.tf, p.length_code))
        .collect();
    assert_eq!(told, [(1, 5), (3, 7)]);
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
fn skewed(count: u64, seed: u64, len: std::ops::Range<u64>) -> Vec<Chunk> {
    let chance = |n: u64| crate::chance::mixed(seed ^ n.wrapping_mul(0x9e37_79b9));
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
fn frequent_and_rare_terms_together_find_what_scoring_every_chunk_finds() {
    let (corpus, questions) = (skewed(3000, 1, 5..60), skewed(40, 2, 1..16));
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
                let found = search_cut(&corpus, cuts, question, (filter, &nothing), k);
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
fn windows_that_are_skimmed_hold_what_scoring_every_chunk_finds() {
    const COUNT: u32 = 200_000;
    let (corpus, questions) = (skewed(COUNT.into(), 3, 2..14), skewed(60, 4, 1..9));
    let reader = TextReader::new(section(&corpus)).unwrap();
    let odd: RoaringBitmap = (0..COUNT).filter(|n| n % 2 == 1).collect();
    let few: RoaringBitmap = (0..COUNT).filter(|n| n % 997 == 0).collect();
    let dead: RoaringBitmap = (0..COUNT).filter(|n| n % 5 == 1).collect();
    let segments = [Placed {
        base: Ordinal(0),
        chunk_count: COUNT,
        dead: &dead,
        reader: &reader,
    }];
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
            let asked = TextSearch {
                filter,
                ..TextSearch::new(10)
            };
            let found = search(&segments, question, &asked, &mut scratch).unwrap();
            assert_eq!(hits(&found), best, "{question:?}");
            for hit in found {
                assert_eq!(hit.score, scores[hit.ordinal.0 as usize]);
            }
        }
    }
}

#[test]
fn what_time_does_not_allow_is_left_out_least_weight_first() {
    let corpus: Vec<Chunk> = (0..200)
        .map(|n| {
            let rare = if n % 40 == 0 { "rare" } else { "x" };
            let middle = if n % 10 == 0 { "middle" } else { "y" };
            vec![rare.into(), middle.into(), "often".into()]
        })
        .collect();
    let reader = TextReader::new(section(&corpus)).unwrap();
    let dead = RoaringBitmap::new();
    let segments = [Placed {
        base: Ordinal(0),
        chunk_count: 200,
        dead: &dead,
        reader: &reader,
    }];
    let mut scratch = TextScratch::new();
    let mut found = |postings_max| {
        let asked = TextSearch {
            postings_max,
            ..TextSearch::new(200)
        };
        let question = ["often", "middle", "rare"];
        let found = search(&segments, &question, &asked, &mut scratch).unwrap();
        (found.len(), scratch.left_out())
    };
    assert_eq!(found(None), (200, 0));
    assert_eq!(found(Some(1000)), (200, 0));
    assert_eq!(found(Some(25)), (20, 1), "5 and 20 postings, but no row");
    assert_eq!(found(Some(0)), (5, 2), "one word counts always");
}

fn is_between(word: &String, from: &Option<String>, to: &Option<String>) -> bool {
    from.as_ref().is_none_or(|from| word >= from) && to.as_ref().is_none_or(|to| word <= to)
}

/// How often a chunk has what a part asks for, groups aside.
fn often(chunk: &[String], node: &parse::Node) -> usize {
    use parse::Node;
    match node {
        Node::Phrase(_, text, _) => {
            let phrase = words(text);
            let windows = chunk.windows(phrase.len());
            windows.filter(|here| *here == phrase).count()
        }
        node => {
            let has_one = |word: &&String| has(std::slice::from_ref(word), node);
            chunk.iter().filter(has_one).count()
        }
    }
}

/// The score of a chunk: what its parts count, those of groups that it does not answer left out.
fn score(corpus: &[Chunk], chunk: &Chunk, clauses: &[parse::Clause], boost: f64) -> f64 {
    use parse::{Node, Occur};
    let with_terms = corpus.iter().filter(|c| !c.is_empty());
    let n = with_terms.clone().count() as f64;
    let average = with_terms.map(|c| c.len()).sum::<usize>() as f64 / n;
    let length = f64::from(length::decode(length::encode(chunk.len() as u32)));
    let gain = |node: &Node| {
        let tf = often(chunk, node).min(255) as f64;
        let df = corpus.iter().filter(|c| often(c, node) > 0).count() as f64;
        let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
        idf * tf / (tf + f64::from(1.2f32) * (0.25 + 0.75 * length / average))
    };
    let counted = clauses
        .iter()
        .filter(|clause| clause.occur != Occur::MustNot);
    counted
        .map(|clause| {
            let boost = (boost * f64::from(clause.boost)).clamp(0.01, 100.0);
            match &clause.node {
                Node::Group(clauses) if !answers(chunk, clauses) => 0.0,
                Node::Group(clauses) => score(corpus, chunk, clauses, boost),
                node => boost * gain(node),
            }
        })
        .sum()
}

/// Whether a chunk has what a part of a question asks for.
fn has(chunk: &[String], node: &parse::Node) -> bool {
    use parse::Node;
    match node {
        Node::Words(_, text) => words(text).iter().any(|word| chunk.contains(word)),
        Node::Phrase(_, text, _) => {
            let phrase = words(text);
            chunk.windows(phrase.len()).any(|here| here == phrase)
        }
        Node::Pattern(_, text) => {
            let prefix = text.trim_end_matches('*');
            chunk.iter().any(|word| word.starts_with(prefix))
        }
        Node::Misspelt(_, text, _) => {
            let misspelt = automata::Misspelling::new(text, 1);
            let is_near = |word: &String| automata::accepts(&misspelt, word.as_bytes());
            chunk.iter().any(is_near)
        }
        Node::Range(_, from, to) => chunk.iter().any(|word| is_between(word, from, to)),
        Node::Group(clauses) => answers(chunk, clauses),
    }
}

/// Whether a chunk answers, from the meaning of the question.
fn answers(chunk: &[String], clauses: &[parse::Clause]) -> bool {
    use parse::Occur;
    let of = |occur| clauses.iter().filter(move |clause| clause.occur == occur);
    let (musts, shoulds) = (of(Occur::Must).count(), of(Occur::Should).count());
    of(Occur::Must).all(|clause| has(chunk, &clause.node))
        && !of(Occur::MustNot).any(|clause| has(chunk, &clause.node))
        && (musts > 0 || shoulds == 0 || of(Occur::Should).any(|clause| has(chunk, &clause.node)))
}

/// Whether anything in a chunk counts: what only lacks something is no hit.
fn counts(chunk: &[String], clauses: &[parse::Clause]) -> bool {
    use parse::{Node, Occur};
    let mut counted = clauses
        .iter()
        .filter(|clause| clause.occur != Occur::MustNot);
    counted.any(|clause| match &clause.node {
        Node::Group(clauses) => answers(chunk, clauses) && counts(chunk, clauses),
        node => has(chunk, node),
    })
}

fn any_question() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        1 => "\\[[a-d] TO [e-h]\\]",
        1 => "[a-h]\\^[2-9]",
        4 => "[a-h]",
        2 => "[a-h]{2}",
        2 => "\"[a-h] [a-h]\"",
        1 => "\"[a-h] [a-h] [a-h]\"",
        1 => "[a-c]\\*",
        1 => "[a-c][x-z]~",
    ];
    let signed = (prop::sample::select(vec!["", "", "+", "-"]), leaf);
    let clause = signed.prop_map(|(sign, leaf)| format!("{sign}{leaf}"));
    let list = prop::collection::vec(clause, 1..5).prop_map(|all| all.join(" "));
    (
        list.clone(),
        prop::sample::select(vec![" ", " OR ", " AND "]),
        list,
    )
        .prop_map(|(a, join, b)| format!("({a}){join}({b})"))
}

/// The ordinals that answer a question over `corpus` cut in two.
fn asked(corpus: &[Chunk], cut: usize, question: &str) -> Vec<u32> {
    let mut found = hits(&ranked(corpus, cut, question, None, &RoaringBitmap::new()));
    found.sort_unstable();
    found
}

fn ranked(
    corpus: &[Chunk],
    cut: usize,
    question: &str,
    filter: Option<&RoaringBitmap>,
    deleted: &RoaringBitmap,
) -> Vec<Scored> {
    let cut = cut.min(corpus.len());
    let (first, second) = corpus.split_at(cut);
    let readers = [first, second].map(|part| TextReader::new(section(part)).unwrap());
    let bases = [0, cut];
    let dead = bases.map(|base| -> RoaringBitmap {
        let after = deleted.iter().filter(|&at| at >= base as u32);
        after.map(|at| at - base as u32).collect()
    });
    let segments: Vec<_> = readers
        .iter()
        .zip(bases)
        .zip(&dead)
        .map(|((reader, base), dead)| Placed {
            base: Ordinal(base as u32),
            chunk_count: reader.local_end().max(1),
            dead,
            reader,
        })
        .collect();
    let query = TextQuery::parse(question).unwrap();
    let mut analyzer = crate::analysis::Analyzer::new();
    let mut scratch = TextScratch::new();
    let found = search_query(
        &segments,
        &query,
        &mut analyzer,
        &TextSearch {
            filter,
            ..TextSearch::new(1000)
        },
        &mut scratch,
    );
    found.unwrap()
}

#[test]
fn phrases_stand_in_one_field() {
    let mut builder = TextBuilder::new();
    let mut analyzer = crate::analysis::Analyzer::new();
    let chunks = [
        [(Field::Title, "Deep water"), (Field::Body, "levels rise")],
        [
            (Field::Title, "Deep"),
            (Field::Body, "water levels, rising"),
        ],
    ];
    for (local, texts) in (0..).zip(chunks) {
        builder
            .push_texts(Local(local), &mut analyzer, texts, |_, _| {})
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let placed = [Placed {
        base: Ordinal(0),
        chunk_count: 2,
        dead: &dead,
        reader: &reader,
    }];
    let cases: &[(&str, &[u32])] = &[
        ("\"deep water\"", &[0]),
        ("\"water level\"", &[1]),
        ("\"water rising\"", &[]),
        ("\"water rising\"~1", &[1]),
        ("title:water", &[0]),
        ("body:water", &[1]),
        ("title:wat*", &[0]),
        ("body:lvel~", &[0, 1]),
        ("title:\"deep water\" -levels", &[]),
        ("+deep -title:water", &[1]),
        ("LEVELS", &[0, 1]),
        ("-deep", &[]),
        ("rise OR NOT level", &[0, 1]),
        ("rise AND (NOT zzz)", &[0, 1]),
        ("rise AND +(NOT deep)", &[]),
        ("+— +deep", &[0, 1]),
        ("\"deep deep\"~2", &[]),
        ("\"\"", &[]),
    ];
    for (question, expected) in cases {
        let query = TextQuery::parse(question).unwrap();
        let mut scratch = TextScratch::new();
        let found = search_query(
            &placed,
            &query,
            &mut analyzer,
            &TextSearch::new(10),
            &mut scratch,
        );
        let mut found = hits(&found.unwrap());
        found.sort_unstable();
        assert_eq!(found, *expected, "{question}");
    }
    let query = TextQuery::parse("waters wat* \"deep x\" -rise").unwrap();
    let highlighter = Highlighter::new(&query, &mut analyzer);
    let text = "Deep, watering: Water rises";
    let spans = highlighter.spans(text, &mut analyzer);
    let told: Vec<&str> = spans.into_iter().map(|span| &text[span]).collect();
    assert_eq!(told, ["Deep", "watering", "Water"]);
    let query = TextQuery::parse("wtaer deep xyzzyx levls").unwrap();
    let unknown = unknown(&placed, &query, None, &mut analyzer).unwrap();
    let told: Vec<(&str, &str, u32)> = unknown
        .iter()
        .map(|unknown| (&*unknown.word, &*unknown.term, unknown.chunk.0))
        .collect();
    assert_eq!(told, [("wtaer", "water", 0), ("levls", "level", 0)]);
}

#[test]
fn a_question_finds_chunks_in_every_language() {
    let texts = [
        ("eng", "The runner was running along old houses"),
        ("deu", "Die alten Häuser stehen am Fluss"),
        ("deu", "Das Running Gag ist alt, ein Haus am See"),
        ("fra", "Les maisons anciennes et les coureurs"),
    ];
    let mut analyzer = Analyzer::new();
    let readers: Vec<_> = texts
        .iter()
        .map(|(language, text)| {
            let mut builder = TextBuilder::new();
            analyzer.speak(Language::of(Some(language)).into());
            let body = [(Field::Body, *text)];
            builder
                .push_texts(Local(0), &mut analyzer, body, |_, _| {})
                .unwrap();
            TextReader::new(builder.finish()).unwrap()
        })
        .collect();
    let none = RoaringBitmap::new();
    let segments: Vec<_> = (0..)
        .zip(&readers)
        .map(|(base, reader)| Placed {
            base: Ordinal(base),
            chunk_count: 1,
            dead: &none,
            reader,
        })
        .collect();
    let languages = readers.iter().map(|reader| reader.languages().languages());
    analyzer.speak(languages.fold(Languages::default(), Languages::union));
    let mut found = |question: &str| {
        let query = TextQuery::parse(question).unwrap();
        let scratch = &mut TextScratch::new();
        let hits = search_query(
            &segments,
            &query,
            &mut analyzer,
            &TextSearch::new(9),
            scratch,
        )
        .unwrap();
        let mut hits: Vec<u32> = hits.iter().map(|hit| hit.ordinal.0).collect();
        hits.sort_unstable();
        hits
    };
    assert_eq!(found("hauses"), [1, 2]);
    assert_eq!(found("+runs"), [0]);
    assert_eq!(found("run running"), [0, 2]);
    assert_eq!(found("\"altes Haus\""), [1]);
    assert_eq!(found("\"old house\" maison"), [0, 3]);
    assert_eq!(found("+haus -see"), [1]);
    assert_eq!(found("hauser~1"), [0, 1, 2], "hous is near to haus");
    assert_eq!(found("body:coureur"), [3]);
    let query = TextQuery::parse("housse flusss maison").unwrap();
    let unknown = unknown(&segments, &query, None, &mut analyzer).unwrap();
    let meant: Vec<&str> = unknown.iter().map(|word| &word.term[..]).collect();
    assert_eq!(meant, ["hous", "fluss\r"]);
}

/// A passage in another language, or taken for such, has words that no other has as terms.
#[test]
fn words_that_are_written_out_are_found_whatever_their_stem() {
    let mut builder = TextBuilder::new();
    let mut analyzer = Analyzer::new();
    let bodies = [
        "the history of databases",
        "engineers were watering the aerodynamics lab",
        "\u{6c34}\u{4f4d}\u{306f}\u{9ad8}\u{3044}",
        "waters of the lake",
    ];
    for (local, body) in (0..).zip(bodies) {
        builder
            .push_texts(
                Local(local),
                &mut analyzer,
                [(Field::Body, body)],
                |_, _| {},
            )
            .unwrap();
    }
    let texts = [
        (Field::Title, "write ahead log"),
        (Field::Headings, "recovery"),
    ];
    builder
        .push_texts(Local(4), &mut analyzer, texts, |_, _| {})
        .unwrap();
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let segments = [Placed {
        base: Ordinal(0),
        chunk_count: 5,
        dead: &dead,
        reader: &reader,
    }];
    let cases: &[(&str, &[u32])] = &[
        ("database*", &[0]),
        ("history*", &[0]),
        ("h*y", &[0]),
        ("histroy~", &[0]),
        ("engineer*", &[1]),
        ("watering*", &[1, 3]),
        ("[watering TO watering]", &[1, 3]),
        ("aerodynamics*", &[1]),
        ("\u{6c34}", &[2]),
        ("+\u{4f4d} -lake", &[2]),
        ("headings:log", &[4]),
        ("title:log", &[4]),
        ("title:recovery", &[]),
    ];
    let mut marked = |question: &str, text: &str| -> Vec<String> {
        let query = TextQuery::parse(question).unwrap();
        let highlighter = Highlighter::new(&query, &mut analyzer);
        let spans = highlighter.spans(text, &mut analyzer);
        spans
            .into_iter()
            .map(|span| text[span].to_owned())
            .collect()
    };
    assert_eq!(marked("histroy~", bodies[0]), ["history"]);
    assert_eq!(marked("watering*", bodies[1]), ["watering"]);
    assert!(!marked("\u{6c34}", bodies[2]).is_empty());
    for (question, expected) in cases {
        let query = TextQuery::parse(question).unwrap();
        let scratch = &mut TextScratch::new();
        let asked = TextSearch::new(9);
        let found = search_query(&segments, &query, &mut analyzer, &asked, scratch).unwrap();
        let mut found = hits(&found);
        found.sort_unstable();
        assert_eq!(found, *expected, "{question}");
    }
}

/// A word of one language that a text in another quotes is no rare word.
#[test]
fn a_word_weighs_what_it_does_in_the_language_where_most_chunks_have_it() {
    let mut builder = TextBuilder::new();
    let mut analyzer = Analyzer::new();
    for local in 0..60 {
        let (language, body) = match local {
            59 => ("deu", "ein Lied mit dem Namen The Bridge und noch mehr"),
            50.. => ("deu", "der Fluss und die Stadt an dem Fluss"),
            7 => (
                "eng",
                "the bridge over the river and the town at the bridge",
            ),
            _ => ("eng", "the water of the river and the name of the town"),
        };
        analyzer.speak(Language::of(Some(language)).into());
        builder
            .push_texts(
                Local(local),
                &mut analyzer,
                [(Field::Body, body)],
                |_, _| {},
            )
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let segments = [Placed {
        base: Ordinal(0),
        chunk_count: 60,
        dead: &dead,
        reader: &reader,
    }];
    analyzer.speak(reader.languages().languages());
    let best = |question: &str, analyzer: &mut Analyzer| {
        let query = TextQuery::parse(question).unwrap();
        let scratch = &mut TextScratch::new();
        let asked = TextSearch::new(3);
        let by_language = search_query(&segments, &query, analyzer, &asked, scratch).unwrap();
        let (mut terms, mut words) = (Vec::new(), Vec::new());
        analyzer.for_each_token(question, |token| {
            terms.push(token.term.to_owned());
            words.push(token.position);
        });
        let asked = TextSearch {
            words: Some(&words),
            ..asked
        };
        let by_words = search(&segments, &terms, &asked, scratch).unwrap();
        assert_eq!(by_language[0].ordinal, by_words[0].ordinal);
        by_words[0].ordinal.0
    };
    assert_eq!(best("the bridge over the river", &mut analyzer), 7);
    assert!(best("the town", &mut analyzer) < 50);
    assert!((50..59).contains(&best("Stadt am Fluss", &mut analyzer)));
}

#[test]
fn words_are_rare_among_the_chunks_of_their_language() {
    let mut builder = TextBuilder::new();
    let mut analyzer = Analyzer::new();
    for local in 0..40 {
        let language = if local == 7 { "spa" } else { "eng" };
        analyzer.speak(Language::of(Some(language)).into());
        let body = match local {
            7 => "the name of the place is not the name of the lake",
            23 => "the granite of the mountain",
            _ => "the water of the river and the name of the lake",
        };
        builder
            .push_texts(
                Local(local),
                &mut analyzer,
                [(Field::Body, body)],
                |_, _| {},
            )
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let segments = [Placed {
        base: Ordinal(0),
        chunk_count: 40,
        dead: &dead,
        reader: &reader,
    }];
    analyzer.speak(reader.languages().languages());
    let terms = analyzer.terms("the granite of the lake");
    assert_eq!(terms.len(), 10, "each word in both languages");
    let found = search(
        &segments,
        &terms,
        &TextSearch::new(3),
        &mut TextScratch::new(),
    )
    .unwrap();
    assert_eq!(found[0].ordinal, Ordinal(23));
    assert!(found[0].score > 2.0 * found[1].score);
}

#[test]
fn positions_are_found_far_into_rows_and_windows() {
    let chunk = |n: u32| {
        let often = format!("often x{} often", n % 3);
        let rare = if n.is_multiple_of(11) {
            " rare pair"
        } else {
            ""
        };
        words(&format!("{often}{rare}"))
    };
    let corpus: Vec<Chunk> = (0..2000).map(chunk).collect();
    let all = |f: &dyn Fn(u32) -> bool| (0..2000).filter(|&n| f(n)).collect::<Vec<u32>>();
    assert_eq!(asked(&corpus, 900, "+\"often x1\""), all(&|n| n % 3 == 1));
    assert_eq!(
        asked(&corpus, 900, "+\"often rare pair\""),
        all(&|n| n.is_multiple_of(11))
    );
    assert_eq!(asked(&corpus, 900, "\"x1 rare\""), Vec::<u32>::new());
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
    let placed = [0, 250].map(|base| Placed {
        base: Ordinal(base),
        chunk_count: 250,
        dead: &dead,
        reader: &reader,
    });
    let mut scratch = TextScratch::new();
    let locals: Vec<u32> = (0..250)
        .map(|n| if n % 7 == 3 { LEFT_OUT } else { n })
        .collect();
    let merged = [Merged {
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
        let _ = unknown(&placed, &query, None, &mut analyzer);
    }
}

/// A section with everything: rows, windows, skips and an FST.
fn rich() -> &'static [u8] {
    static BYTES: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
        let bytes = section(&skewed(200, 5, 20..60));
        let reader = TextReader::new(&bytes[..]).unwrap();
        assert!(reader.term_count() > dictionary::LISTED_MAX as u32);
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

/// The text of a chunk, field by field.
fn any_texts() -> impl Strategy<Value = Vec<(usize, String)>> {
    prop::collection::vec((0usize..5, "[a-f]{0,2}( [a-d]){0,6}"), 0..4)
}

fn push(builder: &mut TextBuilder, local: usize, texts: &[(usize, String)]) {
    let texts = texts.iter();
    let texts = texts.map(|(field, text)| (Field::ALL[*field], text.as_str()));
    builder
        .push_texts(Local(local as u32), &mut Analyzer::new(), texts, |_, _| {})
        .unwrap();
}

/// Merges chunks that are dealt out to sections, and compares with a section made of them at once.
fn check_merge(chunks: &[(Vec<(usize, String)>, usize, bool)], weights: Weights) {
    const SECTIONS: usize = 3;
    let mut all = TextBuilder::with_weights(weights);
    let mut builders = [(); SECTIONS].map(|_| TextBuilder::with_weights(weights));
    let mut locals = [(); SECTIONS].map(|_| Vec::new());
    let mut kept = 0;
    for (texts, section, stays) in chunks {
        push(&mut builders[*section], locals[*section].len(), texts);
        let new = if *stays { kept } else { LEFT_OUT };
        locals[*section].push(new);
        if *stays {
            push(&mut all, kept as usize, texts);
            kept += 1;
        }
    }
    let readers = builders.map(|builder| TextReader::new(builder.finish()).unwrap());
    let merged: Vec<_> = readers
        .iter()
        .zip(&locals)
        .map(|(reader, locals)| Merged { reader, locals })
        .collect();
    let mut languages = LanguageCounts::default();
    languages.add(Language::ENGLISH.into(), kept.into());
    let bytes = merge(&merged, weights, languages).unwrap();
    assert!(
        bytes == all.finish(),
        "not the bytes of a section made at once"
    );
}

#[test]
fn sections_with_rows_windows_and_skips_merge_into_what_one_would_be() {
    let words = skewed(70_000, 7, 1..4);
    let chunks: Vec<_> = (0..)
        .zip(words)
        .map(|(i, words)| (vec![(i % 5, words.join(" "))], i * i % 3, i % 11 != 0))
        .collect();
    check_merge(&chunks, [1, 2, 1, 1, 1]);
}

#[test]
fn sections_that_do_not_go_together_are_not_merged() {
    let section = |weights: Weights| {
        let mut builder = TextBuilder::with_weights(weights);
        push(&mut builder, 0, &[(0, "water".into())]);
        TextReader::new(builder.finish()).unwrap()
    };
    let (a, b) = (section([1; 5]), section([1, 2, 1, 1, 1]));
    let merged = |reader| Merged {
        reader,
        locals: &[0],
    };
    let languages = LanguageCounts::default;
    assert!(merge(&[merged(&a), merged(&b)], [1; 5], languages()).is_err());
    assert!(merge(&[merged(&a), merged(&a)], [1; 5], languages()).is_err());
    assert!(merge(&[merged(&a)], [1; 5], languages()).is_ok());
    let nothing = merge::<Vec<u8>>(&[], [1; 5], languages()).unwrap();
    assert_eq!(nothing, TextBuilder::new().finish());
}

proptest! {
    #[test]
    fn a_merge_is_what_a_section_made_at_once_is(
        chunks in prop::collection::vec((any_texts(), 0usize..3, any::<bool>()), 0..80),
        weights in prop::array::uniform5(1u8..4),
    ) {
        check_merge(&chunks, weights);
    }

    #[test]
    fn finds_what_scoring_every_chunk_finds(corpus in any_corpus(), question in any_chunk(), k in 0usize..50) {
        let found = search_cut(&corpus, &[], &question, (None, &RoaringBitmap::new()), k);
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
    fn scores_do_not_depend_on_how_chunks_fell_into_segments(
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
        let whole = search_cut(&corpus, &[], &question, excluded, k);
        prop_assert_eq!(search_cut(&corpus, &cuts, &question, excluded, k), whole.clone());

        // Excluding inside the search is the same as finding all and dropping the excluded.
        let mut all = search_cut(&corpus, &cuts, &question, (None, &RoaringBitmap::new()), 1000);
        all.retain(|hit| !deleted.contains(hit.ordinal.0));
        all.retain(|hit| filter.as_ref().is_none_or(|f| f.contains(hit.ordinal.0)));
        all.truncate(k);
        prop_assert_eq!(all, whole);
    }

    #[test]
    fn answers_are_scored_by_the_parts_that_they_have(
        corpus in any_corpus(),
        cut in 0usize..40,
        question in any_question(),
        filter in prop::option::of(prop::collection::btree_set(0u32..40, 0..40)),
        deleted in prop::collection::btree_set(0u32..40, 0..10),
    ) {
        let query = TextQuery::parse(&question).unwrap();
        let filter: Option<RoaringBitmap> = filter.map(|all| all.into_iter().collect());
        let deleted: RoaringBitmap = deleted.into_iter().collect();
        let hits = ranked(&corpus, cut, &question, filter.as_ref(), &deleted);
        let mut expected: Vec<(u32, f64)> = (0u32..)
            .zip(&corpus)
            .filter(|(n, _)| !deleted.contains(*n))
            .filter(|(n, _)| filter.as_ref().is_none_or(|filter| filter.contains(*n)))
            .filter(|(_, chunk)| answers(chunk, &query.clauses))
            .map(|(n, chunk)| (n, score(&corpus, chunk, &query.clauses, 1.0)))
            .filter(|(_, score)| *score > 0.0)
            .collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        prop_assert_eq!(hits.len(), expected.len(), "{}", &question);
        for hit in &hits {
            let own = expected.iter().find(|(n, _)| *n == hit.ordinal.0).unwrap().1;
            let near = (f64::from(hit.score) - own).abs() <= 1e-3 * own.max(1e-3);
            prop_assert!(near, "{}: {} {} {}", &question, hit.ordinal.0, hit.score, own);
        }
        prop_assert!(hits.is_sorted_by(|a, b| a.score >= b.score));
    }

    #[test]
    fn questions_find_what_they_mean(
        corpus in any_corpus(),
        cut in 0usize..40,
        question in any_question(),
    ) {
        let query = TextQuery::parse(&question).unwrap();
        let expected = (0..corpus.len()).filter(|&n| {
            answers(&corpus[n], &query.clauses) && counts(&corpus[n], &query.clauses)
        });
        let expected: Vec<u32> = expected.map(|n| n as u32).collect();
        prop_assert_eq!(asked(&corpus, cut, &question), expected, "{}", question);
    }

    #[test]
    fn a_stored_chunk_scores_as_an_imagined_one(corpus in any_corpus(), question in any_chunk()) {
        let reader = TextReader::new(section(&corpus)).unwrap();
        let dead = RoaringBitmap::new();
        let chunk_count = corpus.len() as u32;
        let segments = [Placed { base: Ordinal(0), chunk_count, dead: &dead, reader: &reader }];
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
        let mut bytes = rich().to_vec();
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
