//! A filter as it is parsed, and as it is printed.

use std::fmt;

use super::fields::{FieldKind, META, lookup};
use super::{moment, scan};

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

/// A field and its test.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The field's canonical name, or `meta.KEY`.
    pub field: String,
    /// The test of its values.
    pub test: Test,
}

/// A test of a field's values.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `= v`: one is this.
    Equal(FacetValue),
    /// `!= v`: the field has values, and none is this.
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
    /// `has`: the field has values.
    Exists,
    /// `prefix text`: one begins with this.
    Prefix(String),
}

/// One value of a field. A chunk may have several. All integers are below all text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FacetValue {
    /// A number.
    Integer(i64),
    /// Text, compared by bytes: case and accents count.
    Text(String),
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
