//! Rules of text that all crates share.

mod language;

pub use language::language_code;
