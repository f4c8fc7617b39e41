//! What the commands and environments of LaTeX and its common packages ask for.
//!
//! The words are in `commands.txt`, beside this file.

use std::sync::LazyLock;

use crate::tables::Tables;
use crate::tree::MarkKind;

static TABLES: LazyLock<Tables> = LazyLock::new(|| Tables::parse(include_str!("commands.txt")));

/// Commands that begin a section, outermost first.
pub(super) const SECTIONS: &[&str] = &[
    "part",
    "chapter",
    "section",
    "subsection",
    "subsubsection",
    "paragraph",
    "subparagraph",
];

/// The mark that a command gives its argument.
pub(super) fn marked(name: &str) -> Option<MarkKind> {
    MarkKind::from_name(TABLES.get("marked", name)?)
}

/// The mark that a command gives what follows it in its group.
pub(super) fn switch(name: &str) -> Option<MarkKind> {
    MarkKind::from_name(TABLES.get("switches", name)?)
}

/// How many arguments to leave out with the command; `None` where it says something.
pub(super) fn ignored_arguments(name: &str) -> Option<usize> {
    // Books define their own `\seclabel` and `\codeimport`.
    let is_own = name.ends_with("label") || is_file(name);
    TABLES.number("ignored", name).or(is_own.then_some(1))
}

/// Whether the text of another file would be here.
pub(super) fn is_file(name: &str) -> bool {
    ["import", "input", "include", "inputlisting", "inputminted"]
        .iter()
        .any(|file| name.ends_with(file))
}

pub(super) fn last_is_text(name: &str) -> Option<usize> {
    TABLES.number("last-is-text", name)
}

pub(super) fn statement(name: &str) -> Option<&'static str> {
    TABLES.get("statements", name.trim_end_matches('*'))
}

pub(super) fn environment_arguments(name: &str) -> usize {
    TABLES.number("environment-arguments", name).unwrap_or(0)
}

/// What an environment, starred or not, holds: `formula`, `table`, `drawing`, `quote` or `list`.
pub(super) fn environment(name: &str) -> Option<&'static str> {
    TABLES.get("environments", name.trim_end_matches('*'))
}

/// The sign that a command of letters writes.
pub(super) fn sign(name: &str) -> Option<&'static str> {
    TABLES.get("signs", name)
}

/// What a reference shows: `\figref{x}` and `\cref{fig:x}` are `Figure x`, `\ref{fig:x}` is `x`, `\eqref{x}` is `(x)`.
pub(super) fn reference(name: &str, label: &str) -> String {
    let (prefix, key) = label.split_once(':').unwrap_or(("", label));
    let key = key.trim();
    let own = name.strip_suffix("ref").unwrap_or_default();
    let is_clever = matches!(
        name,
        "autoref" | "cref" | "Cref" | "vref" | "fullref" | "Autoref" | "nameref"
    );
    let kind = if is_clever {
        TABLES.get("references", prefix)
    } else {
        TABLES
            .get("references", &own.to_ascii_lowercase())
            .filter(|_| name != "eqref")
    };
    match kind {
        Some(kind) => format!("{kind} {key}"),
        None if name == "eqref" => format!("({key})"),
        None => key.to_owned(),
    }
}
