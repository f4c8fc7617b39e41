//! Where sentences begin and end, by one of three rules: see [`SentenceRule`].
//!
//! Always true: ranges ascend and do not overlap. Chunks, digests and answers are cut by them, so a change of a rule
//! changes what is stored.
//!
//! Start reading at [`sentences`].

mod abbreviations;
mod reader;
mod unicode;

use std::ops::Range;

pub use abbreviations::is_before_word;

/// Which bounds divide a text into sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentenceRule {
    /// Sentences of a document, as a reader sees them. They neither start nor end with white space and cover every
    /// character that is not white space.
    ///
    /// A sentence ends at `.`, `!`, `?` or `…` (with closing quotes, brackets and markup after it) when white space
    /// follows, what follows can open a sentence, and what precedes is no abbreviation, initial or list number; at
    /// ideographic full stops; at an empty line; and before a line that opens a list item. Text in back quotes is
    /// never divided.
    Reader,
    /// Unicode's sentence bounds (UAX #29), to measure a text by; together the sentences are the whole text. Beyond
    /// Unicode's rule, which wants a capital to follow, a full stop between spaces ends one: that is how tokenised
    /// lower-case texts write it.
    Unicode,
    /// Sentences to quote: those of [`SentenceRule::Unicode`], joined where a line break, an abbreviation or an initial
    /// divides them, without white space and the signs that open a list item or a quotation; headings of Markdown are
    /// left out.
    Quotation,
}

/// The sentences of `text` by a rule, as byte ranges of it. One pass over the text.
pub fn sentences(text: &str, rule: SentenceRule) -> Vec<Range<usize>> {
    match rule {
        SentenceRule::Reader => reader::sentences(text),
        SentenceRule::Unicode => unicode::sentences(text),
        SentenceRule::Quotation => unicode::quotations(text),
    }
}

/// Digits at the start of a line that number a list item: `3. `, `12) `; 0 where there are none.
fn number_len(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_number = matches!(line.as_bytes()[digits..], [b'.' | b')', b' ', ..]);
    if is_number { digits } else { 0 }
}

#[cfg(test)]
mod tests;
