//! Why a filter cannot be understood.

/// How deep parentheses and `not` may nest.
pub const DEPTH_MAX: usize = 64;

/// Bytes of an expression at most.
pub const FILTER_LEN_MAX: usize = 64 << 10;

/// Why a filter cannot be understood. Nothing was searched; mend it at the column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct FilterError {
    /// Where, in characters from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else is expected here.
    #[error("expected {what}, found {found}")]
    Expected {
        /// What is expected.
        what: &'static str,
        /// What is found.
        found: String,
    },
    /// No field has this name. Free metadata is written `meta.KEY`.
    #[error("no field is called {name:?}{}", suggestion(*nearest))]
    UnknownField {
        /// The name.
        name: String,
        /// The known name most like it.
        nearest: Option<&'static str>,
    },
    /// The field never has this value.
    #[error("{field} is never {value:?}; it can be {expected}")]
    Value {
        /// The field.
        field: String,
        /// What was written.
        value: String,
        /// What its values look like.
        expected: String,
    },
    /// Only numbers have an order. For text there are `=`, `in (…)` and `prefix`.
    #[error("{field} is text, which has no order here; use prefix, = or in (…)")]
    NoOrder {
        /// The field.
        field: String,
    },
    /// Only text has a beginning.
    #[error("{field} is not text; prefix is for text")]
    NoPrefix {
        /// The field.
        field: String,
    },
    /// The ends are in the wrong order.
    #[error("the range is empty: its ends are in the wrong order")]
    EmptyRange,
    /// A parenthesis, bracket or quotation has no end.
    #[error("{what} is not closed")]
    NotClosed {
        /// What was opened.
        what: &'static str,
    },
    /// Use fewer parentheses, or two searches.
    #[error("parentheses and `not` nest more than {DEPTH_MAX} deep")]
    TooDeep,
    /// Shorten it.
    #[error("a filter may have {FILTER_LEN_MAX} bytes; this one has {len}")]
    TooLong {
        /// Its bytes.
        len: usize,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}
