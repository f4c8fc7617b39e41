//! The order of chunks, as pure functions over lists of them.
//!
//! | module | what |
//! | --- | --- |
//! | [`fuse`] | the lists of several arms as one |
//! | [`rank`] | what reorders chunks after fusion |
//! | [`calibrate`] | how much vector search counts beside text search, measured without labels |
//!
//! Start reading at [`fuse`].

pub mod calibrate;
pub mod fuse;
pub mod rank;
