//! A captioner that is a command of the user's: a program that gets a picture and prints what it shows.
//!
//! ```text
//! stdin              the picture's bytes
//! LOCI_IMAGE_TYPE    its media type: image/png
//! LOCI_IMAGE_NAME    what its document calls it
//! stdout             the caption, UTF-8; nothing where there is none to give
//! exit status        0; any other means that it failed, and the last line on stderr says why
//! ```
//!
//! The program runs as the user does, with the environment and folder of this process, for it needs its keys and models.
//! Its arguments are those that the caller gave: no shell reads them, and nothing that a document says is among them.
//!
//! Always true: a call ends when its time is over or it is stopped, and so do the program and all that it started, but
//! for what left its process group. What a program that ended by itself leaves behind, such as a server, stays.

use std::io::Write;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loci_models::{CaptionError, Captioner, Picture};

use super::CAPTION_BYTES_MAX;
use crate::process::supervisor::{RunError, RunLimits, run};
use loci_documents::warnings::one_line;

/// How long a caption may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a picture's name.
const NAME_BYTES_MAX: usize = 4 << 10;
/// Bytes of the end of a program's error output that are read, and of its last line that an error quotes.
const STDERR_BYTES_MAX: usize = 4 << 10;
const REASON_BYTES_MAX: usize = 200;

/// A command that writes captions.
#[derive(Debug)]
pub struct CaptionCommand {
    program: String,
    args: Vec<String>,
    name: String,
    /// How long a caption may take: a minute, unless it is changed.
    pub timeout: Duration,
    stopped: AtomicBool,
}

/// A line is no command. Quote it as for a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// It names no program.
    #[error("it names no program")]
    Empty,
    /// A quotation has no end, or the line ends with a backslash.
    #[error("a quotation in it has no end")]
    UnterminatedQuote,
}

impl CaptionCommand {
    /// The command of a line, which is split at spaces as a shell does, with quotations and backslashes; nothing else in
    /// it means anything.
    ///
    /// # Errors
    /// [`CommandLineError`].
    pub fn parse(line: &str) -> Result<CaptionCommand, CommandLineError> {
        let mut args = split_words(line)
            .ok_or(CommandLineError::UnterminatedQuote)?
            .into_iter();
        let program = args.next().filter(|program| !program.is_empty());
        let program = program.ok_or(CommandLineError::Empty)?;
        let file = program.rsplit(['/', '\\']).next().unwrap_or(&program);
        Ok(CaptionCommand {
            name: file.to_owned(),
            args: args.collect(),
            program,
            timeout: TIMEOUT,
            stopped: AtomicBool::new(false),
        })
    }

    /// What a run without output says of the picture or of the program.
    fn caption_error(&self, error: RunError) -> CaptionError {
        match error {
            RunError::Stopped => CaptionError::Stopped,
            RunError::Start(error) => self.unavailable_error(&format!("does not start: {error}")),
            RunError::Thread(error) => {
                self.unavailable_error(&format!("has no thread for its pipes: {error}"))
            }
            RunError::TimedOut => {
                let seconds = self.timeout.as_secs();
                self.unavailable_error(&format!("was stopped after {seconds} s"))
            }
            RunError::Unreadable(error) => self.unavailable_error(&error.to_string()),
            RunError::OutputTooLarge => {
                self.refused_error(&format!("printed more than {CAPTION_BYTES_MAX} bytes"))
            }
            RunError::Failed { status, errors } => {
                let why = last_line(&errors);
                self.refused_error(&format!("failed ({status}){why}"))
            }
        }
    }

    fn unavailable_error(&self, what: &str) -> CaptionError {
        let reason = format!("{} {what}", self.name);
        CaptionError::Unavailable { reason }
    }

    fn refused_error(&self, what: &str) -> CaptionError {
        let reason = format!("{} {what}", self.name);
        CaptionError::Refused { reason }
    }
}

impl Captioner for CaptionCommand {
    /// The program's file name. Its arguments, among which a key may be, are kept nowhere.
    fn name(&self) -> &str {
        &self.name
    }

    fn caption(&self, picture: &Picture<'_>) -> Result<String, CaptionError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .env("LOCI_IMAGE_TYPE", picture.media_type)
            .env("LOCI_IMAGE_NAME", one_line(picture.name, NAME_BYTES_MAX));
        let limits = RunLimits {
            timeout: self.timeout,
            output_bytes_max: CAPTION_BYTES_MAX as u64,
            error_bytes_max: STDERR_BYTES_MAX,
            stopped: &self.stopped,
        };
        let bytes = picture.bytes.to_vec();
        let stdout = run(command, move |mut stdin| stdin.write_all(&bytes), &limits)
            .map_err(|error| self.caption_error(error))?;
        let caption = String::from_utf8(stdout)
            .map_err(|_| self.refused_error("printed what is no UTF-8"))?;
        Ok(one_line(&caption, CAPTION_BYTES_MAX))
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// The last line of a program's error output, after a colon.
fn last_line(errors: &[u8]) -> String {
    let errors = String::from_utf8_lossy(errors);
    let lines = errors.lines().map(|line| one_line(line, REASON_BYTES_MAX));
    let last = lines.rev().find(|line| !line.is_empty());
    last.map(|line| format!(": {line}")).unwrap_or_default()
}

/// The words of a command line: parted by white space, but within quotations; a backslash keeps the character after it,
/// but between single quotes. `None` where a quotation or backslash has no end.
fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => {
                let escaped = rest.next()?;
                let word = word.get_or_insert_default();
                // Between double quotes it only keeps what would mean something there.
                if quote.is_some() && !matches!(escaped, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(escaped);
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    fn shell(script: &str, timeout_ms: u64) -> CaptionCommand {
        let mut command = CaptionCommand::parse("/bin/sh -c").unwrap();
        command.args.push(script.to_owned());
        command.timeout = Duration::from_millis(timeout_ms);
        command
    }

    fn picture(bytes: &[u8]) -> Picture<'_> {
        Picture {
            bytes,
            media_type: "image/png",
            name: "a b\0\n$(id).png",
        }
    }

    #[test]
    fn a_line_is_split_as_a_shell_does() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("", Some(&[])),
            ("  a  b\tc ", Some(&["a", "b", "c"])),
            ("a 'b c' \"d 'e'\"", Some(&["a", "b c", "d 'e'"])),
            ("a'b'\"c\"d", Some(&["abcd"])),
            ("a '' \"\"", Some(&["a", "", ""])),
            (r"a\ b \' 'c\d'", Some(&["a b", "'", r"c\d"])),
            (r#""a\"b\n\\" "#, Some(&[r#"a"b\n\"#])),
            ("a; b | $c #d *", Some(&["a;", "b", "|", "$c", "#d", "*"])),
            ("a 'b", None),
            ("a \"b", None),
            (r"a\", None),
        ];
        for (line, want) in cases {
            let got = split_words(line);
            let got: Option<Vec<&str>> = got.as_ref().map(|it| it.iter().map(|w| &w[..]).collect());
            assert_eq!(got.as_deref(), *want, "{line}");
        }
        let of = |line| CaptionCommand::parse(line).unwrap_err();
        assert_eq!(
            (of(" "), of("''")),
            (CommandLineError::Empty, CommandLineError::Empty)
        );
        assert_eq!(of("a 'b"), CommandLineError::UnterminatedQuote);
        let command = CaptionCommand::parse("/opt/eye --key secret").unwrap();
        assert_eq!(
            (command.name(), &command.args[..]),
            ("eye", &["--key".to_owned(), "secret".to_owned()][..])
        );
    }

    #[test]
    fn a_program_gets_the_picture_and_prints_a_caption() {
        let script = "printf '%s %s\\n\\t' \"$LOCI_IMAGE_TYPE\" \"$LOCI_IMAGE_NAME\"; wc -c";
        let bytes = vec![b'x'; 1 << 20];
        let got = shell(script, 60_000).caption(&picture(&bytes));
        assert_eq!(got.as_deref(), Ok("image/png a b $(id).png 1048576"));
        // One that does not look at it.
        let got = shell("echo 'A heron.'", 60_000).caption(&picture(&bytes));
        assert_eq!(got.as_deref(), Ok("A heron."));
        assert_eq!(
            shell(":", 60_000).caption(&picture(b"x")).as_deref(),
            Ok("")
        );
        // All the time in the world.
        let mut patient = shell("echo x", 0);
        patient.timeout = Duration::MAX;
        assert_eq!(patient.caption(&picture(b"x")).as_deref(), Ok("x"));
    }

    #[test]
    fn whatever_a_program_does_becomes_a_caption_or_an_error_in_time() {
        let cases: &[(&str, &str, &str)] = &[
            (
                "fails",
                "echo no; echo a >&2; echo 'no model' >&2; exit 3",
                "failed (exit status: 3): no model",
            ),
            ("dies", "kill -9 $$", "failed (signal: 9"),
            (
                "talks without end",
                "cat /dev/zero",
                "printed more than 8192 bytes",
            ),
            ("is no UTF-8", "printf '\\377'", "is no UTF-8"),
            (
                "complains without end",
                "head -c 1000000 /dev/zero >&2; echo x >&2; exit 1",
                "failed",
            ),
            ("hangs", "sleep 60", "was stopped after 1 s"),
            (
                "leaves another behind",
                "sleep 60 & sleep 60",
                "was stopped after 1 s",
            ),
            (
                "leaves its output open",
                "sleep 60 & echo x",
                "was stopped after 1 s",
            ),
            (
                "closes and hangs",
                "exec >&-; sleep 60",
                "was stopped after 1 s",
            ),
        ];
        for (name, script, want) in cases {
            let hangs = script.contains("sleep");
            let began = Instant::now();
            let command = shell(script, if hangs { 1_000 } else { 60_000 });
            let error = command.caption(&picture(b"x")).unwrap_err().to_string();
            assert!(error.contains(want), "{name}: {error}");
            assert!(began.elapsed() < Duration::from_secs(30), "{name}");
        }
        let missing = CaptionCommand::parse("/nonexistent/eye").unwrap();
        let error = missing.caption(&picture(b"x")).unwrap_err();
        assert!(matches!(error, CaptionError::Unavailable { .. }), "{error}");
    }

    #[test]
    fn what_a_program_started_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("alive");
        // Writes as long as it lives, from a process below the program.
        let script = format!(
            "(while :; do echo x >> {}; sleep 0.05; done) & wait",
            path.display()
        );
        shell(&script, 500).caption(&picture(b"x")).unwrap_err();
        let len = || std::fs::metadata(&path).unwrap().len();
        let before = len();
        thread::sleep(Duration::from_millis(300));
        assert_eq!(len(), before);
    }

    #[test]
    fn a_command_that_is_stopped_ends_what_runs_and_begins_nothing() {
        let command = shell("sleep 60", 60_000);
        let began = Instant::now();
        let result = thread::scope(|scope| {
            let caller = scope.spawn(|| command.caption(&picture(b"x")));
            thread::sleep(Duration::from_millis(100));
            command.stop();
            caller.join().unwrap()
        });
        assert_eq!(result, Err(CaptionError::Stopped));
        assert_eq!(command.caption(&picture(b"x")), Err(CaptionError::Stopped));
        assert!(began.elapsed() < Duration::from_secs(30));
    }
}
