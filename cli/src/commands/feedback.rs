//! `loci feedback`: judges a hit of a recorded answer.

use locidb::storage::ResponseId;
use locidb::storage::records::Feedback;
use locidb::{Error, HitRef};
use serde_json::json;

use super::open;
use crate::args::GiveFeedback;
use crate::output::{Printer, note};
use crate::{CommandStatus, UsageError};

pub(crate) fn run(args: &GiveFeedback, out: &Printer) -> anyhow::Result<CommandStatus> {
    let feedback = Feedback::from_name(&args.feedback).ok_or_else(|| {
        let names: Vec<&str> = Feedback::ALL.iter().map(|of| of.name()).collect();
        UsageError(format!("{:?}: give {}", args.feedback, names.join(", ")))
    })?;
    let hit: HitRef = args
        .hit
        .parse()
        .map_err(|_| UsageError(format!("{:?}: give a rank, or a chunk's key", args.hit)))?;
    let database = open(&args.db)?;
    let result = database.feedback(ResponseId(args.response), hit, feedback);
    database.close();
    match result {
        Err(error @ Error::NotFound(_)) => {
            note!("loci: {error}");
            return Ok(CommandStatus::ProblemsFound);
        }
        result => result?,
    }
    if out.json {
        out.json_line(&json!({
            "response": args.response, "hit": args.hit, "feedback": feedback,
        }))?
    } else {
        out.line(&format!(
            "response {}, {}: {}",
            args.response,
            args.hit,
            feedback.name()
        ))?
    }
    Ok(CommandStatus::Success)
}
