//! Printing: JSON lines for programs, tables and wrapped text for people.

use std::io::{self, IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

/// Standard output, for a person or for a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    /// Whether to print JSON.
    pub(crate) json: bool,
}

impl Out {
    pub(crate) fn new(json: bool) -> Out {
        Out { json }
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn json_line<T: Serialize>(&self, value: &T) -> anyhow::Result<()> {
        let line = serde_json::to_string(value)?;
        self.line(&line)
    }

    /// Prints a line, or says why it cannot be.
    pub(crate) fn write(&self, line: &str) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{line}")
    }

    /// Prints a line. A reader that hangs up ends the program quietly: not for work that must go on
    /// without one.
    pub(crate) fn line(&self, line: &str) -> anyhow::Result<()> {
        match self.write(line) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
            other => Ok(other?),
        }
    }

    /// Prints rows under a header.
    pub(crate) fn table(&self, header: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        if !header.is_empty() {
            table.set_header(header);
        }
        for row in rows {
            table.add_row(row);
        }
        self.line(&table.trim_fmt())
    }
}

/// Whether a person looks at standard error.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// An error with its causes, each said once.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut told: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !told.iter().any(|said| said.contains(&text)) {
            told.push(text);
        }
    }
    told.join(": ")
}

/// `text` on one line, cut after `chars` characters.
pub(crate) fn shorten(text: &str, chars: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= chars {
        return flat;
    }
    let cut: String = flat.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(shorten("a\n  b", 10), "a b");
        assert_eq!(shorten("äöüß", 3), "äö…");
    }

    #[test]
    fn causes_that_say_the_same_are_said_once() {
        let error = anyhow::anyhow!("disk full")
            .context("writing: disk full")
            .context("ingest");
        assert_eq!(message(&error), "ingest: writing: disk full");
    }
}
