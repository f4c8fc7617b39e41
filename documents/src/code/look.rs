//! What a line of source code begins, by its first words: a definition and its name.
//!
//! One table of words serves most languages; those of another build have a rule of their own.
//! Where no rule fits, a line begins nothing that has a name.

use crate::language::Language;

/// What a line begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) what: &'static str,
    /// Its name; empty where it has none.
    pub(super) symbol: String,
    /// Whether it holds other definitions.
    pub(super) is_container: bool,
}

impl Default for Look {
    fn default() -> Self {
        Look::new("other", "")
    }
}

impl Look {
    fn new(what: &'static str, symbol: &str) -> Self {
        Look {
            what,
            symbol: symbol.to_owned(),
            is_container: false,
        }
    }
}

/// How a language writes comments.
#[derive(Clone, Copy)]
pub(super) struct Comments {
    line: &'static [&'static str],
    pub(super) blocks: &'static [(&'static str, &'static str)],
    /// What begins an attribute or decorator on a line of its own.
    attribute: &'static [&'static str],
}

impl Comments {
    /// Whether a line, without its indent, only says something of what follows.
    pub(super) fn is_lead(&self, code: &str) -> bool {
        let begins = |marks: &[&str]| marks.iter().any(|mark| code.starts_with(mark));
        begins(self.line) || begins(self.attribute)
    }
}

const SLASHES: Comments = Comments {
    line: &["//"],
    blocks: &[("/*", "*/")],
    attribute: &["@"],
};
const HASHES: Comments = Comments {
    line: &["#"],
    blocks: &[],
    attribute: &[],
};

pub(super) fn comments(language: Language) -> Comments {
    use Language::*;
    match language {
        CSharp => Comments {
            attribute: &["["],
            ..SLASHES
        },
        Css | ObjectiveC | Protobuf | Verilog => Comments {
            attribute: &[],
            ..SLASHES
        },
        Php => Comments {
            line: &["//", "#"],
            attribute: &["#[", "<?"],
            ..SLASHES
        },
        Rust => Comments {
            attribute: &["#["],
            ..SLASHES
        },
        Zig => Comments {
            attribute: &[],
            ..SLASHES
        },
        FSharp => Comments {
            line: &["//"],
            blocks: &[("(*", "*)")],
            attribute: &["[<"],
        },
        OCaml => Comments {
            line: &[],
            blocks: &[("(*", "*)")],
            attribute: &[],
        },
        Pascal => Comments {
            line: &["//"],
            blocks: &[("{", "}"), ("(*", "*)")],
            attribute: &[],
        },
        Haskell | Elm => Comments {
            line: &["--"],
            blocks: &[("{-", "-}")],
            attribute: &[],
        },
        Lua => Comments {
            line: &["--"],
            blocks: &[("--[[", "]]")],
            attribute: &[],
        },
        Sql => Comments {
            line: &["--", "#"],
            blocks: &[("/*", "*/")],
            attribute: &[],
        },
        Ada | Vhdl => Comments {
            line: &["--"],
            ..HASHES
        },
        Clojure | Lisp | Assembly | Ini => Comments {
            line: &[";", "#", "//"],
            blocks: &[("#|", "|#"), ("/*", "*/")],
            attribute: &[],
        },
        Erlang | Matlab => Comments {
            line: &["%"],
            blocks: &[("%{", "%}")],
            attribute: &["-spec", "-doc"],
        },
        Fortran => Comments {
            line: &["!"],
            ..HASHES
        },
        VisualBasic => Comments {
            line: &["'", "REM "],
            attribute: &["<"],
            ..HASHES
        },
        VimScript => Comments {
            line: &["\""],
            ..HASHES
        },
        Batch => Comments {
            line: &["::", "rem ", "REM ", "@rem ", "@REM "],
            ..HASHES
        },
        Ruby => Comments {
            blocks: &[("=begin", "=end")],
            ..HASHES
        },
        Perl => Comments {
            blocks: &[
                ("=pod", "=cut"),
                ("=head", "=cut"),
                ("=over", "=cut"),
                ("=item", "=cut"),
            ],
            ..HASHES
        },
        Julia => Comments {
            blocks: &[("#=", "=#"), ("\"\"\"", "\"\"\"")],
            attribute: &["@"],
            ..HASHES
        },
        PowerShell => Comments {
            blocks: &[("<#", "#>")],
            attribute: &["["],
            ..HASHES
        },
        Elixir => Comments {
            blocks: &[
                ("@doc \"\"\"", "\"\"\""),
                ("@moduledoc \"\"\"", "\"\"\""),
                ("@doc ~", "\"\"\""),
            ],
            attribute: &["@doc", "@spec", "@impl", "@deprecated"],
            ..HASHES
        },
        Python => Comments {
            attribute: &["@"],
            ..HASHES
        },
        GraphQl => Comments {
            blocks: &[("\"\"\"", "\"\"\"")],
            ..HASHES
        },
        Terraform | Nix => Comments {
            line: &["#", "//"],
            blocks: &[("/*", "*/")],
            attribute: &[],
        },
        Vue => Comments {
            line: &[],
            blocks: &[("<!--", "-->")],
            attribute: &[],
        },
        Crystal | R | Shell | Awk | Tcl | Make | CMake | Docker | Toml | Yaml | Nim => HASHES,
        _ => SLASHES,
    }
}

/// What stands between the parts of a symbol.
pub(super) fn separator(language: Language) -> &'static str {
    match language {
        Language::C | Language::Cpp | Language::Rust | Language::Perl => "::",
        _ => ".",
    }
}

/// Words that may stand before the one that says what is defined.
const MODIFIERS: &[&str] = &[
    "public",
    "private",
    "protected",
    "internal",
    "static",
    "final",
    "abstract",
    "sealed",
    "open",
    "override",
    "async",
    "export",
    "local",
    "pub",
    "inline",
    "virtual",
    "partial",
    "data",
    "case",
    "suspend",
    "extern",
    "unsafe",
    "readonly",
    "companion",
    "implicit",
    "lazy",
    "fileprivate",
    "mutating",
    "default",
    "required",
    "convenience",
    "final",
    "operator",
    "infix",
    "external",
    "expect",
    "actual",
    "annotation",
    "value",
    "inner",
    "tailrec",
    "indirect",
    "nonisolated",
    "distributed",
    "given",
    "new",
    "noexport",
    "pure",
    "elemental",
    "recursive",
    "replace",
    "global",
    "const",
    "comptime",
    "package",
    "Public",
    "Private",
    "Friend",
    "Shared",
    "Partial",
];

/// Words that say what is defined; whether it holds other definitions.
const KEYWORDS: &[(&[&str], &str, bool)] = &[
    (
        &[
            "def",
            "defp",
            "defn",
            "fun",
            "func",
            "function",
            "fn",
            "sub",
            "proc",
            "procedure",
            "subroutine",
            "Sub",
            "Function",
            "Function:",
            "function!",
            "filter",
            "rpc",
            "event",
        ],
        "function",
        false,
    ),
    (
        &["macro", "defmacro", "defmacrop", "template"],
        "macro",
        false,
    ),
    (
        &["class", "object", "actor", "contract", "Class"],
        "class",
        true,
    ),
    (&["struct", "record", "message"], "struct", true),
    (&["union"], "union", true),
    (
        &["interface", "protocol", "Interface", "service", "input"],
        "interface",
        true,
    ),
    (&["trait", "mixin", "defprotocol"], "trait", true),
    (&["enum", "Enum"], "enum", true),
    (
        &[
            "module",
            "namespace",
            "defmodule",
            "unit",
            "library",
            "Module",
            "Namespace",
        ],
        "module",
        true,
    ),
    (
        &[
            "extension",
            "impl",
            "defimpl",
            "instance",
            "entity",
            "architecture",
        ],
        "impl",
        true,
    ),
    (
        &["type", "typealias", "newtype", "typedef", "data"],
        "type",
        false,
    ),
];

/// Functions that make or end a thing, and have no word before them.
const MAKERS: &[&str] = &["init", "deinit", "constructor"];

fn begins_with_call(code: &str, name: &str) -> bool {
    let after = code
        .strip_prefix(name)
        .map(|after| after.trim_start_matches(['?', '!']).trim_start());
    after.is_some_and(|after| after.starts_with(['(', '{', '<']))
}

/// Words that bring in other files.
const IMPORTS: &[&str] = &[
    "import",
    "using",
    "use",
    "require",
    "require_relative",
    "require_once",
    "include",
    "#include",
    "@import",
    "@use",
    "@forward",
    "from",
    "open",
    "library",
    "source",
    "extern crate",
    "alias",
    "package",
    "#import",
    "#r",
    "#load",
    "Imports",
    "uses",
    "with",
    "load",
    "include_once",
    "part",
];

/// What `code`, a line without its indent, begins.
pub(super) fn look(language: Language, code: &str) -> Option<Look> {
    use Language::*;
    let found = match language {
        Sql => sql(code),
        Shell => shell(code),
        Make => target(code),
        Css => selector(code),
        Toml | Ini => section(code),
        Yaml => key(code),
        Docker => stage(code),
        Terraform => labelled(code),
        R | Lua => assigned_function(code),
        Haskell | Elm => signature(code),
        Erlang => clause(code),
        OCaml | FSharp => binding(code),
        Clojure | Lisp => form(code),
        Assembly | Batch => label(code),
        Matlab => matlab(code),
        ObjectiveC => objective(code),
        CMake => cmake(code),
        Perl => code
            .strip_prefix("package ")
            .map(|rest| Look::new("module", name(rest))),
        _ => None,
    };
    let plain = || match language {
        Toml | Ini | Yaml | Css | Make | Docker | Batch => None,
        _ => keyword(code),
    };
    let typed = || match language {
        CSharp | Dart | Groovy | ObjectiveC | Java | C | Cpp | Solidity => typed_function(code),
        _ => None,
    };
    found
        .or_else(|| imports(language, code))
        .or_else(plain)
        .or_else(typed)
}

/// The name that a text begins with: letters, digits, and what joins them.
fn name(text: &str) -> &str {
    let is_joint = |c: char| matches!(c, '_' | '.' | ':' | '$' | '-' | '\\');
    let end = text.find(|c: char| !c.is_alphanumeric() && !is_joint(c));
    let name = &text[..end.unwrap_or(text.len())];
    let name = name.trim_end_matches(|c: char| is_joint(c) && c != '_' && c != '$');
    if name.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$')) {
        name
    } else {
        ""
    }
}

fn imports(language: Language, code: &str) -> Option<Look> {
    let mut words = code.split_whitespace();
    let first = words.next()?.split(['(', '"', '\'', '<']).next()?;
    let is_other = match (language, first) {
        (Language::Sql | Language::Yaml | Language::Toml | Language::Ini, _) => true,
        // Programs of these names, and words of a loop.
        (Language::Shell, "open" | "import" | "use" | "with") => true,
        // Kotlin and Swift open classes to heirs.
        (_, "open") => words.any(|w| matches!(w, "class" | "fun" | "func" | "var" | "val")),
        (_, "package") => code.contains('{'),
        _ => false,
    };
    (IMPORTS.contains(&first) && !is_other).then(|| Look::new("imports", ""))
}

/// `public final class Stack<T> {`
fn keyword(code: &str) -> Option<Look> {
    let mut rest = code;
    loop {
        if let Some(maker) = MAKERS.iter().find(|maker| begins_with_call(rest, maker)) {
            return Some(Look::new("function", maker));
        }
        let (word, after) = rest.split_once(char::is_whitespace)?;
        let after = after.trim_start();
        let found = KEYWORDS.iter().find(|(words, ..)| words.contains(&word));
        if let Some(&(_, what, is_container)) = found {
            // `case class`, `data class`, `type record`: the last such word says it.
            if let Some(inner) = keyword(after).filter(|inner| !inner.symbol.is_empty())
                && (word == "data" || word == "type" || word == "enum")
            {
                return Some(inner);
            }
            let symbol = defined_name(after);
            return (!symbol.is_empty()).then_some(Look {
                what,
                symbol,
                is_container,
            });
        }
        // `private(set)`, `pub(crate)`, `internal:`
        let bare = word.split(['(', ':']).next().unwrap_or(word);
        if !MODIFIERS.contains(&bare) {
            return None;
        }
        rest = after;
    }
}

/// The name behind the word that says what is defined: `<T> List<T>.push(` is `List.push`.
fn defined_name(after: &str) -> String {
    let mut rest = after;
    if let Some(parameters) = rest.strip_prefix('<') {
        rest = parameters
            .split_once('>')
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    // Go's and Swift's receivers, VHDL's and Pascal's have their own rules; `self.` says nothing.
    let rest = rest.trim_start_matches("self.").trim_start_matches("s:");
    let symbol = name(rest);
    let is_setter = |c: char| matches!(c, '?' | '!');
    let tail = &rest[symbol.len()..];
    match tail.chars().next() {
        Some(c) if is_setter(c) && !symbol.is_empty() => format!("{symbol}{c}"),
        Some('<') => match tail.split_once(">.") {
            Some((arguments, member)) if !arguments.contains('(') => {
                format!("{symbol}.{}", name(member))
            }
            _ => symbol.to_owned(),
        },
        _ => symbol.to_owned(),
    }
}

/// `Task<int> Push(T item)`: a type, a name and parameters.
fn typed_function(code: &str) -> Option<Look> {
    let (before, _) = code.split_once('(')?;
    let is_of_type =
        |c: char| c.is_alphanumeric() || c.is_whitespace() || "_<>[],.?*&:~".contains(c);
    let mut words = before.split_whitespace();
    let first = words.next()?;
    let statements = [
        "return", "if", "else", "for", "foreach", "while", "switch", "using", "lock", "throw",
        "new", "await", "yield", "case", "do", "try", "catch", "goto", "delete", "assert",
        "typedef", "emit", "require", "super", "this",
    ];
    let symbol = name(words.next_back()?);
    let is_function = before.chars().all(is_of_type) && !statements.contains(&first);
    (is_function && !symbol.is_empty()).then(|| Look::new("function", symbol))
}

/// `CREATE OR REPLACE TABLE IF NOT EXISTS shop.orders (`
fn sql(code: &str) -> Option<Look> {
    let words: Vec<&str> = code.split_whitespace().take(10).collect();
    let is = |at: usize, wanted: &str| {
        words
            .get(at)
            .is_some_and(|w| w.eq_ignore_ascii_case(wanted))
    };
    if !is(0, "create") && !is(0, "alter") {
        return None;
    }
    let kinds = [
        ("table", "type"),
        ("view", "type"),
        ("type", "type"),
        ("domain", "type"),
        ("schema", "module"),
        ("package", "module"),
        ("function", "function"),
        ("procedure", "function"),
        ("trigger", "function"),
        ("index", "other"),
        ("sequence", "other"),
        ("database", "other"),
    ];
    let (at, what) = (1..words.len()).find_map(|at| {
        let kind = kinds.iter().find(|(word, _)| is(at, word))?;
        Some((at, kind.1))
    })?;
    let skipped = |word: &&&str| {
        let clauses = ["if", "not", "exists", "body", "only", "concurrently"];
        !clauses
            .iter()
            .any(|clause| word.eq_ignore_ascii_case(clause))
    };
    let named = words[at + 1..].iter().find(skipped)?;
    let unquoted: String = named
        .chars()
        .filter(|c| !matches!(c, '"' | '`' | '[' | ']'))
        .collect();
    let symbol = name(&unquoted);
    // An alteration is no second definition.
    if is(0, "create") {
        Some(Look::new(what, symbol))
    } else {
        Some(Look::new("other", symbol))
    }
}

/// `name() {` or `function name {`
fn shell(code: &str) -> Option<Look> {
    let rest = code.strip_prefix("function ").unwrap_or(code).trim_start();
    let symbol = name(rest);
    let after = rest[symbol.len()..].trim_start();
    let is_function = after.starts_with("()") || (rest.len() < code.len());
    (is_function && !symbol.is_empty()).then(|| Look::new("function", symbol))
}

/// `target: what it needs`
fn target(code: &str) -> Option<Look> {
    let (targets, after) = code.split_once(':')?;
    let is_rule =
        !after.starts_with('=') && !targets.contains(['=', '\t', '"']) && !code.starts_with('\t');
    let symbol = targets.trim();
    let is_name = is_rule && !symbol.is_empty() && symbol.len() <= SYMBOL_LEN_MAX;
    is_name.then(|| Look::new("other", symbol))
}

/// Longer symbols are none, in bytes.
const SYMBOL_LEN_MAX: usize = 60;

fn selector(code: &str) -> Option<Look> {
    let selector = code.split_once('{').map(|(selector, _)| selector)?;
    let symbol = selector.trim();
    (!symbol.is_empty() && symbol.len() <= SYMBOL_LEN_MAX).then(|| Look::new("other", symbol))
}

/// `[section]` or `[[section]]`
fn section(code: &str) -> Option<Look> {
    let inner = code.strip_prefix('[')?.trim_start_matches('[');
    let symbol = inner.split(']').next()?.trim();
    (!symbol.is_empty() && symbol.len() <= SYMBOL_LEN_MAX).then(|| Look::new("other", symbol))
}

fn key(code: &str) -> Option<Look> {
    let (key, after) = code.split_once(':')?;
    let symbol = key.trim_matches(['"', '\'']);
    let is_key = (after.is_empty() || after.starts_with(' ')) && name(symbol) == symbol;
    // A value on the same line is no more than itself.
    let has_value = !after.trim().is_empty() && !after.trim().starts_with(['#', '|', '>', '&']);
    (is_key && !has_value && !symbol.is_empty()).then(|| Look::new("other", symbol))
}

/// `FROM rust:1 AS build`
fn stage(code: &str) -> Option<Look> {
    let words: Vec<&str> = code.split_whitespace().collect();
    if !words.first()?.eq_ignore_ascii_case("from") {
        return None;
    }
    let named = words
        .iter()
        .position(|word| word.eq_ignore_ascii_case("as"));
    let symbol = words.get(named.map_or(1, |at| at + 1))?;
    Some(Look::new("other", symbol))
}

/// `resource "aws_instance" "web" {` is `resource.aws_instance.web`.
fn labelled(code: &str) -> Option<Look> {
    let head = code
        .trim_end_matches('}')
        .trim_end()
        .strip_suffix('{')?
        .trim_end();
    let words: Vec<&str> = head
        .split_whitespace()
        .map(|word| word.trim_matches('"'))
        .collect();
    let is_plain = words.iter().all(|word| name(word) == *word);
    (is_plain && !words.is_empty()).then(|| Look::new("other", &words.join(".")))
}

/// `name <- function(x)`, `M.name = function(x)`
fn assigned_function(code: &str) -> Option<Look> {
    let code = code.strip_prefix("local ").unwrap_or(code);
    if let Some(rest) = code.strip_prefix("function ") {
        return Some(Look::new("function", name(rest.trim_start())));
    }
    let symbol = name(code);
    let after = code[symbol.len()..].trim_start();
    let value = ["<-", "=", "<<-"]
        .iter()
        .find_map(|sign| after.strip_prefix(sign))?;
    let is_function = value.trim_start().starts_with("function");
    (is_function && !symbol.is_empty()).then(|| Look::new("function", symbol))
}

/// `push :: a -> [a]`, `push : a -> List a`
fn signature(code: &str) -> Option<Look> {
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '\'')?;
    let (symbol, after) = code.split_at(end);
    let after = after.trim_start();
    if symbol == "class" || symbol == "instance" {
        let head = after.rsplit("=>").next()?;
        let head = head.split(" where").next()?.trim();
        let what = if symbol == "class" { "trait" } else { "impl" };
        return Some(Look::new(what, head));
    }
    let is_typed = after.starts_with("::") || after.starts_with(": ");
    let is_lower = symbol.starts_with(|c: char| c.is_lowercase() || c == '_');
    (is_typed && is_lower).then(|| Look::new("function", symbol))
}

/// `push(Item, Stack) ->`
fn clause(code: &str) -> Option<Look> {
    if let Some(module) = code.strip_prefix("-module(") {
        return Some(Look::new("module", name(module)));
    }
    let (symbol, _) = code.split_once('(')?;
    let is_atom = symbol.starts_with(|c: char| c.is_lowercase()) && name(symbol) == symbol;
    (is_atom && code.contains("->")).then(|| Look::new("function", symbol))
}

/// `let rec push x s =`
fn binding(code: &str) -> Option<Look> {
    let mut words = code.split_whitespace();
    if !matches!(words.next()?, "let" | "and") {
        return None;
    }
    let modifiers = ["rec", "inline", "mutable", "private", "public"];
    let mut words = words.skip_while(|word| modifiers.contains(word));
    let symbol = name(words.next()?);
    let takes_arguments = words
        .next()
        .is_some_and(|next| !next.starts_with(['=', ':']));
    let what = if takes_arguments { "function" } else { "const" };
    (!symbol.is_empty()).then(|| Look::new(what, symbol))
}

/// `(defn push [x] …)`, `(define (push x) …)`
fn form(code: &str) -> Option<Look> {
    let inner = code.strip_prefix('(')?;
    let (keyword, rest) = inner.split_once(char::is_whitespace)?;
    let what = match keyword {
        "ns" | "in-package" | "defpackage" | "defmodule" => "module",
        "defn" | "defn-" | "defun" | "defmethod" | "defgeneric" | "defmulti" | "define" => {
            "function"
        }
        "defmacro" | "define-macro" | "define-syntax" => "macro",
        "defrecord" | "deftype" | "defstruct" | "defclass" | "struct" => "struct",
        "defprotocol" => "interface",
        "def" | "defvar" | "defparameter" | "defconstant" | "defcustom" | "defonce" => "const",
        _ => return None,
    };
    let end = |c: char| c.is_whitespace() || "()[]{}\"".contains(c);
    let rest = rest.trim_start_matches(['(', ' ', ':', '\'']);
    Some(Look::new(what, rest.split(end).next()?))
}

fn label(code: &str) -> Option<Look> {
    let symbol = match code.strip_prefix(':') {
        Some(batch) => name(batch),
        None => code.split_once(':').map(|(label, _)| label)?,
    };
    (name(symbol) == symbol && !symbol.is_empty()).then(|| Look::new("function", symbol))
}

/// `function [a, b] = push(x)`
fn matlab(code: &str) -> Option<Look> {
    let rest = code.strip_prefix("function ")?;
    let call = rest.split_once('=').map_or(rest, |(_, call)| call);
    Some(Look::new("function", name(call.trim_start())))
}

/// `@interface Stack : NSObject`, `- (void)push:(id)x`
fn objective(code: &str) -> Option<Look> {
    let kinds = [
        ("@interface ", "interface"),
        ("@implementation ", "class"),
        ("@protocol ", "interface"),
    ];
    if let Some((mark, what)) = kinds.iter().find(|(mark, _)| code.starts_with(mark)) {
        return Some(Look::new(what, name(&code[mark.len()..])));
    }
    let method = code
        .strip_prefix(['-', '+'])?
        .trim_start()
        .strip_prefix('(')?;
    let (_, selector) = method.split_once(')')?;
    Some(Look::new("method", name(selector.trim_start())))
}

fn cmake(code: &str) -> Option<Look> {
    let (command, rest) = code.split_once('(')?;
    let what = match command.trim().to_ascii_lowercase().as_str() {
        "function" => "function",
        "macro" => "macro",
        "add_library" | "add_executable" | "add_custom_target" => "other",
        _ => return None,
    };
    Some(Look::new(what, name(rest.trim_start())))
}
