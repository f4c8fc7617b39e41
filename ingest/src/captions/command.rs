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

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use loci_models::{CaptionError, Captioner, Picture};

use super::CAPTION_BYTES_MAX;
use loci_documents::warnings::one_line;

/// How long a caption may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A longer time is taken for this one, which a clock can always count: a year.
const TIMEOUT_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Bytes of the end of what a program says on stderr that are kept, and of what an error tells of it.
const STDERR_BYTES_MAX: usize = 4 << 10;
const REASON_BYTES_MAX: usize = 200;
/// How often a call looks whether it was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often a program that has closed its output is looked after.
const REAP_INTERVAL: Duration = Duration::from_millis(5);
/// How long what a failed program said on stderr is waited for.
const STDERR_TIMEOUT: Duration = Duration::from_millis(200);

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

    fn spawn(&self, picture: &Picture<'_>) -> Result<CommandGuard, CaptionError> {
        let mut command = Command::new(&self.program);
        // An interrupt of the terminal is for this process, which then stops the command.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command
            .args(&self.args)
            .env("LOCI_IMAGE_TYPE", picture.media_type)
            .env("LOCI_IMAGE_NAME", one_line(picture.name, STDERR_BYTES_MAX))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let running = child.map(|child| CommandGuard {
            child,
            is_reaped: false,
        });
        running.map_err(|error| self.unavailable_error(&format!("does not start: {error}")))
    }

    /// What the program prints, before its time is over or it is stopped.
    fn wait_for_output(
        &self,
        output: &Receiver<Vec<u8>>,
        deadline: Instant,
    ) -> Result<Vec<u8>, CaptionError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = output.recv_timeout(left.min(POLL_INTERVAL));
            if self.stopped.load(Ordering::Relaxed) {
                return Err(CaptionError::Stopped);
            }
            match answer {
                Ok(bytes) => return Ok(bytes),
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
                Err(_) => return Err(self.timeout_error()),
            }
        }
    }

    /// Waits for the program, whose output has ended; `None` where it succeeded, else how it ended.
    fn wait_for_exit(
        &self,
        running: &mut CommandGuard,
        deadline: Instant,
    ) -> Result<Option<String>, CaptionError> {
        loop {
            match running.child.try_wait() {
                Ok(Some(status)) => {
                    running.is_reaped = true;
                    return Ok((!status.success()).then(|| status.to_string()));
                }
                _ if self.stopped.load(Ordering::Relaxed) => return Err(CaptionError::Stopped),
                Ok(None) if Instant::now() < deadline => thread::sleep(REAP_INTERVAL),
                Ok(None) => return Err(self.timeout_error()),
                Err(error) => return Err(self.unavailable_error(&error.to_string())),
            }
        }
    }

    fn timeout_error(&self) -> CaptionError {
        let seconds = self.timeout.as_secs();
        self.unavailable_error(&format!("was stopped after {seconds} s"))
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
        if self.stopped.load(Ordering::Relaxed) {
            return Err(CaptionError::Stopped);
        }
        let deadline = Instant::now() + self.timeout.min(TIMEOUT_MAX);
        let mut running = self.spawn(picture)?;
        write_stdin(&mut running.child, picture.bytes.to_vec());
        let output = running.child.stdout.take().map(read_head);
        let errors = running.child.stderr.take().map(read_tail);
        let (Some(output), Some(errors)) = (output, errors) else {
            return Err(self.unavailable_error("has no pipes"));
        };
        let stdout = self.wait_for_output(&output, deadline)?;
        if stdout.len() > CAPTION_BYTES_MAX {
            return Err(self.refused_error(&format!("printed more than {CAPTION_BYTES_MAX} bytes")));
        }
        if let Some(status) = self.wait_for_exit(&mut running, deadline)? {
            let errors = errors.recv_timeout(STDERR_TIMEOUT).unwrap_or_default();
            let why = last_line(&errors);
            return Err(self.refused_error(&format!("failed ({status}){why}")));
        }
        let caption = String::from_utf8(stdout)
            .map_err(|_| self.refused_error("printed what is no UTF-8"))?;
        Ok(one_line(&caption, CAPTION_BYTES_MAX))
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// A program that does not outlive its owner, nor does what it started, unless it ended by itself.
struct CommandGuard {
    child: Child,
    /// Whether it was waited for: its group may be another's then.
    is_reaped: bool,
}

impl Drop for CommandGuard {
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        // Both fail only when it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes to the program meanwhile. One that does not read it all may still know what to say.
fn write_stdin(child: &mut Child, bytes: Vec<u8>) {
    if let Some(mut input) = child.stdin.take() {
        // Without a thread the program reads nothing, and what it then says counts.
        let _ = thread::Builder::new().spawn(move || input.write_all(&bytes));
    }
}

/// The first bytes of what is said, one more than a caption may have. On a thread that nobody waits for: something that
/// the program started may keep the pipe open.
fn read_head(output: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    // Without a thread nothing is heard of it.
    let _ = thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let most = CAPTION_BYTES_MAX as u64 + 1;
        // What was said before a pipe broke counts.
        let _ = output.take(most).read_to_end(&mut bytes);
        sender.send(bytes)
    });
    receiver
}

/// The last bytes of what is said, when it ends.
fn read_tail(mut output: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    let _ = thread::Builder::new().spawn(move || {
        let (mut tail, mut part) = (Vec::new(), [0; STDERR_BYTES_MAX]);
        while let Ok(len @ 1..) = output.read(&mut part) {
            tail.extend_from_slice(&part[..len]);
            let over = tail.len().saturating_sub(STDERR_BYTES_MAX);
            tail.drain(..over);
        }
        sender.send(tail)
    });
    receiver
}

/// The last line of what a program said of its failure, after a colon.
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
