//! The relations section: edges between concepts with kind, weight and evidence, in both directions.
//!
//! ```text
//! offset  size            field            (integers are little-endian u32)
//!      0     4            version          1
//!      4     4            concept_count    n: concepts that have an edge
//!      8     4            edge_count       e, below 2^31
//!     12     4            incidence_count  i: 2e less the edges from a concept to itself
//!     16     4            kind_count       k
//!     20     4            evidence_count   v
//!     24     4            kinds_len        bytes of the kinds
//!     28     4            reserved         zero
//!     32    4n            concepts         ids, ascending
//!      -    4(n + 1)      concept_starts   rows of `incidences`
//!      -    4i            incidences       edge · 2 + (1 if the row's concept is its source),
//!                                          outgoing first, then by edge
//!      -    4e            sources          places in `concepts`
//!      -    4e            targets          places in `concepts`
//!      -    4e            edge_kinds       places in `kind_starts`
//!      -    4e            weights          f32, finite, not negative
//!      -    4(e + 1)      evidence_starts  rows of `evidence`
//!      -    4v            evidence         local numbers, ascending in each row
//!      -    4(k + 1)      kind_starts      where each kind starts in the bytes that follow
//!      -    kinds_len     kinds            UTF-8, ascending
//! ```
//! Edges ascend by source, target, kind and first piece of evidence (those without any last), which are unique
//! together: what several documents state is an edge for each, so that it weighs what the living ones say.
//!
//! Start reading at [`RelationsReader::edges`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use loci_storage::{ConceptId, LocalOrdinal};

use crate::error::{GraphError, check_fault};
use crate::u32_slice::{Layout, U32Iter, U32Slice, count, extend, starts};

const SECTION: &str = "relations";
const VERSION: u32 = 1;

/// Edges for each target that are looked at one after another.
const SCANNED_PER_TARGET: usize = 4;

/// Source, target, kind, and the first piece of evidence or, without any, `u32::MAX`.
type EdgeKey = (ConceptId, ConceptId, String, u32);

#[derive(Debug, Default)]
struct EdgeData {
    weight: f64,
    evidence: BTreeSet<LocalOrdinal>,
}

/// Collects the edges of a segment.
#[derive(Debug, Default)]
pub struct RelationsBuilder {
    edges: BTreeMap<EdgeKey, EdgeData>,
}

impl RelationsBuilder {
    /// Adds what one document states, in any order. Edges with the same ends, kind and first piece of evidence
    /// become one: weights add up, evidence is united. A weight that is negative or not finite counts as 0.
    ///
    /// `evidence`: the chunks that state it. An edge without any is visible only while no chunk of the
    /// segment is dead, because nobody can tell when its reason is gone; give evidence.
    pub fn push(
        &mut self,
        source: ConceptId,
        target: ConceptId,
        kind: &str,
        weight: f32,
        evidence: &[LocalOrdinal],
    ) {
        let first = evidence.iter().min().map_or(u32::MAX, |chunk| chunk.0);
        let edge = self
            .edges
            .entry((source, target, kind.to_owned(), first))
            .or_default();
        if weight.is_finite() && weight > 0.0 {
            edge.weight += f64::from(weight);
        }
        edge.evidence.extend(evidence);
    }

    /// The section's bytes.
    pub fn finish(self) -> Vec<u8> {
        let keys = || self.edges.keys();
        let edges = || self.edges.values();
        let concepts: Vec<ConceptId> = keys()
            .flat_map(|(source, target, ..)| [*source, *target])
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let kinds: Vec<&str> = keys()
            .map(|(_, _, kind, _)| kind.as_str())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let concept = |id: &ConceptId| sorted_index(&concepts, id);
        let incidences = incidences(
            concepts.len(),
            keys().map(|(s, t, ..)| (concept(s), concept(t))),
        );
        let kinds_len = kinds.iter().map(|kind| kind.len()).sum();
        let mut bytes = Vec::new();
        extend(
            &mut bytes,
            [VERSION, count(concepts.len()), count(self.edges.len())],
        );
        extend(
            &mut bytes,
            [
                count(incidences.iter().map(Vec::len).sum()),
                count(kinds.len()),
            ],
        );
        extend(
            &mut bytes,
            [
                count(edges().map(|edge| edge.evidence.len()).sum()),
                count(kinds_len),
                0,
            ],
        );
        extend(&mut bytes, concepts.iter().map(|concept| concept.0));
        extend(&mut bytes, starts(incidences.iter().map(Vec::len)));
        extend(&mut bytes, incidences.into_iter().flatten());
        extend(
            &mut bytes,
            keys().map(|(source, ..)| count(concept(source))),
        );
        extend(
            &mut bytes,
            keys().map(|(_, target, ..)| count(concept(target))),
        );
        extend(
            &mut bytes,
            keys().map(|(_, _, kind, _)| count(sorted_index(&kinds, &kind.as_str()))),
        );
        extend(
            &mut bytes,
            edges().map(|edge| (edge.weight as f32).min(f32::MAX).to_bits()),
        );
        extend(&mut bytes, starts(edges().map(|edge| edge.evidence.len())));
        extend(
            &mut bytes,
            edges().flat_map(|edge| &edge.evidence).map(|chunk| chunk.0),
        );
        extend(&mut bytes, starts(kinds.iter().map(|kind| kind.len())));
        kinds.iter().for_each(|kind| bytes.extend(kind.as_bytes()));
        bytes
    }
}

fn sorted_index<T: Ord>(sorted: &[T], value: &T) -> usize {
    sorted
        .binary_search(value)
        .expect("every end and kind was collected from the edges")
}

/// The rows of `incidences` for edges between places.
fn incidences(
    concept_count: usize,
    edges: impl Iterator<Item = (usize, usize)> + Clone,
) -> Vec<Vec<u32>> {
    let mut rows = vec![Vec::new(); concept_count];
    for (edge, (source, _)) in edges.clone().enumerate() {
        rows[source].push(count(edge) << 1 | 1);
    }
    for (edge, (source, target)) in edges.enumerate() {
        if source != target {
            rows[target].push(count(edge) << 1);
        }
    }
    rows
}

/// An edge seen from one of its ends.
#[derive(Clone, Debug)]
pub struct Edge<'a> {
    /// The other end; the concept itself for an edge to itself.
    pub other: ConceptId,
    /// Whether the edge points from the concept to the other end.
    pub outgoing: bool,
    /// What the relation is called.
    pub kind: &'a str,
    /// Its weight in this segment, not negative.
    pub weight: f32,
    /// The chunks that state it.
    pub evidence: Evidence<'a>,
}

/// An edge of a segment, from source to target.
#[derive(Clone, Debug)]
pub struct Relation<'a> {
    /// Where it starts.
    pub source: ConceptId,
    /// Where it ends.
    pub target: ConceptId,
    /// What the relation is called.
    pub kind: &'a str,
    /// Its weight in this segment, not negative.
    pub weight: f32,
    /// The chunks that state it.
    pub evidence: Evidence<'a>,
}

/// The chunks that state an edge, ascending. An iterator over local numbers.
#[derive(Clone, Debug)]
pub struct Evidence<'a>(U32Iter<'a>);

impl Iterator for Evidence<'_> {
    type Item = LocalOrdinal;

    fn next(&mut self) -> Option<LocalOrdinal> {
        self.0.next().map(LocalOrdinal)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Evidence<'_> {}

/// The edges of a segment, checked.
#[derive(Debug)]
pub struct RelationsReader<B> {
    bytes: B,
    concepts: Range<usize>,
    concept_starts: Range<usize>,
    incidences: Range<usize>,
    sources: Range<usize>,
    targets: Range<usize>,
    edge_kinds: Range<usize>,
    weights: Range<usize>,
    evidence_starts: Range<usize>,
    evidence: Range<usize>,
    kind_starts: Range<usize>,
    kinds: Range<usize>,
}

impl<B: AsRef<[u8]>> RelationsReader<B> {
    /// Checks `bytes`, which may be anything: lengths, ascending ids and starts, every place in range,
    /// every piece of evidence below `chunk_count` (the segment's chunks), kinds in UTF-8. Costs one
    /// pass.
    pub fn open(bytes: B, chunk_count: u32) -> Result<RelationsReader<B>, GraphError> {
        let (mut layout, header) = Layout::open::<8>(SECTION, VERSION, bytes.as_ref())?;
        let [
            _,
            concepts,
            edges,
            incidences,
            kinds,
            evidence,
            kinds_len,
            _,
        ] = header.map(u64::from);
        let reader = RelationsReader {
            concepts: layout.words(concepts)?,
            concept_starts: layout.words(concepts + 1)?,
            incidences: layout.words(incidences)?,
            sources: layout.words(edges)?,
            targets: layout.words(edges)?,
            edge_kinds: layout.words(edges)?,
            weights: layout.words(edges)?,
            evidence_starts: layout.words(edges + 1)?,
            evidence: layout.words(evidence)?,
            kind_starts: layout.words(kinds + 1)?,
            kinds: layout.bytes(kinds_len)?,
            bytes,
        };
        layout.finish()?;
        check_fault(SECTION, reader.fault(chunk_count))?;
        Ok(reader)
    }

    fn fault(&self, chunk_count: u32) -> Option<&'static str> {
        let (concepts, edges) = (self.words(&self.concepts), self.edge_count());
        let (incidences, evidence) = (self.words(&self.incidences), self.words(&self.evidence));
        let (evidence_starts, kind_starts) = (
            self.words(&self.evidence_starts),
            self.words(&self.kind_starts),
        );
        let below = |range: &Range<usize>, bound: usize| {
            self.words(range).iter().all(|word| (word as usize) < bound)
        };
        if !concepts.is_strictly_ascending() {
            return Some("concepts do not ascend");
        }
        let starts_fit = self
            .words(&self.concept_starts)
            .are_row_starts(incidences.len())
            && evidence_starts.are_row_starts(evidence.len())
            && kind_starts.are_row_starts(self.kinds.len());
        if !starts_fit {
            return Some("starts do not ascend to the length of their array");
        }
        if !incidences.iter().all(|word| ((word >> 1) as usize) < edges) {
            return Some("an edge's number is out of range");
        }
        if !below(&self.sources, concepts.len()) || !below(&self.targets, concepts.len()) {
            return Some("an edge's end is out of range");
        }
        if !self.are_incidences_valid() {
            return Some("an edge is listed at a concept that is not its end");
        }
        if !below(&self.edge_kinds, kind_starts.len() - 1) {
            return Some("a kind's number is out of range");
        }
        let is_weight = |bits| f32::from_bits(bits).is_finite() && f32::from_bits(bits) >= 0.0;
        if !self.words(&self.weights).iter().all(is_weight) {
            return Some("a weight is negative or not finite");
        }
        let rows_ascend = (0..edges).all(|edge| {
            evidence
                .slice(evidence_starts.row(edge))
                .is_strictly_ascending()
        });
        if !rows_ascend || !below(&self.evidence, chunk_count as usize) {
            return Some("a piece of evidence is out of range or order");
        }
        if !(0..kind_starts.len() - 1).all(|kind| self.kind(kind).is_some()) {
            return Some("a kind is not UTF-8");
        }
        None
    }

    /// Whether every incidence names an edge that has the row's concept as the end it claims.
    fn are_incidences_valid(&self) -> bool {
        let starts = self.words(&self.concept_starts);
        (0..self.words(&self.concepts).len()).all(|place| {
            let row = self.words(&self.incidences).slice(starts.row(place));
            row.iter().all(|word| {
                let ends = if word & 1 == 1 {
                    &self.sources
                } else {
                    &self.targets
                };
                self.words(ends).get((word >> 1) as usize) == Some(place as u32)
            })
        })
    }

    /// How many edges there are.
    pub fn edge_count(&self) -> usize {
        self.words(&self.sources).len()
    }

    /// The concepts that have an edge, ascending.
    pub fn concept_ids(&self) -> impl ExactSizeIterator<Item = ConceptId> + '_ {
        self.words(&self.concepts).iter().map(ConceptId)
    }

    /// All edges, by source, target, kind and first piece of evidence.
    pub fn relations(&self) -> impl Iterator<Item = Relation<'_>> + '_ {
        (0..self.edge_count()).filter_map(|edge| self.relation(edge))
    }

    /// The edges of `concept`: outgoing by target and kind, then incoming by source and kind; those that
    /// several documents state as often. An edge to itself is outgoing, once. Costs a binary search.
    pub fn edges(&self, concept: ConceptId) -> impl Iterator<Item = Edge<'_>> + '_ {
        let place = self.words(&self.concepts).position_of(concept.0);
        let row = place.map_or(0..0, |place| self.words(&self.concept_starts).row(place));
        self.words(&self.incidences)
            .slice(row)
            .iter()
            .filter_map(|word| {
                let outgoing = word & 1 == 1;
                let relation = self.relation((word >> 1) as usize)?;
                Some(Edge {
                    other: if outgoing {
                        relation.target
                    } else {
                        relation.source
                    },
                    outgoing,
                    kind: relation.kind,
                    weight: relation.weight,
                    evidence: relation.evidence,
                })
            })
    }

    /// Where the edges of this segment keep each of `concepts`; `None` for one that has no edge here.
    pub(crate) fn concept_indices(&self, concepts: &[ConceptId]) -> Vec<Option<u32>> {
        let known = self.words(&self.concepts);
        let place = |concept: &ConceptId| known.position_of(concept.0).map(|place| place as u32);
        concepts.iter().map(place).collect()
    }

    /// The edges from the concept at `source` to those at `targets`, by target and kind.
    ///
    /// `targets`: indices ([`RelationsReader::concept_indices`]), ascending. Costs a pass over the edges of a source with few, and
    /// a binary search for each target otherwise.
    pub(crate) fn edges_between<'r, 't>(
        &'r self,
        source: u32,
        targets: &'t [u32],
    ) -> impl Iterator<Item = Relation<'r>> + use<'r, 't, B> {
        let row = self.words(&self.concept_starts).row(source as usize);
        let row = self.words(&self.incidences).slice(row);
        let outgoing = row.slice(0..row.partition_point(|word| word & 1 == 1));
        let ends = self.words(&self.targets);
        let end = move |word: u32| ends.get((word >> 1) as usize).unwrap_or(u32::MAX);
        let has_few = outgoing.len() <= targets.len().saturating_mul(SCANNED_PER_TARGET);
        let (passed, searched) = if has_few {
            (outgoing, &targets[..0])
        } else {
            (outgoing.slice(0..0), targets)
        };
        let mut left = targets;
        let passed = passed.iter().filter(move |&word| {
            let target = end(word);
            while left.first().is_some_and(|&next| next < target) {
                left = &left[1..];
            }
            left.first() == Some(&target)
        });
        let searched = searched.iter().flat_map(move |&target| {
            let first = outgoing.partition_point(|word| end(word) < target);
            let edges = outgoing.slice(first..outgoing.len()).iter();
            edges.take_while(move |&word| end(word) == target)
        });
        let edges = passed.chain(searched);
        edges.filter_map(|word| self.relation((word >> 1) as usize))
    }

    fn relation(&self, edge: usize) -> Option<Relation<'_>> {
        let row = self.words(&self.evidence_starts).row(edge);
        Some(Relation {
            source: self.end(&self.sources, edge)?,
            target: self.end(&self.targets, edge)?,
            kind: self.kind(self.words(&self.edge_kinds).get(edge)? as usize)?,
            weight: f32::from_bits(self.words(&self.weights).get(edge)?),
            evidence: Evidence(self.words(&self.evidence).slice(row).iter()),
        })
    }

    fn end(&self, ends: &Range<usize>, edge: usize) -> Option<ConceptId> {
        let place = self.words(ends).get(edge)?;
        self.words(&self.concepts)
            .get(place as usize)
            .map(ConceptId)
    }

    fn kind(&self, kind: usize) -> Option<&str> {
        let kinds = self.bytes.as_ref().get(self.kinds.clone())?;
        std::str::from_utf8(kinds.get(self.words(&self.kind_starts).row(kind))?).ok()
    }

    fn words(&self, range: &Range<usize>) -> U32Slice<'_> {
        U32Slice::new(self.bytes.as_ref(), range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Pushed = (u32, u32, String, f32, Vec<u32>);

    fn build(edges: &[Pushed]) -> Vec<u8> {
        let mut builder = RelationsBuilder::default();
        for (source, target, kind, weight, evidence) in edges {
            let evidence: Vec<LocalOrdinal> = evidence.iter().copied().map(LocalOrdinal).collect();
            builder.push(
                ConceptId(*source),
                ConceptId(*target),
                kind,
                *weight,
                &evidence,
            );
        }
        builder.finish()
    }

    fn sample() -> Vec<u8> {
        build(&[
            (3, 5, "uses".into(), 1.0, vec![0, 2]),
            (5, 3, "is part of".into(), 0.5, vec![1]),
            (5, 5, "uses".into(), 2.0, vec![]),
            (3, 5, "uses".into(), 1.5, vec![1]),
            (3, 5, "uses".into(), 0.5, vec![0]),
        ])
    }

    fn listed<B: AsRef<[u8]>>(relations: &RelationsReader<B>, concept: u32) -> Vec<String> {
        let edges = relations.edges(ConceptId(concept));
        edges
            .map(|edge| {
                let arrow = if edge.outgoing { "->" } else { "<-" };
                let evidence: Vec<u32> = edge.evidence.map(|chunk| chunk.0).collect();
                format!(
                    "{arrow}{} {} {} {evidence:?}",
                    edge.other.0, edge.kind, edge.weight
                )
            })
            .collect()
    }

    #[test]
    fn edges_are_listed_from_both_ends() {
        let relations = RelationsReader::open(sample(), 3).unwrap();
        assert_eq!(
            listed(&relations, 3),
            [
                "->5 uses 1.5 [0, 2]",
                "->5 uses 1.5 [1]",
                "<-5 is part of 0.5 [1]"
            ]
        );
        let expected = [
            "->3 is part of 0.5 [1]",
            "->5 uses 2 []",
            "<-3 uses 1.5 [0, 2]",
            "<-3 uses 1.5 [1]",
        ];
        assert_eq!(listed(&relations, 5), expected);
        assert!(listed(&relations, 4).is_empty());
    }

    #[test]
    fn golden_bytes() {
        // A change here is a new version, not a new expectation.
        let bytes = build(&[(3, 5, "is".into(), 1.0, vec![2])]);
        let words = [
            1,
            2,
            1,
            2,
            1,
            1,
            2,
            0,
            3,
            5,
            0,
            1,
            2,
            1,
            0,
            0,
            1,
            0,
            0x3f80_0000,
            0,
            1,
            2,
            0,
            2,
        ];
        let mut expected: Vec<u8> = words
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect();
        expected.extend(b"is");
        assert_eq!(bytes, expected);
    }

    #[test]
    fn evidence_beyond_the_segment_is_refused() {
        assert!(RelationsReader::open(sample(), 2).is_err());
    }

    #[test]
    fn invalid_weights_count_as_zero() {
        let edge = |weight| (1, 2, String::new(), weight, vec![]);
        let bytes = build(&[edge(f32::NAN), edge(-1.0), edge(f32::INFINITY), edge(0.25)]);
        let relations = RelationsReader::open(bytes, 0).unwrap();
        assert_eq!(listed(&relations, 2), ["<-1  0.25 []"]);
    }

    #[test]
    fn every_truncation_is_detected() {
        let bytes = sample();
        for len in 0..bytes.len() {
            assert!(
                RelationsReader::open(&bytes[..len], 3).is_err(),
                "a cut at {len} was not noticed"
            );
        }
    }

    fn read_all<B: AsRef<[u8]>>(relations: &RelationsReader<B>, chunk_count: u32) {
        for concept in relations.concept_ids() {
            for edge in relations.edges(concept) {
                assert!(edge.weight.is_finite());
                assert!(edge.evidence.into_iter().all(|chunk| chunk.0 < chunk_count));
            }
        }
        assert_eq!(relations.relations().count(), relations.edge_count());
    }

    proptest! {
            #[test]
            fn both_directions_return_the_edges(
                edges in prop::collection::vec(
                    (0u32..5, 0u32..5, "[a-c]{0,2}", 0u8..4, prop::collection::vec(0u32..4, 0..3)), 0..16),
            ) {
                let edges: Vec<Pushed> =
                    edges.into_iter().map(|(s, t, kind, w, ev)| (s, t, kind, f32::from(w), ev)).collect();
                let mut expected: BTreeMap<(u32, u32, String, Option<u32>), (f32, BTreeSet<u32>)> = BTreeMap::new();
                for (source, target, kind, weight, evidence) in &edges {
                    let first = evidence.iter().min().copied();
                    let entry = expected.entry((*source, *target, kind.clone(), first)).or_default();
                    entry.0 += weight;
                    entry.1.extend(evidence);
                }
                let relations = RelationsReader::open(build(&edges), 4).unwrap();
                let mut outgoing = BTreeMap::new();
                let mut incoming = BTreeMap::new();
                for concept in relations.concept_ids() {
                    for edge in relations.edges(concept) {
                        let (ends, into) = if edge.outgoing {
    ((concept.0, edge.other.0), &mut outgoing)
    } else {
    ((edge.other.0, concept.0), &mut incoming)
    };
                        let evidence: BTreeSet<u32> = edge.evidence.map(|chunk| chunk.0).collect();
                        let first = evidence.first().copied();
                        into.insert((ends.0, ends.1, edge.kind.to_owned(), first), (edge.weight, evidence));
                    }
                }
                prop_assert_eq!(&outgoing, &expected);
                expected.retain(|(source, target, ..), _| source != target);
                prop_assert_eq!(&incoming, &expected);
            }

            #[test]
            fn changed_bytes_give_an_error_or_numbers_in_range(at: prop::sample::Index, byte: u8) {
                let mut bytes = sample();
                let at = at.index(bytes.len());
                bytes[at] = byte;
                if let Ok(relations) = RelationsReader::open(bytes, 3) {
                    read_all(&relations, 3);
                }
            }

            #[test]
            fn any_words_give_an_error_or_numbers_in_range(words in prop::collection::vec(0u32..3, 7..40)) {
                let mut bytes = Vec::new();
                extend(&mut bytes, [VERSION]);
                extend(&mut bytes, words);
                if let Ok(relations) = RelationsReader::open(bytes, 3) {
                    read_all(&relations, 3);
                }
            }
        }
}
