//! Rules of text that all crates share: folding of letters, division into sentences, codes of languages.
//!
//! Always true: results are stored, as terms, names and boundaries of chunks, so changing a rule changes what is
//! stored.
//!
//! Start reading at [`fold`] or [`sentences::sentences`].

pub mod fold;
mod language;
pub mod sentences;

pub use language::language_code;

/// FNV-1a of texts, each with its end.
#[cfg(test)]
fn digest(texts: impl Iterator<Item = String>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in texts {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}
