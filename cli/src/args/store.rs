//! Content of a store: ingestion, deletion, statistics, settings.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Parse {
    /// Instead of parsing, print whether this process is confined and its limits; with a folder that contains a file
    /// `there`, also try to break the confinement
    #[arg(long, value_name = "FOLDER", num_args = 0..=1)]
    pub(crate) probe: Option<Option<PathBuf>>,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Keep the store in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) db: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Ingest {
    /// Folder of the store; created if missing
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Key of the document, for one file; by default its path relative to the folder
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Named collection
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) collection: String,
    /// Format of the files: auto, pdf, pptx, docx, epub, html, markdown, latex, jats, code, a language, chat, subtitles,
    /// image, text
    #[arg(long, default_value = "auto")]
    pub(crate) kind: String,
    /// How documents are split into chunks
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) chunking: ChunkingArg,
    /// Which chunks are embedded; by default as in the store's settings
    #[arg(long, value_enum)]
    pub(crate) embed: Option<EmbedArg>,
    /// Who owns the documents
    #[arg(long, value_name = "ID", default_value = "")]
    pub(crate) user: String,
    /// Also process unchanged files
    #[arg(long)]
    pub(crate) force: bool,
    /// Replace documents under the same key that were read from other files, or stored by clients
    #[arg(long)]
    pub(crate) replace: bool,
    /// Continue with new and changed files until interrupted; checks every SECONDS seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub(crate) watch: Option<f64>,
    /// With --watch: delete the documents of deleted files
    #[arg(long, requires = "watch")]
    pub(crate) delete: bool,
    /// Files parsed in parallel; 0: one per core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) jobs: usize,
    /// A program, with arguments, that reads a picture from standard input and prints a description: for pictures
    /// without a caption
    #[arg(long, value_name = "COMMAND")]
    pub(crate) caption_command: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ChunkingArg {
    /// By the format of the file
    Auto,
    /// By headings, for every format
    Hierarchical,
    /// A summary of the document, sections, and propositions
    ThreeLevel,
    /// Like auto, and sentences
    Sentence,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EmbedArg {
    All,
    Children,
    None,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Recount everything from rows and segments, and print the differences
    #[arg(long)]
    pub(crate) recount: bool,
    /// Print statistics of the learning items: diversity, merges, reviews
    #[arg(long, conflicts_with = "recount")]
    pub(crate) items: bool,
    /// Print disk usage: rows by table, derived indexes by section, and free space
    #[arg(long, conflicts_with_all = ["recount", "items"])]
    pub(crate) space: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Keys of documents as hits print them; with --collection or --user, keys within these
    #[arg(required = true, value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    /// Named collection
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// Who owns the documents
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    #[command(subcommand)]
    pub(crate) action: Option<ConfigAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Print one setting, or all
    Get {
        /// Its name
        key: Option<String>,
    },
    /// Change a setting
    Set {
        /// Its name
        key: String,
        /// Its value; without it, the default
        value: Option<String>,
    },
}
