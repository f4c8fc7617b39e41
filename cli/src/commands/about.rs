//! `loci about`: the release, its licence, and the notices of included software.

use serde_json::json;

use crate::CommandStatus;
use crate::output::Printer;

/// Notices of all crates in the binary; `cli/tests/notices.rs` checks and writes them.
const NOTICES: &str = include_str!("../../../THIRD-PARTY-NOTICES.txt");

pub(crate) fn run(out: &Printer) -> anyhow::Result<CommandStatus> {
    let (version, license) = (env!("CARGO_PKG_VERSION"), env!("CARGO_PKG_LICENSE"));
    if out.json {
        out.json_line(&json!({
            "about": { "name": "loci", "version": version, "license": license, "notices": NOTICES },
        }))?;
        return Ok(CommandStatus::Success);
    }
    out.line(&format!("loci {version}, licensed under {license}.\n"))?;
    out.line(NOTICES)?;
    Ok(CommandStatus::Success)
}
