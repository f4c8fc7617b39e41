//! Pictures of an archive that a document shows.
//!
//! Always true: each name once, and no more than [`Limits::assets_max`] bytes in all; a picture beyond that, or a
//! damaged one, is named but not kept, and a warning says so.

use std::collections::HashSet;

use crate::limits::{Limits, ParseError};
use crate::package::archive::Archive;
use crate::tree::Asset;
use crate::warnings::{Warnings, count_noun_is, listed};

/// The pictures seen so far.
pub struct Pictures {
    assets: Vec<Asset>,
    seen: HashSet<String>,
    /// Those that are not kept.
    lost: Vec<String>,
    /// Bytes that may still be kept.
    left: usize,
}

impl Pictures {
    /// No pictures yet.
    pub fn new(limits: &Limits) -> Self {
        Pictures {
            assets: Vec::new(),
            seen: HashSet::new(),
            lost: Vec::new(),
            left: limits.assets_max,
        }
    }

    /// Keeps a picture as `path`. `name`: what the archive calls it.
    pub fn keep(
        &mut self,
        archive: &mut Archive<'_>,
        path: &str,
        name: &str,
    ) -> Result<(), ParseError> {
        if self.seen.contains(path) {
            return Ok(());
        }
        self.seen.insert(path.to_owned());
        match self.bytes_of(archive, name)? {
            Some(bytes) => {
                self.left -= bytes.len();
                let name = path.to_owned();
                self.assets.push(Asset { name, bytes });
            }
            None => self.lost.push(path.to_owned()),
        }
        Ok(())
    }

    /// A picture's bytes; `None` where there are none to keep: the text is worth having without it.
    fn bytes_of(
        &self,
        archive: &mut Archive<'_>,
        name: &str,
    ) -> Result<Option<Vec<u8>>, ParseError> {
        if self.left == 0 {
            return Ok(None);
        }
        match archive.read_within(name, self.left) {
            Ok(bytes) => Ok(bytes.filter(|bytes| bytes.len() <= self.left)),
            Err(ParseError::Malformed { .. } | ParseError::Encrypted { .. }) => Ok(None),
            Err(ParseError::TooLarge { .. }) => archive.check_unpacked().map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// The pictures; warns of those that are not among them.
    pub fn finish(self, warnings: &mut Warnings) -> Vec<Asset> {
        if !self.lost.is_empty() {
            warnings.add(format!(
                "{} not stored, for the file lacks them or they are damaged or too large ({}): save it again from the program that wrote it, or split it",
                count_noun_is(self.lost.len(), "picture"),
                listed(self.lost.iter().map(String::as_str))
            ));
        }
        self.assets
    }
}

/// What a figure without an alternative text is called: the last part of its path.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
