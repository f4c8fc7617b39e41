//! Maintenance of an open store in the background: merging segments ([`merge`]) and rebuilding damaged indexes of the
//! whole store ([`recovery`]).
//!
//! Always true: searches and writes continue meanwhile; after a failure the thread waits and tries again.
//!
//! Start reading at [`thread`], which runs both.

pub(crate) mod merge;
pub(crate) mod recovery;
pub(crate) mod thread;
