//! `loci compact`: merges segments, removes deleted chunks, frees disk space.

use std::path::Path;

use locidb::{CompactionReport, Error};

use super::open;
use crate::CommandStatus;
use crate::args::Compact;
use crate::output::{Printer, note};
use crate::progress::Bar;

pub(crate) fn run(args: &Compact, out: &Printer) -> anyhow::Result<CommandStatus> {
    let bytes_before = file_bytes(&args.db);
    let database = open(&args.db)?;
    let bar = Bar::new();
    let compacted = database.compact(&bar);
    drop(bar);
    database.close();
    let compacted = match compacted {
        Err(Error::Interrupted) => {
            note!("loci: stopped before the end; completed merges are kept");
            return Ok(CommandStatus::ProblemsFound);
        }
        compacted => compacted?,
    };
    // While it is open, the database file is longer than its pages: it grows in steps.
    let compacted = CompactionReport {
        bytes_before: bytes_before?,
        bytes_after: file_bytes(&args.db)?,
        ..compacted
    };
    if out.json {
        out.json_line(&compacted)?;
    } else {
        out.line(&format_compaction(&compacted))?;
    }
    Ok(CommandStatus::Success)
}

/// Bytes of the files of a store that is closed.
fn file_bytes(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for folder in [folder.to_path_buf(), folder.join("segments")] {
        for entry in std::fs::read_dir(folder)? {
            let about = entry?.metadata()?;
            bytes += if about.is_file() { about.len() } else { 0 };
        }
    }
    Ok(bytes)
}

fn format_compaction(compacted: &CompactionReport) -> String {
    let CompactionReport {
        segments_before,
        segments_after,
        chunks_purged,
        bytes_before,
        bytes_after,
    } = compacted;
    format!(
        "segments {segments_before} → {segments_after}, bytes {bytes_before} → {bytes_after}, \
         {chunks_purged} dead chunks purged"
    )
}
