//! Calls that take care of a store: settings, analysis, compaction, checks, copies, keys.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use loci_ingest::exchange::{ExchangeError, cypher, graphml};
use loci_protocol::call::{self, AddKey, GraphFormat};
use loci_protocol::fault::{Code, Fault};
use locidb::graph::types::TypeSelection;
use locidb::query::QueryError;
use locidb::storage::StoreError;
use locidb::{Error, Finding, Progress, SearchRequest};
use serde_json::json;

use super::request::check as check_request;
use super::{CallOutput, Caller, Store, StreamItem, Task, check_unrestricted, fault_of, faults};
use crate::access::{AccessError, KeyLimits, NewKey};

/// Recorded answers that are asked again at most.
const REPLAYED_MAX: u32 = 1_000;
/// Findings that are told at most.
const FINDINGS_MAX: usize = 10_000;
/// Time between two reports of progress.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// Characters of a backup's name at most.
const NAME_CHARS_MAX: usize = 64;
/// Bytes of an export that are sent at a time.
const PART_LEN: usize = 64 << 10;

/// Tells a call's progress to whoever waits for it, and asks whether to go on.
pub(super) struct ProgressReporter<'t> {
    task: Task<'t>,
    last_report: Mutex<Option<Instant>>,
    /// Whether it is told in numbers.
    reports_counts: bool,
}

impl<'t> ProgressReporter<'t> {
    pub(super) fn new(task: Task<'t>) -> ProgressReporter<'t> {
        ProgressReporter {
            task,
            last_report: Mutex::default(),
            reports_counts: true,
        }
    }

    /// As `caller` may hear of it: numbers count what is of all users.
    pub(super) fn for_caller(caller: &Caller, task: Task<'t>) -> ProgressReporter<'t> {
        ProgressReporter {
            reports_counts: caller.user.is_none(),
            ..ProgressReporter::new(task)
        }
    }

    /// The fault of work that ended; one that was stopped says why.
    pub(super) fn fault(&self, error: Error) -> Fault {
        match (error, self.task.check()) {
            (Error::Interrupted, Err(why)) => why,
            (error, _) => fault_of(error),
        }
    }
}

impl Progress for ProgressReporter<'_> {
    fn report(&self, step: &str, done: u64, total: u64) -> ControlFlow<()> {
        if self.task.check().is_err() {
            return ControlFlow::Break(());
        }
        let mut last = self
            .last_report
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        if last.is_some_and(|last| last.elapsed() < REPORT_INTERVAL) {
            return ControlFlow::Continue(());
        }
        *last = Some(Instant::now());
        let (done, total) = if self.reports_counts {
            (done, total)
        } else {
            (0, 0)
        };
        (self.task.emit)(StreamItem::Progress(call::Progress {
            step: step.to_owned(),
            done,
            total,
        }))
    }
}

pub(super) fn finish(caller: &Caller, task: Task<'_>) -> Result<CallOutput, Fault> {
    let progress = ProgressReporter::for_caller(caller, task);
    let done = caller.store.database()?.finish(&progress);
    done.map(|()| CallOutput::Empty)
        .map_err(|error| progress.fault(error))
}

pub(super) fn refit(store: &Store, task: Task<'_>) -> Result<CallOutput, Fault> {
    let progress = ProgressReporter::new(task);
    let done = store.database()?.refit(&progress);
    done.map(|()| CallOutput::Empty)
        .map_err(|error| progress.fault(error))
}

/// Changes a setting. A model is a folder of the server's machine, so that its own configuration chooses it.
pub(super) fn set(store: &Store, name: &str, value: &str) -> Result<CallOutput, Fault> {
    if name == "model" && !value.is_empty() {
        let why = "a model is a folder of the server's machine: `loci config set model FOLDER` chooses it there";
        return Err(Fault::new(Code::Forbidden, why));
    }
    let set = store.database()?.set(name, value);
    set.map(|()| CallOutput::Empty).map_err(fault_of)
}

pub(super) fn analyse(store: &Store, task: Task<'_>) -> Result<CallOutput, Fault> {
    let progress = ProgressReporter::new(task);
    let analysed = store.database()?.analyse(&progress);
    Ok(CallOutput::view(
        analysed.map_err(|error| progress.fault(error))?,
    ))
}

pub(super) fn compact(store: &Store, task: Task<'_>) -> Result<CallOutput, Fault> {
    let progress = ProgressReporter::new(task);
    let compacted = store.database()?.compact(&progress);
    Ok(CallOutput::view(
        compacted.map_err(|error| progress.fault(error))?,
    ))
}

pub(super) fn check(store: &Store, deep: bool, task: Task<'_>) -> Result<CallOutput, Fault> {
    let progress = ProgressReporter::new(task);
    let (mut findings, mut count): (Vec<Finding>, u64) = (Vec::new(), 0);
    let checked = store.database()?.check(deep, &progress, &mut |finding| {
        count += 1;
        if findings.len() < FINDINGS_MAX {
            findings.push(finding);
        }
    });
    checked.map_err(|error| progress.fault(error))?;
    Ok(CallOutput::view(
        json!({ "findings": findings, "count": count }),
    ))
}

pub(super) fn repair(store: &Store) -> Result<CallOutput, Fault> {
    let rebuilt = store.database()?.repair();
    rebuilt
        .map(|count| CallOutput::Number(count as u64))
        .map_err(fault_of)
}

/// Copies the store into a folder of the server's backups, below the store's name.
pub(super) fn backup(store: &Store, name: &str, task: Task<'_>) -> Result<CallOutput, Fault> {
    let invalid = |why: &str| Fault::new(Code::Invalid, why);
    let folder = store.backups().ok_or_else(|| {
        invalid("the server has no folder for backups: start it with --backups DIR")
    })?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    let is_name = (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain);
    if !is_name || name.starts_with('.') {
        return Err(invalid(
            "a backup's name has 1 to 64 letters, digits, points and lines, and no point before them",
        ));
    }
    let folder = folder.join(store.name());
    std::fs::create_dir_all(&folder).map_err(|error| faults::internal(&error))?;
    let progress = ProgressReporter::new(task);
    let copied = store.database()?.backup(folder.join(name), &progress);
    let copied = copied.map_err(|error| match error {
        // The reason names a folder of the server.
        Error::Store(StoreError::Invalid(_)) => {
            invalid("something else has that name, or a later state of the store: give another")
        }
        error => progress.fault(error),
    })?;
    Ok(CallOutput::view(json!({ "backup": copied })))
}

pub(super) fn export(store: &Store, task: Task<'_>) -> Result<CallOutput, Fault> {
    let progress = ProgressReporter::new(task);
    let mut parts = PartSender {
        task,
        part: Vec::with_capacity(PART_LEN),
        is_closed: false,
    };
    let database = store.database()?;
    let lines = database
        .export(&mut parts, &CancelCheck(&progress))
        .map_err(|error| {
            if parts.is_closed {
                task.ended()
            } else {
                progress.fault(error)
            }
        })?;
    parts.send().map_err(|_| task.ended())?;
    Ok(CallOutput::Number(lines))
}

/// Concepts and relations of the whole store, as a file of other programs.
pub(super) fn export_graph(
    caller: &Caller,
    format: GraphFormat,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    check_unrestricted(caller)?;
    let view = caller.store.database()?.snapshot();
    let mut parts = PartSender {
        task,
        part: Vec::with_capacity(PART_LEN),
        is_closed: false,
    };
    let written = match format {
        GraphFormat::Graphml => graphml(&view, &mut parts),
        GraphFormat::Cypher => cypher(&view, &mut parts),
    };
    let (concepts, relations) = match written {
        Ok(written) => written,
        Err(ExchangeError::Database(error)) => return Err(fault_of(error)),
        Err(ExchangeError::Store(error)) => return Err(fault_of(error.into())),
        // Nothing else than this call's own stream is written to.
        Err(_) => return Err(task.ended()),
    };
    parts.send().map_err(|_| task.ended())?;
    Ok(CallOutput::view(
        json!({ "concepts": concepts, "relations": relations }),
    ))
}

/// Asks whether to go on, and tells nothing: an export's replies are parts of it.
struct CancelCheck<'t>(&'t ProgressReporter<'t>);

impl Progress for CancelCheck<'_> {
    fn report(&self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
        match self.0.task.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// Sends what is written to it in parts.
struct PartSender<'t> {
    task: Task<'t>,
    part: Vec<u8>,
    /// Nobody takes them any more.
    is_closed: bool,
}

impl PartSender<'_> {
    fn send(&mut self) -> io::Result<()> {
        if self.part.is_empty() {
            return Ok(());
        }
        let part = std::mem::replace(&mut self.part, Vec::with_capacity(PART_LEN));
        match (self.task.emit)(StreamItem::Bytes(part)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                self.is_closed = true;
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }
}

impl Write for PartSender<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let free_len = PART_LEN - self.part.len();
        let accepted = bytes.get(..free_len).unwrap_or(bytes);
        self.part.extend_from_slice(accepted);
        if self.part.len() == PART_LEN {
            self.send()?;
        }
        Ok(accepted.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn consolidate_types(store: &Store, stratified: bool) -> Result<CallOutput, Fault> {
    let method = if stratified {
        TypeSelection::Stratified
    } else {
        TypeSelection::Global
    };
    let map = store.database()?.consolidate_types(method);
    Ok(CallOutput::view(map.map_err(fault_of)?))
}

pub(super) fn forget_types(store: &Store) -> Result<CallOutput, Fault> {
    let forgotten = store.database()?.clear_type_map();
    forgotten.map(|()| CallOutput::Empty).map_err(fault_of)
}

pub(super) fn forget_records(store: &Store, before_ms: u64) -> Result<CallOutput, Fault> {
    let forgotten = store.database()?.forget_records(before_ms);
    forgotten.map(CallOutput::Number).map_err(fault_of)
}

pub(super) fn replay(
    store: &Store,
    limit: u32,
    set: Vec<(String, String)>,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    if !(1..=REPLAYED_MAX).contains(&limit) {
        let why = format!("limit: {limit} is not between 1 and {REPLAYED_MAX}");
        return Err(Fault::new(Code::Invalid, why));
    }
    let database = store.database()?;
    let records = database
        .snapshot()
        .records(limit as usize)
        .map_err(fault_of)?;
    let progress = ProgressReporter::new(task);
    let change = |request: &SearchRequest| {
        let changed = set
            .iter()
            .try_fold(request.clone(), |request, (name, value)| {
                request.with(name, value)
            })?;
        check_request(&changed).map_err(|fault| QueryError::Option(fault.message))?;
        Ok::<_, QueryError>(changed)
    };
    // What is wrong of itself is told where nothing is recorded, too.
    change(&SearchRequest::new("?"))
        .map_err(|error| Fault::new(Code::Invalid, error.to_string()))?;
    let replay = database.replay(&records, change, &progress);
    Ok(CallOutput::view(
        replay.map_err(|error| progress.fault(error))?,
    ))
}

pub(super) fn keys(store: &Store) -> Result<CallOutput, Fault> {
    let keys = store.keys();
    let listed = keys.records().iter().map(|record| record.to_json());
    Ok(CallOutput::view(
        json!({ "keys": listed.collect::<Vec<_>>() }),
    ))
}

pub(super) fn add_key(store: &Store, call: AddKey) -> Result<CallOutput, Fault> {
    let new = NewKey {
        role: call.role,
        user: call.user,
        note: call.note,
        limits: KeyLimits::default(),
    };
    let key = store.change_keys(|keys, now_ms| keys.add(new, now_ms));
    let key = key.map_err(access_fault)?;
    Ok(CallOutput::view(
        json!({ "id": key.id(), "key": key.to_string() }),
    ))
}

pub(super) fn revoke_key(store: &Store, id: &str) -> Result<CallOutput, Fault> {
    let there = store.change_keys(|keys, _| Ok(keys.revoke(id)));
    if there.map_err(access_fault)? {
        Ok(CallOutput::Empty)
    } else {
        let why = format!("there is no key {id:?}");
        Err(Fault::new(Code::NotFound, why))
    }
}

fn access_fault(error: AccessError) -> Fault {
    match error {
        AccessError::Invalid(why) => Fault::new(Code::Invalid, why),
        AccessError::Malformed => Fault::new(Code::Invalid, error.to_string()),
        AccessError::Gone => {
            Fault::new(Code::Unavailable, error.to_string()).with_retry_after(1_000)
        }
        error => faults::internal(&error),
    }
}
