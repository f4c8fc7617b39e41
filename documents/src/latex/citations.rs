//! `\cite` and its kin.
//!
//! A work of the file's own list is shown by its label: `[3]`, `[3, 5, p. 7]`, or by names and year where natbib's
//! labels have them: `(Knuth, 1997)`, `Knuth (1997)`. Any other is shown by its key, `[knuth97]`, and cites nothing.

use super::walk::Walk;
use loci_parsing::limits::ParseError;

pub(super) fn is_citation(name: &str) -> bool {
    let is_style = [
        "nocite",
        "citestyle",
        "setcitestyle",
        "defcitealias",
        "bibcite",
    ]
    .contains(&name);
    !is_style && (name.starts_with("cite") || name.starts_with("Cite") || name.ends_with("cite"))
        || matches!(name, "parencites" | "textcites" | "autocites")
}

/// Writes the citation; returns where it ends.
pub(super) fn write(
    walk: &mut Walk<'_, '_>,
    name: &str,
    after: usize,
    end: usize,
) -> Result<usize, ParseError> {
    let mut notes = Vec::new();
    let mut at = after;
    while let Some((note, next)) = walk.reader.option(at, end) {
        notes.push(walk.words(note)?);
        at = next;
    }
    let Some((keys, next)) = walk.reader.group(at, end) else {
        return Ok(after);
    };
    let (before, behind) = match &notes[..] {
        [before, behind, ..] => (before.clone(), behind.clone()),
        [behind] => (String::new(), behind.clone()),
        [] => (String::new(), String::new()),
    };
    let keys: Vec<&str> = walk.reader.text[keys]
        .split(',')
        .map(str::trim)
        .filter(|key| !key.is_empty())
        .collect();
    let indices: Vec<Option<u32>> = keys
        .iter()
        .map(|key| walk.reference_list.by_key.get(*key).copied())
        .collect();
    let named: Option<Vec<_>> = indices
        .iter()
        .map(|index| walk.reference_list.names.get((*index)? as usize)?.clone())
        .collect();
    let shown = match named.filter(|names| !names.is_empty()) {
        Some(names) => by_name(name, &names, &before, &behind),
        None => by_label(walk, &keys, &indices, &before, &behind),
    };
    let from = walk.running.len();
    walk.running.push(&shown);
    walk.running
        .cite(from, indices.into_iter().flatten().collect());
    Ok(next)
}

fn by_name(command: &str, names: &[(String, String)], before: &str, behind: &str) -> String {
    let behind = if behind.is_empty() {
        String::new()
    } else {
        format!(", {behind}")
    };
    let before = if before.is_empty() {
        String::new()
    } else {
        format!("{before} ")
    };
    let each = |form: fn(&str, &str) -> String| {
        let shown: Vec<String> = names
            .iter()
            .map(|(names, year)| form(names, year))
            .collect();
        shown.join("; ")
    };
    let command = command.to_ascii_lowercase();
    match &command[..] {
        "citeauthor" => each(|names, _| names.to_owned()),
        "citeyear" => each(|_, year| year.to_owned()),
        "citeyearpar" => format!("({before}{}{behind})", each(|_, year| year.to_owned())),
        "citet" | "textcite" | "citealt" | "textcites" => {
            format!(
                "{before}{}{behind}",
                each(|names, year| format!("{names} ({year})"))
            )
        }
        _ => format!(
            "({before}{}{behind})",
            each(|names, year| format!("{names}, {year}"))
        ),
    }
}

fn by_label(
    walk: &Walk<'_, '_>,
    keys: &[&str],
    indices: &[Option<u32>],
    before: &str,
    behind: &str,
) -> String {
    let label = |(key, place): (&&str, &Option<u32>)| match place {
        Some(place) => walk.reference_list.references[*place as usize]
            .label
            .clone(),
        None => (*key).to_owned(),
    };
    let mut parts: Vec<String> = keys.iter().zip(indices).map(label).collect();
    if !behind.is_empty() {
        parts.push(behind.to_owned());
    }
    let before = if before.is_empty() {
        String::new()
    } else {
        format!("{before} ")
    };
    format!("[{before}{}]", parts.join(", "))
}
