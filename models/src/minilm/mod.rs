//! A sentence encoder in a local folder, such as all-MiniLM-L6-v2: `model.onnx` and `tokenizer.json`.
//!
//! The model is a BERT encoder in ONNX with the inputs `input_ids`, `attention_mask` and, where it wants them,
//! `token_type_ids`, and the states of all tokens as its first output; a vector is their mean, of length 1 (Reimers,
//! Gurevych, "Sentence-BERT", 2019). It runs on all cores, without a network.
//!
//! Invariant: a folder is accepted only if it embeds texts correctly: the built-in ones as all-MiniLM-L6-v2 does, or
//! those of its own `check.json`. Each text is run alone, so its vector does not depend on the others of its batch.
//!
//! Start reading at [`FolderEmbedder::open`]; [`LazyFolderEmbedder`] reads the folder when it is first used.

mod lazy;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;

use rayon::prelude::*;
use rten::{Model, NodeId, RunOptions, ThreadPool, ValueOrView};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};
use serde::Deserialize;
use tokenizers::{Tokenizer, TruncationParams};
use xxhash_rust::xxh3::Xxh3;

use crate::embedder::{EmbedError, Embedder};
pub use lazy::LazyFolderEmbedder;

/// Tokens of a text that are read, its marks included; the rest is cut.
const TOKENS_MAX: usize = 256;
/// Cosine that a vector must have to the one that is known.
const COSINE_MIN: f32 = 0.99;
/// Texts whose vectors are known, by all-MiniLM-L6-v2 in single precision.
const REFERENCE_TEXTS: [&str; 3] = [
    "The method of loci recalls a fact by walking to the place where it was put.",
    "fn main() { println!(\"water\"); }",
    "Der Reiher fischt in der Dämmerung am flachen Ufer.",
];
/// Their vectors, one after another, little-endian.
const REFERENCE_VECTORS: &[u8] = include_bytes!("reference.f32");

/// A model in a folder.
pub struct FolderEmbedder {
    name: String,
    dim: usize,
    model: Model,
    tokenizer: Tokenizer,
    ids: NodeId,
    mask: NodeId,
    token_types: Option<NodeId>,
    hidden_states: NodeId,
    /// A thread a core: texts run beside each other, and the parts of one where it is alone.
    pool: Arc<ThreadPool>,
}

/// A folder contains no usable model.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct FolderError {
    path: String,
    reason: String,
}

/// The test vectors of a folder: texts and their vectors.
#[derive(Deserialize)]
struct ReferenceVector {
    text: String,
    vector: Vec<f32>,
}

impl FolderEmbedder {
    /// Reads the model, and looks whether it embeds as it should. Costs some tenths of a second.
    ///
    /// # Errors
    /// [`FolderError`] where a file is missing or is no model, or the vectors are others than they should be.
    pub fn open(folder: &Path) -> Result<FolderEmbedder, FolderError> {
        let at = |name: &str| folder.join(name);
        let fails = |name: &str, reason: &dyn std::fmt::Display| FolderError {
            path: at(name).display().to_string(),
            reason: reason.to_string(),
        };
        let read = |name: &str| {
            fs::read(at(name)).map_err(|error| {
                fails(
                    name,
                    &format!("{error}; a model folder holds model.onnx and tokenizer.json"),
                )
            })
        };
        let (weights, words) = (read("model.onnx")?, read("tokenizer.json")?);
        let mut hash = Xxh3::new();
        hash.update(&weights);
        hash.update(&words);
        let tokenizer = tokenizer(&words).map_err(|reason| fails("tokenizer.json", &reason))?;
        let model = Model::load(weights).map_err(|error| fails("model.onnx", &error))?;
        let input = |name: &str| {
            model
                .find_node(name)
                .filter(|id| model.input_ids().contains(id))
        };
        let required_input = |name: &str| {
            input(name).ok_or_else(|| fails("model.onnx", &format!("it has no input {name}")))
        };
        let states = model.output_ids().first().copied();
        let mut embedder = FolderEmbedder {
            name: format!("onnx-1:{:016x}", hash.digest()),
            dim: 0,
            ids: required_input("input_ids")?,
            mask: required_input("attention_mask")?,
            token_types: input("token_type_ids"),
            hidden_states: states.ok_or_else(|| fails("model.onnx", &"it has no output"))?,
            pool: Arc::new(ThreadPool::with_num_threads(
                available_parallelism().map_or(1, usize::from),
            )),
            model,
            tokenizer,
        };
        let known = if at("check.json").exists() {
            let known = serde_json::from_slice(&read("check.json")?);
            known.map_err(|error| fails("check.json", &error))?
        } else {
            reference_vectors()
        };
        embedder
            .check(&known)
            .map_err(|reason| fails("model.onnx", &reason))?;
        embedder.dim = known.first().map_or(0, |known| known.vector.len());
        Ok(embedder)
    }

    fn check(&self, known: &[ReferenceVector]) -> Result<(), String> {
        if known.is_empty() {
            return Err("check.json has no texts: give a text and its vector each".into());
        }
        for ReferenceVector { text, vector } in known {
            let own = self.vector(text).map_err(|error| error.to_string())?;
            let cosine: f32 = own.iter().zip(vector).map(|(a, b)| a * b).sum();
            let is_similar = own.len() == vector.len() && cosine >= COSINE_MIN;
            if !is_similar {
                return Err(format!(
                    "it does not embed as it should: {} numbers with a cosine of {cosine:.3} to the {} that are known of {text:?}; \
                     give all-MiniLM-L6-v2 in single precision, or a check.json of its own",
                    own.len(),
                    vector.len()
                ));
            }
        }
        Ok(())
    }

    /// The mean of the states of a text's tokens, of length 1.
    fn vector(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let refused = |error: &dyn std::fmt::Display| EmbedError::Refused {
            reason: error.to_string(),
        };
        let encoded = self
            .tokenizer
            .encode_fast(text, true)
            .map_err(|error| refused(&error))?;
        let count = encoded.get_ids().len();
        let ids: Vec<i32> = encoded.get_ids().iter().map(|&id| id as i32).collect();
        let input = |values: Vec<i32>| ValueOrView::from(NdTensor::from_data([1, count], values));
        let mut inputs = vec![(self.ids, input(ids)), (self.mask, input(vec![1; count]))];
        inputs.extend(self.token_types.map(|kinds| (kinds, input(vec![0; count]))));
        let on_the_pool = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.pool)));
        let [states] = self
            .model
            .run_n(inputs, [self.hidden_states], Some(on_the_pool))
            .map_err(|error| refused(&error))?;
        let states: Tensor<f32> = states
            .try_into()
            .map_err(|_| invalid_output("its output is not of numbers"))?;
        let &[1, tokens, dim] = states.shape() else {
            return Err(invalid_output("its output is not a state a token"));
        };
        let mut mean = vec![0.0f32; dim];
        for state in states.to_vec().chunks_exact(dim) {
            mean.iter_mut().zip(state).for_each(|(sum, x)| *sum += x);
        }
        let norm = mean.iter().map(|x| x * x).sum::<f32>().sqrt();
        if tokens == 0 || !norm.is_normal() {
            return Err(invalid_output("its output has no direction"));
        }
        mean.iter_mut().for_each(|x| *x /= norm);
        Ok(mean)
    }
}

impl Embedder for FolderEmbedder {
    fn dim(&self) -> usize {
        self.dim
    }

    fn model(&self) -> &str {
        &self.name
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vector = |text: &&str| {
            let vector = self.vector(text)?;
            if vector.len() == self.dim {
                Ok(vector)
            } else {
                Err(invalid_output("its vectors are not of one length"))
            }
        };
        self.pool.run(|| texts.par_iter().map(vector).collect())
    }
}

fn invalid_output(reason: &str) -> EmbedError {
    EmbedError::InvalidOutput {
        reason: reason.into(),
    }
}

/// A tokeniser that cuts where the model ends.
fn tokenizer(bytes: &[u8]) -> Result<Tokenizer, String> {
    let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| error.to_string())?;
    let cut = TruncationParams {
        max_length: TOKENS_MAX,
        ..TruncationParams::default()
    };
    tokenizer.with_padding(None);
    tokenizer
        .with_truncation(Some(cut))
        .map_err(|error| error.to_string())?;
    Ok(tokenizer)
}

fn reference_vectors() -> Vec<ReferenceVector> {
    let numbers: Vec<f32> = REFERENCE_VECTORS
        .as_chunks()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    let dim = numbers.len() / REFERENCE_TEXTS.len();
    let known = REFERENCE_TEXTS.iter().zip(numbers.chunks(dim));
    known
        .map(|(text, vector)| ReferenceVector {
            text: (*text).to_owned(),
            vector: vector.to_vec(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_vectors_have_unit_length_and_differ() {
        let known = reference_vectors();
        for (at, one) in known.iter().enumerate() {
            assert_eq!(one.vector.len(), 384);
            for (other, two) in known.iter().enumerate() {
                let cosine: f32 = one.vector.iter().zip(&two.vector).map(|(a, b)| a * b).sum();
                assert_eq!((cosine - 1.0).abs() < 1e-4, at == other, "{cosine}");
            }
        }
    }

    #[test]
    fn error_names_the_missing_file_when_a_folder_has_no_model() {
        let folder = tempfile::tempdir().unwrap();
        let open_error = |folder: &Path| FolderEmbedder::open(folder).err().unwrap().to_string();
        assert!(open_error(folder.path()).contains("model.onnx and tokenizer.json"));
        fs::write(folder.path().join("model.onnx"), b"no model").unwrap();
        fs::write(folder.path().join("tokenizer.json"), b"{}").unwrap();
        assert!(open_error(folder.path()).contains("tokenizer.json"));
    }

    /// Needs a model: `LOCI_MINILM=FOLDER cargo test --release -p loci-models --features minilm -- --ignored`.
    #[test]
    #[ignore = "needs the folder of a model, in LOCI_MINILM"]
    fn embeddings_do_not_depend_on_the_batch() {
        let folder = std::env::var("LOCI_MINILM").unwrap();
        let embedder = FolderEmbedder::open(Path::new(&folder)).unwrap();
        let long = "water and wine ".repeat(2000);
        let texts = ["", "a", &long, REFERENCE_TEXTS[0], "量子力学"];
        let all = embedder.embed(&texts).unwrap();
        for (text, vector) in texts.iter().zip(&all) {
            assert_eq!(embedder.embed(&[text]).unwrap()[0], *vector);
            let norm: f32 = vector.iter().map(|x| x * x).sum();
            assert!((norm - 1.0).abs() < 1e-4);
        }
    }
}
