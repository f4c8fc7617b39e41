//! A parsed file cut into parents and passages.
//!
//! Always true of what [`chunk`] returns:
//!
//! - it is a function of the file and the settings alone;
//! - parents precede their children, and a subtree is a run;
//! - `text` is exactly the document's text at `location.chars`, but for a summary, and for a proposition whose opening
//!   pronoun was resolved;
//! - a passage (level `Paragraph`) is inside its parent's text, and together passages cover every character that is not
//!   white space; in the three-level mode sections do;
//! - no section has more than [`ChunkSettings::parent_tokens`] tokens and no passage more than
//!   [`ChunkSettings::hard_tokens`] (a few tokens more only where one word had to be cut).
//!
//! How: [`units`] divides the text into sentences and whole blocks, a [`strategy`] groups them into parents, and [`pack`]
//! fills each parent with passages.
//!
//! | strategy | parent | passage |
//! | --- | --- | --- |
//! | papers and books ([`outline`]) | section of up to 1,024 tokens, split at subsections when larger | 256 tokens of whole sentences, a fifth repeated |
//! | pages: Markdown, HTML | section under a heading of level 2 | the same, but never across a heading |
//! | slides ([`slides`]) | slide with its notes, or adjacent ones of like titles | text, table, picture or note of one slide |
//! | chats ([`exchanges`]) | exchange: question, answer, what follows up | turn |
//! | source code | file | definitions of about 512 tokens |
//! | three levels ([`statements`]) | summary of the document, over sections of 200 to 400 tokens | propositions of 50 to 150 tokens |
//!
//! In the sentence mode each sentence of a passage is a chunk below it.
//! Start reading at [`chunk`].

mod exchanges;
pub(crate) mod marks;
pub(crate) mod numbering;
mod outline;
mod pack;
pub(crate) mod positions;
mod records;
mod settings;
mod slides;
mod statements;
mod strategy;
#[cfg(test)]
mod tests;
mod tree;
pub(crate) mod units;

use loci_documents::ParsedDocument;
use locidb::NewChunk;

use outline::Outline;
use pack::WordBags;
use records::ChunkBuilder;
use strategy::ChunkStrategy;
use tree::set_subtree_ends;
use units::units;

pub use settings::{ChunkSettings, Chunking};

/// Cuts `parsed` into its chunk tree, in pre-order. An empty text gives no chunks.
///
/// Fills every field of the records but `suffix` and `content_hash`, which are the store's, and
/// `citation_count`. Linear in the text.
///
/// The ranges of `parsed` must be valid ([`ParsedDocument::validate`]); it panics otherwise.
pub fn chunk(parsed: &ParsedDocument, settings: &ChunkSettings) -> Vec<NewChunk> {
    let settings = settings.clamped();
    let strategy = ChunkStrategy::for_document(parsed, settings.mode);
    let units = units(parsed, strategy.unit_limits(&settings));
    let outline = Outline::new(&units);
    let bags = match strategy {
        ChunkStrategy::Definitions => WordBags::empty(),
        _ => WordBags::new(&parsed.text, parsed.kind, &units),
    };
    let builder = ChunkBuilder::new(parsed, &units, &outline);
    let limits = strategy.pack_limits(&settings);
    let mut chunks = match strategy {
        ChunkStrategy::ThreeLevel => builder.three_levels(&bags, limits),
        _ => builder.two_levels(&bags, limits, strategy, &settings),
    };
    set_subtree_ends(&mut chunks);
    chunks
}
