//! Writing the database anew: what redb keeps free inside its file is given back to the disk.
//!
//! A copy is made from a snapshot while readers and writers go on; the committing thread notes which
//! rows change meanwhile, brings the copy up to date with those in the end, and gives it the
//! database's name. Readers that hold an older view keep the old file until they let go of it.
//!
//! At every moment one complete database has the name: a crash leaves the old one or the new one.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Durability, WriteTransaction};

use crate::database_file::{Database, DatabaseFile, Failure};
use crate::disk::Disk;
use crate::envelope;
use crate::error::StoreError;
use crate::keys::Key;
use crate::limits::REWRITE_BYTES_MAX;
use crate::rows::{damaged, guarded};
use crate::snapshot::Tables;
use crate::tables::Table;

/// Name of a copy that is being made.
pub(crate) const NAME_NEW: &str = "loci.redb.new";

/// Rows that changed: table and key.
pub(crate) type Noted = BTreeSet<(Table, Key)>;

/// A copy of the database that is not the database yet. Dropped before, its file is deleted.
pub(crate) struct Rewritten {
    database: Option<Database>,
    failure: Arc<Failure>,
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    name: &'static str,
    placed: bool,
}

/// Told (rows copied, rows in all); break ends the copy.
pub(crate) type Report<'r> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'r;

impl Rewritten {
    /// An empty copy of the database `name` in `folder`.
    pub(crate) fn create(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        name: &'static str,
        cache_bytes: usize,
    ) -> Result<Rewritten, StoreError> {
        let path = folder.join(NAME_NEW);
        let failed = || StoreError::io(format!("creating {}", path.display()));
        if disk.exists(&path).map_err(failed())? {
            disk.remove(&path).map_err(failed())?;
        }
        let (file, failure) = DatabaseFile::new(disk.open(&path).map_err(failed())?);
        let mut copy = Rewritten {
            database: None,
            failure,
            disk: Arc::clone(disk),
            folder: folder.to_path_buf(),
            name,
            placed: false,
        };
        copy.database = Some(Database::open(file, cache_bytes)?);
        copy.failure.check()?;
        Ok(copy)
    }

    fn database(&self) -> Result<&Database, StoreError> {
        self.database.as_ref().ok_or(StoreError::Closed)
    }

    /// Copies every row of `tables`, a batch at a time. `false`: `report` ended it. `verified`: a row that is damaged
    /// ends it, too.
    pub(crate) fn fill(
        &mut self,
        tables: &Tables,
        verified: bool,
        report: &mut Report<'_>,
    ) -> Result<bool, StoreError> {
        let total = tables.len()?;
        let (mut table, mut after, mut done) = (0, None, 0);
        while let Some(&of) = Table::ALL.get(table) {
            let transaction = self.database()?.begin_write()?;
            let batch = guarded(of, || {
                copy_batch(tables, of, after.as_deref(), verified, &transaction)
            })?;
            commit(transaction, Durability::None)?;
            done += batch.rows;
            match batch.last {
                Some(last) => after = Some(last),
                None => (table, after) = (table + 1, None),
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
        self.failure.keep_unsynced();
        self.failure.check()?;
        Ok(true)
    }

    /// Copies the rows that were noted from `tables`, durably.
    pub(crate) fn catch_up(&self, tables: &Tables, noted: &Noted) -> Result<(), StoreError> {
        let transaction = self.database()?.begin_write()?;
        for table in Table::ALL {
            let of = tables.of(table);
            let mut to = transaction.open_table(table.definition())?;
            let first = (table, Key::new());
            for (_, key) in noted.range(first..).take_while(|(of, _)| *of == table) {
                match of.get(key.as_slice())? {
                    Some(value) => to.insert(key.as_slice(), value.value())?,
                    None => to.remove(key.as_slice())?,
                };
            }
        }
        commit(transaction, Durability::Immediate)?;
        self.failure.check()
    }

    /// Gives the copy, which is durable, the database's name.
    pub(crate) fn take_place(mut self) -> Result<(Database, Arc<Failure>), StoreError> {
        let (from, to) = (self.folder.join(NAME_NEW), self.folder.join(self.name));
        self.disk
            .rename(&from, &to)
            .and_then(|()| self.disk.sync_folder(&self.folder))
            .map_err(StoreError::io(format!("renaming {}", from.display())))?;
        self.placed = true;
        let database = self.database.take().ok_or(StoreError::Closed)?;
        Ok((database, Arc::clone(&self.failure)))
    }
}

impl Drop for Rewritten {
    fn drop(&mut self) {
        if !self.placed {
            drop(self.database.take());
            // What cannot be removed is deleted by the next open.
            let _ = self.disk.remove(&self.folder.join(NAME_NEW));
        }
    }
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
    verified: bool,
    transaction: &WriteTransaction,
) -> Result<Batch, StoreError> {
    use std::ops::Bound::{Excluded, Unbounded};
    let mut to = transaction.open_table(table.definition())?;
    let from = after.map_or(Unbounded, Excluded);
    let (mut rows, mut bytes) = (0, 0);
    for row in tables.of(table).range::<&[u8]>((from, Unbounded))? {
        let (key, value) = row?;
        if verified {
            envelope::open(table.number(), key.value(), value.value())
                .map_err(|why| damaged(table, key.value(), &why))?;
        }
        to.insert(key.value(), value.value())?;
        rows += 1;
        bytes += key.value().len() + value.value().len();
        if bytes >= REWRITE_BYTES_MAX {
            let last = Some(key.value().to_vec());
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
