//! Environments, and the commands that make blocks within them.

use std::ops::Range;

use super::{BlockPrefix, List, Walk};
use crate::latex::{algorithm, commands, tables};
use crate::limits::ParseError;
use crate::tree::BlockKind;
use crate::writing::running::RunningText;

impl Walk<'_, '_> {
    pub(super) fn environment(
        &mut self,
        at: usize,
        after: usize,
        end: usize,
    ) -> Result<usize, ParseError> {
        let Some(found) = self.reader.environment(at, end) else {
            return Ok(self
                .reader
                .group(after, end)
                .map_or(after, |(_, next)| next));
        };
        let name = &self.reader.text[found.name.clone()];
        let inner = found.inner.clone();
        let is_open = self.closed_depth == 0;
        match commands::environment(name) {
            Some("drawing") => {}
            _ if name == "math" => self.formula(inner),
            Some("formula") => {
                let body = self.after_arguments(name, inner);
                self.equation(body)?;
            }
            Some("table") if is_open => {
                self.settle()?;
                let body = self.after_arguments(name, inner);
                tables::write(self, body)?;
            }
            Some("list") => self.list(name, inner)?,
            _ if matches!(name, "algorithmic" | "algorithmicx" | "algpseudocode") && is_open => {
                self.settle()?;
                algorithm::write(self, inner)?;
            }
            _ => self.prose(name, inner)?,
        }
        Ok(found.end)
    }

    /// An environment whose content is text.
    pub(super) fn prose(&mut self, name: &str, inner: Range<usize>) -> Result<(), ParseError> {
        self.flush()?;
        let own = self.statements.get(name).cloned();
        if let Some(statement) = own.or_else(|| commands::statement(name).map(str::to_owned)) {
            return self.statement(&statement, inner);
        }
        match name {
            "abstract" => self.titled("Abstract")?,
            "thebibliography" => self.titled("References")?,
            _ => {}
        }
        let body = self.after_arguments(name, inner);
        let outer = self.kind.clone();
        if commands::environment(name) == Some("quote") && self.closed_depth == 0 {
            self.kind = BlockKind::Quote;
        }
        match self.reader.group(body.start, body.end) {
            Some((title, next)) if name == "frame" => {
                self.frame_title(title)?;
                self.walk(next..body.end)?;
            }
            _ => self.walk(body)?,
        }
        self.flush()?;
        self.kind = outer;
        Ok(())
    }

    /// What is left of an environment's content behind its options and arguments.
    pub(super) fn after_arguments(&self, name: &str, inner: Range<usize>) -> Range<usize> {
        let mut at = inner.start;
        // A formula may well begin with a bracket.
        let is_formula = commands::environment(name) == Some("formula");
        if !is_formula {
            at = self.skip_options(at, inner.end).1;
        }
        for _ in 0..commands::environment_arguments(name) {
            at = self
                .reader
                .group(at, inner.end)
                .map_or(at, |(_, next)| next);
            if !is_formula {
                at = self.skip_options(at, inner.end).1;
            }
        }
        at..inner.end
    }

    /// A theorem, a proof or the like: `Theorem (Name). …`.
    pub(super) fn statement(&mut self, name: &str, inner: Range<usize>) -> Result<(), ParseError> {
        let (option, start) = self.skip_options(inner.start, inner.end);
        let title = option.map(|option| self.words(option)).transpose()?;
        let text = match title.filter(|title| !title.is_empty()) {
            Some(title) if name == "Proof" => format!("{}.", title.trim_end_matches('.')),
            Some(title) => format!("{name} ({title})."),
            None => format!("{name}."),
        };
        if self.closed_depth > 0 {
            self.running.push(&text);
            self.running.space();
        } else {
            self.kind = BlockKind::Paragraph;
            self.prefix = Some(BlockPrefix {
                text,
                is_strong: true,
            });
        }
        self.walk(start..inner.end)?;
        self.settle()
    }

    pub(super) fn list(&mut self, name: &str, inner: Range<usize>) -> Result<(), ParseError> {
        self.settle()?;
        let outer = self.kind.clone();
        let is_counted = name.contains("enum") || name == "tasks";
        self.lists.push(List {
            is_counted,
            count: 0,
        });
        let body = self.after_arguments(name, inner);
        self.walk(body)?;
        self.flush()?;
        self.lists.pop();
        self.prefix = None;
        self.kind = outer;
        Ok(())
    }

    pub(super) fn item(&mut self, after: usize, end: usize) -> Result<usize, ParseError> {
        self.flush()?;
        let (label, next) = match self.reader.option(after, end) {
            Some((label, next)) => (Some(self.words(label)?), next),
            None => (None, after),
        };
        if self.closed_depth > 0 {
            self.running.push(&label.unwrap_or_default());
            self.running.space();
            return Ok(next);
        }
        let counted = self
            .lists
            .last_mut()
            .filter(|list| list.is_counted)
            .map(|list| {
                list.count += 1;
                format!("{}.", list.count)
            });
        let is_strong = label.is_some();
        let text = label.or(counted).filter(|text| !text.is_empty());
        self.prefix = text.map(|text| BlockPrefix { text, is_strong });
        self.kind = BlockKind::ListItem;
        Ok(next)
    }

    pub(super) fn titled(&mut self, title: &str) -> Result<(), ParseError> {
        self.flush()?;
        if self.closed_depth == 0 {
            self.write(BlockKind::Heading(1), RunningText::verbatim(title))?;
        }
        Ok(())
    }

    /// A slide's title is a section below those that the file names.
    pub(super) fn frame_title(&mut self, title: Range<usize>) -> Result<(), ParseError> {
        self.heading(commands::SECTIONS.len() - 3, title)
    }

    pub(super) fn caption(
        &mut self,
        name: &str,
        after: usize,
        end: usize,
    ) -> Result<usize, ParseError> {
        let kind = usize::from(name == "captionof");
        let mut at = after;
        for _ in 0..kind {
            at = self.reader.argument(at, end).1;
        }
        let (_, at) = self.skip_options(at, end);
        let (inner, next) = self.reader.argument(at, end);
        let caption = self.gather(inner)?;
        self.standing(BlockKind::Caption, Vec::new(), caption)?;
        Ok(next)
    }

    pub(super) fn picture(&mut self, after: usize, end: usize) -> Result<usize, ParseError> {
        let (_, after) = self.skip_options(after, end);
        let (inner, next) = self.reader.argument(after, end);
        let name = self.words(inner)?;
        // `\epsfig{file=a.eps, width=1cm}`
        let name = name.split(',').find_map(|part| match part.split_once('=') {
            Some((key, value)) => matches!(key.trim(), "file" | "figure").then(|| value.trim()),
            None => Some(part.trim()),
        });
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let file = name.rsplit('/').next().unwrap_or(name);
            let figure = RunningText::verbatim(file);
            self.standing(BlockKind::Figure, vec![name.to_owned()], figure)?;
        }
        Ok(next)
    }
}
