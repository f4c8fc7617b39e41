//! Exporting a database as lines of JSON, and importing it.
//!
//! Start reading at [`Database::export`] and [`Database::import`].

use std::io::{BufRead, Write};
use std::path::Path;

use loci_storage::StoreError;
use loci_storage::export::ImportFolder;

use crate::analysis::graph;
use crate::database::handle::{Database, Options};
use crate::error::Error;
use crate::progress::Progress;

impl Database {
    /// Writes the newest committed state to `out` as JSON Lines, complete: every row, under a header, with a last
    /// line that counts and hashes them. Equal states have equal exports. Segments are left out, as they are built
    /// from rows. `docs/format.md` documents the lines. Returns how many rows there are.
    ///
    /// Searches and writes go on.
    ///
    /// # Errors
    /// [`Error::Interrupted`] when `progress` says so; what is damaged in the store, and what `out` says.
    pub fn export(&self, out: &mut dyn Write, progress: &dyn Progress) -> Result<u64, Error> {
        let mut report = |done, total| progress.report("exporting rows", done, total);
        let exported = self.inner().store.export(out, &mut report)?;
        exported.ok_or(Error::Interrupted)
    }

    /// Creates a database from `lines`, an export, in the folder `to`, which is missing or empty, and opens it as
    /// `options` say. It has the rows of the one that was exported, all ids included; its segments are built from
    /// them, its graph is ranked, and it is checked in full before it is installed. Until then `to` holds no
    /// database; after an error or a crash the same call starts again.
    ///
    /// # Errors
    /// [`StoreError::Export`] for lines that are no export, or not a whole one; [`StoreError::Invalid`] where `to`
    /// holds anything, or the rows do not agree with each other; [`Error::Interrupted`] when `progress` says so.
    pub fn import(
        lines: &mut dyn BufRead,
        to: impl AsRef<Path>,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<Database, Error> {
        let target = ImportFolder::prepare(&options.disk, to.as_ref())?;
        match import_into(lines, &target.store_path(), options, progress) {
            Ok(()) => target.install()?,
            Err(error) => {
                target.discard();
                return Err(error);
            }
        }
        Database::open_with(to, options)
    }
}

/// Creates the database of an export in a folder, and checks it.
fn import_into(
    lines: &mut dyn BufRead,
    folder: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let import_options = Options {
        create: true,
        ..options.clone()
    };
    let database = Database::open_with(folder, &import_options)?;
    let mut report = |done, total| progress.report("importing rows", done, total);
    let imported = database.inner().store.import(lines, &mut report)?;
    imported.ok_or(Error::Interrupted)?;
    graph::update(database.inner(), progress)?;
    database.flush()?;
    let (mut count, mut first) = (0, None);
    database.check(true, progress, &mut |finding| {
        count += 1;
        first.get_or_insert(finding);
    })?;
    if let Some(first) = first {
        return Err(Error::Store(StoreError::Invalid(format!(
            "the export contradicts itself in {count} places; the first: {} {} {}",
            first.section, first.key, first.finding
        ))));
    }
    database.close();
    Ok(())
}
