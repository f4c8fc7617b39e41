//! What the nodes of a Java file are.

use tree_sitter::Node;

use super::{Grammar, NodeContext, Role, field, is_file_doc, text};

#[derive(Debug)]
pub(super) struct Java;

impl Grammar for Java {
    fn language(&self) -> tree_sitter::Language {
        tree_sitter_java::LANGUAGE.into()
    }

    fn separator(&self) -> &'static str {
        "."
    }

    fn role<'tree>(&self, node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
        let kind = node.kind();
        match kind {
            "line_comment" | "block_comment" if is_file_doc(node, source, context) => {
                Role::ModuleDoc
            }
            "line_comment" | "block_comment" => Role::Leading,
            "package_declaration" | "import_declaration" => Role::Statement("imports"),
            "class_declaration" | "record_declaration" => type_role("class", node, source),
            "interface_declaration" | "annotation_type_declaration" => {
                type_role("interface", node, source)
            }
            "enum_declaration" => type_role("enum", node, source),
            "module_declaration" => type_role("module", node, source),
            "enum_body_declarations" => Role::Group {
                body: node,
                head_end: node.start_byte(),
            },
            "method_declaration"
            | "constructor_declaration"
            | "compact_constructor_declaration"
            | "annotation_type_element_declaration" => Role::Item {
                what: if context.in_type {
                    "method"
                } else {
                    "function"
                },
                name: field(node, "name", source),
            },
            "field_declaration" | "constant_declaration" if is_constant(node, source) => {
                Role::Statement("const")
            }
            _ => Role::Statement("other"),
        }
    }
}

fn type_role<'tree>(what: &'static str, node: Node<'tree>, source: &str) -> Role<'tree> {
    let name = field(node, "name", source);
    match node.child_by_field_name("body") {
        Some(body) => Role::container(what, name, body, true),
        None => Role::Item { what, name },
    }
}

fn is_constant(node: Node<'_>, source: &str) -> bool {
    let modifiers = node.named_child(0).filter(|n| n.kind() == "modifiers");
    let words = modifiers.map_or("", |modifiers| text(modifiers, source));
    let has = |modifier| words.split_whitespace().any(|word| word == modifier);
    node.kind() == "constant_declaration" || (has("static") && has("final"))
}
