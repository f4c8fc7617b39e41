//! `loci communities`: communities of concepts with their digests.

use locidb::CommunityDigest;

use super::open;
use crate::CommandStatus;
use crate::args::Communities;
use crate::output::{Printer, note, shorten};
use loci_server::views::Reader;
use loci_server::views::communities::CommunityResult;

pub(crate) fn run(args: &Communities, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    let view = database.snapshot();
    let result = Reader::unrestricted(&view).communities(args.level, args.of.as_deref())?;
    let communities = match result {
        CommunityResult::Communities(communities) => communities,
        CommunityResult::NotAnalysed => {
            note!("loci: there is no analysis: run `loci analyze` first");
            return Ok(CommandStatus::ProblemsFound);
        }
        CommunityResult::UnknownConcept(name) => {
            note!("loci: no concept {name:?}");
            return Ok(CommandStatus::ProblemsFound);
        }
        CommunityResult::DigestsMissing => {
            note!("loci: the digests are missing: run `loci analyze`");
            return Ok(CommandStatus::ProblemsFound);
        }
    };
    for community in &communities {
        if out.json {
            out.json_line(community)?
        } else {
            print(&community.digest, out)?
        }
    }
    Ok(CommandStatus::Success)
}

fn print(digest: &CommunityDigest, out: &Printer) -> anyhow::Result<()> {
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
