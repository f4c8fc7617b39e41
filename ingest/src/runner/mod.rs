//! Parses files to documents, in this process or in a child process that may crash in its place.
//!
//! Parsers are bounded (see [`Limits`]), yet one of them depends on a large foreign crate, and a file may come from a
//! stranger. [`InProcess`] turns a panic into an error, but cannot stop an endless loop or prevent an exhausted stack
//! or memory. [`ChildProcess`] can: it sends the file to a program that calls [`child_main`], and stops it when its
//! time is over. The child does all work that depends on the content of a file: parsing, splitting, extraction.
//!
//! Always true: whatever a child answers, the returned document is that of the requested source. Its original is the
//! exact bytes of the file. Its warnings are few, short and of plain characters. The store checks the rest.
//!
//! Start reading at [`ParseRunner`].

mod child;
mod message;
#[cfg(test)]
mod tests;

use std::thread;

use locidb::NewDocument;

use crate::build_error::BuildError;
use crate::captions;
use crate::document::{BuildSettings, DocumentSource, build};
use loci_documents::{Kind, Limits, ParsedDocument, parse_within};

pub use child::{CPU_ENV, ChildProcess, MEMORY_ENV, child_main};
pub use message::{CAPTIONS_BYTES_MAX, decode_response};

/// Stack of the thread that parses: foreign parsers recurse.
const STACK_BYTES: usize = 32 << 20;

/// What a file became.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IngestedDocument {
    /// The document.
    pub document: NewDocument,
    /// What of the file is not in it, in sentences: see [`loci_documents::warnings`].
    pub warnings: Vec<String>,
    /// Names of its pictures that want a caption: see [`captions::uncaptioned`].
    pub uncaptioned: Vec<String>,
}

/// Makes documents of files.
///
/// Two implementations earn the trait: [`InProcess`] for library users who trust their files, and
/// [`ChildProcess`] for `loci`.
pub trait ParseRunner: Send + Sync {
    /// Parses `bytes` as `kind`, and makes the document of `source` of it. Never panics.
    ///
    /// # Errors
    /// What the parser answers, or how it failed. See [`BuildError`].
    fn build_document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        source: DocumentSource,
        settings: &BuildSettings,
    ) -> Result<IngestedDocument, BuildError>;

    /// A file with more bytes is refused, so that it need not be read.
    fn bytes_max(&self) -> usize;

    /// Asks what is being parsed to end soon with [`BuildError::Stopped`], and refuses all else from now on. A runner that
    /// cannot stop a parser lets it end by itself.
    fn stop(&self) {}
}

/// Makes documents in this process, on a thread of its own. A panic becomes [`BuildError::Panicked`].
#[derive(Clone, Debug, Default)]
pub struct InProcess {
    /// What a parser may spend.
    pub limits: Limits,
}

impl InProcess {
    /// Parses `bytes` as `kind`. Never panics; the document has been validated.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn parse(
        &self,
        kind: Kind,
        bytes: &[u8],
        filename: Option<&str>,
    ) -> Result<ParsedDocument, BuildError> {
        run_isolated(|| Ok(parse_within(kind, bytes, filename, &self.limits)?))
    }
}

impl ParseRunner for InProcess {
    fn build_document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        source: DocumentSource,
        settings: &BuildSettings,
    ) -> Result<IngestedDocument, BuildError> {
        run_isolated(|| {
            let mut parsed = parse_within(kind, &bytes, source.filename.as_deref(), &self.limits)?;
            let warnings = std::mem::take(&mut parsed.warnings);
            let uncaptioned = captions::uncaptioned(&parsed);
            let document = build(parsed, bytes, source, settings);
            Ok(IngestedDocument {
                document,
                warnings,
                uncaptioned,
            })
        })
    }

    fn bytes_max(&self) -> usize {
        self.limits.bytes_max
    }
}

/// Why a file fails where the system gives no more threads.
const THREAD_START_ERROR: &str =
    "no thread can be started; allow more memory (ulimit -v) or processes (ulimit -u)";

/// Runs `make` on a thread with a large stack; its panic becomes an error.
fn run_isolated<T: Send>(
    make: impl FnOnce() -> Result<T, BuildError> + Send,
) -> Result<T, BuildError> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("parse".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, make);
        match worker {
            Ok(worker) => worker.join().unwrap_or_else(|panic| {
                let message = panic
                    .downcast_ref::<&str>()
                    .map(|message| (*message).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned());
                Err(BuildError::Panicked {
                    message: message.unwrap_or_else(|| "no message".to_owned()),
                })
            }),
            Err(error) => Err(runner_error(THREAD_START_ERROR, &error)),
        }
    })
}

fn runner_error(what: &str, error: &dyn std::error::Error) -> BuildError {
    BuildError::Runner {
        reason: format!("{what}: {error}"),
    }
}
