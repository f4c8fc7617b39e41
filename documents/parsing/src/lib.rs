//! What parsers share: the tree of blocks that each builds from a file, and the tools to build one.
//!
//! ```text
//! tree facts warnings   what a parser returns
//! kind language limits  what a file is, what reading it may cost, and how it fails
//! decode package xml    bytes to text, archives to files, XML to trees, all within bounds
//! writing cues tables   where a parser writes; headings, numbers and years in lines; known words
//! ```
//!
//! Always true: nothing here reads a file, and all input may be hostile.
//!
//! Start reading at [`tree::ParsedDocument`].

pub mod cues;
pub mod decode;
pub mod facts;
pub mod kind;
pub mod language;
pub mod limits;
pub mod package;
pub mod tables;
pub mod tree;
pub mod warnings;
pub mod writing;
pub mod xml;

#[cfg(test)]
mod packed;
