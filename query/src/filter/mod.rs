//! The filter language: which chunks may be found.
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
//! A list may also stand in brackets. A missing field satisfies no comparison, `!=` included; a
//! field with several values (authors, the pages of a span) satisfies one when any value does, and
//! `!=` when it has values and none is the given one. A date stands for all of its moments.
//!
//! Always true of a parsed [`Expr`]: fields are known and canonical, values fit their field, ranges
//! are not empty, nesting is at most [`DEPTH_MAX`]; and it prints as text that parses to itself.
//!
//! Start reading at [`Expr::parse`], then [`evaluate`].

mod fields;
mod moment;
mod parse;
mod scan;

use std::fmt;
use std::ops::Bound;
use std::str::FromStr;

pub use loci_index::facets::{FacetValue, Predicate};
use roaring::RoaringBitmap;

pub use fields::{FIELDS, Field, FieldKind, META, lookup, span_ends};
pub use parse::{FilterError, Problem};

/// How deep parentheses and `not` may nest.
pub const DEPTH_MAX: usize = 64;

/// Bytes of an expression at most.
pub const FILTER_LEN_MAX: usize = 64 << 10;

/// A filter, parsed. `And` and `Or` have two parts or more.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// One comparison.
    Is(Comparison),
    /// All parts hold.
    And(Vec<Expr>),
    /// At least one part holds.
    Or(Vec<Expr>),
    /// The part does not hold.
    Not(Box<Expr>),
}

/// A field and what is asked of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The field's canonical name, or `meta.KEY`.
    pub field: String,
    /// What is asked of its values.
    pub test: Test,
}

/// What is asked of a field's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `= v`: one is this.
    Equal(FacetValue),
    /// `!= v`: there are some, and none is this.
    NotEqual(FacetValue),
    /// `< v`
    Below(i64),
    /// `<= v`
    AtMost(i64),
    /// `> v`
    Above(i64),
    /// `>= v`
    AtLeast(i64),
    /// `in low..high`, both included.
    Between(i64, i64),
    /// `in (v, …)`: one is among these.
    OneOf(Vec<FacetValue>),
    /// `has v`: one is this.
    Has(FacetValue),
    /// `has`: there are some.
    Exists,
    /// `prefix text`: one begins with this.
    Prefix(String),
}

impl Expr {
    /// Parses an expression.
    ///
    /// # Errors
    /// [`FilterError`] with the column, counted in characters from 1, and what was expected there.
    ///
    /// # Cost
    /// One pass; at most [`FILTER_LEN_MAX`] bytes and [`DEPTH_MAX`] levels.
    pub fn parse(text: &str) -> Result<Expr, FilterError> {
        parse::parse(text)
    }
}

impl FromStr for Expr {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Expr, FilterError> {
        Expr::parse(text)
    }
}

/// The chunks of `universe` that satisfy `expr`.
///
/// `chunks_with(field, predicate)` gives the chunks with a value of the field that satisfies the
/// predicate; it may give more than `universe` holds. It is not asked again once the answer is
/// known to be empty.
///
/// # Errors
/// Those of `chunks_with`.
pub fn evaluate<E>(
    expr: &Expr,
    chunks_with: &dyn Fn(&str, &Predicate) -> Result<RoaringBitmap, E>,
    universe: &RoaringBitmap,
) -> Result<RoaringBitmap, E> {
    if universe.is_empty() {
        return Ok(RoaringBitmap::new());
    }
    match expr {
        Expr::Is(comparison) => evaluate_one(comparison, chunks_with, universe),
        Expr::Not(part) => Ok(universe - evaluate(part, chunks_with, universe)?),
        Expr::And(parts) => {
            let mut left = universe.clone();
            for part in parts {
                left = evaluate(part, chunks_with, &left)?;
            }
            Ok(left)
        }
        Expr::Or(parts) => {
            let mut found = RoaringBitmap::new();
            for part in parts {
                found |= evaluate(part, chunks_with, &(universe - &found))?;
            }
            Ok(found)
        }
    }
}

fn evaluate_one<E>(
    comparison: &Comparison,
    chunks_with: &dyn Fn(&str, &Predicate) -> Result<RoaringBitmap, E>,
    universe: &RoaringBitmap,
) -> Result<RoaringBitmap, E> {
    let kind = lookup(&comparison.field).map_or(FieldKind::Text, |(_, kind)| kind);
    if kind.is_span() {
        return Ok(overlapping(comparison, chunks_with)? & universe);
    }
    let with = |predicate| chunks_with(&comparison.field, &predicate);
    let number = FacetValue::Integer;
    let range = |low, high| Predicate::Range { low, high };
    let found = match &comparison.test {
        Test::Equal(value) | Test::Has(value) => with(Predicate::Equal(value.clone()))?,
        Test::NotEqual(value) => with(Predicate::Has)? - with(Predicate::Equal(value.clone()))?,
        Test::Below(high) => with(range(Bound::Unbounded, Bound::Excluded(number(*high))))?,
        Test::AtMost(high) => with(range(Bound::Unbounded, Bound::Included(number(*high))))?,
        Test::Above(low) => with(range(Bound::Excluded(number(*low)), Bound::Unbounded))?,
        Test::AtLeast(low) => with(range(Bound::Included(number(*low)), Bound::Unbounded))?,
        Test::Between(low, high) => with(range(
            Bound::Included(number(*low)),
            Bound::Included(number(*high)),
        ))?,
        Test::OneOf(values) => with(Predicate::In(values.clone()))?,
        Test::Exists => with(Predicate::Has)?,
        Test::Prefix(text) => with(Predicate::Prefix(text.clone()))?,
    };
    Ok(found & universe)
}

/// The chunks whose span holds a number that satisfies `comparison`.
fn overlapping<E>(
    comparison: &Comparison,
    chunks_with: &dyn Fn(&str, &Predicate) -> Result<RoaringBitmap, E>,
) -> Result<RoaringBitmap, E> {
    let (first, last) = span_ends(&comparison.field);
    let begins_by = |high: Bound<i64>| {
        let (low, high) = (Bound::Unbounded, high.map(FacetValue::Integer));
        chunks_with(&first, &Predicate::Range { low, high })
    };
    let ends_from = |low: Bound<i64>| {
        let (low, high) = (low.map(FacetValue::Integer), Bound::Unbounded);
        chunks_with(&last, &Predicate::Range { low, high })
    };
    let between = |low: i64, high: i64| {
        Ok(begins_by(Bound::Included(high))? & ends_from(Bound::Included(low))?)
    };
    let at = |value: &FacetValue| match value {
        FacetValue::Integer(number) => between(*number, *number),
        FacetValue::Text(_) => Ok(RoaringBitmap::new()),
    };
    match &comparison.test {
        Test::Equal(value) | Test::Has(value) => at(value),
        Test::NotEqual(value) => Ok(chunks_with(&first, &Predicate::Has)? - at(value)?),
        Test::Below(high) => begins_by(Bound::Excluded(*high)),
        Test::AtMost(high) => begins_by(Bound::Included(*high)),
        Test::Above(low) => ends_from(Bound::Excluded(*low)),
        Test::AtLeast(low) => ends_from(Bound::Included(*low)),
        Test::Between(low, high) => between(*low, *high),
        Test::OneOf(values) => values
            .iter()
            .try_fold(RoaringBitmap::new(), |all, value| Ok(all | at(value)?)),
        Test::Exists => chunks_with(&first, &Predicate::Has),
        Test::Prefix(_) => Ok(RoaringBitmap::new()),
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Is(comparison) => write!(f, "{comparison}"),
            Expr::Not(part) if matches!(**part, Expr::Is(_) | Expr::Not(_)) => {
                write!(f, "not {part}")
            }
            Expr::Not(part) => write!(f, "not ({part})"),
            Expr::And(parts) => join(f, parts, " and ", |part| {
                matches!(part, Expr::And(_) | Expr::Or(_))
            }),
            Expr::Or(parts) => join(f, parts, " or ", |part| matches!(part, Expr::Or(_))),
        }
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    parts: &[Expr],
    word: &str,
    enclosed: impl Fn(&Expr) -> bool,
) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        f.write_str(if i > 0 { word } else { "" })?;
        if enclosed(part) {
            write!(f, "({part})")?;
        } else {
            write!(f, "{part}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field.strip_prefix(META) {
            Some(key) => write!(f, "{META}{}", scan::quoted(key))?,
            None => f.write_str(&self.field)?,
        }
        let kind = lookup(&self.field).map_or(FieldKind::Text, |(_, kind)| kind);
        let value = |value: &FacetValue| shown(kind, value);
        let number = |number: i64| shown(kind, &FacetValue::Integer(number));
        match &self.test {
            Test::Equal(v) => write!(f, " = {}", value(v)),
            Test::NotEqual(v) => write!(f, " != {}", value(v)),
            Test::Below(v) => write!(f, " < {}", number(*v)),
            Test::AtMost(v) => write!(f, " <= {}", number(*v)),
            Test::Above(v) => write!(f, " > {}", number(*v)),
            Test::AtLeast(v) => write!(f, " >= {}", number(*v)),
            Test::Between(low, high) => write!(f, " in {}..{}", number(*low), number(*high)),
            Test::OneOf(values) => {
                let values: Vec<String> = values.iter().map(value).collect();
                write!(f, " in ({})", values.join(", "))
            }
            Test::Has(v) => write!(f, " has {}", value(v)),
            Test::Exists => f.write_str(" has"),
            Test::Prefix(text) => write!(f, " prefix {}", scan::quoted(text)),
        }
    }
}

/// A value as it is written in a filter.
fn shown(kind: FieldKind, value: &FacetValue) -> String {
    match (kind, value) {
        (_, FacetValue::Text(text)) => scan::quoted(text),
        (FieldKind::Share, FacetValue::Integer(thousandths)) => {
            format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
        }
        (FieldKind::Moment, FacetValue::Integer(ms)) => moment::shown(*ms),
        (FieldKind::Seconds, FacetValue::Integer(ms)) => moment::seconds_shown(*ms),
        (_, FacetValue::Integer(number)) => number.to_string(),
    }
}

#[cfg(test)]
mod tests;
