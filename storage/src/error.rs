//! The errors of the store. Every variant documents what to do next.

use std::io;
use std::path::PathBuf;

use loci_types::keys::{KEY_LEN_MAX, KeyError};

use crate::section::SectionId;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process (or another handle in this one) has the store open. Close it, or ask it.
    #[error(
        "the store at {} is open in another process{}; close it there first{}",
        path.display(),
        listed(holders),
        server_hint(holders)
    )]
    Locked {
        /// The store's folder.
        path: PathBuf,
        /// The processes that hold its lock, as far as the system shows them: `process 4711 (loci)`, a server with its
        /// addresses.
        holders: Vec<String>,
    },
    /// There is no store in this folder, and creating one was not asked for.
    #[error("no store at {}; check the path, or create one by ingesting into it", path.display())]
    Missing {
        /// The store's folder.
        path: PathBuf,
    },
    /// A restore, an import or a first backup was stopped in this folder before it was whole. Run it again; nothing else
    /// opens the folder.
    #[error(
        "{}: `loci {}` has not finished in this folder; run it again, or delete the folder",
        path.display(), by.name()
    )]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// What was stopped.
        by: FolderOperation,
    },
    /// The folder has segments and no database: it was removed, or never copied. Restore the whole folder from one
    /// backup, or give another folder.
    #[error(
        "{} holds segments and no loci.redb, which has the rows; restore the whole folder from a backup, \
         or give another folder",
        path.display()
    )]
    NoDatabase {
        /// The folder.
        path: PathBuf,
    },
    /// A release with another format wrote it. An earlier format is brought up by an upgrade; for a later one use the
    /// release that wrote it, or export there and import here.
    #[error("the store has format {found}; this build reads and writes format {ours}; {}", advice(*found, *ours))]
    Format {
        /// What the store says.
        found: u32,
        /// What this build knows.
        ours: u32,
    },
    /// The database file is an older copy than the segments beside it. Restore the whole folder
    /// from one backup.
    #[error(
        "loci.redb is an older copy: it is of generation {store}, but {segment} was written later; \
         restore the whole folder from one backup"
    )]
    StaleDatabase {
        /// Generation that the manifest says.
        store: u64,
        /// The segment file that is newer.
        segment: String,
    },
    /// A row's bytes are not what was written. Suspect the disk; restore from a backup.
    #[error("damaged row in table {table}, key {key}: {why}")]
    DamagedRow {
        /// Name of the table.
        table: &'static str,
        /// The key, in hexadecimal.
        key: String,
        /// What is wrong.
        why: String,
    },
    /// A row that another row or an index refers to is missing. Suspect the disk; restore from a
    /// backup.
    #[error("missing row in table {table}, key {key}")]
    MissingRow {
        /// Name of the table.
        table: &'static str,
        /// The key, in hexadecimal.
        key: String,
    },
    /// Rows of a table cannot all be read, or are not as many as there should be. Suspect the disk; restore from a
    /// backup.
    #[error("damaged table {table}: {why}")]
    DamagedTable {
        /// Name of the table.
        table: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The database's file is damaged somewhere. A check names the rows: ingest their documents again, or restore from a
    /// backup.
    #[error(
        "loci.redb is damaged: {why}; a check names the rows: ingest their documents again, or restore the store from a \
         backup"
    )]
    DamagedDatabase {
        /// What is wrong.
        why: String,
    },
    /// The database's file is damaged where everything in it begins. Restore from a backup.
    #[error("loci.redb is damaged and cannot be opened: {why}; restore the store from a backup")]
    UnreadableDatabase {
        /// What is wrong.
        why: String,
    },
    /// The tables in which the database's file lists its free pages are damaged: whatever is written could take the place
    /// of rows. Restore from a backup; or open it to be read only, export it, and import that into another folder.
    #[error(
        "loci.redb is damaged where it lists its free pages: {why}; nothing may be written to it: restore the store from \
         a backup, or export it and import that into another folder"
    )]
    DamagedFreePages {
        /// What is wrong.
        why: String,
    },
    /// A part cannot be used.
    #[error("part {name}: {source}")]
    Part {
        /// The file, or the number of an inlined part.
        name: String,
        /// Why.
        source: PartError,
    },
    /// What is to be imported is no export, or was cut or changed. Export again.
    #[error("line {line} of the export: {why}")]
    Export {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        why: String,
    },
    /// A limit that [`crate::limits`] states would be passed.
    #[error("{what} would pass the limit of {limit}")]
    Limit {
        /// What would.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// What the caller handed over breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// An earlier commit failed half way. Nothing acknowledged is lost: close and open the store.
    #[error("the store is read-only since a commit failed ({0}); close it and open it again")]
    ReadOnly(String),
    /// The store was opened to be read alone. Open it for writing.
    #[error("the store was opened to be read only; open it for writing")]
    OpenedReadOnly,
    /// The store was closed, or its committing thread is gone.
    #[error("the store is closed")]
    Closed,
    /// A builder or reader of an index failed.
    #[error("{0}")]
    Index(Box<dyn std::error::Error + Send + Sync>),
    /// The caller's closure failed; its changes were dropped.
    #[error("{0}")]
    Caller(Box<dyn std::error::Error + Send + Sync>),
    /// redb failed.
    #[error("database: {0}")]
    Redb(Box<redb::Error>),
    /// The file system failed.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

/// Why a part cannot be used. Every variant documents what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PartError {
    /// The first bytes are not ours: a wrong path, or a damaged copy.
    #[error("not a LociDB part")]
    NotAPart,
    /// A newer release wrote it. Upgrade, or let this release rebuild it from rows.
    #[error("version {found}; this build reads version {known}")]
    Version {
        /// What the part says.
        found: u16,
        /// What this build knows.
        known: u16,
    },
    /// It is shorter than it says. It is rebuilt from rows; suspect the disk.
    #[error("{got} bytes where {need} are needed")]
    Truncated {
        /// Bytes needed.
        need: u64,
        /// Bytes there.
        got: u64,
    },
    /// Its bytes changed after they were written. It is rebuilt from rows; suspect the disk.
    #[error("checksum of {part} is {got:#018x}, written as {written:#018x}")]
    Checksum {
        /// `header`, `section table`, or the section.
        part: String,
        /// The checksum that was written.
        written: u64,
        /// The checksum of what is there.
        got: u64,
    },
    /// A field breaks the format. It is rebuilt from rows.
    #[error("{0}")]
    Malformed(String),
    /// A section that this kind of part must have is not there. It is rebuilt from rows.
    #[error("section {id:?} ({argument}) is missing")]
    MissingSection {
        /// The section.
        id: SectionId,
        /// Its argument.
        argument: u32,
    },
    /// It is not the part that the manifest lists. Restore the folder from one backup.
    #[error("it is part {found} where the manifest lists part {listed}")]
    AnotherPart {
        /// The id in the header.
        found: u64,
        /// The id in the manifest.
        listed: u64,
    },
    /// Pages of its file vanished while it was open: the file was cut, or its disk failed. It is rebuilt from rows;
    /// suspect the disk.
    #[error("its file lost pages while it was read: it was cut, or its disk fails")]
    LostPages,
    /// The file system failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// What fills a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderOperation {
    /// A backup is made there.
    Backup,
    /// A backup is put back there.
    Restore,
    /// An export is made a store there.
    Import,
    /// A command that this build does not know.
    Other,
}

impl FolderOperation {
    pub(crate) const KNOWN: [FolderOperation; 3] = [
        FolderOperation::Backup,
        FolderOperation::Restore,
        FolderOperation::Import,
    ];

    /// The command's name.
    pub fn name(self) -> &'static str {
        match self {
            FolderOperation::Backup => "backup",
            FolderOperation::Restore => "restore",
            FolderOperation::Import => "import",
            FolderOperation::Other => "copy",
        }
    }
}

/// What to do with a store of another format.
fn advice(found: u32, ours: u32) -> &'static str {
    if found < ours {
        "bring it up by `loci upgrade`, or Database::upgrade"
    } else {
        "use the release that wrote it, or a later one"
    }
}

/// Who holds a lock, behind what is said of it.
fn listed(holders: &[String]) -> String {
    match holders {
        [] => String::new(),
        some => format!(", {}", some.join(", ")),
    }
}

/// What to do instead of closing a store that a server has open.
fn server_hint(holders: &[String]) -> &'static str {
    if holders
        .iter()
        .any(|holder| holder.contains("http://") || holder.contains("https://"))
    {
        ", or ask that server: its address in a browser shows pages, and programs use the HTTP API under /v1"
    } else if holders.iter().any(|holder| holder.contains("loci://")) {
        ", or ask that server by the wire protocol"
    } else {
        ""
    }
}

impl StoreError {
    /// Whether a single row is damaged or gone: what does without it can go on.
    pub fn is_row_damage(&self) -> bool {
        matches!(
            self,
            StoreError::DamagedRow { .. } | StoreError::MissingRow { .. }
        )
    }

    /// Wraps an error of the file system with what was tried.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> StoreError {
        let what = what.into();
        move |source| StoreError::Io { what, source }
    }

    /// Wraps an error of a builder or reader of an index.
    pub fn index(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
        StoreError::Index(error.into())
    }
}

impl From<KeyError> for StoreError {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::TooLong => StoreError::Limit {
                what: "a document's key",
                limit: KEY_LEN_MAX as u64,
            },
            other => StoreError::Invalid(other.to_string()),
        }
    }
}

macro_rules! from_redb {
    ($($error:ty),*) => {$(
        impl From<$error> for StoreError {
            fn from(error: $error) -> Self {
                StoreError::Redb(Box::new(error.into()))
            }
        }
    )*};
}

from_redb!(
    redb::Error,
    redb::DatabaseError,
    redb::TransactionError,
    redb::TableError,
    redb::StorageError,
    redb::CommitError,
    redb::SetDurabilityError
);
