//! Cues in a line of text: whether it is a heading, the number of a list item, a year.
//!
//! Start reading at [`heading`].

pub mod heading;
pub mod numerals;
pub mod year;
