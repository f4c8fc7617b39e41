//! The tables of one read transaction, as rows.

use redb::{ReadOnlyTable, ReadableDatabase, ReadableTableMetadata};

use crate::database::file::Database;
use crate::error::StoreError;
use crate::rows::tables::Table;
use crate::rows::{RowCallback, Rows, Value, catch_redb_panic, get, scan};

/// The tables of one read transaction.
pub(crate) struct Tables(Vec<ReadOnlyTable<&'static [u8], &'static [u8]>>);

impl Tables {
    pub(crate) fn open(database: &Database) -> Result<Tables, StoreError> {
        catch_redb_panic(Table::Meta, || {
            let transaction = database.begin_read()?;
            let open = |table: &Table| transaction.open_table(table.definition());
            let tables: Result<_, _> = Table::ALL.iter().map(open).collect();
            Ok(Tables(tables?))
        })
    }

    /// One of them.
    pub(crate) fn table(&self, table: Table) -> &ReadOnlyTable<&'static [u8], &'static [u8]> {
        &self.0[table.index()]
    }

    /// Rows in all of them.
    pub(crate) fn len(&self) -> Result<u64, StoreError> {
        let mut rows = 0;
        for table in &self.0 {
            rows += table.len()?;
        }
        Ok(rows)
    }
}

impl Rows for Tables {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        get(&self.0[table.index()], table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        scan(&self.0[table.index()], table, from, to, visit)
    }
}
