//! The seam between a store and whatever writes answers in words.
//!
//! Implementations: a model in a local folder, an endpoint on the network, and the fakes of
//! tests. None is built in: without one, answers consist of sentences of the documents.

/// Writes text that continues a prompt.
///
/// What an implementer owes:
/// - **Text is text.** Signs of the model's own markup in a prompt (`<|end|>`, `[INST]`) are passed on as plain
///   characters: prompts quote documents, and these may contain anything.
/// - **The reply alone.** Neither the prompt nor the model's reasoning is part of it.
/// - **An end.** A call returns in bounded time, with an error if there is no reply by then.
/// - **No panic**, whatever the prompt: an unsuitable prompt gives an error.
///
/// It is called from several threads at once. An implementation that can only do one thing at a time has its own
/// lock.
pub trait Generator: Send + Sync {
    /// Name and version of the model, for messages.
    fn name(&self) -> &str;

    /// The reply to `prompt`, of about `tokens_max` tokens at most, in the model's own tokens. It may be empty.
    ///
    /// # Errors
    /// [`GenerateError`]; there is no reply.
    fn generate(&self, prompt: &str, tokens_max: usize) -> Result<String, GenerateError>;
}

/// Why a prompt has no reply. Every variant documents what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The model cannot be reached, is overloaded, or took too long. Try again later.
    #[error("generator is unavailable: {reason}")]
    Unavailable {
        /// The error of the model or the network.
        reason: String,
    },
    /// The model rejects this prompt permanently. Ask for a smaller one, or correct the settings.
    #[error("generator refused the prompt: {reason}")]
    Refused {
        /// The model's error.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    struct Echo;

    impl Generator for Echo {
        fn name(&self) -> &str {
            "echo-1"
        }

        fn generate(&self, prompt: &str, tokens_max: usize) -> Result<String, GenerateError> {
            match tokens_max {
                0 => Err(GenerateError::Refused {
                    reason: "no room".into(),
                }),
                _ => Ok(prompt.into()),
            }
        }
    }

    #[test]
    fn a_generator_is_shared_as_an_object() {
        let generator: Arc<dyn Generator> = Arc::new(Echo);
        assert_eq!(generator.generate("a", 1), Ok("a".into()));
        let error = generator.generate("a", 0).unwrap_err().to_string();
        assert_eq!(error, "generator refused the prompt: no room");
    }
}
