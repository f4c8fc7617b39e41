//! Checking the pages of the database's file while the store is open.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Store;
use super::options::IndexFactory;
use crate::commit::host::{Host, Job};
use crate::database::copy::{check_file, check_file_rows};
use crate::error::StoreError;
use crate::files::disk::Disk;
use crate::files::names::DATABASE;

impl<V: IndexFactory> Store<V> {
    /// What is wrong where the database's file lists its free pages, as far as anybody looked. Nothing is written to such
    /// a file: a store is opened to be read only, or writing ends.
    pub fn damaged_free_pages(&self) -> Option<String> {
        let database = self.shared.database();
        database.damaged_free_pages().map(str::to_owned)
    }

    /// Reads every page of the database's file against the checksums in its tree. Writers wait meanwhile. After a commit
    /// that failed there are none, and it is what would be found if the store were opened again.
    ///
    /// # Errors
    /// [`StoreError::DamagedFreePages`], after which nothing is written; [`StoreError::DamagedDatabase`].
    pub(crate) fn check_pages(&self) -> Result<(), StoreError> {
        if let Some(why) = self.damaged_free_pages() {
            return Err(StoreError::DamagedFreePages { why });
        }
        self.with_writes_paused(check_file)
    }

    /// As [`Store::check_pages`], for a copy: where only the list of free pages is damaged, rows can be copied.
    pub(crate) fn check_row_pages(&self) -> Result<(), StoreError> {
        match self.check_pages() {
            Err(StoreError::DamagedFreePages { .. })
                if self.shared.database().has_read_all_rows() =>
            {
                Ok(())
            }
            Err(StoreError::DamagedFreePages { .. }) => self.with_writes_paused(check_file_rows),
            checked => checked,
        }
    }

    /// What `read` says of the database's file.
    fn with_writes_paused(
        &self,
        read: fn(&Arc<dyn Disk>, &Path) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let files = &self.shared.files;
        let (disk, path) = (Arc::clone(&files.disk), files.folder.join(DATABASE));
        let database = self.shared.database();
        let slot = Arc::new(Mutex::new(Ok(())));
        let result = Arc::clone(&slot);
        let work = move || {
            let checked = read(&disk, &path);
            if let Err(StoreError::DamagedFreePages { why }) = &checked {
                database.refuse_commits(why);
            }
            *result.lock() = checked;
        };
        let outcome = self.submit(|done| Job::RunExclusive {
            work: Box::new(work),
            done,
        });
        match outcome {
            Ok(_) => {}
            Err(StoreError::ReadOnly(_)) => return read(&files.disk, &files.folder.join(DATABASE)),
            Err(error) => return Err(error),
        }
        std::mem::replace(&mut *slot.lock(), Ok(()))
    }
}
