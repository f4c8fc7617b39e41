//! The handle that applications hold.
//!
//! Start reading at [`handle::Database`].

mod derived;
pub(crate) mod handle;
