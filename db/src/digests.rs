//! Digests of communities (R7): what a community of concepts is about, in its members, the relations among them
//! and sentences of the documents, each with its citation.
//!
//! Always true: a digest belongs to a level and a set of members ([`communities::key`]), and is written again only
//! when there is none of that key, or a sentence of it is gone. One that is read says nothing of what was deleted.
//!
//! Start reading at [`update`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use loci_graph::{CommunitiesReader, GraphSnapshot, communities};
use loci_query::community::{CommunityDigest, quotes, resolve_digest};
use loci_storage::metadata::digest_metadata;
use loci_storage::records::{DigestRecord, DigestSentence};
use loci_storage::rows::{Rows, decode, encode, read};
use loci_storage::segment::Section;
use loci_storage::{ConceptId, DocumentId, Durability, Ordinal, Staging, StoreError, Table};
use loci_types::text::sentences::{SentenceRule, sentences};

use crate::database::Inner;
use crate::error::Error;
use crate::progress::Progress;
use crate::snapshot::DatabaseSnapshot;

/// Members that a digest looks at, and that it names.
const MEMBERS_MAX: usize = 50;
const NAMED_MAX: usize = 20;
const RELATIONS_MAX: usize = 10;
const SENTENCES_MAX: usize = 5;
/// Chunks of a member that are looked at, and the best of all of them, whose sentences are.
const CHUNKS_OF_MEMBER_MAX: usize = 64;
const CHUNKS_MAX: usize = 12;
/// Characters of a sentence that says something and can be quoted.
const SENTENCE_CHARS: std::ops::RangeInclusive<usize> = 20..=400;
/// What a member that another sentence names already adds to a sentence.
const REPEAT_WEIGHT: f64 = 0.2;
/// Digests that one commit writes.
const BATCH: usize = 32;

/// The space of a digest that is to be written again.
const NO_SPACE: u32 = u32::MAX;

type Key = [u8; 16];

/// What [`update`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DigestCounts {
    /// Digests that were written.
    pub(crate) written: usize,
    /// Digests that stayed as they were.
    pub(crate) unchanged: usize,
}

/// Writes the digests that the communities of `view` lack, some at a time, and deletes those of communities that
/// are no more. What was written when it is interrupted stays, and the next call goes on from there.
pub(crate) fn update(
    inner: &Inner,
    view: &DatabaseSnapshot,
    progress: &dyn Progress,
) -> Result<DigestCounts, Error> {
    let mut updated = DigestCounts::default();
    let mut pending: BTreeMap<Key, (usize, u32)> = BTreeMap::new();
    if let Some(known) = view.read_view.communities() {
        for level in 0..known.level_count() {
            for community in 0..known.count(level) as u32 {
                let key = communities::stable_key(level, known.members(level, community));
                pending.insert(key, (level, community));
            }
        }
    }
    let mut gone = Vec::new();
    let space = view.snapshot().active_space().filter(|_| view.can_embed());
    let space = space.map(|space| space.id.0);
    let total = pending.len() as u64;
    for_each_digest(view.rows(), &mut |key, payload| {
        let Some(key) = key.first_chunk::<16>() else {
            return Ok(());
        };
        if !pending.contains_key(key) {
            gone.push(*key);
            return Ok(());
        }
        let Some(payload) = payload else {
            return Ok(());
        };
        let record: DigestRecord = decode(Table::Digests, key, payload)?;
        let vector = record.vector.as_ref().map(|vector| vector.0);
        if vector == space && quotes(view.rows(), &record)?.len() == record.sentences.len() {
            pending.remove(key);
            updated.unchanged += 1;
        }
        Ok(())
    })?;
    let segments = view.read_view.graph_segments();
    let graph = view.read_view.graph(&segments);
    let mut batch: Vec<(Key, Option<DigestRecord>)> = Vec::new();
    batch.extend(gone.into_iter().map(|key| (key, None)));
    for (key, (level, community)) in pending {
        let Some(known) = view.read_view.communities() else {
            break;
        };
        let mut record = build_digest(view, graph, known, level, community)?;
        let resolved = resolve_digest(&view.read_view, &key, &record)?;
        let vector = view.embed(&resolved.text())?;
        // An empty one says that no word of it is known.
        record.vector = space.map(|space| (space, vector.unwrap_or_default()));
        batch.push((key, Some(record)));
        updated.written += 1;
        if batch.len() >= BATCH {
            write_batch(inner, std::mem::take(&mut batch))?;
            let done = (updated.written + updated.unchanged) as u64;
            if progress.report("writing digests", done, total).is_break() {
                inner.store.flush()?;
                return Err(Error::Interrupted);
            }
        }
    }
    write_batch(inner, batch)?;
    inner.store.flush()?;
    Ok(updated)
}

/// Writes digests, without sentences of documents that were deleted or replaced since they were chosen.
fn write_batch(inner: &Inner, batch: Vec<(Key, Option<DigestRecord>)>) -> Result<(), Error> {
    if batch.is_empty() {
        return Ok(());
    }
    let written = inner
        .store
        .write_with(Durability::Eventual, move |staging| {
            for (key, digest) in batch {
                match digest {
                    Some(mut digest) => {
                        retain_quotes(staging.rows(), &mut digest, |_| true)?;
                        staging.put(Table::Digests, key.into(), encode(&digest)?);
                    }
                    None => staging.delete(Table::Digests, key.into()),
                }
            }
            Ok(())
        });
    written.map_err(Error::from_store_error)
}

/// Calls `visit` for each row of digests, without a payload for one that is damaged: `check` reports it, and the next
/// [`update`] writes it again.
fn for_each_digest(
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
        let digits = damaged.as_bytes().chunks_exact(2);
        let key = digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        let key = key.collect::<Option<Vec<u8>>>();
        let is_new = |key: &Vec<u8>| *key >= from && last.is_none_or(|last| *key > last);
        let Some(mut key) = key.filter(is_new) else {
            return Ok(());
        };
        visit(&key, None)?;
        key.push(0);
        from = key;
    }
}

/// Whether digests have vectors of a space that is given up: after a projection that was damaged was fitted anew, say.
pub(crate) fn have_outdated_vectors(view: &DatabaseSnapshot) -> Result<bool, Error> {
    let space = view.snapshot().active_space().filter(|_| view.can_embed());
    let Some(space) = space.map(|space| space.id.0) else {
        return Ok(false);
    };
    let mut found = false;
    for_each_digest(view.rows(), &mut |key, payload| {
        let head = payload.map(|payload| digest_metadata(key, payload));
        let of = head.transpose()?.and_then(|head| head.space);
        found |= of.is_some_and(|of| of != space && of != NO_SPACE);
        Ok(())
    })?;
    Ok(found)
}

/// Takes the sentences out of all digests that documents which were deleted or replaced do not have any more. The next
/// [`update`] writes these digests again.
///
/// Costs a look at each digest, where there are any and documents were changed.
pub(crate) fn remove_deleted_sentences(
    staging: &mut Staging<'_>,
    changed: &BTreeSet<DocumentId>,
) -> Result<(), Error> {
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

/// Takes out the sentences that `is_in_doubt` and that no chunk has any more; whether there were any. What remains has
/// no vector until the next [`update`].
fn retain_quotes(
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

/// The digest of a community, without its vector.
fn build_digest(
    view: &DatabaseSnapshot,
    graph: GraphSnapshot<'_, Section>,
    known: &CommunitiesReader<Section>,
    level: usize,
    community: u32,
) -> Result<DigestRecord, Error> {
    let all = known.members(level, community);
    let member_count = all.len() as u32;
    let members: Vec<ConceptId> = all.take(MEMBERS_MAX).collect();
    // The first members say most of what a community is about.
    let weight = |place: usize| 1.0 / (1.0 + place as f64).sqrt();
    let weights: BTreeMap<ConceptId, f64> = (0..)
        .zip(&members)
        .map(|(place, &member)| (member, weight(place)))
        .collect();
    let named = members.iter().take(NAMED_MAX).map(|member| member.0);
    Ok(DigestRecord {
        level: level as u8,
        member_count,
        members: named.collect(),
        relations: relations(graph, &members),
        sentences: select_sentences(candidates(view, graph, &weights)?, &weights),
        vector: None,
    })
}

/// The relations of most weight among members; ties by ends and kind.
fn relations(graph: GraphSnapshot<'_, Section>, members: &[ConceptId]) -> Vec<(u32, String, u32)> {
    let inside: BTreeSet<ConceptId> = members.iter().take(NAMED_MAX).copied().collect();
    let mut found = Vec::new();
    for &member in &inside {
        let edges = graph.edges(member).into_iter();
        let own = edges.filter(|edge| edge.outgoing && inside.contains(&edge.other));
        found.extend(own.map(|edge| (edge.weight, member.0, edge.kind, edge.other.0)));
    }
    found.sort_by(|a, b| {
        b.0.total_cmp(&a.0)
            .then((a.1, a.3, a.2).cmp(&(b.1, b.3, b.2)))
    });
    found.truncate(RELATIONS_MAX);
    let found = found.into_iter();
    found
        .map(|(_, source, kind, target)| (source, kind.to_owned(), target))
        .collect()
}

/// A sentence with the members that it names.
struct Candidate {
    sentence: DigestSentence,
    names: BTreeSet<ConceptId>,
}

/// The sentences of the chunks that mention most of the members.
fn candidates(
    view: &DatabaseSnapshot,
    graph: GraphSnapshot<'_, Section>,
    weights: &BTreeMap<ConceptId, f64>,
) -> Result<Vec<Candidate>, Error> {
    let mut chunks: BTreeMap<Ordinal, f64> = BTreeMap::new();
    for (&member, weight) in weights {
        for (chunk, _) in graph.chunks(member).take(CHUNKS_OF_MEMBER_MAX) {
            *chunks.entry(chunk).or_default() += weight;
        }
    }
    let mut chunks: Vec<(Ordinal, f64)> = chunks.into_iter().collect();
    chunks.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    chunks.truncate(CHUNKS_MAX);
    let mut found = Vec::new();
    for (chunk, _) in chunks {
        let Some(place) = view.snapshot().position(chunk) else {
            continue;
        };
        let row = view.rows().chunk(place.document, place.index)?;
        let Some(row) = row else { continue };
        let (mut chars, end) = row.location.chars;
        // What was put into other words stands nowhere.
        let is_placed = end > chars;
        if is_placed && end - chars != row.text.chars().count() as u64 {
            continue;
        }
        for range in sentences(&row.text, SentenceRule::Unicode) {
            let written = &row.text[range];
            let start = chars;
            chars += written.chars().count() as u64;
            let text = written.trim();
            let skipped = written.len() - written.trim_start().len();
            let start = start + written[..skipped].chars().count() as u64;
            let len = text.chars().count();
            if !SENTENCE_CHARS.contains(&len) {
                continue;
            }
            let links = graph.link(text).into_iter().map(|link| link.concept);
            let names: BTreeSet<ConceptId> = links.filter(|id| weights.contains_key(id)).collect();
            let sentence = DigestSentence {
                document: place.document.0,
                suffix: row.suffix,
                chars: (start, start + len as u64),
                text: text.to_owned(),
            };
            found.extend((!names.is_empty()).then_some(Candidate { sentence, names }));
        }
    }
    Ok(found)
}

/// The sentences that name most members, each of those that were not named before; the first of equals.
fn select_sentences(
    mut candidates: Vec<Candidate>,
    weights: &BTreeMap<ConceptId, f64>,
) -> Vec<DigestSentence> {
    let mut named = BTreeSet::new();
    let mut chosen: Vec<DigestSentence> = Vec::new();
    while chosen.len() < SENTENCES_MAX {
        let gain = |candidate: &Candidate| -> f64 {
            let of = |id: &ConceptId| {
                let weight = weights.get(id).copied().unwrap_or(0.0);
                if named.contains(id) {
                    REPEAT_WEIGHT * weight
                } else {
                    weight
                }
            };
            candidate.names.iter().map(of).sum()
        };
        let best = (0..candidates.len()).max_by(|&a, &b| {
            let (left, right) = (gain(&candidates[a]), gain(&candidates[b]));
            left.total_cmp(&right).then(b.cmp(&a))
        });
        let Some(best) = best else { break };
        let Candidate { sentence, names } = candidates.remove(best);
        if chosen.iter().all(|known| known.text != sentence.text) {
            named.extend(names);
            chosen.push(sentence);
        }
    }
    chosen
}

impl DatabaseSnapshot {
    /// The digest of a community of the analysis, where [`crate::Database::analyse`] wrote one.
    pub fn digest(&self, level: usize, community: u32) -> Result<Option<CommunityDigest>, Error> {
        Ok(CommunityDigest::read(&self.read_view, level, community)?)
    }

    /// The digest with this [`CommunityDigest::id`], where there is one.
    pub(crate) fn digest_by_id(&self, id: &str) -> Result<Option<CommunityDigest>, Error> {
        let mut key: Key = Default::default();
        let digits = id.as_bytes().chunks_exact(2).map(|two| {
            let two = std::str::from_utf8(two).ok()?;
            u8::from_str_radix(two, 16).ok()
        });
        let digits: Option<Vec<u8>> = digits.collect();
        let Some(digits) = digits.filter(|digits| digits.len() == key.len()) else {
            return Ok(None);
        };
        key.copy_from_slice(&digits);
        let record: Option<DigestRecord> = read(self.rows(), Table::Digests, &key)?;
        let digest = record.map(|record| resolve_digest(&self.read_view, &key, &record));
        Ok(digest.transpose()?)
    }

    /// The digests of all communities of a level, in the order of the communities; those that were not written
    /// are left out. Level 0 is the finest.
    pub fn digests(&self, level: usize) -> Result<Vec<CommunityDigest>, Error> {
        let count = self
            .read_view
            .communities()
            .map_or(0, |known| known.count(level));
        let all = (0..count as u32).map(|community| self.digest(level, community));
        all.filter_map(Result::transpose).collect()
    }
}
