//! `loci records`: lists, replays or deletes recorded answers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use locidb::storage::ResponseId;
use locidb::storage::records::Feedback;
use locidb::{Error, Replay, ReplayMetrics, Retrieval};
use serde_json::json;

use super::{open, options};
use crate::CommandStatus;
use crate::args::Records;
use crate::output::{Printer, note, shorten};
use crate::progress::Bar;

/// Answers listed by default.
const LISTED: usize = 20;
const DAY: u64 = 24 * 60 * 60;

pub(crate) fn run(args: &Records, out: &Printer) -> anyhow::Result<CommandStatus> {
    let set = options::parse("--set", &args.set)?;
    let database = open(&args.db)?;
    if let Some(days) = args.forget_before {
        let age = Duration::from_secs(days.saturating_mul(DAY));
        // One millisecond later, so that 0 days means all of them.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64 + 1;
        let before_ms = now.saturating_sub(age.as_millis() as u64);
        let forgotten = database.forget_records(before_ms)?;
        database.close();
        if out.json {
            out.json_line(&json!({ "forgotten": forgotten }))?
        } else {
            out.line(&format!("{forgotten} deleted"))?
        }
        return Ok(CommandStatus::Success);
    }
    let view = database.snapshot();
    let records = match args.response {
        Some(response) => Vec::from_iter(view.record(ResponseId(response))?),
        None => {
            let all = if args.replay { usize::MAX } else { LISTED };
            view.records(args.limit.unwrap_or(all))?
        }
    };
    if let Some(response) = args.response.filter(|_| records.is_empty()) {
        note!("loci: there is no recorded answer {response}; `loci search --record` records one");
        return Ok(CommandStatus::ProblemsFound);
    }
    if !args.replay {
        list(&records, args.response.is_some(), out)?;
        return Ok(CommandStatus::Success);
    }
    let bar = Bar::new();
    let replay = database.replay(&records, |request| options::apply(request, &set), &bar);
    drop(bar);
    match replay {
        Err(Error::Interrupted) => return Ok(CommandStatus::ProblemsFound),
        replay => print_replay(&replay?, out)?,
    }
    Ok(CommandStatus::Success)
}

fn list(records: &[Retrieval], whole: bool, out: &Printer) -> anyhow::Result<()> {
    if out.json {
        return records.iter().try_for_each(|record| out.json_line(record));
    }
    if whole {
        for record in records {
            out.line(&format!("{} ({})", record.question, record.strategy))?;
            let row = |hit: &locidb::RetrievedHit| {
                vec![
                    hit.rank.to_string(),
                    hit.chunk.clone(),
                    format!("{:.3}", hit.score),
                    hit.method.name().into(),
                    hit.feedback.name().into(),
                ]
            };
            let rows: Vec<_> = record.hits.iter().map(row).collect();
            out.table(&["rank", "chunk", "score", "method", "feedback"], &rows)?;
        }
        return Ok(());
    }
    let row = |record: &Retrieval| {
        let judged = record
            .hits
            .iter()
            .filter(|hit| hit.feedback != Feedback::None);
        vec![
            record.response.to_string(),
            record.strategy.clone(),
            record.hits.len().to_string(),
            judged.count().to_string(),
            shorten(&record.question, 80),
        ]
    };
    let rows: Vec<_> = records.iter().map(row).collect();
    let header = ["response", "strategy", "hits", "judged", "question"];
    out.table(&header, &rows)
}

/// One line per record, and the metrics of all.
fn print_replay(replay: &Replay, out: &Printer) -> anyhow::Result<()> {
    if out.json {
        for record in &replay.records {
            out.json_line(record)?;
        }
        return out.json_line(&json!({ "replay": replay.figures }));
    }
    for record in &replay.records {
        let marks = record.judged.iter().map(|judged| {
            let now = match (judged.gone, judged.now) {
                (true, _) => "gone".to_owned(),
                (false, None) => "lost".to_owned(),
                (false, Some(rank)) => rank.to_string(),
            };
            format!("{} {} → {now}", judged.feedback.name(), judged.then)
        });
        let marks: Vec<String> = marks.collect();
        let what = match &record.failed {
            Some(why) => format!("cannot be asked: {why}"),
            None => format!(
                "{} kept, {} new, {} lost, {} gone",
                record.kept.len(),
                record.new.len(),
                record.lost.len(),
                record.gone.len()
            ),
        };
        out.line(&format!(
            "{:5}  {}  —  {what}  {}",
            record.response,
            shorten(&record.question, 60),
            marks.join(", ")
        ))?;
    }
    out.line(&summary(&replay.figures))
}

fn summary(stats: &ReplayMetrics) -> String {
    let pair = |then: Option<f64>, now: Option<f64>| match then.zip(now) {
        Some((then, now)) => format!("{then:.3} → {now:.3}"),
        None => "-".to_owned(),
    };
    format!(
        "{} answers: {} hits kept, {} new, {} lost, {} gone; {} cannot be asked\n\
         used or helpful: {}, mean reciprocal rank {}\n\
         wrong: {}, share among the first 5 {}",
        stats.records,
        stats.kept,
        stats.new,
        stats.lost,
        stats.gone,
        stats.failed,
        stats.liked,
        pair(stats.mrr_then, stats.mrr_now),
        stats.wrong,
        pair(stats.wrong_in_5_then, stats.wrong_in_5_now),
    )
}
