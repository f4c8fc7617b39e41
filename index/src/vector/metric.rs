//! What nearness means in a space, and the kernels that measure it.

use simsimd::SpatialSimilarity;

use super::{DIM_MAX, MAGNITUDE_MAX, VectorError};

/// How near two vectors are. Scores grow with nearness.
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
        if vector.len() != dim {
            return Err(VectorError::Dimension {
                got: vector.len(),
                expected: dim,
            });
        }
        if let Some(at) = vector.iter().position(|x| !x.is_finite()) {
            return Err(VectorError::NotFinite { at });
        }
        let magnitude = vector
            .iter()
            .map(|&x| f64::from(x) * f64::from(x))
            .sum::<f64>()
            .sqrt();
        match self {
            Metric::Cosine if magnitude == 0.0 => Err(VectorError::Zero),
            Metric::Cosine => Ok(vector
                .iter()
                .map(|&x| (f64::from(x) / magnitude) as f32)
                .collect()),
            _ if magnitude > MAGNITUDE_MAX => Err(VectorError::TooLong(magnitude)),
            _ => Ok(vector.to_vec()),
        }
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
