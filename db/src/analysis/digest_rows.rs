//! Rows of digests: reading past damage, and removing sentences that are gone.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use loci_query::community::quotes;
use loci_storage::metadata::digest_metadata;
use loci_storage::records::{DigestRecord, DigestSentence};
use loci_storage::rows::{Rows, decode, encode};
use loci_storage::{DocumentId, Staging, StoreError, Table};

/// The space of a digest that is to be written again.
pub(crate) const NO_SPACE: u32 = u32::MAX;

/// Calls `visit` for each row of digests, without a payload for one that is damaged: `check` reports it, and the next
/// [`super::digests::update`] writes it again.
pub(crate) fn for_each_digest(
    rows: &dyn Rows,
    visit: &mut dyn FnMut(&[u8], Option<&[u8]>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut from: Vec<u8> = Vec::new();
    loop {
        let mut last: Option<Vec<u8>> = None;
        let scanned = rows.scan(Table::Digests, &from, None, &mut |key, payload| {
            last = Some(key.to_vec());
            match visit(key, Some(payload)) {
                Err(error) if error.is_row_damage() => {}
                visited => visited?,
            }
            Ok(ControlFlow::Continue(()))
        });
        let damaged = match scanned {
            Err(StoreError::DamagedRow { key, .. }) => key,
            scanned => return scanned,
        };
        // The row behind the last that was read; its key is in hexadecimal in the error.
        let is_new = |key: &Vec<u8>| *key >= from && last.is_none_or(|last| *key > last);
        let Some(mut key) = parse_hex(&damaged).filter(is_new) else {
            return Ok(());
        };
        visit(&key, None)?;
        key.push(0);
        from = key;
    }
}

/// The bytes of pairs of hexadecimal digits; an odd last digit is ignored.
pub(crate) fn parse_hex(digits: &str) -> Option<Vec<u8>> {
    let bytes = digits.as_bytes().chunks_exact(2).map(|two| {
        let two = std::str::from_utf8(two).ok()?;
        u8::from_str_radix(two, 16).ok()
    });
    bytes.collect()
}

/// Removes from all digests the sentences that documents which were deleted or replaced no longer have. The next
/// [`super::digests::update`] writes these digests again.
///
/// Costs a read of each digest's metadata, where there are any and documents were changed.
pub(crate) fn remove_deleted_sentences(
    staging: &mut Staging<'_>,
    changed: &BTreeSet<DocumentId>,
) -> Result<(), StoreError> {
    if changed.is_empty() {
        return Ok(());
    }
    let mut outdated: Vec<(Vec<u8>, DigestRecord)> = Vec::new();
    for_each_digest(staging.rows(), &mut |key, payload| {
        let Some(payload) = payload else {
            return Ok(());
        };
        let quoted = digest_metadata(key, payload)?.documents;
        if quoted.iter().any(|of| changed.contains(of)) {
            outdated.push((key.to_vec(), decode(Table::Digests, key, payload)?));
        }
        Ok(())
    })?;
    for (key, mut record) in outdated {
        let is_changed = |of: &DigestSentence| changed.contains(&DocumentId(of.document));
        if retain_quotes(staging.rows(), &mut record, is_changed)? {
            staging.put(Table::Digests, key, encode(&record)?);
        }
    }
    Ok(())
}

/// Removes the sentences that `may_be_stale` and that no chunk has any more; whether there were any. The digest then
/// has no vector until the next [`super::digests::update`].
pub(crate) fn retain_quotes(
    rows: &dyn Rows,
    record: &mut DigestRecord,
    may_be_stale: impl Fn(&DigestSentence) -> bool,
) -> Result<bool, StoreError> {
    let sentences = std::mem::take(&mut record.sentences);
    let count = sentences.len();
    for sentence in sentences {
        if !may_be_stale(&sentence) || is_quoted(rows, &sentence)? {
            record.sentences.push(sentence);
        }
    }
    let is_less = record.sentences.len() < count;
    if is_less {
        record.vector = Some((NO_SPACE, Vec::new()));
    }
    Ok(is_less)
}

/// Whether a chunk has the sentence; none does whose row is damaged.
fn is_quoted(rows: &dyn Rows, sentence: &DigestSentence) -> Result<bool, StoreError> {
    let alone = DigestRecord {
        sentences: vec![sentence.clone()],
        ..DigestRecord::default()
    };
    match quotes(rows, &alone) {
        Err(error) if error.is_row_damage() => Ok(false),
        found => Ok(!found?.is_empty()),
    }
}
