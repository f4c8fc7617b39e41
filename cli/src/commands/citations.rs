//! `loci citations`: citations between documents and works.

use locidb::{Work, WorkCitation};

use super::open;
use crate::CommandStatus;
use crate::args::Citations;
use crate::output::{Printer, note, shorten};
use loci_server::views::Reader;
use loci_server::views::citations::WorkFilter;

pub(crate) fn run(args: &Citations, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    let view = database.snapshot();
    let reader = Reader::unrestricted(&view);
    match &args.of {
        Some(of) => network(&reader, of, out),
        None => works(&reader, args, out),
    }
}

/// Cited works, the most referenced first.
fn works(reader: &Reader<'_>, args: &Citations, out: &Printer) -> anyhow::Result<CommandStatus> {
    let works = reader.works(WorkFilter {
        author: args.author.as_deref(),
        year: args.year,
        stubs: args.stubs,
        limit: usize::MAX,
    })?;
    if out.json {
        for work in &works {
            out.json_line(work)?;
        }
        return Ok(CommandStatus::Success);
    }
    let rows: Vec<_> = works
        .iter()
        .map(|work| row(work, work.references))
        .collect();
    out.table(&["references", "year", "work", "document"], &rows)?;
    Ok(CommandStatus::Success)
}

fn row(work: &Work, count: u64) -> Vec<String> {
    let title = work.title.as_deref().unwrap_or(&work.text);
    vec![
        count.to_string(),
        work.year.map(|year| year.to_string()).unwrap_or_default(),
        shorten(title, 80),
        work.document.clone().unwrap_or_else(|| "(stub)".into()),
    ]
}

/// The works that a document cites, the citations of it, and related works and documents.
fn network(reader: &Reader<'_>, of: &str, out: &Printer) -> anyhow::Result<CommandStatus> {
    let Some(network) = reader.network(of)? else {
        note!("loci: no document and no cited work {of:?}");
        return Ok(CommandStatus::ProblemsFound);
    };
    if out.json {
        out.json_line(&network)?;
        return Ok(CommandStatus::Success);
    }
    let quote = |cited: &WorkCitation| {
        let title = cited.work.title.as_deref().unwrap_or(&cited.work.text);
        vec![
            cited.chunk.clone(),
            cited.intent.name().into(),
            shorten(title, 60),
            shorten(&cited.context, 80),
        ]
    };
    for (name, listed) in [("cites", &network.cites), ("cited by", &network.cited_by)] {
        if !listed.is_empty() {
            out.line(name)?;
            let rows: Vec<_> = listed.iter().map(quote).collect();
            out.table(&["chunk", "intent", "work", "context"], &rows)?;
        }
    }
    if !network.co_cited.is_empty() {
        out.line("cited together with")?;
        let together = network.co_cited.iter();
        let rows: Vec<_> = together.map(|of| row(&of.work, of.count as u64)).collect();
        out.table(&["times", "year", "work", "document"], &rows)?;
    }
    if !network.coupled.is_empty() {
        out.line("documents that cite the same")?;
        let coupled = network.coupled.iter();
        let rows: Vec<_> = coupled
            .map(|of| vec![of.count.to_string(), of.document.clone()])
            .collect();
        out.table(&["works", "document"], &rows)?;
    }
    Ok(CommandStatus::Success)
}
