//! Copying the database to a new file, which frees the disk space that redb retains inside the old one.
//!
//! A copy is made from a snapshot while readers and writers go on; the committing thread notes which
//! rows change meanwhile, brings the copy up to date with those in the end, and gives it the
//! database's name. Readers that hold an older view keep the old file until they let go of it.
//!
//! At every moment one complete database has the name: a crash leaves the old one or the new one.

use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Durability, ReadableTableMetadata, WriteTransaction};

use crate::database::file::{Database, DatabaseFile, WriteFailure};
use crate::database::pages;
use crate::database::read_tables::Tables;
use crate::database::verify::{OUT_OF_ORDER, Verifier};
use crate::error::StoreError;
use crate::files::disk::Disk;
use crate::files::names::DATABASE_COPY;
use crate::files::overlay::Overlay;
use crate::limits::REWRITE_BYTES_MAX;
use crate::progress::ProgressFn;
use crate::rows::envelope;
use crate::rows::keys::Key;
use crate::rows::tables::Table;
use crate::rows::{catch_redb_panic, damaged};

/// Bytes of pages that are kept cached while they are checked; each is read once.
const CHECK_CACHE_BYTES: usize = 16 << 20;

/// Rows that changed: table and key.
pub(crate) type ChangedRows = BTreeSet<(Table, Key)>;

/// A copy of the database that is not the database yet. Dropped before, its file is deleted.
pub(crate) struct DatabaseCopy {
    database: Option<Database>,
    failure: Arc<WriteFailure>,
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    name: &'static str,
    is_installed: bool,
}

impl DatabaseCopy {
    /// An empty copy of the database `name` in `folder`.
    pub(crate) fn create(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        name: &'static str,
        cache_bytes: usize,
    ) -> Result<DatabaseCopy, StoreError> {
        let path = folder.join(DATABASE_COPY);
        let failed = || StoreError::io(format!("creating {}", path.display()));
        if disk.exists(&path).map_err(failed())? {
            disk.remove(&path).map_err(failed())?;
        }
        let (file, failure) = DatabaseFile::new(disk.open(&path).map_err(failed())?);
        let mut copy = DatabaseCopy {
            database: None,
            failure,
            disk: Arc::clone(disk),
            folder: folder.to_path_buf(),
            name,
            is_installed: false,
        };
        copy.database = Some(Database::open(file, cache_bytes)?);
        copy.failure.check()?;
        Ok(copy)
    }

    fn database(&self) -> Result<&Database, StoreError> {
        self.database.as_ref().ok_or(StoreError::Closed)
    }

    /// Copies every row of `tables`, a batch at a time. `false`: `report` ended it. What `verifier` finds ends it, too.
    pub(crate) fn copy_rows(
        &mut self,
        tables: &Tables,
        mut verifier: Option<&mut Verifier<'_>>,
        report: &mut ProgressFn<'_>,
    ) -> Result<bool, StoreError> {
        let total = tables.len()?;
        let (mut table, mut after, mut done, mut in_table) = (0, None, 0, 0);
        while let Some(&current_table) = Table::ALL.get(table) {
            let transaction = self.database()?.begin_write()?;
            let batch = catch_redb_panic(current_table, || {
                let verifier = verifier.as_deref_mut();
                copy_batch(
                    tables,
                    current_table,
                    after.as_deref(),
                    verifier,
                    &transaction,
                )
            })?;
            commit(transaction, Durability::None)?;
            done += batch.rows;
            in_table += batch.rows;
            match batch.last {
                Some(last) => after = Some(last),
                None => {
                    if let Some(verifier) = &mut verifier {
                        verifier.finish_table(current_table)?;
                    }
                    // A tree that lost some is not written anew without them.
                    let len = catch_redb_panic(current_table, || {
                        Ok(tables.table(current_table).len()?)
                    })?;
                    if in_table != len {
                        let why = format!("{in_table} rows can be read of {len}");
                        return Err(StoreError::DamagedTable {
                            table: current_table.name(),
                            why,
                        });
                    }
                    (table, after, in_table) = (table + 1, None, 0);
                }
            }
            self.failure.check()?;
            if report(done, total).is_break() {
                return Ok(false);
            }
        }
        commit(self.database()?.begin_write()?, Durability::Immediate)?;
        // The file was grown ahead of what it holds; nobody reads it yet.
        if let Some(database) = &mut self.database {
            database.compact().map_err(redb::Error::from)?;
        }
        self.failure.buffer_unsynced();
        self.failure.check()?;
        Ok(true)
    }

    /// Reads the copy, which nobody has yet, whole: every page of it against the checksum that redb wrote beside it.
    pub(crate) fn verify_copy(&mut self, rows: u64) -> Result<(), StoreError> {
        let database = self.database.as_mut().ok_or(StoreError::Closed)?;
        check_pages(database)?;
        let copied = Tables::open(database)?.len()?;
        if copied == rows {
            self.failure.check()
        } else {
            Err(StoreError::Io {
                what: "reading the copy back".into(),
                source: io::Error::other(format!("{copied} rows of {rows} are there")),
            })
        }
    }

    /// Copies the rows that were noted from `tables`, durably.
    pub(crate) fn catch_up(
        &self,
        tables: &Tables,
        changed_rows: &ChangedRows,
    ) -> Result<(), StoreError> {
        let transaction = self.database()?.begin_write()?;
        for table in Table::ALL {
            let source = tables.table(table);
            let mut to = transaction.open_table(table.definition())?;
            let first = (table, Key::new());
            for (_, key) in changed_rows
                .range(first..)
                .take_while(|(of, _)| *of == table)
            {
                match source.get(key.as_slice())? {
                    Some(value) => to.insert(key.as_slice(), value.value())?,
                    None => to.remove(key.as_slice())?,
                };
            }
        }
        commit(transaction, Durability::Immediate)?;
        self.failure.check()
    }

    /// Gives the copy, which is durable, the database's name.
    pub(crate) fn install(mut self) -> Result<(Database, Arc<WriteFailure>), StoreError> {
        let (from, to) = (self.folder.join(DATABASE_COPY), self.folder.join(self.name));
        self.disk
            .rename(&from, &to)
            .and_then(|()| self.disk.sync_folder(&self.folder))
            .map_err(StoreError::io(format!("renaming {}", from.display())))?;
        self.is_installed = true;
        let database = self.database.take().ok_or(StoreError::Closed)?;
        Ok((database, Arc::clone(&self.failure)))
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        if !self.is_installed {
            drop(self.database.take());
            // What cannot be removed is deleted by the next open.
            let _ = self.disk.remove(&self.folder.join(DATABASE_COPY));
        }
    }
}

/// Reads every page of a database that nobody else has open, against the checksums in its tree.
pub(crate) fn check_pages(database: &mut Database) -> Result<(), StoreError> {
    let wrong = |why: String| StoreError::DamagedDatabase { why };
    let checked = catch_unwind(AssertUnwindSafe(|| database.check_integrity()));
    match checked {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err(wrong("a page is not what was written".into())),
        Ok(Err(error @ redb::DatabaseError::Storage(redb::StorageError::Io(_)))) => {
            Err(error.into())
        }
        Ok(Err(error)) => Err(wrong(error.to_string())),
        Err(_) => Err(wrong("its tree cannot be read".into())),
    }
}

/// [`check_pages`] of a database's file, which is not written to, while nobody else writes to it.
pub(crate) fn check_file(disk: &Arc<dyn Disk>, path: &Path) -> Result<(), StoreError> {
    let file = Overlay::open_in_memory(&**disk, path);
    let file = file.map_err(StoreError::io(format!("reading {}", path.display())))?;
    let (file, failure) = DatabaseFile::new(file);
    let mut database = Database::open(file, CHECK_CACHE_BYTES)?;
    check_pages(&mut database)?;
    failure.check()
}

/// Reads the pages with rows of a file that redb cannot be given, while nobody writes to it.
pub(crate) fn check_file_rows(disk: &Arc<dyn Disk>, path: &Path) -> Result<(), StoreError> {
    let file = Overlay::open_in_memory(&**disk, path);
    let file = file.map_err(StoreError::io(format!("reading {}", path.display())))?;
    pages::verify_user_tables(&*file)
}

struct Batch {
    rows: u64,
    /// The key to go on after; `None` at the end of the table.
    last: Option<Key>,
}

/// Copies rows of one table, as they are, until a batch is full.
fn copy_batch(
    tables: &Tables,
    table: Table,
    after: Option<&[u8]>,
    mut verifier: Option<&mut Verifier<'_>>,
    transaction: &WriteTransaction,
) -> Result<Batch, StoreError> {
    use std::ops::Bound::{Excluded, Unbounded};
    let mut to = transaction.open_table(table.definition())?;
    let from = after.map_or(Unbounded, Excluded);
    let (mut rows, mut bytes) = (0, 0);
    let mut last = after.map(<[u8]>::to_vec);
    for row in tables.table(table).range::<&[u8]>((from, Unbounded))? {
        let (key, value) = row?;
        let (key, value) = (key.value(), value.value());
        if last.as_deref().is_some_and(|last| last >= key) {
            return Err(damaged(table, key, OUT_OF_ORDER));
        }
        let last = last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        if let Some(verifier) = &mut verifier {
            let payload = envelope::open(table.number(), key, value);
            verifier.verify_row(
                table,
                key,
                payload.map_err(|why| damaged(table, key, &why))?,
            )?;
        }
        to.insert(key, value)?;
        rows += 1;
        bytes += key.len() + value.len();
        if bytes >= REWRITE_BYTES_MAX {
            let last = Some(std::mem::take(last));
            return Ok(Batch { rows, last });
        }
    }
    Ok(Batch { rows, last: None })
}

fn commit(mut transaction: WriteTransaction, durability: Durability) -> Result<(), StoreError> {
    transaction.set_quick_repair(matches!(durability, Durability::Immediate));
    transaction.set_durability(durability)?;
    transaction.commit()?;
    Ok(())
}
