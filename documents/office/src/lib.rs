//! Word documents and PowerPoint slides to trees of blocks.
//!
//! ```text
//! docx pptx  the formats
//! office     what both share: the package of parts, properties, formulas, charts, diagrams
//! ```
//!
//! Start reading at [`parse_docx`] or [`parse_pptx`].

mod docx;
mod office;
mod pptx;

pub use docx::parse as parse_docx;
pub use pptx::parse as parse_pptx;

#[cfg(test)]
#[path = "../../parsing/src/packed.rs"]
mod packed;
