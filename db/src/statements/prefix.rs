//! Keys that start alike.

use std::ops::ControlFlow;

use loci_storage::{DocumentId, Rows, StoreError, Table, keys};

/// What `parse` makes of the rest of each key that starts with `prefix`, in order of the keys.
pub(crate) fn ids_after<T>(
    rows: &dyn Rows,
    table: Table,
    prefix: &[u8],
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    let mut found = Vec::new();
    let end = keys::after_prefix(prefix);
    rows.scan(table, prefix, end.as_deref(), &mut |key, _| {
        found.extend(key.get(prefix.len()..).and_then(&parse));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// The documents whose ids follow `prefix`.
pub(crate) fn documents_after(
    rows: &dyn Rows,
    table: Table,
    prefix: &[u8],
) -> Result<Vec<DocumentId>, StoreError> {
    ids_after(rows, table, prefix, |rest| {
        keys::u64_at(rest, 0).map(DocumentId)
    })
}
