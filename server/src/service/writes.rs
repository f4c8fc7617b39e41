//! Calls that store: changes, recorded answers, feedback.

use loci_protocol::call::{Change, GiveFeedback, Outcome, Role};
use loci_protocol::fault::{Code, Fault};
use locidb::storage::{ConceptEditId, DocumentKey, ItemId, ResponseId};
use locidb::{Answer, Error, Expr, HitRef, SearchRequest, WriteTransaction};

use super::request::user_filter;
use super::{CallOutput, Caller, fault_of};

/// Changes of one transaction at most.
const CHANGES_MAX: usize = 10_000;

/// What a writer may touch.
#[derive(Clone, Debug)]
pub(super) struct WriteScope {
    role: Role,
    /// The user whose documents and items alone it may touch.
    user: Option<String>,
}

impl WriteScope {
    pub(super) fn from_caller(caller: &Caller) -> WriteScope {
        WriteScope {
            role: caller.role,
            user: caller.user.clone(),
        }
    }

    /// Whether the user's things may be touched. Others are as if they were not there.
    fn owns(&self, user: &str) -> bool {
        self.user.as_deref().is_none_or(|own| own == user)
    }

    fn check_owns(&self, what: &str, user: &str) -> Result<(), ChangeError> {
        if self.owns(user) {
            return Ok(());
        }
        Err(ChangeError::Fault(Fault::new(
            Code::Forbidden,
            format!("the key is bound to another user than the {what} is of"),
        )))
    }

    fn check_unrestricted(&self) -> Result<(), ChangeError> {
        if self.user.is_none() {
            return Ok(());
        }
        Err(ChangeError::Fault(Fault::new(
            Code::Forbidden,
            "concepts belong to the whole store, and the key is bound to a user",
        )))
    }

    /// Numbers of documents and items count those of all users.
    fn visible_number(&self, number: u64) -> Outcome {
        match self.user {
            None => Outcome::Number(number),
            Some(_) => Outcome::Number(0),
        }
    }
}

/// Why a change was not made.
#[derive(Debug)]
pub(super) enum ChangeError {
    /// The library refused it.
    Error(Error),
    /// The caller may not make it.
    Fault(Fault),
}

impl From<Error> for ChangeError {
    fn from(error: Error) -> ChangeError {
        ChangeError::Error(error)
    }
}

impl From<ChangeError> for Fault {
    fn from(failed: ChangeError) -> Fault {
        match failed {
            ChangeError::Error(error) => fault_of(error),
            ChangeError::Fault(fault) => fault,
        }
    }
}

/// Makes changes in one transaction.
pub(super) fn write(caller: &Caller, changes: Vec<Change>) -> Result<CallOutput, Fault> {
    if changes.len() > CHANGES_MAX {
        let why = format!(
            "{} changes; at most {CHANGES_MAX} are made at once",
            changes.len()
        );
        return Err(Fault::new(Code::TooLarge, why));
    }
    let (writer, database) = (WriteScope::from_caller(caller), caller.store.database()?);
    let written = database.write(move |tx| {
        let applied = changes.into_iter().map(|change| apply(&writer, tx, change));
        match applied.collect::<Result<Vec<Outcome>, ChangeError>>() {
            Ok(outcomes) => Ok(outcomes),
            Err(ChangeError::Error(error)) => Err(error),
            Err(ChangeError::Fault(fault)) => Err(error_from_fault(fault)),
        }
    });
    written.map(CallOutput::Outcomes).map_err(fault_from_error)
}

/// A fault as an error of a writer, which comes back as it is.
pub(super) fn error_from_fault(fault: Fault) -> Error {
    locidb::storage::StoreError::Caller(Box::new(fault)).into()
}

/// The fault that an error carries, or is.
pub(super) fn fault_from_error(error: Error) -> Fault {
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
    writer: &WriteScope,
    tx: &mut WriteTransaction<'_, '_>,
    change: Change,
) -> Result<Outcome, ChangeError> {
    let outcome = match change {
        Change::PutDocument(document) => {
            writer.check_owns("document", &document.record.user)?;
            writer.visible_number(tx.put_document(*document)?.0)
        }
        Change::DeleteDocument(key) => {
            if writer.owns(&key.user) {
                Outcome::Existed(tx.delete_document(&key)?)
            } else {
                Outcome::Existed(false)
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
                Outcome::Existed(tx.patch_document(&key, |of| *of = *record)?)
            } else {
                Outcome::Existed(false)
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
                Outcome::Existed(tx.patch_chunk(&key, |of| *of = *record)?)
            } else {
                Outcome::Existed(false)
            }
        }
        Change::SetGraph(key, concepts, relations) => {
            if writer.owns(&key.user) {
                Outcome::Existed(tx.set_graph(&key, concepts, relations)?)
            } else {
                Outcome::Existed(false)
            }
        }
        Change::SetCitations(key, references, citations, claims) => {
            if writer.owns(&key.user) {
                Outcome::Existed(tx.set_citations(&key, references, citations, claims)?)
            } else {
                Outcome::Existed(false)
            }
        }
        Change::MergeConcepts(from, into) => {
            writer.check_unrestricted()?;
            Outcome::Number(tx.merge_concepts(&from, &into)?.0)
        }
        Change::SplitConcept(name, documents, into) => {
            writer.check_unrestricted()?;
            Outcome::Number(tx.split_concept(&name, &documents, &into)?.0)
        }
        Change::UndoConceptEdit(id) => {
            writer.check_unrestricted()?;
            Outcome::Existed(tx.undo_concept_edit(ConceptEditId(id))?)
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
                Outcome::Existed(tx.replace_item(id, *item)?)
            } else {
                Outcome::Existed(false)
            }
        }
        Change::DeleteItem(id) => {
            if owns_item(writer, tx, id)? {
                Outcome::Existed(tx.delete_item(id)?)
            } else {
                Outcome::Existed(false)
            }
        }
        Change::Set(name, value) => {
            if writer.role < Role::Admin {
                let why = "settings are changed by a key with the role admin";
                return Err(ChangeError::Fault(Fault::new(Code::Forbidden, why)));
            }
            tx.set(&name, &value)?;
            Outcome::Done
        }
    };
    Ok(outcome)
}

/// Whether an item is there for the writer.
fn owns_item(
    writer: &WriteScope,
    tx: &WriteTransaction<'_, '_>,
    id: ItemId,
) -> Result<bool, ChangeError> {
    let item = tx.item(id)?;
    Ok(item.is_some_and(|item| writer.owns(&item.owner)))
}

/// An item of a bound writer is about its own chunks, and stands for its own items: others are not there.
fn check_item(
    writer: &WriteScope,
    tx: &WriteTransaction<'_, '_>,
    item: &locidb::NewItem,
) -> Result<(), ChangeError> {
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
pub(super) fn record_answer(
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
) -> Result<CallOutput, Fault> {
    if caller.user.is_some() {
        let why =
            "a key that is bound to a user records answers as they are given: ask with record";
        return Err(Fault::new(Code::Forbidden, why));
    }
    record_answer(caller, request, answer).map(CallOutput::Number)
}

pub(super) fn feedback(caller: &Caller, call: &GiveFeedback) -> Result<CallOutput, Fault> {
    let hit: HitRef = call.hit.parse().map_err(|_| {
        let why = format!("{:?}: give a rank, or a chunk's key", call.hit);
        Fault::new(Code::Invalid, why)
    })?;
    let database = caller.store.database()?;
    let response = ResponseId(call.response);
    if let Some(user) = &caller.user {
        let record = database.snapshot().record(response).map_err(fault_of)?;
        let filter =
            record.and_then(|record| record.options.get("filter")?.as_str().map(str::to_owned));
        if !filter.is_some_and(|filter| is_filter_of_user(user, &filter)) {
            let why = format!("there is no recorded answer {}", call.response);
            return Err(Fault::new(Code::NotFound, why));
        }
    }
    let result = database.feedback(response, hit, call.feedback);
    result.map(|()| CallOutput::Empty).map_err(fault_of)
}

/// Whether a question with this filter was asked by a key that is bound to `user`.
fn is_filter_of_user(user: &str, filter: &str) -> bool {
    let own = user_filter(user);
    match Expr::parse(filter) {
        Ok(Expr::And(parts)) => parts.first() == Some(&own),
        Ok(expr) => expr == own,
        Err(_) => false,
    }
}

/// The keys that a bound caller may give its documents: its own user's.
pub(super) fn check_document_key(caller: &Caller, key: DocumentKey) -> Result<DocumentKey, Fault> {
    match &caller.user {
        Some(user) if *user != key.user => {
            let why = format!("the key is bound to the user {user:?}: give that user, or none");
            Err(Fault::new(Code::Forbidden, why))
        }
        _ => Ok(key),
    }
}
