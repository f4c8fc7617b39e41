//! `loci ingest`: files and folders into the store.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use loci_ingest::captions::CaptionCommand;
use loci_ingest::chunk::Chunking;
use loci_ingest::documents::Kind;
use loci_ingest::pipeline::{
    self, IngestOptions, IngestSummary, Outcome, Reporter, Status, WatchOptions,
};
use locidb::Progress;
use locidb::storage::records::EmbedLevels;
use parking_lot::Mutex;
use serde_json::json;

use super::{open_or_create, parse};
use crate::advice::outcome_with_advice;
use crate::args::{ChunkingArg, EmbedArg, Ingest};
use crate::output::{Printer, escape_to_one_line, note};
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

pub(crate) fn run(args: &Ingest, out: &Printer) -> anyhow::Result<CommandStatus> {
    let options = options(args)?;
    let watching = watching(args)?;
    for path in &args.paths {
        if !path.exists() {
            return Err(UsageError(format!("{}: there is no such path", path.display())).into());
        }
    }
    let database = open_or_create(&args.db)?;
    let reporter = Print {
        out: *out,
        bar: Bar::new(),
        broken: Mutex::new(None),
    };
    let runner = parse::runner()?;
    if let Some(why) = parse::unconfined_reason() {
        reporter.bar.suspend(|| note!("loci: {why}"));
    }
    let summary = match watching {
        Some(how) => pipeline::watch(&database, &args.paths, &options, how, &runner, &reporter)?,
        None => pipeline::ingest(&database, &args.paths, &options, &runner, &reporter)?,
    };
    if let Some(error) = reporter.broken.lock().take() {
        return Err(error);
    }
    drop(reporter);
    database.close();
    if let Err(error) = out.write(&summary_line(&summary, out.json)?)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return Err(error.into());
    }
    Ok(if summary.failed > 0 || summary.interrupted {
        CommandStatus::ProblemsFound
    } else {
        CommandStatus::Success
    })
}

fn watching(args: &Ingest) -> anyhow::Result<Option<WatchOptions>> {
    let Some(seconds) = args.watch else {
        return Ok(None);
    };
    let every = Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|every| !every.is_zero());
    let every =
        every.ok_or_else(|| UsageError(format!("--watch {seconds}: give seconds above 0")))?;
    Ok(Some(WatchOptions {
        interval: every,
        delete: args.delete,
    }))
}

fn options(args: &Ingest) -> anyhow::Result<IngestOptions> {
    let kind = match &args.kind[..] {
        // The file determines the language.
        "auto" | "code" => None,
        name => Some(Kind::from_name(name).ok_or_else(|| {
            UsageError(format!(
                "--kind {name}: give auto, pdf, pptx, docx, epub, html, markdown, latex, jats, code, a language, chat, subtitles, image or text"
            ))
        })?),
    };
    if args.key.is_some() && args.paths.len() != 1 {
        return Err(UsageError("--key names one document: give one file".into()).into());
    }
    let captioner = args.caption_command.as_deref().map(CaptionCommand::parse);
    let captioner = captioner
        .transpose()
        .map_err(|error| UsageError(format!("--caption-command: {error}")))?;
    Ok(IngestOptions {
        key: args.key.clone(),
        user: args.user.clone(),
        collection: args.collection.clone(),
        kind,
        chunking: match args.chunking {
            ChunkingArg::Auto => Chunking::Auto,
            ChunkingArg::Hierarchical => Chunking::Hierarchical,
            ChunkingArg::ThreeLevel => Chunking::ThreeLevel,
            ChunkingArg::Sentence => Chunking::Sentence,
        },
        embed: args.embed.map(|embed| match embed {
            EmbedArg::All => EmbedLevels::All,
            EmbedArg::Children => EmbedLevels::Children,
            EmbedArg::None => EmbedLevels::None,
        }),
        force: args.force,
        replace: args.replace,
        is_upload: false,
        jobs: args.jobs,
        captioner: captioner.map(|command| Arc::new(command) as _),
    })
}

/// Prints a line for each processed file.
struct Print {
    out: Printer,
    bar: Bar,
    broken: Mutex<Option<anyhow::Error>>,
}

impl Progress for Print {
    fn report(&self, step: &str, done: u64, total: u64) -> ControlFlow<()> {
        if self.broken.lock().is_some() {
            return ControlFlow::Break(());
        }
        self.bar.report(step, done, total)
    }
}

impl Reporter for Print {
    fn report_outcome(&self, outcome: &Outcome) {
        let outcome = outcome_with_advice(outcome);
        let line = if self.out.json {
            serde_json::to_string(&outcome).map_err(io::Error::other)
        } else {
            Ok(line_of(&outcome))
        };
        let printed = self
            .bar
            .suspend(|| line.and_then(|line| self.out.write(&line)));
        match printed {
            // Files are stored even if nobody reads the output.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(error) => *self.broken.lock() = Some(error.into()),
            Ok(()) => {}
        }
    }
}

fn line_of(outcome: &Outcome) -> String {
    let status = match outcome.status {
        Status::Added => "added",
        Status::Updated => "updated",
        Status::Unchanged => "unchanged",
        Status::Failed => "failed",
        Status::Deleted => return format!("deleted    {}", escape_to_one_line(&outcome.document)),
    };
    let rest = match &outcome.error {
        Some(error) => escape_to_one_line(&error.to_string()),
        None => format!("{} chunks, {} concepts", outcome.chunks, outcome.concepts),
    };
    let mut lines = format!(
        "{status:9}  {}  {rest}",
        escape_to_one_line(&outcome.document)
    );
    for warning in &outcome.warnings {
        lines += &format!("\n           warning: {}", escape_to_one_line(warning));
    }
    lines
}

fn summary_line(summary: &IngestSummary, json: bool) -> anyhow::Result<String> {
    if json {
        return Ok(serde_json::to_string(&json!({ "summary": summary }))?);
    }
    let IngestSummary {
        added,
        updated,
        unchanged,
        failed,
        took_ms,
        ..
    } = summary;
    let seconds = *took_ms as f64 / 1000.0;
    let deleted = match summary.deleted {
        0 => String::new(),
        deleted => format!(", {deleted} deleted"),
    };
    let stopped = if summary.interrupted {
        "; stopped before the end"
    } else {
        ""
    };
    Ok(format!(
        "{added} added, {updated} updated, {unchanged} unchanged, {failed} failed{deleted} in {seconds:.1} s{stopped}"
    ))
}
