//! What a writer may do, in one transaction.
//!
//! Start reading at [`transaction::WriteTransaction`].

mod chunk_offsets;
pub(crate) mod concept_edits;
mod document;
mod origins;
pub(crate) mod transaction;
