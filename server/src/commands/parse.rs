//! The child process that parses one document, within limits.

use std::io::{stdin, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use loci_ingest::parse::Limits;
use loci_ingest::runner::{ChildProcess, MEMORY_ENV, child_main};

use crate::output::note;

/// How long a document may take.
const TIMEOUT: Duration = Duration::from_secs(300);
/// How much memory a parser may use.
const MEMORY_MAX: u64 = 4 << 30;

/// A runner that parses in children of this program.
pub(crate) fn runner() -> anyhow::Result<ChildProcess> {
    Ok(ChildProcess {
        program: std::env::current_exe()?,
        args: vec!["__parse".into()],
        timeout: TIMEOUT,
        memory_max: MEMORY_MAX,
        limits: Limits::default(),
        stopped: Arc::default(),
    })
}

/// Limits itself and parses what comes on standard input.
pub(crate) fn child() -> ExitCode {
    let limit = std::env::var(MEMORY_ENV)
        .ok()
        .and_then(|bytes| bytes.parse().ok());
    // A limit that the process has may be lower already, and cannot be raised.
    let hard = rlimit::Resource::AS.get_hard().unwrap_or(u64::MAX);
    if let Some(bytes) = limit.map(|bytes: u64| bytes.min(hard))
        && let Err(error) = rlimit::setrlimit(rlimit::Resource::AS, bytes, bytes)
    {
        note!("loci: limiting memory: {error}");
        return ExitCode::from(1);
    }
    match child_main(stdin().lock(), stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note!("loci: {error}");
            ExitCode::from(1)
        }
    }
}
