//! The format of a store: its number, its tables, and the rows that every store has.

use redb::ReadableDatabase;

use crate::database::file::Database;
use crate::database::read_tables::Tables;
use crate::error::StoreError;
use crate::rows::keys::{FORMAT_KEY, MANIFEST, STORE_ID_KEY};
use crate::rows::records::ManifestRecord;
use crate::rows::tables::Table;
use crate::rows::{catch_redb_panic, encode, envelope, get, missing, read};

/// The format that this build reads and writes.
pub const FORMAT: u32 = 2;

/// Checks the format of a store. Returns its manifest.
pub(crate) fn check_format(database: &Database) -> Result<ManifestRecord, StoreError> {
    if is_empty(database)? {
        let why = "loci.redb is empty: it was cut, or is no store's; restore it from a backup";
        return Err(StoreError::Invalid(why.into()));
    }
    let found = read_format(database)?;
    if found != FORMAT {
        return Err(StoreError::Format {
            found,
            ours: FORMAT,
        });
    }
    let tables = Tables::open(database)?;
    read(&tables, Table::Meta, MANIFEST)?.ok_or_else(|| missing(Table::Meta, MANIFEST))
}

/// The format of a store, which may lack tables that this one has.
pub(crate) fn read_format(database: &Database) -> Result<u32, StoreError> {
    catch_redb_panic(Table::Meta, || {
        let meta = database.begin_read()?;
        let meta = meta.open_table(Table::Meta.definition())?;
        let format = get(&meta, Table::Meta, FORMAT_KEY)?;
        let format = format.ok_or_else(|| missing(Table::Meta, FORMAT_KEY))?;
        let format = format.first_chunk();
        Ok(format.map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes)))
    })
}

fn is_empty(database: &Database) -> Result<bool, StoreError> {
    catch_redb_panic(Table::Meta, || {
        Ok(database.begin_read()?.list_tables()?.next().is_none())
    })
}

/// Makes the tables of an empty store, and its first rows.
pub(crate) fn create_tables(database: &Database) -> Result<(), StoreError> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    for table in Table::ALL {
        transaction.open_table(table.definition())?;
    }
    let manifest = ManifestRecord {
        next_document: 1,
        next_segment: 1,
        next_part: 1,
        next_space: 1,
        next_item: 1,
        next_edit: 1,
        next_work: 0,
        next_response: 1,
        ..ManifestRecord::default()
    };
    let mut identity = [0; 16];
    getrandom::fill(&mut identity).map_err(|why| StoreError::Invalid(why.to_string()))?;
    {
        let mut meta = transaction.open_table(Table::Meta.definition())?;
        let rows = [
            (FORMAT_KEY, FORMAT.to_le_bytes().to_vec()),
            (MANIFEST, encode(&manifest)?),
            (STORE_ID_KEY, identity.to_vec()),
        ];
        for (key, payload) in rows {
            let value = envelope::seal(Table::Meta.number(), key, &payload);
            meta.insert(key, value.as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}
