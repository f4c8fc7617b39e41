//! Snapshots that are published and pinned, and the deletion of files that no snapshot needs.
//!
//! Always true: a pinned snapshot has all its files. A file is deleted once: after a durable manifest omits it, and
//! after the last snapshot that uses it is released.
//!
//! Start reading at [`Published`]; [`Reclaim`] deletes files.

mod published;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use published::*;
