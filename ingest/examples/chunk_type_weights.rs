//! Makes the weights by which chunks are classified by what they are for (`ingest/src/classify/weights.rs`), and measures
//! how well weights fitted to some passages classify others.
//!
//! usage: cargo run -p loci-ingest --example chunk_type_weights -- FOLDER [--write]
//!
//! FOLDER holds the documents that `ingest/labels` names. The weights are those of a multinomial logistic regression with
//! a Gaussian prior around [`prior`], found by gradient descent: the same passages always give the same weights. It learns
//! from the half in view of `chunk_types.jsonl` and from `chunk_types_more.jsonl`, never from the other half.

mod labelled;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;

use labelled::{Label, f1, labels, mean, with_passages};
use loci_ingest::classify::cues::{COUNT, cues, names};
use loci_ingest::classify::{MODELLED, Passage};

const TYPES: usize = MODELLED.len();

/// How strongly weights are held to the prior.
const PRIOR_STRENGTH: f32 = 0.03;
/// How far rare types count more, from 0 (each passage the same) to 1 (each type the same).
const BALANCE: f32 = 0.3;
/// Cues that are rarer than this are not scaled up any further.
const SCALE_MIN: f32 = 0.15;
const STEPS: usize = 200;
const STEP: f32 = 0.1;
const MOMENTUM: f32 = 0.9;

type Cues = [f32; COUNT];
type Weights = [[f32; TYPES]; COUNT];

/// A labelled passage.
#[derive(Clone)]
struct Row {
    file: String,
    cues: Cues,
    label: usize,
}

/// What is held before anything is learned: what a text says outright of itself is believed.
fn prior(cue: &str) -> [f32; TYPES] {
    match cue {
        "heading: definition" | "first: labelled concept" | "defines" => [3.0, 0.0, 0.0],
        "heading: example" | "first: labelled example" | "example" => [0.0, 3.0, 0.0],
        "no prose" => [0.0, 0.0, 3.0],
        "always" => [0.0, 0.0, 1.0],
        _ => [0.0; TYPES],
    }
}

/// The labelled passages that are modelled and still divided as they were.
fn rows(folder: &Path, labels: &[Label]) -> Result<Vec<Row>, Box<dyn Error>> {
    let found = with_passages(folder, labels, |parsed, record| {
        let starts = parsed.text.char_indices().map(|(at, _)| at);
        let starts: Vec<usize> = starts.chain([parsed.text.len()]).collect();
        let (from, to) = record.location.chars;
        let range = starts[from as usize]..starts[to as usize];
        let heading = record.heading_path.last().map(String::as_str);
        cues(&Passage::from_range(parsed, range, heading))
    })?;
    let rows = found.into_iter().filter_map(|(label, cues)| {
        Some(Row {
            file: label.file.clone(),
            cues: cues?,
            label: MODELLED.iter().position(|of| of.name() == label.label)?,
        })
    });
    Ok(rows.collect())
}

fn sums(weights: &Weights, cues: &Cues) -> [f32; TYPES] {
    let mut sums = [0.0; TYPES];
    for (cue, weights) in cues.iter().zip(weights) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += cue * weight;
        }
    }
    sums
}

fn predict(weights: &Weights, cues: &Cues) -> usize {
    let sums = sums(weights, cues);
    (0..TYPES)
        .max_by(|&a, &b| sums[a].total_cmp(&sums[b]))
        .unwrap_or(0)
}

/// How likely each type is.
fn likelihood(weights: &Weights, cues: &Cues) -> [f32; TYPES] {
    let sums = sums(weights, cues);
    let max = sums.into_iter().fold(f32::MIN, f32::max);
    let powers = sums.map(|sum| (sum - max).exp());
    let all: f32 = powers.iter().sum();
    powers.map(|power| power / all)
}

/// What a passage of each type counts; all passages together count 1.
fn class_weights(rows: &[Row]) -> [f32; TYPES] {
    let count = |label| rows.iter().filter(|row| row.label == label).count().max(1) as f32;
    let counts: [f32; TYPES] = std::array::from_fn(count);
    let shares = counts.map(|count| count.powf(-BALANCE));
    let all: f32 = shares
        .iter()
        .zip(counts)
        .map(|(share, count)| share * count)
        .sum();
    shares.map(|share| share / all)
}

/// Weights that classify `rows`. Cues are scaled to one size, so that the prior holds all alike.
fn learn(rows: &[Row]) -> Weights {
    let mean_square =
        |cue: usize| rows.iter().map(|row| row.cues[cue].powi(2)).sum::<f32>() / rows.len() as f32;
    let scale: Cues = std::array::from_fn(|cue| mean_square(cue).sqrt().max(SCALE_MIN));
    let scaled = rows.iter().map(|row| Row {
        cues: std::array::from_fn(|cue| row.cues[cue] / scale[cue]),
        ..row.clone()
    });
    let scaled: Vec<Row> = scaled.collect();
    let names = names();
    let prior: Weights = std::array::from_fn(|cue| prior(names[cue]).map(|w| w * scale[cue]));
    let found = descend(&scaled, &prior);
    std::array::from_fn(|cue| found[cue].map(|weight| weight / scale[cue]))
}

/// The weights of the least loss, by gradient descent with momentum.
fn descend(rows: &[Row], prior: &Weights) -> Weights {
    let shares = class_weights(rows);
    let mut weights = *prior;
    let mut speed: Weights = [[0.0; TYPES]; COUNT];
    for _ in 0..STEPS {
        let slope = gradient(rows, &shares, &weights);
        for cue in 0..COUNT {
            for of in 0..TYPES {
                let penalty = PRIOR_STRENGTH * (weights[cue][of] - prior[cue][of]);
                speed[cue][of] = MOMENTUM * speed[cue][of] - STEP * (slope[cue][of] + penalty);
                weights[cue][of] += speed[cue][of];
            }
        }
    }
    weights
}

/// The gradient of the cross entropy.
fn gradient(rows: &[Row], shares: &[f32; TYPES], weights: &Weights) -> Weights {
    let mut slope = [[0.0; TYPES]; COUNT];
    for row in rows {
        let likelihood = likelihood(weights, &row.cues);
        for of in 0..TYPES {
            let target = f32::from(u8::from(of == row.label));
            let off = shares[row.label] * (likelihood[of] - target);
            for (slope, cue) in slope.iter_mut().zip(row.cues) {
                slope[of] += off * cue;
            }
        }
    }
    slope
}

/// Macro F1 of predictions and labels, with the F1 of each type before it.
fn f1_line(predictions: &[(usize, usize)]) -> String {
    let types: [usize; TYPES] = std::array::from_fn(|of| of);
    let scores = f1(&types, predictions);
    format!("{scores:.2?}, macro {:.3}", mean(&scores))
}

/// Classifies each group of rows by weights fitted to all others. `group`: of a row and its place.
fn cross_validate<G: Ord + Copy>(rows: &[Row], group: impl Fn(usize) -> G) -> String {
    let groups: BTreeSet<G> = (0..rows.len()).map(&group).collect();
    let mut predictions = Vec::new();
    for out in groups {
        let (outer, inner): (Vec<usize>, Vec<usize>) =
            (0..rows.len()).partition(|&at| group(at) == out);
        let inner: Vec<Row> = inner.into_iter().map(|at| rows[at].clone()).collect();
        let weights = learn(&inner);
        let outer = outer.into_iter().map(|at| &rows[at]);
        predictions.extend(outer.map(|row| (predict(&weights, &row.cues), row.label)));
    }
    f1_line(&predictions)
}

/// The source of `weights.rs`.
fn source(weights: &Weights) -> String {
    let mut source = String::from(
        "//! The weights of the cues for and against a concept, an example, and neither.\n\
         //!\n\
         //! Made by `cargo run -p loci-ingest --example chunk_type_weights -- FOLDER --write`, which says of what.\n\n\
         /// Each cue's name and weights, in the order of the cues and of [`super::MODELLED`].\n\
         #[rustfmt::skip]\n\
         pub(super) const WEIGHTS: &[(&str, [f32; 3])] = &[\n",
    );
    for (name, weights) in names().iter().zip(weights) {
        source += &format!("    ({name:?}, {weights:.2?}),\n");
    }
    source + "];\n"
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("give a folder of documents")?;
    let folder = Path::new(&folder);
    let mut in_view = labels("chunk_types.jsonl")?;
    let other_half = in_view.split_off(in_view.len() / 2);
    let more = labels("chunk_types_more.jsonl")?;
    let is_same = |a: &Label, b: &Label| (&a.file, &a.begins) == (&b.file, &b.begins);
    if more
        .iter()
        .any(|label| other_half.iter().any(|other| is_same(label, other)))
    {
        return Err("a passage of the other half is among those to learn from".into());
    }
    let in_view = rows(folder, &in_view)?;
    let more = rows(folder, &more)?;
    let weights = learn(&more);
    let predictions: Vec<_> = in_view
        .iter()
        .map(|row| (predict(&weights, &row.cues), row.label))
        .collect();
    println!(
        "{} passages in view, by the {} others: {}",
        in_view.len(),
        more.len(),
        f1_line(&predictions)
    );
    let all: Vec<Row> = in_view.into_iter().chain(more).collect();
    println!(
        "each fifth by the others: {}",
        cross_validate(&all, |at| at % 5)
    );
    println!(
        "each document by the others: {}",
        cross_validate(&all, |at| &all[at].file[..])
    );
    if args.next().is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/classify/weights.rs");
        fs::write(path, source(&learn(&all)))?;
    }
    Ok(())
}
