//! The third pass: commands and environments to blocks.
//!
//! Text gathers in `running` until a paragraph, a section or an environment ends it. Inside a title, a caption, a cell
//! or a footnote nothing is written: what would be a block of its own there waits in `after` for the block around it.
//! The walk is recursive; [`super::pairs`] has bounded how deep groups and environments nest.
//!
//! Start reading at [`Walk::walk`].

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::bibliography::{self, ReferenceList};
use super::pairs::is_blank;
use super::reader::Reader;
use super::source::{CODE_PLACEHOLDER, RawCode};
use super::{algorithm, commands, letters};
use crate::limits::{Limits, ParseError};
use crate::tree::{Block, BlockKind, MarkKind};
use crate::writing::running::RunningText;
use crate::writing::writer::Writer;

mod environments;
mod formulas;
mod inline;

/// Longest code between `#` signs, in bytes.
const SHORT_CODE_LEN_MAX: usize = 300;

pub(super) struct Walk<'a, 's> {
    pub(super) reader: &'a Reader<'s>,
    raws: &'a [RawCode],
    pub(super) out: Writer<'a>,
    pub(super) running: RunningText,
    /// What the running text is.
    kind: BlockKind,
    /// What the next block begins with: a list item's mark, a theorem's name.
    prefix: Option<BlockPrefix>,
    /// Titles, cells and footnotes that are open.
    closed_depth: usize,
    /// Footnotes and pictures of the block that is open.
    deferred: Vec<(BlockKind, Vec<String>, RunningText)>,
    lists: Vec<List>,
    /// Marks that last to the end of their group: where they began.
    switches: Vec<(MarkKind, usize)>,
    /// The outermost command of [`commands::SECTIONS`] that the file has.
    top: usize,
    /// Names of the file's own theorems by their environment.
    pub(super) statements: HashMap<String, String>,
    pub(super) reference_list: ReferenceList,
    /// Where each `\)` and each `\]` is.
    formula_ends: [Vec<usize>; 2],
    /// Names of the other files whose text would be here.
    pub(super) files: BTreeSet<String>,
    /// Whether an algorithm is being read, whose commands are its words.
    pub(super) is_algorithm: bool,
}

struct BlockPrefix {
    text: String,
    is_strong: bool,
}

struct List {
    is_counted: bool,
    count: usize,
}

impl<'a, 's> Walk<'a, 's> {
    pub(super) fn new(reader: &'a Reader<'s>, raws: &'a [RawCode], limits: &'a Limits) -> Self {
        let is_there = |name: &&str| !reader.ends_of(name).is_empty();
        Walk {
            reader,
            raws,
            out: Writer::new(limits),
            running: RunningText::default(),
            kind: BlockKind::Paragraph,
            prefix: None,
            closed_depth: 0,
            deferred: Vec::new(),
            lists: Vec::new(),
            switches: Vec::new(),
            top: commands::SECTIONS.iter().position(is_there).unwrap_or(0),
            statements: HashMap::new(),
            reference_list: ReferenceList::default(),
            formula_ends: [")", "]"].map(|name| reader.ends_of(name)),
            files: BTreeSet::new(),
            is_algorithm: false,
        }
    }

    /// Reads `range` of the text.
    pub(super) fn walk(&mut self, range: Range<usize>) -> Result<(), ParseError> {
        let outer = self.switches.len();
        let (mut at, end) = (range.start, range.end);
        while at < end {
            let rest = &self.reader.text[at..end];
            let plain = rest.find(is_special).unwrap_or(rest.len());
            self.running.push(&rest[..plain]);
            at += plain;
            if at < end {
                at = self.special(at, end)?.max(at + 1);
            }
        }
        for (kind, from) in self.switches.split_off(outer) {
            self.running.mark(kind, from);
        }
        Ok(())
    }

    /// Reads what begins with a character that is not only text; returns where it ends.
    fn special(&mut self, at: usize, end: usize) -> Result<usize, ParseError> {
        let bytes = self.reader.text.as_bytes();
        let repeats = |byte| {
            bytes[at..end]
                .iter()
                .take(3)
                .take_while(|b| **b == byte)
                .count()
        };
        match bytes[at] {
            b'\\' => return self.command(at, end),
            b'$' => return self.dollar(at, end),
            b'{' => {
                if let Some((inner, close)) = self.reader.group(at, end) {
                    self.walk(inner)?;
                    return Ok(close);
                }
            }
            b'\n' if is_blank(&bytes[at + 1..]) => self.flush()?,
            b'\n' | b'~' | b'&' => self.running.space(),
            b'-' => {
                let count = repeats(b'-');
                self.running.push(["-", "–", "—"][count - 1]);
                return Ok(at + count);
            }
            b'`' => {
                let count = repeats(b'`').min(2);
                self.running.push(["‘", "“"][count - 1]);
                return Ok(at + count);
            }
            b'\'' => return Ok(self.quote(at, repeats(b'\'').min(2))),
            b'#' => return Ok(self.short_code(at, end)),
            b'}' => {}
            _ => return self.raw(at, end),
        }
        Ok(at + 1)
    }

    /// A closing quotation mark, or the apostrophe of `don't`.
    fn quote(&mut self, at: usize, count: usize) -> usize {
        let next = self.reader.text[at + 1..].chars().next();
        let is_within = self.reader.text[..at].ends_with(char::is_alphanumeric)
            && next.is_some_and(char::is_alphanumeric);
        self.running.push(match count {
            2 => "”",
            _ if is_within => "'",
            _ => "’",
        });
        at + count
    }

    /// `#x#`, as some books write code; a lone `#` is itself.
    fn short_code(&mut self, at: usize, end: usize) -> usize {
        let rest = &self.reader.text[at + 1..end];
        let close = rest
            .bytes()
            .take(SHORT_CODE_LEN_MAX)
            .position(|b| b == b'#');
        let code = close
            .and_then(|close| rest.get(..close))
            .filter(|code| !code.contains("\n\n"));
        let Some(code) = code else {
            self.running.push("#");
            return at + 1;
        };
        let from = self.running.len();
        let plain = code
            .replace('\n', " ")
            .replace("\\_", "_")
            .replace("\\&", "&")
            .replace("\\%", "%");
        self.running
            .push_verbatim(&plain.replace("\\#", "#").replace("\\$", "$"));
        self.running.mark(MarkKind::Code, from);
        at + 1 + code.len() + 1
    }

    /// Code that was set aside.
    fn raw(&mut self, at: usize, end: usize) -> Result<usize, ParseError> {
        let Some((raw, next)) = raw_at(self.raws, self.reader.text, at, end) else {
            return Ok(at + CODE_PLACEHOLDER.len_utf8());
        };
        match &raw.block {
            Some(language) if self.closed_depth == 0 => {
                self.settle()?;
                let code = RunningText::verbatim(&raw.text[..]);
                self.write(BlockKind::Code(language.clone()), code)?;
            }
            Some(_) => self.running.push(&raw.text),
            None => {
                let from = self.running.len();
                self.running.push_verbatim(&raw.text);
                self.running.mark(MarkKind::Code, from);
            }
        }
        Ok(next)
    }

    fn command(&mut self, at: usize, end: usize) -> Result<usize, ParseError> {
        let (name, mut after) = self.reader.name(at);
        if after > end {
            return Ok(end);
        }
        if self.reader.text[after..end].starts_with('*') && name.len() > 1 {
            after += 1;
        }
        if letters::is_accent(name) {
            let (letter, next) = self.reader.argument(after, end);
            let letter = self.words(letter)?;
            self.running.push(&letters::accented(name, &letter));
            return Ok(next);
        }
        if self.is_algorithm
            && let Some(next) = algorithm::word(self, name, after, end)?
        {
            return Ok(next);
        }
        if let Some(sign) = letters::sign(name) {
            if sign == " " {
                self.running.space();
            }
            self.running.push(sign.trim());
            let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic());
            return Ok(if is_word {
                self.reader.skip_space(after, end)
            } else {
                after
            });
        }
        self.structure(name, at, after, end)
    }

    /// Commands that make blocks, and those around a formula.
    fn structure(
        &mut self,
        name: &str,
        at: usize,
        after: usize,
        end: usize,
    ) -> Result<usize, ParseError> {
        if let Some(rank) = commands::SECTIONS
            .iter()
            .position(|section| *section == name)
        {
            return self.section(rank, after, end);
        }
        match name {
            "\\" | "tabularnewline" => {
                self.running.space();
                let star = after + usize::from(self.reader.text[after..end].starts_with('*'));
                let has_option = self.reader.text[star..end].starts_with('[');
                let option = has_option.then(|| self.reader.option(star, end)).flatten();
                return Ok(option.map_or(star, |(_, next)| next));
            }
            "par" => self.flush()?,
            "(" | "[" => return self.delimited_formula(name, after, end),
            "begin" => return self.environment(at, after, end),
            "end" => {
                return Ok(self
                    .reader
                    .group(after, end)
                    .map_or(after, |(_, next)| next));
            }
            "item" => return self.item(after, end),
            "bibitem" => return bibliography::entry(self, after, end),
            "caption" | "captionof" | "subcaption" => return self.caption(name, after, end),
            "footnote" | "footnotetext" | "sidenote" | "marginpar" | "marginnote" => {
                let (_, after) = self.skip_options(after, end);
                let (inner, next) = self.reader.argument(after, end);
                let note = self.gather(inner)?;
                self.deferred.push((BlockKind::Footnote, Vec::new(), note));
                return Ok(next);
            }
            "includegraphics" | "includesvg" | "epsfig" | "epsfbox" | "psfig" => {
                return self.picture(after, end);
            }
            "frametitle" => {
                let (_, after) = self.skip_options(after, end);
                let (title, next) = self.reader.argument(after, end);
                self.frame_title(title)?;
                return Ok(next);
            }
            "let" => {
                let (_, next) = self.reader.argument(after, end);
                let next = next + usize::from(self.reader.text[next..end].starts_with('='));
                return Ok(self.reader.argument(next, end).1);
            }
            _ => return self.inline(name, after, end),
        }
        Ok(after)
    }

    fn section(&mut self, rank: usize, after: usize, end: usize) -> Result<usize, ParseError> {
        let (_, after) = self.skip_options(after, end);
        let (title, next) = self.reader.argument(after, end);
        self.heading(rank, title)?;
        Ok(next)
    }

    fn heading(&mut self, rank: usize, title: Range<usize>) -> Result<(), ParseError> {
        self.flush()?;
        let title = self.gather(title)?;
        if self.closed_depth > 0 {
            self.running.append(title);
            return Ok(());
        }
        self.kind = BlockKind::Paragraph;
        let level = rank.saturating_sub(self.top) as u8 + 1;
        self.write(BlockKind::Heading(level), title)
    }

    /// Writes a block that is by itself, or lets it wait for the block around it.
    fn standing(
        &mut self,
        kind: BlockKind,
        images: Vec<String>,
        running: RunningText,
    ) -> Result<(), ParseError> {
        self.deferred.push((kind, images, running));
        match self.closed_depth {
            0 => self.flush(),
            _ => Ok(()),
        }
    }

    /// What is written between the braces of `range`, as a block that is not written yet.
    pub(super) fn gather(&mut self, range: Range<usize>) -> Result<RunningText, ParseError> {
        let outer = self.running.take();
        self.closed_depth += 1;
        self.walk(range)?;
        self.closed_depth -= 1;
        Ok(std::mem::replace(&mut self.running, outer))
    }

    /// The words of `range`, without marks and footnotes.
    pub(super) fn words(&mut self, range: Range<usize>) -> Result<String, ParseError> {
        let count = self.deferred.len();
        let running = self.gather(range)?;
        self.deferred.truncate(count);
        Ok(running.as_str().trim().to_owned())
    }

    /// Writes a block, and what waited for it.
    pub(super) fn write(
        &mut self,
        kind: BlockKind,
        running: RunningText,
    ) -> Result<(), ParseError> {
        self.out.write(kind, running)?;
        for (kind, images, running) in std::mem::take(&mut self.deferred) {
            let block = Block {
                kind,
                images,
                ..Block::default()
            };
            self.out.write_block(block, running)?;
        }
        Ok(())
    }

    /// Writes what has gathered.
    pub(super) fn flush(&mut self) -> Result<(), ParseError> {
        if self.closed_depth > 0 {
            self.running.space();
            return Ok(());
        }
        for (kind, from) in &mut self.switches {
            self.running.mark(*kind, *from);
            *from = 0;
        }
        let mut running = self.running.take();
        if !running.is_blank()
            && let Some(lead) = self.prefix.take()
        {
            let body = std::mem::take(&mut running);
            running.push(&lead.text);
            if lead.is_strong {
                running.mark(MarkKind::Strong, 0);
            }
            running.space();
            running.append(body);
        }
        let is_item = self.kind == BlockKind::ListItem && !running.is_blank();
        self.write(self.kind.clone(), running)?;
        if is_item {
            self.kind = BlockKind::Paragraph;
        }
        Ok(())
    }

    /// Writes what has gathered, before a block that the name of a theorem cannot begin.
    pub(super) fn settle(&mut self) -> Result<(), ParseError> {
        if self.closed_depth == 0
            && self.running.is_blank()
            && let Some(lead) = self.prefix.take().filter(|lead| lead.is_strong)
        {
            self.running.push(&lead.text);
            self.running.mark(MarkKind::Strong, 0);
        }
        self.flush()
    }
}

fn is_special(c: char) -> bool {
    matches!(
        c,
        '\\' | '$' | '{' | '}' | '~' | '-' | '`' | '\'' | '&' | '#' | '\n' | CODE_PLACEHOLDER
    )
}

/// The code that was set aside at `at`, and where its place ends.
fn raw_at<'r>(
    raws: &'r [RawCode],
    text: &str,
    at: usize,
    end: usize,
) -> Option<(&'r RawCode, usize)> {
    let rest = text.get(at..end)?.strip_prefix(CODE_PLACEHOLDER)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let raw = raws.get(rest[..digits].parse::<usize>().ok()?)?;
    let is_whole = rest[digits..].starts_with(';');
    is_whole.then_some((raw, at + CODE_PLACEHOLDER.len_utf8() + digits + 1))
}
