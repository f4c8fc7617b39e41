//! Languages of source files, and what tells them: a file's ending, its whole name, or the
//! interpreter that its first line names.

use serde::{Deserialize, Serialize};

macro_rules! languages {
    ($($language:ident, $name:literal, [$($ending:literal)*], [$($file:literal)*], [$($interpreter:literal)*];)*) => {
        /// A programming language, or one of configuration, style or queries.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "the names say it")]
        pub enum Language {
            $($language,)*
        }

        impl Language {
            /// Every language.
            pub const ALL: &[Language] = &[$(Language::$language,)*];

            /// Its name in lower case.
            pub fn name(self) -> &'static str {
                match self {
                    $(Language::$language => $name,)*
                }
            }
        }

        const TELLS: &[Tells] = &[$(Tells {
            language: Language::$language,
            endings: &[$($ending,)*],
            files: &[$($file,)*],
            interpreters: &[$($interpreter,)*],
        },)*];
    };
}

/// What tells a language: all in lower case.
struct Tells {
    language: Language,
    endings: &'static [&'static str],
    files: &'static [&'static str],
    interpreters: &'static [&'static str],
}

languages! {
    Rust, "rust", ["rs"], [], [];
    Python, "python", ["py" "pyi" "pyw" "bzl"], ["sconstruct"], ["python"];
    C, "c", ["c" "h"], [], [];
    Cpp, "cpp", ["cpp" "cc" "cxx" "c++" "hpp" "hh" "hxx" "ipp" "inl" "tpp" "cu" "cuh" "ino"], [], [];
    CSharp, "csharp", ["cs" "csx"], [], [];
    Go, "go", ["go"], [], [];
    Java, "java", ["java"], [], [];
    JavaScript, "javascript", ["js" "mjs" "cjs" "jsx"], ["jakefile"], ["node" "nodejs" "bun"];
    TypeScript, "typescript", ["ts" "tsx" "mts" "cts"], [], ["ts-node" "deno" "tsx"];
    Kotlin, "kotlin", ["kt" "kts"], [], ["kotlin"];
    Swift, "swift", ["swift"], [], ["swift"];
    Scala, "scala", ["scala" "sc" "sbt"], [], ["scala" "scala-cli"];
    Groovy, "groovy", ["groovy" "gradle"], ["jenkinsfile"], ["groovy"];
    Dart, "dart", ["dart"], [], ["dart"];
    ObjectiveC, "objective-c", ["m" "mm"], [], [];
    Zig, "zig", ["zig"], [], [];
    Nim, "nim", ["nim"], [], [];
    Php, "php", ["php" "phtml"], [], ["php"];
    Ruby, "ruby", ["rb" "rake" "gemspec"], ["rakefile" "gemfile" "vagrantfile" "podfile" "brewfile"], ["ruby"];
    Crystal, "crystal", ["cr"], [], ["crystal"];
    Elixir, "elixir", ["ex" "exs"], [], ["elixir"];
    Erlang, "erlang", ["erl" "hrl"], [], ["escript"];
    Haskell, "haskell", ["hs"], [], ["runhaskell" "stack"];
    Elm, "elm", ["elm"], [], [];
    OCaml, "ocaml", ["ml" "mli"], [], ["ocaml"];
    FSharp, "fsharp", ["fs" "fsi" "fsx"], [], [];
    Clojure, "clojure", ["clj" "cljs" "cljc" "edn"], [], ["clojure" "bb"];
    Lisp, "lisp", ["lisp" "lsp" "cl" "el" "scm" "rkt"], [], ["sbcl" "guile" "racket"];
    Lua, "lua", ["lua"], [], ["lua" "luajit"];
    Perl, "perl", ["pl" "pm"], [], ["perl"];
    R, "r", ["r"], [".rprofile"], ["rscript"];
    Julia, "julia", ["jl"], [], ["julia"];
    Matlab, "matlab", ["matlab"], [], ["octave"];
    Fortran, "fortran", ["f90" "f95" "f03" "f08" "f" "for"], [], [];
    Pascal, "pascal", ["pas" "pp" "dpr"], [], [];
    Ada, "ada", ["adb" "ads"], [], [];
    VisualBasic, "visual-basic", ["vb" "bas" "vbs"], [], [];
    Assembly, "assembly", ["s" "asm"], [], [];
    Verilog, "verilog", ["v" "sv" "svh"], [], [];
    Vhdl, "vhdl", ["vhd" "vhdl"], [], [];
    Solidity, "solidity", ["sol"], [], [];
    Shell, "shell", ["sh" "bash" "zsh" "ksh" "fish"], [".bashrc" ".bash_profile" ".profile" ".zshrc" "pkgbuild"], ["sh" "bash" "zsh" "ksh" "dash" "ash" "fish"];
    PowerShell, "powershell", ["ps1" "psm1" "psd1"], [], ["pwsh"];
    Batch, "batch", ["bat" "cmd"], [], [];
    Awk, "awk", ["awk"], [], ["awk" "gawk" "mawk"];
    Tcl, "tcl", ["tcl"], [], ["tclsh" "wish"];
    VimScript, "vim", ["vim"], [".vimrc"], [];
    Sql, "sql", ["sql"], [], [];
    GraphQl, "graphql", ["graphql" "gql"], [], [];
    Protobuf, "protobuf", ["proto"], [], [];
    Css, "css", ["css" "scss" "sass" "less"], [], [];
    Vue, "vue", ["vue" "svelte"], [], [];
    Make, "make", ["mk" "mak"], ["makefile" "gnumakefile"], ["make"];
    CMake, "cmake", ["cmake"], ["cmakelists.txt"], [];
    Docker, "docker", ["dockerfile"], ["dockerfile" "containerfile"], [];
    Terraform, "terraform", ["tf" "tfvars" "hcl"], [], [];
    Nix, "nix", ["nix"], [], [];
    Toml, "toml", ["toml"], [], [];
    Yaml, "yaml", ["yaml" "yml"], [], [];
    Ini, "ini", ["ini" "cfg" "conf" "properties"], [".editorconfig" ".gitconfig"], [];
}

impl Language {
    /// The language of a file's ending, without its dot, in lower case.
    pub fn from_extension(ending: &str) -> Option<Language> {
        find(|tells| tells.endings.contains(&ending))
    }

    /// The language of files that all have one name.
    pub fn from_file_name(name: &str) -> Option<Language> {
        let name = name.to_ascii_lowercase();
        find(|tells| tells.files.contains(&name.as_str()))
    }

    /// The language whose interpreter a first line of the form `#!/usr/bin/env -S python3 -u` names.
    pub fn from_shebang(head: &[u8]) -> Option<Language> {
        let line = head.strip_prefix(b"#!")?.split(|&b| b == b'\n').next()?;
        let line = std::str::from_utf8(line).ok()?;
        let mut words = line.split_whitespace();
        let mut program = base_name(words.next()?);
        if program == "env" {
            let is_setting = |word: &&str| !word.starts_with('-') && !word.contains('=');
            program = base_name(words.find(is_setting)?);
        }
        // A version is no part of the name: `python3.12`, `lua5.4`.
        let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let name = name.to_ascii_lowercase();
        find(|tells| tells.interpreters.contains(&name.as_str()))
    }
}

fn find(matches: impl Fn(&Tells) -> bool) -> Option<Language> {
    let tells = TELLS.iter().find(|&tells| matches(tells))?;
    Some(tells.language)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn nothing_tells_two_languages() {
        let parts: [fn(&Tells) -> &[&str]; 3] = [|t| t.endings, |t| t.files, |t| t.interpreters];
        for part in parts {
            let mut seen = BTreeSet::new();
            for key in TELLS.iter().flat_map(part) {
                assert!(seen.insert(key), "{key} is told twice");
                assert_eq!(*key, key.to_ascii_lowercase());
            }
        }
    }

    #[test]
    fn the_first_line_names_the_interpreter() {
        let cases: &[(&str, Option<Language>)] = &[
            ("#!/bin/sh\n", Some(Language::Shell)),
            ("#! /usr/bin/env python3.12\nx", Some(Language::Python)),
            (
                "#!/usr/bin/env -S node --harmony",
                Some(Language::JavaScript),
            ),
            ("#!/usr/bin/env A=1 perl -w\r\n", Some(Language::Perl)),
            ("#!/usr/bin/Rscript", Some(Language::R)),
            ("#!/opt/strange", None),
            ("#!", None),
            ("#!/usr/bin/env", None),
            ("#!\u{e9}\n", None),
            (" #!/bin/sh", None),
        ];
        for (head, want) in cases {
            assert_eq!(Language::from_shebang(head.as_bytes()), *want, "{head:?}");
        }
        assert_eq!(Language::from_shebang(b"#!\xff\n"), None);
    }
}
