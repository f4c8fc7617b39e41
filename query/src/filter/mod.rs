//! Filters: an expression evaluated to the bitmap of chunks that a search may find. `loci_types::filter` parses the
//! expression, and has the grammar.
//!
//! A missing field satisfies no comparison, `!=` included; a
//! field with several values (authors, the pages of a span) satisfies one when any value does, and
//! `!=` when it has values and none is the given one. A date means all of its moments.
//!
//! Always true of a parsed [`Expr`]: fields are known and canonical, values fit their field, ranges
//! are not empty, nesting is at most [`DEPTH_MAX`]; and it prints as text that parses to itself.
//!
//! Start reading at [`Expr::parse`], then [`evaluate`].

use std::ops::Bound;

pub use loci_index::facets::Predicate;
pub use loci_types::filter::*;
use roaring::RoaringBitmap;

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

#[cfg(test)]
mod tests;
