//! What a slide inherits from its layout and its master: the places of placeholders and the bullets of their levels.

use roxmltree::Node;

use super::position::Rect;
use crate::office::Package;
use loci_parsing::limits::ParseError;
use loci_parsing::xml::node::{attribute, below, child, number};

/// Shapes of a layout that are looked at, for every paragraph of a slide may ask for each.
const SHAPES_MAX: usize = 500;

/// What is before a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bullet {
    Nothing,
    Glyph,
    /// A number: its scheme and where it starts.
    Number(String, i64),
}

/// The bullet of each of the nine levels, where one is stated.
pub(super) type Levels = [Option<Bullet>; 9];

/// A layout with its master.
#[derive(Debug, Default)]
pub(super) struct Layout {
    layout_placeholders: Vec<Placeholder>,
    master_placeholders: Vec<Placeholder>,
    body: Levels,
    other: Levels,
}

#[derive(Debug)]
struct Placeholder {
    role: Role,
    index: Option<i64>,
    rect: Option<Rect>,
    levels: Levels,
}

/// What a placeholder is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Title,
    Subtitle,
    Body,
    /// A date, a footer, a slide's number: the same on every slide.
    HeaderFooter,
}

impl Layout {
    pub(super) fn read(package: &mut Package<'_>, path: &str) -> Result<Layout, ParseError> {
        let source = package.source(Some(path))?;
        let tree = package.tree(&source, path)?;
        let relations = package.relations(path)?;
        let master_path = relations.first("slideMaster");
        let master_source = package.source(master_path)?;
        let master = package.tree(&master_source, master_path.unwrap_or_default())?;
        let style = |name| {
            let style = below(master.root_element(), &["txStyles", name]);
            style.map(levels).unwrap_or_default()
        };
        Ok(Layout {
            layout_placeholders: placeholders(tree.root_element()),
            master_placeholders: placeholders(master.root_element()),
            body: style("bodyStyle"),
            other: style("otherStyle"),
        })
    }

    /// Where a shape is, as it says itself or inherits.
    pub(super) fn rect(&self, shape: Node<'_, '_>) -> Option<Rect> {
        let inherited = || {
            let mut all = self.inherited(placeholder_of(shape)?);
            all.find_map(|placeholder| placeholder.rect)
        };
        Rect::from_node(shape).or_else(inherited)
    }

    /// What is before a paragraph of a shape at a level from 0, as its shape or what the shape inherits says.
    pub(super) fn bullet(&self, shape: Node<'_, '_>, own: &Levels, level: usize) -> Bullet {
        let at = |levels: &Levels| levels.get(level).cloned().flatten();
        let placeholder = placeholder_of(shape);
        let inherited = || {
            let mut all = self.inherited(placeholder?);
            all.find_map(|placeholder| at(&placeholder.levels))
        };
        let default = || match placeholder.map(role) {
            Some(Role::Title) => None,
            Some(_) => at(&self.body),
            None => at(&self.other),
        };
        let bullet = at(own).or_else(inherited).or_else(default);
        bullet.unwrap_or(Bullet::Nothing)
    }

    /// What a placeholder of a slide inherits from, the nearest first.
    fn inherited(&self, placeholder: Node<'_, '_>) -> impl Iterator<Item = &Placeholder> {
        let (role, index) = (role(placeholder), number(placeholder, "idx"));
        let by_index = |candidate: &&Placeholder| index.is_some() && candidate.index == index;
        let by_role = move |candidate: &&Placeholder| candidate.role == role;
        let nearest = self.layout_placeholders.iter().find(by_index);
        let nearest = nearest.or_else(|| self.layout_placeholders.iter().find(by_role));
        let of_master = self.master_placeholders.iter().find(move |candidate| {
            let is_body = matches!(role, Role::Body | Role::Subtitle);
            candidate.role == role || (is_body && candidate.role == Role::Body)
        });
        nearest.into_iter().chain(of_master)
    }
}

/// The placeholder that a shape or picture is.
pub(super) fn placeholder_of<'a, 's>(shape: Node<'a, 's>) -> Option<Node<'a, 's>> {
    let kinds = ["nvSpPr", "nvPicPr", "nvGraphicFramePr"];
    kinds
        .iter()
        .find_map(|kind| below(shape, &[kind, "nvPr", "ph"]))
}

pub(super) fn role(placeholder: Node<'_, '_>) -> Role {
    match attribute(placeholder, "type") {
        Some("title" | "ctrTitle") => Role::Title,
        Some("subTitle") => Role::Subtitle,
        Some("dt" | "ftr" | "hdr" | "sldNum") => Role::HeaderFooter,
        _ => Role::Body,
    }
}

fn placeholders(root: Node<'_, '_>) -> Vec<Placeholder> {
    let shapes = below(root, &["cSld", "spTree"]);
    let shapes = shapes.into_iter().flat_map(|tree| tree.children());
    shapes
        .take(SHAPES_MAX)
        .filter_map(|shape| {
            let placeholder = placeholder_of(shape)?;
            let style = below(shape, &["txBody", "lstStyle"]);
            Some(Placeholder {
                role: role(placeholder),
                index: number(placeholder, "idx"),
                rect: Rect::from_node(shape),
                levels: style.map(levels).unwrap_or_default(),
            })
        })
        .collect()
}

/// The bullets that a list style states.
pub(super) fn levels(style: Node<'_, '_>) -> Levels {
    std::array::from_fn(|level| {
        let name = format!("lvl{}pPr", level + 1);
        bullet(child(style, &name)?)
    })
}

/// The bullet that properties of a paragraph state.
pub(super) fn bullet(properties: Node<'_, '_>) -> Option<Bullet> {
    properties
        .children()
        .find_map(|one| match one.tag_name().name() {
            "buNone" => Some(Bullet::Nothing),
            "buChar" | "buBlip" => Some(Bullet::Glyph),
            "buAutoNum" => {
                let scheme = attribute(one, "type").unwrap_or("arabicPeriod");
                let start = number(one, "startAt").unwrap_or(1);
                Some(Bullet::Number(scheme.to_owned(), start))
            }
            _ => None,
        })
}
