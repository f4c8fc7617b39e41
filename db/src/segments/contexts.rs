//! What stands around the mentions of a chunk, and which concepts a chunk is about.
//!
//! Invariant: a context follows from the chunk's row, its document's record and the name of the concept.

use std::ops::Range;

use loci_graph::occurrences::{Occurrence, first_occurrences};
use loci_graph::{CONTEXT_TERMS_MAX, ContextTerms, MentionContext, normalise, term_hash};
use loci_index::analysis::Analyzer;
use loci_storage::records::{ChunkRecord, DocumentRecord};
use loci_storage::staging::indexed_title;

/// Characters on each side of a mention whose terms are its context.
const WINDOW_CHARS: usize = 60;

/// The context of each of `names` in a chunk; none where the chunk does not have the name as it is written.
pub(crate) fn mention_contexts(
    analyzer: &mut Analyzer,
    record: &DocumentRecord,
    chunk: &ChunkRecord,
    names: &[&str],
) -> Vec<MentionContext> {
    let title = indexed_title(record, chunk).or(chunk.heading_path.last().map(String::as_str));
    let title = title.unwrap_or_default();
    let titles = titles(record, chunk);
    let text = format!("{title}\n{}", chunk.text);
    let found = first_occurrences(&text, names);
    let body = first_occurrences(&chunk.text, names);
    let byte_starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let byte_of = |char: usize| byte_starts.get(char).copied().unwrap_or(text.len());
    let mut tokens = Vec::new();
    analyzer.for_each_token(&text, |token| {
        tokens.push((token.span, term_hash(token.term)));
    });
    let context = |((name, place), in_body): ((&&str, Option<Occurrence>), Option<Occurrence>)| {
        let terms = place.map_or(ContextTerms::default(), |place| {
            let (start, end) = (place.chars.start, place.chars.end);
            let window = byte_of(start.saturating_sub(WINDOW_CHARS))..byte_of(end + WINDOW_CHARS);
            terms_around(&tokens, window, byte_of(start)..byte_of(end))
        });
        MentionContext {
            is_about: titles.iter().any(|title| title == *name)
                || in_body.is_some_and(|place| place.is_defined),
            terms,
        }
    };
    names.iter().zip(found).zip(body).map(context).collect()
}

/// What the titles of a chunk and of its document are normalised to, with and without what is in brackets at the end.
fn titles(record: &DocumentRecord, chunk: &ChunkRecord) -> Vec<String> {
    let all = record.title.iter().chain(chunk.heading_path.last());
    let forms = all.flat_map(|title| {
        let bare = title.rfind(" (").filter(|_| title.ends_with(')'));
        let place = title.find(", ").filter(|_| is_qualified(title));
        [
            Some(title.as_str()),
            bare.map(|end| &title[..end]),
            place.map(|end| &title[..end]),
        ]
    });
    let mut titles: Vec<String> = forms.flatten().map(normalise).collect();
    titles.dedup();
    titles
}

/// Whether a title is a name and what qualifies it, as *Paris, Texas*.
fn is_qualified(title: &str) -> bool {
    let mut parts = title.split(", ");
    let (name, qualifier) = (parts.next(), parts.next());
    let is_name = |part: &str| {
        let mut words = part.split_whitespace();
        words.clone().count() <= 3 && words.all(|word| word.starts_with(char::is_uppercase))
    };
    parts.next().is_none() && name.is_some_and(is_name) && qualifier.is_some_and(is_name)
}

/// The hashes of the terms in a window that the mention itself lacks, nearest first.
fn terms_around(
    tokens: &[(Range<usize>, u16)],
    window: Range<usize>,
    mention: Range<usize>,
) -> ContextTerms {
    let is_in = |span: &Range<usize>, of: &Range<usize>| span.start < of.end && of.start < span.end;
    let own = tokens.iter().filter(|(span, _)| is_in(span, &mention));
    let own: Vec<u16> = own.map(|&(_, hash)| hash).collect();
    let distance = |span: &Range<usize>| {
        let before = mention.start.saturating_sub(span.end);
        before.max(span.start.saturating_sub(mention.end))
    };
    let around = tokens
        .iter()
        .filter(|(span, hash)| is_in(span, &window) && !own.contains(hash));
    let mut around: Vec<(usize, u16)> =
        around.map(|(span, hash)| (distance(span), *hash)).collect();
    around.sort_unstable();
    let mut terms = ContextTerms::default();
    let mut count = 0;
    for (_, hash) in around {
        if count < CONTEXT_TERMS_MAX && !terms[..count].contains(&hash) {
            terms[count] = hash;
            count += 1;
        }
    }
    terms
}
