//! Calls that look: searches, documents, concepts, citations, records, items.

use loci_protocol::call::{GetPath, ListDocuments, ListItems, ListWorks, Role};
use loci_protocol::fault::{Code, Fault};
use loci_views::citations::WorkFilter;
use loci_views::communities::CommunityResult;
use loci_views::concepts::PathResult;
use loci_views::documents::{DocumentFilter, StoreStats};
use loci_views::items::ItemFilter;
use loci_views::{InterruptibleRows, Reader};
use locidb::storage::{ChunkKey, DocumentKey, ResponseId};
use locidb::{Answer, Error, SearchRequest};
use serde_json::json;

use super::request::prepare;
use super::traces::with_explain;
use super::writes::fault_from_error;
use super::{CallOutput, Caller, StreamItem, Task, check_unrestricted, fault_of, writes};

/// Rows of a page at most.
const PAGE_MAX: u32 = 1_000;
/// Chunks to each side of one that may be asked for.
const CONTEXT_MAX: u32 = 10;
/// Bytes of a part of a file.
const PART_LEN: usize = 64 << 10;

pub(super) fn search(
    caller: &Caller,
    request: SearchRequest,
    record: bool,
) -> Result<CallOutput, Fault> {
    let database = caller.store.database()?;
    let request = prepare(caller, request)?;
    let answer = with_explain(&request, |request| database.search(request)).map_err(fault_of)?;
    answer_output(caller, &request, answer, record)
}

pub(super) fn ask(
    caller: &Caller,
    request: SearchRequest,
    record: bool,
) -> Result<CallOutput, Fault> {
    let database = caller.store.database()?;
    let request = prepare(caller, request)?;
    let answer = with_explain(&request, |request| database.ask(request)).map_err(fault_of)?;
    answer_output(caller, &request, answer, record)
}

fn answer_output(
    caller: &Caller,
    request: &SearchRequest,
    mut answer: Answer,
    record: bool,
) -> Result<CallOutput, Fault> {
    if record {
        answer.response = Some(writes::record_answer(caller, request, &answer)?);
    }
    if caller.user.is_some() {
        // It counts what all users changed.
        answer.snapshot = 0;
    }
    Ok(CallOutput::Answer(Box::new(answer)))
}

pub(super) fn prompt(caller: &Caller, request: SearchRequest) -> Result<CallOutput, Fault> {
    let database = caller.store.database()?;
    let request = prepare(caller, request)?;
    let prompt = database.prompt(&request).map_err(fault_of)?;
    Ok(CallOutput::Prompt(Box::new(prompt)))
}

/// The settings. Where a model lies on the server's machine is for an admin to know; others are told its name.
pub(super) fn settings(caller: &Caller) -> Result<CallOutput, Fault> {
    let mut settings = caller.store.settings()?;
    if caller.role < Role::Admin {
        let name = settings.model.rsplit(['/', '\\']).next();
        settings.model = name.unwrap_or_default().to_owned();
    }
    Ok(CallOutput::view(settings.to_map()))
}

/// Figures of the store; for a caller that is bound to a user, how much of it is there for that user.
pub(super) fn stats(caller: &Caller, task: Task<'_>) -> Result<CallOutput, Fault> {
    if caller.user.is_none() {
        let stats = Box::new(caller.store.database()?.stats());
        return Ok(CallOutput::view(StoreStats::Whole(stats)));
    }
    let (documents, chunks) = with_reader(caller, task, |reader| reader.count_visible())?;
    Ok(CallOutput::view(StoreStats::Visible { chunks, documents }))
}

/// Looks at the newest state as the caller may see it, until the task is to end.
fn with_reader<T>(
    caller: &Caller,
    task: Task<'_>,
    look: impl FnOnce(Reader<'_>) -> Result<T, Error>,
) -> Result<T, Fault> {
    let view = caller.store.database()?.snapshot();
    let ask = || task.check();
    let rows = InterruptibleRows::new(view.snapshot().rows(), &ask);
    look(Reader::for_user(&view, &rows, caller.user.as_deref())).map_err(fault_from_error)
}

fn not_found(what: &str, name: &str) -> Fault {
    Fault::new(Code::NotFound, format!("there is no {what} {name:?}"))
}

/// A page's limit, which must be one.
fn limit(requested: u32) -> Result<usize, Fault> {
    if !(1..=PAGE_MAX).contains(&requested) {
        let why = format!("limit: {requested} is not between 1 and {PAGE_MAX}");
        return Err(Fault::new(Code::Invalid, why));
    }
    Ok(requested as usize)
}

pub(super) fn documents(
    caller: &Caller,
    call: &ListDocuments,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    let listed = DocumentFilter {
        collection: call.collection.as_deref(),
        user: call.user.as_deref(),
        after: call.after.as_deref(),
        limit: limit(call.limit)?,
    };
    Ok(CallOutput::view(with_reader(caller, task, |reader| {
        reader.documents(listed)
    })?))
}

pub(super) fn document(
    caller: &Caller,
    key: &DocumentKey,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    let found = with_reader(caller, task, |reader| reader.show_document(key))?;
    let mut found = found.ok_or_else(|| not_found("document", &key.to_string()))?;
    // Texts are no part of its JSON.
    found.records = Vec::new();
    Ok(CallOutput::view(found))
}

pub(super) fn chunk(
    caller: &Caller,
    key: &ChunkKey,
    context: u32,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    if context > CONTEXT_MAX {
        let why = format!("context: {context} is more than {CONTEXT_MAX}");
        return Err(Fault::new(Code::Invalid, why));
    }
    let found = with_reader(caller, task, |reader| {
        reader.show_chunk(key, context as usize)
    })?;
    let found = found.ok_or_else(|| not_found("chunk", &key.to_string()))?;
    Ok(CallOutput::view(found))
}

/// Sends bytes in parts.
fn send(bytes: &[u8], task: Task<'_>) -> Result<CallOutput, Fault> {
    let _room = task.files.acquire(bytes.len())?;
    for part in bytes.chunks(PART_LEN) {
        task.check()?;
        if (task.emit)(StreamItem::Bytes(part.to_vec())).is_break() {
            return Err(task.ended());
        }
    }
    Ok(CallOutput::Empty)
}

pub(super) fn original(
    caller: &Caller,
    key: &DocumentKey,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    let found = with_reader(caller, task, |reader| reader.original(key))?;
    let found = found.ok_or_else(|| not_found("document", &key.to_string()))?;
    send(&found, task)
}

pub(super) fn text(
    caller: &Caller,
    key: &DocumentKey,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    let found = with_reader(caller, task, |reader| reader.text(key))?;
    let found = found.ok_or_else(|| not_found("document", &key.to_string()))?;
    send(found.as_bytes(), task)
}

pub(super) fn asset(
    caller: &Caller,
    key: &DocumentKey,
    name: &str,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    let found = with_reader(caller, task, |reader| reader.asset(key, name))?;
    let found = found.ok_or_else(|| not_found("file", &format!("{key}, {name}")))?;
    send(&found, task)
}

pub(super) fn concept(caller: &Caller, name: &str, task: Task<'_>) -> Result<CallOutput, Fault> {
    let found = with_reader(caller, task, |reader| reader.concept(name))?;
    Ok(CallOutput::view(
        found.ok_or_else(|| not_found("concept", name))?,
    ))
}

pub(super) fn concepts(
    caller: &Caller,
    prefix: &str,
    requested_limit: u32,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    let limit = limit(requested_limit)?;
    let concepts = with_reader(caller, task, |reader| reader.concepts(prefix, limit))?;
    Ok(CallOutput::view(concepts))
}

pub(super) fn path(caller: &Caller, call: &GetPath, task: Task<'_>) -> Result<CallOutput, Fault> {
    let result = with_reader(caller, task, |reader| {
        reader.path(&call.from, &call.to, &call.along)
    })?;
    let none = |why: String| Err(Fault::new(Code::NotFound, why));
    let (from, to) = (&call.from, &call.to);
    match result {
        PathResult::Found(path) => Ok(CallOutput::view(path)),
        PathResult::UnknownConcept(name) => Err(not_found("concept", &name)),
        PathResult::NotConnected => none(format!("no relations lead from {from:?} to {to:?}")),
        PathResult::LimitReached(visited) => none(format!(
            "no way from {from:?} to {to:?} among {visited} concepts"
        )),
    }
}

pub(super) fn citations(caller: &Caller, of: &str, task: Task<'_>) -> Result<CallOutput, Fault> {
    let found = with_reader(caller, task, |reader| reader.network(of))?;
    Ok(CallOutput::view(
        found.ok_or_else(|| not_found("document or cited work", of))?,
    ))
}

pub(super) fn works(
    caller: &Caller,
    call: &ListWorks,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    check_unrestricted(caller)?;
    let filter = WorkFilter {
        author: call.author.as_deref(),
        year: call.year,
        stubs: call.stubs,
        limit: limit(call.limit)?,
    };
    let works = with_reader(caller, task, |reader| reader.works(filter))?;
    Ok(CallOutput::view(json!({ "works": works })))
}

pub(super) fn communities(
    caller: &Caller,
    level: Option<u32>,
    of: Option<&str>,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    check_unrestricted(caller)?;
    let level = level.map(|level| level as usize);
    let unwritten = |why: &str| {
        let why = format!("{why}: an admin's call of Analyse makes them");
        Err(Fault::new(Code::NotFound, why))
    };
    match with_reader(caller, task, |reader| reader.communities(level, of))? {
        CommunityResult::Communities(communities) => {
            Ok(CallOutput::view(json!({ "communities": communities })))
        }
        CommunityResult::UnknownConcept(name) => Err(not_found("concept", &name)),
        CommunityResult::NotAnalysed => unwritten("there are no communities yet"),
        CommunityResult::DigestsMissing => unwritten("the digests of communities are not written"),
    }
}

pub(super) fn types(caller: &Caller, task: Task<'_>) -> Result<CallOutput, Fault> {
    check_unrestricted(caller)?;
    let types = with_reader(caller, task, |reader| reader.types())?;
    Ok(CallOutput::view(json!({ "types": types })))
}

pub(super) fn records(
    caller: &Caller,
    response: Option<u64>,
    requested_limit: u32,
) -> Result<CallOutput, Fault> {
    check_unrestricted(caller)?;
    let limit = limit(requested_limit)?;
    let view = caller.store.database()?.snapshot();
    let records = match response {
        Some(response) => {
            let record = view.record(ResponseId(response)).map_err(fault_of)?;
            let none = || not_found("recorded answer", &response.to_string());
            vec![record.ok_or_else(none)?]
        }
        None => view.records(limit).map_err(fault_of)?,
    };
    Ok(CallOutput::view(json!({ "records": records })))
}

pub(super) fn items(
    caller: &Caller,
    call: &ListItems,
    task: Task<'_>,
) -> Result<CallOutput, Fault> {
    let filter = ItemFilter {
        owner: call.owner.as_deref(),
        document: call.document.as_ref(),
        due_ms: call.due_ms,
        after: call.after,
        limit: limit(call.limit)?,
    };
    Ok(CallOutput::view(with_reader(caller, task, |reader| {
        reader.items(filter)
    })?))
}

pub(super) fn item_stats(caller: &Caller) -> Result<CallOutput, Fault> {
    check_unrestricted(caller)?;
    let view = caller.store.database()?.snapshot();
    Ok(CallOutput::view(view.item_stats().map_err(fault_of)?))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    use locidb::storage::records::{ChunkRecord, DocumentRecord};
    use locidb::{Database, NewChunk, NewCitation, NewConcept, NewDocument, NewItem, NewReference};

    use super::super::{FileMemory, StoreLocation, Stores, StoresOptions};
    use super::*;

    /// More rows of each kind than are read before it is asked again.
    const ROWS: u32 = 300;

    fn document(key: &str) -> NewDocument {
        NewDocument {
            record: DocumentRecord {
                key: key.into(),
                ..DocumentRecord::default()
            },
            original: b"heron".to_vec(),
            chunks: vec![NewChunk {
                record: ChunkRecord {
                    text: "heron".into(),
                    ..ChunkRecord::default()
                },
                vector: None,
            }],
            ..NewDocument::default()
        }
    }

    /// A document that cites many works and speaks of many concepts.
    fn large() -> NewDocument {
        let reference = |number| NewReference {
            text: format!("Heron {number}"),
            title: Some(format!("The collected papers on the heron, part {number}")),
            ..NewReference::default()
        };
        let citation = |reference| NewCitation {
            reference,
            ..NewCitation::default()
        };
        let concept = |number| NewConcept {
            name: format!("heron {number}"),
            mentions: vec![(0, 1)],
            ..NewConcept::default()
        };
        NewDocument {
            references: (0..ROWS).map(reference).collect(),
            citations: (0..ROWS).map(citation).collect(),
            concepts: (0..ROWS).map(concept).collect(),
            ..document("large")
        }
    }

    /// A caller of a store with many rows.
    fn caller(folder: &std::path::Path) -> Caller {
        let database = Database::open(folder).unwrap();
        database
            .write(|tx| {
                tx.put_document(large())?;
                for number in 0..ROWS {
                    tx.put_document(document(&number.to_string()))?;
                    tx.put_item(NewItem::default())?;
                }
                Ok(())
            })
            .unwrap();
        database.close();
        let options = StoresOptions {
            without_keys: true,
            ..StoresOptions::default()
        };
        let stores = Stores::new(StoreLocation::Single(folder.to_path_buf()), options).unwrap();
        stores.authenticate("", "").unwrap()
    }

    #[test]
    fn reads_of_many_rows_stop_when_the_call_is_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let caller = caller(folder.path());
        let emit = |_| ControlFlow::Continue(());
        let listed = ListDocuments {
            collection: None,
            user: None,
            after: None,
            limit: PAGE_MAX,
        };
        let by_somebody = ListWorks {
            author: Some("Somebody".into()),
            year: None,
            stubs: false,
            limit: PAGE_MAX,
        };
        let of_all = ListItems {
            owner: None,
            document: None,
            due_ms: None,
            after: None,
            limit: PAGE_MAX,
        };
        type Look<'l> = &'l dyn Fn(Task<'_>) -> Result<CallOutput, Fault>;
        let looks: [(&str, Look<'_>); 6] = [
            ("documents", &|task| documents(&caller, &listed, task)),
            ("works", &|task| works(&caller, &by_somebody, task)),
            ("items", &|task| items(&caller, &of_all, task)),
            ("concepts", &|task| concepts(&caller, "stork", 10, task)),
            ("types", &|task| types(&caller, task)),
            ("citations", &|task| citations(&caller, "large", task)),
        ];
        let files = FileMemory::default();
        let (is_wanted, is_cancelled) = (AtomicBool::new(false), AtomicBool::new(true));
        let task = |cancelled, deadline| Task {
            deadline,
            cancelled,
            emit: &emit,
            files: &files,
        };
        for (name, look) in looks {
            assert!(look(task(&is_wanted, None)).is_ok(), "{name}");
            let cancelled = look(task(&is_cancelled, None)).unwrap_err();
            assert_eq!(cancelled.code, Code::Cancelled, "{name}");
            let late = look(task(&is_wanted, Some(Instant::now()))).unwrap_err();
            assert_eq!(late.code, Code::Deadline, "{name}");
        }
    }
}
