//! Questions, and what was asked before.

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
    /// Hits at most, or at most of a level: `sentence=20,section=5`
    #[arg(short, default_value = "10", value_name = "N")]
    pub(crate) k: String,
    /// auto, hybrid, staged (documents, then their sections, then passages), global (digests of communities, as
    /// `loci analyze` writes them), text, vector, graph
    #[arg(long, default_value = "auto")]
    pub(crate) strategy: String,
    /// Which chunks may be found: `file_type = pdf and page in 10..20`
    #[arg(long, value_name = "EXPR")]
    pub(crate) filter: Option<String>,
    /// Levels to search: summary, section, paragraph, proposition, sentence
    #[arg(long, value_delimiter = ',', value_name = "L,…")]
    pub(crate) level: Vec<String>,
    /// Assemble a context of at most this many tokens
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
    /// Count tokens as a model does, by its tokenizer.json; else they are estimated
    #[arg(long, value_name = "FILE")]
    pub(crate) tokenizer: Option<PathBuf>,
    /// Say what each operator did
    #[arg(long)]
    pub(crate) explain: bool,
    /// Mark the words of hits that the question asked for
    #[arg(long)]
    pub(crate) highlights: bool,
    /// How far the search for near vectors goes in large stores: ef=N candidates (at least as many as hits
    /// are fused: 100, or twice the number asked for), recall=R of 0 to 1 as it was measured, or within=N
    /// microseconds (500us), for vectors and for words
    #[arg(long, value_name = "EFFORT", default_value = "ef=64", value_parser = str::parse::<Effort>)]
    pub(crate) effort: Effort,
    /// Any other option of a request, by name: diversity=0.3, climb=full-doc, intent=example, seeds.hits=3,
    /// fusion.vector_share=0.5; give it again for more. An unknown name lists them
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Keep the answer, for `loci feedback` and `loci records`; prints what it is called
    #[arg(long)]
    pub(crate) record: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GiveFeedback {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// What the answer is called, as `loci search --record` prints it
    pub(crate) response: u64,
    /// The hit: its rank, or its chunk's key
    #[arg(value_name = "RANK|CHUNK")]
    pub(crate) hit: String,
    /// used, helpful, wrong, or none to take it back
    pub(crate) feedback: String,
}

#[derive(Debug, Args)]
pub(crate) struct Records {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// One answer; else the newest
    pub(crate) response: Option<u64>,
    /// The newest N: 20, or all where they are asked again
    #[arg(long, value_name = "N", conflicts_with = "response")]
    pub(crate) limit: Option<usize>,
    /// Ask the questions again, and compare
    #[arg(long)]
    pub(crate) replay: bool,
    /// Ask with this option changed; give it again for more
    #[arg(long, value_name = "NAME=VALUE", requires = "replay")]
    pub(crate) set: Vec<String>,
    /// Forget what was recorded more than so many days ago; 0 forgets all
    #[arg(long, value_name = "DAYS", conflicts_with_all = ["response", "limit", "replay"])]
    pub(crate) forget_before: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// How passages are searched
    #[command(flatten)]
    pub(crate) search: Search,
    /// Say how well the hits cover the question, and what they lack
    #[arg(long, conflicts_with = "prompt")]
    pub(crate) critic: bool,
    /// Print what a model would be asked, with the passages in it, in place of an answer
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
    /// Write this picture or other file within the document to standard output
    #[arg(long, value_name = "NAME")]
    pub(crate) asset: Option<String>,
}
