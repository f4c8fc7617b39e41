//! New parts: numbered, and written to a file when they are too large for a row.
//!
//! Writing a large part costs seconds, so whoever builds one may do it ahead of the commit that
//! lists it ([`NewPart::write`]). A part that was written and is not listed after all is deleted.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::PartError;
use crate::error::StoreError;
use crate::failpoint::reach;
use crate::files::bytes::PartBytes;
use crate::files::segment_dir::{SegmentDir, part_file_name};
use crate::rows::records::{ManifestRecord, PartEntry};
use crate::segment::part::{Part, PartBuilder};

/// What numbers parts. Numbers of parts that were never listed are given out again after a restart.
#[derive(Debug)]
pub(crate) struct PartAllocator {
    next_id: AtomicU64,
    durable_generation: AtomicU64,
    /// Bytes of a part that may lie in a row.
    inline_len_max: usize,
}

impl PartAllocator {
    pub(crate) fn new(manifest: &ManifestRecord, inline_len_max: usize) -> PartAllocator {
        PartAllocator {
            next_id: AtomicU64::new(manifest.next_part),
            durable_generation: AtomicU64::new(manifest.generation),
            inline_len_max,
        }
    }

    /// A number that no other part has.
    pub(crate) fn allocate_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The number that the next part gets.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.load(Ordering::Relaxed)
    }

    /// The generation that a crash would leave.
    pub(crate) fn durable_generation(&self) -> u64 {
        self.durable_generation.load(Ordering::Acquire)
    }

    /// Notes that a generation is durable.
    pub(crate) fn set_durable_generation(&self, generation: u64) {
        self.durable_generation.store(generation, Ordering::Release);
    }
}

/// A part that no manifest lists yet.
pub struct NewPart(Inner);

enum Inner {
    Built(PartBuilder),
    Written(PartFile),
}

/// A part's file, deleted again unless it is listed.
pub(crate) struct PartFile {
    entry: PartEntry,
    dir: SegmentDir,
    is_listed: bool,
}

impl From<PartBuilder> for NewPart {
    fn from(part: PartBuilder) -> NewPart {
        NewPart(Inner::Built(part))
    }
}

impl fmt::Debug for NewPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Built(_) => f.write_str("NewPart(built)"),
            Inner::Written(written) => write!(f, "NewPart({:?})", written.entry.file),
        }
    }
}

/// Where a part goes.
pub(crate) enum PartLocation {
    /// It has a file.
    File(PartEntry),
    /// Its bytes go to a row.
    Row(PartEntry, Vec<u8>),
}

impl NewPart {
    /// Writes it to a file, unless it is small enough for a row.
    pub(crate) fn write(
        self,
        allocator: &PartAllocator,
        dir: &SegmentDir,
    ) -> Result<NewPart, StoreError> {
        let Inner::Built(part) = self.0 else {
            return Ok(self);
        };
        if part.len() <= allocator.inline_len_max {
            return Ok(NewPart(Inner::Built(part)));
        }
        let generation = allocator.durable_generation() + 1;
        let written = write_file(part, allocator, generation, dir)?;
        Ok(NewPart(Inner::Written(written)))
    }

    /// The part as it would be written, in memory. `None` for one that was written already.
    pub(crate) fn into_part(self) -> Option<Result<Arc<Part>, PartError>> {
        let Inner::Built(part) = self.0 else {
            return None;
        };
        let bytes = PartBytes::copy(&part.finish(0, 0));
        Some(Part::new(bytes).map(Arc::new))
    }

    /// Places it for the commit of `generation`: in a row where `fits_inline` allows its length.
    pub(crate) fn allocate(
        self,
        allocator: &PartAllocator,
        generation: u64,
        dir: &SegmentDir,
        fits_inline: impl FnOnce(u64) -> bool,
    ) -> Result<PartLocation, StoreError> {
        let written = match self.0 {
            Inner::Written(written) => written,
            Inner::Built(part)
                if part.len() <= allocator.inline_len_max && fits_inline(part.len() as u64) =>
            {
                let (id, len) = (allocator.allocate_id(), part.len() as u64);
                let file = None;
                return Ok(PartLocation::Row(
                    PartEntry { id, len, file },
                    part.finish(id, generation),
                ));
            }
            Inner::Built(part) => write_file(part, allocator, generation, dir)?,
        };
        Ok(PartLocation::File(written.mark_listed()))
    }
}

/// Writes a part to a file of its own. The file's name contains the generation that is on disk by now,
/// so that an older copy of the database is known by the files beside it.
fn write_file(
    part: PartBuilder,
    allocator: &PartAllocator,
    generation: u64,
    dir: &SegmentDir,
) -> Result<PartFile, StoreError> {
    let random = getrandom::u64().map_err(|why| StoreError::Invalid(why.to_string()))?;
    let name = part_file_name(allocator.durable_generation() + 1, random);
    let id = allocator.allocate_id();
    let layout = part.layout(id, generation);
    let len = layout.len as u64;
    dir.publish(&name, |file| {
        layout.pieces().try_for_each(|piece| file.append(piece))?;
        reach("part-written");
        Ok(())
    })
    .map_err(StoreError::io(format!("writing {name}")))?;
    reach("part-renamed");
    Ok(PartFile {
        entry: PartEntry {
            id,
            len,
            file: Some(name),
        },
        dir: dir.clone(),
        is_listed: false,
    })
}

impl PartFile {
    /// From here on a manifest may list it.
    fn mark_listed(mut self) -> PartEntry {
        self.is_listed = true;
        self.entry.clone()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        if let Some(name) = self.entry.file.as_ref().filter(|_| !self.is_listed) {
            // What cannot be removed now is an orphan that the next open deletes.
            let _ = self.dir.remove(name);
        }
    }
}
