//! The cells of a table while they are read, and the rows that they make.

use crate::limits::{Limits, ParseError};
use crate::writing::blocks;

/// Columns that a cell may span; the most that browsers take.
const SPAN_MAX: usize = 1_000;

/// What a cell is counted for, however little it holds: it takes memory of its own.
const CELL_BYTES: usize = 16;

/// A table of data. A cell that spans several places is in the first of them; the others are
/// empty.
#[derive(Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Vec<String>>,
    /// Cells, with the empty ones.
    count: usize,
    /// For each column, how many rows below are still taken by a cell above.
    occupied_rows: Vec<usize>,
}

impl Rows {
    pub(super) fn begin_row(&mut self) {
        self.end_row();
        self.rows.push(Vec::new());
    }

    /// Adds a cell. `columns` and `rows`: what it spans.
    pub(super) fn cell(
        &mut self,
        text: String,
        columns: Option<&str>,
        rows: Option<&str>,
        limits: &Limits,
    ) -> Result<(), ParseError> {
        let span = |attribute: Option<&str>| {
            let parsed = attribute.and_then(|s| s.trim().parse::<usize>().ok());
            parsed.unwrap_or(1).clamp(1, SPAN_MAX)
        };
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        self.skip_occupied();
        let Some(row) = self.rows.last_mut() else {
            return Ok(());
        };
        let start = row.len();
        // Cells beyond are of no table that is read by people.
        let end = (start + span(columns)).min(start.max(SPAN_MAX) + 1);
        row.push(text);
        row.resize(end, String::new());
        self.count += end - start;
        limits.check_text(self.count.saturating_mul(CELL_BYTES))?;
        let below = span(rows) - 1;
        if below > 0 || self.occupied_rows.len() > start {
            self.occupied_rows
                .resize(self.occupied_rows.len().max(end), 0);
            self.occupied_rows[start..end].fill(below);
        }
        Ok(())
    }

    /// Leaves the places empty that cells of rows above take.
    fn skip_occupied(&mut self) {
        let Some(row) = self.rows.last_mut() else {
            return;
        };
        while let Some(below) = self
            .occupied_rows
            .get_mut(row.len())
            .filter(|below| **below > 0)
        {
            *below -= 1;
            self.count += 1;
            row.push(String::new());
        }
    }

    fn end_row(&mut self) {
        if let Some(row) = self.rows.last() {
            for below in self.occupied_rows.iter_mut().skip(row.len()) {
                *below = below.saturating_sub(1);
            }
        }
    }

    /// The table in Markdown; `None` where no cell has text.
    pub(super) fn finish(mut self, limits: &Limits) -> Result<Option<String>, ParseError> {
        self.drop_empty();
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        // Each row is filled up to the widest.
        limits.check_text(self.rows.len().saturating_mul(width).saturating_mul(3))?;
        if let ([row], 1) = (&self.rows[..], width) {
            return Ok(row.first().cloned());
        }
        Ok(blocks::table(&self.rows))
    }

    /// Drops rows without words and columns without text.
    fn drop_empty(&mut self) {
        let has_words = |cell: &String| cell.contains(char::is_alphanumeric);
        self.rows.retain(|row| row.iter().any(has_words));
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut is_used = vec![false; width];
        for row in &self.rows {
            for (used, cell) in is_used.iter_mut().zip(row) {
                *used |= !cell.is_empty();
            }
        }
        for row in &mut self.rows {
            let mut used = is_used.iter();
            row.retain(|_| used.next() == Some(&true));
            let len = row.iter().rposition(|cell| !cell.is_empty());
            row.truncate(len.map_or(0, |last| last + 1));
        }
    }

    /// Whether it has become more than one cell.
    pub(super) fn is_table(&self) -> bool {
        let filled = self.rows.iter().flatten().filter(|cell| !cell.is_empty());
        filled.take(2).count() > 1
    }
}
