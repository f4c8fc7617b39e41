//! Any text is a question or an error with a column; a question is answered and highlighted over any texts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_index::analysis::Analyzer;
use loci_index::text::{
    Field, Highlighter, TextBuilder, TextQuery, TextReader, TextScratch, TextSearch, search_query,
    suggest_spellings,
};
use loci_storage::{LocalOrdinal, Ordinal, SegmentReader};
use roaring::RoaringBitmap;

fuzz_target!(|input: (&str, &str)| {
    let (question, texts) = input;
    let query = match TextQuery::parse(question) {
        Ok(query) => query,
        Err(error) => {
            assert!((1..=question.chars().count() + 1).contains(&error.column));
            return;
        }
    };
    let (mut analyzer, mut builder) = (Analyzer::new(), TextBuilder::new());
    for (local, text) in (0..).zip(texts.split('\n')) {
        let field = Field::ALL[local as usize % Field::ALL.len()];
        let texts = [(field, text)];
        builder
            .push_texts(LocalOrdinal(local), &mut analyzer, texts, |_, _| {})
            .unwrap();
    }
    let reader = TextReader::new(builder.finish()).unwrap();
    let dead = RoaringBitmap::new();
    let chunk_count = reader.local_end();
    let placed = [SegmentReader {
        base: Ordinal(0),
        chunk_count,
        dead: &dead,
        reader: &reader,
    }];
    let mut scratch = TextScratch::new();
    let found = search_query(
        &placed,
        &query,
        &mut analyzer,
        &TextSearch::new(10),
        &mut scratch,
    )
    .unwrap();
    assert!(
        found
            .iter()
            .all(|hit| hit.ordinal.0 < chunk_count && hit.score > 0.0)
    );
    suggest_spellings(&placed, &query, None, &mut analyzer).unwrap();
    let highlighter = Highlighter::new(&query, &mut analyzer);
    for text in texts.split('\n') {
        for span in highlighter.spans(text, &mut analyzer) {
            assert!(text.get(span).is_some());
        }
    }
});
