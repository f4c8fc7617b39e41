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
use super::{Caller, Given, Item, Store, Task, fault_of, faults, whole_store};
use crate::access::{AccessError, KeyLimits, NewKey};

/// Recorded answers that are asked again at most.
const REPLAYED_MAX: u32 = 1_000;
/// Findings that are told at most.
const FINDINGS_MAX: usize = 10_000;
/// Time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// Characters of a backup's name at most.
const NAME_CHARS_MAX: usize = 64;
/// Bytes of an export that are sent at a time.
const PART_LEN: usize = 64 << 10;

/// Tells a call's progress to whoever waits for it, and asks whether to go on.
pub(super) struct Told<'t> {
    task: Task<'t>,
    last: Mutex<Option<Instant>>,
    /// Whether it is told in numbers.
    counts: bool,
}

impl<'t> Told<'t> {
    pub(super) fn of(task: Task<'t>) -> Told<'t> {
        Told {
            task,
            last: Mutex::default(),
            counts: true,
        }
    }

    /// As `caller` may hear of it: numbers count what is of all users.
    pub(super) fn to(caller: &Caller, task: Task<'t>) -> Told<'t> {
        Told {
            counts: caller.user.is_none(),
            ..Told::of(task)
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

impl Progress for Told<'_> {
    fn report(&self, step: &str, done: u64, total: u64) -> ControlFlow<()> {
        if self.task.check().is_err() {
            return ControlFlow::Break(());
        }
        let mut last = self
            .last
            .lock()
            .unwrap_or_else(|broken| broken.into_inner());
        if last.is_some_and(|last| last.elapsed() < REPORT_EVERY) {
            return ControlFlow::Continue(());
        }
        *last = Some(Instant::now());
        let (done, total) = if self.counts { (done, total) } else { (0, 0) };
        (self.task.emit)(Item::Progress(call::Progress {
            step: step.to_owned(),
            done,
            total,
        }))
    }
}

pub(super) fn finish(caller: &Caller, task: Task<'_>) -> Result<Given, Fault> {
    let told = Told::to(caller, task);
    let done = caller.store.database()?.finish(&told);
    done.map(|()| Given::Nothing)
        .map_err(|error| told.fault(error))
}

pub(super) fn refit(store: &Store, task: Task<'_>) -> Result<Given, Fault> {
    let told = Told::of(task);
    let done = store.database()?.refit(&told);
    done.map(|()| Given::Nothing)
        .map_err(|error| told.fault(error))
}

/// Changes a setting. A model is a folder of the server's machine, so that its own configuration chooses it.
pub(super) fn set(store: &Store, name: &str, value: &str) -> Result<Given, Fault> {
    if name == "model" && !value.is_empty() {
        let why = "a model is a folder of the server's machine: `loci config set model FOLDER` chooses it there";
        return Err(Fault::new(Code::Forbidden, why));
    }
    let set = store.database()?.set(name, value);
    set.map(|()| Given::Nothing).map_err(fault_of)
}

pub(super) fn analyse(store: &Store, task: Task<'_>) -> Result<Given, Fault> {
    let told = Told::of(task);
    let analysed = store.database()?.analyse(&told);
    Given::json(&analysed.map_err(|error| told.fault(error))?)
}

pub(super) fn compact(store: &Store, task: Task<'_>) -> Result<Given, Fault> {
    let told = Told::of(task);
    let compacted = store.database()?.compact(&told);
    Given::json(&compacted.map_err(|error| told.fault(error))?)
}

pub(super) fn check(store: &Store, deep: bool, task: Task<'_>) -> Result<Given, Fault> {
    let told = Told::of(task);
    let (mut findings, mut count): (Vec<Finding>, u64) = (Vec::new(), 0);
    let checked = store.database()?.check(deep, &told, &mut |finding| {
        count += 1;
        if findings.len() < FINDINGS_MAX {
            findings.push(finding);
        }
    });
    checked.map_err(|error| told.fault(error))?;
    Given::json(&json!({ "findings": findings, "count": count }))
}

pub(super) fn repair(store: &Store) -> Result<Given, Fault> {
    let rebuilt = store.database()?.repair();
    rebuilt
        .map(|count| Given::Number(count as u64))
        .map_err(fault_of)
}

/// Copies the store into a folder of the server's backups, below the store's name.
pub(super) fn backup(store: &Store, name: &str, task: Task<'_>) -> Result<Given, Fault> {
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
    let told = Told::of(task);
    let copied = store.database()?.backup(folder.join(name), &told);
    let copied = copied.map_err(|error| match error {
        // The reason names a folder of the server.
        Error::Store(StoreError::Invalid(_)) => {
            invalid("something else has that name, or a later state of the store: give another")
        }
        error => told.fault(error),
    })?;
    Given::json(&json!({ "backup": copied }))
}

pub(super) fn export(store: &Store, task: Task<'_>) -> Result<Given, Fault> {
    let told = Told::of(task);
    let mut parts = Parts {
        task,
        part: Vec::with_capacity(PART_LEN),
        is_gone: false,
    };
    let database = store.database()?;
    let lines = database
        .export(&mut parts, &Quiet(&told))
        .map_err(|error| {
            if parts.is_gone {
                task.ended()
            } else {
                told.fault(error)
            }
        })?;
    parts.send().map_err(|_| task.ended())?;
    Ok(Given::Number(lines))
}

/// Concepts and relations of the whole store, as a file of other programs.
pub(super) fn export_graph(
    caller: &Caller,
    format: GraphFormat,
    task: Task<'_>,
) -> Result<Given, Fault> {
    whole_store(caller)?;
    let view = caller.store.database()?.view();
    let mut parts = Parts {
        task,
        part: Vec::with_capacity(PART_LEN),
        is_gone: false,
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
    Given::json(&json!({ "concepts": concepts, "relations": relations }))
}

/// Asks whether to go on, and tells nothing: an export's replies are parts of it.
struct Quiet<'t>(&'t Told<'t>);

impl Progress for Quiet<'_> {
    fn report(&self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
        match self.0.task.check() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

/// Sends what is written to it in parts.
struct Parts<'t> {
    task: Task<'t>,
    part: Vec<u8>,
    /// Nobody takes them any more.
    is_gone: bool,
}

impl Parts<'_> {
    fn send(&mut self) -> io::Result<()> {
        if self.part.is_empty() {
            return Ok(());
        }
        let part = std::mem::replace(&mut self.part, Vec::with_capacity(PART_LEN));
        match (self.task.emit)(Item::Bytes(part)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                self.is_gone = true;
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }
}

impl Write for Parts<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PART_LEN - self.part.len();
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.part.extend_from_slice(taken);
        if self.part.len() == PART_LEN {
            self.send()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn consolidate_types(store: &Store, stratified: bool) -> Result<Given, Fault> {
    let method = if stratified {
        TypeSelection::Stratified
    } else {
        TypeSelection::Global
    };
    let map = store.database()?.consolidate_types(method);
    Given::json(&map.map_err(fault_of)?)
}

pub(super) fn forget_types(store: &Store) -> Result<Given, Fault> {
    let forgotten = store.database()?.forget_types();
    forgotten.map(|()| Given::Nothing).map_err(fault_of)
}

pub(super) fn forget_records(store: &Store, before_ms: u64) -> Result<Given, Fault> {
    let forgotten = store.database()?.forget_records(before_ms);
    forgotten.map(Given::Number).map_err(fault_of)
}

pub(super) fn replay(
    store: &Store,
    limit: u32,
    set: Vec<(String, String)>,
    task: Task<'_>,
) -> Result<Given, Fault> {
    if !(1..=REPLAYED_MAX).contains(&limit) {
        let why = format!("limit: {limit} is not between 1 and {REPLAYED_MAX}");
        return Err(Fault::new(Code::Invalid, why));
    }
    let database = store.database()?;
    let records = database.view().records(limit as usize).map_err(fault_of)?;
    let told = Told::of(task);
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
    let replay = database.replay(&records, change, &told);
    Given::json(&replay.map_err(|error| told.fault(error))?)
}

pub(super) fn keys(store: &Store) -> Result<Given, Fault> {
    let keys = store.keys();
    let told = keys.records().iter().map(|record| record.told());
    Given::json(&json!({ "keys": told.collect::<Vec<_>>() }))
}

pub(super) fn add_key(store: &Store, call: AddKey) -> Result<Given, Fault> {
    let new = NewKey {
        role: call.role,
        user: call.user,
        note: call.note,
        limits: KeyLimits::default(),
    };
    let key = store.change_keys(|keys, now_ms| keys.add(new, now_ms));
    let key = key.map_err(access_fault)?;
    Given::json(&json!({ "id": key.id(), "key": key.to_string() }))
}

pub(super) fn revoke_key(store: &Store, id: &str) -> Result<Given, Fault> {
    let there = store.change_keys(|keys, _| Ok(keys.revoke(id)));
    if there.map_err(access_fault)? {
        Ok(Given::Nothing)
    } else {
        let why = format!("there is no key {id:?}");
        Err(Fault::new(Code::NotFound, why))
    }
}

fn access_fault(error: AccessError) -> Fault {
    match error {
        AccessError::Invalid(why) => Fault::new(Code::Invalid, why),
        AccessError::Malformed => Fault::new(Code::Invalid, error.to_string()),
        AccessError::Gone => Fault::new(Code::Unavailable, error.to_string()).after(1_000),
        error => faults::internal(&error),
    }
}
