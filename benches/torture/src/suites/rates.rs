//! What durable writes cost: commits and syncs of one writer and of many, beside redb alone.
//!
//! The three kinds of commit that are compared take turns, so that what else the disk does falls on
//! all alike: one small document in a store, one small row in redb as the store commits it (quick
//! repair, so two-phase), one small row as redb commits by default; and a bare sync of one page.
//!
//! Promises: one writer costs as many syncs a document as redb's own commit of the same kind, and
//! many writers less than one sync a document.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use locidb::{Database, Options};
use redb::TableDefinition;

use crate::bulk::{self, DIM, SMALL};
use crate::counting::CountingDisk;
use crate::report::{Report, ReportBuilder, Rounds};

const TABLE: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");
/// Bytes of a small row.
const ROW_LEN: usize = 256;

/// What to run.
#[derive(Clone, Debug, clap::Args)]
pub struct RatesArgs {
    /// Rounds: commits of each kind that are compared
    #[command(flatten)]
    pub rounds: Rounds,
    /// Writers beside one
    #[arg(long, default_value_t = 64)]
    pub writers: u64,
    /// Where the files lie; else where temporary files do
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Runs it.
pub fn run(args: &RatesArgs) -> Result<Report> {
    let mut running = ReportBuilder::start("rates", args.rounds.seed);
    let rounds = args.rounds.numbers(500);
    let result = compare(args, &rounds, &mut running).and_then(|()| {
        let commits = rounds.end - rounds.start;
        writers(args, 1, commits, "1_writer", &mut running)?;
        writers(
            args,
            args.writers,
            commits * 8,
            "many_writers",
            &mut running,
        )
    });
    running.round(rounds.start, result);
    Ok(running.finish())
}

/// A temporary folder on the disk that is asked for.
pub(crate) fn folder(at: Option<&PathBuf>) -> Result<tempfile::TempDir> {
    Ok(match at {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    })
}

fn store(folder: &std::path::Path) -> Result<(Database, CountingDisk)> {
    let disk = CountingDisk::default();
    let options = Options {
        disk: Arc::new(disk.clone()),
        ..Options::default()
    };
    let database = Database::open_with(folder.join("store"), &options)?;
    database.use_provided_vectors("torture", DIM)?;
    Ok((database, disk))
}

fn compare(
    args: &RatesArgs,
    rounds: &std::ops::Range<u64>,
    running: &mut ReportBuilder,
) -> Result<()> {
    let folder = folder(args.folder.as_ref())?;
    let (database, disk) = store(folder.path())?;
    let quick = redb::Database::create(folder.path().join("quick.redb"))?;
    let default = redb::Database::create(folder.path().join("default.redb"))?;
    let page = File::create(folder.path().join("page"))?;
    let mut took: [Vec<u64>; 4] = Default::default();
    let mut syncs = 0;
    for number in rounds.clone() {
        let document = bulk::document(number, args.rounds.seed, SMALL);
        let before = disk.syncs();
        let started = Instant::now();
        database.write(move |tx| tx.put_document(document))?;
        took[0].push(started.elapsed().as_micros() as u64);
        syncs += disk.syncs() - before;
        took[1].push(commit_row(&quick, number, true)?);
        took[2].push(commit_row(&default, number, false)?);
        let started = Instant::now();
        page.write_all_at(&[number as u8; 4096], 0)?;
        page.sync_data()?;
        took[3].push(started.elapsed().as_micros() as u64);
    }
    let names = [
        "document",
        "redb_quick_repair_row",
        "redb_default_row",
        "bare_sync",
    ];
    for (name, mut took) in names.into_iter().zip(took) {
        took.sort_unstable();
        running.count(&format!("{name}_us_p50"), took[took.len() / 2]);
        running.count(&format!("{name}_us_p99"), took[took.len() * 99 / 100]);
    }
    let count = rounds.end - rounds.start;
    running.count(
        "compared_syncs_per_1000_documents",
        syncs * 1000 / count.max(1),
    );
    Ok(())
}

fn commit_row(database: &redb::Database, number: u64, quick_repair: bool) -> Result<u64> {
    let started = Instant::now();
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(quick_repair);
    transaction
        .open_table(TABLE)?
        .insert(number, &[7u8; ROW_LEN][..])?;
    transaction.commit()?;
    Ok(started.elapsed().as_micros() as u64)
}

/// `writers` threads write `commits` documents, each waiting until its own is durable.
fn writers(
    args: &RatesArgs,
    writers: u64,
    commits: u64,
    name: &str,
    running: &mut ReportBuilder,
) -> Result<()> {
    let folder = folder(args.folder.as_ref())?;
    let (database, disk) = store(folder.path())?;
    let each = (commits / writers).max(1);
    let (started, before) = (Instant::now(), disk.syncs());
    let results: Vec<Result<(), locidb::Error>> = std::thread::scope(|scope| {
        let start = |writer: u64| {
            let database = &database;
            scope.spawn(move || {
                (0..each).try_for_each(|n| {
                    let document = bulk::document(writer * each + n, args.rounds.seed, SMALL);
                    database
                        .write(move |tx| tx.put_document(document))
                        .map(drop)
                })
            })
        };
        let threads: Vec<_> = (0..writers).map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
        threads
            .into_iter()
            .filter_map(|thread| join(thread).ok())
            .collect()
    });
    results.into_iter().collect::<Result<Vec<()>, _>>()?;
    let (took, syncs) = (started.elapsed().as_secs_f64(), disk.syncs() - before);
    let documents = writers * each;
    ensure!(
        database.stats().documents == documents,
        "{documents} were written"
    );
    running.count(
        &format!("{name}_documents_per_s"),
        (documents as f64 / took) as u64,
    );
    running.count(
        &format!("{name}_syncs_per_1000_documents"),
        syncs * 1000 / documents,
    );
    ensure!(
        writers == 1 || syncs < documents,
        "{syncs} syncs for {documents} documents of {writers} writers"
    );
    Ok(())
}
