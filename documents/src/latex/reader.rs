//! Looks at the text from a place in it: what group, option or environment comes next. It never reads twice.

use std::ops::Range;

use super::macros::space_len;
use super::pairs::{Environment, Pairs, name_len};

pub(super) struct Reader<'s> {
    pub(super) text: &'s str,
    pairs: &'s Pairs,
}

impl<'s> Reader<'s> {
    pub(super) fn new(text: &'s str, pairs: &'s Pairs) -> Self {
        Reader { text, pairs }
    }

    /// The name of the command whose backslash is at `at`, and where it ends.
    pub(super) fn name(&self, at: usize) -> (&'s str, usize) {
        let end = at + 1 + name_len(&self.text[at + 1..]);
        (&self.text[at + 1..end], end)
    }

    pub(super) fn skip_space(&self, at: usize, end: usize) -> usize {
        (at + space_len(&self.text[at..end])).min(end)
    }

    /// The inside of the group that comes next, and where it ends.
    pub(super) fn group(&self, at: usize, end: usize) -> Option<(Range<usize>, usize)> {
        self.delimited(at, end, b'{')
    }

    /// The inside of the `[…]` that comes next, and where it ends.
    pub(super) fn option(&self, at: usize, end: usize) -> Option<(Range<usize>, usize)> {
        self.delimited(at, end, b'[')
    }

    fn delimited(&self, at: usize, end: usize, open: u8) -> Option<(Range<usize>, usize)> {
        let at = self.skip_space(at, end);
        if at >= end || self.text.as_bytes().get(at) != Some(&open) {
            return None;
        }
        let close = self.pairs.close_of(at).filter(|&close| close < end)?;
        Some((at + 1..close, close + 1))
    }

    /// The argument that comes next: a group, a command, or one character.
    pub(super) fn argument(&self, at: usize, end: usize) -> (Range<usize>, usize) {
        if let Some(found) = self.group(at, end) {
            return found;
        }
        let at = self.skip_space(at, end);
        let stop = match self.text[at..end].chars().next() {
            Some('\\') => self.name(at).1.min(end),
            Some('{' | '}') | None => at,
            Some(c) => at + c.len_utf8(),
        };
        (at..stop, stop)
    }

    /// The environment that begins at the `\begin` at `at` and ends before `end`.
    pub(super) fn environment(&self, at: usize, end: usize) -> Option<&'s Environment> {
        self.pairs.environment(at).filter(|found| found.end <= end)
    }

    /// Where commands of this name end, throughout the text.
    pub(super) fn ends_of(&self, name: &str) -> Vec<usize> {
        let command = format!("\\{name}");
        let all = self.text.match_indices(&command);
        let ends = all
            .map(|(at, _)| self.name(at))
            .filter(|(found, _)| *found == name);
        ends.map(|(_, end)| end).collect()
    }

    /// Where a formula that begins before `at` ends: at the next `$` that is in no group.
    pub(super) fn dollar(&self, at: usize, end: usize) -> Option<usize> {
        let bytes = &self.text.as_bytes()[..end];
        let mut at = at;
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'$' => return Some(at),
                b'\\' => at = self.name(at).1,
                b'{' => {
                    at = self
                        .pairs
                        .close_of(at)
                        .map_or(at, |close| close + 1)
                        .max(at + 1)
                }
                b'}' => return None,
                b'\n' if super::pairs::is_blank(&bytes[at + 1..]) => return None,
                _ => at += 1,
            }
        }
        None
    }
}
