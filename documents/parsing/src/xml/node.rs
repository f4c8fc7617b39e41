//! Ways through a tree of XML by local names.

use roxmltree::Node;

/// The elements of this name right below `node`.
pub fn children<'a, 's: 'a>(
    node: Node<'a, 's>,
    name: &'a str,
) -> impl Iterator<Item = Node<'a, 's>> + 'a {
    node.children().filter(move |child| is(*child, name))
}

/// The first of them.
pub fn child<'a, 's: 'a>(node: Node<'a, 's>, name: &str) -> Option<Node<'a, 's>> {
    node.children().find(|child| is(*child, name))
}

/// The element that one comes to by these names, the first child of each name.
pub fn below<'a, 's: 'a>(node: Node<'a, 's>, names: &[&str]) -> Option<Node<'a, 's>> {
    names.iter().try_fold(node, |node, name| child(node, name))
}

/// Whether `node` is an element of this name.
pub fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

/// An attribute, whatever its namespace.
pub fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let mut all = node.attributes();
    all.find(|attribute| attribute.name() == name)
        .map(|attribute| attribute.value())
}

/// The attribute of this name that names a relation.
pub fn relation<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let is_relation = |uri: &str| uri.ends_with("/relationships");
    let mut all = node.attributes();
    all.find(|it| it.name() == name && it.namespace().is_some_and(is_relation))
        .map(|attribute| attribute.value())
}

/// The attribute `val` of the child of this name.
pub fn value<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    attribute(child(node, name)?, "val")
}

/// A number in an attribute.
pub fn number(node: Node<'_, '_>, name: &str) -> Option<i64> {
    attribute(node, name)?.trim().parse().ok()
}

/// Whether a switch's value is on.
pub fn is_true(value: &str) -> bool {
    !matches!(value, "0" | "false" | "off" | "none")
}

/// The outermost elements of these names below `node`, in order. Of alternatives, only the one that counts is searched.
pub fn outermost<'a, 's>(node: Node<'a, 's>, names: &[&str]) -> Vec<Node<'a, 's>> {
    let mut found = Vec::new();
    search(node, names, &mut found);
    found
}

fn search<'a, 's>(node: Node<'a, 's>, names: &[&str], found: &mut Vec<Node<'a, 's>>) {
    for child in node.children().filter(Node::is_element) {
        let name = child.tag_name().name();
        if names.contains(&name) {
            found.push(child);
        } else if name == "AlternateContent" {
            if let Some(branch) = branch(child) {
                search(branch, names, found);
            }
        } else {
            search(child, names, found);
        }
    }
}

/// Of alternatives, the one that a program of today takes: the first choice (ECMA-376, part 3).
pub fn branch<'a, 's>(alternatives: Node<'a, 's>) -> Option<Node<'a, 's>> {
    child(alternatives, "Choice").or_else(|| child(alternatives, "Fallback"))
}

/// All text in the elements of this name below `node`.
pub fn text_of(node: Node<'_, '_>, name: &str) -> String {
    let mut text = String::new();
    for part in outermost(node, &[name]) {
        text.push_str(part.text().unwrap_or_default());
    }
    text
}
