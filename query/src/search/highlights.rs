//! The words of the question in the hits: where they are, and what unknown ones may mean.

use loci_index::analysis::{Analyzer, Language, untagged};
use loci_index::text::{Highlighter, SpellingSuggestion, TextQuery};
use loci_storage::staging::indexed_text;
use loci_types::answer::Suggestion;

use super::fetch::{FetchedHit, RowFetcher};
use crate::error::QueryError;

/// Sets the characters of each hit that match the question.
pub(super) fn highlight(cited: &mut [FetchedHit], query: &TextQuery, analyzer: &mut Analyzer) {
    let highlighter = Highlighter::new(query, analyzer);
    for cited in cited {
        analyzer.set_languages(cited.language().into());
        let hit = &mut cited.hit;
        let spans = highlighter.spans(&hit.text, analyzer);
        let (mut at, mut chars) = (0, 0u32);
        let mut char_of = |byte: usize| {
            chars += hit.text[at..byte].chars().count() as u32;
            at = byte;
            chars
        };
        let spans = spans.into_iter();
        let spans = spans.map(|span| (char_of(span.start), char_of(span.end)));
        hit.highlights = Some(spans.collect());
    }
}

/// Unknown words with those that they may have meant, as a chunk has them.
pub(super) fn suggestions(
    unknown: Vec<SpellingSuggestion>,
    fetch: &RowFetcher<'_>,
    analyzer: &mut Analyzer,
) -> Result<Vec<Suggestion>, QueryError> {
    let mut all = Vec::with_capacity(unknown.len());
    for SpellingSuggestion { word, term, chunk } in unknown {
        let Ok(fetched) = fetch.get(chunk) else {
            continue;
        };
        analyzer
            .set_languages(Language::from_declared(fetched.document.language.as_deref()).into());
        let text = indexed_text(&fetched.document, &fetched.chunk);
        let mut written = None;
        analyzer.for_each_token(&text, |token| {
            // Not a part of a word, which is indexed beside the whole.
            let (word, is_term) = (&text[token.span], token.term == term);
            if written.is_none() && is_term && word.chars().all(char::is_alphabetic) {
                written = Some(word.to_lowercase());
            }
        });
        let meant = written.unwrap_or_else(|| untagged(&term).to_owned());
        all.push(Suggestion { word, meant });
    }
    Ok(all)
}
