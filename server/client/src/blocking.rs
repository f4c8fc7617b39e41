//! A client that blocks, with the calls of an embedded database.
//!
//! Start reading at [`Client`].

use std::sync::{Arc, OnceLock};

use loci_protocol::call::{Change, Method, Outcome, Progress};
use loci_types::answer::{Answer, HitRef, Prompt};
use loci_types::document::{
    NewCitation, NewClaim, NewConcept, NewDocument, NewItem, NewReference, NewRelation,
};
use loci_types::ids::{ConceptEditId, DocumentId, ItemId, ResponseId};
use loci_types::keys::{ChunkKey, DocumentKey};
use loci_types::records::{ChunkRecord, DocumentRecord, Feedback};
use loci_types::search::SearchRequest;
use loci_types::settings::Settings;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::address::Address;
use crate::connection::Session;
use crate::error::ClientError;
use crate::pool::{AsyncClient, AsyncTransaction, ClientOptions};

/// A client of a server that blocks until each call is done. Share it between threads behind an `Arc`, or clone it. Not
/// for use from async code: there is [`AsyncClient`].
#[derive(Clone, Debug)]
pub struct Client {
    client: AsyncClient,
    runtime: Arc<Runtime>,
}

/// One thread that looks after the connections of all blocking clients.
fn runtime() -> Result<Arc<Runtime>, ClientError> {
    static RUNTIME: OnceLock<Arc<Runtime>> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(Arc::clone(runtime));
    }
    let built = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("loci-client")
        .enable_all()
        .build()
        .map_err(ClientError::io("starting the client's thread"))?;
    Ok(Arc::clone(RUNTIME.get_or_init(|| Arc::new(built))))
}

impl Client {
    /// Connects to the server at `address`: `loci://KEY@HOST:PORT/STORE`, see [`Address`].
    ///
    /// # Errors
    /// [`ClientError::Address`]; [`Code::Unauthorized`](crate::Code::Unauthorized) for a wrong key.
    pub fn connect(address: &str) -> Result<Client, ClientError> {
        Self::connect_with(address.parse()?, ClientOptions::default())
    }

    /// Connects as `options` say.
    ///
    /// # Errors
    /// As [`Client::connect`]; [`ClientError::Tls`] for authorities that cannot be read.
    pub fn connect_with(address: Address, options: ClientOptions) -> Result<Client, ClientError> {
        let runtime = runtime()?;
        let client = runtime.block_on(AsyncClient::connect_with(address, options))?;
        Ok(Client { client, runtime })
    }

    /// The same client for async code.
    pub fn to_async(&self) -> AsyncClient {
        self.client.clone()
    }

    /// What the server said of this client: its store, role and limits.
    ///
    /// # Errors
    /// When there is no connection and none can be made.
    pub fn session(&self) -> Result<Session, ClientError> {
        self.runtime.block_on(self.client.session())
    }

    /// Makes any call of the protocol; see [`call`](crate::call).
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn call<M: Method + Sync>(&self, method: &M) -> Result<M::Last, ClientError> {
        self.runtime.block_on(self.client.call(method))
    }

    /// As [`Client::call`]; `each` is given what comes before the last reply.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn call_each<M: Method + Sync>(
        &self,
        method: &M,
        mut each: impl FnMut(M::Each) + Send,
    ) -> Result<M::Last, ClientError> {
        self.runtime
            .block_on(self.client.call_each(method, &mut each))
    }

    /// As `Database::search`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn search(&self, request: &SearchRequest) -> Result<Answer, ClientError> {
        self.runtime.block_on(self.client.search(request))
    }

    /// As `Database::ask`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn ask(&self, request: &SearchRequest) -> Result<Answer, ClientError> {
        self.runtime.block_on(self.client.ask(request))
    }

    /// As `Database::prompt`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn prompt(&self, request: &SearchRequest) -> Result<Prompt, ClientError> {
        self.runtime.block_on(self.client.prompt(request))
    }

    /// As `Database::settings`.
    ///
    /// # Errors
    /// As [`Client::call`]; [`ClientError::Protocol`] for settings of another release.
    pub fn settings(&self) -> Result<Settings, ClientError> {
        let settings = self.runtime.block_on(self.client.settings())?;
        serde_json::from_value(settings).map_err(|error| ClientError::Protocol(error.to_string()))
    }

    /// As `Database::set`; needs a key of an admin.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn set(&self, name: &str, value: &str) -> Result<(), ClientError> {
        self.runtime.block_on(self.client.set(name, value))
    }

    /// Figures of the store, as `loci stats --json` prints them.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn stats(&self) -> Result<Value, ClientError> {
        self.runtime.block_on(self.client.stats())
    }

    /// As `Database::record`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn record(
        &self,
        request: &SearchRequest,
        answer: &Answer,
    ) -> Result<ResponseId, ClientError> {
        let response = self.runtime.block_on(self.client.record(request, answer));
        response.map(ResponseId)
    }

    /// As `Database::feedback`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn feedback(
        &self,
        response: ResponseId,
        hit: HitRef,
        feedback: Feedback,
    ) -> Result<(), ClientError> {
        let hit = match hit {
            HitRef::Rank(rank) => rank.to_string(),
            HitRef::Chunk(chunk) => chunk.to_string(),
        };
        self.runtime
            .block_on(self.client.feedback(response.0, &hit, feedback))
    }

    /// As `Database::finish`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn finish(&self, mut progress: impl FnMut(Progress) + Send) -> Result<(), ClientError> {
        self.runtime.block_on(self.client.finish(&mut progress))
    }

    /// As `Database::analyse`; needs a key of an admin.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn analyse(&self, mut progress: impl FnMut(Progress) + Send) -> Result<Value, ClientError> {
        self.runtime.block_on(self.client.analyse(&mut progress))
    }

    /// Makes changes in one transaction: all or nothing, durable when it returns.
    ///
    /// # Errors
    /// As [`Client::call`]. When the connection breaks, the changes may have been made.
    pub fn apply(&self, changes: Vec<Change>) -> Result<Vec<Outcome>, ClientError> {
        self.runtime.block_on(self.client.apply(changes))
    }

    /// As `Database::write`: `work` runs here, and each of its steps goes to the server and
    /// back. Other writers of the store wait meanwhile, 60 seconds at most; where the changes are known beforehand,
    /// [`Client::apply`] takes one round trip.
    ///
    /// # Errors
    /// What `work` returns, and as [`Client::call`]. When the connection breaks at the end, the changes may have been
    /// made.
    pub fn write<R>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R, ClientError>,
    ) -> Result<R, ClientError> {
        let mut transaction = Transaction {
            open: self.runtime.block_on(self.client.begin())?,
            runtime: &self.runtime,
        };
        let output = work(&mut transaction)?;
        self.runtime.block_on(transaction.open.commit())?;
        Ok(output)
    }
}

/// A write in progress, with the calls of an embedded one: `WriteTransaction`.
#[derive(Debug)]
pub struct Transaction<'c> {
    open: AsyncTransaction,
    runtime: &'c Runtime,
}

impl Transaction<'_> {
    fn step(&mut self, change: Change) -> Result<Outcome, ClientError> {
        self.runtime.block_on(self.open.step(change))
    }

    fn existed(&mut self, change: Change) -> Result<bool, ClientError> {
        match self.step(change)? {
            Outcome::Existed(there) => Ok(there),
            other => Err(unexpected(&other)),
        }
    }

    fn number(&mut self, change: Change) -> Result<u64, ClientError> {
        match self.step(change)? {
            Outcome::Number(number) => Ok(number),
            other => Err(unexpected(&other)),
        }
    }

    /// Stores a document whole. Its number is 0 where the key is bound to a user.
    ///
    /// # Errors
    /// [`ClientError::Fault`] says which rule the document breaks.
    pub fn put_document(&mut self, document: NewDocument) -> Result<DocumentId, ClientError> {
        self.number(Change::PutDocument(Box::new(document)))
            .map(DocumentId)
    }

    /// Deletes a document; `false` when there is none.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn delete_document(&mut self, key: &DocumentKey) -> Result<bool, ClientError> {
        self.existed(Change::DeleteDocument(key.clone()))
    }

    /// A document, as this writer sees it.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn document(
        &mut self,
        key: &DocumentKey,
    ) -> Result<Option<(DocumentId, DocumentRecord)>, ClientError> {
        match self.step(Change::ReadDocument(key.clone()))? {
            Outcome::Document(found) => Ok(found.map(|(id, record)| (DocumentId(id), record))),
            other => Err(unexpected(&other)),
        }
    }

    /// The id of a document, as this writer sees it.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn document_id(&mut self, key: &DocumentKey) -> Result<Option<DocumentId>, ClientError> {
        Ok(self.document(key)?.map(|(id, _)| id))
    }

    /// Changes what is known of a document besides its text; `false` when there is none.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn patch_document(
        &mut self,
        key: &DocumentKey,
        patch: impl FnOnce(&mut DocumentRecord),
    ) -> Result<bool, ClientError> {
        let Some((_, mut record)) = self.document(key)? else {
            return Ok(false);
        };
        patch(&mut record);
        self.existed(Change::PatchDocument(key.clone(), Box::new(record)))
    }

    /// A chunk, as this writer sees it.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn chunk(&mut self, key: &ChunkKey) -> Result<Option<ChunkRecord>, ClientError> {
        match self.step(Change::ReadChunk(key.clone()))? {
            Outcome::Chunk(found) => Ok(found),
            other => Err(unexpected(&other)),
        }
    }

    /// Changes what is known of a chunk besides its text and place; `false` when there is none.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn patch_chunk(
        &mut self,
        key: &ChunkKey,
        patch: impl FnOnce(&mut ChunkRecord),
    ) -> Result<bool, ClientError> {
        let Some(mut record) = self.chunk(key)? else {
            return Ok(false);
        };
        patch(&mut record);
        self.existed(Change::PatchChunk(key.clone(), Box::new(record)))
    }

    /// Replaces what a document says of concepts and relations; `false` when there is none.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn set_graph(
        &mut self,
        key: &DocumentKey,
        concepts: Vec<NewConcept>,
        relations: Vec<NewRelation>,
    ) -> Result<bool, ClientError> {
        self.existed(Change::SetGraph(key.clone(), concepts, relations))
    }

    /// Replaces what a document lists, cites and claims; `false` when there is none.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn set_citations(
        &mut self,
        key: &DocumentKey,
        references: Vec<NewReference>,
        citations: Vec<NewCitation>,
        claims: Vec<NewClaim>,
    ) -> Result<bool, ClientError> {
        self.existed(Change::SetCitations(
            key.clone(),
            references,
            citations,
            claims,
        ))
    }

    /// Has everything that is said of the concept `from` count as said of `into`.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn merge_concepts(&mut self, from: &str, into: &str) -> Result<ConceptEditId, ClientError> {
        self.number(Change::MergeConcepts(from.to_owned(), into.to_owned()))
            .map(ConceptEditId)
    }

    /// Has what some documents say of a concept count as said of another one.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn split_concept(
        &mut self,
        name: &str,
        documents: &[DocumentKey],
        into: &str,
    ) -> Result<ConceptEditId, ClientError> {
        let (name, into) = (name.to_owned(), into.to_owned());
        self.number(Change::SplitConcept(name, documents.to_vec(), into))
            .map(ConceptEditId)
    }

    /// Undoes a merge or split; `false` when there is none with this id.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn undo_concept_edit(&mut self, id: ConceptEditId) -> Result<bool, ClientError> {
        self.existed(Change::UndoConceptEdit(id.0))
    }

    /// Stores a learning item.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn put_item(&mut self, item: NewItem) -> Result<ItemId, ClientError> {
        self.number(Change::PutItem(Box::new(item))).map(ItemId)
    }

    /// Stores a learning item in the place of another; `false` when there is none.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn replace_item(&mut self, id: ItemId, item: NewItem) -> Result<bool, ClientError> {
        self.existed(Change::ReplaceItem(id, Box::new(item)))
    }

    /// Deletes a learning item; `false` when there is none.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn delete_item(&mut self, id: ItemId) -> Result<bool, ClientError> {
        self.existed(Change::DeleteItem(id))
    }

    /// Changes a setting; needs a key of an admin.
    ///
    /// # Errors
    /// [`ClientError::Fault`] as the server says.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ClientError> {
        match self.step(Change::Set(name.to_owned(), value.to_owned()))? {
            Outcome::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

fn unexpected(outcome: &Outcome) -> ClientError {
    let kind = match outcome {
        Outcome::Done => "nothing",
        Outcome::Existed(_) => "whether it was there",
        Outcome::Number(_) => "a number",
        Outcome::Document(_) => "a document",
        Outcome::Chunk(_) => "a chunk",
    };
    ClientError::Protocol(format!("a change gave {kind}, which it does not give"))
}
