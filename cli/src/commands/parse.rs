//! The child process that parses one document, confined and within limits.

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

/// How long a document may take.
const TIMEOUT: Duration = Duration::from_secs(300);
/// How much memory a parser may use.
const MEMORY_MAX: u64 = 4 << 30;
/// Files that a parser may have open: it has its three pipes, and is to open none.
const FILES_MAX: u64 = 8;

/// A runner that parses in children of this program.
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

/// What parses the files that callers of a server send: a child each, as for `loci ingest`.
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

/// What a child says of itself when it is asked rather than given a document.
#[derive(Serialize, Deserialize)]
struct Probe {
    /// Why it is not confined; nothing where it is.
    unconfined: Option<String>,
}

/// Why children that parse are not confined on this system; `None` where they are. A child is asked, once.
pub(crate) fn unconfined_reason() -> Option<&'static str> {
    static WHY: OnceLock<Option<String>> = OnceLock::new();
    let ask = || {
        let program = std::env::current_exe().ok()?;
        let mut child = Command::new(program);
        let child = child.args(["__parse", "--probe"]).env_clear();
        let answer = child.stdin(Stdio::null()).stderr(Stdio::null()).output();
        // A child that does not start says so when it is to parse.
        serde_json::from_slice::<Probe>(&answer.ok()?.stdout)
            .ok()?
            .unconfined
    };
    WHY.get_or_init(ask).as_deref()
}

/// Limits and confines itself, and parses what comes on standard input.
pub(crate) fn child(args: &Parse) -> ExitCode {
    if let Err(error) = limit() {
        note!("loci: limiting a process that parses: {error}");
        return ExitCode::from(1);
    }
    // Where it cannot be, limits and being a process of its own must do; the parent asks for it and says so.
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

/// Sets the limits that the system keeps: of memory and processor time as the parent says, of files for all.
fn limit() -> std::io::Result<()> {
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
        // A limit that holds already may be the lower one.
        let hard = resource.get_hard()?;
        let limit = limit.min(hard);
        // At the soft limit of time the system says why it ends the process, at the hard one it does not.
        let beyond = if resource == Resource::CPU { 1 } else { 0 };
        resource.set(limit, limit.saturating_add(beyond).min(hard))?;
    }
    Ok(())
}
