//! `loci communities`: what groups of concepts are about.

use locidb::CommunityDigest;
use locidb::graph::normalise;
use serde_json::json;

use super::open;
use crate::Done;
use crate::args::Communities;
use crate::output::{Out, shorten};

pub(crate) fn run(args: &Communities, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    let view = database.view();
    let read = view.read();
    let Some(known) = read.communities() else {
        eprintln!("loci: nothing was analysed: run `loci analyze` first");
        return Ok(Done::Wrong);
    };
    let mut digests = Vec::new();
    if let Some(name) = &args.of {
        let segments = read.graph_segments();
        let Some(id) = read.graph(&segments).lookup(&normalise(name)) else {
            eprintln!("loci: no concept {name:?}");
            return Ok(Done::Wrong);
        };
        for (level, community) in known.path(id) {
            digests.extend(view.digest(level, community)?);
        }
    } else {
        let coarsest = known.level_count().saturating_sub(1);
        let level = args.level.unwrap_or(coarsest);
        digests = view.digests(level)?;
        if digests.is_empty() && known.count(level) > 0 {
            eprintln!("loci: the digests are not written: run `loci analyze`");
            return Ok(Done::Wrong);
        }
    }
    for digest in &digests {
        match out.json {
            true => {
                let mut told = serde_json::to_value(digest)?;
                told["text"] = json!(digest.text());
                out.json_line(&told)?;
            }
            false => print(digest, out)?,
        }
    }
    Ok(Done::Well)
}

fn print(digest: &CommunityDigest, out: &Out) -> anyhow::Result<()> {
    out.line(&format!(
        "{}  (level {}, {} concepts)",
        digest.title, digest.level, digest.member_count
    ))?;
    let others: Vec<&str> = digest.members.iter().map(String::as_str).collect();
    out.line(&format!("  {}", shorten(&others.join(", "), 200)))?;
    for relation in &digest.relations {
        let (source, kind, target) = (&relation.source, &relation.kind, &relation.target);
        out.line(&format!("  {source} - {kind} - {target}"))?;
    }
    for quote in &digest.sentences {
        let text = shorten(&quote.text, 300);
        out.line(&format!(
            "  {text} [{}, {}]",
            quote.chunk, quote.citation.label
        ))?;
    }
    out.line("")
}
