//! The vectors, the queries, and the right answers.
//!
//! Invariant: all rows have `dim` numbers, every query has [`K`] right answers, and these are rows below
//! [`Data::count`].
//!
//! Start reading at [`Data::read`].

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Hits of a search.
pub(crate) const K: usize = 10;

/// The data that all systems are measured on.
#[derive(Debug)]
pub(crate) struct Data {
    /// The name of the folder.
    pub(crate) set: String,
    /// Components of a vector.
    pub(crate) dim: usize,
    vectors: Vec<f32>,
    queries: Vec<f32>,
    truth: Vec<[u32; K]>,
}

impl Data {
    /// Reads a folder. With a `limit` below the count of vectors, right answers are computed.
    pub(crate) fn read(folder: &Path, limit: Option<usize>) -> Result<Data> {
        let dim = dim(&folder.join("meta.json"))?;
        let vectors = numbers(&folder.join("vectors.f32"), f32::from_le_bytes)?;
        let truth = numbers(&folder.join("gt10.i32"), i32::from_le_bytes)?;
        let name = folder.file_name().unwrap_or_default();
        let mut data = Data {
            set: name.to_string_lossy().into_owned(),
            dim,
            vectors,
            queries: numbers(&folder.join("queries.f32"), f32::from_le_bytes)?,
            truth: rows_of_truth(&truth),
        };
        let fits = data.queries.len() == data.truth.len() * dim
            && truth.len() == data.truth.len() * K
            && data.vectors.len().is_multiple_of(dim);
        ensure!(
            fits,
            "{}: vectors.f32, queries.f32 and gt10.i32 do not fit {dim} dimensions and {K} answers a query",
            folder.display()
        );
        if let Some(limit) = limit.filter(|&limit| limit < data.count()) {
            data.vectors.truncate(limit * dim);
            data.truth = data.exact();
        }
        data.check()?;
        Ok(data)
    }

    /// Fails if a right answer is not one of the vectors.
    fn check(&self) -> Result<()> {
        ensure!(self.count() >= K, "at least {K} vectors are needed");
        ensure!(!self.truth.is_empty(), "there is no query");
        let mut answers = self.truth.iter().flatten();
        ensure!(
            answers.all(|&row| (row as usize) < self.count()),
            "gt10.i32 names rows that vectors.f32 does not have"
        );
        Ok(())
    }

    /// Vectors.
    pub(crate) fn count(&self) -> usize {
        self.vectors.len() / self.dim
    }

    /// All vectors, in order of their rows.
    pub(crate) fn vectors(&self) -> impl Iterator<Item = &[f32]> {
        self.vectors.chunks_exact(self.dim)
    }

    /// The vector of a row.
    pub(crate) fn vector(&self, row: usize) -> &[f32] {
        &self.vectors[row * self.dim..][..self.dim]
    }

    /// All queries, in order.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &[f32]> {
        self.queries.chunks_exact(self.dim)
    }

    /// The right answers, in order of the queries.
    pub(crate) fn truth(&self) -> &[[u32; K]] {
        &self.truth
    }

    fn exact(&self) -> Vec<[u32; K]> {
        let nearest = |query| {
            let scored = (0..).zip(self.vectors());
            let mut scored: Vec<(f32, u32)> = scored
                .map(|(row, vector)| (dot(query, vector), row))
                .collect();
            scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            // Rows that do not exist, where there are too few: `check` refuses them.
            std::array::from_fn(|i| scored.get(i).map_or(u32::MAX, |&(_, row)| row))
        };
        self.queries().map(nearest).collect()
    }
}

fn dim(path: &Path) -> Result<usize> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let meta: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    meta.get("dim")
        .and_then(Value::as_u64)
        .filter(|&dim| dim > 0)
        .map(|dim| dim as usize)
        .with_context(|| format!("{} has no positive \"dim\"", path.display()))
}

fn rows_of_truth(flat: &[i32]) -> Vec<[u32; K]> {
    let (rows, _) = flat.as_chunks::<K>();
    rows.iter().map(|row| row.map(|id| id as u32)).collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    for (a, b) in a.chunks(16).zip(b.chunks(16)) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

fn numbers<T>(path: &Path, read: impl Fn([u8; 4]) -> T) -> Result<Vec<T>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    ensure!(
        rest.is_empty(),
        "{}: its length is not a multiple of 4",
        path.display()
    );
    Ok(numbers.iter().map(|&number| read(number)).collect())
}
