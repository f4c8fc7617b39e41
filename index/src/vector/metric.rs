//! The metric of a vector space, and its scores.

use simsimd::SpatialSimilarity;

use super::{DIM_MAX, MAGNITUDE_MAX, VectorError};

/// How the similarity of two vectors is measured. A higher score is more similar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Metric {
    /// Cosine of the angle, in -1..=1 within rounding. Vectors are stored with length 1.
    Cosine = 0,
    /// Inner product.
    Dot = 1,
    /// Minus the squared Euclidean distance: 0 or less.
    L2 = 2,
}

impl Metric {
    /// The metric with this number in the format.
    pub fn from_number(number: u8) -> Option<Metric> {
        [Metric::Cosine, Metric::Dot, Metric::L2]
            .get(usize::from(number))
            .copied()
    }

    /// `vector` as this metric stores and compares it: checked, and of length 1 for cosine.
    ///
    /// # Errors
    /// [`VectorError::Dimension`], [`VectorError::NotFinite`], [`VectorError::TooLong`],
    /// [`VectorError::Zero`].
    pub fn prepare(self, vector: &[f32], dim: usize) -> Result<Vec<f32>, VectorError> {
        let mut prepared = Vec::with_capacity(dim);
        self.prepare_into(vector, dim, &mut prepared)?;
        Ok(prepared)
    }

    /// Appends `vector` to `out` as [`Metric::prepare`] gives it; nothing after an error.
    pub(super) fn prepare_into(
        self,
        vector: &[f32],
        dim: usize,
        out: &mut Vec<f32>,
    ) -> Result<(), VectorError> {
        if vector.len() != dim {
            return Err(VectorError::Dimension {
                got: vector.len(),
                expected: dim,
            });
        }
        if let Some(at) = vector.iter().position(|x| !x.is_finite()) {
            return Err(VectorError::NotFinite { at });
        }
        let magnitude = magnitude(vector);
        match self {
            Metric::Cosine if magnitude == 0.0 => return Err(VectorError::Zero),
            Metric::Cosine => out.extend(vector.iter().map(|&x| (f64::from(x) / magnitude) as f32)),
            _ if magnitude > MAGNITUDE_MAX => return Err(VectorError::TooLong(magnitude)),
            _ => out.extend_from_slice(vector),
        }
        Ok(())
    }

    /// How near two prepared vectors of equal length are; NaN for unequal lengths.
    pub(super) fn score(self, a: &[f32], b: &[f32]) -> f32 {
        let score = match self {
            Metric::Cosine | Metric::Dot => f32::dot(a, b),
            Metric::L2 => f32::l2sq(a, b).map(|distance| -distance),
        };
        // 0 and -0 are equal, but would not tie.
        score.map_or(f32::NAN, |score| score as f32 + 0.0)
    }
}

/// Refuses dimensions that no space can have.
pub(super) fn check_dim(dim: usize) -> Result<(), VectorError> {
    if (1..=DIM_MAX).contains(&dim) {
        Ok(())
    } else {
        Err(VectorError::Dimensions(dim))
    }
}

/// The length of a vector. Four sums side by side, which compilers turn into vectors.
fn magnitude(vector: &[f32]) -> f64 {
    let mut sums = [0f64; 4];
    let (fours, rest) = vector.as_chunks::<4>();
    for four in fours {
        for (sum, &x) in sums.iter_mut().zip(four) {
            *sum += f64::from(x) * f64::from(x);
        }
    }
    let rest: f64 = rest.iter().map(|&x| f64::from(x).powi(2)).sum();
    (sums.iter().sum::<f64>() + rest).sqrt()
}
