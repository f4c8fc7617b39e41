//! Folding texts in: term lookup and sums of rows, on the bytes where they lie.
//!
//! The bytes are read in a mapped file or a `Vec`; nothing is copied or decoded when they are opened.
//! Their table is that of [`layout`](super::layout).
//!
//! Invariants: every offset is checked when the bytes are opened. Text that is not sorted, or
//! numbers that were changed, lead to wrong vectors but to nothing worse; [`Projection::verify`] detects them.
//!
//! Start reading at [`Projection::new`].

use std::cmp::Ordering;

use xxhash_rust::xxh3::xxh3_64;

use super::layout::{HEADER_LEN, Header, ProjectionError, VERSION, u32_at};

/// A checked, read-only projection over any bytes: a map in production, a `Vec` in a test.
#[derive(Clone, Debug)]
pub struct Projection<B> {
    bytes: B,
    header: Header,
}

impl<B: AsRef<[u8]>> Projection<B> {
    /// Checks the header, the length, and where each term ends. Pure; touches the header and
    /// 8 bytes a term.
    ///
    /// # Errors
    /// [`ProjectionError`], whatever the bytes.
    pub fn new(bytes: B) -> Result<Projection<B>, ProjectionError> {
        let header = Header::decode(bytes.as_ref())?;
        let (need, got) = (header.len(), bytes.as_ref().len() as u64);
        if need != got {
            return Err(ProjectionError::Length { need, got });
        }
        let projection = Projection { bytes, header };
        projection.check_ends()?;
        Ok(projection)
    }

    /// Ends ascend, and the last is the end of the text.
    fn check_ends(&self) -> Result<(), ProjectionError> {
        let mut before = 0;
        for end in self
            .part(0, 4 * self.header.terms)
            .chunks_exact(4)
            .map(|end| u32_at(end, 0))
        {
            if end < before {
                return Err(ProjectionError::Field { field: "ends" });
            }
            before = end;
        }
        if before as usize == self.header.text_len {
            Ok(())
        } else {
            Err(ProjectionError::Field { field: "ends" })
        }
    }

    /// Reads all bytes and compares their checksum with the one they were written with.
    ///
    /// # Errors
    /// [`ProjectionError::Checksum`].
    pub fn verify(&self) -> Result<(), ProjectionError> {
        if xxh3_64(&self.bytes.as_ref()[HEADER_LEN..]) == self.header.body_xxh3 {
            Ok(())
        } else {
            Err(ProjectionError::Checksum { part: "body" })
        }
    }

    /// Length of every vector.
    pub fn dim(&self) -> usize {
        self.header.dim
    }

    /// Number of terms.
    pub fn terms(&self) -> usize {
        self.header.terms
    }

    /// Number of rows that the fit saw.
    pub fn rows(&self) -> usize {
        self.header.rows as usize
    }

    /// Share of the rows' squared length that the dimensions retain, 0 to 1.
    pub fn energy(&self) -> f32 {
        self.header.energy
    }

    /// Name of the vector space. It contains a checksum of the bytes, so that another fit has another
    /// name unless it learned the very same numbers.
    pub fn model(&self) -> String {
        format!("lsa-{VERSION}:{:016x}", self.header.body_xxh3)
    }

    /// The bytes that it reads.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// Gives the bytes back.
    pub fn into_bytes(self) -> B {
        self.bytes
    }

    /// The index of a term, `None` if the fit dropped it. A binary search.
    pub fn term(&self, term: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.header.terms);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.term_text(middle).cmp(term.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                // Below 2^32: it is below `terms`, which has four bytes in the header.
                Ordering::Equal => return Some(middle as u32),
            }
        }
        None
    }

    /// Folds in a text: `counts` are (term index, number of occurrences). Each term once, in
    /// ascending order for a sum of the same rounding each time. An index beyond the last, or a
    /// count of 0, is passed over.
    ///
    /// Returns a vector `[dim]` of length 1; `None` when no term is known, or when those that are
    /// cancel one another.
    ///
    /// Cost: `dim` multiply-adds a term.
    pub fn project(&self, counts: &[(u32, u32)]) -> Option<Vec<f32>> {
        let mut vector = vec![0.0; self.header.dim];
        for &(term, tf) in counts.iter().filter(|&&(_, tf)| tf > 0) {
            let Some((scale, row)) = self.term_row(term as usize) else {
                continue;
            };
            let factor = log_tf(tf) * scale;
            for (number, &step) in vector.iter_mut().zip(row) {
                *number += factor * f32::from(step);
            }
        }
        normalise(&mut vector).then_some(vector)
    }

    /// Folds in a text given as its terms, repeated as often as they occur, in any order.
    /// See [`project`](Self::project).
    pub fn embed_terms<T: AsRef<str>>(
        &self,
        terms: impl IntoIterator<Item = T>,
    ) -> Option<Vec<f32>> {
        self.project_terms(
            terms
                .into_iter()
                .filter_map(|term| self.term(term.as_ref()))
                .collect(),
        )
    }

    /// Folds in a text given as the indices of its terms, with repetitions.
    pub(super) fn project_terms(&self, mut found: Vec<u32>) -> Option<Vec<f32>> {
        found.sort_unstable();
        // As in the fit, where a count takes two bytes.
        let tf = |same: &[u32]| same.len().min(usize::from(u16::MAX)) as u32;
        let counts: Vec<_> = found
            .chunk_by(|a, b| a == b)
            .map(|same| (same[0], tf(same)))
            .collect();
        self.project(&counts)
    }

    /// The text of a term below `terms`.
    fn term_text(&self, term: usize) -> &[u8] {
        let ends = self.part(0, 4 * self.header.terms);
        let start = if term == 0 {
            0
        } else {
            u32_at(ends, 4 * (term - 1)) as usize
        };
        let end = u32_at(ends, 4 * term) as usize;
        &self.part(8 * self.header.terms, self.header.text_len)[start..end]
    }

    /// The scale and the projection's row of a term.
    fn term_row(&self, term: usize) -> Option<(f32, &[i8])> {
        let Header {
            dim,
            terms,
            text_len,
            ..
        } = self.header;
        if term >= terms {
            return None;
        }
        let scale = f32::from_bits(u32_at(self.part(4 * terms + 4 * term, 4), 0));
        let row = self.part(8 * terms + text_len + term * dim, dim);
        Some((scale, bytemuck::cast_slice(row)))
    }

    /// Bytes behind the header. In range for every place that the checked sizes allow.
    fn part(&self, start: usize, len: usize) -> &[u8] {
        &self.bytes.as_ref()[HEADER_LEN + start..][..len]
    }
}

/// Weight of a term that occurs `tf` times in a text; `tf` is at least 1.
pub(super) fn log_tf(tf: u32) -> f32 {
    1.0 + (tf as f32).ln()
}

/// Scales `vector` to length 1. False when it has no direction: all zeros, or not finite.
fn normalise(vector: &mut [f32]) -> bool {
    let length = vector
        .iter()
        .map(|&number| f64::from(number).powi(2))
        .sum::<f64>()
        .sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return false;
    }
    vector
        .iter_mut()
        .for_each(|number| *number = (f64::from(*number) / length) as f32);
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::layout::ProjectionParts;
    use super::super::layout::tests::sample;
    use super::*;

    fn is_close(got: Option<Vec<f32>>, want: Option<[f32; 2]>) -> bool {
        match (got, want) {
            (None, None) => true,
            (Some(got), Some(want)) => got.iter().zip(want).all(|(a, b)| (a - b).abs() < 0.01),
            _ => false,
        }
    }

    #[test]
    fn terms_fold_in_by_weight() {
        let projection = Projection::new(sample()).unwrap();
        let half = 0.5_f32.sqrt();
        let thrice = log_tf(3);
        let length = thrice.hypot(1.0);
        type Case<'a> = (&'a str, &'a [&'a str], Option<[f32; 2]>);
        let cases: &[Case<'_>] = &[
            ("nothing in", &[], None),
            ("unknown terms only", &["a", "hea", "heats", "zebra"], None),
            ("one term", &["flow"], Some([1.0, 0.0])),
            (
                "an unknown term changes nothing",
                &["flow", "mach"],
                Some([1.0, 0.0]),
            ),
            ("idf weighs", &["flow", "heat"], Some([half, half])),
            (
                "the logarithm of the count weighs",
                &["heat", "flow", "flow", "flow"],
                Some([thrice / length, 1.0 / length]),
            ),
            ("a row of opposite signs", &["wing"], Some([-half, half])),
        ];
        for (name, terms, want) in cases {
            let got = projection.embed_terms(*terms);
            assert!(is_close(got.clone(), *want), "{name}: {got:?}");
        }
    }

    #[test]
    fn counts_of_unknown_terms_are_ignored() {
        let projection = Projection::new(sample()).unwrap();
        assert_eq!(projection.project(&[(3, 1), (u32::MAX, 2), (0, 0)]), None);
        assert!(is_close(
            projection.project(&[(0, 1), (3, 1)]),
            Some([1.0, 0.0])
        ));
        assert!(projection.project(&[(0, u32::MAX)]).is_some());
    }

    #[test]
    fn embedding_is_none_when_terms_cancel_out() {
        let parts = ProjectionParts {
            dim: 1,
            rows: 2,
            energy: 1.0,
            terms: vec!["a", "b"],
            idf: &[1.0, 1.0],
        };
        let bytes = parts
            .encode(|term, row| row[0] = [1.0, -1.0][term])
            .unwrap();
        assert_eq!(
            Projection::new(bytes).unwrap().embed_terms(["a", "b"]),
            None
        );
    }

    #[test]
    fn projection_reports_its_sizes_and_model_name() {
        let projection = Projection::new(sample()).unwrap();
        assert_eq!(
            (projection.dim(), projection.terms(), projection.rows()),
            (2, 3, 9)
        );
        assert_eq!(projection.energy(), 0.5);
        assert_eq!(projection.verify(), Ok(()));
        assert_eq!(
            ["flow", "heat", "wing"].map(|t| projection.term(t)),
            [Some(0), Some(1), Some(2)]
        );
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_noticed_or_harmless(bit in 0..106 * 8_usize) {
            let mut bytes = sample();
            bytes[bit / 8] ^= 1 << (bit % 8);
            if let Ok(projection) = Projection::new(bytes) {
                prop_assert!(bit >= 64 * 8);
                prop_assert!(projection.verify().is_err());
                if let Some(vector) = projection.embed_terms(["flow", "heat", "wing"]) {
                    prop_assert!(vector.iter().all(|number| number.is_finite()));
                }
            }
        }

        #[test]
        fn a_cut_is_noticed(len in 0..106_usize) {
            prop_assert!(Projection::new(&sample()[..len]).is_err());
        }

        #[test]
        fn any_bytes_behind_a_good_header_are_read_without_panic(
            body in prop::collection::vec(any::<u8>(), 42),
        ) {
            let mut bytes = sample();
            bytes[64..].copy_from_slice(&body);
            if let Ok(projection) = Projection::new(bytes) {
                projection.embed_terms(["flow", "heat", "wing"]);
            }
        }
    }
}
