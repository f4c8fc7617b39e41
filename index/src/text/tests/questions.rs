//! Questions of the language beside every chunk asked what the question means; languages of texts.

use super::*;

fn is_between(word: &String, from: &Option<String>, to: &Option<String>) -> bool {
    from.as_ref().is_none_or(|from| word >= from) && to.as_ref().is_none_or(|to| word <= to)
}

/// How often a chunk has what a part asks for, groups aside.
fn occurrence_count(chunk: &[String], node: &parse::Node) -> usize {
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
        let tf = occurrence_count(chunk, node).min(255) as f64;
        let df = corpus
            .iter()
            .filter(|c| occurrence_count(c, node) > 0)
            .count() as f64;
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
                Node::Group(clauses) if !satisfies_required(chunk, clauses) => 0.0,
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
        Node::Wildcard(_, text) => {
            let prefix = text.trim_end_matches('*');
            chunk.iter().any(|word| word.starts_with(prefix))
        }
        Node::Fuzzy(_, text, _) => {
            let misspelt = automata::LevenshteinAutomaton::new(text, 1);
            let is_near = |word: &String| automata::accepts(&misspelt, word.as_bytes());
            chunk.iter().any(is_near)
        }
        Node::Range(_, from, to) => chunk.iter().any(|word| is_between(word, from, to)),
        Node::Group(clauses) => satisfies_required(chunk, clauses),
    }
}

/// Whether a chunk answers, from the meaning of the question.
fn satisfies_required(chunk: &[String], clauses: &[parse::Clause]) -> bool {
    use parse::Occur;
    let of = |occur| clauses.iter().filter(move |clause| clause.occur == occur);
    let (musts, shoulds) = (of(Occur::Must).count(), of(Occur::Should).count());
    of(Occur::Must).all(|clause| has(chunk, &clause.node))
        && !of(Occur::MustNot).any(|clause| has(chunk, &clause.node))
        && (musts > 0 || shoulds == 0 || of(Occur::Should).any(|clause| has(chunk, &clause.node)))
}

/// Whether anything in a chunk counts: what only lacks something is no hit.
fn counts_for_score(chunk: &[String], clauses: &[parse::Clause]) -> bool {
    use parse::{Node, Occur};
    let mut counted = clauses
        .iter()
        .filter(|clause| clause.occur != Occur::MustNot);
    counted.any(|clause| match &clause.node {
        Node::Group(clauses) => {
            satisfies_required(chunk, clauses) && counts_for_score(chunk, clauses)
        }
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
fn matching_chunks(corpus: &[Chunk], cut: usize, question: &str) -> Vec<u32> {
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
) -> Vec<ScoredChunk> {
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
        .map(|((reader, base), dead)| SegmentReader {
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
fn phrases_match_within_one_field() {
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
            .push_texts(LocalOrdinal(local), &mut analyzer, texts, |_, _| {})
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let placed = single_segment(&reader, &dead, 2);
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
    let highlighted: Vec<&str> = spans.into_iter().map(|span| &text[span]).collect();
    assert_eq!(highlighted, ["Deep", "watering", "Water"]);
    let query = TextQuery::parse("wtaer deep xyzzyx levls").unwrap();
    let unknown = suggest_spellings(&placed, &query, None, &mut analyzer).unwrap();
    let suggestions: Vec<(&str, &str, u32)> = unknown
        .iter()
        .map(|unknown| (&*unknown.word, &*unknown.term, unknown.chunk.0))
        .collect();
    assert_eq!(suggestions, [("wtaer", "water", 0), ("levls", "level", 0)]);
}

#[test]
fn query_finds_chunks_in_every_language() {
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
            analyzer.set_languages(Language::from_declared(Some(language)).into());
            let body = [(Field::Body, *text)];
            builder
                .push_texts(LocalOrdinal(0), &mut analyzer, body, |_, _| {})
                .unwrap();
            TextReader::new(builder.finish()).unwrap()
        })
        .collect();
    let none = RoaringBitmap::new();
    let segments: Vec<_> = (0..)
        .zip(&readers)
        .map(|(base, reader)| SegmentReader {
            base: Ordinal(base),
            chunk_count: 1,
            dead: &none,
            reader,
        })
        .collect();
    let languages = readers.iter().map(|reader| reader.languages().languages());
    analyzer.set_languages(languages.fold(Languages::default(), Languages::union));
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
    let unknown = suggest_spellings(&segments, &query, None, &mut analyzer).unwrap();
    let meant: Vec<&str> = unknown.iter().map(|word| &word.term[..]).collect();
    assert_eq!(meant, ["hous", "fluss\r"]);
}

/// A passage in another language, or taken for such, has words that no other has as terms.
#[test]
fn required_word_is_found_with_and_without_accents() {
    let mut builder = TextBuilder::new();
    let mut analyzer = Analyzer::new();
    analyzer.set_languages(Language::from_declared(Some("fra")).into());
    let bodies = ["la sécurité routière", "LA SECURITE ROUTIERE", "la route"];
    for (local, body) in (0..).zip(bodies) {
        builder
            .push_texts(
                LocalOrdinal(local),
                &mut analyzer,
                [(Field::Body, body)],
                |_, _| {},
            )
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let segments = single_segment(&reader, &dead, 3);
    for question in ["+sécurité", "+securite", "sécurité", "la AND SECURITE"] {
        let query = TextQuery::parse(question).unwrap();
        let scratch = &mut TextScratch::new();
        let options = TextSearch::new(9);
        let found = search_query(&segments, &query, &mut analyzer, &options, scratch).unwrap();
        let mut found = hits(&found);
        found.sort_unstable();
        assert_eq!(found, [0, 1], "{question}");
    }
}

#[test]
fn wildcard_fuzzy_and_range_match_unstemmed_words() {
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
                LocalOrdinal(local),
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
        .push_texts(LocalOrdinal(4), &mut analyzer, texts, |_, _| {})
        .unwrap();
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let segments = single_segment(&reader, &dead, 5);
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
        let options = TextSearch::new(9);
        let found = search_query(&segments, &query, &mut analyzer, &options, scratch).unwrap();
        let mut found = hits(&found);
        found.sort_unstable();
        assert_eq!(found, *expected, "{question}");
    }
}

/// A word of one language that a text in another quotes is no rare word.
#[test]
fn word_weight_is_that_of_its_most_frequent_language() {
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
        analyzer.set_languages(Language::from_declared(Some(language)).into());
        builder
            .push_texts(
                LocalOrdinal(local),
                &mut analyzer,
                [(Field::Body, body)],
                |_, _| {},
            )
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let segments = single_segment(&reader, &dead, 60);
    analyzer.set_languages(reader.languages().languages());
    let best = |question: &str, analyzer: &mut Analyzer| {
        let query = TextQuery::parse(question).unwrap();
        let scratch = &mut TextScratch::new();
        let options = TextSearch::new(3);
        let by_language = search_query(&segments, &query, analyzer, &options, scratch).unwrap();
        let (mut terms, mut words) = (Vec::new(), Vec::new());
        analyzer.for_each_token(question, |token| {
            terms.push(token.term.to_owned());
            words.push(token.position);
        });
        let options = TextSearch {
            words: Some(&words),
            ..options
        };
        let by_words = search(&segments, &terms, &options, scratch).unwrap();
        assert_eq!(by_language[0].ordinal, by_words[0].ordinal);
        by_words[0].ordinal.0
    };
    assert_eq!(best("the bridge over the river", &mut analyzer), 7);
    assert!(best("the town", &mut analyzer) < 50);
    assert!((50..59).contains(&best("Stadt am Fluss", &mut analyzer)));
}

#[test]
fn idf_is_computed_per_language() {
    let mut builder = TextBuilder::new();
    let mut analyzer = Analyzer::new();
    for local in 0..40 {
        let language = if local == 7 { "spa" } else { "eng" };
        analyzer.set_languages(Language::from_declared(Some(language)).into());
        let body = match local {
            7 => "the name of the place is not the name of the lake",
            23 => "the granite of the mountain",
            _ => "the water of the river and the name of the lake",
        };
        builder
            .push_texts(
                LocalOrdinal(local),
                &mut analyzer,
                [(Field::Body, body)],
                |_, _| {},
            )
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let segments = single_segment(&reader, &dead, 40);
    analyzer.set_languages(reader.languages().languages());
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
fn positions_are_found_deep_in_rows_and_windows() {
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
    assert_eq!(
        matching_chunks(&corpus, 900, "+\"often x1\""),
        all(&|n| n % 3 == 1)
    );
    assert_eq!(
        matching_chunks(&corpus, 900, "+\"often rare pair\""),
        all(&|n| n.is_multiple_of(11))
    );
    assert_eq!(
        matching_chunks(&corpus, 900, "\"x1 rare\""),
        Vec::<u32>::new()
    );
}

proptest! {
    #[test]
    fn hits_are_scored_by_their_matching_clauses(
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
            .filter(|(_, chunk)| satisfies_required(chunk, &query.clauses))
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
}

proptest! {
    #[test]
    fn query_results_agree_with_reference(
        corpus in any_corpus(),
        cut in 0usize..40,
        question in any_question(),
    ) {
        let query = TextQuery::parse(&question).unwrap();
        let expected = (0..corpus.len()).filter(|&n| {
            satisfies_required(&corpus[n], &query.clauses) && counts_for_score(&corpus[n], &query.clauses)
        });
        let expected: Vec<u32> = expected.map(|n| n as u32).collect();
        prop_assert_eq!(matching_chunks(&corpus, cut, &question), expected, "{}", question);
    }
}
