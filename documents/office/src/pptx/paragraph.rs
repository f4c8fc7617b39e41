//! Paragraphs of a shape's text (DrawingML; ECMA-376, part 1, 21.1.2).

use roxmltree::Node;

use super::layout::{Bullet, Levels, bullet, levels};
use crate::cues::numerals::{letters, roman};
use crate::office::math;
use crate::tree::MarkKind;
use crate::writing::running::RunningText;
use crate::writing::writer::Writer;
use crate::xml::node::{attribute, below, branch, child, is_true, number};

/// Levels of a list.
const LEVELS: usize = 9;

/// Numbers of the lists of one shape.
#[derive(Default)]
pub(super) struct ListCounters([Option<(Bullet, i64)>; LEVELS]);

impl ListCounters {
    /// Counts a paragraph, and returns the number that is before it.
    pub(super) fn next(&mut self, level: usize, bullet: &Bullet) -> String {
        let level = level.min(LEVELS - 1);
        self.0[level + 1..].fill(None);
        let Bullet::Number(scheme, start) = bullet else {
            self.0[level] = None;
            return String::new();
        };
        let number = match &self.0[level] {
            Some((before, number)) if before == bullet => number.saturating_add(1),
            _ => *start,
        };
        self.0[level] = Some((bullet.clone(), number));
        label(scheme, number)
    }
}

/// A number as a scheme (`ST_TextAutonumberScheme`) writes it.
fn label(scheme: &str, number: i64) -> String {
    let written = if scheme.starts_with("alphaLc") {
        letters(number)
    } else if scheme.starts_with("alphaUc") {
        letters(number).to_uppercase()
    } else if scheme.starts_with("romanLc") {
        roman(number)
    } else if scheme.starts_with("romanUc") {
        roman(number).to_uppercase()
    } else {
        number.to_string()
    };
    if scheme.ends_with("ParenBoth") {
        format!("({written})")
    } else if scheme.ends_with("ParenR") {
        format!("{written})")
    } else if scheme.ends_with("Plain") {
        written
    } else {
        format!("{written}.")
    }
}

/// The bullets that a shape's own text states.
pub(super) fn own_levels(body: Node<'_, '_>) -> Levels {
    child(body, "lstStyle").map(levels).unwrap_or_default()
}

/// A paragraph's level from 0, and the bullet it states itself.
pub(super) fn list_of(paragraph: Node<'_, '_>) -> (usize, Option<Bullet>) {
    let Some(properties) = child(paragraph, "pPr") else {
        return (0, None);
    };
    let level = number(properties, "lvl").unwrap_or(0);
    let level = usize::try_from(level).unwrap_or(0).min(LEVELS - 1);
    (level, bullet(properties))
}

/// Writes the text of a paragraph to the open block.
pub(super) fn write(paragraph: Node<'_, '_>, writer: &mut Writer<'_>) {
    for part in paragraph.children().filter(Node::is_element) {
        write_part(part, writer);
    }
    writer.mark(&[]);
}

fn write_part(part: Node<'_, '_>, writer: &mut Writer<'_>) {
    match part.tag_name().name() {
        "r" => {
            writer.mark(&marks(part));
            if let Some(text) = child(part, "t").and_then(|text| text.text()) {
                push(&mut writer.inline, text);
            }
        }
        // A field of a slide's number says nothing of its own.
        "fld" if attribute(part, "type") != Some("slidenum") => {
            let text = child(part, "t").and_then(|text| text.text());
            push(&mut writer.inline, text.unwrap_or_default());
        }
        "br" => writer.inline.line_break(),
        "m" | "oMathPara" | "oMath" => {
            writer.inline.space();
            writer.inline.push(&math::linear(part));
            writer.inline.space();
        }
        "AlternateContent" => {
            let parts = branch(part)
                .into_iter()
                .flat_map(|branch| branch.children());
            for part in parts.filter(Node::is_element) {
                write_part(part, writer);
            }
        }
        _ => {}
    }
}

/// A vertical tab, which XML cannot hold, is how a title may break its line.
const LINE_BREAK: &str = "_x000B_";

fn push(inline: &mut RunningText, text: &str) {
    for (i, line) in text.split(LINE_BREAK).enumerate() {
        if i > 0 {
            inline.line_break();
        }
        inline.push(line);
    }
}

fn marks(run: Node<'_, '_>) -> Vec<MarkKind> {
    let Some(properties) = child(run, "rPr") else {
        return Vec::new();
    };
    let is_on = |name| attribute(properties, name).is_some_and(is_true);
    let link = below(properties, &["hlinkClick"]).map(|_| MarkKind::Link);
    let strong = is_on("b").then_some(MarkKind::Strong);
    let emphasis = is_on("i").then_some(MarkKind::Emphasis);
    link.into_iter().chain(strong).chain(emphasis).collect()
}
