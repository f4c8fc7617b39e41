//! Files within a file: archives, and the pictures in them.

pub mod archive;
pub mod pictures;
