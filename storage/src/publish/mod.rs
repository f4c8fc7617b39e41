//! Publishing snapshots, pinning them, and deleting the files that none of them needs.

mod published;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use published::*;
