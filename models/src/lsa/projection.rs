//! What a text is folded in with: the vocabulary, and one row of the projection for each term.
//!
//! The bytes are read where they lie, in a mapped file or a `Vec`; nothing is copied or decoded
//! when they are opened.
//!
//! ```text
//! offset  size     field        (integers and floats are little-endian)
//!      0     8     magic        89 'L' 'S' 'A' 0d 0a 1a 0a
//!      8     2     version      1; a reader refuses what it does not know
//!     10     2     reserved     zero
//!     12     4     dim          D, 1..=1024
//!     16     4     terms        T, at least 1
//!     20     4     rows         rows that the fit saw
//!     24     4     energy       f32, share of the rows' energy that is kept, 0..=1
//!     28     4     reserved     zero
//!     32     8     text_len     L, bytes of all terms together
//!     40     8     body_xxh3    over the bytes from 64 on; also names the vector space
//!     48     8     reserved     zero
//!     56     8     header_xxh3  over bytes 0..56, checked by every open
//!     64     4·T   ends         u32 each: where the term's text ends; it starts where the one
//!                               before it ends
//!      -     4·T   scales       f32 each: inverse document frequency · largest number of the row / 127
//!      -     L     text         the terms, UTF-8, ascending by bytes, without gaps
//!      -     T·D   rows         i8 each: the projection's row / its largest number · 127
//! ```
//!
//! A text with counts `tf` lies at `Σ (1 + ln tf) · scale · row`, scaled to length 1. One byte a
//! number changes no vector by more than a cosine of 0.9998 and no ranking that could be measured.
//!
//! What always holds: every offset is checked when the bytes are opened; text that is not sorted, or
//! numbers that were changed, lead to wrong vectors and never further. [`Projection::verify`] tells.
//!
//! Start reading at [`Projection::new`].

use std::cmp::Ordering;

use xxhash_rust::xxh3::xxh3_64;

use super::fitter::DIM_MAX;

const MAGIC: [u8; 8] = *b"\x89LSA\r\n\x1a\n";
const VERSION: u16 = 1;
const HEADER_LEN: usize = 64;

/// Why bytes are no projection. Every variant tells its reader what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// The first bytes are not ours: a wrong section, or a damaged copy. Fit again.
    #[error("not a projection")]
    NotAProjection,
    /// A newer release wrote it. Upgrade, or fit again.
    #[error("projection version {found}; this build reads up to {newest}")]
    Version {
        /// What the bytes say.
        found: u16,
        /// What this build can read.
        newest: u16,
    },
    /// The bytes changed after they were written. Fit again, and suspect the disk.
    #[error("{part} of the projection has another checksum than when it was written")]
    Checksum {
        /// `header` or `body`.
        part: &'static str,
    },
    /// More or fewer bytes than the header promises. Fit again.
    #[error("projection has {got} bytes, its header promises {need}")]
    Length {
        /// Bytes that the header promises, or those of a header.
        need: u64,
        /// Bytes that are there.
        got: u64,
    },
    /// A field holds what no writer writes. Fit again.
    #[error("projection field {field} is out of range")]
    Field {
        /// The field, by its name in the table of bytes.
        field: &'static str,
    },
}

/// The sizes that a header tells.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Header {
    dim: usize,
    terms: usize,
    rows: u32,
    energy: f32,
    text_len: usize,
    body_xxh3: u64,
}

impl Header {
    /// Reads a header from the start of `bytes`, which may be anything at all.
    fn decode(bytes: &[u8]) -> Result<Header, ProjectionError> {
        let Some(head) = bytes.first_chunk::<HEADER_LEN>() else {
            return Err(ProjectionError::Length {
                need: HEADER_LEN as u64,
                got: bytes.len() as u64,
            });
        };
        if head[..8] != MAGIC {
            return Err(ProjectionError::NotAProjection);
        }
        // Before the checksum: a later version may place its checksum elsewhere.
        let found = u16::from_le_bytes([head[8], head[9]]);
        if found != VERSION {
            return Err(ProjectionError::Version {
                found,
                newest: VERSION,
            });
        }
        if u64_at(head, 56) != xxh3_64(&head[..56]) {
            return Err(ProjectionError::Checksum { part: "header" });
        }
        Header::checked(head)
    }

    /// The fields, each in its range.
    fn checked(head: &[u8; HEADER_LEN]) -> Result<Header, ProjectionError> {
        let field = |field| ProjectionError::Field { field };
        let dim = u32_at(head, 12) as usize;
        if !(1..=DIM_MAX).contains(&dim) {
            return Err(field("dim"));
        }
        let terms = u32_at(head, 16) as usize;
        if terms == 0 {
            return Err(field("terms"));
        }
        let energy = f32::from_bits(u32_at(head, 24));
        if !(0.0..=1.0).contains(&energy) {
            return Err(field("energy"));
        }
        let text_len = u32::try_from(u64_at(head, 32)).map_err(|_| field("text_len"))? as usize;
        let (rows, body_xxh3) = (u32_at(head, 20), u64_at(head, 40));
        Ok(Header {
            dim,
            terms,
            rows,
            energy,
            text_len,
            body_xxh3,
        })
    }

    fn encode(&self) -> [u8; HEADER_LEN] {
        let mut head = [0; HEADER_LEN];
        let mut put = |at: usize, bytes: &[u8]| head[at..][..bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &(self.dim as u32).to_le_bytes());
        put(16, &(self.terms as u32).to_le_bytes());
        put(20, &self.rows.to_le_bytes());
        put(24, &self.energy.to_le_bytes());
        put(32, &(self.text_len as u64).to_le_bytes());
        put(40, &self.body_xxh3.to_le_bytes());
        let checksum = xxh3_64(&head[..56]);
        head[56..].copy_from_slice(&checksum.to_le_bytes());
        head
    }

    /// Bytes of the whole projection. Sizes are below 2^32 · 2^10, so this cannot overflow.
    fn len(&self) -> u64 {
        let (terms, dim) = (self.terms as u64, self.dim as u64);
        HEADER_LEN as u64 + terms * (8 + dim) + self.text_len as u64
    }
}

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
        match before as usize == self.header.text_len {
            true => Ok(()),
            false => Err(ProjectionError::Field { field: "ends" }),
        }
    }

    /// Reads all bytes and compares their checksum with the one they were written with.
    ///
    /// # Errors
    /// [`ProjectionError::Checksum`].
    pub fn verify(&self) -> Result<(), ProjectionError> {
        match xxh3_64(&self.bytes.as_ref()[HEADER_LEN..]) == self.header.body_xxh3 {
            true => Ok(()),
            false => Err(ProjectionError::Checksum { part: "body" }),
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

    /// Share of the rows' squared length that the dimensions keep, 0 to 1.
    pub fn energy(&self) -> f32 {
        self.header.energy
    }

    /// Name of the vector space: two projections have one name only if their bytes are the same.
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

    /// The index of a term, `None` when the fit did not keep it. A binary search.
    pub fn term(&self, term: &str) -> Option<u32> {
        let (mut low, mut high) = (0, self.header.terms);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.text_of(middle).cmp(term.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                // Below 2^32: it is below `terms`, which a header holds in four bytes.
                Ordering::Equal => return Some(middle as u32),
            }
        }
        None
    }

    /// Folds in a text: `counts` are (term index, how often it stands there). Each term once, in
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
            let Some((scale, row)) = self.row_of(term as usize) else {
                continue;
            };
            let factor = log_tf(tf) * scale;
            for (number, &step) in vector.iter_mut().zip(row) {
                *number += factor * f32::from(step);
            }
        }
        normalise(&mut vector).then_some(vector)
    }

    /// Folds in a text given as its terms, repeated as often as they stand there, in any order.
    /// See [`project`](Self::project).
    pub fn embed_terms<T: AsRef<str>>(
        &self,
        terms: impl IntoIterator<Item = T>,
    ) -> Option<Vec<f32>> {
        self.project_found(
            terms
                .into_iter()
                .filter_map(|term| self.term(term.as_ref()))
                .collect(),
        )
    }

    /// Folds in a text given as the indices of its terms, with repetitions.
    pub(super) fn project_found(&self, mut found: Vec<u32>) -> Option<Vec<f32>> {
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
    fn text_of(&self, term: usize) -> &[u8] {
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
    fn row_of(&self, term: usize) -> Option<(f32, &[i8])> {
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

/// What a projection is written from. Terms ascend by their bytes; all lists have `terms` entries.
pub(super) struct Parts<'a> {
    pub(super) dim: usize,
    pub(super) rows: u32,
    pub(super) energy: f32,
    pub(super) terms: Vec<&'a str>,
    /// Inverse document frequencies.
    pub(super) idf: &'a [f32],
}

impl Parts<'_> {
    /// Writes the projection. `row_of` fills in the projection's row of a term, `[dim]`, finite.
    /// `None` when the terms' texts together take 4 GiB or more.
    pub(super) fn encode(&self, row_of: impl Fn(usize, &mut [f32])) -> Option<Vec<u8>> {
        let text_len = self.terms.iter().map(|term| term.len()).sum::<usize>();
        u32::try_from(text_len).ok()?;
        let terms = self.terms.len();
        let mut header = Header {
            dim: self.dim,
            terms,
            rows: self.rows,
            energy: self.energy,
            text_len,
            body_xxh3: 0,
        };
        let mut bytes = Vec::with_capacity(usize::try_from(header.len()).ok()?);
        bytes.resize(HEADER_LEN, 0);
        let mut end = 0;
        for term in &self.terms {
            end += term.len();
            bytes.extend_from_slice(&(end as u32).to_le_bytes());
        }
        // The scales are known when the rows are quantised.
        let scales_at = bytes.len();
        bytes.resize(scales_at + 4 * terms, 0);
        self.terms
            .iter()
            .for_each(|term| bytes.extend_from_slice(term.as_bytes()));
        let mut row = vec![0.0; self.dim];
        for (term, &idf) in self.idf.iter().enumerate() {
            row_of(term, &mut row);
            let scale = idf * quantise(&row, &mut bytes);
            bytes[scales_at + 4 * term..][..4].copy_from_slice(&scale.to_le_bytes());
        }
        header.body_xxh3 = xxh3_64(&bytes[HEADER_LEN..]);
        bytes[..HEADER_LEN].copy_from_slice(&header.encode());
        Some(bytes)
    }
}

/// Appends a row as one byte a number; answers with what a step of 1 stands for.
fn quantise(row: &[f32], bytes: &mut Vec<u8>) -> f32 {
    let largest = row
        .iter()
        .fold(0.0_f32, |largest, number| largest.max(number.abs()));
    // A row so small that steps of it are no normal numbers is a row of zeros.
    let step = largest / 127.0;
    if !step.is_normal() {
        bytes.resize(bytes.len() + row.len(), 0);
        return 0.0;
    }
    bytes.extend(
        row.iter()
            .map(|number| ((number / step).round() as i8).to_le_bytes()[0]),
    );
    step
}

/// Weight of a term that stands `tf` times in a text; `tf` is at least 1.
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

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..][..4]);
    u32::from_le_bytes(number)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..][..8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Three terms in two dimensions.
    fn sample() -> Vec<u8> {
        let terms = vec!["flow", "heat", "wing"];
        let parts = Parts {
            dim: 2,
            rows: 9,
            energy: 0.5,
            terms,
            idf: &[1.0, 2.0, 1.0],
        };
        let rows = [[1.0, 0.0], [0.0, 0.5], [-0.5, 0.5]];
        parts
            .encode(|term, row| row.copy_from_slice(&rows[term]))
            .unwrap()
    }

    fn near(got: Option<Vec<f32>>, want: Option<[f32; 2]>) -> bool {
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
        let cases: &[(&str, &[&str], Option<[f32; 2]>)] = &[
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
            assert!(near(got.clone(), *want), "{name}: {got:?}");
        }
    }

    #[test]
    fn counts_without_a_term_are_passed_over() {
        let projection = Projection::new(sample()).unwrap();
        assert_eq!(projection.project(&[(3, 1), (u32::MAX, 2), (0, 0)]), None);
        assert!(near(
            projection.project(&[(0, 1), (3, 1)]),
            Some([1.0, 0.0])
        ));
        assert!(projection.project(&[(0, u32::MAX)]).is_some());
    }

    #[test]
    fn terms_that_cancel_have_no_direction() {
        let parts = Parts {
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
    fn sizes_and_name_come_back() {
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

    /// A change here is a new version of the format, not a new expectation.
    #[test]
    fn bytes_are_as_the_table_says() {
        let bytes = sample();
        assert_eq!(bytes.len(), 64 + 3 * 8 + 12 + 6);
        assert_eq!(
            &bytes[..16],
            b"\x89LSA\r\n\x1a\n\x01\x00\x00\x00\x02\x00\x00\x00"
        );
        assert_eq!(
            &bytes[64..76],
            b"\x04\x00\x00\x00\x08\x00\x00\x00\x0c\x00\x00\x00"
        );
        assert_eq!(&bytes[88..100], b"flowheatwing");
        assert_eq!(&bytes[100..], [127, 0, 0, 127, 129, 127]);
        assert_eq!(
            Projection::new(bytes).unwrap().model(),
            "lsa-1:4baf4bc7d35461d9"
        );
    }

    #[test]
    fn wrong_bytes_are_refused_by_name() {
        let change = |at: usize, to: &[u8]| {
            let mut bytes = sample();
            bytes[at..][..to.len()].copy_from_slice(to);
            bytes
        };
        let resealed = |at: usize, to: &[u8]| {
            let mut bytes = change(at, to);
            let checksum = xxh3_64(&bytes[..56]);
            bytes[56..64].copy_from_slice(&checksum.to_le_bytes());
            bytes
        };
        let field = |field| ProjectionError::Field { field };
        let cases: Vec<(&str, Vec<u8>, ProjectionError)> = vec![
            (
                "empty",
                Vec::new(),
                ProjectionError::Length { need: 64, got: 0 },
            ),
            (
                "cut",
                sample()[..105].to_vec(),
                ProjectionError::Length {
                    need: 106,
                    got: 105,
                },
            ),
            (
                "other magic",
                change(1, b"X"),
                ProjectionError::NotAProjection,
            ),
            (
                "newer",
                change(8, &[2]),
                ProjectionError::Version {
                    found: 2,
                    newest: 1,
                },
            ),
            (
                "changed header",
                change(12, &[3]),
                ProjectionError::Checksum { part: "header" },
            ),
            ("no dimension", resealed(12, &[0]), field("dim")),
            (
                "too many dimensions",
                resealed(12, &[0, 0, 0, 1]),
                field("dim"),
            ),
            ("no term", resealed(16, &[0]), field("terms")),
            (
                "energy is no number",
                resealed(24, &[255; 4]),
                field("energy"),
            ),
            ("endless text", resealed(32, &[255; 8]), field("text_len")),
            ("an end before a start", change(64, &[9]), field("ends")),
            (
                "the last end is elsewhere",
                change(72, &[11]),
                field("ends"),
            ),
        ];
        for (name, bytes, want) in cases {
            assert_eq!(Projection::new(bytes).err(), Some(want), "{name}");
        }
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
