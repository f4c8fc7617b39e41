//! How much vectors count beside text in this store, measured on its own passages.
//!
//! One sentence of some hundred passages is hidden and used as a question. Text and vectors are searched as
//! they always are, but for the passage that was asked about, whose scores are those that it has
//! without the sentence. A space of the built-in embedder that answers is fitted for this alone, on
//! passages with their sentences hidden: one that had seen them would remember which passage a word
//! came from. An external model learns nothing here, so it answers itself.
//!
//! Start reading at [`calibrate`]; `loci_query::calibrate` has the choice itself.

use std::collections::HashMap;

use loci_index::analysis::Analyzer;
use loci_index::text::{self, Bm25, Scorer, TextReader, TextScratch};
use loci_models::Embedder;
use loci_models::lsa::Projection;
use loci_query::calibrate::{
    Calibration, KnownItem, QUESTIONS_MIN, QUESTIONS_TARGET, replace_score,
};
use loci_query::fuse::candidates_for;
use loci_storage::records::SpaceRecord;
use loci_storage::rows::{encode, missing, read};
use loci_storage::segment::{Layer, Section};
use loci_storage::staging::indexed_text;
use loci_storage::{ScoredChunk, SegmentReader, SpaceId, Staging, StoreError, Table};
use loci_types::text::sentences::{SentenceRule, sentences};

use crate::embedders::external_model::{ExternalModel, embed_texts};
use crate::error::Error;
use crate::progress::Progress;
use crate::segments::chunk::stemming_language;
use crate::settings;
use crate::spaces::corpus::Corpus;
use crate::spaces::fit::fit_projection;
use crate::state::snapshot::DatabaseSnapshot;

/// Sentences that a passage must have, so that hiding one leaves a passage.
const SENTENCES_MIN: usize = 3;
/// Terms that a sentence must have to be a question.
const TERMS_MIN: usize = 5;
/// Multiplications that scanning vectors may cost; fewer questions are asked of larger stores.
const MULTIPLICATIONS_MAX: usize = 20_000_000_000;
/// Hits that a search brings to fusion.
const K: usize = 10;

/// A hidden sentence.
struct Question {
    /// Index of the passage in the corpus.
    passage: usize,
    /// The sentence, and its terms.
    sentence: String,
    terms: Vec<String>,
    /// What is embedded of the passage without it, and its terms.
    rest: String,
    rest_terms: Vec<String>,
}

/// The space that is measured.
pub(crate) enum CalibrationTarget<'m> {
    /// One that the built-in embedder makes, with vectors of this length.
    Builtin {
        /// Numbers in a vector.
        dim: usize,
    },
    /// One whose vectors are rows, and the model that they come from.
    External {
        /// The space.
        space: SpaceId,
        /// The model.
        model: &'m dyn Embedder,
    },
}

impl CalibrationTarget<'_> {
    fn dim(&self) -> usize {
        match self {
            CalibrationTarget::Builtin { dim } => *dim,
            CalibrationTarget::External { model, .. } => model.dim(),
        }
    }
}

/// Measures; `None` when the store has too few passages to conclude anything.
///
/// Costs a second fit or two embeddings a question, and a scan of all passages a question.
pub(crate) fn calibrate(
    view: &DatabaseSnapshot,
    corpus: &Corpus,
    target: &CalibrationTarget<'_>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Option<Calibration>, Error> {
    let scan = corpus.passages().len().max(1) * target.dim().max(1);
    let question_count_max = QUESTIONS_TARGET.min(MULTIPLICATIONS_MAX / scan);
    let questions = questions(view, corpus, question_count_max, seed)?;
    if questions.len() < QUESTIONS_MIN {
        return Ok(None);
    }
    let embedded = match target {
        CalibrationTarget::Builtin { .. } => embed_builtin(corpus, &questions, seed, progress)?,
        CalibrationTarget::External { space, model } => {
            Some(embed_external(view, corpus, &questions, *space, *model)?)
        }
    };
    let Some((vectors, question_vectors)) = embedded else {
        return Ok(None);
    };
    let mut asker = KnownItemSearcher {
        corpus,
        vectors,
        segments: view.read_view.text(Layer::Leaves),
        scratch: TextScratch::new(),
    };
    let mut items = Vec::with_capacity(questions.len());
    for (done, (question, vector)) in questions.iter().zip(&question_vectors).enumerate() {
        if progress
            .report("calibrating", done as u64, questions.len() as u64)
            .is_break()
        {
            return Err(Error::Interrupted);
        }
        items.push(asker.search_known_item(question, vector.as_deref())?);
    }
    Ok(loci_query::calibrate::calibrate(&items)
        .map(|found| scale_by_evidence(found, question_count_max)))
}

/// Vectors of all passages with sentences hidden, and those of the questions.
type Embedded = (Vectors, Vec<Option<Vec<f32>>>);

fn embed_builtin(
    corpus: &Corpus,
    questions: &[Question],
    seed: u64,
    progress: &dyn Progress,
) -> Result<Option<Embedded>, Error> {
    let hidden: HashMap<usize, &[String]> = questions
        .iter()
        .map(|question| (question.passage, &question.rest_terms[..]))
        .collect();
    let Some(projection) = fit_projection(corpus, Some(&hidden), seed, progress)? else {
        return Ok(None);
    };
    let projection = Projection::new(projection).map_err(StoreError::index)?;
    let vectors = Vectors::embed(corpus, &hidden, &projection);
    let question_vectors = questions
        .iter()
        .map(|question| projection.embed_terms(question.terms.iter().map(String::as_str)));
    Ok(Some((vectors, question_vectors.collect())))
}

fn embed_external(
    view: &DatabaseSnapshot,
    corpus: &Corpus,
    questions: &[Question],
    space: SpaceId,
    model: &dyn Embedder,
) -> Result<Embedded, Error> {
    let mut vectors = Vectors::from_rows(view, corpus, space, model.dim())?;
    let rests: Vec<&str> = questions
        .iter()
        .map(|question| &question.rest[..])
        .collect();
    for (question, vector) in questions.iter().zip(embed_texts(model, &rests)?) {
        vectors.set(question.passage, &vector);
    }
    let sentences: Vec<&str> = questions.iter().map(|q| &q.sentence[..]).collect();
    let question_vectors = embed_texts(model, &sentences)?;
    Ok((vectors, question_vectors.into_iter().map(Some).collect()))
}

/// The weight of vectors in the space of an external model, measured.
pub(crate) fn calibrate_external(
    view: &DatabaseSnapshot,
    space: SpaceId,
    external: &ExternalModel,
    progress: &dyn Progress,
) -> Result<SpaceRecord, Error> {
    let seed = settings::read(view.rows())?.seed;
    let corpus = Corpus::read(view, progress)?;
    let of = CalibrationTarget::External {
        space,
        model: external.model(),
    };
    let calibration = calibrate(view, &corpus, &of, seed, progress)?;
    Ok(SpaceRecord {
        fitted_chunks: view.snapshot().manifest().chunk_count,
        ..calibrated_record(calibration)
    })
}

/// The result of a calibration, as the space records it. In a store too small to measure anything
/// vectors count only where text finds nothing.
pub(crate) fn calibrated_record(calibration: Option<Calibration>) -> SpaceRecord {
    let Some(calibration) = calibration else {
        return SpaceRecord {
            vector_share: Some(0.0),
            ..SpaceRecord::default()
        };
    };
    SpaceRecord {
        vector_share: Some(calibration.vector_weight),
        calibration: calibration
            .metrics
            .iter()
            .map(|f| (f.vector_weight, f.mrr))
            .collect(),
        calibration_questions: calibration.questions as u32,
        ..SpaceRecord::default()
    }
}

/// Completes the record of a space with what was measured since.
pub(crate) fn update_space_record(
    staging: &mut Staging<'_>,
    space: SpaceId,
    measured: SpaceRecord,
) -> Result<(), StoreError> {
    let key = space.0.to_be_bytes();
    let record: Option<SpaceRecord> = read(staging.rows(), Table::Spaces, &key)?;
    let record = record.ok_or_else(|| missing(Table::Spaces, &key))?;
    let record = SpaceRecord {
        model: record.model,
        builtin: record.builtin,
        given: record.given,
        dim: record.dim,
        projection: record.projection,
        ..measured
    };
    staging.put(Table::Spaces, key.to_vec(), encode(&record)?);
    Ok(())
}

/// The weight in proportion to the evidence: a store that has passages for a quarter of the intended
/// questions gets a quarter of the weight that they give. With some dozen questions the choice
/// moves by half with the editing of one document.
fn scale_by_evidence(found: Calibration, question_count_max: usize) -> Calibration {
    let evidence = found.questions as f32 / question_count_max.max(1) as f32;
    Calibration {
        vector_weight: found.vector_weight * evidence.min(1.0),
        ..found
    }
}

/// Passages spread evenly over the corpus, each with one of its sentences drawn by `seed`.
fn questions(
    view: &DatabaseSnapshot,
    corpus: &Corpus,
    question_count_max: usize,
    seed: u64,
) -> Result<Vec<Question>, Error> {
    let count = corpus.passages().len();
    let mut analyzer = Analyzer::new();
    let mut questions = Vec::new();
    // Every other passage is tried before the ones between them, so that few are enough.
    let order = shuffled_indexes(count, seed);
    for index in order {
        if questions.len() >= question_count_max {
            break;
        }
        let passage = &corpus.passages()[index];
        let document = view.rows().document(passage.document)?;
        let chunk = view.rows().chunk(passage.document, passage.chunk_index)?;
        let (Some(document), Some(mut chunk)) = (document, chunk) else {
            continue;
        };
        let sentences = sentences(&chunk.text, SentenceRule::Unicode);
        if sentences.len() < SENTENCES_MIN {
            continue;
        }
        let at = random_u64(seed, index as u64) as usize % sentences.len();
        let range = sentences[at].clone();
        let sentence = &chunk.text[range.clone()];
        analyzer.set_languages(stemming_language(&document).into());
        let terms = analyzer.terms(sentence);
        if terms.len() < TERMS_MIN {
            continue;
        }
        let sentence = sentence.to_string();
        chunk.text.replace_range(range, "");
        let rest = indexed_text(&document, &chunk);
        let left = analyzer.terms(&rest);
        questions.push(Question {
            passage: index,
            sentence,
            terms,
            rest,
            rest_terms: left,
        });
    }
    questions.sort_by_key(|question| question.passage);
    Ok(questions)
}

/// All numbers below `count`, in an order that `seed` draws.
fn shuffled_indexes(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&index| random_u64(seed ^ 0x5bd1_e995, index as u64));
    order
}

/// A number that looks random and follows from its arguments: SplitMix64 (Steele, Lea, Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
fn random_u64(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The vectors of all passages, hidden sentences left out.
struct Vectors {
    dim: usize,
    values: Vec<f32>,
}

impl Vectors {
    fn embed(
        corpus: &Corpus,
        hidden: &HashMap<usize, &[String]>,
        projection: &Projection<Vec<u8>>,
    ) -> Vectors {
        let dim = projection.dim();
        let mut values = Vec::with_capacity(corpus.passages().len() * dim);
        for index in 0..corpus.passages().len() {
            let vector = match hidden.get(&index) {
                Some(left) => projection.embed_terms(left.iter().map(String::as_str)),
                None => projection.embed_terms(corpus.terms(index)),
            };
            match vector {
                Some(vector) => values.extend(vector),
                None => values.resize(values.len() + dim, 0.0),
            }
        }
        Vectors { dim, values }
    }

    /// Those that are rows; a passage without one gets zeros.
    fn from_rows(
        view: &DatabaseSnapshot,
        corpus: &Corpus,
        space: SpaceId,
        dim: usize,
    ) -> Result<Vectors, Error> {
        let mut numbers = Vec::with_capacity(corpus.passages().len() * dim);
        for passage in corpus.passages() {
            let chunk = view.rows().chunk(passage.document, passage.chunk_index)?;
            let vector = match chunk {
                Some(chunk) => view.rows().vector(space, chunk.content_hash)?,
                None => None,
            };
            let vector = vector.filter(|vector| vector.len() == dim);
            numbers.extend(vector.unwrap_or_else(|| vec![0.0; dim]));
        }
        Ok(Vectors {
            dim,
            values: numbers,
        })
    }

    fn set(&mut self, passage: usize, vector: &[f32]) {
        self.values[passage * self.dim..][..self.dim].copy_from_slice(vector);
    }

    /// Cosines of `query` with all passages; all are of length 1, or 0.
    fn scores<'v>(&'v self, query: &'v [f32]) -> impl Iterator<Item = f32> + 'v {
        let dot = move |vector: &[f32]| vector.iter().zip(query).map(|(a, b)| a * b).sum();
        self.values.chunks_exact(self.dim).map(dot)
    }
}

struct KnownItemSearcher<'a> {
    corpus: &'a Corpus,
    vectors: Vectors,
    segments: Vec<SegmentReader<'a, TextReader<Section>>>,
    scratch: TextScratch,
}

impl KnownItemSearcher<'_> {
    fn search_known_item(
        &mut self,
        question: &Question,
        vector: Option<&[f32]>,
    ) -> Result<KnownItem, Error> {
        let target = self.corpus.passages()[question.passage].ordinal;
        let k = candidates_for(K);
        let params = Bm25::default();
        let found = text::search(
            &self.segments,
            &question.terms,
            &text::TextSearch {
                params,
                ..text::TextSearch::new(k)
            },
            &mut self.scratch,
        )
        .map_err(StoreError::index)?;
        let score = self.text_score(question, params)?;
        Ok(KnownItem {
            target,
            text: truncated(replace_score(&found, target, score), k),
            vector: vector.map_or_else(Vec::new, |vector| self.nearest(vector, k)),
        })
    }

    /// BM25 of the passage without the sentence; `None` when no term is left in it.
    fn text_score(&self, question: &Question, params: Bm25) -> Result<Option<f32>, Error> {
        let weights = text::weights(&self.segments, &question.terms).map_err(StoreError::index)?;
        let scorer =
            Scorer::new(params, text::statistics(&self.segments)).map_err(StoreError::index)?;
        let mut counts: HashMap<&str, u32> = HashMap::new();
        question
            .rest_terms
            .iter()
            .for_each(|term| *counts.entry(term).or_default() += 1);
        let terms: Vec<(f32, u32)> = weights
            .iter()
            .map(|&(term, weight)| (weight, counts.get(term).copied().unwrap_or(0)))
            .collect();
        let score = scorer.score_chunk(&terms, question.rest_terms.len() as u32);
        Ok((score > 0.0).then_some(score))
    }

    /// The `k` passages nearest to the question; the target is embedded without the sentence.
    fn nearest(&self, query: &[f32], k: usize) -> Vec<ScoredChunk> {
        let passages = self.corpus.passages().iter();
        let hits = passages.zip(self.vectors.scores(query));
        let mut hits: Vec<ScoredChunk> = hits
            .map(|(passage, score)| ScoredChunk {
                ordinal: passage.ordinal,
                score,
            })
            .collect();
        let order = |a: &ScoredChunk, b: &ScoredChunk| {
            b.score.total_cmp(&a.score).then(a.ordinal.cmp(&b.ordinal))
        };
        if hits.len() > k {
            hits.select_nth_unstable_by(k, order);
            hits.truncate(k);
        }
        hits.sort_unstable_by(order);
        hits
    }
}

fn truncated(mut list: Vec<ScoredChunk>, k: usize) -> Vec<ScoredChunk> {
    list.truncate(k);
    list
}
