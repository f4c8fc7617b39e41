//! Asking a model for the captions of a document's pictures: each picture once in a run, however many documents show it.
//!
//! Always true: a document's captions are bounded in number and in bytes, whatever its file holds and the model says; a
//! picture whose caption fails costs a warning, and the document lands without it.
//!
//! Start reading at [`Captioning::captions`].

use std::collections::HashMap;
use std::sync::Arc;

use loci_models::{CaptionError, Captioner, Picture};
use locidb::storage::staging::content_hash;
use parking_lot::Mutex;

use crate::captions::{CAPTION_BYTES_MAX, Captions, media_type};
use crate::runner::{CAPTIONS_BYTES_MAX, Made};
use crate::warnings::{counted, listed, one_line};

/// Pictures of one document that get a caption.
const PICTURES_MAX: usize = 1_000;
/// Failures one after the other with which no other picture of a document is asked about: a model that hangs costs its
/// whole time with each.
const FAILURES_MAX: usize = 3;
/// Bytes of a picture's and a model's name.
const NAME_BYTES_MAX: usize = 200;

/// What one picture shows, once that is known; locked while it is asked.
type Known = Arc<Mutex<Option<String>>>;

/// A model, and what it said in this run.
pub(super) struct Captioning {
    captioner: Arc<dyn Captioner>,
    /// By content.
    known: Mutex<HashMap<[u8; 16], Known>>,
}

/// What became of the pictures of one document.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) captions: Captions,
    /// The pictures without one because the model failed, and why the first of them.
    failed: Vec<String>,
    why: String,
    /// How many were not asked about.
    beyond: usize,
}

impl Captioning {
    pub(super) fn new(captioner: &Arc<dyn Captioner>) -> Captioning {
        Captioning {
            captioner: Arc::clone(captioner),
            known: Mutex::default(),
        }
    }

    pub(super) fn stop(&self) {
        self.captioner.stop();
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
            let is_full = told.captions.of.len() >= PICTURES_MAX || bytes >= CAPTIONS_BYTES_MAX;
            if is_full || failures >= FAILURES_MAX {
                told.beyond += 1;
                continue;
            }
            match self.caption(name, picture) {
                Ok(caption) => {
                    failures = 0;
                    bytes += cost(name, &caption);
                    match bytes <= CAPTIONS_BYTES_MAX {
                        true => drop(told.captions.of.insert(name.clone(), caption)),
                        false => told.beyond += 1,
                    }
                }
                Err(CaptionError::Stopped) => return Err(CaptionError::Stopped),
                Err(error) => {
                    failures += 1;
                    told.fail(name, &error);
                }
            }
        }
        told.captions.of.retain(|_, caption| !caption.is_empty());
        Ok(told)
    }

    /// What the picture shows; empty where there is nothing to tell.
    fn caption(&self, name: &str, bytes: &[u8]) -> Result<String, CaptionError> {
        let Some(media_type) = media_type(bytes) else {
            return Ok(String::new());
        };
        let known = Arc::clone(self.known.lock().entry(content_hash(bytes)).or_default());
        let mut known = known.lock();
        if let Some(caption) = &*known {
            return Ok(caption.clone());
        }
        let name = one_line(name, NAME_BYTES_MAX);
        let said = self.captioner.caption(&Picture {
            bytes,
            media_type,
            name: &name,
        })?;
        let caption = one_line(&said, CAPTION_BYTES_MAX);
        *known = Some(caption.clone());
        Ok(caption)
    }
}

/// About how many bytes a caption takes in a request, where a character may be written as six.
fn cost(name: &str, caption: &str) -> usize {
    6 * name.len() + 2 * caption.len()
}

impl Told {
    fn fail(&mut self, name: &str, error: &CaptionError) {
        if self.failed.is_empty() {
            self.why = error.to_string();
        }
        self.failed.push(name.to_owned());
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
        if self.beyond > 0 {
            let why = match self.failed.len() >= FAILURES_MAX {
                true => "were not asked about after these failures".to_owned(),
                false => format!("are beyond the {PICTURES_MAX} of a document that get one"),
            };
            warnings.push(format!(
                "{} more {} no caption: they {why}",
                counted(self.beyond, "picture"),
                have(self.beyond)
            ));
        }
        warnings
    }
}
