//! Asking a model for the captions of a document's pictures: each picture once in a run, however many documents show it.
//!
//! Always true: a document's captions are bounded in number and in bytes, whatever its file holds and the model says; a
//! picture whose caption fails costs a warning, and the document lands without it. So does one of a model that stays
//! unavailable, which is not asked any more.
//!
//! Start reading at [`CaptionSession::caption_document`].

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_models::{CaptionError, Captioner, Picture};
use locidb::storage::staging::content_hash;
use parking_lot::Mutex;

use crate::captions::{CAPTION_BYTES_MAX, Captions, media_type};
use crate::runner::{CAPTIONS_BYTES_MAX, IngestedDocument};
use loci_documents::warnings::{count_noun, listed, one_line};

/// Pictures of one document that get a caption.
const PICTURES_MAX: usize = 1_000;
/// Failures one after the other with which no other picture of a document is asked about: a model that hangs costs its
/// whole time with each.
const FAILURES_MAX: usize = 3;
/// How often in a row a model may be unavailable in a run, over all documents, before it is asked nothing more.
const UNAVAILABLE_MAX: usize = 10;
/// Bytes of a picture's and a model's name.
const NAME_BYTES_MAX: usize = 200;
/// Bytes of why a model failed: what to do about it follows.
const REASON_BYTES_MAX: usize = 240;

/// What one picture shows, or why that is unknown.
type CaptionResult = Result<String, CaptionError>;
/// The same, once it is known; locked while it is asked.
type CachedCaption = Arc<Mutex<Option<CaptionResult>>>;

/// A model, and its answers in this run.
pub(super) struct CaptionSession {
    captioner: Arc<dyn Captioner>,
    /// By content.
    cache: Mutex<HashMap<[u8; 16], CachedCaption>>,
    /// How often the model was unavailable since it last answered.
    unavailable_count: AtomicUsize,
}

/// What became of the pictures of one document.
#[derive(Debug, Default)]
pub(super) struct CaptionReport {
    pub(super) captions: Captions,
    /// The pictures without one because the model failed, and why the first of them.
    failed: Vec<String>,
    failure_reason: String,
    /// How many others have none, and why.
    skipped: BTreeMap<SkipReason, usize>,
}

/// Why a picture has no caption though the model did not fail on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SkipReason {
    /// The document has [`PICTURES_MAX`].
    PictureLimit,
    /// Those of the document have [`CAPTIONS_BYTES_MAX`].
    ByteLimit,
    /// The model failed [`FAILURES_MAX`] times in a row in the document.
    RepeatedFailures,
    /// It was unavailable [`UNAVAILABLE_MAX`] times in a row in the run.
    ModelUnavailable,
}

impl CaptionSession {
    pub(super) fn new(captioner: &Arc<dyn Captioner>) -> CaptionSession {
        CaptionSession {
            captioner: Arc::clone(captioner),
            cache: Mutex::default(),
            unavailable_count: AtomicUsize::new(0),
        }
    }

    pub(super) fn stop(&self) {
        self.captioner.stop();
    }

    /// Forgets what failed, so that it is asked again. Not to be called while a document is made.
    pub(super) fn reset_failures(&self) {
        let is_said = |known: &mut CachedCaption| matches!(*known.lock(), Some(Ok(_)));
        self.cache.lock().retain(|_, known| is_said(known));
        self.unavailable_count.store(0, Ordering::Relaxed);
    }

    /// What the model says of the pictures of `made` that want a caption.
    ///
    /// # Errors
    /// When it was stopped: the document is then not to be stored.
    pub(super) fn caption_document(
        &self,
        ingested: &IngestedDocument,
    ) -> Result<CaptionReport, CaptionError> {
        let assets = ingested.document.assets.iter();
        let assets: HashMap<&str, &[u8]> = assets.map(|it| (&it.name[..], &it.bytes[..])).collect();
        let mut report = CaptionReport::default();
        report.captions.by = one_line(self.captioner.name(), NAME_BYTES_MAX);
        let (mut bytes, mut failures) = (0, 0);
        for name in &ingested.uncaptioned {
            let Some(picture) = assets.get(&name[..]) else {
                continue;
            };
            if failures >= FAILURES_MAX {
                report.add_skipped(SkipReason::RepeatedFailures);
                continue;
            }
            if report.captions.of.len() >= PICTURES_MAX {
                report.add_skipped(SkipReason::PictureLimit);
                continue;
            }
            if bytes >= CAPTIONS_BYTES_MAX {
                report.add_skipped(SkipReason::ByteLimit);
                continue;
            }
            match self.caption_picture(name, picture) {
                None => report.add_skipped(SkipReason::ModelUnavailable),
                Some(Ok(caption)) => {
                    failures = 0;
                    bytes += request_bytes(name, &caption);
                    if bytes <= CAPTIONS_BYTES_MAX {
                        drop(report.captions.of.insert(name.clone(), caption))
                    } else {
                        report.add_skipped(SkipReason::ByteLimit)
                    }
                }
                Some(Err(CaptionError::Stopped)) => return Err(CaptionError::Stopped),
                Some(Err(error)) => {
                    failures += 1;
                    report.add_failure(name, &error);
                }
            }
        }
        report.captions.of.retain(|_, caption| !caption.is_empty());
        Ok(report)
    }

    /// What the picture shows, empty where there is nothing to describe; `None` where the model is not asked any more.
    fn caption_picture(&self, name: &str, bytes: &[u8]) -> Option<CaptionResult> {
        let Some(media_type) = media_type(bytes) else {
            return Some(Ok(String::new()));
        };
        let known = Arc::clone(self.cache.lock().entry(content_hash(bytes)).or_default());
        let mut known = known.lock();
        if known.is_some() {
            return known.clone();
        }
        if self.unavailable_count.load(Ordering::Relaxed) >= UNAVAILABLE_MAX {
            return None;
        }
        let result = self.captioner.caption(&Picture {
            bytes,
            media_type,
            name: &one_line(name, NAME_BYTES_MAX),
        });
        let result = result.map(|caption| one_line(&caption, CAPTION_BYTES_MAX));
        match &result {
            Err(CaptionError::Stopped) => return Some(result),
            Err(CaptionError::Unavailable { .. }) => {
                self.unavailable_count.fetch_add(1, Ordering::Relaxed);
            }
            // Who refuses one picture is there for the others.
            _ => self.unavailable_count.store(0, Ordering::Relaxed),
        }
        *known = Some(result.clone());
        Some(result)
    }
}

/// About how many bytes a caption takes in a request, where a character may be written as six.
fn request_bytes(name: &str, caption: &str) -> usize {
    6 * name.len() + 2 * caption.len()
}

impl CaptionReport {
    fn add_failure(&mut self, name: &str, error: &CaptionError) {
        if self.failed.is_empty() {
            self.failure_reason = one_line(&error.to_string(), REASON_BYTES_MAX);
        }
        self.failed.push(name.to_owned());
    }

    fn add_skipped(&mut self, why: SkipReason) {
        *self.skipped.entry(why).or_default() += 1;
    }

    /// Whether the captioner is the reason that a picture has no caption.
    pub(super) fn is_captioner_at_fault(&self) -> bool {
        !self.failed.is_empty() || self.skipped.contains_key(&SkipReason::ModelUnavailable)
    }

    /// Why pictures have no caption.
    pub(super) fn warnings(&self) -> Vec<String> {
        let have = |count| if count == 1 { "has" } else { "have" };
        let mut warnings = Vec::new();
        if !self.failed.is_empty() {
            let count = self.failed.len();
            warnings.push(format!(
                "{} {} no caption ({}): {}",
                count_noun(count, "picture"),
                have(count),
                listed(self.failed.iter().map(String::as_str)),
                self.failure_reason
            ));
        }
        for (why, count) in &self.skipped {
            let noun = if warnings.is_empty() {
                "picture"
            } else {
                "more picture"
            };
            warnings.push(format!(
                "{} {} no caption: {why}",
                count_noun(*count, noun),
                have(*count)
            ));
        }
        warnings
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::PictureLimit => {
                write!(f, "beyond the {PICTURES_MAX} of a document that get one")
            }
            SkipReason::ByteLimit => {
                f.write_str("beyond the bytes that the captions of a document may take")
            }
            SkipReason::RepeatedFailures => f.write_str("not asked about after these failures"),
            SkipReason::ModelUnavailable => write!(
                f,
                "not asked about, for the captioner was unavailable {UNAVAILABLE_MAX} times in a row"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use locidb::NewAsset;

    use super::*;
    use loci_documents::warnings::BYTES_MAX;

    /// Says of a picture what is behind the first bytes of a PNG; refuses those with a `!` there.
    struct Echo;

    impl Captioner for Echo {
        fn name(&self) -> &str {
            "echo"
        }

        fn caption(&self, picture: &Picture<'_>) -> Result<String, CaptionError> {
            match picture.bytes.split_at(PNG.len()).1 {
                [b'!', ..] => Err(CaptionError::Refused {
                    reason: "no ".repeat(400),
                }),
                text => Ok(String::from_utf8_lossy(text).into_owned()),
            }
        }
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    fn caption_report(pictures: impl IntoIterator<Item = String>) -> CaptionReport {
        let mut ingested = IngestedDocument::default();
        for (n, text) in pictures.into_iter().enumerate() {
            let name = format!("{n}.png");
            ingested.uncaptioned.push(name.clone());
            let bytes = [PNG, text.as_bytes()].concat();
            ingested.document.assets.push(NewAsset { name, bytes });
        }
        let captioner: Arc<dyn Captioner> = Arc::new(Echo);
        CaptionSession::new(&captioner)
            .caption_document(&ingested)
            .unwrap()
    }

    #[test]
    fn a_picture_without_a_request_is_reported_with_its_reason() {
        let good = |n: usize| format!("Heron {n}.");
        let bad = |n: usize| format!("! {n}");
        let long = |n: usize| format!("{n} {}", "x".repeat(CAPTION_BYTES_MAX - 10));
        let scattered = |n| if n % 400 == 7 { bad(n) } else { good(n) };
        let full = "10 pictures have no caption: beyond the 1000 of a document that get one";
        let more = full.replace("10 ", "10 more ");
        let cases: Vec<(&str, Vec<String>, usize, &str)> = vec![
            ("few", (0..5).map(good).collect(), 0, ""),
            ("many", (0..1_010).map(good).collect(), 0, full),
            (
                "many and some that fail",
                (0..1_013).map(scattered).collect(),
                3,
                &more,
            ),
            (
                "failures in a row",
                (0..9)
                    .map(|n| if n < 4 { good(n) } else { bad(n) })
                    .collect(),
                3,
                "2 more pictures have no caption: not asked about after these failures",
            ),
            (
                "long ones",
                (0..128).map(long).collect(),
                0,
                "1 picture has no caption: beyond the bytes that the captions of a document may take",
            ),
        ];
        for (name, pictures, failed, want) in cases {
            let report = caption_report(pictures);
            assert_eq!(report.failed.len(), failed, "{name}");
            assert_eq!(report.is_captioner_at_fault(), failed > 0, "{name}");
            let mut warnings = report.warnings();
            if failed > 0 {
                let first = warnings.remove(0);
                assert!(first.len() <= BYTES_MAX, "{name}: {first}");
            }
            assert_eq!(warnings.concat(), want, "{name}");
        }
    }
}
