//! A small store in memory whose rows are changed behind its back, with right checksums, and that is then opened.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use loci_storage::Table;
use loci_storage::disk::{Disk, RandomFile};
use loci_storage::rows::sealed;
use loci_torture::sim::SimDisk;
use loci_torture::{documents, source::Source};
use locidb::{Database, EmbedderChoice, Error, Options, SearchRequest, Silent, Strategy};
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

/// A sound store, and its rows.
pub struct Sound {
    disk: SimDisk,
    /// All rows, by table, then key.
    pub rows: Vec<Row>,
}

/// A store of a few documents with vectors and a graph, one of them deleted.
pub static SOUND: LazyLock<Sound> = LazyLock::new(|| {
    let disk = SimDisk::new();
    fill(&disk).expect("a sound store");
    let rows = read(&disk).expect("its rows");
    Sound { disk, rows }
});

/// The export of the sound store.
///
/// # Panics
/// When it cannot be exported.
pub fn exported() -> String {
    let database = Database::open_with(FOLDER, &options(&SOUND.disk.kill_image()));
    let mut lines = Vec::new();
    let exported = database.and_then(|database| database.export(&mut lines, &Silent));
    exported.expect("a sound store has an export");
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
    database.use_given_space(SPACE, documents::direction(&mut Source::seeded(1)).len())?;
    for number in 0..4 {
        database.write(move |tx| tx.put_document(documents::document(number, 7, false, true)))?;
    }
    let key = documents::key(3);
    database.write(move |tx| tx.delete_document(&key))?;
    database.set("hops", "3")?;
    database.finish(&Silent)?;
    database.close();
    Ok(())
}

impl Sound {
    /// The store with these rows in the place of those of the same key.
    pub fn with(&self, rows: &[Row]) -> Result<SimDisk, redb::Error> {
        let disk = self.disk.kill_image();
        let database = open(&disk)?;
        let write = database.begin_write()?;
        for row in rows {
            let mut table = write.open_table(definition(row.table))?;
            let value = sealed(row.table, &row.key, &row.payload);
            table.insert(&row.key[..], &value[..])?;
        }
        write.commit()?;
        drop(database);
        Ok(disk)
    }
}

/// Opens the store and asks it whatever a reader may ask.
pub fn ask(disk: &SimDisk) -> Result<(), Error> {
    let database = Database::open_with(FOLDER, &options(disk))?;
    let _ = database.settings();
    database.stats();
    let view = database.view();
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
    let _ = database.check(true, &Silent, &mut |_| {});
    let _ = database.recount();
    Ok(())
}

/// The sound store, open.
pub fn database() -> &'static Database {
    static OPEN: LazyLock<Database> = LazyLock::new(|| {
        let disk = SOUND.disk.kill_image();
        Database::open_with(FOLDER, &options(&disk)).expect("a sound store opens")
    });
    &OPEN
}

/// A file of a disk as redb's storage.
#[derive(Debug)]
struct File(Box<dyn RandomFile>);

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
