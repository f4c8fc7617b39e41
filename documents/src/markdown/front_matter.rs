//! Front matter: the parts of YAML and TOML that documents use for it.
//!
//! ```text
//! key: value            key = "value"
//! key: [one, two]       key = ["one", "two"]
//! key:                  key = [
//!   - one                 "one",
//!   - name: two           "two",
//!     more: three       ]
//! key: >
//!   folded text
//! ```
//!
//! Whatever else they allow is passed over; it never fails. Keys that mean the same get one name,
//! and the values of a list are joined by `; `.

use std::collections::BTreeMap;

use loci_parsing::cues::year::year;
use loci_parsing::facts::TextMetrics;
use loci_parsing::tree::ParsedDocument;

/// The name of a record's field, and the keys that fill it.
const NAMES: &[(&str, &[&str])] = &[
    (
        "address",
        &["address", "url", "permalink", "canonical", "canonical_url"],
    ),
    ("category", &["category", "categories"]),
    ("difficulty", &["difficulty"]),
    ("doi", &["doi"]),
    ("language", &["language", "lang"]),
    (
        "learning_outcomes",
        &[
            "learning_outcomes",
            "learning_objectives",
            "objectives",
            "outcomes",
        ],
    ),
    ("prerequisites", &["prerequisites", "prerequisite"]),
    ("tags", &["tags", "tag", "keywords", "topics"]),
    (
        "venue",
        &["venue", "journal", "conference", "booktitle", "publication"],
    ),
];

/// Fills in what the lines say about the document. A stated title wins over the one it has.
pub(super) fn apply(lines: &str, document: &mut ParsedDocument) {
    let named = named(lines, document);
    document.facts = facts(named);
}

/// Fills in title, authors and year; returns all else by name.
fn named(lines: &str, document: &mut ParsedDocument) -> BTreeMap<String, String> {
    let mut named = BTreeMap::new();
    for (key, values) in entries(lines) {
        let folded = key.to_ascii_lowercase().replace('-', "_");
        match folded.as_str() {
            "title" => document.title = values.into_iter().next().or(document.title.take()),
            "author" | "authors" => document.authors.extend(values),
            "year" | "date" => {
                let year = values.first().and_then(|value| year(value));
                document.year = document.year.or(year);
                add_metadata(&mut named, key, &values);
            }
            _ => add_metadata(
                &mut named,
                name_of(&folded, &values).unwrap_or(key),
                &values,
            ),
        }
    }
    named
}

/// Moves what has a field of its own there.
fn facts(mut named: BTreeMap<String, String>) -> TextMetrics {
    let mut list = |name| -> Vec<String> {
        let entry = named.remove(name).unwrap_or_default();
        let parts = entry.split(';').map(str::trim);
        parts
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    TextMetrics {
        tags: list("tags"),
        prerequisites: list("prerequisites"),
        learning_outcomes: list("learning_outcomes"),
        language: named.remove("language"),
        doi: named.remove("doi"),
        venue: named.remove("venue"),
        address: named.remove("address"),
        category: named.remove("category"),
        difficulty: named.remove("difficulty"),
        other: named,
        ..TextMetrics::default()
    }
}

fn name_of(key: &str, values: &[String]) -> Option<&'static str> {
    let (name, _) = NAMES.iter().find(|(_, keys)| keys.contains(&key))?;
    // A path within a site is no address.
    let is_of_web = |value: &String| value.starts_with("http://") || value.starts_with("https://");
    (*name != "address" || values.iter().all(is_of_web)).then_some(*name)
}

/// Adds values to what is already said under this name.
fn add_metadata(named: &mut BTreeMap<String, String>, name: &str, values: &[String]) {
    let value = values.join("; ");
    match named.get_mut(name) {
        Some(key) => {
            key.push_str("; ");
            key.push_str(&value);
        }
        None => {
            named.insert(name.to_owned(), value);
        }
    }
}

/// What the lines of an entry after its first are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenValue {
    /// Items of YAML, each on its line.
    Items,
    /// A list in brackets that is not closed yet.
    Brackets,
    /// Text, as one value.
    Text,
}

/// Keys that have a value, with their values.
fn entries(lines: &str) -> Vec<(&str, Vec<String>)> {
    let mut entries: Vec<(&str, Vec<String>)> = Vec::new();
    let mut open = OpenValue::Items;
    for line in lines.lines() {
        let is_inner = !line.starts_with(is_key_start);
        match entries.last_mut() {
            Some((_, values)) if is_inner || open == OpenValue::Brackets => {
                open = continue_entry(open, line.trim(), values);
            }
            _ => {
                if let Some((key, value)) = key_and_value(line) {
                    let (values, now_open) = first_values(value);
                    entries.push((key, values));
                    open = now_open;
                }
            }
        }
    }
    entries.retain(|(_, values)| !values.is_empty());
    entries
}

fn is_key_start(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '"' | '\'')
}

/// `key: value` of YAML, or `key = value` of TOML.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let at = line.find([':', '='])?;
    let key = line[..at].trim().trim_matches(['"', '\'']);
    Some((key, line[at + 1..].trim()))
}

/// The values on the line of the key, and what the lines below it are.
fn first_values(value: &str) -> (Vec<String>, OpenValue) {
    if let Some(list) = value.strip_prefix('[') {
        return match list.trim_end().strip_suffix(']') {
            Some(list) => (items(list), OpenValue::Items),
            None => (items(list), OpenValue::Brackets),
        };
    }
    if value.starts_with(['>', '|']) && value.len() <= 2 {
        return (Vec::new(), OpenValue::Text);
    }
    (scalar(value).into_iter().collect(), OpenValue::Items)
}

fn continue_entry(open: OpenValue, line: &str, values: &mut Vec<String>) -> OpenValue {
    match open {
        OpenValue::Brackets => {
            values.extend(items(line.trim_end_matches(']')));
            if line.ends_with(']') {
                return OpenValue::Items;
            }
        }
        OpenValue::Text => match values.first_mut() {
            Some(text) if !line.is_empty() => {
                text.push(' ');
                text.push_str(line);
            }
            None if !line.is_empty() => values.push(line.to_owned()),
            _ => {}
        },
        OpenValue::Items => {
            let item = line.strip_prefix("- ").map(str::trim);
            let name = item.unwrap_or(line).strip_prefix("name:");
            match (name, item) {
                (Some(name), _) => values.extend(scalar(name)),
                (None, Some(item)) if !is_map(item) => values.extend(scalar(item)),
                _ => {}
            }
        }
    }
    open
}

/// Whether an item is no value but names one: `affiliation: 1`.
fn is_map(item: &str) -> bool {
    let key = item.split_once(": ").map(|(key, _)| key);
    key.is_some_and(|key| {
        key.chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    })
}

/// The items of a list in brackets; commas within quotes part none.
fn items(list: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut quote = None;
    let mut start = 0;
    for (at, c) in list.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) if list[start..at].trim().is_empty() => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (',', None) => {
                items.extend(scalar(&list[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    items.extend(scalar(&list[start..]));
    items
}

fn scalar(value: &str) -> Option<String> {
    let value = value.trim();
    let quoted = ['"', '\''].iter().find_map(|&q| {
        let inner = value.strip_prefix(q)?;
        inner.split_once(q).map(|(inner, _)| inner)
    });
    // Unquoted, what follows a blank and `#` is a comment.
    let plain = || value.split(" #").next().unwrap_or(value);
    let value = quoted.unwrap_or_else(plain).trim();
    (!value.is_empty() && !value.starts_with('#')).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str, title: Option<&str>, authors: &[&str], metadata: &[(&str, &str)]) {
        let mut document = ParsedDocument::default();
        let named = named(lines, &mut document);
        assert_eq!(document.title.as_deref(), title, "{lines}");
        assert_eq!(document.authors, authors, "{lines}");
        let got: BTreeMap<_, _> = named.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        let metadata = metadata.iter().copied().collect();
        assert_eq!(got, metadata, "{lines}");
    }

    #[test]
    fn keys_values_and_lists_are_read() {
        check(
            "title: \"On: Ducks\" # yes\nauthors:\n  - Ann Lee\n  - 'Bo Ek'\ndate: 2021-03-04\n\
             tags: [a, \"b, c\"]\nkeywords: d\nempty:\n  nested: 1\nlang: en\nurl: https://x.org/a\npermalink: /a\n",
            Some("On: Ducks"),
            &["Ann Lee", "Bo Ek"],
            &[
                ("date", "2021-03-04"),
                ("tags", "a; b, c; d"),
                ("language", "en"),
                ("address", "https://x.org/a"),
                ("permalink", "/a"),
            ],
        );
        check(
            "authors:\n  - name: Ann Lee\n    affiliation: 1\n  - affiliation: 2\n    name: Bo Ek\nsummary: >\n  Folded\n  text.\nlearning-outcomes:\n- Read: well\n",
            None,
            &["Ann Lee", "Bo Ek"],
            &[("summary", "Folded text.")],
        );
        check(
            "prerequisites:\n- Trees, and heaps\n- Sorting\ncategory: algorithms\ndifficulty: hard\n",
            None,
            &[],
            &[
                ("prerequisites", "Trees, and heaps; Sorting"),
                ("category", "algorithms"),
                ("difficulty", "hard"),
            ],
        );
    }

    #[test]
    fn toml_is_read_as_well() {
        check(
            "title = \"A = b\"\ndate = 2020-01-02\nauthors = [\n  \"Ann\",\n  'Bo',\n]\n[taxonomies]\ntags = [\"x\", \"y\"] # z\n",
            Some("A = b"),
            &["Ann", "Bo"],
            &[("date", "2020-01-02"), ("tags", "x; y")],
        );
    }

    #[test]
    fn anything_is_taken() {
        for lines in [
            "",
            ":",
            "=",
            "[",
            "a: [",
            "a:\n- \n-",
            "a: \"",
            "- x",
            "a: >\n\n",
            "é: ü",
        ] {
            apply(lines, &mut ParsedDocument::default());
        }
    }
}
