//! Rows that writers changed and that are not in redb yet, in memory, over the rows that are.
//!
//! Always true of a scan or a get through [`RowOverlay`]: a changed row hides the one below it, a deleted one too.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::error::StoreError;
use crate::rows::keys::Key;
use crate::rows::tables::Table;
use crate::rows::{RowCallback, Rows, Value};

/// Changed rows by table, each table in the order of keys; `None`: deleted.
#[derive(Debug, Default)]
pub(crate) struct StagedRows {
    /// By [`Table::index`]; empty while nothing was changed.
    tables: Vec<BTreeMap<Key, Option<Vec<u8>>>>,
}

impl StagedRows {
    /// Puts a row, or with `None` deletes it.
    pub(crate) fn set(&mut self, table: Table, key: Key, row: Option<Vec<u8>>) {
        if self.tables.is_empty() {
            self.tables.resize_with(Table::ALL.len(), BTreeMap::new);
        }
        self.tables[table.index()].insert(key, row);
    }

    /// Takes the changes of a later writer.
    pub(crate) fn extend(&mut self, later: StagedRows) {
        if self.tables.is_empty() {
            *self = later;
            return;
        }
        for (mine, later) in self.tables.iter_mut().zip(later.tables) {
            if mine.is_empty() {
                *mine = later
            } else {
                mine.extend(later)
            }
        }
    }

    /// All changes, by table and key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Table, &Key, Option<&[u8]>)> {
        let tables = Table::ALL.into_iter().zip(&self.tables);
        tables.flat_map(|(table, rows)| {
            rows.iter()
                .map(move |(key, row)| (table, key, row.as_deref()))
        })
    }

    /// What became of a row, if it was changed.
    fn get(&self, table: Table, key: &[u8]) -> Option<Option<&[u8]>> {
        let row = self.tables.get(table.index())?.get(key)?;
        Some(row.as_deref())
    }

    fn range_from(
        &self,
        table: Table,
        from: &[u8],
    ) -> impl Iterator<Item = (&Key, &Option<Vec<u8>>)> + use<'_> {
        use std::ops::Bound::{Included, Unbounded};
        let rows = self.tables.get(table.index());
        let rows = rows.map(|rows| rows.range::<[u8], _>((Included(from), Unbounded)));
        rows.into_iter().flatten()
    }
}

/// Changed rows over those of `base`.
#[derive(Clone, Copy)]
pub(crate) struct RowOverlay<'r> {
    pub(crate) staged: &'r StagedRows,
    pub(crate) base: &'r dyn Rows,
}

impl<'r> RowOverlay<'r> {
    /// [`Rows::get`], for as long as both are there.
    pub(crate) fn row(self, table: Table, key: &[u8]) -> Result<Option<Value<'r>>, StoreError> {
        match self.staged.get(table, key) {
            Some(staged) => Ok(staged.map(Value::staged)),
            None => self.base.get(table, key),
        }
    }
}

impl Rows for RowOverlay<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Value<'_>>, StoreError> {
        self.row(table, key)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: Option<&[u8]>,
        visit: &mut RowCallback<'_>,
    ) -> Result<(), StoreError> {
        let within = |key: &[u8]| to.is_none_or(|to| key < to);
        let staged = self.staged.range_from(table, from);
        let mut staged = staged.take_while(|(key, _)| within(key)).peekable();
        let mut ended = false;
        self.base.scan(table, from, to, &mut |key, payload| {
            while let Some((own, row)) = staged.next_if(|(own, _)| own.as_slice() < key) {
                if let Some(row) = row
                    && visit(own, row)?.is_break()
                {
                    ended = true;
                    return Ok(ControlFlow::Break(()));
                }
            }
            let shadow = staged.next_if(|(own, _)| own.as_slice() == key);
            let flow = match shadow {
                Some((_, None)) => ControlFlow::Continue(()),
                Some((own, Some(row))) => visit(own, row)?,
                None => visit(key, payload)?,
            };
            ended = flow.is_break();
            Ok(flow)
        })?;
        if ended {
            return Ok(());
        }
        for (own, row) in staged {
            if let Some(row) = row
                && visit(own, row)?.is_break()
            {
                break;
            }
        }
        Ok(())
    }
}
