//! Formulas, in running text and on lines of their own, and code between `#` signs.

use std::ops::Range;

use super::{Walk, raw_at};
use crate::latex::source::CODE_PLACEHOLDER;
use loci_parsing::limits::ParseError;
use loci_parsing::tree::BlockKind;
use loci_parsing::writing::running::RunningText;

impl Walk<'_, '_> {
    pub(super) fn dollar(&mut self, at: usize, end: usize) -> Result<usize, ParseError> {
        let is_display = self.reader.text[at..end].starts_with("$$");
        let open = at + 1 + usize::from(is_display);
        let Some(close) = self.reader.dollar(open, end) else {
            self.running.push("$");
            return Ok(at + 1);
        };
        if is_display {
            self.equation(open..close)?;
            let is_closed = self.reader.text[close..end].starts_with("$$");
            return Ok(close + 1 + usize::from(is_closed));
        }
        self.formula(open..close);
        Ok(close + 1)
    }

    /// A formula in running text.
    pub(super) fn formula(&mut self, range: Range<usize>) {
        let source = self.formula_source(range);
        if !source.is_empty() {
            self.running.push_verbatim("$");
            self.running.push(&source);
            self.running.push_verbatim("$");
        }
    }

    pub(super) fn equation(&mut self, range: Range<usize>) -> Result<(), ParseError> {
        if self.closed_depth > 0 {
            self.formula(range);
            return Ok(());
        }
        let source = self.formula_source(range);
        self.settle()?;
        self.write(BlockKind::Equation, RunningText::verbatim(source))
    }

    pub(super) fn delimited_formula(
        &mut self,
        name: &str,
        after: usize,
        end: usize,
    ) -> Result<usize, ParseError> {
        let ends = &self.formula_ends[usize::from(name == "[")];
        let next = ends
            .get(ends.partition_point(|at| *at < after + 2))
            .copied();
        let Some(next) = next.filter(|next| *next <= end) else {
            return Ok(after);
        };
        match name {
            "[" => self.equation(after..next - 2)?,
            _ => self.formula(after..next - 2),
        }
        Ok(next)
    }

    /// A formula's source without labels, and without the `#` of short code.
    pub(super) fn formula_source(&self, range: Range<usize>) -> String {
        let (mut out, mut at, end) = (String::new(), range.start, range.end);
        let text = self.reader.text;
        while at < end {
            let rest = &text[at..end];
            let plain = rest
                .find(['\\', '#', CODE_PLACEHOLDER])
                .unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            at += plain;
            if text[at..end].starts_with("##") {
                out.push(' ');
                at += 2;
            } else if text[at..end].starts_with('#') {
                at += 1;
                if ends_in_command(&out) && text[at..end].starts_with(char::is_alphabetic) {
                    out.push(' ');
                }
            } else if text[at..end].starts_with('\\') {
                at = self.formula_command(at, end, &mut out);
            } else if at < end {
                let raw = raw_at(self.raws, text, at, end);
                out.push_str(raw.map_or("", |(raw, _)| &raw.text));
                at = raw.map_or(at + CODE_PLACEHOLDER.len_utf8(), |(_, next)| next);
            }
        }
        let lines = out.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn formula_command(&self, at: usize, end: usize, out: &mut String) -> usize {
        let (name, after) = self.reader.name(at);
        if matches!(name, "nonumber" | "notag" | "qedhere") {
            return after;
        }
        if name.ends_with("label")
            && let Some((_, close)) = self.reader.group(after, end)
        {
            return close;
        }
        out.push_str(&self.reader.text[at..after.min(end)]);
        after
    }
}

/// Whether the last thing of a formula is a command of letters, which letters behind it would make another.
fn ends_in_command(formula: &str) -> bool {
    let rest = formula.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    rest.len() < formula.len() && rest.ends_with('\\')
}
