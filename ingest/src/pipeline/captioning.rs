//! Asking a model for the captions of a document's pictures: each picture once in a run, however many documents show it.
//!
//! Always true: a document's captions are bounded in number and in bytes, whatever its file holds and the model says; a
//! picture whose caption fails costs a warning, and the document lands without it. So does one of a model that stays
//! unavailable, which is not asked any more.
//!
//! Start reading at [`Captioning::captions`].

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_models::{CaptionError, Captioner, Picture};
use locidb::storage::staging::content_hash;
use parking_lot::Mutex;

use crate::captions::{CAPTION_BYTES_MAX, Captions, media_type};
use crate::runner::{CAPTIONS_BYTES_MAX, Made};
use loci_documents::warnings::{counted, listed, one_line};

/// Pictures of one document that get a caption.
const PICTURES_MAX: usize = 1_000;
/// Failures one after the other with which no other picture of a document is asked about: a model that hangs costs its
/// whole time with each.
const FAILURES_MAX: usize = 3;
/// How often in a row a model may be unavailable in a run, over all documents, before it is asked nothing more.
const UNAVAILABLE_MAX: usize = 10;
/// Bytes of a picture's and a model's name.
const NAME_BYTES_MAX: usize = 200;
/// Bytes of why a model failed: what to do about it stands behind.
const WHY_BYTES_MAX: usize = 240;

/// What one picture shows, or why that cannot be said.
type Said = Result<String, CaptionError>;
/// The same, once it is known; locked while it is asked.
type Known = Arc<Mutex<Option<Said>>>;

/// A model, and what it said in this run.
pub(super) struct Captioning {
    captioner: Arc<dyn Captioner>,
    /// By content.
    known: Mutex<HashMap<[u8; 16], Known>>,
    /// How often the model was unavailable since it last answered.
    unavailable: AtomicUsize,
}

/// What became of the pictures of one document.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) captions: Captions,
    /// The pictures without one because the model failed, and why the first of them.
    failed: Vec<String>,
    why: String,
    /// How many others have none, and why.
    beyond: BTreeMap<Beyond, usize>,
}

/// Why a picture has no caption though the model did not fail on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Beyond {
    /// The document has [`PICTURES_MAX`].
    Pictures,
    /// Those of the document have [`CAPTIONS_BYTES_MAX`].
    Bytes,
    /// The model failed [`FAILURES_MAX`] times in a row in the document.
    Failures,
    /// It was unavailable [`UNAVAILABLE_MAX`] times in a row in the run.
    Unavailable,
}

impl Captioning {
    pub(super) fn new(captioner: &Arc<dyn Captioner>) -> Captioning {
        Captioning {
            captioner: Arc::clone(captioner),
            known: Mutex::default(),
            unavailable: AtomicUsize::new(0),
        }
    }

    pub(super) fn stop(&self) {
        self.captioner.stop();
    }

    /// Forgets what failed, so that it is asked again. Not to be called while a document is made.
    pub(super) fn try_again(&self) {
        let is_said = |known: &mut Known| matches!(*known.lock(), Some(Ok(_)));
        self.known.lock().retain(|_, known| is_said(known));
        self.unavailable.store(0, Ordering::Relaxed);
    }

    /// What the model says of the pictures of `made` that want a caption.
    ///
    /// # Errors
    /// When it was stopped: the document is then not to be stored.
    pub(super) fn captions(&self, made: &Made) -> Result<Told, CaptionError> {
        let assets = made.document.assets.iter();
        let assets: HashMap<&str, &[u8]> = assets.map(|it| (&it.name[..], &it.bytes[..])).collect();
        let mut told = Told::default();
        told.captions.by = one_line(self.captioner.name(), NAME_BYTES_MAX);
        let (mut bytes, mut failures) = (0, 0);
        for name in &made.uncaptioned {
            let Some(picture) = assets.get(&name[..]) else {
                continue;
            };
            if failures >= FAILURES_MAX {
                told.leave(Beyond::Failures);
                continue;
            }
            if told.captions.of.len() >= PICTURES_MAX {
                told.leave(Beyond::Pictures);
                continue;
            }
            if bytes >= CAPTIONS_BYTES_MAX {
                told.leave(Beyond::Bytes);
                continue;
            }
            match self.caption(name, picture) {
                None => told.leave(Beyond::Unavailable),
                Some(Ok(caption)) => {
                    failures = 0;
                    bytes += cost(name, &caption);
                    if bytes <= CAPTIONS_BYTES_MAX {
                        drop(told.captions.of.insert(name.clone(), caption))
                    } else {
                        told.leave(Beyond::Bytes)
                    }
                }
                Some(Err(CaptionError::Stopped)) => return Err(CaptionError::Stopped),
                Some(Err(error)) => {
                    failures += 1;
                    told.fail(name, &error);
                }
            }
        }
        told.captions.of.retain(|_, caption| !caption.is_empty());
        Ok(told)
    }

    /// What the picture shows, empty where there is nothing to tell; `None` where the model is not asked any more.
    fn caption(&self, name: &str, bytes: &[u8]) -> Option<Said> {
        let Some(media_type) = media_type(bytes) else {
            return Some(Ok(String::new()));
        };
        let known = Arc::clone(self.known.lock().entry(content_hash(bytes)).or_default());
        let mut known = known.lock();
        if known.is_some() {
            return known.clone();
        }
        if self.unavailable.load(Ordering::Relaxed) >= UNAVAILABLE_MAX {
            return None;
        }
        let said = self.captioner.caption(&Picture {
            bytes,
            media_type,
            name: &one_line(name, NAME_BYTES_MAX),
        });
        let said = said.map(|caption| one_line(&caption, CAPTION_BYTES_MAX));
        match &said {
            Err(CaptionError::Stopped) => return Some(said),
            Err(CaptionError::Unavailable { .. }) => {
                self.unavailable.fetch_add(1, Ordering::Relaxed);
            }
            // Who refuses one picture is there for the others.
            _ => self.unavailable.store(0, Ordering::Relaxed),
        }
        *known = Some(said.clone());
        Some(said)
    }
}

/// About how many bytes a caption takes in a request, where a character may be written as six.
fn cost(name: &str, caption: &str) -> usize {
    6 * name.len() + 2 * caption.len()
}

impl Told {
    fn fail(&mut self, name: &str, error: &CaptionError) {
        if self.failed.is_empty() {
            self.why = one_line(&error.to_string(), WHY_BYTES_MAX);
        }
        self.failed.push(name.to_owned());
    }

    fn leave(&mut self, why: Beyond) {
        *self.beyond.entry(why).or_default() += 1;
    }

    /// What is to be said of pictures without a caption.
    pub(super) fn warnings(&self) -> Vec<String> {
        let have = |count| if count == 1 { "has" } else { "have" };
        let mut warnings = Vec::new();
        if !self.failed.is_empty() {
            let count = self.failed.len();
            warnings.push(format!(
                "{} {} no caption ({}): {}; ingest the file again with --force once that is mended",
                counted(count, "picture"),
                have(count),
                listed(self.failed.iter().map(String::as_str)),
                self.why
            ));
        }
        for (why, count) in &self.beyond {
            let noun = if warnings.is_empty() {
                "picture"
            } else {
                "more picture"
            };
            warnings.push(format!(
                "{} {} no caption: {why}",
                counted(*count, noun),
                have(*count)
            ));
        }
        warnings
    }
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Beyond::Pictures => write!(f, "beyond the {PICTURES_MAX} of a document that get one"),
            Beyond::Bytes => {
                f.write_str("beyond the bytes that the captions of a document may take")
            }
            Beyond::Failures => f.write_str("not asked about after these failures"),
            Beyond::Unavailable => write!(
                f,
                "not asked about, for the captioner was unavailable {UNAVAILABLE_MAX} times in a row; ingest the file again with --force once that is mended"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use locidb::NewAsset;

    use super::*;
    use loci_documents::warnings::BYTES_MAX;

    /// Says of a picture what stands behind the first bytes of a PNG; refuses those with a `!` there.
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
                said => Ok(String::from_utf8_lossy(said).into_owned()),
            }
        }
    }

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    fn told(pictures: impl IntoIterator<Item = String>) -> Told {
        let mut made = Made::default();
        for (n, said) in pictures.into_iter().enumerate() {
            let name = format!("{n}.png");
            made.uncaptioned.push(name.clone());
            let bytes = [PNG, said.as_bytes()].concat();
            made.document.assets.push(NewAsset { name, bytes });
        }
        let captioner: Arc<dyn Captioner> = Arc::new(Echo);
        Captioning::new(&captioner).captions(&made).unwrap()
    }

    #[test]
    fn what_is_not_asked_about_is_told_with_its_reason() {
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
            let told = told(pictures);
            assert_eq!(told.failed.len(), failed, "{name}");
            let mut warnings = told.warnings();
            if failed > 0 {
                let first = warnings.remove(0);
                assert!(
                    first.ends_with("with --force once that is mended"),
                    "{name}: {first}"
                );
                assert!(first.len() <= BYTES_MAX, "{name}: {first}");
            }
            assert_eq!(warnings.concat(), want, "{name}");
        }
    }
}
