//! A source of choices: a seed, or the bytes of a fuzzer.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of choices. Equal sources give equal choices.
pub enum Source<'b> {
    /// Numbers of a seed, without end.
    Seeded(Box<ChaCha8Rng>),
    /// Bytes, one a choice; zeros after the last.
    Bytes(&'b [u8]),
}

impl<'b> Source<'b> {
    /// The choices of a seed.
    pub fn seeded(seed: u64) -> Source<'static> {
        Source::Seeded(Box::new(ChaCha8Rng::seed_from_u64(seed)))
    }

    /// The choices of one of several streams of a seed.
    pub fn stream(seed: u64, stream: u64) -> Source<'static> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Source::Seeded(Box::new(rng))
    }

    /// The choices that `bytes` make.
    pub fn bytes(bytes: &'b [u8]) -> Source<'b> {
        Source::Bytes(bytes)
    }

    /// Whether no choice is left.
    pub fn is_empty(&self) -> bool {
        matches!(self, Source::Bytes([]))
    }

    /// A number below `end`, which is 1 or more.
    pub fn below(&mut self, end: u32) -> u32 {
        match self {
            // The bias is below one in a million for the numbers asked here.
            Source::Seeded(rng) => ((u64::from(rng.next_u32()) * u64::from(end)) >> 32) as u32,
            Source::Bytes(bytes) if end <= 256 => take(bytes, 1) % end,
            Source::Bytes(bytes) => take(bytes, 4) % end,
        }
    }

    /// True once in `end` times.
    pub fn one_in(&mut self, end: u32) -> bool {
        self.below(end) == 0
    }

    /// Any number.
    pub fn seed(&mut self) -> u64 {
        match self {
            Source::Seeded(rng) => rng.next_u64(),
            Source::Bytes(bytes) => u64::from(take(bytes, 2)),
        }
    }

    /// One of `choices`, which are not none.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }
}

/// The number that the next bytes make.
fn take(bytes: &mut &[u8], count: usize) -> u32 {
    let (head, rest) = bytes.split_at(count.min(bytes.len()));
    *bytes = rest;
    head.iter()
        .fold(0, |number, &byte| number << 8 | u32::from(byte))
}
