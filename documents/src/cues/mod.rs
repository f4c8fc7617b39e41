//! What lines of text say of themselves: headings, numbers, years.

pub(crate) mod heading;
pub(crate) mod numerals;
pub(crate) mod year;
