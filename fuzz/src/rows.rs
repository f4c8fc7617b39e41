//! Rows in memory, with the contents that tables of a damaged database could have.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use loci_storage::rows::{RowCallback, Value, seal_row};
use loci_storage::{Rows, StoreError, Table};

use crate::piece;

/// Rows by table and key, with their envelopes.
#[derive(Debug, Default)]
pub struct RowSet(BTreeMap<(Table, Vec<u8>), Vec<u8>>);

impl RowSet {
    /// Reads rows from any bytes: a byte each for the table and for whether the value includes the envelope, then the key
    /// and the value, each after its length (u16).
    pub fn new(mut bytes: &[u8]) -> RowSet {
        let mut rows = RowSet::default();
        while let Some((&[table, is_raw], rest)) = bytes.split_first_chunk::<2>() {
            let table = Table::ALL[usize::from(table) % Table::ALL.len()];
            let (key, rest) = piece(rest);
            let (value, rest) = piece(rest);
            let row = if is_raw == 1 {
                value.to_vec()
            } else {
                seal_row(table, key, value)
            };
            rows.0.insert((table, key.to_vec()), row);
            bytes = rest;
        }
        rows
    }

    /// The rows, with their envelopes.
    pub fn iter(&self) -> impl Iterator<Item = (Table, &[u8], &[u8])> {
        self.0
            .iter()
            .map(|((table, key), row)| (*table, &key[..], &row[..]))
    }

    /// The bytes of one row, as [`RowSet::new`] reads them.
    pub fn bytes(table: Table, key: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![table.number() - 1, 0];
        for piece in [key, payload] {
            bytes.extend((piece.len() as u16).to_le_bytes());
            bytes.extend_from_slice(piece);
        }
        bytes
    }
}

impl Rows for RowSet {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        let row = self.0.get(&(table, key.to_vec()));
        row.map(|row| Value::open(table, key, row)).transpose()
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        let from = Bound::Included((table, from.to_vec()));
        let rows = self
            .0
            .range((from, Bound::Unbounded))
            .take_while(|((of, _), _)| *of == table);
        for ((_, key), row) in rows.take_while(|((_, key), _)| to.is_none_or(|to| &key[..] < to)) {
            let value = Value::open(table, key, row)?;
            if visit(key, &value)? == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}
