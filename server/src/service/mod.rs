//! What a server does for its callers: the wire protocol, HTTP, MCP and the pages all use [`perform`], and the wire protocol
//! [`TransactionSlot::perform`] for the steps of transactions. Nothing else of a server reads or writes a store.
//!
//! Always true: a call is performed on the store of the caller's key, and on no other; a caller that is bound to a user
//! learns nothing about other users' documents; a call that the key's role does not allow is refused before it reads
//! anything; every call, also a step of a transaction, is recorded in the metrics and, where they apply, in a trace, the
//! slow log and the audit log.
//!
//! Start reading at [`perform`].

pub(crate) mod audit;
mod concurrency;
mod graph;
mod ingest;
mod maintenance;
mod parser;
mod reads;
mod request;
mod store_location;
mod stores;
pub(crate) mod traces;
mod transaction;
mod writes;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use loci_protocol::call::{self, Call, Outcome, Role};
use loci_protocol::codec;
use loci_protocol::fault::{Code, Fault};
use loci_views::{View, faults};
use locidb::{Answer, Prompt};

use crate::access::limits::KeyRateLimiter;

pub(crate) use concurrency::{ConcurrencyLimits, FileMemory, StoreSemaphores};
pub(crate) use graph::GRAPH_LEN_MAX;
pub(crate) use loci_views::faults::{from_error as fault_of, internal};
pub use parser::ParserFactory;
pub(crate) use store_location::{StoreFolder, StoreLocation};
pub(crate) use stores::{Store, Stores, StoresOptions};
pub(crate) use transaction::{CancelToken, Reply, TransactionPermits, TransactionSlot};

/// Who calls: a key that was checked.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The store that the key is of.
    pub(crate) store: Arc<Store>,
    /// What it allows.
    pub(crate) role: Role,
    /// The user that it is bound to.
    pub(crate) user: Option<String>,
    /// The key's id, for logs; `local` where no keys are needed.
    pub(crate) key: String,
    /// How often it may call.
    pub(crate) rate_limiter: Option<Arc<KeyRateLimiter>>,
    /// Bytes of a call at most, where the key says so.
    pub(crate) call_bytes_max: Option<u32>,
    /// The trace that the call is part of, where it says so.
    pub(crate) trace: Option<traces::ParentSpan>,
}

impl Caller {
    /// Whether no key was needed.
    pub(crate) fn is_local(&self) -> bool {
        self.key == "local"
    }
}

/// A call in flight, as its work sees it.
#[derive(Clone, Copy)]
pub(crate) struct Task<'t> {
    /// When the caller does not wait any more.
    pub(crate) deadline: Option<Instant>,
    /// Whether it was cancelled.
    pub(crate) cancelled: &'t AtomicBool,
    /// Takes what comes before the last reply; break: the caller does not want more.
    pub(crate) emit: &'t (dyn Fn(StreamItem) -> ControlFlow<()> + Sync),
    /// Memory for files that are being sent.
    pub(crate) files: &'t FileMemory,
}

impl Task<'_> {
    /// Fails with the reason to end the work, if there is one.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Fault::new(Code::Cancelled, "the call was cancelled"));
        }
        match self.deadline {
            Some(deadline) if deadline <= Instant::now() => {
                Err(Fault::new(Code::Deadline, "the call took too long"))
            }
            _ => Ok(()),
        }
    }

    /// Why the work ended whose parts the caller does not take any more.
    fn ended(&self) -> Fault {
        let cancelled = || Fault::new(Code::Cancelled, "the call was cancelled");
        self.check().err().unwrap_or_else(cancelled)
    }
}

/// What comes before the last reply.
#[derive(Debug)]
pub(crate) enum StreamItem {
    /// A part of a file.
    Bytes(Vec<u8>),
    /// How far the work has come.
    Progress(call::Progress),
}

impl StreamItem {
    /// The payload of its frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            StreamItem::Bytes(bytes) => codec::encode(bytes),
            StreamItem::Progress(progress) => codec::encode(progress),
        }
    }
}

/// The output of a call.
#[derive(Debug)]
pub(crate) enum CallOutput {
    /// Passages, or an answer in words.
    Answer(Box<Answer>),
    /// What a model would be asked.
    Prompt(Box<Prompt>),
    /// A value that becomes JSON.
    View(Box<dyn View>),
    /// A view that was written as JSON already.
    Json(String),
    /// Why a file cannot be read: the line that `loci ingest --json` prints for it.
    UnreadableFile(Box<dyn View>),
    /// A number.
    Number(u64),
    /// Nothing.
    Empty,
    /// What a change gave.
    Outcome(Box<Outcome>),
    /// What changes gave.
    Outcomes(Vec<Outcome>),
}

impl CallOutput {
    /// A value that becomes JSON.
    pub(crate) fn view(value: impl View) -> CallOutput {
        CallOutput::View(Box::new(value))
    }

    /// The payload of its frame.
    ///
    /// # Errors
    /// [`Code::Internal`] for a view that has no form in JSON.
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Fault> {
        Ok(match self {
            CallOutput::Answer(answer) => codec::encode(&**answer),
            CallOutput::Prompt(prompt) => codec::encode(&**prompt),
            CallOutput::View(view) | CallOutput::UnreadableFile(view) => {
                let json = view.to_json().map_err(|error| internal(&error))?;
                codec::encode(&json)
            }
            CallOutput::Json(json) => codec::encode(json),
            CallOutput::Number(number) => codec::encode(number),
            CallOutput::Empty => Vec::new(),
            CallOutput::Outcome(outcome) => codec::encode(&**outcome),
            CallOutput::Outcomes(outcomes) => codec::encode(outcomes),
        })
    }

    /// The view that a read gives.
    ///
    /// # Errors
    /// [`Code::Internal`] for the output of another call.
    pub(crate) fn into_view(self) -> Result<Box<dyn View>, Fault> {
        match self {
            CallOutput::Answer(answer) => Ok(answer),
            CallOutput::View(view) => Ok(view),
            _ => Err(internal(&"a call that reads gave no view")),
        }
    }
}

/// Counts a call of so many bytes that needs this role, before it is decoded.
///
/// # Errors
/// [`Code::Forbidden`], [`Code::TooMany`] and [`Code::TooLarge`] where the key does not allow it.
pub(crate) fn admit(caller: &Caller, role: Option<Role>, bytes: usize) -> Result<(), Fault> {
    if let Some(needed) = role {
        check_role(caller, needed)?;
    }
    if let Some(most) = caller.call_bytes_max
        && bytes > most as usize
    {
        let why = format!("a call of {bytes} bytes; the key allows {most}");
        return Err(Fault::new(Code::TooLarge, why));
    }
    match &caller.rate_limiter {
        Some(limiter) => limiter.check().map_err(|wait_ms| {
            Fault::new(Code::TooMany, "too many calls by this key").with_retry_after(wait_ms)
        }),
        None => Ok(()),
    }
}

/// A call being performed, recorded at its end: in the metrics, in a trace if it is sampled, in the log if it was slow, and
/// in the audit log if it changed something or was refused.
struct MeasuredCall {
    name: &'static str,
    role: Role,
    sampled: Option<traces::SampledCall>,
    started: Instant,
}

impl MeasuredCall {
    fn start(caller: &Caller, call: &Call) -> MeasuredCall {
        MeasuredCall {
            name: call.name(),
            role: call.role(),
            sampled: traces::sample(caller, call.name()),
            started: Instant::now(),
        }
    }

    /// `steps`: what the operators of its plan took, if they were collected.
    fn end(self, caller: &Caller, steps: Option<traces::StepCollector>, fault: Option<&Fault>) {
        audit::record_call(caller, self.name, self.role, self.started.elapsed(), fault);
        if let Some(sampled) = self.sampled {
            sampled.end(caller, steps, fault);
        }
    }
}

/// Performs a call and records it.
///
/// # Errors
/// As [`dispatch`].
pub(crate) fn perform(caller: &Caller, call: Call, task: Task<'_>) -> Result<CallOutput, Fault> {
    let measured = MeasuredCall::start(caller, &call);
    let steps = measured
        .sampled
        .as_ref()
        .map(|_| traces::StepCollector::start());
    let output = with_page_check(caller, || dispatch(caller, call, task));
    let unread = Fault::new(Code::Invalid, "the file cannot be read");
    let fault = match &output {
        Err(fault) => Some(fault),
        Ok(CallOutput::UnreadableFile(_)) => Some(&unread),
        Ok(_) => None,
    };
    measured.end(caller, steps, fault);
    output
}

/// The output of `work`, unless a file of the store was truncated, or its disk failed, meanwhile: then `work` may have read
/// zeros, and even a panic over them is no defect.
fn with_page_check(
    caller: &Caller,
    work: impl FnOnce() -> Result<CallOutput, Fault>,
) -> Result<CallOutput, Fault> {
    // For a store that cannot be opened, `work` returns the fault.
    let Ok(database) = caller.store.database() else {
        return work();
    };
    let watch = database.watch_pages().map_err(fault_of)?;
    let result = catch_unwind(AssertUnwindSafe(work));
    database.check_pages(watch).map_err(fault_of)?;
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Performs a call. Blocks until it is done.
///
/// # Errors
/// A [`Fault`] that its caller may read: it names no path and no other store.
fn dispatch(caller: &Caller, call: Call, task: Task<'_>) -> Result<CallOutput, Fault> {
    allow(caller, &call)?;
    task.check()?;
    let store = &caller.store;
    match call {
        Call::Search(call) => reads::search(caller, *call.request, call.record),
        Call::Ask(call) => reads::ask(caller, *call.request, call.record),
        Call::AskPrompt(call) => reads::prompt(caller, *call.request),
        Call::GetSettings(_) => reads::settings(caller),
        Call::GetStats(_) => reads::stats(caller, task),
        Call::GetUsage(_) => Ok(CallOutput::view(
            store.database()?.usage().map_err(fault_of)?,
        )),
        Call::ListDocuments(call) => reads::documents(caller, &call, task),
        Call::GetDocument(call) => reads::document(caller, &call.key, task),
        Call::GetChunk(call) => reads::chunk(caller, &call.key, call.context, task),
        Call::GetOriginal(call) => reads::original(caller, &call.key, task),
        Call::GetAsset(call) => reads::asset(caller, &call.key, &call.name, task),
        Call::GetText(call) => reads::text(caller, &call.key, task),
        Call::GetConcept(call) => reads::concept(caller, &call.name, task),
        Call::ListConcepts(call) => reads::concepts(caller, &call.prefix, call.limit, task),
        Call::GetPath(call) => reads::path(caller, &call, task),
        Call::GetCitations(call) => reads::citations(caller, &call.of, task),
        Call::ListWorks(call) => reads::works(caller, &call, task),
        Call::ListCommunities(call) => {
            reads::communities(caller, call.level, call.of.as_deref(), task)
        }
        Call::ListTypes(_) => reads::types(caller, task),
        Call::ListRecords(call) => reads::records(caller, call.response, call.limit),
        Call::ListItems(call) => reads::items(caller, &call, task),
        Call::GetItemFigures(_) => reads::item_stats(caller),
        Call::ExportGraph(call) => maintenance::export_graph(caller, call.format, task),
        Call::Write(call) => writes::write(caller, call.changes),
        Call::Begin(_) | Call::Step(_) | Call::Commit(_) | Call::Rollback(_) => Err(Fault::new(
            Code::Invalid,
            "transactions need a connection of the wire protocol: send all changes at once",
        )),
        Call::Record(call) => writes::record(caller, &call.request, &call.answer),
        Call::GiveFeedback(call) => writes::feedback(caller, &call),
        Call::Ingest(call) => ingest::ingest(caller, *call.file, task),
        Call::ImportGraph(call) => graph::import(caller, *call.graph, task),
        Call::Finish(_) => maintenance::finish(caller, task),
        Call::SetSetting(call) => maintenance::set(store, &call.name, &call.value),
        Call::Analyse(_) => maintenance::analyse(store, task),
        Call::Compact(_) => maintenance::compact(store, task),
        Call::Check(call) => maintenance::check(store, call.deep, task),
        Call::Repair(_) => maintenance::repair(store),
        Call::Backup(call) => maintenance::backup(store, &call.name, task),
        Call::Export(_) => maintenance::export(store, task),
        Call::Refit(_) => maintenance::refit(store, task),
        Call::ConsolidateTypes(call) => maintenance::consolidate_types(store, call.stratified),
        Call::ForgetTypes(_) => maintenance::forget_types(store),
        Call::ForgetRecords(call) => maintenance::forget_records(store, call.before_ms),
        Call::Replay(call) => maintenance::replay(store, call.limit, call.set, task),
        Call::ListKeys(_) => maintenance::keys(store),
        Call::AddKey(call) => maintenance::add_key(store, call),
        Call::RevokeKey(call) => maintenance::revoke_key(store, &call.id),
    }
}

/// Whether the caller's key allows the call.
fn allow(caller: &Caller, call: &Call) -> Result<(), Fault> {
    let records = match call {
        Call::Search(call) => call.record,
        Call::Ask(call) => call.record,
        _ => false,
    };
    let needed = if records { Role::Write } else { call.role() };
    check_role(caller, needed)
}

/// Whether the caller's key has this role.
pub(crate) fn check_role(caller: &Caller, needed: Role) -> Result<(), Fault> {
    if caller.role >= needed {
        return Ok(());
    }
    let (has, needed) = (caller.role.name(), needed.name());
    Err(Fault::new(
        Code::Forbidden,
        format!("this needs a key with the role {needed}; this one has {has}"),
    ))
}

/// Refuses a call about the whole store to a caller that is bound to a user.
fn check_unrestricted(caller: &Caller) -> Result<(), Fault> {
    match caller.user {
        None => Ok(()),
        Some(_) => Err(Fault::new(
            Code::Forbidden,
            "this call is about the whole store, and the key is bound to a user: use a key that is not",
        )),
    }
}
