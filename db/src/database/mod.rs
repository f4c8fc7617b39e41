//! The handle that applications hold: open, write, search, and update what is derived from the whole store.
//!
//! Start reading at [`handle::Database`].

mod derived;
pub(crate) mod handle;
