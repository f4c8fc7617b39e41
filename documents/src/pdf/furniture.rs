//! What is on a page and is no part of its text: running headers and footers, page numbers,
//! line numbers in the margin.
//!
//! A line near the top or bottom edge is furniture when other pages have the same one (digits
//! aside) at the same height, and nothing but furniture is between it and the edge.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::layout::{Gap, Line, Piece};
use super::page::{Page, Run};

/// The part of a page's height, at its top and at its bottom, where furniture is.
const EDGE: f32 = 0.14;
/// Lines looked at from each edge.
const EDGE_LINES: usize = 4;
/// Pages that must have the line; fewer in a short document.
const REPEATS_MIN: usize = 3;
const REPEATS_MIN_SHORT: usize = 2;
const SHORT_PAGES: usize = 6;
/// Longest running header that is told by its page number alone.
const HEADER_CHARS_MAX: usize = 80;
/// Heights are compared in steps of so many points.
const HEIGHT_STEP: f32 = 6.0;
/// Shortest cell, in bytes, whose like elsewhere makes a line furniture.
const CELL_LEN_MIN: usize = 6;
/// One of so many pages must have such a cell.
const CELL_PAGES: usize = 4;
/// Lines whose baselines differ by less, in points, are in one row.
const SAME_BASE: f32 = 1.0;
/// Numbered lines on a page that make it a draft with line numbers.
const LINE_NUMBERS_MIN: usize = 5;
/// Width of a column of line numbers, in points.
const NUMBER_COLUMN: f32 = 12.0;

/// Drops furniture from all pages.
pub(super) fn drop_running_lines(pages: &mut [Vec<Line>]) {
    let repeats_min = match pages.len() {
        0..=SHORT_PAGES => REPEATS_MIN_SHORT,
        _ => REPEATS_MIN,
    };
    let counts = counts(pages);
    // A cell may also be one of a table's head, which some pages begin with.
    let cell_repeats_min = repeats_min.max(pages.len() / CELL_PAGES);
    let is_repeated = |running: &RunningLine| {
        let least = if running.is_cell {
            cell_repeats_min
        } else {
            repeats_min
        };
        counts.get(running).is_some_and(|n| *n >= least)
    };
    for lines in pages.iter_mut() {
        let mut dropped = Vec::new();
        for edge in [Edge::Top, Edge::Bottom] {
            for (index, looks) in edge_lines(lines, edge) {
                let is_furniture = looks.iter().any(is_repeated)
                    || is_page_number(&without_digits(&lines[index].text()))
                    || has_page_number(&lines[index]);
                if !is_furniture {
                    break;
                }
                dropped.push(index);
            }
        }
        let mut index = 0;
        lines.retain(|_| {
            index += 1;
            !dropped.contains(&(index - 1))
        });
    }
}

/// How many pages have each line or row near an edge.
fn counts(pages: &[Vec<Line>]) -> HashMap<RunningLine, usize> {
    let mut counts: HashMap<RunningLine, usize> = HashMap::new();
    for lines in pages {
        let edges = edge_lines(lines, Edge::Top).chain(edge_lines(lines, Edge::Bottom));
        let mut on_page: HashSet<RunningLine> = HashSet::new();
        for running in edges.flat_map(|(_, looks)| looks) {
            // Heights near a step's border count on both sides of it.
            let near = RunningLine {
                height: running.height + 1,
                ..running.clone()
            };
            on_page.extend([running, near]);
        }
        for running in on_page {
            *counts.entry(running).or_default() += 1;
        }
    }
    counts
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Edge {
    Top,
    Bottom,
}

/// A line as it would look on other pages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RunningLine {
    edge: Edge,
    height: i32,
    /// Whether it is what is between wide gaps in its line.
    is_cell: bool,
    text: String,
}

/// The lines near an edge, nearest first: their places in `lines`, and as what they may be found on other pages: alone,
/// with what is beside them (one page may have columns where another has none), and each cell (one may name the
/// book, another the chapter).
fn edge_lines(lines: &[Line], edge: Edge) -> impl Iterator<Item = (usize, Vec<RunningLine>)> {
    let mut near: Vec<(usize, &Line)> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| match edge {
            Edge::Top => line.bottom < EDGE * line.page_size.1,
            Edge::Bottom => line.top > (1.0 - EDGE) * line.page_size.1,
        })
        .collect();
    near.sort_by(|(_, a), (_, b)| match edge {
        Edge::Top => a.base.total_cmp(&b.base),
        Edge::Bottom => b.base.total_cmp(&a.base),
    });
    let running = |line: &Line, is_cell: bool, text: &str| RunningLine {
        edge,
        is_cell,
        height: (line.base / HEIGHT_STEP) as i32,
        text: without_digits(text),
    };
    let nearest = near.iter().take(EDGE_LINES);
    let found: Vec<_> = nearest
        .map(|(index, line)| {
            let whole = [line.text(), row_text(&near, line)];
            let whole = whole.iter().map(|text| running(line, false, text));
            let cells = cells(line).into_iter();
            let cells = cells.filter(|cell| cell.len() >= CELL_LEN_MIN);
            let looks = whole.chain(cells.map(|text| running(line, true, &text)));
            (*index, looks.collect())
        })
        .collect();
    found.into_iter()
}

/// What a line says between wide gaps.
fn cells(line: &Line) -> Vec<String> {
    let mut cells = vec![String::new()];
    for piece in &line.pieces {
        if piece.gap == Gap::Cell {
            cells.push(String::new());
        }
        if let Some(cell) = cells.last_mut() {
            cell.push_str(&piece.text);
        }
    }
    cells
}

/// The text of all lines on the baseline of one, from the left.
fn row_text(near: &[(usize, &Line)], line: &Line) -> String {
    let beside = near.iter().map(|(_, other)| *other);
    let mut row: Vec<&Line> = beside
        .filter(|other| (other.base - line.base).abs() <= SAME_BASE)
        .collect();
    row.sort_by(|a, b| a.x0.total_cmp(&b.x0));
    row.iter().map(|line| line.text()).collect()
}

/// Each run of digits as `#`, letters in lower case, white space gone.
fn without_digits(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        match c.is_ascii_digit() {
            true if out.ends_with('#') => {}
            true => out.push('#'),
            false => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// `12`, `- 12 -`, `page 12`, `12/40`, `page 12 of 40`, `xii`, digits already replaced.
fn is_page_number(text: &str) -> bool {
    let bare = text.trim_matches(|c| matches!(c, '-' | '–' | '—' | '.' | '[' | ']' | '|'));
    let is_roman = (1..=6).contains(&bare.len()) && bare.bytes().all(|b| b"ivxl".contains(&b));
    matches!(
        bare,
        "#" | "page#" | "#/#" | "#of#" | "page#of#" | "page#/#" | "p.#" | "#-#"
    ) || is_roman
}

/// Whether the line begins or ends with its page's number, apart from the rest: a running header
/// that only this page has.
fn has_page_number(line: &Line) -> bool {
    let number = line.page.to_string();
    let text = line.text();
    let is_apart = |piece: Option<&Piece>| piece.is_some_and(|p| p.text.trim() == number);
    line.cell_count() == 2
        && text.chars().count() <= HEADER_CHARS_MAX
        && (is_apart(line.pieces.first()) || is_apart(line.pieces.last()))
}

/// Drops the numbers that some drafts print beside every line: small, in one column, one more each.
pub(super) fn drop_line_numbers(page: &mut Page) {
    let size = 0.75 * usual_size(page);
    let is_number = |run: &Run| {
        let text = run.text.trim();
        let is_digits = text.bytes().all(|b| b.is_ascii_digit());
        run.size <= size && (1..=4).contains(&text.len()) && is_digits
    };
    let mut columns: BTreeMap<i32, Vec<(f32, u32)>> = BTreeMap::new();
    for run in page.runs.iter().filter(|run| is_number(run)) {
        if let Ok(number) = run.text.trim().parse() {
            columns
                .entry(number_column(run))
                .or_default()
                .push((run.base, number));
        }
    }
    columns.retain(|_, numbers| {
        numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let steps = numbers
            .windows(2)
            .filter(|pair| pair[0].1 + 1 == pair[1].1)
            .count();
        numbers.len() >= LINE_NUMBERS_MIN && 4 * steps >= 3 * (numbers.len() - 1)
    });
    if !columns.is_empty() {
        let is_dropped = |run: &Run| is_number(run) && columns.contains_key(&number_column(run));
        page.runs.retain(|run| !is_dropped(run));
    }
}

/// Numbers of one column end at one place, or nearly.
fn number_column(run: &Run) -> i32 {
    (run.x1 / NUMBER_COLUMN).round() as i32
}

/// The type size of most of the page's glyphs.
fn usual_size(page: &Page) -> f32 {
    let sizes = page
        .runs
        .iter()
        .map(|run| (run.size, run.text.chars().count()));
    super::mode(sizes, 4.0).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_numbers_are_distinguished_from_text() {
        let cases: &[(&str, bool)] = &[
            ("12", true),
            ("- 12 -", true),
            ("Page 3 of 40", true),
            ("xiv", true),
            ("3/7", true),
            ("Chapter 3", false),
            ("mix of", false),
            ("", false),
        ];
        for (text, want) in cases {
            assert_eq!(is_page_number(&without_digits(text)), *want, "{text}");
        }
    }
}
