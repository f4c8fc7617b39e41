//! What parses the files that callers send, which a program decides for itself: `loci` has confined children do it.

use std::fmt;
use std::io;
use std::sync::Arc;

use loci_ingest::runner::{InProcess, ParseRunner};

type Build = dyn Fn() -> io::Result<Box<dyn ParseRunner>> + Send + Sync;

/// Builds a parser for each file that a caller sends. By default files are parsed in this process, which suits a program
/// that trusts whoever may write to its stores.
#[derive(Clone)]
pub struct ParserFactory(Arc<Build>);

impl ParserFactory {
    /// A factory of what `build` builds. A parser that was stopped parses nothing more, so each call builds another.
    pub fn new(
        build: impl Fn() -> io::Result<Box<dyn ParseRunner>> + Send + Sync + 'static,
    ) -> ParserFactory {
        ParserFactory(Arc::new(build))
    }

    /// A parser for one file.
    pub(crate) fn build(&self) -> io::Result<Box<dyn ParseRunner>> {
        self.0()
    }
}

impl Default for ParserFactory {
    fn default() -> ParserFactory {
        ParserFactory::new(|| Ok(Box::new(InProcess::default())))
    }
}

impl fmt::Debug for ParserFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParserFactory")
    }
}
