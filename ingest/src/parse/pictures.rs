//! Pictures of an archive that a document shows.
//!
//! Always true: each name once, and no more than [`Limits::assets_max`] bytes in all; a picture beyond that, or a
//! damaged one, is named but not kept.

use std::collections::HashSet;

use super::archive::Archive;
use super::{Limits, ParseError};
use crate::tree::Asset;

/// The pictures seen so far.
pub(super) struct Pictures {
    assets: Vec<Asset>,
    seen: HashSet<String>,
    /// Bytes that may still be kept.
    left: usize,
}

impl Pictures {
    pub(super) fn new(limits: &Limits) -> Self {
        Pictures {
            assets: Vec::new(),
            seen: HashSet::new(),
            left: limits.assets_max,
        }
    }

    /// Keeps a picture as `path`. `name`: what the archive calls it.
    pub(super) fn keep(
        &mut self,
        archive: &mut Archive<'_>,
        path: &str,
        name: &str,
    ) -> Result<(), ParseError> {
        if self.left == 0 || self.seen.contains(path) {
            return Ok(());
        }
        self.seen.insert(path.to_owned());
        let bytes = match archive.read_within(name, self.left) {
            Ok(Some(bytes)) => bytes,
            // The text is worth having without it.
            Ok(None) | Err(ParseError::Malformed { .. } | ParseError::Encrypted { .. }) => {
                return Ok(());
            }
            Err(ParseError::TooLarge { .. }) => return archive.check_left(),
            Err(error) => return Err(error),
        };
        if let Some(left) = self.left.checked_sub(bytes.len()) {
            self.left = left;
            let name = path.to_owned();
            self.assets.push(Asset { name, bytes });
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Vec<Asset> {
        self.assets
    }
}

/// What a figure without an alternative text is called: the last part of its path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
