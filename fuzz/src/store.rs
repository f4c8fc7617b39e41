//! A small store in memory. Targets overwrite some of its rows, with valid checksums, and open the result.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use loci_storage::Table;
use loci_storage::disk::{Disk, RandomAccessFile};
use loci_storage::rows::seal_row;
use loci_torture::sim::SimDisk;
use loci_torture::{documents, source::Source};
use locidb::{Database, EmbedderChoice, Error, NoProgress, Options, SearchRequest, Strategy};
use redb::{ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};

const FOLDER: &str = "/store";
const SPACE: &str = "fuzz";

/// One row as a table holds it, without its envelope.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its table.
    pub table: Table,
    /// Its key.
    pub key: Vec<u8>,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// A valid store, and its rows.
pub struct SampleStore {
    disk: SimDisk,
    /// All rows, by table, then key.
    pub rows: Vec<Row>,
}

/// A store of a few documents with vectors and a graph, one of them deleted.
pub static SAMPLE: LazyLock<SampleStore> = LazyLock::new(|| {
    let disk = SimDisk::new();
    fill(&disk).expect("a valid store");
    let rows = read(&disk).expect("its rows");
    SampleStore { disk, rows }
});

/// The export of the sample store.
///
/// # Panics
/// When it cannot be exported.
pub fn exported() -> String {
    let database = Database::open_with(FOLDER, &options(&SAMPLE.disk.kill_image()));
    let mut lines = Vec::new();
    let exported = database.and_then(|database| database.export(&mut lines, &NoProgress));
    exported.expect("a valid store has an export");
    String::from_utf8(lines).expect("an export is UTF-8")
}

fn options(disk: &SimDisk) -> Options {
    Options {
        cache_bytes: 1 << 20,
        disk: Arc::new(disk.clone()),
        ..Options::default()
    }
}

fn fill(disk: &SimDisk) -> Result<(), Error> {
    let database = Database::open_with(FOLDER, &options(disk))?;
    database.use_embedder(EmbedderChoice::None)?;
    database.use_provided_vectors(SPACE, documents::direction(&mut Source::seeded(1)).len())?;
    for number in 0..4 {
        database.write(move |tx| tx.put_document(documents::document(number, 7, false, true)))?;
    }
    let key = documents::key(3);
    database.write(move |tx| tx.delete_document(&key))?;
    database.set("hops", "3")?;
    database.finish(&NoProgress)?;
    database.close();
    Ok(())
}

impl SampleStore {
    /// The store with these rows in place of those with the same keys.
    pub fn with(&self, rows: &[Row]) -> Result<SimDisk, redb::Error> {
        let disk = self.disk.kill_image();
        let database = open(&disk)?;
        let write = database.begin_write()?;
        for row in rows {
            let mut table = write.open_table(definition(row.table))?;
            let value = seal_row(row.table, &row.key, &row.payload);
            table.insert(&row.key[..], &value[..])?;
        }
        write.commit()?;
        drop(database);
        Ok(disk)
    }
}

/// Opens the store and runs every kind of read.
pub fn read_everything(disk: &SimDisk) -> Result<(), Error> {
    let database = Database::open_with(FOLDER, &options(disk))?;
    let _ = database.settings();
    database.stats();
    let view = database.snapshot();
    for strategy in Strategy::ALL {
        let mut request = SearchRequest {
            strategy,
            explain: true,
            ..SearchRequest::new("what does note 1 say of topics?")
        };
        request.context_tokens = Some(500);
        request.vector = Some(documents::direction(&mut Source::seeded(1)));
        let _ = database.search_in(&view, &request);
    }
    let _ = database.check(true, &NoProgress, &mut |_| {});
    let _ = database.recount();
    Ok(())
}

/// The sample store, open.
pub fn database() -> &'static Database {
    static OPEN: LazyLock<Database> = LazyLock::new(|| {
        let disk = SAMPLE.disk.kill_image();
        Database::open_with(FOLDER, &options(&disk)).expect("a valid store opens")
    });
    &OPEN
}

/// A file of a disk as a storage backend of redb.
#[derive(Debug)]
struct File(Box<dyn RandomAccessFile>);

impl StorageBackend for File {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, bytes)
    }
}

fn open(disk: &SimDisk) -> Result<redb::Database, redb::Error> {
    let file = disk.open(&Path::new(FOLDER).join("loci.redb"))?;
    Ok(redb::Database::builder()
        .set_cache_size(1 << 20)
        .create_with_backend(File(file))?)
}

fn definition(table: Table) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(table.name())
}

fn read(disk: &SimDisk) -> Result<Vec<Row>, redb::Error> {
    let disk = disk.kill_image();
    let database = open(&disk)?;
    let read = database.begin_read()?;
    let mut rows = Vec::new();
    for table in Table::ALL {
        for row in read.open_table(definition(table))?.iter()? {
            let (key, value) = row?;
            let payload = value.value().get(8..).unwrap_or_default().to_vec();
            rows.push(Row {
                table,
                key: key.value().to_vec(),
                payload,
            });
        }
    }
    Ok(rows)
}
