//! Names of concepts: how they are compared, the dictionary of a segment, and the concepts that a text names.
//!
//! Always true: two names are the same concept if [`normalise::normalise`] gives the same string for both.
//!
//! Start reading at [`link::link`].

pub mod link;
pub mod names;
pub mod normalise;
pub mod types;
