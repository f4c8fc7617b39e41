//! What a row holds: the records that everyone shares, which are those of [`loci_types::records`], and the store's own.

mod manifest;
mod space;

pub use loci_types::records::*;
pub use manifest::*;
pub use space::*;
