//! Printing: JSON lines for programs, tables and wrapped text for people; messages and logs on standard error.
//!
//! Invariant: no text of a document, file name or error controls the terminal. A control character is printed as a
//! visible sign ([`escape_controls`]), in JSON as its escape, which keeps the value.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use comfy_table::{ContentArrangement, Table, presets};
pub(crate) use loci_server::views::shorten;
use serde::Serialize;

/// Standard output, for a person or for a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    /// Whether to print JSON.
    pub(crate) json: bool,
}

impl Printer {
    pub(crate) fn new(json: bool) -> Printer {
        Printer { json }
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn json_line<T: Serialize>(&self, value: &T) -> anyhow::Result<()> {
        let line = serde_json::to_string(value)?;
        self.line(&line)
    }

    /// Prints a line.
    ///
    /// # Errors
    /// Those of standard output.
    pub(crate) fn write(&self, line: &str) -> io::Result<()> {
        let line = if self.json {
            escaped_json(line)
        } else {
            escape_controls(line)
        };
        writeln!(io::stdout().lock(), "{line}")
    }

    /// Prints a line. If the reader closed the pipe, the process exits with status 0: not for work that must
    /// continue without a reader.
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

/// Prints a message on standard error; takes the arguments of `format!`.
macro_rules! note {
    ($($text:tt)*) => { $crate::output::print_note(&format!($($text)*)) };
}
pub(crate) use note;

/// Prints a line on standard error; ignores a closed pipe.
pub(crate) fn print_note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", escape_controls(line));
}

/// Standard error for lines that may contain untrusted text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VisibleStderr {
    /// Whether the lines are JSON.
    pub(crate) json: bool,
}

impl Write for VisibleStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = if self.json {
            escaped_json(&text)
        } else {
            escape_controls(&text)
        };
        io::stderr().lock().write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

/// Whether the character controls a terminal (line ends and tabs excepted) or reorders the text around it.
fn is_control(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Embeddings, overrides and isolates of text that runs from right to left.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

/// `text` with each control character replaced by a visible sign: `␛` for an escape, `�` for one without a sign.
pub(crate) fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let sign = |c: char| match c {
        c if !is_control(c) => c,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ => '\u{fffd}',
    };
    Cow::Owned(text.chars().map(sign).collect())
}

/// [`escape_controls`], and line ends and tabs too: the result is one line.
pub(crate) fn escape_to_one_line(text: &str) -> String {
    let sign = |c: char| match c {
        '\n' => '\u{240a}',
        '\t' => ' ',
        c => c,
    };
    escape_controls(text).chars().map(sign).collect()
}

/// JSON with each control character escaped. Outside of strings JSON contains only white space.
fn escaped_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_control) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_control(c) {
            // All of them are in the basic multilingual plane. Writing to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", c as u32);
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether standard error is a terminal.
pub(crate) fn is_stderr_terminal() -> bool {
    io::stderr().is_terminal()
}

/// An error with its causes, without repetitions.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let mut causes: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        if !causes.iter().any(|cause_text| cause_text.contains(&text)) {
            causes.push(text);
        }
    }
    causes.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_in_all_output() {
        let controls = (0..0x20u32).chain(0x7f..0xa0).chain(0x202a..=0x202e);
        let controls = controls.chain(0x2066..=0x2069).filter_map(char::from_u32);
        let controls: Vec<char> = controls.filter(|c| !['\n', '\t'].contains(c)).collect();
        for &c in &controls {
            let text = format!("a{c}b");
            let shown = escape_controls(&text);
            assert_eq!(shown.chars().count(), 3, "{c:?}");
            assert!(!shown.contains(&controls[..]), "{c:?}");
            let json = serde_json::to_string(&text).unwrap();
            let escaped = escaped_json(&json);
            assert!(!escaped.contains(&controls[..]), "{c:?}");
            assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
        }
        assert_eq!(escape_controls("\u{1b}]0;x\u{7}\r"), "␛]0;x␇␍");
        assert_eq!(escape_to_one_line("a\n\tb\u{1b}"), "a␊ b␛");
        let plain = "Größe\t\"量子\"\n🦩 שלום";
        assert!(matches!(escape_controls(plain), Cow::Borrowed(_)));
        assert!(matches!(escaped_json(plain), Cow::Borrowed(_)));
    }

    #[test]
    fn duplicate_error_causes_are_printed_once() {
        let error = anyhow::anyhow!("disk full")
            .context("writing: disk full")
            .context("ingest");
        assert_eq!(message(&error), "ingest: writing: disk full");
    }
}
