//! Which brace closes which, and which `\end` ends which `\begin`: found in one pass, so that no later search is long.

use std::ops::Range;

use crate::limits::within;
use crate::limits::{Limits, ParseError};

/// Groups and environments that may be open at once; the walk over them is recursive.
const DEPTH_MAX: usize = 200;
/// Pairs in one text: each costs memory.
const PAIRS_MAX: usize = 4_000_000;

/// The pairs of a text, by where they open.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    /// Braces and brackets: where one opens and where it closes.
    braces: Vec<(u32, u32)>,
    environments: Vec<Environment>,
}

/// What is between a `\begin` and its `\end`.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    begin: usize,
    pub(super) name: Range<usize>,
    /// After `\begin{name}` and before `\end`.
    pub(super) inner: Range<usize>,
    /// After `\end{name}`.
    pub(super) end: usize,
}

impl Pairs {
    pub(super) fn scan(text: &str, limits: &Limits) -> Result<Pairs, ParseError> {
        let most = DEPTH_MAX.min(limits.depth_max);
        let mut scan = Scan::default();
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let mut used = 1;
            match byte {
                b'\\' => used = 1 + scan.command(text, at),
                b'{' => scan.open(at, true),
                b'[' => scan.open(at, false),
                b'}' => scan.close(at, true),
                b']' => scan.close(at, false),
                b'\n' if is_blank(&bytes[at + 1..]) => scan.forget_brackets(),
                _ => {}
            }
            at += used;
            within(
                "levels of nesting",
                scan.brace_depth + scan.open_environments.len(),
                most,
            )?;
            within(
                "groups",
                scan.pairs.braces.len() + scan.open.len(),
                PAIRS_MAX,
            )?;
        }
        scan.finish(text.len());
        Ok(scan.pairs)
    }

    /// Where the brace or bracket at `open` closes.
    pub(super) fn close_of(&self, open: usize) -> Option<usize> {
        let at = self
            .braces
            .binary_search_by_key(&open, |pair| pair.0 as usize)
            .ok()?;
        Some(self.braces[at].1 as usize)
    }

    /// The environment whose `\begin` is at `begin`.
    pub(super) fn environment(&self, begin: usize) -> Option<&Environment> {
        let at = self
            .environments
            .binary_search_by_key(&begin, |one| one.begin)
            .ok()?;
        self.environments.get(at)
    }
}

#[derive(Default)]
struct Scan {
    pairs: Pairs,
    /// Braces (true) and brackets that are open, outermost first.
    open: Vec<(usize, bool)>,
    brace_depth: usize,
    /// Environments that are open: where their `\begin` is, and their name.
    open_environments: Vec<(usize, Range<usize>)>,
}

impl Scan {
    fn open(&mut self, at: usize, is_brace: bool) {
        self.open.push((at, is_brace));
        self.brace_depth += usize::from(is_brace);
    }

    /// Closes what is open. A bracket closes only a bracket: `[0, 1)` leaves one open for good.
    fn close(&mut self, at: usize, is_brace: bool) {
        if is_brace {
            self.forget_brackets();
        }
        if self
            .open
            .last()
            .is_some_and(|(_, open_brace)| *open_brace == is_brace)
            && let Some((open, _)) = self.open.pop()
        {
            self.brace_depth -= usize::from(is_brace);
            self.pairs.braces.push((open as u32, at as u32));
        }
    }

    fn forget_brackets(&mut self) {
        while self.open.last().is_some_and(|(_, is_brace)| !is_brace) {
            self.open.pop();
        }
    }

    /// Returns how many bytes after the backslash were read.
    fn command(&mut self, text: &str, at: usize) -> usize {
        let len = name_len(&text[at + 1..]);
        let after = at + 1 + len;
        let Some(name) = name_in_braces(text, after) else {
            return len;
        };
        match &text[at + 1..after] {
            "begin" => self.open_environments.push((at, name.clone())),
            "end" => self.end(text, at, &name),
            _ => return len,
        }
        name.end + 1 - (at + 1)
    }

    fn end(&mut self, text: &str, at: usize, name: &Range<usize>) {
        let is_same = |begun: &(usize, Range<usize>)| text[begun.1.clone()] == text[name.clone()];
        let Some(position) = self.open_environments.iter().rposition(is_same) else {
            return;
        };
        // Those inside that have no end stop here as well.
        for (begin, open_name) in self.open_environments.drain(position..).rev() {
            let is_outermost = text[open_name.clone()] == text[name.clone()];
            let end = if is_outermost { name.end + 1 } else { at };
            let inner = (open_name.end + 1).min(at)..at;
            self.pairs.environments.push(Environment {
                begin,
                name: open_name,
                inner,
                end,
            });
        }
    }

    fn finish(&mut self, len: usize) {
        for (begin, name) in self.open_environments.drain(..).rev() {
            let inner = (name.end + 1).min(len)..len;
            self.pairs.environments.push(Environment {
                begin,
                name,
                inner,
                end: len,
            });
        }
        self.pairs.braces.sort_unstable();
        self.pairs
            .environments
            .sort_unstable_by_key(|one| one.begin);
    }
}

/// The name between the braces at `at`.
pub(super) fn name_in_braces(text: &str, at: usize) -> Option<Range<usize>> {
    let longest = 64;
    let inner = text[at..].strip_prefix('{')?;
    let len = inner
        .bytes()
        .take(longest)
        .position(|b| matches!(b, b'}' | b'{' | b'\\' | b'\n'))?;
    inner[len..]
        .starts_with('}')
        .then_some(at + 1..at + 1 + len)
}

/// The length of a command's name, the backslash not counted: letters, or any one character.
pub(super) fn name_len(after_backslash: &str) -> usize {
    let letters = after_backslash
        .bytes()
        .take_while(|b| b.is_ascii_alphabetic() || *b == b'@');
    match letters.count() {
        0 => after_backslash.chars().next().map_or(0, char::len_utf8),
        count => count,
    }
}

/// Whether the line that begins here is blank.
pub(super) fn is_blank(line: &[u8]) -> bool {
    let first = line.iter().find(|b| !matches!(b, b' ' | b'\t'));
    first == Some(&b'\n')
}
