//! `loci types`: the types of concepts.

use std::collections::BTreeMap;

use locidb::graph::types::Method;
use serde_json::json;

use super::open;
use crate::Done;
use crate::args::{TypeMethod, Types};
use crate::output::Out;

pub(crate) fn run(args: &Types, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    match args.consolidate {
        Some(TypeMethod::Global) => drop(database.consolidate_types(Method::Global)?),
        Some(TypeMethod::Stratified) => drop(database.consolidate_types(Method::Stratified)?),
        None if args.forget => database.forget_types()?,
        None => {}
    }
    let view = database.view();
    let map = view.type_map()?.unwrap_or_default();
    let segments = view.read().graph_segments();
    let graph = view.read().graph(&segments);
    // Concepts by the type that is told, and of these by how it is written.
    let mut counts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for id in graph.concept_ids() {
        let Some(concept) = view.snapshot().rows().concept(id)? else {
            continue;
        };
        let told = map.of(&concept.kind).to_owned();
        let written = counts.entry(told).or_default();
        *written.entry(concept.kind).or_default() += 1;
    }
    let count = |written: &BTreeMap<String, u64>| written.values().sum::<u64>();
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by_key(|(_, written)| std::cmp::Reverse(count(written)));
    if out.json {
        for (told, written) in counts {
            let line = json!({ "type": told, "concepts": count(written), "written": written });
            out.json_line(&line)?;
        }
        return Ok(Done::Well);
    }
    let row = |(told, written): &(&String, &BTreeMap<String, u64>)| {
        let others: Vec<&str> = written.keys().map(String::as_str).collect();
        let name = if told.is_empty() { "(none)" } else { told };
        vec![
            name.to_owned(),
            count(written).to_string(),
            others.join(", "),
        ]
    };
    let rows: Vec<_> = counts.iter().map(row).collect();
    out.table(&["type", "concepts", "written as"], &rows)?;
    Ok(Done::Well)
}
