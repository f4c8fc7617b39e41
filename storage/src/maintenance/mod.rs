//! Commands that keep a store safe and usable.
//!
//! | to | read |
//! | --- | --- |
//! | copy a store to another folder, and restore it | [`backup`] |
//! | look for damage | [`check`] |
//! | write all rows as JSON, and build a store from them | [`export`] |
//! | convert a store of an earlier format | [`upgrade`] |
//! | measure disk usage | [`usage`] |
//!
//! Always true: only an upgrade changes rows of the store, in one transaction.

pub mod backup;
mod backup_folder;
pub mod check;
pub mod export;
pub mod upgrade;
pub mod usage;
