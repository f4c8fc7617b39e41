//! The hannoy crate: a graph whose nodes are values of LMDB, a mapped B-tree on disk.
//!
//! Full precision. The environment is in a temporary folder; searches share one read transaction.
//!
//! Start reading at [`Hannoy::build`].

use std::path::Path;

use ::hannoy::distances::Cosine;
use ::hannoy::{Database, Reader, Writer};
use anyhow::{Context, Result};
use heed::{CommitOrAbort, Env, EnvOpenOptions, RoTxn, WithTls};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tempfile::TempDir;

use crate::data::{Data, K};
use crate::system::{EF_CONSTRUCTION, M, System};

/// Links of a node in layer 0.
const M_LAYER_0: usize = 2 * M;
/// The only index of the environment.
const INDEX: u16 = 0;
/// Seed of the random levels of nodes.
const SEED: u64 = 42;

/// A committed index and a read transaction.
pub(crate) struct Hannoy {
    reader: Reader<'static, Cosine>,
    transaction: RoTxn<'static, WithTls>,
    bytes: u64,
    /// Removed with the environment in it when this is dropped.
    _folder: TempDir,
}

impl Hannoy {
    /// Adds all vectors, links them, and commits.
    pub(crate) fn build(data: &Data) -> Result<Hannoy> {
        let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
        // Read transactions borrow the environment. It is opened once and needed until the process ends.
        let env: &'static Env = Box::leak(Box::new(open(folder.path(), data)?));
        let database = fill(env, data)?;
        let transaction = env.read_txn().context("cannot read the environment")?;
        let reader =
            Reader::open(&transaction, INDEX, database).context("cannot read the index")?;
        Ok(Hannoy {
            reader,
            transaction,
            bytes: env.real_disk_size().context("cannot read the size")?,
            _folder: folder,
        })
    }
}

/// An empty environment whose map holds the vectors and twice as much for links and free pages.
fn open(folder: &Path, data: &Data) -> Result<Env> {
    let vectors = data.count() * data.dim * size_of::<f32>();
    let map_size = (3 * vectors + (1 << 30)).next_multiple_of(1 << 20);
    let mut options = EnvOpenOptions::new();
    options.map_size(map_size);
    // SAFETY: the folder was just created for this environment; nobody else opens or changes its files,
    // in this process or another, and it is opened once.
    #[expect(
        unsafe_code,
        reason = "heed has no safe function that opens an environment"
    )]
    let env = unsafe { options.open(folder) };
    env.context("cannot open an LMDB environment")
}

fn fill(env: &'static Env, data: &Data) -> Result<Database<'static, Cosine>> {
    let database = create(env).context("cannot create a database")?;
    let mut write = env.write_txn().context("cannot write")?;
    let writer = Writer::new(database, INDEX, data.dim);
    for (row, vector) in (0..).zip(data.vectors()) {
        writer
            .add_item(&mut write, row, vector)
            .with_context(|| format!("cannot add row {row}"))?;
    }
    let mut levels = StdRng::seed_from_u64(SEED);
    writer
        .builder(&mut levels)
        .ef_construction(EF_CONSTRUCTION)
        .build::<M, M_LAYER_0>(&mut write)
        .context("cannot link the vectors")?;
    write.commit().context("cannot commit")?;
    Ok(database)
}

fn create(env: &'static Env) -> heed::Result<Database<'static, Cosine>> {
    let write = env.write_txn()?;
    let created = env.create_databases_and_commit(write, |opener, write| {
        let database = opener.create_database(write, None)?;
        heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(database))
    })?;
    Ok(created.unwrap_commit())
}

impl System for Hannoy {
    fn search(&mut self, query: &[f32], ef: usize, hits: &mut Vec<u32>) -> Result<()> {
        let found = self
            .reader
            .nns(K)
            .ef_search(ef)
            .by_vector(&self.transaction, query)?;
        hits.extend(found.into_nns().iter().map(|&(row, _)| row));
        Ok(())
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.bytes)
    }
}
