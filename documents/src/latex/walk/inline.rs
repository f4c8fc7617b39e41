//! Commands within running text: marks, references, what says nothing, and what is not known.

use std::ops::Range;

use super::Walk;
use crate::latex::{citations, commands};
use loci_parsing::limits::ParseError;

/// Names of other files that are kept, and bytes of one.
const FILES_MAX: usize = 1_000;
const FILE_LEN_MAX: usize = 300;

impl Walk<'_, '_> {
    /// Commands within running text.
    pub(super) fn inline(
        &mut self,
        name: &str,
        after: usize,
        end: usize,
    ) -> Result<usize, ParseError> {
        if citations::is_citation(name) {
            return citations::write(self, name, after, end);
        }
        if let Some(kind) = commands::marked(name) {
            let from = self.running.len();
            let (inner, next) = self.reader.argument(after, end);
            self.walk(inner)?;
            self.running.mark(kind, from);
            return Ok(next);
        }
        if let Some(kind) = commands::switch(name) {
            // Within a group that has the mark already, another says nothing.
            if self.switches.iter().all(|(open, _)| *open != kind) {
                self.switches.push((kind, self.running.len()));
            }
            return Ok(self.reader.skip_space(after, end));
        }
        if name == "enquote" {
            let (inner, next) = self.reader.argument(after, end);
            self.running.push("“");
            self.walk(inner)?;
            self.running.push("”");
            return Ok(next);
        }
        if name == "ensuremath" {
            let (inner, next) = self.reader.argument(after, end);
            self.formula(inner);
            return Ok(next);
        }
        if name.ends_with("ref") && name != "href" {
            return self.reference(name, after, end);
        }
        if commands::is_file(name) {
            self.flush()?;
        }
        if let Some(count) = commands::ignored_arguments(name) {
            let next = self.skip_ignored(name, count, after, end);
            if commands::is_file(name) {
                self.record_file(after..next);
            }
            return Ok(next);
        }
        if let Some(count) = commands::last_is_text(name) {
            return self.last_argument(count, after, end);
        }
        self.unknown(after, end)
    }

    /// An unknown command: what it is given is text.
    pub(super) fn unknown(&mut self, after: usize, end: usize) -> Result<usize, ParseError> {
        let text = self.reader.text;
        let is_next = |at: usize, byte: u8| at < end && text.as_bytes().get(at) == Some(&byte);
        let mut at = after;
        while is_next(at, b'[')
            && let Some((_, next)) = self.reader.option(at, end)
        {
            at = next;
        }
        let mut has_argument = false;
        while is_next(at, b'{')
            && let Some((inner, next)) = self.reader.group(at, end)
        {
            if has_argument {
                self.running.space();
            }
            self.walk(inner)?;
            (at, has_argument) = (next, true);
        }
        Ok(if has_argument {
            at
        } else {
            self.reader.skip_space(at, end)
        })
    }

    /// Keeps the name of a file that is not followed, as its command gives it.
    fn record_file(&mut self, arguments: Range<usize>) {
        let arguments = self.reader.text.get(arguments).unwrap_or_default();
        let last = arguments.rsplit('{').next().unwrap_or_default();
        let name = last.trim_matches(|c: char| c.is_whitespace() || c == '}');
        if !name.is_empty() && name.len() <= FILE_LEN_MAX && self.files.len() < FILES_MAX {
            self.files.insert(name.to_owned());
        }
    }

    pub(super) fn skip_ignored(&self, name: &str, count: usize, after: usize, end: usize) -> usize {
        let text = self.reader.text;
        if name == "let" {
            return after;
        }
        let (_, mut at) = self.skip_options(after, end);
        if text[at..end].starts_with('(') {
            at += text[at..end]
                .find(')')
                .filter(|len| *len < 20)
                .map_or(0, |len| len + 1);
        }
        // `\input name`, as plain TeX has it.
        if matches!(name, "input" | "include") && self.reader.group(at, end).is_none() {
            let from = self.reader.skip_space(at, end);
            let word = text[from..end]
                .find(|c: char| c.is_whitespace() || c == '\\')
                .unwrap_or(0);
            return from + word;
        }
        for _ in 0..count {
            (_, at) = self.skip_options(at, end);
            let here = self.reader.skip_space(at, end);
            let is_argument = text[here..end].starts_with(['{', '\\']);
            if !is_argument {
                break;
            }
            at = self.reader.argument(here, end).1;
        }
        match name {
            "newtheorem" => self.skip_options(at, end).1,
            _ => at,
        }
    }

    pub(super) fn last_argument(
        &mut self,
        count: usize,
        after: usize,
        end: usize,
    ) -> Result<usize, ParseError> {
        let mut last = 0..0;
        let mut at = after;
        for _ in 0..count {
            (_, at) = self.skip_options(at, end);
            (last, at) = self.reader.argument(at, end);
        }
        self.walk(last)?;
        Ok(at)
    }

    /// The first of the options that come next, and where all of them end.
    pub(in crate::latex) fn skip_options(
        &self,
        at: usize,
        end: usize,
    ) -> (Option<Range<usize>>, usize) {
        let mut first = None;
        let mut at = at;
        while let Some((inner, next)) = self.reader.option(at, end) {
            first.get_or_insert(inner);
            at = next;
        }
        (first, at)
    }

    pub(super) fn reference(
        &mut self,
        name: &str,
        after: usize,
        end: usize,
    ) -> Result<usize, ParseError> {
        let (option, at) = self.skip_options(after, end);
        // `\hyperref[label]{text}` shows its text.
        if name == "hyperref" && option.is_some() {
            return self.last_argument(1, at, end);
        }
        let Some((labels, next)) = self.reader.group(at, end) else {
            return Ok(after);
        };
        let labels = self.reader.text[labels].split(',');
        let shown: Vec<String> = labels
            .map(|label| commands::reference(name, label.trim()))
            .collect();
        self.running.push(&shown.join(", "));
        Ok(next)
    }
}
