//! The tables of the open transaction, each opened when it is first used.

use std::sync::OnceLock;

use parking_lot::Mutex;
use redb::WriteTransaction;

use crate::error::StoreError;
use crate::rows::tables::Table;
use crate::rows::{RowCallback, Rows, Value, get, scan};

type WriteTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

/// The tables of the open transaction, each opened when it is first used: a small commit needs a third of them, and
/// redb looks at each open one again when it commits.
pub(super) struct LazyTables<'t> {
    transaction: &'t WriteTransaction,
    /// Held while one is opened: redb opens no table twice.
    opening: Mutex<()>,
    opened: [OnceLock<WriteTable<'t>>; Table::ALL.len()],
}

impl<'t> LazyTables<'t> {
    pub(super) fn new(transaction: &'t WriteTransaction) -> LazyTables<'t> {
        let opened = [const { OnceLock::new() }; Table::ALL.len()];
        LazyTables {
            transaction,
            opening: Mutex::default(),
            opened,
        }
    }

    fn table(&self, table: Table) -> Result<&WriteTable<'t>, StoreError> {
        let slot = &self.opened[table.index()];
        if let Some(opened) = slot.get() {
            return Ok(opened);
        }
        let _opening = self.opening.lock();
        if let Some(opened) = slot.get() {
            return Ok(opened);
        }
        let opened = self.transaction.open_table(table.definition())?;
        Ok(slot.get_or_init(|| opened))
    }

    pub(super) fn table_mut(&mut self, table: Table) -> Result<&mut WriteTable<'t>, StoreError> {
        self.table(table)?;
        let opened = self.opened[table.index()].get_mut();
        Ok(opened.expect("it was opened above"))
    }
}

impl Rows for LazyTables<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        get(self.table(table)?, table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        scan(self.table(table)?, table, from, to, visit)
    }
}
