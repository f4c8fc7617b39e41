//! Word documents and PowerPoint slides to trees of blocks.
//!
//! ```text
//! docx pptx  the formats
//! office     what both share: the package of parts, properties, formulas, charts, diagrams
//! ```
//!
//! Start reading at [`docx::parse`] or [`pptx::parse`].

use loci_parsing::{cues, facts, kind, limits, package, tree, warnings, writing, xml};

pub mod docx;
mod office;
pub mod pptx;

#[cfg(test)]
#[path = "../../parsing/src/packed.rs"]
mod packed;
