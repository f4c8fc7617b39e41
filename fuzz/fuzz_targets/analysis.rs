//! Any text is split into terms with valid spans, and a second analysis returns the same terms.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_index::analysis::{Analyzer, TERM_CHARS_MAX};

fuzz_target!(|text: &str| {
    let mut analyzer = Analyzer::new();
    let (mut last, mut end) = (0, 0);
    analyzer.for_each_token(text, |token| {
        assert!((1..=TERM_CHARS_MAX).contains(&token.term.chars().count()));
        assert!(
            text.get(token.span.clone())
                .is_some_and(|written| !written.is_empty())
        );
        assert!(token.position >= last || token.span.start < end);
        (last, end) = (token.position, token.span.end);
    });
    assert_eq!(analyzer.terms(text), Analyzer::new().terms(text));
});
