//! What the nodes of a Python file are.

use tree_sitter::Node;

use super::{Grammar, NodeContext, Role, field, text};

#[derive(Debug)]
pub(super) struct Python;

impl Grammar for Python {
    fn language(&self) -> tree_sitter::Language {
        tree_sitter_python::LANGUAGE.into()
    }

    fn separator(&self) -> &'static str {
        "."
    }

    fn role<'tree>(&self, node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
        match node.kind() {
            "comment" => Role::Leading,
            "import_statement" | "import_from_statement" | "future_import_statement" => {
                Role::Statement("imports")
            }
            "decorated_definition" => match node.child_by_field_name("definition") {
                Some(inner) => definition(inner, source, context),
                None => Role::Statement("other"),
            },
            "expression_statement" => statement(node, source, context),
            _ => definition(node, source, context),
        }
    }
}

fn definition<'tree>(node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
    let name = field(node, "name", source);
    match (node.kind(), node.child_by_field_name("body")) {
        ("function_definition", _) => Role::Item {
            what: if context.in_type {
                "method"
            } else {
                "function"
            },
            name,
        },
        ("class_definition", Some(body)) => Role::container("class", name, body, true),
        ("class_definition", None) => Role::Item {
            what: "class",
            name,
        },
        _ => Role::Statement("other"),
    }
}

/// A string that comes first documents the file; names in capitals are constants.
fn statement<'tree>(node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
    let Some(inner) = node.named_child(0) else {
        return Role::Statement("other");
    };
    match inner.kind() {
        "string" | "concatenated_string" if context.is_first => Role::ModuleDoc,
        "assignment" => {
            let left = inner.child_by_field_name("left");
            let name = left.map_or("", |left| text(left, source));
            let is_constant = name.chars().any(|c| c.is_ascii_uppercase())
                && !name.chars().any(|c| c.is_lowercase());
            Role::Statement(if is_constant { "const" } else { "other" })
        }
        _ => Role::Statement("other"),
    }
}
