//! Concepts, communities and citations.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Concept {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Name of the concept, in any spelling
    #[arg(required_unless_present_any = ["undo", "edits"])]
    pub(crate) name: Option<String>,
    /// Merge it into another concept: all its mentions and relations count for that one
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["split_into", "undo", "edits"])]
    pub(crate) merge_into: Option<String>,
    /// Split it: its mentions and relations in the given documents count for another concept
    #[arg(long, value_name = "OTHER", requires = "document", conflicts_with_all = ["undo", "edits"])]
    pub(crate) split_into: Option<String>,
    /// A document whose mentions are split off; repeatable
    #[arg(long, value_name = "KEY", requires = "split_into")]
    pub(crate) document: Vec<String>,
    /// Print the shortest path to another concept
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["merge_into", "split_into", "undo", "edits"])]
    pub(crate) path_to: Option<String>,
    /// Follow only relations of this type; repeatable
    #[arg(long, value_name = "TYPE", requires = "path_to")]
    pub(crate) along: Vec<String>,
    /// Undo a merge or split, by its number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["name", "edits"])]
    pub(crate) undo: Option<u64>,
    /// List the merges and splits in effect
    #[arg(long, conflicts_with = "name")]
    pub(crate) edits: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Analyze {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Also list this many concepts with the highest betweenness, estimated from a sample of end points
    #[arg(long, value_name = "NUMBER")]
    pub(crate) central: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Types {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Keep the most frequent types, and show each other type as the most similar of them
    #[arg(long, value_enum)]
    pub(crate) consolidate: Option<TypeMethod>,
    /// Remove the consolidation: show the types that documents use
    #[arg(long, conflicts_with = "consolidate")]
    pub(crate) forget: bool,
}

/// Which types remain.
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
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Key of a document, or DOI or title of a cited work; without it cited works are listed
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
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// File to write: *.cypher or *.cql for a script, else GraphML
    #[arg(value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Format of the file, regardless of its name
    #[arg(long, value_enum)]
    pub(crate) format: Option<GraphFormat>,
}

/// The file format of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// GraphML.
    Graphml,
    /// A Cypher script.
    Cypher,
}

#[derive(Debug, Args)]
pub(crate) struct GraphImport {
    /// Folder of the store; created if missing
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Files of nodes: several as A,B, of which the first begins with the header. Repeat the option for nodes with
    /// another header
    #[arg(long, value_name = "FILES")]
    pub(crate) nodes: Vec<String>,
    /// Files of relationships, in the same way
    #[arg(long, value_name = "FILES")]
    pub(crate) relationships: Vec<String>,
    /// A file with both, as apoc.export.csv.all writes it
    #[arg(long, value_name = "FILES", required_unless_present = "nodes")]
    pub(crate) all: Vec<String>,
    /// Key of the document that the graph is stored as; an earlier import under this key is replaced
    #[arg(long, default_value = "graph")]
    pub(crate) key: String,
    /// Named collection
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) collection: String,
    /// Separator of fields: one character, or TAB
    #[arg(long, default_value = ",")]
    pub(crate) delimiter: String,
}

#[derive(Debug, Args)]
pub(crate) struct Communities {
    /// Folder of the store
    #[arg(long, env = "LOCI_DB", hide_env_values = true, value_name = "DIR")]
    pub(crate) db: PathBuf,
    /// Level, 0 the finest; by default the coarsest
    #[arg(long)]
    pub(crate) level: Option<usize>,
    /// Only communities of this concept, at all levels
    #[arg(long, value_name = "NAME", conflicts_with = "level")]
    pub(crate) of: Option<String>,
}
