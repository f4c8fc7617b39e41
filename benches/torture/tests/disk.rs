//! The suites on a real disk, in small.

use loci_torture::report::{Report, Rounds};
use loci_torture::suites::{disk, mixed, rates};

fn expect_no_violation(report: &Report) {
    assert!(report.violations.is_empty(), "{report:#?}");
}

#[test]
fn deleted_documents_give_their_disk_back() {
    let args = disk::DiskArgs {
        seed: 1,
        mib: 2,
        folder: None,
    };
    expect_no_violation(&disk::run(&args).unwrap());
}

#[test]
fn writers_share_syncs() {
    let args = rates::RatesArgs {
        rounds: Rounds::all(10, 1),
        writers: 16,
        folder: None,
    };
    expect_no_violation(&rates::run(&args).unwrap());
}

#[test]
fn searches_writes_and_compaction_go_together() {
    let args = mixed::MixedArgs {
        cache_mib: 8,
        seed: 1,
        minutes: 0.05,
        warm_up: 0.3,
        settle: 5.0,
        slope_max: None,
        threads: 4,
        compact_every: 1,
        steady: true,
        folder: None,
    };
    let report = mixed::run(&args).unwrap();
    expect_no_violation(&report);
    assert!(report.counters["searches_compacting"] > 0, "{report:#?}");
}
