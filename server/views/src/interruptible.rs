//! Rows whose reads can be interrupted.
//!
//! Always true: at most [`ROWS_PER_CHECK`] rows are read between two checks, whether one by one or in a scan.

use std::sync::atomic::{AtomicU32, Ordering};

use loci_protocol::fault::Fault;
use locidb::storage::rows::{RowCallback, Value};
use locidb::storage::{Rows, StoreError, Table};

/// Rows that are read between two checks.
const ROWS_PER_CHECK: u32 = 256;

/// The rows of a snapshot; once the check fails, reads fail with its fault.
pub struct InterruptibleRows<'w> {
    rows: &'w dyn Rows,
    /// Fails with the reason to stop.
    check: &'w (dyn Fn() -> Result<(), Fault> + Sync),
    /// Rows that were read.
    rows_read: AtomicU32,
}

impl<'w> InterruptibleRows<'w> {
    /// These rows, for as long as `check` does not fail.
    pub fn new(
        rows: &'w dyn Rows,
        check: &'w (dyn Fn() -> Result<(), Fault> + Sync),
    ) -> InterruptibleRows<'w> {
        InterruptibleRows {
            rows,
            check,
            rows_read: AtomicU32::new(0),
        }
    }

    /// Counts a row.
    fn count_row(&self) -> Result<(), StoreError> {
        let read = self
            .rows_read
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1);
        if !read.is_multiple_of(ROWS_PER_CHECK) {
            return Ok(());
        }
        (self.check)().map_err(|fault| StoreError::Caller(Box::new(fault)))
    }
}

impl Rows for InterruptibleRows<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        self.count_row()?;
        self.rows.get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        self.rows.scan(table, from, to, &mut |key, payload| {
            self.count_row()?;
            visit(key, payload)
        })
    }
}
