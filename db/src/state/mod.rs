//! The open store: what its threads share ([`inner`]), the snapshots that searches read ([`snapshot`]), and how each
//! commit opens one ([`factory`]).
//!
//! Start reading at [`inner::Inner`].

pub(crate) mod factory;
pub(crate) mod inner;
pub(crate) mod snapshot;
