//! What the nodes of a Go file are.

use tree_sitter::Node;

use super::{Grammar, NodeContext, Role, comment_run, field, is_prose, text};

#[derive(Debug)]
pub(super) struct Go;

impl Grammar for Go {
    fn language(&self) -> tree_sitter::Language {
        tree_sitter_go::LANGUAGE.into()
    }

    fn separator(&self) -> &'static str {
        "."
    }

    fn role<'tree>(&self, node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
        let item = |what| Role::Item {
            what,
            name: field(node, "name", source),
        };
        match node.kind() {
            "comment" if is_package_doc(node, source, context) => Role::ModuleDoc,
            "comment" => Role::Leading,
            "package_clause" | "import_declaration" => Role::Statement("imports"),
            "const_declaration" | "var_declaration" => Role::Statement("const"),
            "function_declaration" => item("function"),
            "method_declaration" => Role::Item {
                what: "method",
                name: method_name(node, source),
            },
            "type_declaration" => types(node, source),
            "type_spec" | "type_alias" => item(kind_of_type(node)),
            _ => Role::Statement("other"),
        }
    }
}

/// The comment that touches the `package` line.
fn is_package_doc(comment: Node<'_>, source: &str, context: NodeContext) -> bool {
    let Some(run) = comment_run(comment, source).filter(|_| context.is_first) else {
        return false;
    };
    let after = source[run.end..].trim_start_matches('\r');
    after.starts_with("\npackage ") && is_prose(&source[run])
}

/// `type A int` is an item; `type ( … )` a group of them.
fn types<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    let mut cursor = node.walk();
    let mut children = node.named_children(&mut cursor);
    match (children.next(), children.next()) {
        (Some(only), None) if only.kind() != "comment" => Role::Item {
            what: kind_of_type(only),
            name: field(only, "name", source),
        },
        _ => Role::Group {
            body: node,
            head_end: node.start_byte() + "type".len(),
        },
    }
}

fn kind_of_type(spec: Node<'_>) -> &'static str {
    let of = spec.child_by_field_name("type");
    match of.map(|of| of.kind()) {
        Some("struct_type") => "struct",
        Some("interface_type") => "interface",
        _ => "type",
    }
}

/// `func (s *Stack[T]) Push()` is `Stack.Push`.
fn method_name(node: Node<'_>, source: &str) -> String {
    let name = field(node, "name", source);
    let parameter = node
        .child_by_field_name("receiver")
        .and_then(|receiver| receiver.named_child(0));
    let mut of = parameter.and_then(|parameter| parameter.child_by_field_name("type"));
    while let Some(outer) = of
        && outer.kind() != "type_identifier"
    {
        let inner = outer.child_by_field_name("type");
        of = inner.or_else(|| outer.named_child(0));
    }
    match of {
        Some(of) => format!("{}.{name}", text(of, source)),
        None => name,
    }
}
