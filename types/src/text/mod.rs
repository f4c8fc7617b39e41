//! Rules of text that all crates share.

mod language;

pub use language::code_of;
