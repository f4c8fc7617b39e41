//! The log of a server: lines on standard error for people or programs, and a file of who did what.
//!
//! Targets are `audit` (who showed a key, who changed something or was refused), `slow` (calls that took long), and the
//! modules that have something to tell. No question, text or secret is in them.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use loci_server::config::LogFormat;
use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::output::VisibleStderr;

/// Begins the log of this process. A second call does nothing.
///
/// # Errors
/// When the audit file cannot be opened.
pub(crate) fn begin(form: LogFormat, audit: Option<&Path>) -> io::Result<()> {
    let to_file = match audit {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            let lines = layer()
                .json()
                .flatten_event(true)
                .with_writer(Mutex::new(file));
            Some(lines.with_filter(Targets::new().with_target("audit", LevelFilter::INFO)))
        }
        None => None,
    };
    let registry = tracing_subscriber::registry();
    // One that was begun before stays.
    let _ = registry.with(to_stderr(form)).with(to_file).try_init();
    Ok(())
}

fn to_stderr<S>(form: LogFormat) -> Option<Box<dyn Layer<S> + Send + Sync>>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    // Libraries are heard when something is wrong.
    let filter = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("loci", LevelFilter::INFO)
        // It warns of what clients do, in their words.
        .with_target("rmcp", LevelFilter::ERROR)
        .with_target("audit", LevelFilter::INFO)
        .with_target("slow", LevelFilter::WARN);
    match form {
        LogFormat::Text => Some(
            layer()
                .with_ansi(false)
                .with_writer(|| VisibleStderr { json: false })
                .with_filter(filter)
                .boxed(),
        ),
        LogFormat::Json => {
            let lines = layer()
                .json()
                .flatten_event(true)
                .with_writer(|| VisibleStderr { json: true });
            Some(lines.with_filter(filter).boxed())
        }
        LogFormat::None => None,
    }
}
