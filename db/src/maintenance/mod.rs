//! Upkeep of an open store: merging segments ([`merge`]), building again what was damaged ([`recovery`]), and the
//! thread that does both in the background ([`thread`]).

pub(crate) mod merge;
pub(crate) mod recovery;
pub(crate) mod thread;
