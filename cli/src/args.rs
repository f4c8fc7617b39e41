//! The command line: commands, options, and how their values are read.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use loci_benches::vector::Codes;
use loci_protocol::call::Role;
use loci_server::config::{LogForm, Options};
use locidb::Effort;

/// One embedded transactional store for retrieval: documents, vectors, text and graph.
#[derive(Debug, Parser)]
#[command(name = "loci", version, about, arg_required_else_help = true)]
#[command(
    after_help = "Exit status: 0 done; 1 it ran and something is wrong; 2 the call itself is wrong."
)]
pub(crate) struct Cli {
    /// Print one JSON object a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ingest the documents inside this binary and answer five questions about them
    Demo(Demo),
    /// Store files and folders
    Ingest(Ingest),
    /// Ask a question, and get the passages that answer it
    Search(Search),
    /// Ask a question, and get an answer of sentences from the documents, each with its place
    Ask(Ask),
    /// Say what you made of a hit of a recorded answer
    Feedback(GiveFeedback),
    /// Recorded answers: list them, ask them again, forget them
    Records(Records),
    /// Look at a document or chunk
    Show(Show),
    /// Look at a concept: relations, prerequisites, chunks
    Concept(Concept),
    /// Figures of the store
    Stats(Stats),
    /// Delete documents
    Delete(Delete),
    /// Merge segments, purge what is dead, and give disk back
    Compact(Compact),
    /// Look for damage: a line each finding
    Check(Check),
    /// Copy a store to another folder; again: only what is new. A server copies its stores while they are used (serve --backups)
    Backup(Backup),
    /// Put a backup into a folder of its own
    Restore(Restore),
    /// Bring a store of an earlier format up to this one's
    Upgrade(Upgrade),
    /// Write the whole store as lines of JSON
    Export(Export),
    /// Make a store of an export
    Import(Import),
    /// Rank concepts, find their communities, and write a digest of each
    Analyze(Analyze),
    /// Look at communities of concepts: members, relations, sentences
    Communities(Communities),
    /// Types of concepts: how many have each, and making few of many
    Types(Types),
    /// Who cites whom: what a document cites, who cites it, what is cited with it
    Citations(Citations),
    /// Take the concept graph out to other programs, or in from Neo4j's CSV
    #[command(subcommand)]
    Graph(Graph),
    /// Read and change the settings of the store
    Config(Config),
    /// Host stores for programs on this machine or others
    Serve(Serve),
    /// Keys of a hosted store: make, list, take back
    #[command(subcommand)]
    Key(Key),
    /// Let an assistant look at a store: MCP over standard input and output
    Mcp(Mcp),
    /// Store a prepared data folder in bulk
    Load(Load),
    /// Ask the questions of a prepared data folder and judge the answers
    Eval(Eval),
    /// Measure one part over a prepared data folder: a line of JSON each result
    Bench(Bench),
    /// The release, its licence, and the notices of the software inside of it
    About,
    /// Parse one document from standard input: what `ingest` runs as a limited child
    #[command(name = "__parse", hide = true)]
    Parse(Parse),
    /// Open a store and answer a request of a file: what `bench --task open` runs as fresh processes
    #[command(name = "__first", hide = true)]
    First(First),
}

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
    #[arg(long, value_name = "DIR")]
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
pub(crate) struct Search {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
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
    #[arg(long, value_name = "DIR")]
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
    #[arg(long, value_name = "DIR")]
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
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Key of a document, or of a chunk (`KEY#NUMBER`)
    pub(crate) key: String,
    /// Write this picture or other file within the document to standard output
    #[arg(long, value_name = "NAME")]
    pub(crate) asset: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Concept {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Its name, however written
    #[arg(required_unless_present_any = ["undo", "edits"])]
    pub(crate) name: Option<String>,
    /// Have everything that is said of it count as said of another concept
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["split_into", "undo", "edits"])]
    pub(crate) merge_into: Option<String>,
    /// Have what some documents say of it count as said of another concept
    #[arg(long, value_name = "OTHER", requires = "document", conflicts_with_all = ["undo", "edits"])]
    pub(crate) split_into: Option<String>,
    /// A document to split off; give it again for more
    #[arg(long, value_name = "KEY", requires = "split_into")]
    pub(crate) document: Vec<String>,
    /// Tell the shortest way to another concept
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["merge_into", "split_into", "undo", "edits"])]
    pub(crate) path_to: Option<String>,
    /// Take only relations of this type on the way; give it again for more
    #[arg(long, value_name = "TYPE", requires = "path_to")]
    pub(crate) along: Vec<String>,
    /// Undo a merge or split, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["name", "edits"])]
    pub(crate) undo: Option<u64>,
    /// List the merges and splits that were not undone
    #[arg(long, conflicts_with = "name")]
    pub(crate) edits: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
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
    #[arg(long, value_name = "DIR")]
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
pub(crate) struct Analyze {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Also list so many concepts that most shortest ways lead over, estimated from a sample of ends
    #[arg(long, value_name = "NUMBER")]
    pub(crate) central: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Types {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Keep the most frequent types, and have the others told as the nearest of them
    #[arg(long, value_enum)]
    pub(crate) consolidate: Option<TypeMethod>,
    /// Tell types as documents write them again
    #[arg(long, conflicts_with = "consolidate")]
    pub(crate) forget: bool,
}

/// Which types are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TypeMethod {
    /// The most frequent of all.
    Global,
    /// The most frequent of each collection.
    Stratified,
}

#[derive(Debug, Args)]
pub(crate) struct Citations {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// A document's key, or the DOI or title of a cited work; else cited works are listed
    pub(crate) of: Option<String>,
    /// List works of this author
    #[arg(long, value_name = "NAME", conflicts_with = "of")]
    pub(crate) author: Option<String>,
    /// List works of this year
    #[arg(long, conflicts_with = "of")]
    pub(crate) year: Option<i32>,
    /// List works whose document is not stored
    #[arg(long, conflicts_with = "of")]
    pub(crate) stubs: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Graph {
    /// Write concepts and relations as GraphML or as a Cypher script
    Export(GraphExport),
    /// Read nodes and relationships from CSV, as neo4j-admin imports it or apoc.export.csv writes it
    Import(GraphImport),
}

#[derive(Debug, Args)]
pub(crate) struct GraphExport {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// File to write: *.cypher or *.cql for a script, else GraphML
    #[arg(value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// What to write, whatever the file is called
    #[arg(long, value_enum)]
    pub(crate) format: Option<GraphFormat>,
}

/// What a graph is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// GraphML.
    Graphml,
    /// A Cypher script.
    Cypher,
}

#[derive(Debug, Args)]
pub(crate) struct GraphImport {
    /// Folder of the store; made when missing
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Files of nodes; give several as A,B, of which the first begins with the header, and the option again for
    /// nodes with another header
    #[arg(long, value_name = "FILES")]
    pub(crate) nodes: Vec<String>,
    /// Files of relationships, in the same way
    #[arg(long, value_name = "FILES")]
    pub(crate) relationships: Vec<String>,
    /// A file with both, as apoc.export.csv.all writes it
    #[arg(long, value_name = "FILES", required_unless_present = "nodes")]
    pub(crate) all: Vec<String>,
    /// Key of the document that states them; what it stated before is replaced
    #[arg(long, default_value = "graph")]
    pub(crate) key: String,
    /// Named collection
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) collection: String,
    /// What parts the fields: one character, or TAB
    #[arg(long, default_value = ",")]
    pub(crate) delimiter: String,
}

#[derive(Debug, Args)]
pub(crate) struct Communities {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Their level, 0 the finest; else the coarsest
    #[arg(long)]
    pub(crate) level: Option<usize>,
    /// Only those that this concept is in, at all levels
    #[arg(long, value_name = "NAME", conflicts_with = "level")]
    pub(crate) of: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
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
    #[arg(long, value_name = "DIR")]
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
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Which of the states that the backup keeps; without it the newest
    #[arg(long, value_name = "N")]
    pub(crate) generation: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Upgrade {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Only say whether it can be done: nothing is changed
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
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
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
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

/// Every one but the last five may also stand in the environment and in a file: `loci_server::config` says which goes over which.
#[derive(Debug, Args)]
#[command(
    after_help = "Every setting may also be given in the file of --config (tls_cert = \"…\") and in the environment (LOCI_TLS_CERT=…). A flag goes over the environment, and that over the file."
)]
pub(crate) struct Serve {
    /// Folder of the one store to host; made when missing
    #[arg(long, value_name = "DIR", conflicts_with = "root")]
    pub(crate) db: Option<PathBuf>,
    /// Folder whose stores are hosted, each by the name of its own folder
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Where the wire protocol is spoken; else 127.0.0.1:7625
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where HTTP is spoken: the API, MCP and pages; none: nowhere; else 127.0.0.1:7626
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<String>,
    /// PEM file with the certificate and those above it: TLS is spoken, and nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Folder that backups over the network go to; without one there are none
    #[arg(long, value_name = "DIR")]
    pub(crate) backups: Option<PathBuf>,
    /// Calls a second that a key may make, where it does not say so itself
    #[arg(long, value_name = "N")]
    pub(crate) calls_per_second: Option<u32>,
    /// Note calls in the log that take this many milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) slow_ms: Option<u64>,
    /// What lines of the log on standard error are; else text
    #[arg(long, value_enum)]
    pub(crate) log: Option<LogArg>,
    /// File that also keeps who showed a key, changed something or was refused, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Origins whose pages may call over HTTP; * for all
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    pub(crate) cors_origins: Option<Vec<String>>,
    /// File with the token that lets a program read /metrics
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics_token_file: Option<PathBuf>,
    /// Where a collector takes traces by OTLP over HTTP: http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp_endpoint: Option<String>,
    /// Share of the calls that are traced, 0 to 1; else 0.01
    #[arg(long, value_name = "SHARE")]
    pub(crate) otlp_sample: Option<f64>,
    /// A bound by its name in the file's [limits]: connections_max=100
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) limit: Vec<String>,
    /// File with settings, in TOML; else the one that LOCI_CONFIG names
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Ask for no keys, on a loopback address alone: everybody on this machine may do everything
    #[arg(long)]
    pub(crate) insecure_local: bool,
    /// Look at everything that starting needs, and end: a line each finding
    #[arg(long)]
    pub(crate) check: bool,
    /// Print every setting as it holds, without secrets, and end
    #[arg(long)]
    pub(crate) show_config: bool,
}

impl Serve {
    /// What the flags say of the server.
    pub(crate) fn options(&self) -> Options {
        let Serve {
            db,
            root,
            listen,
            http,
            tls_cert,
            tls_key,
            backups,
            calls_per_second,
            slow_ms,
            log,
            audit_log,
            cors_origins,
            metrics_token_file,
            otlp_endpoint,
            otlp_sample,
            limit,
            config,
            insecure_local,
            check: _,
            show_config: _,
        } = self;
        Options {
            db: db.clone(),
            root: root.clone(),
            listen: *listen,
            http: http.clone(),
            tls_cert: tls_cert.clone(),
            tls_key: tls_key.clone(),
            backups: backups.clone(),
            calls_per_second: *calls_per_second,
            slow_ms: *slow_ms,
            log: log.map(LogForm::from),
            audit_log: audit_log.clone(),
            cors_origins: cors_origins.clone(),
            metrics_token_file: metrics_token_file.clone(),
            otlp_endpoint: otlp_endpoint.clone(),
            otlp_sample: *otlp_sample,
            limits: Some(limit.clone()),
            file: config.clone(),
            insecure_local: Some(*insecure_local),
        }
    }
}

/// What lines of the log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogArg {
    /// Words
    Text,
    /// A JSON object
    Json,
    /// There is no log
    None,
}

impl From<LogArg> for LogForm {
    fn from(form: LogArg) -> LogForm {
        match form {
            LogArg::Text => LogForm::Text,
            LogArg::Json => LogForm::Json,
            LogArg::None => LogForm::None,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// What lines of the log on standard error are
    #[arg(long, value_enum, default_value = "text", env = "LOCI_LOG")]
    pub(crate) log: LogArg,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key, and print it this once
    Add(KeyAdd),
    /// List keys, without their secrets
    List(KeyList),
    /// Take a key back: at once, also where a server uses the store
    Revoke(KeyRevoke),
}

#[derive(Debug, Args)]
pub(crate) struct KeyAdd {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// What it allows: read, write (and read), admin (and everything)
    #[arg(long, value_parser = role, default_value = "read")]
    pub(crate) role: Role,
    /// Show it the documents of this user alone
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
    /// What it is for, in words
    #[arg(long, default_value = "")]
    pub(crate) note: String,
    /// Calls a second that it may make in the long run
    #[arg(long, value_name = "N")]
    pub(crate) calls_per_second: Option<u32>,
    /// Calls that it may make at once
    #[arg(long, value_name = "N", requires = "calls_per_second")]
    pub(crate) burst: Option<u32>,
    /// Bytes that a call may have
    #[arg(long, value_name = "BYTES")]
    pub(crate) call_bytes_max: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct KeyList {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct KeyRevoke {
    /// Folder of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// The key's id: what stands between `loci_` and the next `_`
    pub(crate) id: String,
}

fn role(name: &str) -> Result<Role, String> {
    Role::from_name(name).ok_or_else(|| "read, write and admin are possible".into())
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Folder of the store; made when missing
    #[arg(long, value_name = "DIR")]
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
