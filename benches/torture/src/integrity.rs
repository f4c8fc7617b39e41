//! Checks of a whole store that need no model: its counters, and a deep check.

use anyhow::{Result, ensure};
use locidb::{Database, NoProgress, Stats};

/// Fails unless a recount gives the store's counters; returns them.
pub fn verify_counts(database: &Database) -> Result<Stats> {
    let (stats, counted) = database.recount()?;
    let differences = counted.differences(&stats);
    ensure!(
        differences.is_empty(),
        "recount: {}",
        differences.join("; ")
    );
    Ok(stats)
}

/// Fails if a deep check finds anything but what was repaired when the store was opened.
///
/// # Errors
/// The findings.
pub fn verify_integrity(database: &Database) -> Result<()> {
    let mut findings = Vec::new();
    database.check(true, &NoProgress, &mut |finding| findings.push(finding))?;
    // An injected fault may occur during the check.
    findings.retain(|finding| {
        let why = &finding.finding;
        !why.starts_with("built again when") && !why.contains("injected")
    });
    ensure!(findings.is_empty(), "deep check: {findings:?}");
    Ok(())
}
