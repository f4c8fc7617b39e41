//! Rows of term counts, as they are pushed, and their vocabulary.

use std::collections::HashMap;

/// Term counts of rows, in compressed sparse rows. Invariants: `starts` has one number more
/// than there are rows; ids within a row ascend and do not repeat.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    starts: Vec<usize>,
    ids: Vec<u32>,
    /// Occurrences of the term in the row, at most 65,535.
    tfs: Vec<u16>,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            starts: vec![0],
            ids: Vec::new(),
            tfs: Vec::new(),
        }
    }
}

impl Counts {
    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Adds a row: the ids of its terms in any order, once per occurrence.
    /// Sorts `occurrences`.
    pub(super) fn push(&mut self, occurrences: &mut [u32]) {
        occurrences.sort_unstable();
        for same in occurrences.chunk_by(|a, b| a == b) {
            self.ids.push(same[0]);
            self.tfs.push(u16::try_from(same.len()).unwrap_or(u16::MAX));
        }
        self.starts.push(self.ids.len());
    }

    /// (term, count) of one row, ascending; empty if there is no such row.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = match (self.starts.get(row), self.starts.get(row.saturating_add(1))) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        };
        self.ids[range.clone()]
            .iter()
            .copied()
            .zip(self.tfs[range].iter().map(|&tf| u32::from(tf)))
    }

    /// The number of rows that contain each of `terms` terms.
    pub(super) fn document_frequencies(&self, terms: usize) -> Vec<u32> {
        let mut frequencies = vec![0; terms];
        for &id in &self.ids {
            frequencies[id as usize] += 1;
        }
        frequencies
    }

    /// Gives every term its new id; terms without one are dropped. `new_ids`: by old id.
    pub(super) fn renumber(&mut self, new_ids: &[Option<u32>]) {
        let Counts { starts, ids, tfs } = self;
        let mut row: Vec<(u32, u16)> = Vec::new();
        let (mut from, mut write_index) = (0, 0);
        for end in &mut starts[1..] {
            row.clear();
            row.extend((from..*end).filter_map(|i| Some((new_ids[ids[i] as usize]?, tfs[i]))));
            row.sort_unstable();
            from = *end;
            // A row only shrinks, so nothing is written over that was not read.
            for &(id, tf) in &row {
                (ids[write_index], tfs[write_index]) = (id, tf);
                write_index += 1;
            }
            *end = write_index;
        }
        ids.truncate(write_index);
        tfs.truncate(write_index);
    }
}

/// The terms pushed so far, numbered in order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    ids: HashMap<Box<str>, u32>,
}

impl Terms {
    /// The number of `term`, a new one if need be. `None` when the numbers are used up.
    pub(super) fn id(&mut self, term: &str) -> Option<u32> {
        if let Some(&id) = self.ids.get(term) {
            return Some(id);
        }
        let id = u32::try_from(self.ids.len()).ok()?;
        self.ids.insert(term.into(), id);
        Some(id)
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The `max` terms of most rows, ties by ascending text, sorted by text: (text, old id).
    /// `frequencies`: by old id; terms of no row are left out.
    pub(super) fn most_frequent(self, max: usize, frequencies: &[u32]) -> Vec<(Box<str>, u32)> {
        let frequency = |id: u32| frequencies[id as usize];
        let mut terms: Vec<_> = self
            .ids
            .into_iter()
            .filter(|&(_, id)| frequency(id) > 0)
            .collect();
        terms.sort_unstable_by(|(a, a_id), (b, b_id)| {
            frequency(*b_id)
                .cmp(&frequency(*a_id))
                .then_with(|| a.cmp(b))
        });
        terms.truncate(max);
        terms.sort_unstable();
        terms
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn any_rows() -> impl Strategy<Value = Vec<Vec<u32>>> {
        prop::collection::vec(prop::collection::vec(0_u32..8, 0..12), 0..8)
    }

    fn counted(rows: &[Vec<u32>]) -> Counts {
        let mut counts = Counts::default();
        rows.iter().for_each(|row| counts.push(&mut row.clone()));
        counts
    }

    proptest! {
        #[test]
        fn rows_come_back_counted_and_renumbered(
            rows in any_rows(),
            new_ids in prop::collection::vec(prop::option::of(0_u32..100), 8),
        ) {
            // New ids must differ from one another.
            let new_ids: Vec<_> =
                new_ids.iter().zip(0..).map(|(id, i)| id.map(|id| id * 8 + i)).collect();
            let mut counts = counted(&rows);
            let mut frequencies = vec![0; 8];
            for (i, row) in rows.iter().enumerate() {
                let mut want = BTreeMap::new();
                row.iter().for_each(|&id| *want.entry(id).or_insert(0) += 1);
                want.keys().for_each(|&id| frequencies[id as usize] += 1);
                prop_assert!(counts.row(i).eq(want));
            }
            prop_assert_eq!(counts.document_frequencies(8), frequencies);
            counts.renumber(&new_ids);
            prop_assert_eq!(counts.rows(), rows.len());
            for (i, row) in rows.iter().enumerate() {
                let mut want = BTreeMap::new();
                let known = row.iter().filter_map(|&id| new_ids[id as usize]);
                known.for_each(|id| *want.entry(id).or_insert(0) += 1);
                prop_assert!(counts.row(i).eq(want));
            }
        }
    }

    #[test]
    fn term_counts_saturate_at_u16_max() {
        assert!(counted(&[vec![3; 70_000]]).row(0).eq([(3, 65_535)]));
    }

    #[test]
    fn row_out_of_range_is_empty() {
        assert_eq!(counted(&[vec![1]]).row(1).count(), 0);
        assert_eq!(counted(&[vec![1]]).row(usize::MAX - 1).count(), 0);
    }

    #[test]
    fn the_vocabulary_keeps_the_most_frequent_terms_in_order_of_their_text() {
        let mut terms = Terms::default();
        for term in ["mach", "wing", "flow", "heat", "wing"] {
            terms.id(term).unwrap();
        }
        assert_eq!(terms.len(), 4);
        let vocabulary = terms.most_frequent(2, &[1, 5, 1, 0]);
        assert_eq!(vocabulary, [("flow".into(), 2), ("wing".into(), 1)]);
    }
}
