//! Records in rows: those that all crates share ([`loci_types::records`]), and two that only storage uses.
//!
//! Start reading at [`ManifestRecord`]; the other is [`SpaceRecord`].

mod manifest;
mod space;

pub use loci_types::records::*;
pub use manifest::*;
pub use space::*;
