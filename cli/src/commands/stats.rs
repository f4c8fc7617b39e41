//! `loci stats`: statistics of the store.

use locidb::{Database, ItemStats};
use serde_json::json;

use super::open;
use crate::CommandStatus;
use crate::args::Stats;
use crate::output::Printer;

pub(crate) fn run(args: &Stats, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    if args.recount {
        let (stats, counted) = database.recount()?;
        let differences = counted.differences(&stats);
        if out.json {
            out.json_line(&json!({
                "stats": stats, "recount": counted, "differences": differences,
            }))?;
        } else {
            print(&stats, out)?;
            if differences.is_empty() {
                out.line("A full recount agrees.")?
            } else {
                differences.iter().try_for_each(|what| out.line(what))?
            }
        }
        return Ok(if differences.is_empty() {
            CommandStatus::Success
        } else {
            CommandStatus::ProblemsFound
        });
    }
    if args.items {
        return items(&database.snapshot().item_stats()?, out);
    }
    if args.space {
        return space(&database, out);
    }
    let stats = database.stats();
    if out.json {
        out.json_line(&stats)?
    } else {
        print(&stats, out)?
    }
    Ok(CommandStatus::Success)
}

/// Disk usage.
fn space(database: &Database, out: &Printer) -> anyhow::Result<CommandStatus> {
    let (usage, stats) = (database.usage()?, database.stats());
    let in_rows: u64 = usage
        .tables
        .iter()
        .map(|of| of.bytes + of.tree_bytes + of.free_bytes)
        .sum();
    // Pages of no table: they are reused before the file grows.
    let spare = stats.database_bytes.saturating_sub(in_rows);
    if out.json {
        out.json_line(&json!({
            "space": {
                "tables": usage.tables,
                "sections": usage.sections,
                "database_bytes": stats.database_bytes,
                "spare_bytes": spare,
                "segment_bytes": stats.segment_bytes,
                "dead_chunks": stats.dead_chunks,
            }
        }))?;
        return Ok(CommandStatus::Success);
    }
    let tables = usage.tables.iter().map(|of| {
        let cells = [of.rows, of.bytes, of.tree_bytes, of.free_bytes];
        let cells = cells.iter().map(u64::to_string);
        [of.table.to_owned()].into_iter().chain(cells).collect()
    });
    let header = ["rows of", "rows", "bytes", "tree", "free"];
    out.table(&header, &tables.collect::<Vec<_>>())?;
    out.line(&format!(
        "{} of {} bytes of the database are spare\n",
        spare, stats.database_bytes
    ))?;
    let sections = usage.sections.iter().map(|of| {
        let (count, bytes) = (of.count.to_string(), of.bytes.to_string());
        vec![of.section.to_owned(), count, bytes]
    });
    out.table(
        &["index section", "sections", "bytes"],
        &sections.collect::<Vec<_>>(),
    )?;
    out.line(&format!(
        "{} of {} chunks in segments are dead",
        stats.dead_chunks,
        stats.chunks + stats.dead_chunks
    ))?;
    Ok(CommandStatus::Success)
}

/// Statistics of the learning items, without those that have no value.
fn items(stats: &ItemStats, out: &Printer) -> anyhow::Result<CommandStatus> {
    if out.json {
        out.json_line(&json!({ "items": stats }))?;
        return Ok(CommandStatus::Success);
    }
    let formatted = |value: Option<f64>| value.map(|value| format!("{value:.3}"));
    let rows = [
        ("items", Some(stats.items.to_string())),
        ("merged into others", formatted(stats.merged_share)),
        ("diversity", formatted(stats.diversity)),
        ("reviewed", Some(stats.reviewed.to_string())),
        ("attempts", Some(stats.attempts.to_string())),
        ("accuracy", formatted(stats.accuracy)),
    ];
    let rows = rows
        .into_iter()
        .filter_map(|(name, value)| Some(vec![name.to_owned(), value?]));
    out.table(&[], &rows.collect::<Vec<_>>())?;
    Ok(CommandStatus::Success)
}

fn print(stats: &locidb::Stats, out: &Printer) -> anyhow::Result<()> {
    let mut rows = vec![
        vec!["documents".into(), stats.documents.to_string()],
        vec!["chunks".into(), stats.chunks.to_string()],
        vec!["concepts".into(), stats.concepts.to_string()],
        vec!["relations".into(), stats.relations.to_string()],
        vec!["segments".into(), stats.segments.to_string()],
        vec!["dead chunks".into(), stats.dead_chunks.to_string()],
        vec!["segment bytes".into(), stats.segment_bytes.to_string()],
        vec![
            "bytes in segment files".into(),
            stats.segment_file_bytes.to_string(),
        ],
        vec!["database bytes".into(), stats.database_bytes.to_string()],
        vec!["generation".into(), stats.generation.to_string()],
    ];
    if let Some(ms) = stats.oldest_view_ms {
        let old_views_text = format!("{}, the oldest for {ms} ms", stats.old_views);
        rows.push(vec!["old snapshots open".into(), old_views_text]);
    }
    if let Some(error) = &stats.merge_error {
        rows.push(vec!["last merge failed".into(), error.clone()]);
    }
    let Some(space) = &stats.space else {
        let space = if stats.lost.contains(&"projection") {
            "damaged, to be fitted again"
        } else {
            "none yet"
        };
        rows.push(vec!["vector space".into(), space.into()]);
        return out.table(&[], &rows);
    };
    let of = format!(
        "{} (version {}), {} dimensions",
        space.model, space.version, space.dim
    );
    rows.push(vec!["vector space".into(), of]);
    if let Some(vector_share) = space.vector_share {
        rows.push(vec!["vector share".into(), format!("{vector_share:.2}")]);
    }
    if space.calibration_questions > 0 {
        let calibration: Vec<String> = space
            .calibration
            .iter()
            .map(|(share, score)| format!("{share:.1}: {score:.3}"))
            .collect();
        let calibration_summary = format!(
            "{} questions; {}",
            space.calibration_questions,
            calibration.join("  ")
        );
        rows.push(vec!["calibration".into(), calibration_summary]);
    }
    out.table(&[], &rows)
}
