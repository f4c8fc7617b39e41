//! Lines with wide gaps to rows of cells.
//!
//! The lines with the most cells say where the columns of a table are. A cell of any other line belongs to the column
//! that it overlaps most, else to the nearest. A line that has but one cell, and not in the first column, goes on with
//! what is above it there.

use super::layout::{Gap, Line};
use crate::limits::{Limits, ParseError};

/// Longest distance of a line that goes on with a cell, in type sizes.
const WRAPPED_LEADING: f32 = 1.6;

/// A cell of one line.
#[derive(Debug)]
struct Cell {
    x0: f32,
    x1: f32,
    text: String,
}

/// The rows of a table, all equally long. Fails where they would be more text than is allowed.
pub(super) fn rows(lines: &[Line], limits: &Limits) -> Result<Vec<Vec<String>>, ParseError> {
    let width = lines.iter().map(Line::cell_count).max().unwrap_or(0);
    // A cell without text is three bytes of it: each row is filled up to the widest.
    limits.check_text(lines.len().saturating_mul(width).saturating_mul(3))?;
    let cells: Vec<Vec<Cell>> = lines.iter().map(cells).collect();
    let columns = columns(&cells);
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (i, of_line) in cells.into_iter().enumerate() {
        let mut row = vec![String::new(); columns.len()];
        for cell in of_line {
            append(&mut row[column_of(&columns, &cell)], &cell.text);
        }
        match rows.last_mut() {
            Some(above) if continues_row(&lines[i - 1], &lines[i], above, &row) => {
                for (above, more) in above.iter_mut().zip(&row) {
                    append(above, more);
                }
            }
            _ => rows.push(row),
        }
    }
    Ok(rows)
}

/// Whether a line of one cell may go on with one of the line above it.
pub(super) fn may_continue(above: &Line, line: &Line) -> bool {
    let columns = above.pieces.iter().filter(|piece| piece.gap == Gap::Cell);
    let is_aligned = |x0: f32| (x0 - line.x0).abs() <= 2.0;
    let (last, first) = (above.pieces.first(), line.pieces.first());
    let is_in_cell = match above.cell_count() {
        // The line above goes on with a cell itself.
        1 => last.is_some_and(|last| is_aligned(last.x0)),
        _ => columns.into_iter().any(|piece| is_aligned(piece.x0)),
    };
    first.is_some()
        && line.cell_count() == 1
        && is_in_cell
        && line.x0 > line.column.0 + line.size
        && line.base - above.base < WRAPPED_LEADING * line.size
}

fn continues_row(above_line: &Line, line: &Line, above: &[String], row: &[String]) -> bool {
    let filled: Vec<usize> = (0..row.len()).filter(|&i| !row[i].is_empty()).collect();
    line.base - above_line.base < WRAPPED_LEADING * line.size
        && matches!(filled[..], [column] if column > 0 && !above[column].is_empty())
}

fn append(cell: &mut String, more: &str) {
    if !cell.is_empty() && !more.is_empty() {
        cell.push(' ');
    }
    cell.push_str(more);
}

fn cells(line: &Line) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for piece in &line.pieces {
        match cells.last_mut() {
            Some(cell) if piece.gap != Gap::Cell => {
                if piece.gap != Gap::None {
                    cell.text.push(' ');
                }
                cell.text.push_str(&piece.text);
                cell.x1 = cell.x1.max(piece.x1);
            }
            _ => cells.push(Cell {
                x0: piece.x0,
                x1: piece.x1,
                text: piece.text.clone(),
            }),
        }
    }
    for cell in &mut cells {
        cell.text = without_leader(cell.text.trim());
    }
    cells
}

/// Dots that lead to a page number, cut to a few.
fn without_leader(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    for c in text.chars() {
        let is_leader = matches!(c, '.' | ' ') && short.ends_with(". . . ");
        if !is_leader {
            short.push(c);
        }
    }
    short.trim_end().to_owned()
}

/// From where to where each column reaches.
fn columns(cells: &[Vec<Cell>]) -> Vec<(f32, f32)> {
    let most = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut columns = vec![(f32::INFINITY, f32::NEG_INFINITY); most];
    for row in cells.iter().filter(|row| row.len() == most) {
        for (column, cell) in columns.iter_mut().zip(row) {
            *column = (column.0.min(cell.x0), column.1.max(cell.x1));
        }
    }
    columns
}

/// The column that a cell overlaps most, else the nearest, the first of equals.
fn column_of(columns: &[(f32, f32)], cell: &Cell) -> usize {
    let overlap = |column: &(f32, f32)| column.1.min(cell.x1) - column.0.max(cell.x0);
    let mut best = 0;
    for (i, column) in columns.iter().enumerate() {
        if overlap(column) > overlap(&columns[best]) {
            best = i;
        }
    }
    best
}
