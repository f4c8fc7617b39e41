//! A server in memory over a small store, which asks for no keys. For fuzz targets alone.

use std::io;
use std::path::PathBuf;

use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::{Database, NewChunk, NewDocument};

use crate::access::KeyLimits;
use crate::serve::in_memory::{InMemory, Protocol};
use crate::service::{ParserFactory, StoreLocation, Stores, StoresOptions};

/// A server whose connections are bytes.
#[derive(Debug)]
pub struct Hosted {
    server: InMemory,
    _folder: tempfile::TempDir,
}

impl Hosted {
    /// A server of a store with two documents.
    ///
    /// # Panics
    /// When the store cannot be created.
    pub fn new() -> Hosted {
        let folder = tempfile::tempdir().expect("a folder");
        let path: PathBuf = folder.path().join("store");
        let database = Database::open(&path).expect("a store");
        let stored = database.write(|tx| {
            for (key, text) in [
                ("heron.md", "# Herons\n\nA heron waits in shallow water."),
                ("otter.md", "# Otters\n\nAn otter sleeps on its back."),
            ] {
                tx.put_document(document(key, text))?;
            }
            Ok(())
        });
        stored.expect("documents");
        database.close();
        let options = StoresOptions {
            without_keys: true,
            limits: KeyLimits::default(),
            // Parsers have targets of their own.
            parser: ParserFactory::new(|| Err(io::Error::other("no files are parsed"))),
            ..StoresOptions::default()
        };
        let stores = Stores::new(StoreLocation::Single(path), options).expect("stores");
        Hosted {
            server: InMemory::new(stores).expect("a server"),
            _folder: folder,
        }
    }

    /// What comes back over a connection of HTTP that carries these bytes and ends.
    ///
    /// # Panics
    /// When the server does not end the connection.
    pub fn http(&self, bytes: &[u8]) -> Vec<u8> {
        let received = self.server.exchange(Protocol::Http, bytes, true);
        received.expect("the connection ends")
    }

    /// What a whole request is answered with that asks for the end of its connection.
    ///
    /// # Panics
    /// When the server does not end the connection.
    pub fn request(&self, bytes: &[u8]) -> Vec<u8> {
        let received = self.server.exchange(Protocol::Http, bytes, false);
        received.expect("the connection ends")
    }

    /// What comes back over a connection of the wire protocol that carries these bytes.
    ///
    /// # Panics
    /// When the server does not end the connection.
    pub fn wire(&self, bytes: &[u8]) -> Vec<u8> {
        let received = self.server.exchange(Protocol::Wire, bytes, true);
        received.expect("the connection ends")
    }
}

impl Default for Hosted {
    fn default() -> Hosted {
        Hosted::new()
    }
}

fn document(key: &str, text: &str) -> NewDocument {
    let record = ChunkRecord {
        text: text.into(),
        ..ChunkRecord::default()
    };
    NewDocument {
        record: DocumentRecord {
            key: key.into(),
            ..DocumentRecord::default()
        },
        original: text.into(),
        chunks: vec![NewChunk {
            record,
            vector: None,
        }],
        ..NewDocument::default()
    }
}
