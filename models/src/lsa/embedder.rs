//! The built-in embedder: a projection and the store's tokeniser.

use rayon::prelude::*;

use super::projection::Projection;
use crate::{EmbedError, Embedder};

/// Calls its second argument with every term of a text, in any order, repeated as often as it
/// occurs. It must be the tokeniser of the fit's rows.
pub type TokenizeFn = Box<dyn Fn(&str, &mut dyn FnMut(&str)) + Send + Sync>;

/// Embeds texts by folding their terms in with a [`Projection`].
///
/// The tokeniser is handed in, for this crate knows no index. A text of which no term is known has a
/// vector of zeros.
///
/// Its name is that of the projection. The name does not cover the tokeniser: whoever changes that
/// fits again.
pub struct LsaEmbedder<B> {
    projection: Projection<B>,
    tokenise: TokenizeFn,
    model: String,
}

impl<B: AsRef<[u8]>> LsaEmbedder<B> {
    /// Combines a projection with the tokeniser of its rows.
    pub fn new(projection: Projection<B>, tokenise: TokenizeFn) -> LsaEmbedder<B> {
        let model = projection.model();
        LsaEmbedder {
            projection,
            tokenise,
            model,
        }
    }

    /// The projection.
    pub fn projection(&self) -> &Projection<B> {
        &self.projection
    }

    /// The vector of one text, `[dim]` and of length 1; `None` when no term is known.
    pub fn embed_one(&self, text: &str) -> Option<Vec<f32>> {
        let mut found = Vec::new();
        (self.tokenise)(text, &mut |term| found.extend(self.projection.term(term)));
        self.projection.project_terms(found)
    }
}

impl<B: AsRef<[u8]> + Send + Sync> Embedder for LsaEmbedder<B> {
    fn dim(&self) -> usize {
        self.projection.dim()
    }

    fn model(&self) -> &str {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &&str| {
            self.embed_one(text)
                .unwrap_or_else(|| vec![0.0; self.dim()])
        };
        match texts {
            // A question is not worth a thread.
            [text] => Ok(vec![vector(text)]),
            _ => Ok(texts.par_iter().map(vector).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::{FitOptions, Fitter};
    use super::*;

    fn by_words() -> TokenizeFn {
        Box::new(|text, each| text.split_whitespace().for_each(each))
    }

    fn embedder() -> LsaEmbedder<Vec<u8>> {
        let mut fitter = Fitter::new();
        for row in [
            "wing flow lift",
            "heat flow wall",
            "heat wall steel",
            "lift wing tail",
        ] {
            fitter.push(row.split_whitespace()).unwrap();
        }
        let fitted = fitter
            .fit(&FitOptions::default(), |_| ControlFlow::Continue(()))
            .unwrap();
        LsaEmbedder::new(Projection::new(fitted.into_bytes()).unwrap(), by_words())
    }

    #[test]
    fn batch_embedding_preserves_order_and_matches_single_embeddings() {
        let embedder = embedder();
        let texts = ["wing", "nothing known", "", "heat wall heat"];
        let batch = embedder.embed(&texts).unwrap();
        assert_eq!(batch.len(), texts.len());
        for (text, vector) in texts.iter().zip(&batch) {
            assert_eq!(&embedder.embed(&[text]).unwrap()[0], vector, "{text}");
            let length: f32 = vector.iter().map(|number| number * number).sum();
            let want = if embedder.embed_one(text).is_some() {
                1.0
            } else {
                0.0
            };
            assert!((length - want).abs() < 1e-5, "{text}: {length}");
            assert_eq!(vector.len(), embedder.dim());
        }
        assert_eq!(embedder.embed(&[]).unwrap(), Vec::<Vec<f32>>::new());
    }

    #[test]
    fn model_name_is_that_of_the_projection() {
        let embedder = embedder();
        assert!(embedder.model().starts_with("lsa-1:"));
        assert_eq!(embedder.model(), embedder.projection().model());
    }
}
