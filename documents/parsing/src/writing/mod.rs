//! The text and the blocks that a parser builds.
//!
//! Always true: the numbers that [`Limits`](crate::limits::Limits) bounds are checked while blocks are added.
//!
//! Start reading at [`writer::Writer`], for formats with a new text, or [`blocks::Blocks`].

pub mod blocks;
pub mod running;
pub mod writer;
