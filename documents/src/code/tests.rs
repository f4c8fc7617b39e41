use super::*;

/// Blocks as `what symbol`, each with its text.
fn check(language: Language, source: &str, want: &[(&str, &str)]) {
    let document = parse(language, source.as_bytes(), Some("a"), &Limits::default()).unwrap();
    document.validate().unwrap();
    assert!(document.text_is_original && document.title.as_deref() == Some("a"));
    let got: Vec<(String, &str)> = document
        .blocks
        .iter()
        .map(|block| (label(&block.kind), &source[block.range.clone()]))
        .collect();
    let got: Vec<(&str, &str)> = got
        .iter()
        .map(|(label, text)| (label.as_str(), *text))
        .collect();
    assert_eq!(got, want, "{source}");
    assert_covers_all_lines(&document);
}

fn label(kind: &BlockKind) -> String {
    match kind {
        BlockKind::Definition { symbol, what } => format!("{what} {symbol}").trim_end().to_owned(),
        other => format!("{other:?}"),
    }
}

/// The law of this module: all text is in a block.
fn assert_covers_all_lines(document: &ParsedDocument) {
    let is_blank = |text: &str| text.trim_matches('\u{feff}').trim().is_empty();
    let mut end = 0;
    for block in &document.blocks {
        let between = &document.text[end..block.range.start];
        assert!(is_blank(between), "lost {between:?}");
        end = block.range.end;
    }
    assert!(
        is_blank(&document.text[end..]),
        "lost {:?}",
        &document.text[end..]
    );
}

#[test]
fn rust_is_divided_by_item() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("", &[]),
        ("\n \n", &[]),
        (
            "//! Module.\n//! More.\n\nuse a;\nuse b;\nmod c;\n\nconst D: u8 = 1;\nfn e() {}\n",
            &[
                ("Paragraph", "//! Module.\n//! More."),
                ("imports", "use a;\nuse b;\nmod c;"),
                ("const", "const D: u8 = 1;"),
                ("function e", "fn e() {}"),
            ],
        ),
        (
            "// License\n\n// About a.\n#[derive(Debug)]\n/// Doc.\nstruct A; // tail\n\n// end\n",
            &[
                ("other", "// License"),
                (
                    "struct A",
                    "// About a.\n#[derive(Debug)]\n/// Doc.\nstruct A; // tail",
                ),
                ("other", "// end"),
            ],
        ),
        (
            "impl<T> fmt::Display for Stack<T> {\n    const X: u8 = 1;\n\n    /// Doc.\n    fn fmt(&self) {\n        x\n    }\n\n    const Y: u8 = 2;\n    // bye\n}\n",
            &[
                (
                    "impl fmt::Display for Stack",
                    "impl<T> fmt::Display for Stack<T> {\n    const X: u8 = 1;",
                ),
                (
                    "method Stack::fmt",
                    "    /// Doc.\n    fn fmt(&self) {\n        x\n    }",
                ),
                ("const", "    const Y: u8 = 2;\n    // bye\n}"),
            ],
        ),
        (
            "mod tests {\n    use super::*;\n    fn a() {}\n    enum B { C }\n}\ntrait D { fn e(); }\n",
            &[
                ("module tests", "mod tests {\n    use super::*;"),
                ("function tests::a", "    fn a() {}"),
                ("enum tests::B", "    enum B { C }\n}"),
                ("trait D", "trait D { "),
                ("method D::e", "fn e(); }"),
            ],
        ),
        (
            "fn a() {} fn b() {}",
            &[("function a", "fn a() {}"), ("function b", "fn b() {}")],
        ),
        (
            "macro_rules! m { () => {} }\nm!();\n",
            &[
                ("other m", "macro_rules! m { () => {} }"),
                ("other", "m!();"),
            ],
        ),
    ];
    for (source, want) in cases {
        let want: Vec<_> = want.iter().map(|(l, t)| (*l, t.trim_end())).collect();
        check(Language::Rust, source, &want);
    }
}

#[test]
fn python_is_divided_by_definition() {
    let source = "#!/usr/bin/env python\n\"\"\"Module.\"\"\"\nimport a\nfrom b import c\n\nMAX = 3\nd = 4\n\n\
                  @decorated\nclass E(F):\n    \"\"\"Doc.\"\"\"\n    g = 1\n\n    # About h.\n    @property\n    def h(self):\n        return 1\n\n    \
                  class I:\n        def j(self): pass\n\nasync def k():\n    def inner(): pass\n\nif x:\n    k()\n";
    check(
        Language::Python,
        source,
        &[
            ("Paragraph", "#!/usr/bin/env python\n\"\"\"Module.\"\"\""),
            ("imports", "import a\nfrom b import c"),
            ("const", "MAX = 3"),
            ("other", "d = 4"),
            (
                "class E",
                "@decorated\nclass E(F):\n    \"\"\"Doc.\"\"\"\n    g = 1",
            ),
            (
                "method E.h",
                "    # About h.\n    @property\n    def h(self):\n        return 1",
            ),
            ("class E.I", "    class I:"),
            ("method E.I.j", "        def j(self): pass"),
            ("function k", "async def k():\n    def inner(): pass"),
            ("other", "if x:\n    k()"),
        ],
    );
}

#[test]
fn broken_files_keep_every_line() {
    let sources = [
        "fn a( {\n  let x = ;\n}\n}}}\nstruct",
        "impl {\n fn a() {}\n",
        "/* open\nfn a() {}",
        "\u{feff}fn a() {}\r\n\r\nfn b() {\r\n}\r\n",
        "}{)(\n\n#[\n//",
        "class A:\n  def b(self)\n    pass\n def c",
        "def a():\n\tpass\n  \tx\n",
    ];
    for source in sources {
        for language in [Language::Rust, Language::Python] {
            let document = parse(language, source.as_bytes(), None, &Limits::default()).unwrap();
            document.validate().unwrap();
            assert_covers_all_lines(&document);
        }
    }
}

#[test]
fn deep_modules_stay_whole() {
    let source = format!("{}{}", "mod a {\n".repeat(3_000), "}\n".repeat(3_000));
    let document = parse(Language::Rust, source.as_bytes(), None, &Limits::default()).unwrap();
    assert!(document.blocks.len() <= CONTAINER_DEPTH_MAX + 1);
    assert_covers_all_lines(&document);
}

#[test]
fn go_is_divided_by_declaration() {
    let source = "// Copyright 2020\n// See there.\n\n// Package stack has stacks.\n// And more.\npackage stack\n\nimport \"fmt\"\n\nconst Max = 3\n\n\
                  // Stack is one.\ntype Stack[T any] struct {\n\titems []T\n}\n\ntype (\n\t// A is.\n\tA int\n\tB interface{ Do() }\n)\n\n\
                  // Push pushes.\nfunc (s *Stack[T]) Push(x T) {}\nfunc New() {}\n";
    check(
        Language::Go,
        source,
        &[
            ("other", "// Copyright 2020\n// See there."),
            ("Paragraph", "// Package stack has stacks.\n// And more."),
            ("imports", "package stack\n\nimport \"fmt\""),
            ("const", "const Max = 3"),
            (
                "struct Stack",
                "// Stack is one.\ntype Stack[T any] struct {\n\titems []T\n}",
            ),
            ("type A", "type (\n\t// A is.\n\tA int"),
            ("interface B", "\tB interface{ Do() }\n)"),
            (
                "method Stack.Push",
                "// Push pushes.\nfunc (s *Stack[T]) Push(x T) {}",
            ),
            ("function New", "func New() {}"),
        ],
    );
}

#[test]
fn java_is_divided_by_member() {
    let source = "/* Licence. */\npackage a;\nimport b.C;\n\n/** A stack. */\n@Deprecated\npublic class Stack<T> {\n    int x;\n\n    \
                  /** Pushes. */\n    @Override\n    void push(T x) {}\n    static final int MAX = 3;\n    enum Color {\n        RED;\n        Color next() { return RED; }\n    }\n    \
                  interface Visitor {\n        void visit();\n    }\n}\nenum Plain { A }\n";
    check(
        Language::Java,
        source,
        &[
            ("imports", "/* Licence. */\npackage a;\nimport b.C;"),
            (
                "class Stack",
                "/** A stack. */\n@Deprecated\npublic class Stack<T> {\n    int x;",
            ),
            (
                "method Stack.push",
                "    /** Pushes. */\n    @Override\n    void push(T x) {}",
            ),
            ("const", "    static final int MAX = 3;"),
            ("enum Stack.Color", "    enum Color {\n        RED;"),
            (
                "method Stack.Color.next",
                "        Color next() { return RED; }\n    }",
            ),
            ("interface Stack.Visitor", "    interface Visitor {"),
            (
                "method Stack.Visitor.visit",
                "        void visit();\n    }\n}",
            ),
            ("enum Plain", "enum Plain { A }"),
        ],
    );
}

#[test]
fn javascript_is_divided_by_what_has_a_name() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "/** About this file. */\n\n'use strict';\nimport a from 'a';\nconst fs = require('fs');\n\n/** Adds. */\nexport const add = (a) => a;\n",
            &[
                ("Paragraph", "/** About this file. */"),
                (
                    "imports",
                    "'use strict';\nimport a from 'a';\nconst fs = require('fs');",
                ),
                ("function add", "/** Adds. */\nexport const add = (a) => a;"),
            ],
        ),
        (
            "exports.foo = function () {};\nStack.prototype.push = function () {};\nexport default () => <b>x</b>;\nexport * from 'b';\n",
            &[
                ("function foo", "exports.foo = function () {};"),
                (
                    "method Stack.push",
                    "Stack.prototype.push = function () {};",
                ),
                ("function default", "export default () => <b>x</b>;"),
                ("imports", "export * from 'b';"),
            ],
        ),
        (
            "class A {\n  x = 1;\n  // About m.\n  async m() {}\n  h = () => {};\n}\nconst B = class {\n  'q'() {}\n};\n",
            &[
                ("class A", "class A {\n  x = 1;"),
                ("method A.m", "  // About m.\n  async m() {}"),
                ("method A.h", "  h = () => {};\n}"),
                ("class B", "const B = class {"),
                ("method B.q", "  'q'() {}\n};"),
            ],
        ),
        (
            "module.exports = {\n  meta: {},\n  create(c) {\n    c();\n  },\n};\nconst t = {\n  a: 1,\n};\nlet u;\n",
            &[
                ("const module.exports", "module.exports = {\n  meta: {},"),
                ("method create", "  create(c) {\n    c();\n  },\n};"),
                ("const t", "const t = {\n  a: 1,\n};"),
                ("other", "let u;"),
            ],
        ),
        (
            "// Wraps.\n;(function (root) {\n  function inner() {}\n  var z = 1;\n})(this);\n",
            &[
                (
                    "function inner",
                    "// Wraps.\n;(function (root) {\n  function inner() {}",
                ),
                ("other", "  var z = 1;\n})(this);"),
            ],
        ),
    ];
    for (source, want) in cases {
        check(Language::JavaScript, source, want);
    }
}

#[test]
fn typescript_has_types_namespaces_and_decorators() {
    let source = "export interface Shape {\n  area(): number;\n}\nexport type Id = string;\nenum Color { Red }\nnamespace N {\n  export function f() {}\n}\n\
                  declare module 'foo' {\n  function g(): void;\n}\n@Component({})\nexport class A {\n  private x = 1;\n\n  @Input()\n  m(): void {}\n}\nfunction o(a: number): void;\n";
    let want: &[(&str, &str)] = &[
        (
            "interface Shape",
            "export interface Shape {\n  area(): number;\n}",
        ),
        ("type Id", "export type Id = string;"),
        ("enum Color", "enum Color { Red }"),
        ("module N", "namespace N {"),
        ("function N.f", "  export function f() {}\n}"),
        ("module foo", "declare module 'foo' {"),
        ("function foo.g", "  function g(): void;\n}"),
        (
            "class A",
            "@Component({})\nexport class A {\n  private x = 1;",
        ),
        ("method A.m", "  @Input()\n  m(): void {}\n}"),
        ("function o", "function o(a: number): void;"),
    ];
    check(Language::TypeScript, source, want);
    let jsx = "const a = <T,>(x: T) => <b>{x}</b>;\nfunction App() { return <p/>; }\n";
    check(
        Language::TypeScript,
        jsx,
        &[
            ("function a", "const a = <T,>(x: T) => <b>{x}</b>;"),
            ("function App", "function App() { return <p/>; }"),
        ],
    );
}

#[test]
fn headers_keep_their_conditions_and_comments() {
    let source = "/* Licence. */\n\n#ifndef A_H\n#define A_H\n\n#include <a.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n#define MAX 3\n#define LONG(a) \\\n  a\n\n\
                  typedef int (*callback)(void *);\ntypedef struct node {\n  int x;\n} node_t;\nstruct fwd;\n\nint push(int x);\n/*\n   Pushes.\n*/\n\n\
                  #ifdef X\n\n/* About f. */\nstatic char *f(void) { return 0; }\n#else\nint g(void);\n#endif\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
    check(
        Language::C,
        source,
        &[
            ("other", "/* Licence. */"),
            ("macro", "#ifndef A_H\n#define A_H"),
            ("imports", "#include <a.h>"),
            (
                "macro",
                "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n#define MAX 3",
            ),
            ("macro LONG", "#define LONG(a) \\\n  a"),
            ("type callback", "typedef int (*callback)(void *);"),
            (
                "struct node_t",
                "typedef struct node {\n  int x;\n} node_t;",
            ),
            ("other", "struct fwd;"),
            ("function push", "int push(int x);\n/*\n   Pushes.\n*/"),
            (
                "function f",
                "#ifdef X\n\n/* About f. */\nstatic char *f(void) { return 0; }",
            ),
            (
                "function g",
                "#else\nint g(void);\n#endif\n#ifdef __cplusplus\n}\n#endif\n#endif",
            ),
        ],
    );
}

#[test]
fn cpp_symbols_are_qualified_without_template_arguments() {
    let source = "#include <a>\nnamespace a::b {\nnamespace {\nint hidden() { return 1; }\n}\ntemplate <typename T>\nclass Stack : public Base<T> {\n public:\n  Stack();\n  \
                  /// Pushes.\n  void push(T x);\n  operator bool() const;\n private:\n  int n = 0;\n};\ntemplate <typename T>\nvoid Stack<T>::push(T x) {}\nStack<int>::~Stack() {}\n\
                  bool operator<(A a, B b) { return true; }\nusing Id = int;\nstruct { int d; } c;\n}  // namespace\n";
    check(
        Language::Cpp,
        source,
        &[
            ("imports", "#include <a>"),
            ("module a::b", "namespace a::b {"),
            (
                "function a::b::hidden",
                "namespace {\nint hidden() { return 1; }\n}",
            ),
            (
                "class a::b::Stack",
                "template <typename T>\nclass Stack : public Base<T> {",
            ),
            ("method a::b::Stack::Stack", " public:\n  Stack();"),
            (
                "method a::b::Stack::push",
                "  /// Pushes.\n  void push(T x);",
            ),
            (
                "method a::b::Stack::operator bool",
                "  operator bool() const;",
            ),
            ("other", " private:\n  int n = 0;\n};"),
            (
                "method a::b::Stack::push",
                "template <typename T>\nvoid Stack<T>::push(T x) {}",
            ),
            ("method a::b::Stack::~Stack", "Stack<int>::~Stack() {}"),
            (
                "function a::b::operator<",
                "bool operator<(A a, B b) { return true; }",
            ),
            ("type a::b::Id", "using Id = int;"),
            ("struct a::b::c", "struct { int d; } c;\n}  // namespace"),
        ],
    );
}

#[test]
fn a_header_is_cpp_only_where_it_plainly_is() {
    let cases = [
        ("namespace a {\nint f();\n}\n", "cpp"),
        ("class A {\npublic:\n  int f();\n};\n", "cpp"),
        ("/* class A { */\nint f(void);\n", "c"),
        ("int class;\n#ifdef X\nint template;\n#endif\n", "c"),
    ];
    for (source, want) in cases {
        let limits = Limits::default();
        let document = parse(Language::C, source.as_bytes(), Some("a.h"), &limits).unwrap();
        assert_eq!(
            document.facts.other["programming_language"], want,
            "{source}"
        );
    }
}

/// Languages without a grammar: kinds and symbols, and how a block begins.
#[test]
fn other_languages_are_divided_by_empty_lines() {
    let cases: &[(Language, &str, &[(&str, &str)])] = &[
        (
            Language::Kotlin,
            "/* Licence. */\n\npackage a\n\n/** A stack. */\nclass Stack<T>(\n    val x: Int,\n) : Base() {\n\n    fun push(x: T) {\n    }\n}\n\nfun List<T>.shout() {}\n",
            &[
                ("other", "/* Licence. */"),
                ("other", "package a"),
                (
                    "class Stack",
                    "/** A stack. */\nclass Stack<T>(\n    val x: Int,\n) : Base() {\n\n    fun push(x: T) {\n    }\n}",
                ),
                ("function List", "fun List<T>.shout() {}"),
            ],
        ),
        (
            Language::CSharp,
            "using A;\n\nnamespace Shop\n{\n    class Order\n    {\n\n    }\n}\n\npublic sealed class Cart { }\n",
            &[
                ("other", "using A;"),
                (
                    "module Shop",
                    "namespace Shop\n{\n    class Order\n    {\n\n    }\n}",
                ),
                ("class Cart", "public sealed class Cart { }"),
            ],
        ),
        (
            Language::Ruby,
            "# What it does.\n\nmodule A\n  class B < C\n\n    def x?\n    end\n  end\nend\n",
            &[
                ("Paragraph", "# What it does."),
                (
                    "module A",
                    "module A\n  class B < C\n\n    def x?\n    end\n  end\nend",
                ),
            ],
        ),
        (
            Language::Sql,
            "CREATE TABLE users (\n  id int,\n\n  x int\n);\n\nSELECT 1;\n",
            &[
                (
                    "type users",
                    "CREATE TABLE users (\n  id int,\n\n  x int\n);",
                ),
                ("other", "SELECT 1;"),
            ],
        ),
        (
            Language::Toml,
            "a = 1\n\n# About b.\n[b]\nc = 2\n",
            &[("other", "a = 1"), ("other", "# About b.\n[b]\nc = 2")],
        ),
        (Language::Lua, "", &[]),
        (Language::Lua, "\r\n \r\n", &[]),
        (
            Language::Perl,
            "  indented\n\nx\n",
            &[("other", "  indented\n\nx")],
        ),
    ];
    for (language, source, want) in cases {
        check(*language, source, want);
    }
}

#[test]
fn files_that_are_mostly_errors_are_divided_by_empty_lines() {
    let source =
        "Some words that are no code, and more of them.\n\nAnother one: it says nothing; at all!\n";
    for language in [Language::Go, Language::JavaScript, Language::C] {
        let document = parse(language, source.as_bytes(), None, &Limits::default()).unwrap();
        assert_eq!(document.blocks.len(), 2, "{language:?}");
        assert_covers_all_lines(&document);
    }
}

#[test]
fn every_cut_of_a_file_keeps_its_lines() {
    let sources = [
        (
            Language::Go,
            "package a\n// D.\ntype (\n\tA int\n)\nfunc (s *A) F() {}\n",
        ),
        (
            Language::Java,
            "/** D. */\nclass A { enum B { C; int f() { return 1; } } }\n",
        ),
        (
            Language::TypeScript,
            "@D()\nexport class A<T> { f = () => <T>1; }\nexport default { g() {\n} };\n",
        ),
        (
            Language::JavaScript,
            "!function () { var a = 1, b = function () {} }();\nexports.x = class {};\n",
        ),
        (
            Language::C,
            "#if A\nint F(int a);\n#else\ntypedef int (*f)(int);\n#endif\n",
        ),
        (
            Language::Cpp,
            "namespace { template <class T> A<T>::~A() {} }\nclass B { operator int(); };\n",
        ),
        (
            Language::Kotlin,
            "class A {\n    fun <T> b() {\n\n    }\n/* x\n*/\n}\n",
        ),
    ];
    for (language, source) in sources {
        for end in 0..=source.len() {
            let document = parse(
                language,
                &source.as_bytes()[..end],
                None,
                &Limits::default(),
            );
            let document = document.unwrap();
            document.validate().unwrap();
            assert_covers_all_lines(&document);
        }
    }
}

#[test]
fn a_name_without_end_is_not_repeated_by_every_member() {
    let name = "a".repeat(100_000);
    for (language, divides) in [(Language::Java, true), (Language::Kotlin, false)] {
        let source = format!("class {name} {{\n{}}}\n", "  void f() {}\n\n".repeat(100));
        let document = parse(language, source.as_bytes(), None, &Limits::default()).unwrap();
        let is_short = |block: &crate::tree::Block| label(&block.kind).len() < 2_000;
        assert_eq!(document.blocks.len() > 1, divides);
        assert!(document.blocks.iter().all(is_short));
    }
}

/// All on one line: what is quadratic in its length would take minutes.
#[test]
fn files_of_one_line_are_read_in_time() {
    let cases = [
        (Language::JavaScript, "function a(){};".repeat(20_000)),
        (Language::C, format!("a;{}", "/*c*/".repeat(100_000))),
        (Language::Cpp, "a<".repeat(20_000)),
        (Language::Java, "class A {".repeat(20_000)),
        (Language::Kotlin, "class A {".repeat(100_000)),
    ];
    for (language, source) in cases {
        let document = parse(language, source.as_bytes(), None, &Limits::default()).unwrap();
        assert_covers_all_lines(&document);
    }
}
