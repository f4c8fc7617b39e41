//! The command line: commands, options, and how their values are read.

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
