//! The child process that parses one document, confined and with resource limits.

use std::io::{self, stdin, stdout};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use loci_ingest::confinement::{attempts, confine};
use loci_ingest::documents::Limits;
use loci_ingest::runner::{CPU_ENV, ChildProcess, MEMORY_ENV, child_main};
use loci_server::ParserFactory;
use rlimit::Resource;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::args::Parse;
use crate::output::{Printer, note};

/// The time limit of a document.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The memory limit of a parser.
const MEMORY_MAX: u64 = 4 << 30;
/// The limit of open files of a parser: it has three pipes, and opens no file.
const FILES_MAX: u64 = 8;

/// A runner that parses in child processes of this program.
pub(crate) fn runner() -> io::Result<ChildProcess> {
    Ok(ChildProcess {
        program: std::env::current_exe()?,
        args: vec!["__parse".into()],
        timeout: TIMEOUT,
        memory_max: MEMORY_MAX,
        limits: Limits::default(),
        stopped: Arc::default(),
    })
}

/// The parser of files that callers of a server send: one child process each, as for `loci ingest`.
pub(crate) fn factory() -> ParserFactory {
    static WARNED: Once = Once::new();
    ParserFactory::new(|| {
        let runner = runner()?;
        if let Some(why) = unconfined_reason() {
            WARNED.call_once(|| tracing::warn!("{why}"));
        }
        Ok(Box::new(runner))
    })
}

/// The response of a child process to `--probe`.
#[derive(Serialize, Deserialize)]
struct Probe {
    /// The reason if it is not confined.
    unconfined: Option<String>,
}

/// The reason if parser processes are not confined on this system. One child process is probed, once.
pub(crate) fn unconfined_reason() -> Option<&'static str> {
    static WHY: OnceLock<Option<String>> = OnceLock::new();
    let probe = || {
        let program = std::env::current_exe().ok()?;
        let mut child = Command::new(program);
        let child = child.args(["__parse", "--probe"]).env_clear();
        let answer = child.stdin(Stdio::null()).stderr(Stdio::null()).output();
        // A child that does not start reports that when it parses.
        serde_json::from_slice::<Probe>(&answer.ok()?.stdout)
            .ok()?
            .unconfined
    };
    WHY.get_or_init(probe).as_deref()
}

/// Limits and confines this process, and parses a document from standard input.
pub(crate) fn child(args: &Parse) -> ExitCode {
    if let Err(error) = set_process_limits() {
        note!("loci: setting the limits of a parser process: {error}");
        return ExitCode::from(1);
    }
    // Without confinement, limits and the separate process remain; the parent probes for it and prints a note.
    let unconfined = confine().err().map(|why| why.to_string());
    if let Some(folder) = &args.probe {
        let folder = folder.as_deref();
        let limits = [Resource::CPU, Resource::NOFILE, Resource::FSIZE];
        let limits = limits.map(|of| (of.as_name(), of.get_hard().ok()));
        let report = json!({
            "unconfined": unconfined,
            "attempts": folder.map(attempts),
            "limits": limits,
        });
        let printed = Printer::new(true).write(&report.to_string());
        return ExitCode::from(u8::from(printed.is_err()));
    }
    match child_main(stdin().lock(), stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note!("loci: {error}");
            ExitCode::from(1)
        }
    }
}

/// Sets the limits of the operating system: memory and processor time from the environment, files for all.
fn set_process_limits() -> std::io::Result<()> {
    let given = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let limits = [
        (Resource::AS, given(MEMORY_ENV)),
        (Resource::CPU, given(CPU_ENV)),
        (Resource::NOFILE, Some(FILES_MAX)),
        (Resource::FSIZE, Some(0)),
        (Resource::CORE, Some(0)),
    ];
    for (resource, limit) in limits {
        let Some(limit) = limit else { continue };
        // The current limit may be lower.
        let hard = resource.get_hard()?;
        let limit = limit.min(hard);
        // At the soft time limit the signal names the reason, at the hard limit it does not.
        let beyond = if resource == Resource::CPU { 1 } else { 0 };
        resource.set(limit, limit.saturating_add(beyond).min(hard))?;
    }
    Ok(())
}
