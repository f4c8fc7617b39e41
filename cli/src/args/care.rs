//! Maintenance of a store: checks, copies, formats.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Also compare rows with each other, with segments, and with the store's counters
    #[arg(long)]
    pub(crate) deep: bool,
    /// Rebuild damaged segments from rows
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Folder of the backup: missing, empty, or with an earlier backup of the same store
    #[arg(value_name = "OUT")]
    pub(crate) to: PathBuf,
    /// Number of generations in the folder, including the new one: the previous one moves to OUT/generations, and the
    /// oldest are deleted. Without it the previous one is replaced, and OUT/generations is not changed
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<NonZeroUsize>,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Folder of the backup
    #[arg(value_name = "BACKUP")]
    pub(crate) from: PathBuf,
    /// Folder of the new store: missing, empty, or left by an interrupted restore
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Generation of the backup to restore; without it the newest
    #[arg(long, value_name = "N")]
    pub(crate) generation: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Only print whether the upgrade is possible; nothing is changed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// File to create; - for standard output
    #[arg(value_name = "OUT")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The export; - for standard input
    #[arg(value_name = "IN")]
    pub(crate) from: PathBuf,
    /// Folder of the new store: missing or empty
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
}
