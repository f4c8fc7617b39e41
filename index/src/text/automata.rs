//! What a term of the dictionary may look like: patterns and misspellings, byte by byte.

use fst::Automaton;

use crate::analysis::is_tag;

/// Characters of a pattern or a misspelt word that count.
pub(super) const CHARS_MAX: usize = 64;

/// Terms that a pattern describes: `*` stands for any characters, also none. The rest is taken
/// literally.
#[derive(Clone, Debug)]
pub(super) struct WildcardAutomaton {
    /// Bytes between the stars; at least one entry.
    bytes: Vec<u8>,
    /// Bit `i`: a star stands before byte `i`, or at the end.
    stars: u128,
}

impl WildcardAutomaton {
    /// `None` for patterns of more than 127 bytes.
    pub(super) fn new(pattern: &str) -> Option<WildcardAutomaton> {
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
        Some(WildcardAutomaton { bytes, stars })
    }
}

impl Automaton for WildcardAutomaton {
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
///
/// A nondeterministic automaton whose states are bits, as in Wu and Manber, "Fast text searching allowing
/// errors" (1992), with the swaps beside it.
#[derive(Clone, Debug)]
pub(super) struct LevenshteinAutomaton {
    /// Characters of the word.
    len: usize,
    /// Bit `i` of a character: the word has it at place `i`.
    char_positions: Vec<(char, u128)>,
    distance: u8,
}

/// Errors that are counted.
const DISTANCE_MAX: usize = 2;

/// Where a word may have got to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LevenshteinState {
    /// Bit `i` by errors: with that many at most, the first `i` characters of the word have been read.
    after: [u128; DISTANCE_MAX + 1],
    /// Bit `i`: the same, and then the character at `i + 1`, so that the one at `i` makes a swap.
    swapped: [u128; DISTANCE_MAX + 1],
    /// Bytes of a character that is not whole yet.
    partial: [u8; 4],
    partial_len: u8,
}

impl LevenshteinAutomaton {
    /// Of `word`, its first [`CHARS_MAX`] characters. Distances above 2 are taken for 2.
    pub(super) fn new(word: &str, distance: u8) -> LevenshteinAutomaton {
        let mut char_positions: Vec<(char, u128)> = Vec::new();
        let mut len = 0;
        for c in word.chars().take(CHARS_MAX) {
            match char_positions.iter_mut().find(|(known, _)| *known == c) {
                Some((_, at)) => *at |= 1 << len,
                None => char_positions.push((c, 1 << len)),
            }
            len += 1;
        }
        LevenshteinAutomaton {
            len,
            char_positions,
            distance: distance.min(DISTANCE_MAX as u8),
        }
    }

    fn step(&self, from: &LevenshteinState, c: char) -> LevenshteinState {
        let here = self.char_positions.iter().find(|(known, _)| *known == c);
        let here = here.map_or(0, |(_, at)| *at);
        let mut to = LevenshteinState::default();
        to.after[0] = (from.after[0] & here) << 1;
        for errors in 1..=usize::from(self.distance) {
            let fewer = from.after[errors - 1];
            let read = (from.after[errors] & here) << 1;
            let (inserted, replaced) = (fewer, fewer << 1);
            let deleted = to.after[errors - 1] << 1;
            let swapped = (from.swapped[errors] & here) << 2;
            to.after[errors] = read | inserted | replaced | deleted | swapped;
            to.swapped[errors] = fewer & (here >> 1);
        }
        to
    }
}

impl Automaton for LevenshteinAutomaton {
    type State = LevenshteinState;

    fn start(&self) -> LevenshteinState {
        let mut start = LevenshteinState::default();
        for errors in 0..=usize::from(self.distance) {
            start.after[errors] = (2 << errors) - 1;
        }
        start
    }

    fn is_match(&self, state: &LevenshteinState) -> bool {
        let at_end = state.after[usize::from(self.distance)] >> self.len & 1 == 1;
        state.partial_len == 0 && at_end
    }

    fn can_match(&self, state: &LevenshteinState) -> bool {
        let most = usize::from(self.distance);
        let on_the_way = (2u128 << self.len) - 1;
        (state.after[most] | state.swapped[most]) & on_the_way != 0
    }

    fn accept(&self, state: &LevenshteinState, byte: u8) -> LevenshteinState {
        if state.partial_len == 0 && byte.is_ascii() {
            return self.step(state, char::from(byte));
        }
        let mut next = *state;
        let at = usize::from(state.partial_len);
        let Some(place) = next.partial.get_mut(at) else {
            return LevenshteinState::default();
        };
        *place = byte;
        next.partial_len += 1;
        match str::from_utf8(&next.partial[..=at]) {
            Ok(text) => text
                .chars()
                .next()
                .map_or_else(LevenshteinState::default, |c| self.step(state, c)),
            // Bytes that may still become a character.
            Err(error) if error.error_len().is_none() => next,
            Err(_) => LevenshteinState::default(),
        }
    }
}

/// Terms from one to another, both included, in the order of their bytes.
#[derive(Clone, Debug)]
pub(super) struct RangeAutomaton {
    from: Vec<u8>,
    /// `None`: there is no last one.
    to: Option<Vec<u8>>,
}

/// How the bytes so far compare with the bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangeState {
    len: usize,
    /// They are how the lower bound begins.
    is_at_from: bool,
    /// They are how the upper bound begins, or all of it.
    is_at_to: bool,
    is_outside: bool,
}

impl RangeAutomaton {
    pub(super) fn new(from: &str, to: Option<&str>) -> RangeAutomaton {
        RangeAutomaton {
            from: from.into(),
            to: to.map(Into::into),
        }
    }
}

impl Automaton for RangeAutomaton {
    type State = RangeState;

    fn start(&self) -> RangeState {
        RangeState {
            len: 0,
            is_at_from: !self.from.is_empty(),
            is_at_to: self.to.is_some(),
            is_outside: false,
        }
    }

    fn is_match(&self, state: &RangeState) -> bool {
        !state.is_outside && (!state.is_at_from || state.len >= self.from.len())
    }

    fn can_match(&self, state: &RangeState) -> bool {
        !state.is_outside
    }

    fn accept(&self, state: &RangeState, byte: u8) -> RangeState {
        let mut next = *state;
        next.len += 1;
        if state.is_at_from {
            match self.from.get(state.len) {
                Some(&bound) if byte < bound => next.is_outside = true,
                Some(&bound) => next.is_at_from = byte == bound,
                None => next.is_at_from = false,
            }
        }
        if state.is_at_to {
            match self.to.as_ref().and_then(|to| to.get(state.len)) {
                Some(&bound) if byte <= bound => next.is_at_to = byte == bound,
                _ => next.is_outside = true,
            }
        }
        next
    }
}

/// What another automaton accepts, in any language: the character that says a stem's language is passed over.
#[derive(Clone, Debug)]
pub(super) struct UntaggedAutomaton<'a, A>(pub(super) &'a A);

/// The state of an [`UntaggedAutomaton`].
#[derive(Clone, Debug)]
pub(super) enum UntaggedState<S> {
    Word(S),
    /// The stem has ended, and was accepted or not.
    Tag(bool),
}

impl<A: Automaton> Automaton for UntaggedAutomaton<'_, A> {
    type State = UntaggedState<A::State>;

    fn start(&self) -> Self::State {
        UntaggedState::Word(self.0.start())
    }

    fn is_match(&self, state: &Self::State) -> bool {
        match state {
            UntaggedState::Word(state) => self.0.is_match(state),
            UntaggedState::Tag(is_match) => *is_match,
        }
    }

    fn can_match(&self, state: &Self::State) -> bool {
        match state {
            UntaggedState::Word(state) => self.0.can_match(state),
            UntaggedState::Tag(is_match) => *is_match,
        }
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        match state {
            UntaggedState::Word(state) if is_tag(byte) => {
                UntaggedState::Tag(self.0.is_match(state))
            }
            UntaggedState::Word(state) => UntaggedState::Word(self.0.accept(state, byte)),
            UntaggedState::Tag(_) => UntaggedState::Tag(false),
        }
    }
}

/// Whether `term` is one of those, in any language.
pub(super) fn accepts<A: Automaton>(automaton: &A, term: &[u8]) -> bool {
    let automaton = UntaggedAutomaton(automaton);
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

    fn is_wildcard_match(pattern: &[u8], term: &[u8]) -> bool {
        match (pattern.split_first(), term.split_first()) {
            (None, _) => term.is_empty(),
            (Some((b'*', rest)), None) => is_wildcard_match(rest, term),
            (Some((b'*', rest)), Some((_, after))) => {
                is_wildcard_match(rest, term) || is_wildcard_match(pattern, after)
            }
            (Some((p, rest)), Some((t, after))) => p == t && is_wildcard_match(rest, after),
            (Some(_), None) => false,
        }
    }

    #[test]
    fn stems_of_any_language_are_accepted() {
        let misspelt = LevenshteinAutomaton::new("water", 1);
        assert!(accepts(&misspelt, b"wter\x0d"));
        assert!(!accepts(&misspelt, b"wter\x0d\x0d"));
        assert!(!accepts(&misspelt, b"wt\x0d"));
        assert!(accepts(
            &WildcardAutomaton::new("w*r").unwrap(),
            b"water\x0d"
        ));
        assert!(accepts(
            &RangeAutomaton::new("a", Some("water")),
            b"water\x0d"
        ));
    }

    #[test]
    fn transposed_letters_count_as_one_edit() {
        let misspelt = LevenshteinAutomaton::new("water", 1);
        for term in ["water", "wtaer", "wate", "waters", "wader"] {
            assert!(accepts(&misspelt, term.as_bytes()), "{term}");
        }
        for term in ["wtare", "wat", "watching", ""] {
            assert!(!accepts(&misspelt, term.as_bytes()), "{term}");
        }
    }

    proptest! {
        #[test]
        fn levenshtein_automaton_agrees_with_edit_distance(word in "[abé]{0,5}", term in "[abé]{0,5}", most in 0u8..3) {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            let is_near = distance(&chars(&word), &chars(&term)) <= usize::from(most);
            prop_assert_eq!(accepts(&LevenshteinAutomaton::new(&word, most), term.as_bytes()), is_near);
        }

        #[test]
        fn wildcard_automaton_agrees_with_reference(pattern in "[ab*é]{0,6}", term in "[abé]{0,6}") {
            let expected = is_wildcard_match(pattern.as_bytes(), term.as_bytes());
            prop_assert_eq!(accepts(&WildcardAutomaton::new(&pattern).unwrap(), term.as_bytes()), expected);
        }

        #[test]
        fn range_automaton_agrees_with_byte_order(
            from in "[abé]{0,3}", to in prop::option::of("[abé]{0,3}"), term in "[abé]{0,4}",
        ) {
            let range = RangeAutomaton::new(&from, to.as_deref());
            let expected = term >= from && to.as_ref().is_none_or(|to| term <= *to);
            prop_assert_eq!(accepts(&range, term.as_bytes()), expected);
        }

        #[test]
        fn automata_accept_any_bytes_without_panic(word in "\\PC{0,8}", bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            accepts(&LevenshteinAutomaton::new(&word, 2), &bytes);
            accepts(&WildcardAutomaton::new(&word).unwrap(), &bytes);
        }
    }
}
