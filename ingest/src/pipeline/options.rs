//! What to make of the files.

use std::fmt;
use std::sync::Arc;

use loci_models::Captioner;
use locidb::Settings;
use locidb::storage::records::EmbedLevels;

use crate::chunk::{ChunkSettings, Chunking};
use crate::document::BuildSettings;
use crate::extract::ExtractSettings;
use loci_documents::Kind;

/// What to make of the files.
#[derive(Clone, Default)]
pub struct IngestOptions {
    /// The key of the one document, whatever file it was read from before; `None`: that under which this file is
    /// stored, else its path relative to the ingested folder.
    pub key: Option<String>,
    /// Who owns the documents; empty for nobody in particular.
    pub user: String,
    /// The named collection; empty for the default one.
    pub collection: String,
    /// What every file is; `None`: by name and first bytes.
    pub kind: Option<Kind>,
    /// How documents are cut.
    pub chunking: Chunking,
    /// Which chunks are embedded; `None`: as the store's settings say.
    pub embed: Option<EmbedLevels>,
    /// Whether unchanged documents are done again.
    pub force: bool,
    /// Whether a file takes the place of a document that was read from another file, or stored by a client.
    pub replace: bool,
    /// Whether the files are copies of what a caller sent: their paths are not stored.
    pub is_upload: bool,
    /// Files parsed at a time; 0: as many as there are cores.
    pub jobs: usize,
    /// What says what pictures without a caption show; they go by their names without one. Nothing of it is stored but
    /// its name, and a document that is stored unchanged is not asked about.
    pub captioner: Option<Arc<dyn Captioner>>,
}

impl fmt::Debug for IngestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IngestOptions")
            .field("key", &self.key)
            .field("user", &self.user)
            .field("collection", &self.collection)
            .field("kind", &self.kind)
            .field("chunking", &self.chunking)
            .field("embed", &self.embed)
            .field("force", &self.force)
            .field("replace", &self.replace)
            .field("is_upload", &self.is_upload)
            .field("jobs", &self.jobs)
            .field("captioner", &self.captioner.as_ref().map(|c| c.name()))
            .finish()
    }
}

impl IngestOptions {
    /// How documents are made by these options and a store's settings.
    pub(super) fn build_settings(&self, settings: &Settings) -> BuildSettings {
        BuildSettings {
            chunking: ChunkSettings {
                parent_tokens: settings.chunk_parent_tokens,
                child_tokens: settings.chunk_child_tokens,
                overlap: settings.chunk_overlap,
                mode: self.chunking,
                ..ChunkSettings::default()
            },
            extraction: ExtractSettings {
                entities_per_chunk: settings.entities_per_chunk as usize,
                relations_per_chunk: settings.relations_per_chunk as usize,
            },
        }
    }
}
