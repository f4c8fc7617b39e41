//! How a caller names a hit of an answer.

use std::fmt;
use std::str::FromStr;

use crate::keys::{ChunkKey, KeyError};

/// Which hit of an answer is meant. Written as a rank (`3`) or as a chunk's key (`notes.md#7`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HitRef {
    /// By its rank, from 1.
    Rank(u32),
    /// By its chunk.
    Chunk(ChunkKey),
}

impl fmt::Display for HitRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HitRef::Rank(rank) => write!(f, "hit {rank}"),
            HitRef::Chunk(chunk) => write!(f, "hit {chunk}"),
        }
    }
}

impl FromStr for HitRef {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<HitRef, KeyError> {
        match text.parse() {
            Ok(rank) => Ok(HitRef::Rank(rank)),
            Err(_) => text.parse().map(HitRef::Chunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_is_named_by_rank_or_chunk() {
        assert_eq!("3".parse::<HitRef>().unwrap(), HitRef::Rank(3));
        let chunk: HitRef = "notes::a.md#3".parse().unwrap();
        assert_eq!(chunk.to_string(), "hit notes::a.md#3");
        assert!("a.md".parse::<HitRef>().is_err());
    }
}
