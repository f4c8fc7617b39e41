//! Tables: the rows of an XHTML table, each cell that spans several written in all of its rows.

use roxmltree::Node;

use super::walk::Walk;
use crate::limits::ParseError;
use crate::limits::within;
use crate::writing::running::RunningText;

/// Rows or columns that one cell may span; real tables stay far below.
const SPAN_MAX: usize = 200;
/// Bytes of a cell that are repeated in each row it spans; longer ones are in their first row only.
const REPEATED_LEN_MAX: usize = 200;
/// Cells of one table, spanned places included.
const CELLS_MAX: usize = 1_000_000;

/// Reads and writes the table.
pub(super) fn write<'x>(walk: &mut Walk<'_, 'x>, table: Node<'x, 'x>) -> Result<(), ParseError> {
    let mut rows = Vec::new();
    let mut count = 0;
    // Columns that a cell above still covers: how many rows more, and its text.
    let mut covered: Vec<(usize, String)> = Vec::new();
    for tr in table.descendants().filter(|node| is_row_of(node, table)) {
        let mut row: Vec<RunningText> = Vec::new();
        for cell in tr.children().filter(is_cell) {
            fill(&mut row, &mut covered);
            let running = walk.gather(cell)?;
            let (columns, down) = (span(cell, "colspan"), span(cell, "rowspan"));
            let is_short = running.len() <= REPEATED_LEN_MAX;
            let mut text = if is_short {
                running.as_str().to_owned()
            } else {
                String::new()
            };
            let mut running = Some(running);
            for _ in 0..columns {
                if covered.len() <= row.len() {
                    covered.resize(row.len() + 1, (0, String::new()));
                }
                covered[row.len()] = (down - 1, std::mem::take(&mut text));
                row.push(running.take().unwrap_or_default());
            }
        }
        fill(&mut row, &mut covered);
        count += row.len();
        within("cells", count, CELLS_MAX)?;
        rows.push(row);
    }
    walk.out.add_table(&rows)
}

/// Writes the cells that reach down from above to the next place of the row.
fn fill(row: &mut Vec<RunningText>, covered: &mut [(usize, String)]) {
    while let Some((left, text)) = covered.get_mut(row.len()).filter(|(left, _)| *left > 0) {
        *left -= 1;
        let mut running = RunningText::default();
        running.push(text);
        row.push(running);
    }
}

fn is_row_of(node: &Node<'_, '_>, table: Node<'_, '_>) -> bool {
    let mut tables = node.ancestors().filter(|above| above.has_tag_name("table"));
    node.has_tag_name("tr") && tables.next() == Some(table)
}

fn is_cell(node: &Node<'_, '_>) -> bool {
    matches!(node.tag_name().name(), "td" | "th")
}

fn span(cell: Node<'_, '_>, name: &str) -> usize {
    let span_value = cell
        .attribute(name)
        .and_then(|count| count.trim().parse().ok());
    span_value.unwrap_or(1).clamp(1, SPAN_MAX)
}
