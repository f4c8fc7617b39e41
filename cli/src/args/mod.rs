//! The arguments of every command of `loci`, as clap structs, with the help texts of all options.
//!
//! Start reading at [`Command`]; each file has the options of a group of commands.

mod ask;
mod care;
mod data;
mod graph;
mod serve;
mod store;

use clap::{Parser, Subcommand};

pub(crate) use ask::{Ask, GiveFeedback, Records, Search, Show};
pub(crate) use care::{Backup, Check, Export, Import, Restore, Upgrade};
pub(crate) use data::{Bench, ConceptsArg, EmbedderArg, Eval, First, Load, TaskArg};
pub(crate) use graph::{
    Analyze, Citations, Communities, Concept, Graph, GraphExport, GraphFormat, GraphImport,
    TypeMethod, Types,
};
pub(crate) use serve::{Key, KeyAdd, Mcp, Serve};
pub(crate) use store::{
    ChunkingArg, Compact, Config, ConfigAction, Delete, Demo, EmbedArg, Ingest, Parse, Stats,
};

/// One embedded transactional store for retrieval: documents, vectors, text and graph.
#[derive(Debug, Parser)]
#[command(name = "loci", version, about, arg_required_else_help = true)]
#[command(
    after_help = "Exit status: 0 success; 1 the command ran and found a problem or failed; 2 wrong arguments."
)]
pub(crate) struct Cli {
    /// Print one JSON object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command to run.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ingest the documents inside this binary and answer five questions about them
    Demo(Demo),
    /// Store files and folders
    Ingest(Ingest),
    /// Search for the passages that answer a question
    Search(Search),
    /// Answer a question with sentences from the documents, each with its citation
    Ask(Ask),
    /// Judge a hit of a recorded answer
    Feedback(GiveFeedback),
    /// List, replay or delete recorded answers
    Records(Records),
    /// Print a document or chunk
    Show(Show),
    /// Print a concept: relations, prerequisites, chunks
    Concept(Concept),
    /// Print statistics of the store
    Stats(Stats),
    /// Delete documents
    Delete(Delete),
    /// Merge segments, remove deleted chunks, and free disk space
    Compact(Compact),
    /// Check the store for damage: one line per finding
    Check(Check),
    /// Copy a store to another folder; a repeated backup copies only new data. A server backs up stores in use (serve --backups)
    Backup(Backup),
    /// Create a store from a backup
    Restore(Restore),
    /// Upgrade a store from an earlier format
    Upgrade(Upgrade),
    /// Write the whole store as lines of JSON
    Export(Export),
    /// Create a store from an export
    Import(Import),
    /// Rank concepts, find their communities, and write a digest of each
    Analyze(Analyze),
    /// Print communities of concepts: members, relations, sentences
    Communities(Communities),
    /// List the types of concepts with their counts, or consolidate them
    Types(Types),
    /// Print citations: works that a document cites, works that cite it, works cited together with it
    Citations(Citations),
    /// Export the concept graph for other programs, or import it from Neo4j's CSV
    #[command(subcommand)]
    Graph(Graph),
    /// Read and change the settings of the store
    Config(Config),
    /// Serve stores to programs on this machine or others
    Serve(Serve),
    /// Create, list or revoke the keys of a store that a server hosts
    #[command(subcommand)]
    Key(Key),
    /// Serve a store to an assistant: MCP over standard input and output
    Mcp(Mcp),
    /// Store a prepared data folder in bulk
    Load(Load),
    /// Ask the questions of a prepared data folder and evaluate the answers
    Eval(Eval),
    /// Measure one part with a prepared data folder: one line of JSON per result
    Bench(Bench),
    /// Print the release, its licence, and the notices of included software
    About,
    /// Parse one document from standard input: `ingest` runs it as a confined child process
    #[command(name = "__parse", hide = true)]
    Parse(Parse),
    /// Open a store and answer a request from a file: `bench --task open` runs it as new processes
    #[command(name = "__first", hide = true)]
    First(First),
}
