//! Prepared data folders: loading, evaluation, benchmarks.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use loci_benches::vector::Codes;

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Folder of the store; created if missing
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// The data folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: PathBuf,
    /// Source of vectors; by default the folder if it has any, otherwise the built-in embedder
    #[arg(long, value_enum)]
    pub(crate) embedder: Option<EmbedderArg>,
    /// Source of concepts
    #[arg(long, value_enum, default_value = "given")]
    pub(crate) concepts: ConceptsArg,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// The data folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) data: PathBuf,
    /// Folder of the store; without it a temporary one
    #[arg(long, value_name = "DIR")]
    pub(crate) db: Option<PathBuf>,
    /// Strategies: auto, hybrid, staged, global, text, vector, graph; without it auto and every
    /// strategy that the data allow
    #[arg(long, value_delimiter = ',', value_name = "S,…")]
    pub(crate) strategy: Vec<String>,
    /// Hits per question
    #[arg(short, default_value_t = 10, value_name = "N")]
    pub(crate) k: usize,
    /// Ask with this option changed; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Ask all questions again with this option also changed, and compare; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) against: Vec<String>,
    /// Also print recall by the position of a chunk in its document, and by the length of the document
    #[arg(long)]
    pub(crate) lost_in_the_middle: bool,
    /// Also print the time from files to the first answer, and the time to embed 1,000 chunks
    #[arg(long)]
    pub(crate) timing: bool,
    /// Source of vectors; by default the folder if it has any, otherwise the built-in embedder
    #[arg(long, value_enum)]
    pub(crate) embedder: Option<EmbedderArg>,
    /// Source of concepts
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
    /// search: search the store in this folder instead of a data folder
    #[arg(long, value_name = "DIR", requires = "questions")]
    pub(crate) db: Option<PathBuf>,
    /// search: with --db, a file with one question per line, as text or as JSON with a field "text"
    #[arg(long, value_name = "FILE", requires = "db")]
    pub(crate) questions: Option<PathBuf>,
    /// search: source of a data folder's vectors; by default the folder if it has any, otherwise the built-in embedder
    #[arg(long, value_enum)]
    pub(crate) embedder: Option<EmbedderArg>,
    /// search: source of a data folder's concepts
    #[arg(long, value_enum, default_value = "given")]
    pub(crate) concepts: ConceptsArg,
    /// The part to measure
    #[arg(long, value_enum)]
    pub(crate) task: TaskArg,
    /// Threads that build and that search
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Only the first N chunks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Vectors: codes that the graph search compares: f32, f16, bf16, i8, i4, b1; by default chosen by the dimension
    #[arg(long, value_parser = codes)]
    pub(crate) variant: Option<Codes>,
    /// Vectors: repeat the search with random filters that match these fractions of the chunks
    #[arg(long, value_delimiter = ',', value_name = "SHARE,…", value_parser = fraction)]
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
    /// BM25: build, open, search, and a comparison with an exhaustive search
    Text,
    /// Two hops from the seeds of questions, and the chunks of the reached concepts
    Graph,
    /// PageRank and communities
    Algorithms,
    /// A whole store: text, vector and graph search in one call, and each of them alone
    Hybrid,
    /// The request that `loci search` makes by default, operator by operator
    Search,
    /// Loading an empty store until it is durable and has answered a query
    Load,
    /// New processes that open a store and answer a query
    Open,
}

fn codes(name: &str) -> Result<Codes, String> {
    Codes::from_name(name).ok_or_else(|| "give f32, f16, bf16, i8, i4 or b1".into())
}

fn fraction(text: &str) -> Result<f64, String> {
    let fraction: Option<f64> = text.parse().ok();
    let fraction = fraction.filter(|fraction| *fraction > 0.0 && *fraction <= 1.0);
    fraction.ok_or_else(|| "give a fraction above 0 and at most 1".into())
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
