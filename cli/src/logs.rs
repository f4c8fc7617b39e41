//! The log of a server on standard error, and the audit log in a file.
//!
//! Targets are `audit` (keys used, changes, refusals), `slow` (slow calls), and the names of modules. The log contains
//! no question, text or secret.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use loci_server::config::{LogForm, unknown_variables};
use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::output::VisibleStderr;

/// Starts the log of this process, and warns of unknown environment variables.
///
/// # Errors
/// When the audit file cannot be opened.
pub(crate) fn begin(form: LogForm, audit: Option<&Path>) -> io::Result<()> {
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
    // A log that was started before remains.
    let _ = registry.with(to_stderr(form)).with(to_file).try_init();
    for variable in unknown_variables(std::env::vars_os().map(|(name, _)| name)) {
        tracing::warn!("{variable}");
    }
    Ok(())
}

fn to_stderr<S>(form: LogForm) -> Option<Box<dyn Layer<S> + Send + Sync>>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    // Libraries log warnings only.
    let filter = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target("loci", LevelFilter::INFO)
        // Its warnings quote text of clients.
        .with_target("rmcp", LevelFilter::ERROR)
        .with_target("audit", LevelFilter::INFO)
        .with_target("slow", LevelFilter::WARN);
    match form {
        LogForm::Text => Some(
            layer()
                .with_ansi(false)
                .with_writer(|| VisibleStderr { json: false })
                .with_filter(filter)
                .boxed(),
        ),
        LogForm::Json => {
            let lines = layer()
                .json()
                .flatten_event(true)
                .with_writer(|| VisibleStderr { json: true });
            Some(lines.with_filter(filter).boxed())
        }
        LogForm::None => None,
    }
}
