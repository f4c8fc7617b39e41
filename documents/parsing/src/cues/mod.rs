//! What lines of text say of themselves: headings, numbers, years.

pub mod heading;
pub mod numerals;
pub mod year;
