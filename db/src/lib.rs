//! One embedded transactional store for retrieval: documents, vectors, text and graph.
//!
//! Open a [`Database`], put documents in [`Database::write`], ask with [`Database::search`]. A write is
//! all or nothing over everything that a search reads; a search sees one committed state.
//!
//! | module | what |
//! | --- | --- |
//! | [`database`] | the handle: open, write, search, close |
//! | [`document`] | what is stored |
//! | [`transaction`] | what a writer may do |
//! | [`settings`] | the settings of a store |
//! | [`compact`] | disk and segments given back |
//! | [`stats`] | its figures, and a recount of them |
//! | [`snapshot`] | one committed state |
//!
//! Rows, records and keys are those of [`storage`].

mod analysis;
mod ask;
mod backup;
mod calibrate;
mod check;
mod chunk_offsets;
mod citations;
pub mod compact;
mod contributions;
mod corpus;
pub mod database;
mod digests;
mod edits;
mod error;
mod export;
mod external_model;
mod facets;
mod items;
mod local_model;
mod maintenance;
mod origins;
mod progress;
mod recovery;
mod retrievals;
mod segment;
pub mod settings;
pub mod snapshot;
mod space;
pub mod stats;
mod switch;
mod thread_pool;
pub mod transaction;
pub mod types;
mod upgrade;
mod works;

pub use analysis::{AnalysisReport, CentralConcept};
pub use compact::CompactionReport;
pub use database::{Database, Options, PageWatch};
pub use edits::ConceptEdit;
pub use error::Error;
pub use items::ItemStats;
pub use loci_graph as graph;
pub use loci_models::{EmbedError, Embedder, GenerateError, Generator, Tokenizer};
#[cfg(feature = "minilm")]
pub use loci_models::{FolderEmbedder, FolderError};
#[cfg(feature = "tokenizer")]
pub use loci_models::{TokenizerError, TokenizerFile};
pub use loci_query as query;
pub use loci_query::answer::{Answer, Hit};
pub use loci_query::community::{CommunityDigest, DigestQuote, DigestRelation};
pub use loci_query::critic::{Critique, Verdict};
pub use loci_query::filter::Expr;
pub use loci_query::prompt::Prompt;
pub use loci_query::{Climb, Effort, Rerank, SearchRequest, Seeds, Strategy, Walk};
pub use loci_storage as storage;
pub use loci_storage::backup::BackupReport;
pub use loci_storage::check::Finding;
pub use loci_storage::upgrade::UpgradeReport;
pub use loci_storage::usage::Usage;
pub use loci_storage::{Disk, Durability};
pub use loci_types::document;
pub use loci_types::document::{
    NewAsset, NewChunk, NewCitation, NewClaim, NewConcept, NewDocument, NewItem, NewReference,
    NewRelation,
};
pub use progress::{NoProgress, Progress};
pub use retrievals::{
    HitRef, JudgedChunk, Replay, ReplayMetrics, ReplayedAnswer, Retrieval, RetrievalMethod,
    RetrievedHit,
};
pub use settings::{EmbedderChoice, FusionChoice, Settings};
pub use snapshot::DatabaseSnapshot;
pub use stats::{PendingStats, Recount, SpaceStats, Stats};
pub use transaction::WriteTransaction;
pub use types::TypeMap;
pub use works::{CitationNetwork, Claim, Work, WorkCitation};
