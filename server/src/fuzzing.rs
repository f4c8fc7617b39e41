//! A server in memory over a small store without keys. Only for fuzz targets.

use std::io;
use std::path::PathBuf;

use locidb::storage::records::{ChunkRecord, DocumentRecord};
use locidb::{Database, NewChunk, NewDocument};

use crate::access::KeyLimits;
use crate::serve::in_memory::{InMemory, TestProtocol};
use crate::service::{ParserFactory, StoreLocation, Stores, StoresOptions};

/// A server whose connections are streams in memory.
#[derive(Debug)]
pub struct InMemoryServer {
    server: InMemory,
    _folder: tempfile::TempDir,
}

impl InMemoryServer {
    /// A server of a store with two documents.
    ///
    /// # Panics
    /// When the store cannot be created.
    pub fn new() -> InMemoryServer {
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
        InMemoryServer {
            server: InMemory::new(stores).expect("a server"),
            _folder: folder,
        }
    }

    /// The response over an HTTP connection that carries these bytes and ends.
    ///
    /// # Panics
    /// When the server does not end the connection.
    pub fn http(&self, bytes: &[u8]) -> Vec<u8> {
        let response = self.server.exchange(TestProtocol::Http, bytes, true);
        response.expect("the connection ends")
    }

    /// The response to a complete request with `Connection: close`.
    ///
    /// # Panics
    /// When the server does not end the connection.
    pub fn request(&self, bytes: &[u8]) -> Vec<u8> {
        let response = self.server.exchange(TestProtocol::Http, bytes, false);
        response.expect("the connection ends")
    }

    /// The response over a connection of the wire protocol that carries these bytes.
    ///
    /// # Panics
    /// When the server does not end the connection.
    pub fn wire(&self, bytes: &[u8]) -> Vec<u8> {
        let response = self.server.exchange(TestProtocol::Wire, bytes, true);
        response.expect("the connection ends")
    }
}

impl Default for InMemoryServer {
    fn default() -> InMemoryServer {
        InMemoryServer::new()
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
