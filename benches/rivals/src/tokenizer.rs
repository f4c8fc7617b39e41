//! LociDB's analyzer as a tokenizer of tantivy, so that both systems index the same terms.

use loci_index::analysis::Analyzer;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// LociDB's analyzer as tantivy's tokenizer.
#[derive(Default)]
pub(crate) struct LociTokenizer {
    analyzer: Analyzer,
}

impl Clone for LociTokenizer {
    /// A new analyzer: its caches are not shared.
    fn clone(&self) -> LociTokenizer {
        LociTokenizer::default()
    }
}

impl Tokenizer for LociTokenizer {
    type TokenStream<'a> = LociTokenStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> LociTokenStream {
        let mut tokens = Vec::new();
        self.analyzer.for_each_token(text, |token| {
            tokens.push(Token {
                offset_from: token.span.start,
                offset_to: token.span.end,
                position: token.position as usize,
                text: token.term.to_owned(),
                position_length: 1,
            });
        });
        LociTokenStream { tokens, next: 0 }
    }
}

/// The tokens of one text.
pub(crate) struct LociTokenStream {
    tokens: Vec<Token>,
    next: usize,
}

impl TokenStream for LociTokenStream {
    fn advance(&mut self) -> bool {
        self.next += 1;
        self.next <= self.tokens.len()
    }

    fn token(&self) -> &Token {
        &self.tokens[self.next - 1]
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokens[self.next - 1]
    }
}
