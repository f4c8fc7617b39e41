//! The filter language, parsed and printed. `loci_query::filter` evaluates an expression.
//!
//! ```text
//! expression = term { "or" term }
//! term       = factor { "and" factor }
//! factor     = "not" factor | "(" expression ")" | comparison
//! comparison = field op value
//!            | field "in" ( value ".." value | "(" value { "," value } ")" )
//!            | field "has"
//! field      = name | "meta." name
//! op         = "=" | "!=" | "<" | "<=" | ">" | ">=" | "has" | "prefix"
//! value      = bare word | number | date | "text in quotes"
//! ```
//!
//! A list may also be in brackets. A missing field satisfies no comparison, `!=` included; a
//! field with several values (authors, the pages of a span) satisfies one when any value does, and
//! `!=` when it has values and none is the given one. A date means all of its moments.
//!
//! Invariants of a parsed [`Expr`]: fields are known and canonical, values fit their field, ranges
//! are not empty, nesting is at most [`DEPTH_MAX`]; and it prints as text that parses to itself.
//!
//! Start reading at [`Expr::parse`].

mod error;
mod expr;
mod fields;
mod moment;
mod parse;
mod scan;

pub use error::{DEPTH_MAX, FILTER_LEN_MAX, FilterError, Problem};
pub use expr::{Comparison, Expr, FacetValue, Test};
pub use fields::{FIELDS, Field, FieldKind, META, lookup, span_ends};

#[cfg(test)]
mod tests;
