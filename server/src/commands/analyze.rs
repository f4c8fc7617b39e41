//! `loci analyze`: PageRank of concepts, and their communities.

use locidb::{Analysed, Error};

use super::open;
use crate::Done;
use crate::args::Analyze;
use crate::output::Out;
use crate::progress::Bar;

pub(crate) fn run(args: &Analyze, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    let bar = Bar::new();
    let analysed = database.analyse(&bar);
    drop(bar);
    database.close();
    let analysed = match analysed {
        Err(Error::Interrupted) => {
            eprintln!("loci: stopped before the end; the analysis before stays");
            return Ok(Done::Wrong);
        }
        analysed => analysed?,
    };
    if out.json {
        out.json_line(&analysed)?;
    } else {
        out.line(&told(&analysed))?;
    }
    Ok(Done::Well)
}

fn told(analysed: &Analysed) -> String {
    let by_level: Vec<String> = analysed.communities.iter().map(usize::to_string).collect();
    let communities = match by_level.is_empty() {
        true => "no communities".into(),
        false => format!(
            "communities by level, finest first: {} (modularity {:.3})",
            by_level.join(", "),
            analysed.modularity
        ),
    };
    format!(
        "{} concepts, {} relations; {communities}",
        analysed.concepts, analysed.relations
    )
}
