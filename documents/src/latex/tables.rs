//! Tables: `tabular` and its kin, cell by cell.

use std::ops::Range;

use super::walk::Walk;
use crate::limits::ParseError;
use crate::limits::within;
use crate::tree::BlockKind;
use crate::writing::running::RunningText;

/// Cells of one table, spanned places included.
const CELLS_MAX: usize = 1_000_000;
/// Columns that one cell may span.
const SPAN_MAX: usize = 200;

/// Reads and writes the table whose rows are in `range`.
pub(super) fn write(walk: &mut Walk<'_, '_>, range: Range<usize>) -> Result<(), ParseError> {
    let mut rows = vec![Vec::new()];
    let mut count = 0;
    for (cell, ends_row) in cells(walk, range) {
        let columns = span(walk, cell.clone());
        let running = walk.gather(cell)?;
        if let Some(row) = rows.last_mut() {
            row.push(running);
            row.extend((1..columns).map(|_| RunningText::default()));
            count += columns;
        }
        within("cells", count, CELLS_MAX)?;
        if ends_row {
            rows.push(Vec::new());
        }
    }
    walk.out.add_table(&rows)?;
    // Captions and notes of its cells follow the table.
    walk.write(BlockKind::Paragraph, RunningText::default())
}

/// The cells in reading order, each with whether it is the last of its row.
fn cells(walk: &Walk<'_, '_>, range: Range<usize>) -> Vec<(Range<usize>, bool)> {
    let (reader, end) = (walk.reader, range.end);
    let bytes = reader.text.as_bytes();
    let (mut cells, mut start, mut at) = (Vec::new(), range.start, range.start);
    while at < end {
        match bytes[at] {
            b'&' => {
                cells.push((start..at, false));
                at += 1;
                start = at;
            }
            b'\\' => {
                let (name, after) = reader.name(at);
                if matches!(name, "\\" | "tabularnewline" | "cr") {
                    cells.push((start..at, true));
                    let star = after + usize::from(bytes.get(after) == Some(&b'*'));
                    let has_option = star < end && bytes.get(star) == Some(&b'[');
                    let option = has_option.then(|| reader.option(star, end)).flatten();
                    start = option.map_or(star, |(_, next)| next).min(end);
                    at = start;
                } else if name == "begin" {
                    at = reader.environment(at, end).map_or(after, |inner| inner.end);
                } else {
                    at = after;
                }
            }
            b'{' => at = reader.group(at, end).map_or(at + 1, |(_, next)| next),
            b'$' => at = reader.dollar(at + 1, end).map_or(at + 1, |close| close + 1),
            _ => at += 1,
        }
    }
    cells.push((start..end, true));
    cells
}

/// How many columns a cell takes.
fn span(walk: &Walk<'_, '_>, cell: Range<usize>) -> usize {
    let name = "\\multicolumn";
    let Some(at) = walk.reader.text[cell.clone()].find(name) else {
        return 1;
    };
    let group = walk.reader.group(cell.start + at + name.len(), cell.end);
    let count = group.and_then(|(count, _)| walk.reader.text[count].trim().parse().ok());
    count.unwrap_or(1).clamp(1, SPAN_MAX)
}
