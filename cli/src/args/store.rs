//! What goes into a store, what it holds, and its settings.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Parse {
    /// Say whether this process is confined and within which limits, rather than parse; with a folder that has a file
    /// `there`, also try to break out
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
    /// Folder of the store; made when missing
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Key of the document, for one file; else its path relative to the folder
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Named collection
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) collection: String,
    /// What the files are: auto, pdf, pptx, docx, epub, html, markdown, latex, jats, code, a language, chat, subtitles,
    /// image, text
    #[arg(long, default_value = "auto")]
    pub(crate) kind: String,
    /// How documents are cut
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) chunking: ChunkingArg,
    /// Which chunks are embedded; else as the store's settings say
    #[arg(long, value_enum)]
    pub(crate) embed: Option<EmbedArg>,
    /// Who owns the documents
    #[arg(long, value_name = "ID", default_value = "")]
    pub(crate) user: String,
    /// Do unchanged files again
    #[arg(long)]
    pub(crate) force: bool,
    /// Replace documents under the same key that were read from other files, or stored by clients
    #[arg(long)]
    pub(crate) replace: bool,
    /// Go on with what comes and changes there, until interrupted; looks every so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    pub(crate) watch: Option<f64>,
    /// With --watch: delete documents whose files go
    #[arg(long, requires = "watch")]
    pub(crate) delete: bool,
    /// Files parsed at a time; 0: as many as there are cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) jobs: usize,
    /// A program, with arguments, that gets a picture on standard input and prints what it shows: for pictures without a
    /// caption
    #[arg(long, value_name = "COMMAND")]
    pub(crate) caption_command: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ChunkingArg {
    /// By the kind of file
    Auto,
    /// By headings, whatever the kind of file
    Hierarchical,
    /// A summary of the document, sections, and propositions
    ThreeLevel,
    /// As auto, and sentences
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
    /// Count everything again from rows and segments, and say what differs
    #[arg(long)]
    pub(crate) recount: bool,
    /// Figures of the learning items: how diverse they are, how many were merged, how reviews went
    #[arg(long, conflicts_with = "recount")]
    pub(crate) items: bool,
    /// What takes room: rows by table, views by what they hold, and how much of it is free
    #[arg(long, conflicts_with_all = ["recount", "items"])]
    pub(crate) space: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Keys of documents, as hits print them; with --collection or --user, their keys in there
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
        /// Its value; left out, the default
        value: Option<String>,
    },
}
