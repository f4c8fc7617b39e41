//! A few rounds of every suite.

use loci_torture::suites::{crash, damage, faults, oracle};
use loci_torture::{Report, Rounds};

fn assert_kept(report: &Report) {
    let what = report
        .violations
        .iter()
        .map(|v| format!("round {}: {}", v.round, v.what));
    let what: Vec<String> = what.collect();
    assert!(
        what.is_empty(),
        "{} --seed {}: {what:#?}",
        report.suite,
        report.seed
    );
}

#[test]
fn a_power_failure_at_any_instant_leaves_what_was_acknowledged() {
    let rounds = Rounds::all(12, 11);
    let report = crash::run(&crash::CrashArgs {
        rounds,
        double: false,
    })
    .unwrap();
    assert_kept(&report);
    assert!(report.counters["images"] > 300, "{report:?}");
}

#[test]
fn a_second_power_failure_during_recovery_changes_nothing() {
    let rounds = Rounds::all(6, 12);
    let report = crash::run(&crash::CrashArgs {
        rounds,
        double: true,
    })
    .unwrap();
    assert_kept(&report);
    assert!(report.counters["images"] > 150, "{report:?}");
}

#[test]
fn a_file_operation_that_fails_loses_nothing() {
    let rounds = Rounds::all(20, 13);
    let report = faults::run(&faults::FaultsArgs { rounds }).unwrap();
    assert_kept(&report);
    assert!(report.counters["struck"] > 10, "{report:?}");
}

#[test]
fn a_store_says_what_the_model_says() {
    let (rounds, replay) = (Rounds::all(3, 14), None);
    let report = oracle::run(&oracle::OracleArgs { rounds, replay }).unwrap();
    assert_kept(&report);
    assert!(report.counters["restarts"] > 6, "{report:?}");
}

#[test]
fn a_store_that_is_damaged_is_silently_wrong_nowhere() {
    let report = damage::run(&damage::DamageArgs {
        rounds: Rounds::all(12, 15),
        program: Some(env!("CARGO_BIN_EXE_loci-torture").into()),
        keep: None,
    })
    .unwrap();
    assert_kept(&report);
    assert!(report.counters["found"] > 2, "{report:?}");
}
