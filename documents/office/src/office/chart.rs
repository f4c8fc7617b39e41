//! Charts (ECMA-376, part 1, 21.2): their titles, and what they show as a table.

use std::collections::BTreeMap;

use roxmltree::{Document, Node};

use crate::limits::ParseError;
use crate::limits::{Limits, within};
use crate::writing::running::collapsed;
use crate::xml::node::{attribute, below, child, children, outermost, text_of};

/// Titles of a chart and its axes.
const TITLES_MAX: usize = 64;

/// What a chart says.
#[derive(Debug, Default)]
pub(crate) struct Chart {
    /// Its title and those of its axes, in lines.
    pub(crate) titles: String,
    /// A row for each category, a column for each series.
    pub(crate) rows: Vec<Vec<String>>,
}

/// Values by their place.
type Points = BTreeMap<u64, String>;

/// Reads the part of a chart.
pub(crate) fn read(tree: &Document<'_>, limits: &Limits) -> Result<Chart, ParseError> {
    let root = tree.root_element();
    let mut lines: Vec<String> = Vec::new();
    for title in outermost(root, &["title"]).into_iter().take(TITLES_MAX) {
        let line = collapsed(&[text_of(title, "t"), text_of(title, "v")].join(" "));
        if !line.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    let series: Vec<(String, Points, Points)> =
        outermost(root, &["ser"]).into_iter().map(one).collect();
    Ok(Chart {
        titles: lines.join("\n"),
        rows: rows(&series, limits)?,
    })
}

/// A series: its name, its categories (or places along the axis) and its values.
fn one(series: Node<'_, '_>) -> (String, Points, Points) {
    let points_of = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| child(series, name));
        found.map(points).unwrap_or_default()
    };
    let name = child(series, "tx").map(|name| collapsed(&text_of(name, "v")));
    (
        name.unwrap_or_default(),
        points_of(["cat", "xVal"]),
        points_of(["val", "yVal"]),
    )
}

fn points(data: Node<'_, '_>) -> Points {
    let mut points = Points::new();
    for point in outermost(data, &["pt"]) {
        let place = attribute(point, "idx").and_then(|place| place.parse().ok());
        let value = below(point, &["v"]).and_then(|value| value.text());
        if let (Some(place), Some(value)) = (place, value) {
            // Categories of several levels: the innermost level is the first that is read.
            let entry = points.entry(place).or_default();
            if entry.is_empty() {
                *entry = collapsed(value);
            }
        }
    }
    points
}

fn rows(
    series: &[(String, Points, Points)],
    limits: &Limits,
) -> Result<Vec<Vec<String>>, ParseError> {
    let mut categories = Points::new();
    for (_, of_series, values) in series {
        for (place, name) in of_series {
            categories.entry(*place).or_insert_with(|| name.clone());
        }
        for place in values.keys() {
            categories.entry(*place).or_default();
        }
    }
    let width = series.len() + 1;
    let cells = width.saturating_mul(categories.len() + 1);
    within("cells of a table", cells, limits.blocks_max)?;
    let names = series.iter().map(|(name, _, _)| name.clone());
    let mut rows: Vec<Vec<String>> = vec![std::iter::once(String::new()).chain(names).collect()];
    for (place, category) in &categories {
        let values = series.iter().map(|(_, _, values)| values.get(place));
        let values = values.map(|value| value.cloned().unwrap_or_default());
        rows.push(std::iter::once(category.clone()).chain(values).collect());
    }
    Ok(if categories.is_empty() {
        Vec::new()
    } else {
        rows
    })
}

/// The chart that a drawing refers to.
pub(crate) fn reference<'a>(drawing: Node<'a, '_>) -> Option<&'a str> {
    let data = outermost(drawing, &["graphicData"]).into_iter().next()?;
    crate::xml::node::relation(children(data, "chart").next()?, "id")
}
