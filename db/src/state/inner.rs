//! What all threads of an open database share: the store, the searcher, locks, and errors of the background.
//!
//! A thread that holds `switch_lock` may take `merge_lock`, never the other way round; `rebuild_lock` is taken alone.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use loci_models::Generator;
use loci_query::Searcher;
use loci_storage::segment::PartError;
use loci_storage::staging::{ManifestEdit, Staging};
use loci_storage::{Durability, Store, StoreError};
use parking_lot::Mutex;

use crate::error::Error;
use crate::state::factory::SnapshotFactory;
use crate::state::snapshot::DatabaseSnapshot;

pub(crate) struct Inner {
    pub(crate) store: Store<SnapshotFactory>,
    pub(crate) searcher: Searcher,
    /// Writes answers in words.
    pub(crate) generator: Option<Arc<dyn Generator>>,
    /// Held while segments are merged, so that one merge runs at a time.
    pub(crate) merge_lock: Mutex<()>,
    /// Held while the vector space changes.
    pub(crate) switch_lock: Mutex<()>,
    /// Held while damaged parts are rebuilt.
    pub(crate) rebuild_lock: Mutex<()>,
    /// Whether the database is being closed: work in the background stops.
    pub(crate) stop: AtomicBool,
    /// Texts that external models embedded.
    pub(crate) embedded_texts: AtomicU64,
    /// Why the last merge in the background failed.
    pub(crate) merge_error: Mutex<Option<String>>,
    /// Why not all damaged parts could be rebuilt.
    pub(crate) rebuild_error: Mutex<Option<String>>,
}

/// Notices that files of a store lose pages while they are read.
#[derive(Clone, Copy, Debug)]
pub struct PageWatch {
    lost_pages: u64,
}

impl Inner {
    pub(crate) fn new(
        store: Store<SnapshotFactory>,
        searcher: Searcher,
        generator: Option<Arc<dyn Generator>>,
    ) -> Inner {
        Inner {
            store,
            searcher,
            generator,
            merge_lock: Mutex::default(),
            switch_lock: Mutex::default(),
            rebuild_lock: Mutex::default(),
            stop: AtomicBool::new(false),
            embedded_texts: AtomicU64::new(0),
            merge_error: Mutex::default(),
            rebuild_error: Mutex::default(),
        }
    }

    /// What `read` returns of `view`; an error when pages of the view's files vanished before it returned, as it may
    /// have read zeros that nobody wrote.
    pub(crate) fn with_page_check<R>(
        &self,
        view: &DatabaseSnapshot,
        read: impl FnOnce() -> Result<R, Error>,
    ) -> Result<R, Error> {
        let result = catch_unwind(AssertUnwindSafe(read));
        view.snapshot().check_pages()?;
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Begins to notice files that lose pages.
    ///
    /// # Errors
    /// Where the newest view has one that has lost some.
    pub(crate) fn watch_pages(&self) -> Result<PageWatch, Error> {
        let lost_pages = self.store.lost_pages();
        self.store.latest_snapshot().snapshot().check_pages()?;
        Ok(PageWatch { lost_pages })
    }

    /// An error where a file lost pages since [`Inner::watch_pages`].
    pub(crate) fn check_pages(&self, watch: PageWatch) -> Result<(), Error> {
        // A cut within a page causes no fault, and is noticed here.
        self.store.latest_snapshot().snapshot().check_pages()?;
        if self.store.lost_pages() == watch.lost_pages {
            Ok(())
        } else {
            Err(lost_pages())
        }
    }

    /// As [`Store::edit`].
    pub(crate) fn edit<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, Error> {
        self.store.edit(work).map_err(Error::from_store_error)
    }

    /// As [`Store::write_with`].
    pub(crate) fn write<R: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut Staging<'_>) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, Error> {
        let written = self.store.write_with(durability, work);
        written.map_err(Error::from_store_error)
    }

    /// Changes the manifest in one commit.
    pub(crate) fn edit_manifest(&self, edits: Vec<ManifestEdit>) -> Result<(), Error> {
        self.edit(move |staging| {
            edits.into_iter().for_each(|edit| staging.edit(edit));
            Ok(())
        })
    }
}

/// The error for a file that lost pages, which may have been removed already.
fn lost_pages() -> Error {
    let name = "of a segment".to_owned();
    let source = PartError::LostPages;
    StoreError::Part { name, source }.into()
}
