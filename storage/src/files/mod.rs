//! The files of a store: how they are named, read, written, locked and protected.
//!
//! Always true: every file operation goes through a [`Disk`](disk::Disk). A segment file is written once and never
//! changed ([`segment_dir`]). While a command fills a folder, the folder has a marker ([`unfinished`]).
//!
//! Start reading at [`disk::Disk`].

pub(crate) mod bytes;
pub mod disk;
pub(crate) mod folder;
pub(crate) mod lock;
mod lock_holders;
pub(crate) mod lock_note;
pub(crate) mod names;
pub(crate) mod overlay;
pub mod permissions;
pub(crate) mod segment_dir;
pub(crate) mod unfinished;
