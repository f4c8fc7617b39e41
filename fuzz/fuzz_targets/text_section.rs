//! Any bytes are a text section or a typed error; what opens is searched, listed and merged in bounds.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use loci_index::analysis::Analyzer;
use loci_index::text::{
    MergeInput, REMOVED_LOCAL, TextQuery, TextReader, TextScratch, TextSearch, merge, search,
    search_query, statistics, suggest_spellings, weights,
};
use loci_storage::{Ordinal, SegmentReader};
use roaring::RoaringBitmap;

/// Terms whose postings are read.
const TERMS: usize = 16;
const QUERIES: [&str; 6] = [
    "\"a water\"~1 wat* title:a wtaer~",
    "\"method of loci\"",
    "+water -method",
    "*",
    "w?ter OR (a AND m*d)",
    "lo~2",
];

static ASKED: LazyLock<Vec<TextQuery>> = LazyLock::new(|| {
    QUERIES
        .iter()
        .filter_map(|query| TextQuery::parse(query).ok())
        .collect()
});

fuzz_target!(init: loci_fuzz::ignore_caught_panics(), |bytes: &[u8]| {
    let Ok(reader) = TextReader::new(bytes) else { return };
    let end = reader.local_end();
    let mut terms: Vec<String> = vec!["water".into(), "a".into()];
    let _ = reader.for_each_term(|text, term| {
        if terms.len() < TERMS {
            for posting in reader.postings(term).flatten() {
                assert!(posting.local.0 < end.next_multiple_of(64) && posting.tf > 0);
            }
            terms.push(text.to_owned());
        }
        Ok(())
    });
    let (dead, allowed): (RoaringBitmap, RoaringBitmap) = ([1].into(), (0..40).collect());
    let mut scratch = TextScratch::new();
    let mut analyzer = Analyzer::new();
    for chunk_count in [end, 64] {
        let one = SegmentReader { base: Ordinal(0), chunk_count, dead: &dead, reader: &reader };
        let two = SegmentReader { base: Ordinal(chunk_count), ..one };
        let placed = [one, two];
        for (k, filter, postings_max) in [(100, None, None), (1, Some(&allowed), Some(3))] {
            let asked = TextSearch { filter, postings_max, ..TextSearch::new(k) };
            let _ = search(&placed, &terms, &asked, &mut scratch);
            for query in &*ASKED {
                let _ = search_query(&placed, query, &mut analyzer, &asked, &mut scratch);
            }
        }
        for query in &*ASKED {
            let _ = suggest_spellings(&placed, query, None, &mut analyzer);
        }
        let _ = weights(&placed, &terms);
        statistics(&placed).average_length();
    }
    let locals: Vec<u32> = (0..end).map(|local| if local == 1 { REMOVED_LOCAL } else { local }).collect();
    let short = &locals[..locals.len() / 2];
    for locals in [&locals[..], short] {
        let merged = [MergeInput { reader: &reader, locals }];
        if let Ok(bytes) = merge(&merged, reader.weights(), reader.languages().clone()) {
            let _ = TextReader::new(bytes);
        }
    }
});
