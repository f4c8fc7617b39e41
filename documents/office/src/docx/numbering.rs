//! Numbers of headings and list items (ECMA-376, part 1, 17.9), counted as Word counts them.
//!
//! A paragraph names a list and a level. The list may change levels of the abstract list that it stands for; lists of
//! the same abstract list count on together, unless one states where it starts.

use std::collections::{HashMap, HashSet};

use roxmltree::{Document, Node};

use crate::cues::numerals::{letters, roman};
use crate::office::is_on;
use crate::xml::node::{attribute, child, children, number, value};

const LEVELS: usize = 9;
/// Lists that are read; paragraphs of those beyond have no numbers.
const LISTS_MAX: usize = 32_768;
/// Characters of a number as it is written.
const LABEL_CHARS_MAX: usize = 64;

/// All lists of a document, and how far they are counted.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    lists: HashMap<String, List>,
    /// By abstract list.
    counts: HashMap<String, [Option<i64>; LEVELS]>,
    /// Lists and levels whose own start was applied.
    started: HashSet<(String, usize)>,
}

#[derive(Clone, Debug)]
struct List {
    abstract_id: String,
    levels: [Level; LEVELS],
    /// Where the list itself starts its levels.
    starts: [Option<i64>; LEVELS],
}

#[derive(Clone, Debug)]
struct Level {
    start: i64,
    format: String,
    /// `%1.%2`.
    text: String,
    is_decimal: bool,
    style: Option<String>,
}

/// What is before a paragraph of a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Label {
    Bullet,
    /// Empty where the level shows none.
    Number(String),
}

impl Numbering {
    pub(super) fn read(tree: &Document<'_>) -> Numbering {
        let root = tree.root_element();
        let abstracts: HashMap<&str, AbstractList<'_>> = children(root, "abstractNum")
            .take(LISTS_MAX)
            .filter_map(|one| Some((attribute(one, "abstractNumId")?, AbstractList::read(one))))
            .collect();
        // An abstract list may stand for the one that defines a style.
        let by_style: HashMap<&str, &str> = abstracts
            .iter()
            .filter_map(|(id, one)| Some((one.defined_style?, *id)))
            .collect();
        let lists = children(root, "num").take(LISTS_MAX).filter_map(|list| {
            let named = value(list, "abstractNumId")?;
            let link = abstracts.get(named)?.linked_style;
            let abstract_id = link.and_then(|style| by_style.get(style)).unwrap_or(&named);
            let parsed = List::read(list, abstract_id, abstracts.get(abstract_id)?);
            Some((attribute(list, "numId")?.to_owned(), parsed))
        });
        Numbering {
            lists: lists.collect(),
            ..Numbering::default()
        }
    }

    /// The level that a style has in a list.
    pub(super) fn level_of_style(&self, list: &str, style: Option<&str>) -> Option<usize> {
        let levels = &self.lists.get(list)?.levels;
        let style = style?;
        levels
            .iter()
            .position(|level| level.style.as_deref() == Some(style))
    }

    /// Counts a paragraph of a list at a level. `None` where there is no such list.
    pub(super) fn next(&mut self, name: &str, level: usize) -> Option<Label> {
        let list = self.lists.get(name)?;
        let level = level.min(LEVELS - 1);
        let counts = self.counts.entry(list.abstract_id.clone()).or_default();
        let own_start =
            list.starts[level].filter(|_| self.started.insert((name.to_owned(), level)));
        let number = match (own_start, counts[level]) {
            (Some(start), _) => start,
            (None, Some(before)) => before.saturating_add(1),
            (None, None) => list.starts[level].unwrap_or(list.levels[level].start),
        };
        counts[level] = Some(number);
        counts[level + 1..].fill(None);
        for (above, of_list) in counts.iter_mut().zip(&list.levels).take(level) {
            above.get_or_insert(of_list.start);
        }
        Some(list.levels[level].label(&list.levels, counts))
    }
}

/// A list as others refer to it.
struct AbstractList<'a> {
    levels: [Level; LEVELS],
    /// The style that it defines.
    defined_style: Option<&'a str>,
    /// The style whose list it stands for.
    linked_style: Option<&'a str>,
}

impl<'a> AbstractList<'a> {
    fn read(node: Node<'a, '_>) -> AbstractList<'a> {
        let mut levels = std::array::from_fn(|_| Level::missing());
        for level in children(node, "lvl") {
            if let Some(at) = level_index(level) {
                levels[at] = Level::read(level);
            }
        }
        AbstractList {
            levels,
            defined_style: value(node, "styleLink"),
            linked_style: value(node, "numStyleLink"),
        }
    }
}

fn level_index(level: Node<'_, '_>) -> Option<usize> {
    let index = usize::try_from(number(level, "ilvl")?).ok()?;
    (index < LEVELS).then_some(index)
}

impl List {
    fn read(list: Node<'_, '_>, abstract_id: &str, abstract_list: &AbstractList<'_>) -> List {
        let mut levels = abstract_list.levels.clone();
        let mut starts = [None; LEVELS];
        for change in children(list, "lvlOverride") {
            let Some(at) = level_index(change) else {
                continue;
            };
            if let Some(level) = child(change, "lvl") {
                levels[at] = Level::read(level);
            }
            starts[at] = value(change, "startOverride").and_then(|start| start.parse().ok());
        }
        List {
            abstract_id: abstract_id.to_owned(),
            levels,
            starts,
        }
    }
}

impl Level {
    fn read(level: Node<'_, '_>) -> Level {
        let of = |name| value(level, name);
        let text = of("lvlText").unwrap_or_default();
        Level {
            start: of("start")
                .and_then(|start| start.parse().ok())
                .unwrap_or(1),
            format: of("numFmt").unwrap_or("decimal").to_owned(),
            text: text.chars().take(LABEL_CHARS_MAX).collect(),
            is_decimal: child(level, "isLgl").is_some_and(is_on),
            style: of("pStyle").map(str::to_owned),
        }
    }

    fn missing() -> Level {
        Level {
            start: 1,
            format: "none".to_owned(),
            text: String::new(),
            is_decimal: false,
            style: None,
        }
    }

    /// `%1.%2` with the numbers of the levels in place.
    fn label(&self, levels: &[Level; LEVELS], counts: &[Option<i64>; LEVELS]) -> Label {
        if self.format == "bullet" {
            return Label::Bullet;
        }
        let mut label = String::new();
        let mut chars = self.text.chars().peekable();
        while let Some(c) = chars.next() {
            let digit = chars.peek().and_then(|next| next.to_digit(10));
            match digit {
                Some(level @ 1..=9) if c == '%' => {
                    chars.next();
                    let at = level as usize - 1;
                    let number = counts[at].unwrap_or(levels[at].start);
                    let format = if self.is_decimal {
                        "decimal"
                    } else {
                        &levels[at].format
                    };
                    label.push_str(&written(number, format));
                }
                _ => label.push(c),
            }
        }
        Label::Number(label.trim().to_owned())
    }
}

/// A number in a format (`ST_NumberFormat`); in digits where the format is one of the many others.
fn written(number: i64, format: &str) -> String {
    match format {
        "lowerLetter" => letters(number),
        "upperLetter" => letters(number).to_uppercase(),
        "lowerRoman" => roman(number),
        "upperRoman" => roman(number).to_uppercase(),
        "decimalZero" => format!("{number:02}"),
        "none" | "bullet" => String::new(),
        _ => number.to_string(),
    }
}
