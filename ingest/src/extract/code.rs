//! Concepts and relations of a source file: what it defines, what belongs to what, what uses what.

use std::collections::{BTreeMap, BTreeSet};

use locidb::storage::records::Level;
use locidb::{NewChunk, NewConcept, NewRelation};

use super::reading::Leaves;
use super::{DESCRIPTION_CHARS_MAX, ExtractSettings, best_per_leaf};
use crate::chunk::positions::Positions;
use crate::text::lexicon;
use crate::text::terms::truncate;
use loci_documents::{BlockKind, ParsedDocument};
use loci_types::text::sentences::{SentenceRule, sentences};

/// Something that the file defines.
struct Symbol<'a> {
    /// Qualified name.
    name: &'a str,
    /// What it is, as the parser says.
    what: &'a str,
    /// Its name without owners.
    bare: &'a str,
    owner: Option<&'a str>,
    /// Its text, where the file defines it in several places, of all of them.
    texts: Vec<&'a str>,
    /// Passages that define it.
    leaves: BTreeSet<u32>,
    /// Whether its bare name means it and nothing else.
    distinctive: bool,
}

/// Extracts from a file that was parsed into definitions.
pub(crate) fn extract(
    parsed: &ParsedDocument,
    chunks: &[NewChunk],
    settings: &ExtractSettings,
) -> (Vec<NewConcept>, Vec<NewRelation>) {
    let symbols = symbols(parsed, chunks);
    let mut mentions = mentions(&symbols, chunks);
    limit_mentions(&symbols, &mut mentions, settings.entities_per_chunk);
    // Types first, then by how often they are named.
    let total = |i: usize| mentions[i].values().sum::<u32>();
    let mut order: Vec<usize> = (0..symbols.len()).filter(|&i| total(i) > 0).collect();
    order.sort_by_key(|&i| (!is_type(symbols[i].what), std::cmp::Reverse(total(i)), i));
    let make = |i: usize| NewConcept {
        name: symbols[i].name.to_owned(),
        kind: symbols[i].what.to_owned(),
        description: symbols[i]
            .texts
            .iter()
            .find_map(|text| documentation(text))
            .unwrap_or_default(),
        synonyms: Vec::new(),
        mentions: mentions[i]
            .iter()
            .map(|(&leaf, &count)| (leaf, count))
            .collect(),
    };
    let concepts = order.into_iter().map(make).collect();
    let relations = relations(&symbols, &mentions, settings.relations_per_chunk);
    (concepts, relations)
}

/// Methods that every type has and that say nothing of one.
#[rustfmt::skip]
const TRIVIAL: &[&str] = &[
    "fmt", "clone", "drop", "default", "from", "into", "eq", "ne", "cmp", "hash", "deref",
    "deref_mut", "as_ref", "as_mut", "next", "index", "new", "__init__", "__repr__", "__str__",
    "__eq__", "__hash__", "__len__",
];

/// Kinds of definitions that are worth a concept.
fn is_significant(symbol: &str, what: &str) -> bool {
    let named = matches!(
        what,
        "function"
            | "method"
            | "class"
            | "struct"
            | "enum"
            | "trait"
            | "interface"
            | "union"
            | "macro"
            | "type"
    );
    let of_tests = symbol
        .split("::")
        .chain(symbol.split('.'))
        .any(|part| matches!(part, "test" | "tests"));
    named && !symbol.is_empty() && !of_tests && symbol.chars().any(char::is_alphabetic)
}

fn is_type(what: &str) -> bool {
    matches!(
        what,
        "class" | "struct" | "enum" | "trait" | "interface" | "union" | "type"
    )
}

fn symbols<'a>(parsed: &'a ParsedDocument, chunks: &[NewChunk]) -> Vec<Symbol<'a>> {
    let defined = parsed.blocks.iter().filter_map(|block| match &block.kind {
        BlockKind::Definition { symbol, what } if is_significant(symbol, what) => {
            Some((symbol.as_str(), what.as_str(), block))
        }
        _ => None,
    });
    let positions = Positions::new(&parsed.text);
    let leaves = Leaves::new(chunks);
    let mut symbols: BTreeMap<&str, Symbol<'a>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (name, what, block) in defined {
        let cut = name
            .rfind("::")
            .map(|at| (at, at + 2))
            .or_else(|| name.rfind('.').map(|at| (at, at + 1)));
        let symbol = symbols.entry(name).or_insert_with(|| {
            order.push(name);
            Symbol {
                name,
                what,
                bare: cut.map_or(name, |(_, start)| &name[start..]),
                owner: cut.map(|(end, _)| &name[..end]),
                texts: Vec::new(),
                leaves: BTreeSet::new(),
                distinctive: false,
            }
        });
        symbol.texts.push(&parsed.text[block.range.clone()]);
        let (start, end) = (block.range.start, block.range.end);
        symbol
            .leaves
            .extend(leaves.overlapping(positions.chars_before(start), positions.chars_before(end)));
    }
    let mut bare_names: BTreeMap<&str, u32> = BTreeMap::new();
    symbols
        .values()
        .for_each(|s| *bare_names.entry(s.bare).or_default() += 1);
    let ordinary = |name: &str| {
        name.len() < 4
            || lexicon::is_stop(name)
            || lexicon::is_verb(name)
            || lexicon::is_general(name)
    };
    // Implementations of foreign types, and what every type has, say little.
    let types: BTreeSet<&str> = symbols
        .values()
        .filter(|s| is_type(s.what))
        .map(|s| s.name)
        .collect();
    let telling = |s: &Symbol<'_>| {
        s.owner
            .is_none_or(|owner| types.contains(owner) && !TRIVIAL.contains(&s.bare))
            && !TRIVIAL.contains(&s.name)
    };
    order
        .into_iter()
        .filter_map(|name| symbols.remove(name).filter(telling))
        .map(|symbol| Symbol {
            distinctive: bare_names[symbol.bare] == 1 && !ordinary(symbol.bare),
            ..symbol
        })
        .collect()
}

/// Identifiers of `text`, with how often each occurs. Plain words, such as `offset`, count only
/// where they are called.
fn identifiers(text: &str) -> BTreeMap<&str, u32> {
    let mut found = BTreeMap::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_identifier_char) {
        let end = rest[start..]
            .find(|c| !is_identifier_char(c))
            .map_or(rest.len(), |n| start + n);
        let identifier = &rest[start..end];
        let plain = !identifier.contains('_') && identifier.chars().all(|c| c.is_lowercase());
        if !plain || rest[end..].starts_with('(') {
            *found.entry(identifier).or_default() += 1;
        }
        rest = &rest[end..];
    }
    found
}

fn is_identifier_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn mentions(symbols: &[Symbol<'_>], chunks: &[NewChunk]) -> Vec<BTreeMap<u32, u32>> {
    let mut mentions: Vec<BTreeMap<u32, u32>> = symbols
        .iter()
        .map(|s| s.leaves.iter().map(|&leaf| (leaf, 1)).collect())
        .collect();
    let by_bare: BTreeMap<&str, usize> = symbols
        .iter()
        .enumerate()
        .filter(|(_, s)| s.distinctive)
        .map(|(i, s)| (s.bare, i))
        .collect();
    for (chunk, leaf) in chunks
        .iter()
        .zip(0..)
        .filter(|(chunk, _)| chunk.record.level == Level::Paragraph)
    {
        for (identifier, count) in identifiers(&chunk.record.text) {
            if let Some(&symbol) = by_bare.get(identifier) {
                mentions[symbol].insert(leaf, count);
            }
        }
    }
    mentions
}

/// Keeps the best concepts of every passage: what it defines first, then what it names most.
fn limit_mentions(symbols: &[Symbol<'_>], mentions: &mut [BTreeMap<u32, u32>], limit: usize) {
    let mut contents: BTreeMap<u32, Vec<(f32, usize)>> = BTreeMap::new();
    for (i, symbol) in symbols.iter().enumerate() {
        for (&leaf, &count) in &mentions[i] {
            let defined = if symbol.leaves.contains(&leaf) {
                1000.0
            } else {
                0.0
            };
            contents
                .entry(leaf)
                .or_default()
                .push((defined + count as f32, i));
        }
    }
    let retained = best_per_leaf(&contents, limit);
    for (i, mentions) in mentions.iter_mut().enumerate() {
        mentions.retain(|&leaf, _| retained.contains(&(leaf, i)));
    }
}

/// `CONTAINS` from an owner to its members, `USES` from a definition to what its text names.
fn relations(
    symbols: &[Symbol<'_>],
    mentions: &[BTreeMap<u32, u32>],
    limit: usize,
) -> Vec<NewRelation> {
    let has_mentions = |i: usize| !mentions[i].is_empty();
    let places: BTreeMap<&str, usize> = symbols
        .iter()
        .enumerate()
        .map(|(i, s)| (s.name, i))
        .collect();
    let by_bare: BTreeMap<&str, usize> = symbols
        .iter()
        .enumerate()
        .filter(|(_, s)| s.distinctive)
        .map(|(i, s)| (s.bare, i))
        .collect();
    let mut found: Vec<(usize, usize, &str, f32)> = Vec::new();
    for (i, symbol) in symbols.iter().enumerate().filter(|(i, _)| has_mentions(*i)) {
        let owner = symbol.owner.and_then(|owner| places.get(owner)).copied();
        found.extend(
            owner
                .filter(|&owner| has_mentions(owner))
                .map(|owner| (owner, i, "CONTAINS", 1.0)),
        );
        let named = symbol.texts.iter().flat_map(|text| identifiers(text));
        let used: BTreeMap<usize, u32> = named
            .filter_map(|(identifier, count)| by_bare.get(identifier).map(|&at| (at, count)))
            .filter(|&(at, _)| {
                at != i
                    && Some(at) != owner
                    && symbols[at].owner != Some(symbol.name)
                    && has_mentions(at)
            })
            .collect();
        found.extend(
            used.into_iter()
                .map(|(at, count)| (i, at, "USES", count as f32)),
        );
    }
    let evidence = |(source, target, kind, _): &(usize, usize, &str, f32)| match *kind {
        "CONTAINS" => &symbols[*target].leaves,
        _ => &symbols[*source].leaves,
    };
    let mut contents: BTreeMap<u32, Vec<(f32, usize)>> = BTreeMap::new();
    for (i, relation) in found.iter().enumerate() {
        evidence(relation)
            .iter()
            .for_each(|&leaf| contents.entry(leaf).or_default().push((relation.3, i)));
    }
    let best = best_per_leaf(&contents, limit);
    let make = |(i, relation): (usize, &(usize, usize, &str, f32))| {
        let chunks: Vec<u32> = evidence(relation)
            .iter()
            .copied()
            .filter(|&leaf| best.contains(&(leaf, i)))
            .collect();
        (!chunks.is_empty()).then(|| NewRelation {
            source: symbols[relation.0].name.to_owned(),
            target: symbols[relation.1].name.to_owned(),
            kind: relation.2.to_owned(),
            description: String::new(),
            weight: relation.3.min(3.0),
            chunks,
        })
    };
    found.iter().enumerate().filter_map(make).collect()
}

/// The first sentence of the comment or string that documents a definition.
pub(crate) fn documentation(text: &str) -> Option<String> {
    let comment = leading_comment(text);
    let documentation = if comment.is_empty() {
        doc_string(text)?
    } else {
        comment
    };
    let paragraph = documentation
        .split("\n\n")
        .map(str::trim)
        .find(|part| part.chars().any(char::is_alphabetic) && !part.starts_with("```"))?;
    let first = sentences(paragraph, SentenceRule::Reader)
        .into_iter()
        .next()?;
    let sentence: Vec<&str> = paragraph[first].split_whitespace().collect();
    Some(truncate(&sentence.join(" "), DESCRIPTION_CHARS_MAX))
}

/// The comment lines before the code, without their marks.
fn leading_comment(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines().map(str::trim) {
        let attribute = line.starts_with("#[")
            || line.starts_with("#!")
            || line.starts_with('@')
            || line.is_empty();
        let marks = ["///", "//!", "//", "/**", "/*", "*/", "*", "#"];
        match marks.iter().find_map(|mark| line.strip_prefix(mark)) {
            _ if attribute => continue,
            Some(rest) => lines.push(rest.trim_end_matches("*/").trim()),
            None => break,
        }
    }
    lines.join("\n")
}

/// The first string in triple quotes, if it opens the body.
fn doc_string(text: &str) -> Option<String> {
    let (quote, open) = ["\"\"\"", "'''"]
        .iter()
        .filter_map(|q| text.find(q).map(|at| (*q, at)))
        .min_by_key(|f| f.1)?;
    let before = text[..open].trim_end();
    let opens_body = before.is_empty() || before.ends_with(':');
    let inner = &text[open + 3..];
    let lines: Vec<&str> = inner[..inner.find(quote)?].lines().map(str::trim).collect();
    opens_body.then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_is_the_first_sentence() {
        let cases: &[(&str, Option<&str>)] = &[
            (
                "/// Pushes a value. It may grow.\n#[inline]\npub fn push() {}",
                Some("Pushes a value."),
            ),
            (
                "/**\n * Adds two\n * numbers.\n */\nint add();",
                Some("Adds two numbers."),
            ),
            (
                "def wrap(self):\n    \"\"\"Wrap text\n    nicely. Then more.\n    \"\"\"\n",
                Some("Wrap text nicely."),
            ),
            ("fn bare() { // inside\n}", None),
            ("x = 1\ny = \"\"\"no\"\"\"", None),
        ];
        for (text, expected) in cases {
            assert_eq!(documentation(text).as_deref(), *expected, "of {text:?}");
        }
    }
}
