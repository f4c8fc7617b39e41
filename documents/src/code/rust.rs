//! What the nodes of a Rust file are.

use tree_sitter::Node;

use super::{Container, Grammar, NodeContext, Role, field, text};

#[derive(Debug)]
pub(super) struct Rust;

impl Grammar for Rust {
    fn language(&self) -> tree_sitter::Language {
        tree_sitter_rust::LANGUAGE.into()
    }

    fn separator(&self) -> &'static str {
        "::"
    }

    fn role<'tree>(&self, node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
        let name = || field(node, "name", source);
        let item = |what| Role::Item { what, name: name() };
        match node.kind() {
            "line_comment" | "block_comment" if is_inner_doc(text(node, source)) => Role::ModuleDoc,
            "line_comment" | "block_comment" | "attribute_item" => Role::Leading,
            "function_item" | "function_signature_item" if context.in_type => item("method"),
            "function_item" | "function_signature_item" => item("function"),
            "struct_item" | "union_item" => item("struct"),
            "enum_item" => item("enum"),
            "macro_definition" => item("other"),
            "const_item" | "static_item" | "type_item" | "associated_type" => {
                Role::Statement("const")
            }
            "use_declaration" | "extern_crate_declaration" => Role::Statement("imports"),
            "mod_item" => match node.child_by_field_name("body") {
                Some(body) => Role::container("module", name(), body, false),
                None => Role::Statement("imports"),
            },
            "trait_item" => match node.child_by_field_name("body") {
                Some(body) => Role::container("trait", name(), body, true),
                None => item("trait"),
            },
            "impl_item" => implementation(node, source),
            _ => Role::Statement("other"),
        }
    }
}

/// `impl Stack` is `Stack`; `impl Display for Stack` is `Display for Stack`. Members of both are
/// `Stack::…`.
fn implementation<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    let base = |name| {
        let field = node.child_by_field_name(name);
        field.map(|field| base_name(field, source))
    };
    let scope = base("type").unwrap_or_default();
    let name = match base("trait") {
        Some(of) => format!("{of} for {scope}"),
        None => scope.clone(),
    };
    match node.child_by_field_name("body") {
        Some(body) => Role::Container(Container {
            what: "impl",
            name,
            scope,
            body,
            is_type: true,
        }),
        None => Role::Item { what: "impl", name },
    }
}

/// A type's name without its generic arguments and references: `&mut a::Stack<T>` is `a::Stack`.
fn base_name(mut node: Node<'_>, source: &str) -> String {
    while matches!(
        node.kind(),
        "generic_type" | "reference_type" | "pointer_type"
    ) {
        match node.child_by_field_name("type") {
            Some(inner) => node = inner,
            None => break,
        }
    }
    text(node, source).to_owned()
}

fn is_inner_doc(comment: &str) -> bool {
    comment.starts_with("//!") || comment.starts_with("/*!")
}
