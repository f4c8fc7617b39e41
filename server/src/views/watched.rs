//! Rows whose reader may be told to stop.
//!
//! Always true: between two askings at most [`ROWS_MAX`] rows are read, whether one by one or in a scan.

use std::sync::atomic::{AtomicU32, Ordering};

use loci_protocol::fault::Fault;
use locidb::storage::rows::{Value, Visit};
use locidb::storage::{Rows, StoreError, Table};

/// Rows that are read before it is asked again.
const ROWS_MAX: u32 = 256;

/// Rows as they are, until their reader is told to stop: then an error that carries why.
pub(crate) struct Watched<'w> {
    rows: &'w dyn Rows,
    /// Says why to stop, if that is so.
    ask: &'w (dyn Fn() -> Result<(), Fault> + Sync),
    /// Rows that were read.
    read: AtomicU32,
}

impl<'w> Watched<'w> {
    /// These rows, for as long as `ask` does not fail.
    pub(crate) fn new(
        rows: &'w dyn Rows,
        ask: &'w (dyn Fn() -> Result<(), Fault> + Sync),
    ) -> Watched<'w> {
        Watched {
            rows,
            ask,
            read: AtomicU32::new(0),
        }
    }

    /// Counts a row.
    fn row(&self) -> Result<(), StoreError> {
        let read = self.read.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if !read.is_multiple_of(ROWS_MAX) {
            return Ok(());
        }
        (self.ask)().map_err(|fault| StoreError::Caller(Box::new(fault)))
    }
}

impl Rows for Watched<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        self.row()?;
        self.rows.get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        self.rows.scan(table, from, to, &mut |key, payload| {
            self.row()?;
            visit(key, payload)
        })
    }
}
