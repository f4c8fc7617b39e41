//! What the nodes of a C or C++ file are.
//!
//! Conditions of the preprocessor, `extern "C"` and namespaces without a name are groups: what
//! is in them is read as if they were not there.

use tree_sitter::Node;

use super::{Grammar, NodeContext, Role, field, is_file_doc, text};

#[derive(Debug)]
pub(super) struct C {
    pub(super) is_cpp: bool,
}

impl Grammar for C {
    fn language(&self) -> tree_sitter::Language {
        if self.is_cpp {
            tree_sitter_cpp::LANGUAGE.into()
        } else {
            tree_sitter_c::LANGUAGE.into()
        }
    }

    fn separator(&self) -> &'static str {
        "::"
    }

    fn role<'tree>(&self, node: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
        match node.kind() {
            "comment" if is_file_doc(node, source, context) => Role::ModuleDoc,
            "comment" | "access_specifier" | "attribute_declaration" => Role::Leading,
            "preproc_include" | "using_declaration" => Role::Statement("imports"),
            "preproc_def" | "preproc_call" => Role::Statement("macro"),
            "preproc_function_def" => macro_function(node, source),
            "preproc_ifdef" | "preproc_if" | "preproc_else" | "preproc_elif"
            | "preproc_elifdef" => condition(node),
            "linkage_specification" => match node.child_by_field_name("body") {
                Some(body) if body.kind() == "declaration_list" => braces(body),
                Some(inner) => self.item(inner, source, context),
                None => Role::Statement("other"),
            },
            _ => self.item(node, source, context),
        }
    }
}

impl C {
    fn item<'tree>(&self, outer: Node<'tree>, source: &str, context: NodeContext) -> Role<'tree> {
        let node = without_template(outer);
        let name = || field(node, "name", source);
        match node.kind() {
            "namespace_definition" => match node.child_by_field_name("body") {
                Some(body) if name().is_empty() => braces(body),
                Some(body) => Role::container("module", name(), body, false),
                None => Role::Statement("other"),
            },
            "class_specifier" | "struct_specifier" | "union_specifier" | "enum_specifier" => {
                self.specifier(node, name_of_specifier(node, source))
            }
            "type_definition" => typedef(node, source),
            "alias_declaration" | "concept_definition" => Role::Item {
                what: "type",
                name: name(),
            },
            "function_definition" => {
                function(node, source, context).unwrap_or(Role::Statement("other"))
            }
            "declaration" | "field_declaration" => self.declaration(node, source, context),
            _ => Role::Statement("other"),
        }
    }

    /// `struct pt { … }` is a definition, `struct pt;` none.
    fn specifier<'tree>(&self, node: Node<'tree>, name: String) -> Role<'tree> {
        let what = kind_of_specifier(node);
        match node.child_by_field_name("body") {
            Some(body) if self.is_cpp && what != "enum" => Role::container(what, name, body, true),
            Some(_) => Role::Item { what, name },
            None => Role::Statement("other"),
        }
    }

    fn declaration<'tree>(
        &self,
        node: Node<'tree>,
        source: &str,
        context: NodeContext,
    ) -> Role<'tree> {
        if let Some(function) = function(node, source, context) {
            return function;
        }
        let of = node.child_by_field_name("type");
        if let Some(of) = of.filter(|of| of.child_by_field_name("body").is_some()) {
            let name = name_of_specifier(of, source);
            let named = node.child_by_field_name("declarator");
            let variable = named.and_then(|named| declared(named, source));
            return self.specifier(
                of,
                match (name.is_empty(), variable) {
                    (true, Some(variable)) => variable.name,
                    _ => name,
                },
            );
        }
        let declarator = node.child_by_field_name("declarator");
        let before = declarator.map_or("", |d| &source[node.start_byte()..d.start_byte()]);
        let mut words = before.split_whitespace();
        let is_constant = words.any(|word| matches!(word, "const" | "constexpr" | "constinit"));
        match declarator.and_then(|d| declared(d, source)) {
            Some(declared) if is_constant && text(node, source).contains('\n') => Role::Item {
                what: "const",
                name: declared.name,
            },
            _ => Role::Statement(if is_constant { "const" } else { "other" }),
        }
    }
}

/// Macros of a line are gathered into runs.
fn macro_function<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    if text(node, source).trim_end().contains('\n') {
        Role::Item {
            what: "macro",
            name: field(node, "name", source),
        }
    } else {
        Role::Statement("macro")
    }
}

fn condition(node: Node<'_>) -> Role<'_> {
    let condition = ["condition", "name"]
        .iter()
        .find_map(|name| node.child_by_field_name(name));
    Role::Group {
        body: node,
        head_end: condition.map_or(node.start_byte() + 1, |condition| condition.end_byte()),
    }
}

fn braces(body: Node<'_>) -> Role<'_> {
    Role::Group {
        body,
        head_end: body.start_byte() + 1,
    }
}

/// What `template <…>` makes a template of.
fn without_template(mut node: Node<'_>) -> Node<'_> {
    while node.kind() == "template_declaration" {
        let mut cursor = node.walk();
        let mut children: Vec<_> = node.named_children(&mut cursor).collect();
        children.retain(|n| !matches!(n.kind(), "comment" | "template_parameter_list"));
        match children.last() {
            Some(&inner) => node = inner,
            None => break,
        }
    }
    node
}

fn kind_of_specifier(node: Node<'_>) -> &'static str {
    match node.kind() {
        "class_specifier" => "class",
        "union_specifier" => "union",
        "enum_specifier" => "enum",
        _ => "struct",
    }
}

fn name_of_specifier(node: Node<'_>, source: &str) -> String {
    let name = node.child_by_field_name("name");
    name.map_or_else(String::new, |name| qualified(name, source))
}

/// `typedef struct node { … } node_t;` is the struct `node_t`.
fn typedef<'tree>(node: Node<'tree>, source: &str) -> Role<'tree> {
    let declarator = node.child_by_field_name("declarator");
    let declared = declarator.and_then(|d| declared(d, source));
    let of = node.child_by_field_name("type");
    let of = of.filter(|of| of.child_by_field_name("body").is_some());
    Role::Item {
        what: of.map_or("type", kind_of_specifier),
        name: declared.map_or_else(String::new, |declared| declared.name),
    }
}

/// A function with its body, or only announced.
fn function<'tree>(node: Node<'tree>, source: &str, context: NodeContext) -> Option<Role<'tree>> {
    let declarator = node.child_by_field_name("declarator")?;
    let declared = declared(declarator, source)?;
    let is_method = context.in_type || declared.name.contains("::");
    declared.is_function.then_some(Role::Item {
        what: if is_method { "method" } else { "function" },
        name: declared.name,
    })
}

/// What a declarator declares.
struct Declared {
    name: String,
    /// A function, not a variable that points to one.
    is_function: bool,
}

/// Follows a declarator to its name: in `*(*f)(int)` that is `f`.
fn declared(declarator: Node<'_>, source: &str) -> Option<Declared> {
    let mut node = declarator;
    let mut is_function = false;
    loop {
        let name = match node.kind() {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "primitive_type"
            | "qualified_identifier"
            | "destructor_name"
            | "operator_name"
            | "template_function"
            | "template_method" => qualified(node, source),
            "operator_cast" => {
                is_function = true;
                let name = text(node, source).split('(').next()?;
                name.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            kind => {
                is_function = kind == "function_declarator";
                let inner = node.child_by_field_name("declarator");
                node = inner
                    .or_else(|| node.named_child(node.named_child_count().checked_sub(1)? as _))?;
                continue;
            }
        };
        return (!name.is_empty()).then_some(Declared { name, is_function });
    }
}

/// A name without template arguments: `a::Stack<T>::push` is `a::Stack::push`.
fn qualified(name: Node<'_>, source: &str) -> String {
    let mut parts = Vec::new();
    let mut node = name;
    loop {
        match node.kind() {
            "qualified_identifier" => {
                if let Some(scope) = node.child_by_field_name("scope") {
                    parts.push(without_arguments(scope, source));
                }
                let mut cursor = node.walk();
                let Some(inner) = node.children_by_field_name("name", &mut cursor).last() else {
                    break;
                };
                node = inner;
            }
            _ => {
                parts.push(without_arguments(node, source));
                break;
            }
        }
    }
    parts.join("::")
}

fn without_arguments<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    match node.kind() {
        "template_type" | "template_function" | "template_method" => {
            let name = node.child_by_field_name("name");
            name.map_or("", |name| text(name, source))
        }
        _ => text(node, source),
    }
}
