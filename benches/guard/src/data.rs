//! The data set of the guard: generated, the same on every machine.
//!
//! Words are drawn by Zipf's law, vectors lie around cluster centres, concepts are mentioned by a few chunks each and
//! related to each other. A question is made of words, a vector and concepts that are near to one chunk.
//!
//! Start reading at [`Data::new`].

use std::fmt::Write;

/// Components of a vector.
pub(crate) const DIM: usize = 128;
/// Chunks of a document, after its section.
pub(crate) const CHUNKS_PER_DOCUMENT: usize = 5;
/// Distinct words.
const WORDS: usize = 20_000;
const CLUSTERS: usize = 64;

/// A reproducible stream of numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0..1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// A word's rank; rank r has a probability of about 1/(r + 3).
    fn word(&mut self) -> usize {
        let end = ((WORDS + 3) as f64 / 3.0).ln();
        (3.0 * (self.fraction() * end).exp() - 3.0) as usize % WORDS
    }

    fn vector(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
        let mut vector: Vec<f32> = centre.to_vec();
        for number in &mut vector {
            *number += spread * (self.fraction() as f32 - 0.5);
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

/// A passage.
pub(crate) struct Chunk {
    pub(crate) text: String,
    /// `[DIM]`, of length 1.
    pub(crate) vector: Vec<f32>,
    /// Concepts that it mentions, each once.
    pub(crate) concepts: Vec<u32>,
}

/// A question.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) vector: Vec<f32>,
    pub(crate) concepts: Vec<u32>,
}

/// The data that systems are built from.
pub(crate) struct Data {
    pub(crate) chunks: Vec<Chunk>,
    /// (source, target), by number.
    pub(crate) relations: Vec<(u32, u32)>,
    pub(crate) concept_count: usize,
    pub(crate) questions: Vec<Question>,
}

impl Data {
    /// `count` chunks and `question_count` questions.
    pub(crate) fn new(count: usize, question_count: usize) -> Data {
        let mut random = Random::new(42);
        let concept_count = count / 2;
        let centres: Vec<Vec<f32>> = (0..CLUSTERS)
            .map(|_| random.vector(&[0.0; DIM], 1.0))
            .collect();
        let chunks: Vec<Chunk> = (0..count)
            .map(|_| {
                let centre = &centres[random.below(CLUSTERS)];
                let vector = random.vector(centre, 0.6);
                let mut concepts: Vec<u32> =
                    (0..5).map(|_| random.below(concept_count) as u32).collect();
                concepts.sort_unstable();
                concepts.dedup();
                let words = 60 + random.below(60);
                Chunk {
                    text: text(&mut random, words, &concepts),
                    vector,
                    concepts,
                }
            })
            .collect();
        let relations = (0..count)
            .map(|_| {
                let source = random.below(concept_count) as u32;
                (source, random.below(concept_count) as u32)
            })
            .collect();
        let questions = (0..question_count)
            .map(|_| {
                let chunk = &chunks[random.below(count)];
                let passage: Vec<&str> = chunk.text.split(' ').collect();
                let mut words = String::from("what is");
                for _ in 0..8 {
                    let _ = write!(words, " {}", passage[random.below(passage.len())]);
                }
                let concepts: Vec<u32> = chunk.concepts.iter().copied().take(2).collect();
                for concept in &concepts {
                    let _ = write!(words, " {}", concept_name(*concept));
                }
                Question {
                    text: words,
                    vector: random.vector(&chunk.vector, 0.1),
                    concepts,
                }
            })
            .collect();
        Data {
            chunks,
            relations,
            concept_count,
            questions,
        }
    }
}

/// The name of a concept.
pub(crate) fn concept_name(concept: u32) -> String {
    format!("concept{concept}")
}

fn text(random: &mut Random, words: usize, concepts: &[u32]) -> String {
    let mut text = String::new();
    for _ in 0..words {
        let _ = write!(text, "w{} ", random.word());
    }
    for concept in concepts {
        let _ = write!(text, "{} ", concept_name(*concept));
    }
    text.truncate(text.trim_end().len());
    text
}
