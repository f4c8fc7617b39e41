//! Parts that are stored in files of their own: which a state lists, and how they are copied.

use std::io;

use loci_types::ids::SpaceId;

use crate::error::{PartError, StoreError};
use crate::files::disk::NewFile;
use crate::files::segment_dir::SegmentDir;
use crate::rows::Rows;
use crate::rows::records::{ManifestRecord, PartEntry};
use crate::segment::part::Part;

/// Bytes that are handed to a file at once.
const COPY_BUFFER_LEN: usize = 1 << 20;

/// All parts with files that a state lists, with their names.
pub(crate) fn listed_part_files(
    manifest: &ManifestRecord,
    rows: &dyn Rows,
) -> Result<Vec<(PartEntry, String)>, StoreError> {
    let mut parts: Vec<PartEntry> = manifest.parts().cloned().collect();
    let spaces = [manifest.active_space, manifest.pending_space];
    for id in spaces.into_iter().flatten() {
        let space = rows.space(SpaceId(id))?;
        parts.extend(space.and_then(|space| space.projection));
    }
    let named = parts.into_iter().filter_map(|entry| {
        let name = entry.file.clone()?;
        Some((entry, name))
    });
    Ok(named.collect())
}

/// Copies a part's file unless it is there; returns the bytes that were copied.
pub(crate) fn copy_part(
    from: &SegmentDir,
    into: &SegmentDir,
    entry: &PartEntry,
    name: &str,
) -> Result<Option<u64>, StoreError> {
    match verify_part(into, entry, name) {
        Ok(()) => return Ok(None),
        Err(StoreError::Part {
            source: PartError::Io(error),
            ..
        }) if error.kind() == io::ErrorKind::NotFound => {}
        Err(_) => into
            .remove(name)
            .map_err(StoreError::io(format!("removing {name}")))?,
    }
    verify_part(from, entry, name)?;
    let bytes = from.open_part(name);
    let bytes = bytes.map_err(StoreError::io(format!("reading {name}")))?;
    let copied = into.publish(name, |file| append_buffered(bytes.as_ref(), file));
    copied.map_err(StoreError::io(format!("writing {name}")))?;
    verify_part(into, entry, name)?;
    Ok(Some(bytes.as_ref().len() as u64))
}

/// Verifies that a part is the one that is listed, and all of its checksums.
pub(crate) fn verify_part(
    dir: &SegmentDir,
    entry: &PartEntry,
    name: &str,
) -> Result<(), StoreError> {
    let bytes = dir.open_part(name).map_err(PartError::from);
    let part = bytes.and_then(Part::new).and_then(|part| {
        let header = part.header();
        if header.part != entry.id || header.len != entry.len {
            return Err(PartError::Malformed(
                "it is another part than the manifest lists".into(),
            ));
        }
        part.verify()
    });
    part.map_err(|source| StoreError::Part {
        name: name.to_owned(),
        source,
    })
}

pub(crate) fn append_buffered(bytes: &[u8], file: &mut dyn NewFile) -> std::io::Result<()> {
    bytes
        .chunks(COPY_BUFFER_LEN)
        .try_for_each(|piece| file.append(piece))
}
