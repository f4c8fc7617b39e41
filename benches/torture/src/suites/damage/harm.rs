//! One damage to one file of a store.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::source::Source;

/// What is written whole.
const PAGE_LEN: usize = 4096;

/// What was done.
#[derive(Clone, Debug)]
pub(super) struct Harm {
    /// What kind of damage.
    pub(super) kind: &'static str,
    /// What kind of file.
    pub(super) place: &'static str,
    file: String,
    at: String,
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {}", self.kind, self.file, self.at)
    }
}

/// Damages one file of the store in `folder`.
pub(super) fn strike(folder: &Path, source: &mut Source<'_>) -> Result<Harm> {
    let files = files(folder)?;
    // Rows are half of what there is to damage.
    let file = if source.one_in(2) {
        folder.join("loci.redb")
    } else {
        files[source.below(files.len() as u32) as usize].clone()
    };
    let mut bytes = fs::read(&file)?;
    let pages = (bytes.len() / PAGE_LEN) as u32;
    let used = used(&bytes);
    let (kind, at) = match source.below(10) {
        0..6 if !used.is_empty() => {
            let bit =
                source.pick(&used) * PAGE_LEN * 8 + source.below(PAGE_LEN as u32 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
            ("flip", format!("bit {bit}"))
        }
        6 if used.len() > 1 => {
            let (a, b) = (source.pick(&used), source.pick(&used));
            swap(&mut bytes, a, b);
            ("swap", format!("pages {a} and {b}"))
        }
        7 | 8 if used.len() > 1 => {
            let (from, to) = (source.pick(&used), source.pick(&used));
            bytes.copy_within(from * PAGE_LEN..(from + 1) * PAGE_LEN, to * PAGE_LEN);
            ("copy", format!("page {from} over page {to}"))
        }
        _ => {
            let len = match source.below(3) {
                0 => source.below(pages + 1) as usize * PAGE_LEN,
                1 => source.below(bytes.len() as u32) as usize,
                _ => bytes.len().saturating_sub(1 + source.below(512) as usize),
            };
            bytes.truncate(len);
            ("cut", format!("to {len} bytes"))
        }
    };
    fs::write(&file, &bytes)?;
    let name = file.strip_prefix(folder)?.display().to_string();
    let place = if name.starts_with("segments") {
        "segments"
    } else {
        "rows"
    };
    Ok(Harm {
        kind,
        place,
        file: name,
        at,
    })
}

/// Whole pages that hold anything: most of a young database does not.
fn used(bytes: &[u8]) -> Vec<usize> {
    let pages = bytes.chunks_exact(PAGE_LEN).enumerate();
    let used = pages.filter(|(_, page)| page.iter().any(|&byte| byte != 0));
    used.map(|(number, _)| number).collect()
}

fn swap(bytes: &mut [u8], a: usize, b: usize) {
    for at in 0..PAGE_LEN {
        bytes.swap(a * PAGE_LEN + at, b * PAGE_LEN + at);
    }
}

/// All files that hold bytes, in the same order each time.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let segments = folder.join("segments");
    let mut files = vec![folder.join("loci.redb")];
    for entry in fs::read_dir(&segments).context("listing segments")? {
        files.push(entry?.path());
    }
    files.sort();
    Ok(files)
}
