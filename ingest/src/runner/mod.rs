//! Who turns files into documents: this process, or a child that may die instead of it.
//!
//! Parsers are bounded (see [`Limits`]), yet one of them stands on a large foreign crate, and a
//! file may come from a stranger. [`InProcess`] turns a panic into an error, and cannot help
//! against an endless loop, an exhausted stack or memory. [`ChildProcess`] can: it sends the file
//! to a program that calls [`child_main`], and stops it when its time is over. All that depends on
//! what is in a file is done there: parsing, cutting, extraction.
//!
//! ```text
//! to the child's stdin      one line of JSON {kind, limits, source, settings}, then the file's bytes
//! from the child's stdout   one line of JSON {"Ok": …} or {"Err": ParseError}, then the assets' bytes
//! ```
//!
//! Always true: whatever a child answers, the document that comes back is that of the source that was
//! asked for, with the very bytes of the file as its original, and its warnings are few, short and of plain characters. The
//! store checks the rest of it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use locidb::storage::records::DocumentRecord;
use locidb::{NewAsset, NewChunk, NewCitation, NewConcept, NewDocument, NewReference, NewRelation};
use serde::{Deserialize, Serialize};

use crate::captions;
use crate::document::{BuildSettings, DocumentSource, build};
use loci_documents::warnings::Warnings;
use loci_documents::{Kind, Limits, ParseError, ParsedDocument, Reference, parse_within};

/// The environment variable that carries [`ChildProcess::memory_max`] to the child, in bytes. The
/// program sets its own limit from it before it calls [`child_main`].
pub const MEMORY_ENV: &str = "LOCI_PARSE_MEMORY_MAX";

/// The environment variable that carries the seconds of processor time that the child may use, as [`MEMORY_ENV`] does
/// its memory.
pub const CPU_ENV: &str = "LOCI_PARSE_CPU_MAX";

/// Stack of the thread that parses: foreign parsers recurse.
const STACK_BYTES: usize = 32 << 20;
/// Most bytes of the captions in a request line, as they are written there.
pub const CAPTIONS_BYTES_MAX: usize = 2 << 20;
/// Most bytes of the request line: captions, paths, which JSON may escape byte by byte, and metadata.
const REQUEST_BYTES_MAX: u64 = (1 << 20) + CAPTIONS_BYTES_MAX as u64;
/// Most bytes that a child may answer beside its assets, per byte of text that the limits allow, and beyond it: sections
/// and passages each repeat the text, and each sentence may be a chunk with what is known of it.
const RESPONSE_BYTES_PER_TEXT_BYTE: u64 = 16;
const RESPONSE_BYTES_BASE: u64 = 1 << 20;
/// Bytes that a child gathers before it writes them.
const RESPONSE_BUFFER_BYTES: usize = 64 << 10;
/// How often a call looks whether it was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often a child that has closed its output is looked after.
const REAP_INTERVAL: Duration = Duration::from_millis(2);

/// What a file became.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IngestedDocument {
    /// The document.
    pub document: NewDocument,
    /// What of the file is not in it, in sentences: see [`loci_documents::warnings`].
    pub warnings: Vec<String>,
    /// Names of its pictures that want a caption: see [`captions::wanting`].
    pub uncaptioned: Vec<String>,
}

/// Makes documents of files.
///
/// Two implementations earn the trait: [`InProcess`] for library users who trust their files, and
/// [`ChildProcess`] for `loci`.
pub trait ParseRunner: Send + Sync {
    /// Parses `bytes` as `kind`, and makes the document of `source` of it. Never panics.
    ///
    /// # Errors
    /// What the parser answers, or how it failed. See [`ParseError`].
    fn build_document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        source: DocumentSource,
        settings: &BuildSettings,
    ) -> Result<IngestedDocument, ParseError>;

    /// A file with more bytes is refused, so that it need not be read.
    fn bytes_max(&self) -> usize;

    /// Asks what is being parsed to end soon with [`ParseError::Stopped`], and refuses all else from now on. A runner that
    /// cannot stop a parser lets it end by itself.
    fn stop(&self) {}
}

/// Makes documents in this process, on a thread of its own. A panic becomes [`ParseError::Panicked`].
#[derive(Clone, Debug, Default)]
pub struct InProcess {
    /// What a parser may spend.
    pub limits: Limits,
}

impl InProcess {
    /// Parses `bytes` as `kind`. Never panics; the document has been validated.
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn parse(
        &self,
        kind: Kind,
        bytes: &[u8],
        filename: Option<&str>,
    ) -> Result<ParsedDocument, ParseError> {
        run_isolated(|| parse_within(kind, bytes, filename, &self.limits))
    }
}

impl ParseRunner for InProcess {
    fn build_document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        source: DocumentSource,
        settings: &BuildSettings,
    ) -> Result<IngestedDocument, ParseError> {
        run_isolated(|| {
            let mut parsed = parse_within(kind, &bytes, source.filename.as_deref(), &self.limits)?;
            let warnings = std::mem::take(&mut parsed.warnings);
            let uncaptioned = captions::uncaptioned(&parsed);
            let document = build(parsed, bytes, source, settings);
            Ok(IngestedDocument {
                document,
                warnings,
                uncaptioned,
            })
        })
    }

    fn bytes_max(&self) -> usize {
        self.limits.bytes_max
    }
}

/// Why a file fails where the system gives no more threads.
const THREAD_START_ERROR: &str =
    "no thread can be started; allow more memory (ulimit -v) or processes (ulimit -u)";

/// Runs `make` on a thread with a large stack; its panic becomes an error.
fn run_isolated<T: Send>(
    make: impl FnOnce() -> Result<T, ParseError> + Send,
) -> Result<T, ParseError> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("parse".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, make);
        match worker {
            Ok(worker) => worker.join().unwrap_or_else(|panic| {
                let message = panic
                    .downcast_ref::<&str>()
                    .map(|message| (*message).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned());
                Err(ParseError::Panicked {
                    message: message.unwrap_or_else(|| "no message".to_owned()),
                })
            }),
            Err(error) => Err(runner_error(THREAD_START_ERROR, &error)),
        }
    })
}

/// Makes documents in a child process that is stopped when it takes too long.
///
/// The child gets an empty environment but for [`MEMORY_ENV`] and [`CPU_ENV`]: it handles hostile bytes and needs
/// no secrets.
#[derive(Clone, Debug)]
pub struct ChildProcess {
    /// The program; as a rule the running one itself.
    pub program: PathBuf,
    /// Arguments that make it call [`child_main`].
    pub args: Vec<String>,
    /// How long one file may take.
    pub timeout: Duration,
    /// Bytes of memory that the child may use. The child sets the limit itself.
    pub memory_max: u64,
    /// What a parser may spend.
    pub limits: Limits,
    /// Whether it was stopped: then it makes nothing any more, and no clone of it does.
    pub stopped: Arc<AtomicBool>,
}

#[derive(Serialize, Deserialize)]
struct ParseRequest {
    kind: Kind,
    limits: Limits,
    source: DocumentSource,
    settings: BuildSettings,
}

/// What a child [`Made`], on its way from it, without the original.
#[derive(Serialize, Deserialize)]
struct ParseResponse {
    record: DocumentRecord,
    text: Option<String>,
    chunks: Vec<NewChunk>,
    concepts: Vec<NewConcept>,
    relations: Vec<NewRelation>,
    references: Vec<Reference>,
    citations: Vec<NewCitation>,
    /// Names of the assets and how long they are: their bytes follow the line, in this order.
    assets: Vec<(String, usize)>,
    warnings: Vec<String>,
    uncaptioned: Vec<String>,
}

impl ParseResponse {
    /// What is said of a document, and the assets that follow.
    fn from_ingested(ingested: IngestedDocument) -> (ParseResponse, Vec<NewAsset>) {
        let IngestedDocument {
            document,
            warnings,
            uncaptioned,
        } = ingested;
        let lens = document.assets.iter();
        let references = document.references.into_iter();
        let answer = ParseResponse {
            record: document.record,
            text: document.text,
            chunks: document.chunks,
            concepts: document.concepts,
            relations: document.relations,
            references: references.map(without_key).collect(),
            citations: document.citations,
            assets: lens.map(|a| (a.name.clone(), a.bytes.len())).collect(),
            warnings,
            uncaptioned,
        };
        (answer, document.assets)
    }

    /// Reads an answer. Its assets are those that it announces, no more and no fewer.
    fn decode(bytes: &[u8]) -> Result<IngestedDocument, ParseError> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (line, mut rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        let answer: Result<ParseResponse, ParseError> = serde_json::from_slice(line)
            .map_err(|error| runner_error("the answer is not what a parser says", &error))?;
        let answer = answer?;
        let mut assets = Vec::with_capacity(answer.assets.len());
        for (name, len) in answer.assets {
            let (bytes, after) = rest
                .split_at_checked(len)
                .ok_or_else(asset_mismatch_error)?;
            let bytes = bytes.to_vec();
            assets.push(NewAsset { name, bytes });
            rest = after;
        }
        if !rest.is_empty() {
            return Err(asset_mismatch_error());
        }
        let mut warnings = Warnings::default();
        warnings.extend(answer.warnings);
        let document = NewDocument {
            record: answer.record,
            text: answer.text,
            chunks: answer.chunks,
            concepts: answer.concepts,
            relations: answer.relations,
            references: answer
                .references
                .into_iter()
                .map(to_new_reference)
                .collect(),
            citations: answer.citations,
            assets,
            ..NewDocument::default()
        };
        Ok(IngestedDocument {
            document,
            warnings: warnings.finish(),
            uncaptioned: answer.uncaptioned,
        })
    }
}

/// Reads what [`child_main`] answered, as a parent does that trusts no child.
///
/// # Errors
/// What the child says of a file that it cannot parse; [`ParseError::Runner`] for what is no answer.
pub fn decode_response(bytes: &[u8]) -> Result<IngestedDocument, ParseError> {
    ParseResponse::decode(bytes)
}

/// A reference without its key: no parser knows what is stored.
fn without_key(reference: NewReference) -> Reference {
    Reference {
        label: String::new(),
        text: reference.text,
        title: reference.title,
        authors: reference.authors,
        year: reference.year,
        venue: reference.venue,
        doi: reference.doi,
    }
}

fn to_new_reference(reference: Reference) -> NewReference {
    NewReference {
        text: reference.text,
        key: None,
        doi: reference.doi,
        title: reference.title,
        authors: reference.authors,
        year: reference.year,
        venue: reference.venue,
    }
}

fn asset_mismatch_error() -> ParseError {
    ParseError::Runner {
        reason: "the answer has other pictures than it says".to_owned(),
    }
}

impl ParseRunner for ChildProcess {
    fn build_document(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        source: DocumentSource,
        settings: &BuildSettings,
    ) -> Result<IngestedDocument, ParseError> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(ParseError::Stopped);
        }
        self.limits.check_bytes(&bytes)?;
        let request = ParseRequest {
            kind,
            limits: self.limits.clone(),
            source,
            settings: *settings,
        };
        let answer = self.run_child(&request, &bytes)?;
        let mut ingested = decode_response(&answer)?;
        let document = &mut ingested.document;
        let DocumentSource {
            key,
            user,
            collection,
            filename,
            ..
        } = request.source;
        // What the store or its caller says of a document is not for a child to say, nor vectors, which others share.
        let own = DocumentRecord::default();
        document.record = DocumentRecord {
            key,
            user,
            collection,
            filename,
            parser: settings.signature(),
            stub: own.stub,
            ingested_at_ms: own.ingested_at_ms,
            embed: own.embed,
            ..std::mem::take(&mut document.record)
        };
        for chunk in &mut document.chunks {
            chunk.vector = None;
        }
        document.original = bytes;
        Ok(ingested)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn bytes_max(&self) -> usize {
        self.limits.bytes_max
    }
}

impl ChildProcess {
    /// Everything that a child answers to the request. The child is gone when this returns.
    fn run_child(&self, request: &ParseRequest, bytes: &[u8]) -> Result<Vec<u8>, ParseError> {
        let mut head = serde_json::to_vec(request)
            .map_err(|error| runner_error("the request cannot be written", &error))?;
        head.push(b'\n');
        let mut command = Command::new(&self.program);
        // An interrupt of the terminal is for the parent, which stops between files.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command
            .args(&self.args)
            .env_clear()
            .env(MEMORY_ENV, self.memory_max.to_string())
            .env(CPU_ENV, self.cpu_seconds().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| runner_error("it does not start", &error))?;
        let mut child = ChildGuard(child);
        self.exchange_messages(&mut child.0, &head, bytes)
    }

    /// Writes and reads at the same time, so that neither side waits for the other's full pipe.
    fn exchange_messages(
        &self,
        child: &mut Child,
        head: &[u8],
        bytes: &[u8],
    ) -> Result<Vec<u8>, ParseError> {
        let deadline = Instant::now() + self.timeout;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ParseError::Runner {
                reason: "it has no pipes".to_owned(),
            });
        };
        let answer_max = self.response_bytes_max();
        let (sender, answers) = channel();
        thread::scope(|scope| {
            let writing = thread::Builder::new().spawn_scoped(scope, move || {
                // A child that refuses a file early stops reading; what it says then counts.
                let _ = input.write_all(head).and_then(|()| input.write_all(bytes));
            });
            let reading = thread::Builder::new()
                .spawn_scoped(scope, move || send_output(output, answer_max, &sender));
            if let Err(error) = writing.and(reading) {
                let _ = child.kill();
                return Err(runner_error(THREAD_START_ERROR, &error));
            }
            let outcome = match self.wait_for_response(&answers, deadline) {
                _ if self.stopped.load(Ordering::Relaxed) => Err(ParseError::Stopped),
                Ok(Ok(answer)) if answer.len() as u64 > answer_max => Err(ParseError::TooLarge {
                    what: "bytes of parser output".to_owned(),
                    got: answer.len() as u64,
                    most: answer_max,
                }),
                Ok(Ok(answer)) => self.wait_for_exit(child, deadline).map(|()| answer),
                Ok(Err(error)) => Err(runner_error("its answer cannot be read", &error)),
                Err(RecvTimeoutError::Timeout) => Err(self.timeout_error()),
                Err(RecvTimeoutError::Disconnected) => Err(ParseError::Runner {
                    reason: "the reading thread died".to_owned(),
                }),
            };
            // Ends the threads too: a dead child's pipes are closed.
            if outcome.is_err() {
                let _ = child.kill();
            }
            outcome
        })
    }

    /// What the child answers before its time is over or it is stopped.
    fn wait_for_response(
        &self,
        answers: &Receiver<io::Result<Vec<u8>>>,
        deadline: Instant,
    ) -> Result<io::Result<Vec<u8>>, RecvTimeoutError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = answers.recv_timeout(left.min(POLL_INTERVAL));
            let is_over = left <= POLL_INTERVAL || self.stopped.load(Ordering::Relaxed);
            if is_over || !matches!(answer, Err(RecvTimeoutError::Timeout)) {
                return answer;
            }
        }
    }

    /// Waits for the child, whose output has ended.
    fn wait_for_exit(&self, child: &mut Child, deadline: Instant) -> Result<(), ParseError> {
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) if is_cpu_limit_exceeded(status) => {
                    return Err(self.timeout_error());
                }
                Ok(Some(status)) => {
                    return Err(ParseError::Crashed {
                        status: status.to_string(),
                    });
                }
                Ok(None) if self.stopped.load(Ordering::Relaxed) => {
                    return Err(ParseError::Stopped);
                }
                Ok(None) if Instant::now() >= deadline => return Err(self.timeout_error()),
                Ok(None) => thread::sleep(REAP_INTERVAL),
                Err(error) => return Err(runner_error("it cannot be waited for", &error)),
            }
        }
    }

    fn response_bytes_max(&self) -> u64 {
        let text = self.limits.text_max as u64;
        text.saturating_mul(RESPONSE_BYTES_PER_TEXT_BYTE)
            .saturating_add(self.limits.assets_max as u64)
            .saturating_add(RESPONSE_BYTES_BASE)
    }

    /// Seconds of processor time that suffice for a child whose time is not over: it parses on one thread.
    fn cpu_seconds(&self) -> u64 {
        self.timeout.as_secs().saturating_add(1)
    }

    fn timeout_error(&self) -> ParseError {
        ParseError::TimedOut {
            seconds: self.timeout.as_secs(),
        }
    }
}

/// Whether the system ended a child that had used all the processor time that it may.
#[cfg(unix)]
fn is_cpu_limit_exceeded(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
}

#[cfg(not(unix))]
fn is_out_of_time(_: ExitStatus) -> bool {
    false
}

/// A child that does not outlive its owner.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // Both fail only when the child is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends all that `output` holds, and stops one byte past `most`.
fn send_output(output: impl Read, most: u64, to: &Sender<io::Result<Vec<u8>>>) {
    let mut answer = Vec::new();
    let read = output.take(most.saturating_add(1)).read_to_end(&mut answer);
    // Nobody waits any more when the time was over.
    let _ = to.send(read.map(|_| answer));
}

fn runner_error(what: &str, error: &dyn std::error::Error) -> ParseError {
    ParseError::Runner {
        reason: format!("{what}: {error}"),
    }
}

/// The child's side: reads one request and its file, makes the document, and writes the answer.
///
/// A panic on the way is an answer, too. The caller has set its memory limit before, and exits
/// with success when this returns `Ok`.
///
/// # Errors
/// When the request is not one, or a pipe breaks.
pub fn child_main(stdin: impl Read, stdout: impl Write) -> io::Result<()> {
    let mut input = BufReader::new(stdin);
    let mut head = Vec::new();
    (&mut input)
        .take(REQUEST_BYTES_MAX)
        .read_until(b'\n', &mut head)?;
    let request: ParseRequest = serde_json::from_slice(&head)?;
    let mut bytes = Vec::new();
    // One byte more than allowed is enough to be refused.
    let bytes_max = (request.limits.bytes_max as u64).saturating_add(1);
    input.take(bytes_max).read_to_end(&mut bytes)?;
    let runner = InProcess {
        limits: request.limits,
    };
    let result = runner.build_document(request.kind, bytes, request.source, &request.settings);
    let (answer, assets) = match result.map(ParseResponse::from_ingested) {
        Ok((answer, assets)) => (Ok(answer), assets),
        Err(error) => (Err(error), Vec::new()),
    };
    let mut stdout = io::BufWriter::with_capacity(RESPONSE_BUFFER_BYTES, stdout);
    serde_json::to_writer(&mut stdout, &answer)?;
    stdout.write_all(b"\n")?;
    for asset in assets {
        stdout.write_all(&asset.bytes)?;
    }
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_documents::warnings::{BYTES_MAX, WARNINGS_MAX};

    fn child(script: &str, timeout_ms: u64) -> ChildProcess {
        ChildProcess {
            program: "/bin/sh".into(),
            args: vec!["-c".to_owned(), script.to_owned()],
            timeout: Duration::from_millis(timeout_ms),
            memory_max: 1 << 30,
            limits: Limits::default(),
            stopped: Arc::default(),
        }
    }

    fn source() -> DocumentSource {
        DocumentSource {
            key: "k".to_owned(),
            filename: Some("a.txt".to_owned()),
            captions: captions::Captions {
                by: "eye-1".to_owned(),
                of: [("a.txt".to_owned(), "A \"heron\".".to_owned())].into(),
            },
            ..DocumentSource::default()
        }
    }

    fn build_text(runner: &ChildProcess, bytes: &[u8]) -> Result<IngestedDocument, ParseError> {
        runner.build_document(
            Kind::Text,
            bytes.to_vec(),
            source(),
            &BuildSettings::default(),
        )
    }

    /// What a child writes when it is asked.
    fn child_response(kind: Kind, bytes: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        let request = ParseRequest {
            kind,
            limits: Limits::default(),
            source: source(),
            settings: BuildSettings::default(),
        };
        let mut input = serde_json::to_vec(&request).unwrap();
        input.push(b'\n');
        input.extend_from_slice(bytes);
        child_main(input.as_slice(), &mut output).unwrap();
        output
    }

    #[test]
    fn a_child_answers_what_this_process_would() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0\0\0\0\0";
        let text = "Tides\n=====\n\nA tide is a rise of the sea. The tide\u{2028} follows the moon [1].\n\nReferences\n\n[1] A. Moon. Seas. 1990.";
        let cases: &[(Kind, &[u8])] = &[
            (Kind::Text, text.as_bytes()),
            (Kind::Text, b"caf\xe9"),
            (Kind::Text, b"\0"),
            (Kind::Text, b""),
            (Kind::Image, png),
        ];
        for (kind, bytes) in cases {
            let got = decode_response(&child_response(*kind, bytes)).map(|mut ingested| {
                ingested.document.original = bytes.to_vec();
                ingested
            });
            let here = InProcess::default();
            let want =
                here.build_document(*kind, bytes.to_vec(), source(), &BuildSettings::default());
            assert_eq!(got, want);
            let text = want.ok().and_then(|ingested| ingested.document.text);
            let is_picture = *kind == Kind::Image;
            assert!(!is_picture || text.as_deref() == Some("a. A \"heron\"."));
        }
    }

    #[test]
    fn an_answer_that_was_cut_or_goes_on_is_an_error() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x02\x08\x06\0\0\0\0\0\0\0";
        let whole = child_response(Kind::Image, png);
        assert!(decode_response(&whole).is_ok());
        for cut in 0..whole.len() {
            let got = decode_response(&whole[..cut]);
            assert!(matches!(got, Err(ParseError::Runner { .. })), "{cut}");
        }
        let longer = [&whole[..], b"x"].concat();
        assert!(decode_response(&longer).is_err());
    }

    #[test]
    fn a_child_cannot_answer_for_another_document() {
        let other = DocumentSource {
            key: "other".to_owned(),
            user: "other".to_owned(),
            ..DocumentSource::default()
        };
        let settings = BuildSettings::default();
        let here = InProcess::default();
        let ingested = here.build_document(Kind::Text, b"Water.".to_vec(), other, &settings);
        let (mut answer, _) = ParseResponse::from_ingested(ingested.unwrap());
        answer.chunks[0].vector = Some(vec![1.0]);
        answer.record.stub = true;
        answer.warnings = vec!["a\u{1b}[2J\n b".repeat(200); 3];
        answer.warnings.extend((0..100).map(|n| n.to_string()));
        answer.warnings.push("and 5 more warnings".to_owned());
        let line = serde_json::to_string(&Ok::<_, ParseError>(answer)).unwrap();
        let got = build_text(
            &child(&format!("cat >/dev/null; printf '%s\\n' '{line}'"), 60_000),
            b"Wine.",
        )
        .unwrap();
        assert_eq!(got.warnings.len(), WARNINGS_MAX + 1);
        assert_eq!(got.warnings[WARNINGS_MAX], "and 86 more warnings");
        let is_plain = |it: &String| it.len() <= BYTES_MAX && !it.contains(char::is_control);
        assert!(got.warnings.iter().all(is_plain));
        let got = got.document;
        assert_eq!((&got.record.key[..], &got.record.user[..]), ("k", ""));
        assert_eq!(got.record.filename.as_deref(), Some("a.txt"));
        assert_eq!(got.original, b"Wine.");
        assert!(got.chunks.iter().all(|chunk| chunk.vector.is_none()));
        assert!(!got.record.stub);
    }

    #[test]
    fn a_broken_request_is_an_error() {
        for input in [
            b"".as_slice(),
            b"{}",
            b"{}\nx",
            b"\xff\n",
            &[b'x'; 4_000_000],
        ] {
            assert!(child_main(input, Vec::new()).is_err());
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let got: Result<(), _> = run_isolated(|| panic!("boom {}", 1));
        let message = "boom 1".to_owned();
        assert_eq!(got, Err(ParseError::Panicked { message }));
    }

    #[test]
    fn whatever_a_child_does_becomes_a_typed_error() {
        let large = vec![b'x'; 1 << 20];
        type Check = fn(&ParseError) -> bool;
        let cases: &[(&str, &str, Check)] = &[
            ("dies", "kill -9 $$", |e| {
                matches!(e, ParseError::Crashed { .. })
            }),
            ("burns", "ulimit -S -t 1; while :; do :; done", |e| {
                matches!(e, ParseError::TimedOut { .. })
            }),
            ("fails", "cat >/dev/null; exit 3", |e| {
                matches!(e, ParseError::Crashed { .. })
            }),
            ("hangs", "exec sleep 60", |e| {
                matches!(e, ParseError::TimedOut { .. })
            }),
            ("closes and hangs", "exec >&-; exec sleep 60", |e| {
                matches!(e, ParseError::TimedOut { .. })
            }),
            ("talks without end", "exec cat /dev/zero", |e| {
                matches!(e, ParseError::TooLarge { .. } | ParseError::TimedOut { .. })
            }),
            ("babbles", "cat >/dev/null; echo hello", |e| {
                matches!(e, ParseError::Runner { .. })
            }),
            ("never reads", "echo '{\"Err\":\"Empty\"}'", |e| {
                matches!(e, ParseError::Empty)
            }),
        ];
        for (name, script, is_right) in cases {
            let hangs = script.contains("exec");
            let mut runner = child(script, if hangs { 1_500 } else { 60_000 });
            runner.limits.text_max = 1 << 10;
            let error = build_text(&runner, &large).unwrap_err();
            assert!(is_right(&error), "{name}: {error:?}");
        }
        let missing = ChildProcess {
            program: "/nonexistent/loci".into(),
            ..child("", 1_000)
        };
        assert!(matches!(
            build_text(&missing, b"x"),
            Err(ParseError::Runner { .. })
        ));
    }

    #[test]
    fn a_runner_that_is_stopped_ends_what_runs_and_begins_nothing() {
        let runner = child("exec sleep 60", 60_000);
        let started = Instant::now();
        let result = thread::scope(|scope| {
            let caller = scope.spawn(|| build_text(&runner, b"x"));
            runner.stop();
            caller.join().unwrap()
        });
        assert_eq!(result, Err(ParseError::Stopped));
        assert_eq!(build_text(&runner, b"x"), Err(ParseError::Stopped));
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_large_file_passes_both_pipes() {
        // Echoes the file while it is still being written: both pipes fill up.
        let runner = child(
            "head -n 1 >/dev/null; printf '{\"Err\":{\"Runner\":{\"reason\":\"'; cat; printf '\"}}}'",
            10_000,
        );
        let bytes = vec![b'y'; 4 << 20];
        match build_text(&runner, &bytes) {
            Err(ParseError::Runner { reason }) => assert!(reason.len() > 1 << 20),
            other => panic!("{other:?}"),
        }
    }
}
