//! The care of a store: checks, copies, formats.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Also look whether rows agree with each other, with segments, and with what the store says of itself
    #[arg(long)]
    pub(crate) deep: bool,
    /// Build damaged segments again from rows
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
    /// How many states the folder keeps, the new one included: the one before is set aside in OUT/generations, the oldest
    /// go. Without it the one before is replaced, and what is set aside stays
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<NonZeroUsize>,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// Folder of the backup
    #[arg(value_name = "BACKUP")]
    pub(crate) from: PathBuf,
    /// Folder that becomes the store: missing or empty, or left by a restore that was stopped
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Which of the states that the backup keeps; without it the newest
    #[arg(long, value_name = "N")]
    pub(crate) generation: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Only say whether it can be done: nothing is changed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// File that is made; - for standard output
    #[arg(value_name = "OUT")]
    pub(crate) to: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The export; - for standard input
    #[arg(value_name = "IN")]
    pub(crate) from: PathBuf,
    /// Folder that becomes the store: missing or empty
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
}
