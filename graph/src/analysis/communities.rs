//! The section of communities: who belongs together at each of a few levels.
//!
//! ```text
//! offset  size         field        (integers are little-endian u32)
//!      0     4         version      1
//!      4     4         concepts     n
//!      8     4         levels       l, at most 3
//!     12     4         reserved     zero
//!     16    8l         by level, finest first: communities c, and members m in all of them
//!      -    4n         ids          of the concepts, ascending
//!      -    by level:
//!      -    4n         community    of each concept; 2^32 - 1 for one that is in none
//!      -    4(c + 1)   starts       rows of the next array
//!      -    4m         members      ids: in each row by falling PageRank, then id
//!      -    4c         parents      the community of the next level that contains each; 2^32 - 1 for none
//! ```
//!
//! Communities have at least [`MEMBERS_MIN`] members and are numbered from 0 in the order of their first
//! concepts.
//!
//! Start reading at [`write()`].

use std::ops::Range;

use loci_storage::ConceptId;
use loci_storage::staging::content_hash;

use crate::analysis::leiden::Communities;
use crate::error::GraphError;
use crate::u32_slice::{Layout, U32Slice, count, extend, starts};

const SECTION: &str = "communities";
const VERSION: u32 = 1;
const NONE: u32 = u32::MAX;

/// Levels that are kept: the coarsest.
pub const LEVELS_MAX: usize = 3;
/// Members below which a community is none.
pub const MEMBERS_MIN: usize = 3;

/// The bytes of the section. `rank`: that of a concept; not NaN.
pub fn write(found: &Communities, rank: impl Fn(ConceptId) -> f32) -> Vec<u8> {
    let mut distinct_levels: Vec<&Vec<u32>> = found.levels.iter().collect();
    distinct_levels.dedup();
    let first = distinct_levels.len().saturating_sub(LEVELS_MAX);
    let levels: Vec<Level> = distinct_levels[first..]
        .iter()
        .map(|of| Level::from_partition(of))
        .collect();
    let ids = &found.concepts;
    let mut bytes = Vec::new();
    extend(
        &mut bytes,
        [VERSION, count(ids.len()), count(levels.len()), 0],
    );
    for level in &levels {
        let members = level.members.iter().map(Vec::len).sum();
        extend(&mut bytes, [count(level.members.len()), count(members)]);
    }
    extend(&mut bytes, ids.iter().map(|id| id.0));
    for (at, level) in levels.iter().enumerate() {
        extend(&mut bytes, level.community_of.iter().copied());
        extend(&mut bytes, starts(level.members.iter().map(Vec::len)));
        for members in &level.members {
            let ranked = members.iter().map(|&place| ids[place]);
            let mut ranked: Vec<(f32, ConceptId)> = ranked.map(|id| (rank(id), id)).collect();
            ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            extend(&mut bytes, ranked.into_iter().map(|(_, id)| id.0));
        }
        let above = levels.get(at + 1);
        let parent =
            |members: &Vec<usize>| above.map_or(NONE, |above| above.community_of[members[0]]);
        extend(&mut bytes, level.members.iter().map(parent));
    }
    bytes
}

/// What names a community for as long as its level and members stay: the same in every analysis.
pub fn stable_key(level: usize, members: impl Iterator<Item = ConceptId>) -> [u8; 16] {
    let mut members: Vec<u32> = members.map(|member| member.0).collect();
    members.sort_unstable();
    let mut bytes = Vec::with_capacity(4 + 4 * members.len());
    extend(&mut bytes, [count(level)]);
    extend(&mut bytes, members);
    content_hash(&bytes)
}

/// One level, without communities that are too small.
struct Level {
    /// By place of the concept.
    community_of: Vec<u32>,
    /// By community: places.
    members: Vec<Vec<usize>>,
}

impl Level {
    fn from_partition(all: &[u32]) -> Level {
        let end = all.iter().max().map_or(0, |&last| last as usize + 1);
        let mut by_number: Vec<Vec<usize>> = vec![Vec::new(); end];
        for (place, &community) in all.iter().enumerate() {
            by_number[community as usize].push(place);
        }
        let (mut community_of, mut members) = (vec![NONE; all.len()], Vec::new());
        for places in by_number {
            if places.len() < MEMBERS_MIN {
                continue;
            }
            for &place in &places {
                community_of[place] = count(members.len());
            }
            members.push(places);
        }
        Level {
            community_of,
            members,
        }
    }
}

/// The communities of concepts, checked.
#[derive(Debug)]
pub struct CommunitiesReader<B> {
    bytes: B,
    ids: Range<usize>,
    levels: Vec<LevelRanges>,
}

#[derive(Debug, Default)]
struct LevelRanges {
    community_of: Range<usize>,
    starts: Range<usize>,
    members: Range<usize>,
    parents: Range<usize>,
}

impl<B: AsRef<[u8]>> CommunitiesReader<B> {
    /// Checks `bytes`, which may be anything: lengths, ascending ids and starts. Costs one pass.
    pub fn open(bytes: B) -> Result<CommunitiesReader<B>, GraphError> {
        let (mut layout, [_, concepts, level_count, _]) =
            Layout::open::<4>(SECTION, VERSION, bytes.as_ref())?;
        let wrong = |why| GraphError::Malformed {
            section: SECTION,
            why,
        };
        if level_count as usize > LEVELS_MAX {
            return Err(wrong("more levels than there can be"));
        }
        let sizes = layout.words(2 * u64::from(level_count))?;
        let ids = layout.words(u64::from(concepts))?;
        let sizes = U32Slice::new(bytes.as_ref(), &sizes);
        let mut levels = Vec::with_capacity(level_count as usize);
        for at in 0..level_count as usize {
            let size = |i: usize| u64::from(sizes.get(2 * at + i).unwrap_or(0));
            levels.push(LevelRanges {
                community_of: layout.words(u64::from(concepts))?,
                starts: layout.words(size(0) + 1)?,
                members: layout.words(size(1))?,
                parents: layout.words(size(0))?,
            });
        }
        layout.finish()?;
        let reader = CommunitiesReader { bytes, ids, levels };
        if !reader.words(&reader.ids).is_strictly_ascending() {
            return Err(wrong("concepts do not ascend"));
        }
        let fits = |level: &LevelRanges| {
            let members = reader.words(&level.members).len();
            reader.words(&level.starts).are_row_starts(members)
        };
        if reader.levels.iter().all(fits) {
            Ok(reader)
        } else {
            Err(wrong("starts do not ascend to the length of their array"))
        }
    }

    /// Levels, of which 0 is the finest.
    pub fn level_count(&self) -> usize {
        self.levels.len()
    }

    /// Communities of a level.
    pub fn count(&self, level: usize) -> usize {
        let level = self.levels.get(level);
        level.map_or(0, |level| self.words(&level.parents).len())
    }

    /// The community of a concept at a level. Costs a binary search.
    pub fn community_of(&self, concept: ConceptId, level: usize) -> Option<u32> {
        let place = self.words(&self.ids).position_of(concept.0)?;
        let community = self
            .words(&self.levels.get(level)?.community_of)
            .get(place)?;
        Some(community).filter(|&community| community != NONE)
    }

    /// The communities of a concept, from the coarsest level to the finest, as (level, community).
    pub fn path(&self, concept: ConceptId) -> Vec<(usize, u32)> {
        let levels = (0..self.levels.len()).rev();
        levels
            .filter_map(|level| Some((level, self.community_of(concept, level)?)))
            .collect()
    }

    /// The members of a community, by falling PageRank, then id.
    pub fn members(
        &self,
        level: usize,
        community: u32,
    ) -> impl ExactSizeIterator<Item = ConceptId> + '_ {
        let row = match self.levels.get(level) {
            Some(level) => self
                .words(&level.members)
                .slice(self.words(&level.starts).row(community as usize)),
            None => self.words(&(0..0)),
        };
        row.iter().map(ConceptId)
    }

    /// The community of the next level that contains a community.
    pub fn parent(&self, level: usize, community: u32) -> Option<u32> {
        let parents = self.words(&self.levels.get(level)?.parents);
        parents
            .get(community as usize)
            .filter(|&parent| parent != NONE)
    }

    fn words(&self, range: &Range<usize>) -> U32Slice<'_> {
        U32Slice::new(self.bytes.as_ref(), range)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(levels: &[&[u32]]) -> Communities {
        Communities {
            concepts: (0..levels[0].len() as u32)
                .map(|n| ConceptId(10 + n))
                .collect(),
            levels: levels.iter().map(|level| level.to_vec()).collect(),
            modularity: 0.0,
        }
    }

    #[test]
    fn communities_round_trip() {
        let fine = [0, 0, 0, 1, 1, 1, 2, 3, 3];
        let coarse = [0, 0, 0, 0, 0, 0, 1, 2, 2];
        let bytes = write(&found(&[&fine, &coarse]), |id| (id.0 % 3) as f32);
        let reader = CommunitiesReader::open(bytes).unwrap();
        assert_eq!(reader.level_count(), 2);
        assert_eq!(
            (reader.count(0), reader.count(1), reader.count(2)),
            (2, 1, 0)
        );
        let members = |level, community| -> Vec<u32> {
            reader.members(level, community).map(|id| id.0).collect()
        };
        assert_eq!(members(0, 1), [14, 13, 15]);
        assert_eq!(members(1, 0), [11, 14, 10, 13, 12, 15]);
        assert_eq!((reader.parent(0, 1), reader.parent(1, 0)), (Some(0), None));
        assert_eq!(reader.path(ConceptId(14)), [(1, 0), (0, 1)]);
        assert_eq!(reader.path(ConceptId(17)), [], "two are no community");
        assert_eq!(reader.path(ConceptId(99)), []);
    }

    #[test]
    fn the_coarsest_levels_are_kept() {
        let all: Vec<Vec<u32>> = vec![
            (0..12).collect(),
            (0..12).map(|n| n / 2).collect(),
            (0..12).map(|n| n / 3).collect(),
            (0..12).map(|n| n / 6).collect(),
            vec![0; 12],
            vec![0; 12],
        ];
        let all: Vec<&[u32]> = all.iter().map(Vec::as_slice).collect();
        let reader = CommunitiesReader::open(write(&found(&all), |_| 0.0)).unwrap();
        assert_eq!(
            (0..4).map(|level| reader.count(level)).collect::<Vec<_>>(),
            [4, 2, 1, 0]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_open_as_a_section_or_fail(
            of in prop::collection::vec(0u32..5, 1..20),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            keep in any::<prop::sample::Index>(),
        ) {
            let mut bytes = write(&found(&[&of, &vec![0; of.len()]]), |_| 0.0);
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            for bytes in [&bytes[..], &bytes[..keep.index(bytes.len())]] {
                let Ok(reader) = CommunitiesReader::open(bytes) else { continue };
                for concept in (0..40).map(ConceptId) {
                    for (level, community) in reader.path(concept) {
                        reader.members(level, community).for_each(drop);
                        reader.parent(level, community);
                    }
                }
            }
        }
    }
}
