//! What the nodes of a JavaScript or TypeScript file are.
//!
//! A function is what is bound to a name, however it is written: a declaration, `const f = () => …`,
//! `exports.f = function …`, `Stack.prototype.push = …`, a field of a class, a method of an object.
//! A call that wraps most of the file (a module wrapper) is looked into.

use tree_sitter::Node;

use super::{Container, Grammar, NodeContext, Role, field, is_file_doc, text};

#[derive(Debug)]
pub(super) enum Dialect {
    /// With JSX.
    JavaScript,
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
}

impl Grammar for Dialect {
    fn language(&self) -> tree_sitter::Language {
        match self {
            Dialect::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Dialect::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Dialect::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        }
    }

    fn separator(&self) -> &'static str {
        "."
    }

    fn role<'tree>(&self, node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
        match node.kind() {
            "comment" if is_file_doc(node, source, context) => Role::ModuleDoc,
            "comment" | "decorator" | "hash_bang_line" | "empty_statement" => Role::Leading,
            "import_statement" | "import_alias" => Role::Statement("imports"),
            "export_statement" => export(node, source),
            "ambient_declaration" => ambient(node, source),
            "expression_statement" => statement(node, source),
            _ => declaration(node, source),
        }
    }
}

fn export<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    if node.child_by_field_name("source").is_some() {
        return Role::Statement("imports");
    }
    let inner = node.child_by_field_name("declaration");
    if let Some(inner) = inner.or_else(|| node.child_by_field_name("value")) {
        let role = match bound(inner, String::new(), source) {
            Some(role) => role,
            None => declaration(inner, source),
        };
        return named(role, "default");
    }
    Role::Statement("other")
}

/// The role with a name where it has none.
fn named<'tree>(role: Role<'tree>, otherwise: &str) -> Role<'tree> {
    match role {
        Role::Item { what, name } if name.is_empty() => Role::Item {
            what,
            name: otherwise.to_owned(),
        },
        Role::Container(container) if container.name.is_empty() => {
            Role::container(container.what, otherwise.to_owned(), container.body, true)
        }
        role => role,
    }
}

/// `declare …`, which says what is defined elsewhere.
fn ambient<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    let mut cursor = node.walk();
    let mut children = node.named_children(&mut cursor);
    match children.find(|child| child.kind() != "comment") {
        Some(body) if body.kind() == "statement_block" => {
            Role::container("module", "global".to_owned(), body, false)
        }
        Some(inner) => declaration(inner, source),
        None => Role::Statement("other"),
    }
}

fn declaration<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    let name = unquoted(&field(node, "name", source));
    let item = |what| Role::Item {
        what,
        name: name.clone(),
    };
    match node.kind() {
        "function_declaration" | "generator_function_declaration" | "function_signature" => {
            item("function")
        }
        "method_definition" | "method_signature" | "abstract_method_signature" => item("method"),
        "class_declaration" | "abstract_class_declaration" => class(node, name),
        "interface_declaration" => item("interface"),
        "enum_declaration" => item("enum"),
        "type_alias_declaration" => item("type"),
        "internal_module" | "module" => match node.child_by_field_name("body") {
            Some(body) => Role::container("module", name, body, false),
            None => item("module"),
        },
        "field_definition" | "public_field_definition" => member(node, "value", source),
        "pair" => member(node, "value", source),
        "lexical_declaration" | "variable_declaration" => binding(node, source),
        _ => Role::Statement("other"),
    }
}

fn unquoted(name: &str) -> String {
    name.trim_matches(['"', '\'', '`']).to_owned()
}

fn class<'tree>(node: Node<'tree>, name: String) -> Role<'tree> {
    match node.child_by_field_name("body") {
        Some(body) => Role::container("class", name, body, true),
        None => Role::Item {
            what: "class",
            name,
        },
    }
}

/// A field of a class or object: a method where its value is a function.
fn member<'tree>(node: Node<'tree>, value: &str, source: &str) -> Role<'tree> {
    let is_method = node.child_by_field_name(value).is_some_and(is_function);
    let key = ["name", "property", "key"]
        .iter()
        .find_map(|key| node.child_by_field_name(key));
    match key {
        Some(key) if is_method => Role::Item {
            what: "method",
            name: unquoted(text(key, source)),
        },
        _ => Role::Statement("other"),
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "arrow_function" | "function_expression" | "generator_function"
    )
}

/// What a value is that gets a name, where it is worth one.
fn bound<'tree>(value: Node<'tree>, name: String, source: &str) -> Option<Role<'tree>> {
    Some(match value.kind() {
        _ if is_function(value) => Role::Item {
            what: "function",
            name,
        },
        "class" => class(value, name),
        "object" if has_long_function(value, source) => {
            // What a module gives away is known by its own name.
            let is_module = name == "module.exports";
            Role::Container(Container {
                what: "const",
                scope: if is_module {
                    String::new()
                } else {
                    name.clone()
                },
                name,
                body: value,
                is_type: true,
            })
        }
        "object" | "array" | "call_expression" | "new_expression" | "as_expression"
            if has_lines(value, source) =>
        {
            Role::Item {
                what: "const",
                name,
            }
        }
        _ => return None,
    })
}

fn has_lines(node: Node<'_>, source: &str) -> bool {
    text(node, source).contains('\n')
}

fn has_long_function(object: Node<'_>, source: &str) -> bool {
    let mut cursor = object.walk();
    object.named_children(&mut cursor).any(|member| {
        let is_method = match member.kind() {
            "method_definition" => true,
            "pair" => member.child_by_field_name("value").is_some_and(is_function),
            _ => false,
        };
        is_method && has_lines(member, source)
    })
}

/// `const`, `let` and `var`.
fn binding<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    let is_const = field(node, "kind", source) == "const";
    let mut cursor = node.walk();
    let declarators = node.named_children(&mut cursor);
    let mut values = Vec::new();
    for declarator in declarators.filter(|n| n.kind() == "variable_declarator") {
        let Some(value) = declarator.child_by_field_name("value") else {
            continue;
        };
        let name = declarator.child_by_field_name("name");
        let name = name.filter(|name| name.kind() == "identifier");
        let name = name.map_or("", |name| text(name, source)).to_owned();
        let is_named = !name.is_empty();
        match bound(value, name, source) {
            Some(Role::Item { what: "const", .. }) if !is_const => {}
            Some(role) if is_named => return role,
            _ => {}
        }
        values.push(value);
    }
    let requires = |value: &Node<'_>| text(*value, source).starts_with("require(");
    if !values.is_empty() && values.iter().all(requires) {
        return Role::Statement("imports");
    }
    Role::Statement(if is_const { "const" } else { "other" })
}

fn statement<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    let Some(inner) = node.named_child(0) else {
        return Role::Statement("other");
    };
    match inner.kind() {
        // A directive: 'use strict'.
        "string" => Role::Statement("imports"),
        "internal_module" => declaration(inner, source),
        "assignment_expression" => assignment(inner, source),
        "call_expression" | "unary_expression" => wrapper(inner, source),
        _ => Role::Statement("other"),
    }
}

fn assignment<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    let (path, is_method) = path(&field(node, "left", source));
    let value = node.child_by_field_name("right");
    match value.and_then(|value| bound(value, path, source)) {
        Some(Role::Item {
            what: "function",
            name,
        }) if is_method => Role::Item {
            what: "method",
            name,
        },
        Some(role) => role,
        None => Role::Statement("other"),
    }
}

/// What is assigned to, as a symbol, and whether it is a method: `exports.f` is `f`,
/// `Stack.prototype.push` is `Stack.push`.
fn path(left: &str) -> (String, bool) {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    if !left.chars().all(is_path) {
        return (String::new(), false);
    }
    let owners = ["module.exports.", "exports.", "window.", "this.", "self."];
    let bare = owners.iter().find_map(|owner| left.strip_prefix(owner));
    let bare = bare.unwrap_or(left);
    let is_method = bare.contains(".prototype.");
    (bare.replace(".prototype", ""), is_method)
}

/// A call that holds a function which is called at once, or which is most of the file.
fn wrapper<'tree>(call: Node<'tree>, source: &str) -> Role<'tree> {
    let call = match call.kind() {
        "unary_expression" => call.child_by_field_name("argument"),
        _ => Some(call),
    };
    let Some(call) = call.filter(|call| call.kind() == "call_expression") else {
        return Role::Statement("other");
    };
    let callee = call.child_by_field_name("function");
    let callee = callee.and_then(|callee| match callee.kind() {
        "parenthesized_expression" => callee.named_child(0),
        _ => Some(callee),
    });
    let mut functions: Vec<Node<'tree>> = callee.into_iter().filter(|n| is_function(*n)).collect();
    let is_called = !functions.is_empty();
    if let Some(arguments) = call.child_by_field_name("arguments") {
        let mut cursor = arguments.walk();
        let given = arguments.named_children(&mut cursor);
        functions.extend(given.filter(|n| is_function(*n)));
    }
    let longest = functions.into_iter().max_by_key(|n| n.byte_range().len());
    let body = longest.and_then(|function| function.child_by_field_name("body"));
    match body.filter(|body| body.kind() == "statement_block") {
        Some(body) if is_called || body.byte_range().len() > source.len() / 2 => Role::Group {
            body,
            head_end: body.start_byte() + 1,
        },
        _ => Role::Statement("other"),
    }
}
