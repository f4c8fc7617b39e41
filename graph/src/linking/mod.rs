//! The concepts that a text names: normalised names, their dictionary, the longest match.

pub mod link;
pub mod names;
pub mod normalise;
pub mod types;
