//! Prepared data folders: loading, judging, measuring.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use loci_benches::vector::Codes;

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Folder of the store; made when missing
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// The data folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: PathBuf,
    /// Where vectors come from; else the folder where it has any, else the store's own embedder
    #[arg(long, value_enum)]
    pub(crate) embedder: Option<EmbedderArg>,
    /// Where concepts come from
    #[arg(long, value_enum, default_value = "given")]
    pub(crate) concepts: ConceptsArg,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// The data folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: PathBuf,
    /// Folder of the store; else a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) db: Option<PathBuf>,
    /// Strategies: auto, hybrid, staged, global, text, vector, graph; else auto and all arms that the data allow
    #[arg(long, value_delimiter = ',', value_name = "S,…")]
    pub(crate) strategy: Vec<String>,
    /// Hits a question
    #[arg(short, default_value_t = 10, value_name = "N")]
    pub(crate) k: usize,
    /// Ask with this option changed; give it again for more
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Ask all questions a second time with this option changed too, and compare; give it again for more
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) against: Vec<String>,
    /// Also tell how recall goes with the place of a chunk in its document, and with the document's length
    #[arg(long)]
    pub(crate) lost_in_the_middle: bool,
    /// Also tell the time from files to the first answer, and for embedding 1,000 chunks
    #[arg(long)]
    pub(crate) timing: bool,
    /// Where vectors come from; else the folder where it has any, else the store's own embedder
    #[arg(long, value_enum)]
    pub(crate) embedder: Option<EmbedderArg>,
    /// Where concepts come from
    #[arg(long, value_enum, default_value = "given")]
    pub(crate) concepts: ConceptsArg,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// The data folder
    #[arg(
        long,
        value_name = "FOLDER",
        required_unless_present = "db",
        conflicts_with = "db"
    )]
    pub(crate) data: Option<PathBuf>,
    /// search: ask the store in this folder instead of a data folder
    #[arg(long, value_name = "DIR", requires = "questions")]
    pub(crate) db: Option<PathBuf>,
    /// search: with --db, a file with a question a line, as text or as JSON with a field "text"
    #[arg(long, value_name = "FILE", requires = "db")]
    pub(crate) questions: Option<PathBuf>,
    /// search: where a data folder's vectors come from; default: the folder where it has any, else built in
    #[arg(long, value_enum)]
    pub(crate) embedder: Option<EmbedderArg>,
    /// search: where a data folder's concepts come from
    #[arg(long, value_enum, default_value = "given")]
    pub(crate) concepts: ConceptsArg,
    /// What is measured
    #[arg(long, value_enum)]
    pub(crate) task: TaskArg,
    /// Threads that build, and that ask
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// The first N chunks alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Vectors: codes that walks compare: f32, f16, bf16, i8, i4, b1; else what suits the dimension
    #[arg(long, value_parser = codes)]
    pub(crate) variant: Option<Codes>,
    /// Vectors: repeat the search under random filters that keep these shares
    #[arg(long, value_delimiter = ',', value_name = "SHARE,…", value_parser = share)]
    pub(crate) filter_share: Vec<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct First {
    /// Folder of the store
    pub(crate) store: PathBuf,
    /// File with the request, as JSON
    pub(crate) question: PathBuf,
}

/// What `loci bench` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaskArg {
    /// HNSW: build, open, search
    Vector,
    /// BM25: build, open, search, and whether hits are those of an exhaustive search
    Text,
    /// Two hops from the seeds of questions, and the chunks of what they reach
    Graph,
    /// PageRank and communities
    Algorithms,
    /// A whole store: words, vectors and graph in one call, and each leg alone
    Hybrid,
    /// The request that `loci search` makes by default, operator by operator
    Search,
    /// Everything into an empty store until it is durable and has answered
    Load,
    /// Fresh processes that open a store and answer
    Open,
}

fn codes(name: &str) -> Result<Codes, String> {
    Codes::from_name(name).ok_or_else(|| "f32, f16, bf16, i8, i4 and b1 are possible".into())
}

fn share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.parse().ok();
    let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "a share is above 0 and at most 1".into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EmbedderArg {
    Given,
    Builtin,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConceptsArg {
    Given,
    Builtin,
    None,
}
