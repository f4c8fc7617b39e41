//! Any text is a filter or an error with a column; a filter prints as text that parses to itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_query::filter::Expr;

fuzz_target!(|text: &str| {
    if let Ok(expr) = Expr::parse(text) {
        assert_eq!(Expr::parse(&expr.to_string()).as_ref(), Ok(&expr));
    }
});
