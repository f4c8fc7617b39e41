//! What keeps a store safe and usable: backups, exports, checks, upgrades, usage.

pub mod backup;
mod backup_folder;
pub mod check;
pub mod export;
pub mod upgrade;
pub mod usage;
