//! `loci check`: checks all data of a store for damage.

use locidb::{Error, Finding};

use super::open;
use crate::CommandStatus;
use crate::args::Check;
use crate::output::{Printer, note};
use crate::progress::Bar;

pub(crate) fn run(args: &Check, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    let mut findings: Vec<Finding> = Vec::new();
    let bar = Bar::new();
    let checked = database.check(args.deep, &bar, &mut |finding| findings.push(finding));
    drop(bar);
    for finding in &findings {
        if out.json {
            out.json_line(finding)?
        } else {
            out.line(&format_finding(finding))?
        }
    }
    if let Err(Error::Interrupted) = checked {
        note!("loci: stopped before the end; the findings so far are listed");
        return Ok(CommandStatus::ProblemsFound);
    }
    checked?;
    if args.repair && !findings.is_empty() {
        let rebuilt = database.repair()?;
        let at_open = database.damaged().iter();
        let at_open = at_open.filter(|of| of.segment.is_some()).count();
        let at_open = at_open + database.lost().len();
        note!(
            "loci: {} damaged parts rebuilt; check again to see what is left",
            rebuilt + at_open
        );
    }
    database.close();
    if findings.is_empty() && !out.json {
        out.line("nothing is wrong")?;
    }
    Ok(if findings.is_empty() {
        CommandStatus::Success
    } else {
        CommandStatus::ProblemsFound
    })
}

fn format_finding(finding: &Finding) -> String {
    let Finding {
        file,
        section,
        key,
        finding,
    } = finding;
    if key.is_empty() {
        format!("{file}, {section}: {finding}")
    } else {
        format!("{file}, {section}, key {key}: {finding}")
    }
}
