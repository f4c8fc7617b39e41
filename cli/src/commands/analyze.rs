//! `loci analyze`: PageRank of concepts, their communities, and a digest of each.

use locidb::{AnalysisReport, CentralConcept, Error};

use super::open;
use crate::CommandStatus;
use crate::args::Analyze;
use crate::output::{Printer, note};
use crate::progress::Bar;

pub(crate) fn run(args: &Analyze, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    let bar = Bar::new();
    let analysed = database.analyse(&bar);
    drop(bar);
    let central = match (&analysed, args.central) {
        (Ok(_), Some(limit)) => database.central_concepts(limit)?,
        _ => Vec::new(),
    };
    database.close();
    let analysed = match analysed {
        Err(Error::Interrupted) => {
            note!("loci: stopped before the end; the previous analysis is unchanged");
            return Ok(CommandStatus::ProblemsFound);
        }
        analysed => analysed?,
    };
    if out.json {
        out.json_line(&analysed)?;
        for concept in &central {
            out.json_line(concept)?;
        }
        return Ok(CommandStatus::Success);
    }
    out.line(&format_analysis(&analysed))?;
    if !central.is_empty() {
        let row = |of: &CentralConcept| vec![of.name.clone(), format!("{:.0}", of.betweenness)];
        let rows: Vec<_> = central.iter().map(row).collect();
        out.table(&["concept", "betweenness"], &rows)?;
    }
    Ok(CommandStatus::Success)
}

fn format_analysis(analysed: &AnalysisReport) -> String {
    let by_level: Vec<String> = analysed.communities.iter().map(usize::to_string).collect();
    let communities = if by_level.is_empty() {
        "no communities".into()
    } else {
        format!(
            "communities by level, finest first: {} (modularity {:.3})",
            by_level.join(", "),
            analysed.modularity
        )
    };
    format!(
        "{} concepts, {} relations; {communities}; {} digests written, {} unchanged",
        analysed.concepts, analysed.relations, analysed.digests_written, analysed.digests_kept
    )
}
