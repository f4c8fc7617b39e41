//! Zip archives, which Word, PowerPoint and EPUB files are, and the pictures in them.
//!
//! Always true: reading an archive is bounded by [`Limits`](crate::limits::Limits), whatever sizes it declares.
//!
//! Start reading at [`archive::Archive`].

pub mod archive;
pub mod pictures;
