//! `loci concept`: what the store knows of a concept; merges and splits by hand.

use anyhow::Context;
use locidb::graph::paths::VISITED_MAX;
use locidb::graph::{Along, Found, normalise, prerequisites, shortest_path};
use locidb::query::cite::{chunk_key, cite};
use locidb::storage::records::{ConceptRecord, Level};
use locidb::storage::{ConceptId, DocumentId, DocumentKey, EditId, Rows};
use locidb::{ConceptEdit, Database};
use serde_json::{Value, json};

use super::open;
use crate::Done;
use crate::args::Concept;
use crate::output::{Out, shorten};

/// Relations and chunks that are printed at most.
const LISTED_MAX: usize = 50;
/// Members of a community that are printed at most.
const MEMBERS_MAX: usize = 10;
/// Prerequisites that are followed at most.
const PREREQUISITES_MAX: usize = 200;

pub(crate) fn run(args: &Concept, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    let asked = args.name.as_deref().unwrap_or_default();
    if let Some(id) = args.undo {
        return undo(&database, id, out);
    }
    if args.edits {
        return edits(&database, out);
    }
    if let Some(into) = args.merge_into.clone() {
        let from = asked.to_owned();
        let edit = database.write(move |tx| tx.merge_concepts(&from, &into))?;
        return edited(edit, out);
    }
    if let Some(into) = args.split_into.clone() {
        let from = asked.to_owned();
        let keys = args.document.iter().map(|key| key.parse());
        let keys: Vec<DocumentKey> = keys.collect::<Result<_, _>>()?;
        let edit = database.write(move |tx| tx.split_concept(&from, &keys, &into))?;
        return edited(edit, out);
    }
    if let Some(other) = &args.path_to {
        return path(&database, asked, other, &args.along, out);
    }
    let view = database.view();
    let read = view.read();
    let rows = view.snapshot().rows();
    let segments = read.graph_segments();
    let graph = read.graph(&segments);
    let found = graph
        .lookup(&normalise(asked))
        .filter(|id| graph.is_visible(*id));
    let Some(id) = found else {
        eprintln!("loci: no concept {asked:?}");
        return Ok(Done::Wrong);
    };
    let concept = rows.concept(id)?.context("the concept's row is missing")?;
    let before = prerequisites(graph, id, PREREQUISITES_MAX);
    let mut edges = graph.edges(id);
    edges.sort_by(|a, b| b.weight.total_cmp(&a.weight).then(a.other.cmp(&b.other)));
    edges.truncate(LISTED_MAX);
    let relations: Vec<_> = edges
        .iter()
        .map(|edge| {
            let (from, to) = if edge.outgoing {
                (id, edge.other)
            } else {
                (edge.other, id)
            };
            Ok(json!({
                "source": name(rows, from)?, "type": edge.kind, "target": name(rows, to)?,
                "weight": edge.weight,
            }))
        })
        .collect::<anyhow::Result<_>>()?;
    let (mut chunks, mut supported_by) = (Vec::new(), Vec::new());
    for (ordinal, count) in graph.chunks(id).take(LISTED_MAX) {
        let place = view
            .snapshot()
            .place(ordinal)
            .context("a chunk without a place")?;
        let document = rows
            .document(place.document)?
            .context("a document's row is missing")?;
        let chunk = rows
            .chunk(place.document, place.index)?
            .context("a chunk's row is missing")?;
        if chunk.level == Level::Proposition {
            supported_by.push(chunk_key(&document, chunk.suffix).to_string());
        }
        chunks.push(json!({
            "chunk": chunk_key(&document, chunk.suffix).to_string(),
            "label": cite(&document, &chunk).label,
            "mentions": count,
            "text": shorten(&chunk.text, 200),
        }));
    }
    let names = |ids: &[ConceptId]| -> anyhow::Result<Vec<String>> {
        ids.iter().map(|&id| name(rows, id)).collect()
    };
    let cycles = before
        .cycles
        .iter()
        .map(|cycle| names(cycle))
        .collect::<Result<Vec<_>, _>>()?;
    let mut communities = Vec::new();
    if let Some(known) = read.communities() {
        for (level, community) in known.path(id) {
            let members = known.members(level, community);
            let size = members.len();
            let others = members.filter(|&other| other != id && graph.is_visible(other));
            let others: Vec<ConceptId> = others.take(MEMBERS_MAX).collect();
            communities.push(json!({
                "level": level, "id": community, "size": size, "members": names(&others)?,
            }));
        }
    }
    let told = json!({
        "name": concept.name,
        "normalised": concept.normalised,
        "type": view.type_map()?.unwrap_or_default().of(&concept.kind),
        "type_written": concept.kind,
        "description": concept.description,
        "synonyms": concept.synonyms,
        "mentions": concept.mention_count,
        "documents": concept.document_count,
        "pagerank": graph.rank(id),
        "degree": graph.neighbours(id).len(),
        "prerequisites": names(&before.order)?,
        "cycles": cycles,
        "communities": communities,
        "first": first(rows, &concept, id)?,
        "relations": relations,
        "supported_by": supported_by,
        "chunks": chunks,
    });
    if out.json {
        out.json_line(&told)?
    } else {
        print(&told, out)?
    }
    Ok(Done::Well)
}

/// The place where a concept appears first: in the document that came first, its first chunk.
fn first(rows: &dyn Rows, concept: &ConceptRecord, id: ConceptId) -> anyhow::Result<Value> {
    let Some(document) = concept.first_document.map(DocumentId) else {
        return Ok(Value::Null);
    };
    let mut chunk = None;
    for (said, of) in rows.concept_contributions(document)? {
        if rows.resolve(said, Some(document))?.concept == id {
            let places = of.mentions.iter().map(|mention| mention.0);
            chunk = places.chain(chunk).min();
        }
    }
    let record = rows.document(document)?;
    let record = record.context("a document's row is missing")?;
    let key = DocumentKey::new(&record.user[..], &record.collection[..], &record.key[..])?;
    let mut told = json!({ "document": key.to_string() });
    if let Some(place) = chunk {
        let chunk = rows.chunk(document, place)?;
        let chunk = chunk.context("a chunk's row is missing")?;
        told["chunk"] = chunk_key(&record, chunk.suffix).to_string().into();
        told["label"] = cite(&record, &chunk).label.into();
    }
    Ok(told)
}

/// The shortest way between two concepts.
fn path(
    database: &Database,
    from: &str,
    to: &str,
    kinds: &[String],
    out: &Out,
) -> anyhow::Result<Done> {
    let view = database.view();
    let rows = view.snapshot().rows();
    let segments = view.read().graph_segments();
    let graph = view.read().graph(&segments);
    let mut ends = Vec::new();
    for asked in [from, to] {
        let Some(id) = graph.lookup(&normalise(asked)) else {
            eprintln!("loci: no concept {asked:?}");
            return Ok(Done::Wrong);
        };
        ends.push(id);
    }
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let along = Along {
        kinds: &kinds,
        ..Along::default()
    };
    let found = shortest_path(graph, ends[0], ends[1], along, VISITED_MAX);
    let path = match found {
        Found::Path(path) => path,
        Found::Apart => {
            eprintln!("loci: no relations lead from {from:?} to {to:?}");
            return Ok(Done::Wrong);
        }
        Found::Bounded => {
            eprintln!("loci: no way from {from:?} to {to:?} among {VISITED_MAX} concepts");
            return Ok(Done::Wrong);
        }
    };
    let mut steps = Vec::new();
    for (ends, edge) in path.concepts.windows(2).zip(&path.edges) {
        let (source, target) = match edge.outgoing {
            true => (ends[0], ends[1]),
            false => (ends[1], ends[0]),
        };
        steps.push(json!({
            "source": name(rows, source)?, "type": edge.kind, "target": name(rows, target)?,
        }));
    }
    let concepts = path.concepts.iter().map(|&id| name(rows, id));
    let concepts: Vec<String> = concepts.collect::<Result<_, _>>()?;
    if out.json {
        out.json_line(&json!({ "path": concepts, "relations": steps }))?;
        return Ok(Done::Well);
    }
    out.line(&concepts.join(" - "))?;
    let text = |step: &Value, key: &str| step[key].as_str().unwrap_or_default().to_owned();
    let row = |step: &Value| {
        ["source", "type", "target"]
            .map(|key| text(step, key))
            .into()
    };
    let rows: Vec<Vec<String>> = steps.iter().map(row).collect();
    out.table(&["source", "relation", "target"], &rows)?;
    Ok(Done::Well)
}

fn edited(edit: EditId, out: &Out) -> anyhow::Result<Done> {
    match out.json {
        true => out.json_line(&json!({ "edit": edit.0 }))?,
        false => out.line(&format!("done: --undo {} takes it back", edit.0))?,
    }
    Ok(Done::Well)
}

fn undo(database: &Database, id: u64, out: &Out) -> anyhow::Result<Done> {
    if !database.write(move |tx| tx.undo_concept_edit(EditId(id)))? {
        eprintln!("loci: no merge or split {id}, or it was undone: --edits lists them");
        return Ok(Done::Wrong);
    }
    match out.json {
        true => out.json_line(&json!({ "undone": id }))?,
        false => out.line("undone")?,
    }
    Ok(Done::Well)
}

fn edits(database: &Database, out: &Out) -> anyhow::Result<Done> {
    let edits = database.view().concept_edits()?;
    if out.json {
        for edit in &edits {
            out.json_line(edit)?;
        }
        return Ok(Done::Well);
    }
    let row = |edit: &ConceptEdit| {
        let documents = match edit.documents.is_empty() {
            true => "all".to_owned(),
            false => edit.documents.join(", "),
        };
        vec![
            edit.id.to_string(),
            edit.from.clone(),
            edit.into.clone(),
            documents,
        ]
    };
    let rows: Vec<_> = edits.iter().map(row).collect();
    out.table(&["number", "from", "into", "documents"], &rows)?;
    Ok(Done::Well)
}

fn name(rows: &dyn Rows, id: ConceptId) -> anyhow::Result<String> {
    Ok(rows
        .concept(id)?
        .context("a concept's row is missing")?
        .name)
}

fn print(told: &serde_json::Value, out: &Out) -> anyhow::Result<()> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    let list = |value: &serde_json::Value| {
        let items = value.as_array().into_iter().flatten();
        items.map(text).collect::<Vec<_>>().join(", ")
    };
    out.line(&format!(
        "{}  ({} mentions in {} documents)",
        text(&told["name"]),
        told["mentions"],
        told["documents"]
    ))?;
    let description = text(&told["description"]);
    if !description.is_empty() {
        out.line(&description)?;
    }
    for (label, value) in [("Also", "synonyms"), ("Learn first", "prerequisites")] {
        let listed = list(&told[value]);
        if !listed.is_empty() {
            out.line(&format!("{label}: {listed}"))?;
        }
    }
    let rows = |key: &str, columns: [&str; 3]| -> Vec<Vec<String>> {
        let items = told[key].as_array().into_iter().flatten();
        items
            .map(|item| columns.iter().map(|c| text(&item[*c])).collect())
            .collect()
    };
    let communities = told["communities"].as_array().into_iter().flatten();
    if let Some(finest) = communities.last() {
        out.line(&format!(
            "Together with: {} (community {}, {} concepts)",
            list(&finest["members"]),
            finest["id"],
            finest["size"]
        ))?;
    }
    let relations = rows("relations", ["source", "type", "target"]);
    if !relations.is_empty() {
        out.table(&["source", "relation", "target"], &relations)?;
    }
    out.table(
        &["chunk", "place", "text"],
        &rows("chunks", ["chunk", "label", "text"]),
    )
}
