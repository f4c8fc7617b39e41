//! `loci compact`: segments merged, what is dead purged, disk given back.

use locidb::{Compacted, Error};

use super::open;
use crate::Done;
use crate::args::Compact;
use crate::output::Out;
use crate::progress::Bar;

pub(crate) fn run(args: &Compact, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    let bar = Bar::new();
    let compacted = database.compact(&bar);
    drop(bar);
    database.close();
    let compacted = match compacted {
        Err(Error::Interrupted) => {
            eprintln!("loci: stopped before the end; what was merged until then stays");
            return Ok(Done::Wrong);
        }
        compacted => compacted?,
    };
    if out.json {
        out.json_line(&compacted)?;
    } else {
        out.line(&told(&compacted))?;
    }
    Ok(Done::Well)
}

fn told(compacted: &Compacted) -> String {
    let Compacted {
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
