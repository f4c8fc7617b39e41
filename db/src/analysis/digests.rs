//! Digests of communities: what a community of concepts is about, in its members, the relations among them
//! and sentences of the documents, each with its citation.
//!
//! Invariant: a digest belongs to a level and a set of members ([`communities::stable_key`]), and is written again only
//! when there is none of that key, or a sentence of it is gone. One that is read quotes nothing that was deleted.
//!
//! Start reading at [`update`].

use std::collections::{BTreeMap, BTreeSet};

use loci_graph::{CommunitiesReader, GraphSnapshot, communities};
use loci_query::community::{CommunityDigest, quotes, resolve_digest};
use loci_storage::metadata::digest_metadata;
use loci_storage::records::{DigestRecord, DigestSentence};
use loci_storage::rows::{decode, encode, read};
use loci_storage::segment::Section;
use loci_storage::{ConceptId, Durability, Ordinal, Table};
use loci_types::text::sentences::{SentenceRule, sentences};

use crate::analysis::digest_rows::{NO_SPACE, for_each_digest, parse_hex, retain_quotes};
use crate::error::Error;
use crate::progress::{self, Progress};
use crate::state::inner::Inner;
use crate::state::snapshot::DatabaseSnapshot;

/// Members that a digest is computed from, and that it names.
const MEMBERS_MAX: usize = 50;
const NAMED_MAX: usize = 20;
const RELATIONS_MAX: usize = 10;
const SENTENCES_MAX: usize = 5;
/// Chunks of a member that are ranked, and the best of all whose sentences are candidates.
const CHUNKS_OF_MEMBER_MAX: usize = 64;
const CHUNKS_MAX: usize = 12;
/// Characters of a sentence that can be quoted.
const SENTENCE_CHARS: std::ops::RangeInclusive<usize> = 20..=400;
/// What a member that another sentence names already adds to a sentence.
const REPEAT_WEIGHT: f64 = 0.2;
/// Digests that one commit writes.
const BATCH: usize = 32;

type Key = [u8; 16];

/// What [`update`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DigestCounts {
    /// Digests that were written.
    pub(crate) written: usize,
    /// Digests that stayed as they were.
    pub(crate) unchanged: usize,
}

/// Writes the digests that the communities of `view` lack, in batches, and deletes those of communities that no
/// longer exist. Batches that were written before an interruption stay, and the next call continues.
pub(crate) fn update(
    inner: &Inner,
    view: &DatabaseSnapshot,
    progress: &dyn Progress,
) -> Result<DigestCounts, Error> {
    let space = view.snapshot().active_space().filter(|_| view.can_embed());
    let space = space.map(|space| space.id.0);
    let PendingDigests {
        communities,
        gone,
        unchanged,
    } = PendingDigests::find(view, space)?;
    let total = (communities.len() + unchanged) as u64;
    let mut updated = DigestCounts {
        unchanged,
        written: 0,
    };
    let segments = view.read_view.graph_segments();
    let graph = view.read_view.graph(&segments);
    let mut batch: Vec<(Key, Option<DigestRecord>)> = Vec::new();
    batch.extend(gone.into_iter().map(|key| (key, None)));
    for (key, (level, community)) in communities {
        let Some(known) = view.read_view.communities() else {
            break;
        };
        let mut record = build_digest(view, graph, known, level, community)?;
        let resolved = resolve_digest(&view.read_view, &key, &record)?;
        let vector = view.embed(&resolved.text())?;
        // An empty one marks a text without a known word.
        record.vector = space.map(|space| (space, vector.unwrap_or_default()));
        batch.push((key, Some(record)));
        updated.written += 1;
        if batch.len() >= BATCH {
            write_batch(inner, std::mem::take(&mut batch))?;
            let done = (updated.written + updated.unchanged) as u64;
            let reported = progress::report(progress, "writing digests", done, total);
            if reported.is_err() {
                inner.store.flush()?;
            }
            reported?;
        }
    }
    write_batch(inner, batch)?;
    inner.store.flush()?;
    Ok(updated)
}

/// The digests that are to be written and deleted.
#[derive(Default)]
struct PendingDigests {
    /// Level and number of the communities without a digest.
    communities: BTreeMap<Key, (usize, u32)>,
    /// The digests of communities that no longer exist.
    gone: Vec<Key>,
    /// Digests that stay.
    unchanged: usize,
}

impl PendingDigests {
    /// `space`: the space that digests have vectors of.
    fn find(view: &DatabaseSnapshot, space: Option<u32>) -> Result<PendingDigests, Error> {
        let mut pending = PendingDigests::default();
        if let Some(known) = view.read_view.communities() {
            for level in 0..known.level_count() {
                for community in 0..known.count(level) as u32 {
                    let key = communities::stable_key(level, known.members(level, community));
                    pending.communities.insert(key, (level, community));
                }
            }
        }
        for_each_digest(view.rows(), &mut |key, payload| {
            let Some(key) = key.first_chunk::<16>() else {
                return Ok(());
            };
            if !pending.communities.contains_key(key) {
                pending.gone.push(*key);
                return Ok(());
            }
            let Some(payload) = payload else {
                return Ok(());
            };
            let record: DigestRecord = decode(Table::Digests, key, payload)?;
            let vector = record.vector.as_ref().map(|vector| vector.0);
            if vector == space && quotes(view.rows(), &record)?.len() == record.sentences.len() {
                pending.communities.remove(key);
                pending.unchanged += 1;
            }
            Ok(())
        })?;
        Ok(pending)
    }
}

/// Writes digests, without sentences of documents that were deleted or replaced since they were chosen.
fn write_batch(inner: &Inner, batch: Vec<(Key, Option<DigestRecord>)>) -> Result<(), Error> {
    if batch.is_empty() {
        return Ok(());
    }
    inner.write(Durability::Eventual, move |staging| {
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
    })
}

/// Whether digests have vectors of an abandoned space, for example after a damaged projection was fitted anew.
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
    // The first members characterise a community most.
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
        // A text in other words than the document has no place in it.
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
        let key: Option<Key> = parse_hex(id).and_then(|key| key.try_into().ok());
        let Some(key) = key else {
            return Ok(None);
        };
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
