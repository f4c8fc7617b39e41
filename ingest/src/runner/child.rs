//! The child process that parses a file, seen from both sides.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use locidb::storage::records::DocumentRecord;

use super::message::{ParseRequest, decode_response, write_response};
use super::{InProcess, IngestedDocument, ParseRunner, THREAD_START_ERROR, runner_error};
use crate::build_error::BuildError;
use crate::document::{BuildSettings, DocumentSource};
use crate::process::supervisor::{RunError, RunLimits, run};
use loci_documents::{Kind, Limits, ParseError};

/// The environment variable that carries [`ChildProcess::memory_max`] to the child, in bytes. The
/// program sets its own limit from it before it calls [`child_main`].
pub const MEMORY_ENV: &str = "LOCI_PARSE_MEMORY_MAX";

/// The environment variable that carries the seconds of processor time that the child may use, as [`MEMORY_ENV`] does
/// its memory.
pub const CPU_ENV: &str = "LOCI_PARSE_CPU_MAX";

/// Most bytes that a child may answer beside its assets, per byte of text that the limits allow, and beyond it: sections
/// and passages each repeat the text, and each sentence may be a chunk with what is known of it.
const RESPONSE_BYTES_PER_TEXT_BYTE: u64 = 16;
const RESPONSE_BYTES_BASE: u64 = 1 << 20;

/// Makes documents in a child process that is stopped when it takes too long.
///
/// The child gets an empty environment but for [`MEMORY_ENV`] and [`CPU_ENV`]: it handles hostile bytes and needs
/// no secrets.
#[derive(Clone, Debug)]
pub struct ChildProcess {
    /// The program; as a rule the running one itself.
    pub program: PathBuf,
    /// Arguments that make it call [`child_main`].
    pub args: Vec<String>,
    /// How long one file may take.
    pub timeout: Duration,
    /// Bytes of memory that the child may use. The child sets the limit itself.
    pub memory_max: u64,
    /// What a parser may spend.
    pub limits: Limits,
    /// Whether it was stopped: then it makes nothing any more, and no clone of it does.
    pub stopped: Arc<AtomicBool>,
}

impl ParseRunner for ChildProcess {
    fn build_document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        source: DocumentSource,
        settings: &BuildSettings,
    ) -> Result<IngestedDocument, BuildError> {
        self.limits.check_bytes(&bytes)?;
        let request = ParseRequest {
            kind,
            limits: self.limits.clone(),
            source,
            settings: *settings,
        };
        let bytes = Arc::new(bytes);
        let answer = self.run_child(&request, &bytes)?;
        let mut ingested = decode_response(&answer)?;
        let document = &mut ingested.document;
        let DocumentSource {
            key,
            user,
            collection,
            filename,
            ..
        } = request.source;
        // What the store or its caller states of a document, and vectors, which others share, a child may not set.
        let own = DocumentRecord::default();
        document.record = DocumentRecord {
            key,
            user,
            collection,
            filename,
            parser: settings.signature(),
            stub: own.stub,
            ingested_at_ms: own.ingested_at_ms,
            embed: own.embed,
            ..std::mem::take(&mut document.record)
        };
        for chunk in &mut document.chunks {
            chunk.vector = None;
        }
        // A child that answers has closed its input, so that this is no copy as a rule.
        document.original = Arc::unwrap_or_clone(bytes);
        Ok(ingested)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn bytes_max(&self) -> usize {
        self.limits.bytes_max
    }
}

impl ChildProcess {
    /// Everything that a child answers to the request. The child is gone when this returns.
    fn run_child(
        &self,
        request: &ParseRequest,
        bytes: &Arc<Vec<u8>>,
    ) -> Result<Vec<u8>, BuildError> {
        let line = request.line()?;
        let bytes = Arc::clone(bytes);
        let input = move |mut stdin: ChildStdin| {
            stdin.write_all(&line)?;
            stdin.write_all(&bytes)
        };
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .env(MEMORY_ENV, self.memory_max.to_string())
            .env(CPU_ENV, self.cpu_seconds().to_string());
        let limits = RunLimits {
            timeout: self.timeout,
            output_bytes_max: self.response_bytes_max(),
            error_bytes_max: 0,
            stopped: &self.stopped,
        };
        run(command, input, &limits).map_err(|error| self.build_error(error))
    }

    fn build_error(&self, error: RunError) -> BuildError {
        let seconds = self.timeout.as_secs();
        match error {
            RunError::Start(error) => runner_error("it does not start", &error),
            RunError::Thread(error) => runner_error(THREAD_START_ERROR, &error),
            RunError::Stopped => BuildError::Stopped,
            RunError::TimedOut => BuildError::TimedOut { seconds },
            RunError::OutputTooLarge => {
                let most = self.response_bytes_max();
                let error = ParseError::TooLarge {
                    what: "bytes of parser output".to_owned(),
                    got: most.saturating_add(1),
                    most,
                };
                error.into()
            }
            RunError::Unreadable(error) => runner_error("its answer cannot be read", &error),
            RunError::Failed { status, .. } if is_cpu_limit_exceeded(status) => {
                BuildError::TimedOut { seconds }
            }
            RunError::Failed { status, .. } => BuildError::Crashed {
                status: status.to_string(),
            },
        }
    }

    fn response_bytes_max(&self) -> u64 {
        let text = self.limits.text_max as u64;
        text.saturating_mul(RESPONSE_BYTES_PER_TEXT_BYTE)
            .saturating_add(self.limits.assets_max as u64)
            .saturating_add(RESPONSE_BYTES_BASE)
    }

    /// Seconds of processor time that suffice for a child whose time is not over: it parses on one thread.
    fn cpu_seconds(&self) -> u64 {
        self.timeout.as_secs().saturating_add(1)
    }
}

/// Whether the system ended a child that had used all the processor time that it may.
#[cfg(unix)]
fn is_cpu_limit_exceeded(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(unix))]
fn is_cpu_limit_exceeded(_: ExitStatus) -> bool {
    false
}

/// The child's side: reads one request and its file, makes the document, and writes the answer.
///
/// A panic on the way is an answer, too. The caller has set its memory limit before, and exits
/// with success when this returns `Ok`.
///
/// # Errors
/// When the request is not one, or a pipe breaks.
pub fn child_main(stdin: impl Read, stdout: impl Write) -> io::Result<()> {
    let (request, bytes) = ParseRequest::read(stdin)?;
    let runner = InProcess {
        limits: request.limits,
    };
    let result = runner.build_document(request.kind, bytes, request.source, &request.settings);
    write_response(result, stdout)
}
