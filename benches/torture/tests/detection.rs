//! Proof that what the suites compare with notices what it is there to notice.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

use loci_torture::check::ModelCheck;
use loci_torture::documents::document;
use loci_torture::faulty::{Failure, Fault, FaultyDisk};
use loci_torture::model::Model;
use loci_torture::ops::Change;
use loci_torture::sim::SimDisk;
use loci_torture::source::Source;
use loci_torture::world::{FOLDER, INLINE_LEN_MAX};
use locidb::storage::disk::{Disk, FileLock, NewFile, RandomAccessFile};
use locidb::storage::segment::PartBytes;
use locidb::{Database, Options, WriteTransaction};

/// A simulated disk that says that everything is synced, and syncs nothing.
#[derive(Debug)]
struct NonSyncingDisk(SimDisk);

#[derive(Debug)]
struct LyingFile(Box<dyn RandomAccessFile>);

impl Disk for NonSyncingDisk {
    fn exists(&self, path: &Path) -> std::io::Result<bool> {
        self.0.exists(path)
    }
    fn len(&self, path: &Path) -> std::io::Result<u64> {
        self.0.len(path)
    }
    fn create_folder(&self, path: &Path) -> std::io::Result<()> {
        self.0.create_folder(path)
    }
    fn sync_folder(&self, path: &Path) -> std::io::Result<()> {
        self.0.sync_folder(path)
    }
    fn names(&self, folder: &Path) -> std::io::Result<Vec<String>> {
        self.0.names(folder)
    }
    fn open(&self, path: &Path) -> std::io::Result<Box<dyn RandomAccessFile>> {
        Ok(Box::new(LyingFile(self.0.open(path)?)))
    }
    fn create(&self, path: &Path) -> std::io::Result<Box<dyn NewFile>> {
        self.0.create(path)
    }
    fn map(&self, path: &Path) -> std::io::Result<PartBytes> {
        self.0.map(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> std::io::Result<()> {
        self.0.remove(path)
    }
    fn lock(&self, path: &Path) -> std::io::Result<Option<Box<dyn FileLock>>> {
        self.0.lock(path)
    }
}

impl RandomAccessFile for LyingFile {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)
    }
    fn write(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, bytes)
    }
    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
}

fn put(seed: u32) -> Change {
    Change::Put {
        document: 1,
        seed,
        large: false,
    }
}

fn store(database: &Database, seed: u32) {
    let put = move |tx: &mut WriteTransaction<'_, '_>| {
        tx.put_document(document(1, seed, false, false)).map(drop)
    };
    database.write(put).unwrap();
}

fn options(disk: impl Disk) -> Options {
    Options {
        disk: Arc::new(disk),
        inline_len_max: INLINE_LEN_MAX,
        ..Options::default()
    }
}

/// Whether a power failure after two acknowledged writes leaves both.
fn survives(image: SimDisk) -> bool {
    let expected = Model::default().after(&[put(1), put(2)]);
    let options = Options {
        create: false,
        ..options(image)
    };
    // What such a disk leaves may be anything, and redb may panic over it.
    let compared = panic::catch_unwind(AssertUnwindSafe(|| {
        let database = Database::open_with(FOLDER, &options)?;
        ModelCheck::new(&database.snapshot(), &expected)?.check_all()
    }));
    compared.is_ok_and(|compared| compared.is_ok())
}

#[test]
fn a_disk_that_lies_about_syncs_is_found_out() {
    for lying in [false, true] {
        let disk = SimDisk::new();
        let options = if lying {
            options(NonSyncingDisk(disk.clone()))
        } else {
            options(disk.clone())
        };
        let database = Database::open_with(FOLDER, &options).unwrap();
        store(&database, 1);
        store(&database, 2);
        let images = (0..40).map(|seed| disk.crash_image(&mut Source::seeded(seed)));
        let lost = images.filter(|image| !survives(image.clone())).count();
        assert_eq!(lost > 0, lying, "{lost} of 40 images");
    }
}

/// Only a release build has anything that is not cached: with debug assertions redb reads all of a file
/// when it opens it.
#[test]
fn searches_go_on_after_a_failed_write_where_nothing_is_cached() {
    let disk = SimDisk::new();
    let database = Database::open_with(FOLDER, &options(disk.clone())).unwrap();
    let large = document(1, 1, true, false);
    database
        .write(move |tx| tx.put_document(large).map(drop))
        .unwrap();
    drop(database);
    let faults = FaultyDisk::new(Arc::new(disk), Arc::new(|_| ()));
    let database = Database::open_with(FOLDER, &options(faults.clone())).unwrap();
    let (fault, forever) = (Fault::Full, false);
    faults.arm(Some(Failure {
        at: 0,
        fault,
        forever,
    }));
    let new = document(2, 2, false, false);
    let failed = database.write(move |tx| tx.put_document(new).map(drop));
    assert!(failed.is_err() && faults.struck() == 1, "{failed:?}");
    let large = Change::Put {
        document: 1,
        seed: 1,
        large: true,
    };
    let (view, model) = (database.snapshot(), Model::default().after(&[large]));
    ModelCheck::new(&view, &model).unwrap().check_all().unwrap();
}

#[test]
fn a_store_that_differs_from_the_model_in_one_word_is_found_out() {
    let database = Database::open_with(FOLDER, &options(SimDisk::new())).unwrap();
    store(&database, 1);
    let view = database.snapshot();
    for (seed, same) in [(1, true), (2, false)] {
        let model = Model::default().after(&[put(seed)]);
        let compared = ModelCheck::new(&view, &model).and_then(|check| check.check_all());
        assert_eq!(compared.is_ok(), same, "{compared:?}");
    }
}
