//! What a term of the dictionary may look like: patterns and misspellings, byte by byte.

use fst::Automaton;

/// Characters of a pattern or a misspelt word that count.
pub(super) const CHARS_MAX: usize = 64;

/// Terms that a pattern describes: `*` stands for any characters, also none. The rest is taken
/// literally.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// Bytes between the stars; at least one entry.
    bytes: Vec<u8>,
    /// Bit `i`: a star stands before byte `i`, or at the end.
    stars: u128,
}

impl Pattern {
    /// `None` for patterns of more than 127 bytes.
    pub(super) fn new(pattern: &str) -> Option<Pattern> {
        let (mut bytes, mut stars) = (Vec::new(), 0u128);
        for byte in pattern.bytes() {
            match byte {
                b'*' => stars |= 1 << bytes.len(),
                _ => bytes.push(byte),
            }
            if bytes.len() > 126 {
                return None;
            }
        }
        Some(Pattern { bytes, stars })
    }
}

impl Automaton for Pattern {
    /// Bit `i`: the first `i` bytes are matched.
    type State = u128;

    fn start(&self) -> u128 {
        1
    }

    fn is_match(&self, state: &u128) -> bool {
        state >> self.bytes.len() & 1 == 1
    }

    fn can_match(&self, state: &u128) -> bool {
        *state != 0
    }

    fn accept(&self, state: &u128, byte: u8) -> u128 {
        // At a star a state stays; at its byte it goes on.
        let mut next = state & self.stars;
        let mut here = *state;
        while here != 0 {
            let at = here.trailing_zeros();
            here &= here - 1;
            if self.bytes.get(at as usize) == Some(&byte) {
                next |= 1 << (at + 1);
            }
        }
        next
    }
}

/// Terms that differ from a word by a few insertions, deletions, replacements and swaps of neighbours
/// (optimal string alignment), in characters.
#[derive(Clone, Debug)]
pub(super) struct Misspelling {
    word: Vec<char>,
    distance: u8,
}

/// A row of the table of distances, for the characters read so far.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// By length of the word's prefix; capped at the distance and one.
    now: Box<[u8]>,
    before: Box<[u8]>,
    last: Option<char>,
    /// Bytes of a character that is not whole yet.
    partial: [u8; 4],
    partial_len: u8,
}

impl Misspelling {
    /// Of `word`, its first [`CHARS_MAX`] characters.
    pub(super) fn new(word: &str, distance: u8) -> Misspelling {
        Misspelling {
            word: word.chars().take(CHARS_MAX).collect(),
            distance,
        }
    }

    fn step(&self, row: &Row, c: char) -> Row {
        let cap = self.distance + 1;
        let mut next = vec![0; self.word.len() + 1].into_boxed_slice();
        next[0] = (row.now[0] + 1).min(cap);
        for (i, &own) in self.word.iter().enumerate() {
            let mut least = row.now[i] + u8::from(own != c);
            least = least.min(row.now[i + 1] + 1).min(next[i] + 1);
            let is_swap = i > 0 && row.last == Some(own) && self.word[i - 1] == c;
            if is_swap {
                least = least.min(row.before[i - 1] + 1);
            }
            next[i + 1] = least.min(cap);
        }
        Row {
            now: next,
            before: row.now.clone(),
            last: Some(c),
            partial: [0; 4],
            partial_len: 0,
        }
    }
}

impl Automaton for Misspelling {
    type State = Row;

    fn start(&self) -> Row {
        let cap = self.distance + 1;
        let row: Box<[u8]> = (0..=self.word.len())
            .map(|i| u8::try_from(i).map_or(cap, |i| i.min(cap)))
            .collect();
        Row {
            before: vec![cap; row.len()].into(),
            now: row,
            last: None,
            partial: [0; 4],
            partial_len: 0,
        }
    }

    fn is_match(&self, row: &Row) -> bool {
        let all = row.now.last().copied();
        row.partial_len == 0 && all.is_some_and(|distance| distance <= self.distance)
    }

    fn can_match(&self, row: &Row) -> bool {
        row.now
            .iter()
            .chain(&*row.before)
            .any(|&distance| distance <= self.distance)
    }

    fn accept(&self, row: &Row, byte: u8) -> Row {
        let mut next = row.clone();
        let at = usize::from(row.partial_len);
        let Some(place) = next.partial.get_mut(at) else {
            return self.dead(row);
        };
        *place = byte;
        next.partial_len += 1;
        match str::from_utf8(&next.partial[..=at]) {
            Ok(text) => text
                .chars()
                .next()
                .map_or_else(|| self.dead(row), |c| self.step(row, c)),
            // Bytes that may still become a character.
            Err(error) if error.error_len().is_none() => next,
            Err(_) => self.dead(row),
        }
    }
}

impl Misspelling {
    /// A row from which nothing is reached.
    fn dead(&self, row: &Row) -> Row {
        let none = vec![self.distance + 1; row.now.len()].into_boxed_slice();
        Row {
            now: none.clone(),
            before: none,
            last: None,
            partial: [0; 4],
            partial_len: 0,
        }
    }
}

/// Whether `term` is one of those.
pub(super) fn accepts<A: Automaton>(automaton: &A, term: &[u8]) -> bool {
    let mut state = automaton.start();
    for &byte in term {
        if !automaton.can_match(&state) {
            return false;
        }
        state = automaton.accept(&state, byte);
    }
    automaton.is_match(&state)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Optimal string alignment from its definition.
    fn distance(a: &[char], b: &[char]) -> usize {
        let (Some((&last_a, rest_a)), Some((&last_b, rest_b))) = (a.split_last(), b.split_last())
        else {
            return a.len() + b.len();
        };
        let mut least = distance(rest_a, rest_b) + usize::from(last_a != last_b);
        least = least
            .min(distance(rest_a, b) + 1)
            .min(distance(a, rest_b) + 1);
        if let (Some((&c, before_a)), Some((&d, before_b))) =
            (rest_a.split_last(), rest_b.split_last())
            && (c, last_a) == (last_b, d)
        {
            least = least.min(distance(before_a, before_b) + 1);
        }
        least
    }

    fn like(pattern: &[u8], term: &[u8]) -> bool {
        match (pattern.split_first(), term.split_first()) {
            (None, _) => term.is_empty(),
            (Some((b'*', rest)), None) => like(rest, term),
            (Some((b'*', rest)), Some((_, after))) => like(rest, term) || like(pattern, after),
            (Some((p, rest)), Some((t, after))) => p == t && like(rest, after),
            (Some(_), None) => false,
        }
    }

    #[test]
    fn a_misspelling_may_swap_neighbours() {
        let misspelt = Misspelling::new("water", 1);
        for term in ["water", "wtaer", "wate", "waters", "wader"] {
            assert!(accepts(&misspelt, term.as_bytes()), "{term}");
        }
        for term in ["wtare", "wat", "watching", ""] {
            assert!(!accepts(&misspelt, term.as_bytes()), "{term}");
        }
    }

    proptest! {
        #[test]
        fn misspellings_are_those_of_the_definition(word in "[abé]{0,5}", term in "[abé]{0,5}", most in 0u8..3) {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let is_near = distance(&chars(&word), &chars(&term)) <= usize::from(most);
            prop_assert_eq!(accepts(&Misspelling::new(&word, most), term.as_bytes()), is_near);
        }

        #[test]
        fn patterns_match_as_they_read(pattern in "[ab*é]{0,6}", term in "[abé]{0,6}") {
            let expected = like(pattern.as_bytes(), term.as_bytes());
            prop_assert_eq!(accepts(&Pattern::new(&pattern).unwrap(), term.as_bytes()), expected);
        }

        #[test]
        fn any_bytes_are_stepped_over(word in "\\PC{0,8}", bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            accepts(&Misspelling::new(&word, 2), &bytes);
            accepts(&Pattern::new(&word).unwrap(), &bytes);
        }
    }
}
