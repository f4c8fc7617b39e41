//! The seam between budgets and the model that a text is for: how many tokens it has.
//!
//! Several sides earn the trait: a `tokenizer.json` of Hugging Face's format ([`open_tokenizer`], feature `tokenizer`), the
//! tokeniser of a model of the user's, and the fakes of tests. Without one, tokens are estimated.

use std::path::Path;
use std::sync::Arc;

/// A file gives no tokeniser.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct TokenizerError {
    path: String,
    reason: String,
}

/// Reads a tokeniser as Hugging Face's `tokenizers` saves it: `tokenizer.json` beside a model's weights. Its own limits of
/// length are lifted: a count is of the whole text.
///
/// # Errors
/// [`TokenizerError`] when the file cannot be read or is none, or without the feature `tokenizer`.
pub fn open_tokenizer(path: &Path) -> Result<Arc<dyn Tokenizer>, TokenizerError> {
    let opened = open(path);
    opened.map_err(|reason| TokenizerError {
        path: path.display().to_string(),
        reason,
    })
}

#[cfg(feature = "tokenizer")]
fn open(path: &Path) -> Result<Arc<dyn Tokenizer>, String> {
    Ok(Arc::new(file::TokenizerFile::open(path)?))
}

#[cfg(not(feature = "tokenizer"))]
fn open(_: &Path) -> Result<Arc<dyn Tokenizer>, String> {
    Err("this program reads no such files: build it with the feature tokenizer".into())
}

/// Counts the tokens of texts as a model does.
///
/// What an implementer owes:
/// - **The model's count**, of the text alone: what a model puts around a prompt is not part of it. The empty text has none.
/// - **Any text**, of any length and script. What cannot be counted counts as more than it can have, never as less.
/// - **One answer.** Equal texts have equal counts.
///
/// It is called from several threads at once; assembling a context counts texts of a budget's length some twenty
/// times.
pub trait Tokenizer: Send + Sync {
    /// Name and version of the tokeniser, for messages.
    fn name(&self) -> &str;

    /// Tokens of `text`.
    fn count(&self, text: &str) -> usize;
}

#[cfg(feature = "tokenizer")]
mod file {
    use std::path::Path;

    use super::Tokenizer;

    /// A tokeniser from a file.
    pub(super) struct TokenizerFile {
        name: String,
        inner: tokenizers::Tokenizer,
    }

    impl TokenizerFile {
        /// Reads the file.
        pub(super) fn open(path: &Path) -> Result<TokenizerFile, String> {
            let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
            let mut inner = tokenizers::Tokenizer::from_bytes(&bytes).map_err(|error| {
                format!("not a tokeniser: {error}; give the tokenizer.json that comes with a model")
            })?;
            inner
                .with_truncation(None)
                .map_err(|error| error.to_string())?
                .with_padding(None);
            let name = path.display().to_string();
            Ok(TokenizerFile { name, inner })
        }
    }

    impl Tokenizer for TokenizerFile {
        fn name(&self) -> &str {
            &self.name
        }

        /// Bytes of the text if the tokeniser fails: no token is shorter than one byte.
        fn count(&self, text: &str) -> usize {
            let encoded = self.inner.encode_fast(text, false);
            encoded.map_or(text.len(), |encoded| encoded.len())
        }
    }

    #[cfg(test)]
    mod tests {
        use std::io::Write;

        use super::super::open_tokenizer;
        use super::*;

        /// Words in small letters and single signs; whatever is not `river` or `delta` is unknown, and one token.
        const WORDS: &str = r#"{"version": "1.0", "truncation": {"direction": "Right", "max_length": 2,
            "strategy": "LongestFirst", "stride": 0}, "padding": null, "added_tokens": [],
            "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null,
            "decoder": null, "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "river": 1, "delta": 2},
            "unk_token": "[UNK]"}}"#;

        fn file(text: &str) -> tempfile::NamedTempFile {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file
        }

        #[test]
        fn tokenizer_file_counts_whole_texts_without_truncation() {
            let tokenizer = open_tokenizer(file(WORDS).path()).unwrap();
            for (text, tokens) in [
                ("", 0),
                ("River  delta", 2),
                ("the river's delta, twice.", 8),
            ] {
                assert_eq!(tokenizer.count(text), tokens, "{text:?}");
            }
        }

        #[test]
        fn invalid_tokenizer_file_is_rejected_with_its_path() {
            let file = file("{\"model\": 7}");
            let error = open_tokenizer(file.path()).err().unwrap().to_string();
            assert!(
                error.contains(&file.path().display().to_string()),
                "{error}"
            );
            assert!(error.contains("not a tokeniser"), "{error}");
            assert!(open_tokenizer(Path::new("no/such/file")).is_err());
        }
    }
}
