//! Files within a file: archives, and the pictures in them.

pub(crate) mod archive;
pub(crate) mod pictures;
