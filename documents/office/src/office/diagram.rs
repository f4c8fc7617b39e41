//! Diagrams (SmartArt; ECMA-376, part 1, 21.4): the text of their nodes, from the top of the tree that they make.

use std::collections::{BTreeMap, HashMap, HashSet};

use roxmltree::{Document, Node};

use crate::writing::running::collapsed;
use crate::xml::node::{attribute, child, children, outermost, relation, text_of};

/// The text of each node that has some, parents before their children.
pub(crate) fn read(tree: &Document<'_>) -> Vec<String> {
    let root = tree.root_element();
    let nodes: Vec<Node<'_, '_>> = child(root, "ptLst")
        .into_iter()
        .flat_map(|list| children(list, "pt"))
        .filter(|point| matches!(kind_of(*point), "node" | "asst" | "doc"))
        .collect();
    let by_id: HashMap<&str, Node<'_, '_>> = nodes
        .iter()
        .filter_map(|point| Some((attribute(*point, "modelId")?, *point)))
        .collect();
    let below = links(root);
    let roots = nodes.iter().filter(|point| kind_of(**point) == "doc");
    let mut open: Vec<Node<'_, '_>> = roots.chain(&nodes).rev().copied().collect();
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    while let Some(point) = open.pop() {
        let id = attribute(point, "modelId").unwrap_or_default();
        if !seen.insert(id) {
            continue;
        }
        let paragraphs = outermost(point, &["p"]);
        let lines = paragraphs.iter().map(|p| collapsed(&text_of(*p, "t")));
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        if !lines.is_empty() {
            texts.push(lines.join("\n"));
        }
        let children = below.get(id).into_iter().flat_map(BTreeMap::values).rev();
        open.extend(children.filter_map(|id| by_id.get(id)));
    }
    texts
}

/// What each node has below it, in order.
fn links<'a>(root: Node<'a, '_>) -> HashMap<&'a str, BTreeMap<(i64, usize), &'a str>> {
    let mut below: HashMap<&str, BTreeMap<(i64, usize), &str>> = HashMap::new();
    let list = child(root, "cxnLst");
    let links = list.into_iter().flat_map(|list| children(list, "cxn"));
    for (i, link) in links.enumerate() {
        let of = |name| attribute(link, name);
        if !matches!(of("type"), None | Some("parOf")) {
            continue;
        }
        let order = of("srcOrd").and_then(|order| order.parse().ok());
        if let (Some(from), Some(to)) = (of("srcId"), of("destId")) {
            let place = (order.unwrap_or(0), i);
            below.entry(from).or_default().insert(place, to);
        }
    }
    below
}

fn kind_of<'a>(point: Node<'a, '_>) -> &'a str {
    attribute(point, "type").unwrap_or("node")
}

/// The data of the diagram that a drawing refers to.
pub(crate) fn reference<'a>(drawing: Node<'a, '_>) -> Option<&'a str> {
    let data = outermost(drawing, &["graphicData"]).into_iter().next()?;
    relation(children(data, "relIds").next()?, "dm")
}
