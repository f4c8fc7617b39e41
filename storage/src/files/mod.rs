//! The files of a store: how they are named, read, written, locked and protected.
//!
//! Every file operation is one of a [`Disk`](disk::Disk). A segment file is written once and never changed
//! ([`segment_dir`]); a folder that a command is still filling has a marker ([`unfinished`]).

pub(crate) mod bytes;
pub mod disk;
pub(crate) mod folder;
pub(crate) mod lock;
mod lock_holders;
pub(crate) mod names;
pub(crate) mod overlay;
pub mod permissions;
pub(crate) mod segment_dir;
pub(crate) mod unfinished;
