//! One embedded transactional store for retrieval: documents, vectors, text and graph.
//!
//! Open a [`Database`], put documents in [`Database::write`], ask with [`Database::search`]. A write is
//! all or nothing over everything that a search reads; a search sees one committed state.
//!
//! Each folder uses those below it in this table, never one above:
//!
//! | folder | what it holds | start at |
//! | --- | --- | --- |
//! | `admin` | check, repair, compaction, backup, export, upgrade | `check.rs` |
//! | `read` | answers in words, recorded answers, the citation network, statistics | `ask.rs` |
//! | `database` | the handle [`Database`]: open, write, search, update what is derived | `handle.rs` |
//! | `write` | [`WriteTransaction`]: documents, edits of concepts, origins | `transaction.rs` |
//! | `maintenance` | the background thread: merging segments, rebuilding what was damaged | `thread.rs` |
//! | `spaces` | vector spaces: fitting, calibration, the switch from one to another | `switch.rs` |
//! | `analysis` | ranks, communities and their digests, types of concepts | `graph.rs` |
//! | `state` | what the threads of an open store share, and its snapshots | `inner.rs` |
//! | `segments` | writing the indexes of a segment | `writer.rs` |
//! | `embedders` | embedders: each turns a text into a vector | `projector.rs` |
//! | `statements` | what documents state, as rows and merged records | `contributions.rs` |
//!
//! All of them use the files beside this one: errors, progress, settings, the clock and the thread pool.
//! Rows, records and keys are those of [`storage`].

mod admin;
mod analysis;
mod clock;
mod database;
mod embedders;
mod error;
mod maintenance;
mod progress;
mod read;
mod segments;
mod settings;
mod spaces;
mod state;
mod statements;
mod thread_pool;
mod write;

pub use admin::compact::CompactionReport;
pub use analysis::graph::{AnalysisReport, CentralConcept};
pub use analysis::types::TypeMap;
pub use database::handle::{Database, Options};
pub use error::Error;
pub use loci_graph as graph;
pub use loci_models::{
    EmbedError, Embedder, GenerateError, Generator, Tokenizer, TokenizerError, open_tokenizer,
};
#[cfg(feature = "minilm")]
pub use loci_models::{FolderEmbedder, FolderError};
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
pub use read::items::ItemStats;
pub use read::retrievals::{
    HitRef, JudgedChunk, Replay, ReplayMetrics, ReplayedAnswer, Retrieval, RetrievalMethod,
    RetrievedHit,
};
pub use read::stats::{PendingStats, Recount, SpaceStats, Stats};
pub use read::works::{CitationNetwork, Claim, Work, WorkCitation};
pub use settings::{EmbedderChoice, FusionChoice, Settings};
pub use state::inner::PageWatch;
pub use state::snapshot::DatabaseSnapshot;
pub use write::concept_edits::ConceptEdit;
pub use write::transaction::WriteTransaction;
