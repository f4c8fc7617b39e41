//! Exports: a committed state as lines of JSON, and imports, which build a store from them.
//!
//! An export has the rows, table by table and key by key, after a header with the next ids. It has no indexes: an import
//! rebuilds them from the rows. The last line counts and hashes the lines before it, so an import refuses an export that
//! was cut or changed. `docs/format.md` describes the lines.
//!
//! Always true: equal states have equal exports; a store that is imported from an export has that same export. An
//! import accepts any bytes: it refuses an invalid line with its number.
//!
//! Start reading at [`Store::export`](crate::Store::export) and [`Store::import`](crate::Store::import);
//! [`ImportFolder`] is where an import builds its store.

mod exporter;
mod import_folder;
mod importer;
mod line;
mod line_reader;
mod payload;

pub use import_folder::ImportFolder;

/// Rows between two reports of progress.
const ROWS_PER_REPORT: u64 = 4096;
