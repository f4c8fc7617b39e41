//! The title of a slide: what is in its place for one, else a text box that looks like one.

use roxmltree::Node;

use super::layout::{Bullet, Role, placeholder_of, role};
use super::paragraph::list_of;
use super::slide::paragraphs;
use crate::xml::node::{attribute, child, is, is_true, number, outermost, text_of};

/// Size of type that a text box has where none is stated, in hundredths of a point.
const SIZE_USUAL: i64 = 1_800;
/// A text box in smaller type is no title.
const SIZE_MIN: i64 = 2_000;
const CHARS_MAX: usize = 120;
const PARAGRAPHS_MAX: usize = 2;

/// Where the title is among a slide's things, which are in the order of reading.
pub(super) fn title_index(things: &[Node<'_, '_>]) -> Option<usize> {
    let placeholder = things.iter().position(|thing| is_title(*thing));
    placeholder.or_else(|| looks_like_title(things).then_some(0))
}

fn is_title(thing: Node<'_, '_>) -> bool {
    placeholder_of(thing).map(role) == Some(Role::Title) && !paragraphs(thing).is_empty()
}

/// Whether a slide begins with a short text box in type larger or bolder than all other text on it.
fn looks_like_title(things: &[Node<'_, '_>]) -> bool {
    let [first, rest @ ..] = things else {
        return false;
    };
    let others = rest.iter().filter(|thing| is(**thing, "sp"));
    let others = others.filter(|shape| !text_of(**shape, "t").trim().is_empty());
    let largest = others.filter_map(|shape| types(*shape).into_iter().max());
    let (Some(own), Some(largest)) = (types(*first).into_iter().min(), largest.max()) else {
        return false;
    };
    is(*first, "sp")
        && placeholder_of(*first).is_none()
        && reads_as_title(*first)
        && own.0 >= SIZE_MIN
        && own > largest
}

fn reads_as_title(shape: Node<'_, '_>) -> bool {
    let text = text_of(shape, "t");
    let written: Vec<Node<'_, '_>> = paragraphs(shape)
        .into_iter()
        .filter(|paragraph| !text_of(*paragraph, "t").trim().is_empty())
        .collect();
    let is_plain = |paragraph: &Node<'_, '_>| {
        let (level, bullet) = list_of(*paragraph);
        level == 0 && bullet.is_none_or(|bullet| bullet == Bullet::Nothing)
    };
    (1..=PARAGRAPHS_MAX).contains(&written.len())
        && written.iter().all(is_plain)
        && text.chars().count() <= CHARS_MAX
        && text.chars().any(char::is_alphabetic)
}

/// Size and weight of each run of a shape's text. What a placeholder does not state itself is not known, and counts as
/// larger than all.
fn types(shape: Node<'_, '_>) -> Vec<(i64, bool)> {
    let unstated = match placeholder_of(shape) {
        Some(_) => i64::MAX,
        None => SIZE_USUAL,
    };
    let runs = outermost(shape, &["r"]).into_iter();
    runs.filter(|run| !text_of(*run, "t").trim().is_empty())
        .map(|run| {
            let properties = child(run, "rPr");
            let size = properties.and_then(|properties| number(properties, "sz"));
            let weight = properties.and_then(|properties| attribute(properties, "b"));
            (size.unwrap_or(unstated), weight.is_some_and(is_true))
        })
        .collect()
}
