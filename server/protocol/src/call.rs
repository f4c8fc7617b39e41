//! The calls of a server, and what they return.
//!
//! A call's payload is its deadline in milliseconds (four bytes, 0 for none), its number (two bytes), and its fields. It
//! gives one reply, or several: all but the last carry [`Method::Each`], the last carries [`Method::Last`].
//!
//! Start reading at [`Call`].

use std::any::TypeId;

use loci_types::answer::{Answer, Prompt};
use loci_types::keys::{ChunkKey, DocumentKey};
use loci_types::records::Feedback;
use loci_types::search::SearchRequest;
use serde_json::Value;

use crate::codec::{self, MessageError, Wire, wire_struct};
pub use crate::input::{Change, File, GraphFile, GraphFiles, GraphFormat, Outcome};
use crate::values::Json;

/// What a key allows: each role also what those before it do.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// To ask and to look.
    Read = 1,
    /// To store, change and delete documents and items.
    Write = 2,
    /// To change settings, take care of the store, and hand out keys.
    Admin = 3,
}

impl Role {
    /// The name that JSON and the command line use.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }

    /// The role with this name.
    pub fn from_name(name: &str) -> Option<Role> {
        [Role::Read, Role::Write, Role::Admin]
            .into_iter()
            .find(|role| role.name() == name)
    }
}

/// What a call takes of a server, by which a server chooses where it is performed and how many of them at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallClass {
    /// A processor for a moment: searches and other reads. Nothing comes before its last reply.
    Quick,
    /// A wait for the store's writer and for the disk.
    Write,
    /// A processor for long, or memory, or a model: files, analyses, copies, answers in words.
    Long,
    /// A wait for the reader of a file, part by part.
    Stream,
    /// A step of the connection's transaction: steps are performed in their order, one at a time.
    Transaction,
}

/// A call, with what it gives.
pub trait Method: Wire + Into<Call> {
    /// What its last reply carries.
    type Last: Wire;
    /// What the replies before it carry.
    type Each: Wire + 'static;
    /// Its number on the wire.
    const NUMBER: u16;

    /// Whether it may be repeated when it is unknown whether it was performed.
    fn is_idempotent(&self) -> bool;

    /// Whether replies may come before the last.
    fn streams() -> bool {
        TypeId::of::<Self::Each>() != TypeId::of::<NoStream>()
    }

    /// The payload of the call's frame.
    fn encode(&self, deadline_ms: u32) -> Vec<u8> {
        let mut head = [0; 6];
        head[..4].copy_from_slice(&deadline_ms.to_le_bytes());
        head[4..].copy_from_slice(&Self::NUMBER.to_le_bytes());
        codec::encode_after(&head, |sink| self.put(sink))
    }
}

/// Progress of long work.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Progress {
    /// What is being done.
    pub step: String,
    /// How much of it.
    pub done: u64,
    /// How much there is, as far as that is known.
    pub total: u64,
}

wire_struct! { Progress { step, done, total } }

/// No reply comes before the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStream {}

impl Wire for NoStream {
    fn put(&self, _: &mut codec::Sink) -> Result<(), codec::EncodeError> {
        match *self {}
    }

    fn take(_: &mut codec::Source<'_>) -> Result<Self, codec::DecodeError> {
        Err(codec::wrong("this call gives one reply"))
    }
}

macro_rules! calls {
    ($(
        $(#[$doc:meta])*
        $number:literal $Name:ident { $($(#[$of_field:meta])* $field:ident: $Type:ty),* $(,)? }
            -> $Last:ty, each $Each:ty, $role:ident, $class:ident, $again:literal $(unless $unless:ident)?;
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Name {
                $($(#[$of_field])* pub $field: $Type,)*
            }

            wire_struct! { $Name { $($field),* } }

            impl Method for $Name {
                type Last = $Last;
                type Each = $Each;
                const NUMBER: u16 = $number;

                fn is_idempotent(&self) -> bool {
                    $again $(&& !self.$unless)?
                }
            }

            impl From<$Name> for Call {
                fn from(call: $Name) -> Call {
                    Call::$Name(call)
                }
            }
        )*

        /// Any call of a server.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Call {
            $($(#[$doc])* $Name($Name),)*
        }

        impl Call {
            /// Numbers, names and roles of all calls.
            pub const ALL: &'static [(u16, &'static str, Role)] =
                &[$(($number, stringify!($Name), Role::$role)),*];

            /// What a key must allow for it.
            pub fn role(&self) -> Role {
                match self {
                    $(Call::$Name(_) => Role::$role,)*
                }
            }

            /// What it takes, whatever its fields say.
            const fn static_class(&self) -> CallClass {
                match self {
                    $(Call::$Name(_) => CallClass::$class,)*
                }
            }

            const fn class_of_number(number: u16) -> Option<CallClass> {
                match number {
                    $($number => Some(CallClass::$class),)*
                    _ => None,
                }
            }

            /// Its name, for logs and metrics.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Call::$Name(_) => stringify!($Name),)*
                }
            }

            /// The payload of its frame.
            pub fn encode(&self, deadline_ms: u32) -> Vec<u8> {
                match self {
                    $(Call::$Name(call) => Method::encode(call, deadline_ms),)*
                }
            }

            fn decode_fields(number: u16, fields: &[u8]) -> Result<Call, MessageError> {
                match number {
                    $($number => Ok(Call::$Name(codec::decode(fields)?)),)*
                    other => Err(MessageError::UnknownMethod(other)),
                }
            }
        }
    };
}

impl Call {
    /// What a key must allow for the call of a payload, by its number alone: the payload may be incomplete.
    pub fn role_of(payload: &[u8]) -> Option<Role> {
        let number = number_of(payload)?;
        let known = Self::ALL.iter().find(|(known, _, _)| *known == number);
        known.map(|(_, _, role)| *role)
    }

    /// What the call of a payload takes, by its number alone: the payload may be incomplete. `None` for a number of no
    /// call. A search that is recorded is a [`CallClass::Write`], which its number does not show.
    pub fn class_of(payload: &[u8]) -> Option<CallClass> {
        Self::class_of_number(number_of(payload)?)
    }

    /// What it takes.
    pub fn class(&self) -> CallClass {
        match self {
            Call::Search(search) if search.record => CallClass::Write,
            call => call.static_class(),
        }
    }

    /// The call of a payload, and the milliseconds that it may take, where it says so.
    ///
    /// # Errors
    /// [`MessageError`] for bytes that are none.
    pub fn decode(payload: &[u8]) -> Result<(Option<u32>, Call), MessageError> {
        let short = || MessageError::Encoding("it ends too early".into());
        let (deadline, rest) = payload.split_first_chunk::<4>().ok_or_else(short)?;
        let (number, fields) = rest.split_first_chunk::<2>().ok_or_else(short)?;
        let deadline_ms = Some(u32::from_le_bytes(*deadline)).filter(|ms| *ms > 0);
        let call = Call::decode_fields(u16::from_le_bytes(*number), fields)?;
        Ok((deadline_ms, call))
    }
}

/// The number of the call of a payload.
fn number_of(payload: &[u8]) -> Option<u16> {
    let number = payload.get(4..)?.first_chunk::<2>()?;
    Some(u16::from_le_bytes(*number))
}

calls! {
    /// Passages that answer a question.
    0x0101 Search {
        /// The question. Settings of the store apply to options that the request leaves at their defaults.
        request: Box<SearchRequest>,
        /// Whether the answer is recorded, for feedback; needs a key that may write.
        record: bool,
    } -> Answer, each NoStream, Read, Quick, true unless record;

    /// An answer in words.
    0x0102 Ask {
        /// As for a search.
        request: Box<SearchRequest>,
        /// As for a search.
        record: bool,
    } -> Answer, each NoStream, Read, Long, true unless record;

    /// The prompt for a model that answers in words.
    0x0103 AskPrompt {
        /// As for a search.
        request: Box<SearchRequest>,
    } -> Prompt, each NoStream, Read, Long, true;

    /// The settings of the store: an object.
    0x0104 GetSettings {} -> Json<Value>, each NoStream, Read, Quick, true;

    /// Statistics of the store.
    0x0105 GetStats {} -> Json<Value>, each NoStream, Read, Quick, true;

    /// Disk usage by part.
    0x0106 GetUsage {} -> Json<Value>, each NoStream, Admin, Long, true;

    /// Documents by key, a page of them: `{"documents":[…],"next":KEY?}`.
    0x0107 ListDocuments {
        /// In this collection alone.
        collection: Option<String>,
        /// Of this user alone.
        user: Option<String>,
        /// Those after this one: `next` of the page before.
        after: Option<String>,
        /// So many at most, 1 to 1,000.
        limit: u32,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// A document with its outline and the names of its assets.
    0x0108 GetDocument {
        /// Its public key.
        key: DocumentKey,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// A chunk with its neighbours.
    0x0109 GetChunk {
        /// Its public key.
        key: ChunkKey,
        /// Chunks of its level on each side that come with it, 10 at most.
        context: u32,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// The file that a document was read from.
    0x010a GetOriginal {
        /// The document.
        key: DocumentKey,
    } -> (), each Vec<u8>, Read, Stream, true;

    /// A picture or other file within a document.
    0x010b GetAsset {
        /// The document.
        key: DocumentKey,
        /// The file's name there.
        name: String,
    } -> (), each Vec<u8>, Read, Stream, true;

    /// The text that character positions of citations refer to.
    0x010c GetText {
        /// The document.
        key: DocumentKey,
    } -> (), each Vec<u8>, Read, Stream, true;

    /// A concept: relations, prerequisites, chunks.
    0x010d GetConcept {
        /// Its name, however written.
        name: String,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// Concepts by PageRank whose names begin so.
    0x010e ListConcepts {
        /// How they begin; empty for all.
        prefix: String,
        /// So many at most, 1 to 1,000.
        limit: u32,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// The shortest path from a concept to another.
    0x010f GetPath {
        /// Where it starts.
        from: String,
        /// Where it leads.
        to: String,
        /// Types of relations that may be taken; empty for all.
        along: Vec<String>,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// Citations around a document or a cited work.
    0x0110 GetCitations {
        /// A document's key, or the DOI or title of a work.
        of: String,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// Cited works, the most cited first.
    0x0111 ListWorks {
        /// Of this author.
        author: Option<String>,
        /// Of this year.
        year: Option<i32>,
        /// Those alone whose document is not stored.
        stubs: bool,
        /// So many at most, 1 to 1,000.
        limit: u32,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// Communities of concepts, with their digests.
    0x0112 ListCommunities {
        /// Their level, 0 the finest; else the coarsest.
        level: Option<u32>,
        /// Those alone that this concept is in, at all levels.
        of: Option<String>,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// How many concepts are of each type.
    0x0113 ListTypes {} -> Json<Value>, each NoStream, Read, Quick, true;

    /// Recorded answers, the newest first.
    0x0114 ListRecords {
        /// This one alone.
        response: Option<u64>,
        /// So many at most, 1 to 1,000.
        limit: u32,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// Learning items: `{"items":[…],"next":ID?}`.
    0x0115 ListItems {
        /// Of this owner alone.
        owner: Option<String>,
        /// About this document alone.
        document: Option<DocumentKey>,
        /// Those alone that are due then, in milliseconds since 1970.
        due_ms: Option<u64>,
        /// Those after this one: `next` of the page before.
        after: Option<u64>,
        /// So many at most, 1 to 1,000.
        limit: u32,
    } -> Json<Value>, each NoStream, Read, Quick, true;

    /// Statistics of the learning items.
    0x0116 GetItemFigures {} -> Json<Value>, each NoStream, Read, Quick, true;

    /// Concepts and relations as a file of other programs; gives `{"concepts","relations"}`.
    0x0117 ExportGraph {
        /// What the file is.
        format: GraphFormat,
    } -> Json<Value>, each Vec<u8>, Read, Stream, true;

    /// Changes, all or nothing, in one transaction.
    0x0201 Write {
        /// In their order.
        changes: Vec<Change>,
    } -> Vec<Outcome>, each NoStream, Write, Write, false;

    /// Begins a transaction, which is called as the call is. It ends with the connection, with 5 seconds without a step,
    /// and after 60 seconds: then nothing of it is stored. Other writers of the store wait meanwhile.
    0x0202 Begin {} -> (), each NoStream, Write, Transaction, false;

    /// A change within a transaction; it sees those before it.
    0x0203 Step {
        /// The transaction.
        transaction: u64,
        /// What is to be done.
        change: Change,
    } -> Outcome, each NoStream, Write, Transaction, false;

    /// Ends a transaction: its changes are durable when the reply comes.
    0x0204 Commit {
        /// The transaction.
        transaction: u64,
    } -> (), each NoStream, Write, Transaction, false;

    /// Ends a transaction, of which nothing is stored.
    0x0205 Rollback {
        /// The transaction.
        transaction: u64,
    } -> (), each NoStream, Write, Transaction, true;

    /// Records an answer, for feedback and replay; returns its number.
    0x0206 Record {
        /// The question.
        request: Box<SearchRequest>,
        /// The answer.
        answer: Box<Answer>,
    } -> u64, each NoStream, Write, Write, false;

    /// Feedback on a hit of a recorded answer.
    0x0207 GiveFeedback {
        /// The answer.
        response: u64,
        /// The hit: its rank, or its chunk's key.
        hit: String,
        /// What it was.
        feedback: Feedback,
    } -> (), each NoStream, Write, Write, true;

    /// Parses, chunks and stores a file.
    0x0208 Ingest {
        /// Its bytes, and how it is ingested.
        file: Box<File>,
    } -> Json<Value>, each Progress, Write, Long, true;

    /// Updates vectors and weights after documents were stored.
    0x0209 Finish {} -> (), each Progress, Write, Long, true;

    /// Stores nodes and relationships in place of what an import under that key stored; gives `{"nodes","relationships"}`.
    0x020a ImportGraph {
        /// What is stored.
        graph: Box<GraphFiles>,
    } -> Json<Value>, each Progress, Write, Long, true;

    /// Changes a setting.
    0x0301 SetSetting {
        /// Its name.
        name: String,
        /// Its value, as the command line takes it.
        value: String,
    } -> (), each NoStream, Admin, Long, true;

    /// Ranks concepts, finds communities, writes digests.
    0x0302 Analyse {} -> Json<Value>, each Progress, Admin, Long, true;

    /// Merges segments and gives disk back.
    0x0303 Compact {} -> Json<Value>, each Progress, Admin, Long, true;

    /// Searches for damage; gives a list of findings.
    0x0304 Check {
        /// Whether rows are also compared with each other and with segments.
        deep: bool,
    } -> Json<Value>, each Progress, Admin, Long, true;

    /// Builds damaged segments again from rows; gives how many.
    0x0305 Repair {} -> u64, each NoStream, Admin, Long, true;

    /// Copies the store into a folder of the server's backups.
    0x0306 Backup {
        /// The folder's name there.
        name: String,
    } -> Json<Value>, each Progress, Admin, Long, true;

    /// The whole store as lines of JSON; gives how many.
    0x0307 Export {} -> u64, each Vec<u8>, Admin, Stream, true;

    /// Fits the built-in embedder anew.
    0x0308 Refit {} -> (), each Progress, Admin, Long, true;

    /// Consolidates types of concepts: the most frequent remain, and others are shown as the most similar of them.
    0x0309 ConsolidateTypes {
        /// Those of each collection, rather than of all.
        stratified: bool,
    } -> Json<Value>, each NoStream, Admin, Long, true;

    /// Shows types as documents write them again.
    0x030a ForgetTypes {} -> (), each NoStream, Admin, Long, true;

    /// Forgets recorded answers; gives how many.
    0x030b ForgetRecords {
        /// Those before that time, in milliseconds since 1970.
        before_ms: u64,
    } -> u64, each NoStream, Admin, Long, true;

    /// Asks recorded questions again, and compares.
    0x030c Replay {
        /// The newest so many, 1 to 1,000.
        limit: u32,
        /// Options that are changed, by name.
        set: Vec<(String, String)>,
    } -> Json<Value>, each Progress, Admin, Long, true;

    /// Keys of the store, without their secrets.
    0x030d ListKeys {} -> Json<Value>, each NoStream, Admin, Write, true;

    /// Creates a key, which is shown only now.
    0x030e AddKey {
        /// What it allows.
        role: Role,
        /// The user that it is bound to.
        user: Option<String>,
        /// What it is for, in words.
        note: String,
    } -> Json<Value>, each NoStream, Admin, Write, false;

    /// Revokes a key.
    0x030f RevokeKey {
        /// The key's id: the part between `loci_` and the next `_`.
        id: String,
    } -> (), each NoStream, Admin, Write, true;
}
