//! Questions, and recorded answers.

use std::path::PathBuf;

use clap::Args;
use locidb::Effort;

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// The question. With --strategy text: words, "phrases", +must, -not, field:word (title, headings, body,
    /// code, key), "phrases"~2, prefix*, misspelt~, [from TO to], OR, AND, NOT, (groups), word^3
    #[arg(allow_hyphen_values = true)]
    pub(crate) question: String,
    /// Maximum number of hits, or of hits per level: `sentence=20,section=5`
    #[arg(short, default_value = "10", value_name = "N")]
    pub(crate) k: String,
    /// auto, hybrid, staged (documents, then their sections, then passages), global (digests of communities, which
    /// `loci analyze` writes), text, vector, graph
    #[arg(long, default_value = "auto")]
    pub(crate) strategy: String,
    /// Only chunks that match: `file_type = pdf and page in 10..20`
    #[arg(long, value_name = "EXPR")]
    pub(crate) filter: Option<String>,
    /// Levels to search: summary, section, paragraph, proposition, sentence
    #[arg(long, value_delimiter = ',', value_name = "L,…")]
    pub(crate) level: Vec<String>,
    /// Assemble a context of at most this many tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Count tokens with a model's tokenizer.json; without it they are estimated
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// Print each operator with its candidates and time
    #[arg(long)]
    pub(crate) explain: bool,
    /// Mark the words of hits that match the question
    #[arg(long)]
    pub(crate) highlights: bool,
    /// Effort of searches in large stores: ef=N candidates of the vector search (at least as many as hits
    /// are fused: 100, or twice -k), recall=R from 0 to 1 as measured when the index was built, or within=N
    /// microseconds (500us) for vector and text search
    #[arg(long, value_name = "EFFORT", default_value = "ef=64", value_parser = str::parse::<Effort>)]
    pub(crate) effort: Effort,
    /// Another option of a request, by name: diversity=0.3, climb=full-doc, intent=example, seeds.hits=3,
    /// fusion.vector_share=0.5; repeatable. An unknown name lists all options
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Record the answer for `loci feedback` and `loci records`; prints its number
    #[arg(long)]
    pub(crate) record: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GiveFeedback {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Number of the answer, as `loci search --record` prints it
    pub(crate) response: u64,
    /// The hit: its rank, or its chunk's key
    #[arg(value_name = "RANK|CHUNK")]
    pub(crate) hit: String,
    /// used, helpful, wrong, or none to remove the feedback
    pub(crate) feedback: String,
}

#[derive(Debug, Args)]
pub(crate) struct Records {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Number of one answer; without it the newest answers
    pub(crate) response: Option<u64>,
    /// The newest N: 20 by default, all with --replay
    #[arg(long, value_name = "N", conflicts_with = "response")]
    pub(crate) limit: Option<usize>,
    /// Ask the questions again, and compare the hits
    #[arg(long)]
    pub(crate) replay: bool,
    /// Ask with this option changed; repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "replay")]
    pub(crate) set: Vec<String>,
    /// Delete answers that were recorded more than DAYS days ago; 0 deletes all
    #[arg(long, value_name = "DAYS", conflicts_with_all = ["response", "limit", "replay"])]
    pub(crate) forget_before: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// Options of the search
    #[command(flatten)]
    pub(crate) search: Search,
    /// Print how well the hits cover the question, and which terms they lack
    #[arg(long, conflicts_with = "prompt")]
    pub(crate) critic: bool,
    /// Print the prompt for a model, with the passages, instead of an answer
    #[arg(long)]
    pub(crate) prompt: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Key of a document, or of a chunk (`KEY#NUMBER`)
    pub(crate) key: String,
    /// Write this picture or other embedded file of the document to standard output
    #[arg(long, value_name = "NAME")]
    pub(crate) asset: Option<String>,
}
