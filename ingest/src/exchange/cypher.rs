//! Cypher, the language of Neo4j.

use std::collections::BTreeMap;
use std::io::Write;

use locidb::DatabaseSnapshot;

use super::ExchangeError;
use super::concepts::{edges, nodes};

/// Nodes and relations of one statement of a script.
const STATEMENT_ROWS: usize = 500;

/// Writes the concepts and relations of a view as a Cypher script, which may be run again without harm: nodes
/// `:Concept` by `id`, relations by their type. Returns how many of both.
pub fn cypher(
    view: &DatabaseSnapshot,
    mut out: impl Write,
) -> Result<(usize, usize), ExchangeError> {
    let segments = view.read_view().graph_segments();
    let graph = view.read_view().graph(&segments);
    let nodes = nodes(view, graph)?;
    let edges = edges(graph, &nodes);
    writeln!(
        out,
        "CREATE CONSTRAINT concept_id IF NOT EXISTS FOR (c:Concept) REQUIRE c.id IS UNIQUE;"
    )?;
    for some in nodes.chunks(STATEMENT_ROWS) {
        writeln!(out, "UNWIND [")?;
        for (at, node) in some.iter().enumerate() {
            let record = &node.record;
            let synonyms: Vec<String> = record.synonyms.iter().map(|name| quote(name)).collect();
            writeln!(
                out,
                " {{id: {}, name: {}, normalised: {}, type: {}, description: {}, synonyms: [{}], mentions: {}, pagerank: {:?}}}{}",
                node.id.0,
                quote(&record.name),
                quote(&record.normalised),
                quote(&record.kind),
                quote(&record.description),
                synonyms.join(", "),
                record.mention_count,
                node.rank,
                if at + 1 < some.len() { "," } else { "" }
            )?;
        }
        writeln!(
            out,
            "] AS row MERGE (c:Concept {{id: row.id}}) SET c += row;"
        )?;
    }
    // Types that are written alike become one.
    let mut by_kind: BTreeMap<String, BTreeMap<(u32, u32), f32>> = BTreeMap::new();
    for edge in &edges {
        let of_kind = by_kind.entry(escape(edge.kind)).or_default();
        *of_kind.entry((edge.source.0, edge.target.0)).or_default() += edge.weight;
    }
    for (kind, of_kind) in by_kind {
        let of_kind: Vec<((u32, u32), f32)> = of_kind.into_iter().collect();
        for some in of_kind.chunks(STATEMENT_ROWS) {
            writeln!(out, "UNWIND [")?;
            for (at, ((source, target), weight)) in some.iter().enumerate() {
                let comma = if at + 1 < some.len() { "," } else { "" };
                writeln!(out, " {{s: {source}, t: {target}, w: {weight:?}}}{comma}")?;
            }
            writeln!(
                out,
                "] AS row MATCH (s:Concept {{id: row.s}}), (t:Concept {{id: row.t}}) MERGE (s)-[r:{kind}]->(t) SET r.weight = row.w;"
            )?;
        }
    }
    out.flush()?;
    Ok((nodes.len(), edges.len()))
}

/// A string of Cypher.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A relation's type of Cypher, which cannot be empty.
fn escape(kind: &str) -> String {
    let plain: String = kind.chars().filter(|c| !c.is_control()).collect();
    let plain = if plain.is_empty() {
        "RELATED_TO".into()
    } else {
        plain
    };
    // A backslash before a `u` would start an escape even here.
    format!("`{}`", plain.replace('`', "``").replace('\\', "\\u005c"))
}
