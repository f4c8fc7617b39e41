//! The open store: what its threads share ([`inner`]) and the snapshots that it publishes ([`snapshot`]), which
//! [`factory`] opens.

pub(crate) mod factory;
pub(crate) mod inner;
pub(crate) mod snapshot;
