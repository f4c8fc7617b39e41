//! Segments: the immutable parts that everything searchable is stored in.
//!
//! A part is built once ([`PartBuilder`]), placed in a row or a file, opened with its header, table
//! and bounds checked ([`Part::new`]), and never changed. `docs/format.md` has the bytes.
//!
//! | to | read |
//! | --- | --- |
//! | read or write the bytes of a part | [`Part`], [`PartBuilder`] |
//! | find documents and chunks of a segment | [`Documents`], [`Skeleton`] |
//! | build a segment of documents | [`build`] |
//! | place a part in a row or a file | `new_part` |
//! | search a segment | [`SegmentReader`] |

pub mod build;
mod documents;
pub(crate) mod files;
mod header;
pub(crate) mod new_part;
mod part;
mod reader;
mod skeleton;

pub use crate::error::PartError;
pub use crate::files::bytes::PartBytes;
pub use crate::section::{Layer, SectionId};
pub use documents::{DocumentRun, Documents, DocumentsBuilder};
pub use header::{Header, PartKind};
pub use new_part::NewPart;
pub use part::{Part, PartBuilder, Section};
pub use reader::{ScoredChunk, SegmentReader};
pub use skeleton::{NO_PARENT, Skeleton, SkeletonBuilder, SkeletonRow};
