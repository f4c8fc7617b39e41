//! Calls that store: changes, recorded answers, feedback.

use loci_protocol::call::{Change, GiveFeedback, Outcome, Role};
use loci_protocol::fault::{Code, Fault};
use locidb::storage::{DocumentKey, EditId, ItemId, ResponseId};
use locidb::{Answer, Error, Expr, HitName, SearchRequest, WriteTransaction};

use super::request::of_user;
use super::{Caller, Given, fault_of};

/// Changes of one transaction at most.
const CHANGES_MAX: usize = 10_000;

/// What a writer may touch.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    role: Role,
    /// The user whose documents and items alone it may touch.
    user: Option<String>,
}

impl Writer {
    pub(super) fn of(caller: &Caller) -> Writer {
        Writer {
            role: caller.role,
            user: caller.user.clone(),
        }
    }

    /// Whether the user's things may be touched. Others are as if they were not there.
    fn owns(&self, user: &str) -> bool {
        self.user.as_deref().is_none_or(|own| own == user)
    }

    fn check_owns(&self, what: &str, user: &str) -> Result<(), Failed> {
        if self.owns(user) {
            return Ok(());
        }
        Err(Failed::Fault(Fault::new(
            Code::Forbidden,
            format!("the key is bound to another user than the {what} is of"),
        )))
    }

    fn check_whole(&self) -> Result<(), Failed> {
        if self.user.is_none() {
            return Ok(());
        }
        Err(Failed::Fault(Fault::new(
            Code::Forbidden,
            "concepts belong to the whole store, and the key is bound to a user",
        )))
    }

    /// Numbers of documents and items count those of all users.
    fn number(&self, number: u64) -> Outcome {
        match self.user {
            None => Outcome::Number(number),
            Some(_) => Outcome::Number(0),
        }
    }
}

/// Why a change was not made.
#[derive(Debug)]
pub(super) enum Failed {
    /// The library refused it.
    Error(Error),
    /// The caller may not make it.
    Fault(Fault),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Error(error)
    }
}

impl From<Failed> for Fault {
    fn from(failed: Failed) -> Fault {
        match failed {
            Failed::Error(error) => fault_of(error),
            Failed::Fault(fault) => fault,
        }
    }
}

/// Makes changes in one transaction.
pub(super) fn write(caller: &Caller, changes: Vec<Change>) -> Result<Given, Fault> {
    if changes.len() > CHANGES_MAX {
        let why = format!(
            "{} changes; at most {CHANGES_MAX} are made at once",
            changes.len()
        );
        return Err(Fault::new(Code::TooLarge, why));
    }
    let (writer, database) = (Writer::of(caller), caller.store.database()?);
    let written = database.write(move |tx| {
        let made = changes.into_iter().map(|change| apply(&writer, tx, change));
        match made.collect::<Result<Vec<Outcome>, Failed>>() {
            Ok(outcomes) => Ok(outcomes),
            Err(Failed::Error(error)) => Err(error),
            Err(Failed::Fault(fault)) => Err(carried(fault)),
        }
    });
    written.map(Given::Outcomes).map_err(uncarried)
}

/// A fault as an error of a writer, which comes back as it is.
pub(super) fn carried(fault: Fault) -> Error {
    locidb::storage::StoreError::Caller(Box::new(fault)).into()
}

/// The fault that an error carries, or is.
pub(super) fn uncarried(error: Error) -> Fault {
    match error {
        Error::Store(locidb::storage::StoreError::Caller(inner)) => match inner.downcast() {
            Ok(fault) => *fault,
            Err(inner) => super::faults::internal(&inner),
        },
        error => fault_of(error),
    }
}

/// Makes one change.
pub(super) fn apply(
    writer: &Writer,
    tx: &mut WriteTransaction<'_, '_>,
    change: Change,
) -> Result<Outcome, Failed> {
    let outcome = match change {
        Change::PutDocument(document) => {
            writer.check_owns("document", &document.record.user)?;
            writer.number(tx.put_document(*document)?.0)
        }
        Change::DeleteDocument(key) => {
            if writer.owns(&key.user) {
                Outcome::Was(tx.delete_document(&key)?)
            } else {
                Outcome::Was(false)
            }
        }
        Change::ReadDocument(key) => {
            let found = tx.document(&key)?;
            let found = found.filter(|(_, record)| writer.owns(&record.user));
            let number = |id: u64| if writer.user.is_none() { id } else { 0 };
            Outcome::Document(found.map(|(id, record)| (number(id.0), record)))
        }
        Change::PatchDocument(key, record) => {
            if writer.owns(&key.user) {
                Outcome::Was(tx.patch_document(&key, |of| *of = *record)?)
            } else {
                Outcome::Was(false)
            }
        }
        Change::ReadChunk(key) => {
            if writer.owns(&key.document.user) {
                Outcome::Chunk(tx.chunk(&key)?)
            } else {
                Outcome::Chunk(None)
            }
        }
        Change::PatchChunk(key, record) => {
            if writer.owns(&key.document.user) {
                Outcome::Was(tx.patch_chunk(&key, |of| *of = *record)?)
            } else {
                Outcome::Was(false)
            }
        }
        Change::SetGraph(key, concepts, relations) => {
            if writer.owns(&key.user) {
                Outcome::Was(tx.set_graph(&key, concepts, relations)?)
            } else {
                Outcome::Was(false)
            }
        }
        Change::SetCitations(key, references, citations, claims) => {
            if writer.owns(&key.user) {
                Outcome::Was(tx.set_citations(&key, references, citations, claims)?)
            } else {
                Outcome::Was(false)
            }
        }
        Change::MergeConcepts(from, into) => {
            writer.check_whole()?;
            Outcome::Number(tx.merge_concepts(&from, &into)?.0)
        }
        Change::SplitConcept(name, documents, into) => {
            writer.check_whole()?;
            Outcome::Number(tx.split_concept(&name, &documents, &into)?.0)
        }
        Change::UndoConceptEdit(id) => {
            writer.check_whole()?;
            Outcome::Was(tx.undo_concept_edit(EditId(id))?)
        }
        Change::PutItem(item) => {
            writer.check_owns("item", &item.owner)?;
            check_item(writer, tx, &item)?;
            // What an item is called is needed to change it.
            Outcome::Number(tx.put_item(*item)?.0)
        }
        Change::ReplaceItem(id, item) => {
            writer.check_owns("item", &item.owner)?;
            check_item(writer, tx, &item)?;
            if owns_item(writer, tx, id)? {
                Outcome::Was(tx.replace_item(id, *item)?)
            } else {
                Outcome::Was(false)
            }
        }
        Change::DeleteItem(id) => {
            if owns_item(writer, tx, id)? {
                Outcome::Was(tx.delete_item(id)?)
            } else {
                Outcome::Was(false)
            }
        }
        Change::Set(name, value) => {
            if writer.role < Role::Admin {
                let why = "settings are changed by a key with the role admin";
                return Err(Failed::Fault(Fault::new(Code::Forbidden, why)));
            }
            tx.set(&name, &value)?;
            Outcome::Done
        }
    };
    Ok(outcome)
}

/// Whether an item is there for the writer.
fn owns_item(writer: &Writer, tx: &WriteTransaction<'_, '_>, id: ItemId) -> Result<bool, Failed> {
    let item = tx.item(id)?;
    Ok(item.is_some_and(|item| writer.owns(&item.owner)))
}

/// An item of a bound writer is about its own chunks, and stands for its own items: others are not there.
fn check_item(
    writer: &Writer,
    tx: &WriteTransaction<'_, '_>,
    item: &locidb::NewItem,
) -> Result<(), Failed> {
    if let Some(chunk) = item
        .chunk
        .as_ref()
        .filter(|chunk| !writer.owns(&chunk.document.user))
    {
        return Err(Error::NotFound(chunk.to_string()).into());
    }
    if let Some(other) = item.merged_into
        && !owns_item(writer, tx, other)?
    {
        return Err(Error::NotFound(format!("item {}", other.0)).into());
    }
    Ok(())
}

/// Keeps an answer that the server gave; what it is called.
pub(super) fn keep(
    caller: &Caller,
    request: &SearchRequest,
    answer: &Answer,
) -> Result<u64, Fault> {
    let database = caller.store.database()?;
    Ok(database.record(request, answer).map_err(fault_of)?.0)
}

/// Keeps an answer that the caller brings.
pub(super) fn record(
    caller: &Caller,
    request: &SearchRequest,
    answer: &Answer,
) -> Result<Given, Fault> {
    if caller.user.is_some() {
        let why =
            "a key that is bound to a user records answers as they are given: ask with record";
        return Err(Fault::new(Code::Forbidden, why));
    }
    keep(caller, request, answer).map(Given::Number)
}

pub(super) fn feedback(caller: &Caller, call: &GiveFeedback) -> Result<Given, Fault> {
    let hit: HitName = call.hit.parse().map_err(|_| {
        let why = format!("{:?}: give a rank, or a chunk's key", call.hit);
        Fault::new(Code::Invalid, why)
    })?;
    let database = caller.store.database()?;
    let response = ResponseId(call.response);
    if let Some(user) = &caller.user {
        let record = database.view().record(response).map_err(fault_of)?;
        let filter =
            record.and_then(|record| record.options.get("filter")?.as_str().map(str::to_owned));
        if !filter.is_some_and(|filter| is_of(user, &filter)) {
            let why = format!("there is no recorded answer {}", call.response);
            return Err(Fault::new(Code::NotFound, why));
        }
    }
    let given = database.feedback(response, hit, call.feedback);
    given.map(|()| Given::Nothing).map_err(fault_of)
}

/// Whether a question with this filter was asked by a key that is bound to `user`.
fn is_of(user: &str, filter: &str) -> bool {
    let own = of_user(user);
    match Expr::parse(filter) {
        Ok(Expr::And(parts)) => parts.first() == Some(&own),
        Ok(expr) => expr == own,
        Err(_) => false,
    }
}

/// The keys that a bound caller may give its documents: its own user's.
pub(super) fn key_of(caller: &Caller, key: DocumentKey) -> Result<DocumentKey, Fault> {
    match &caller.user {
        Some(user) if *user != key.user => {
            let why = format!("the key is bound to the user {user:?}: give that user, or none");
            Err(Fault::new(Code::Forbidden, why))
        }
        _ => Ok(key),
    }
}
