//! `loci concept`: a concept with its relations and mentions; manual merges and splits.

use locidb::storage::{ConceptEditId, DocumentKey};
use locidb::{ConceptEdit, Database};
use serde_json::json;

use super::open;
use crate::CommandStatus;
use crate::args::Concept;
use crate::output::{Printer, note};
use loci_server::views::Reader;
use loci_server::views::concepts::{Mention, PathResult, ShownConcept, ShownRelation};

pub(crate) fn run(args: &Concept, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    let name = args.name.as_deref().unwrap_or_default();
    if let Some(id) = args.undo {
        return undo(&database, id, out);
    }
    if args.edits {
        return edits(&database, out);
    }
    if let Some(into) = args.merge_into.clone() {
        let from = name.to_owned();
        let edit = database.write(move |tx| tx.merge_concepts(&from, &into))?;
        return print_edit(edit, out);
    }
    if let Some(into) = args.split_into.clone() {
        let from = name.to_owned();
        let keys = args.document.iter().map(|key| key.parse());
        let keys: Vec<DocumentKey> = keys.collect::<Result<_, _>>()?;
        let edit = database.write(move |tx| tx.split_concept(&from, &keys, &into))?;
        return print_edit(edit, out);
    }
    if let Some(other) = &args.path_to {
        return path(&database, name, other, &args.along, out);
    }
    let view = database.snapshot();
    let Some(concept) = Reader::unrestricted(&view).concept(name)? else {
        note!("loci: no concept {name:?}");
        return Ok(CommandStatus::ProblemsFound);
    };
    if out.json {
        out.json_line(&concept)?
    } else {
        print(&concept, out)?
    }
    Ok(CommandStatus::Success)
}

/// The shortest path between two concepts.
fn path(
    database: &Database,
    from: &str,
    to: &str,
    kinds: &[String],
    out: &Printer,
) -> anyhow::Result<CommandStatus> {
    let view = database.snapshot();
    let path = match Reader::unrestricted(&view).path(from, to, kinds)? {
        PathResult::Found(path) => path,
        PathResult::UnknownConcept(name) => {
            note!("loci: no concept {name:?}");
            return Ok(CommandStatus::ProblemsFound);
        }
        PathResult::NotConnected => {
            note!("loci: no path of relations from {from:?} to {to:?}");
            return Ok(CommandStatus::ProblemsFound);
        }
        PathResult::LimitReached(visited) => {
            note!("loci: no path from {from:?} to {to:?} among the {visited} concepts visited");
            return Ok(CommandStatus::ProblemsFound);
        }
    };
    if out.json {
        out.json_line(&path)?;
        return Ok(CommandStatus::Success);
    }
    out.line(&path.path.join(" - "))?;
    relations(&path.relations, out)?;
    Ok(CommandStatus::Success)
}

fn relations(relations: &[ShownRelation], out: &Printer) -> anyhow::Result<()> {
    let row = |of: &ShownRelation| vec![of.source.clone(), of.kind.clone(), of.target.clone()];
    let rows: Vec<Vec<String>> = relations.iter().map(row).collect();
    out.table(&["source", "relation", "target"], &rows)
}

fn print_edit(edit: ConceptEditId, out: &Printer) -> anyhow::Result<CommandStatus> {
    if out.json {
        out.json_line(&json!({ "edit": edit.0 }))?
    } else {
        out.line(&format!("done; to undo it: --undo {}", edit.0))?
    }
    Ok(CommandStatus::Success)
}

fn undo(database: &Database, id: u64, out: &Printer) -> anyhow::Result<CommandStatus> {
    if !database.write(move |tx| tx.undo_concept_edit(ConceptEditId(id)))? {
        note!("loci: no merge or split {id} in effect: --edits lists them");
        return Ok(CommandStatus::ProblemsFound);
    }
    if out.json {
        out.json_line(&json!({ "undone": id }))?
    } else {
        out.line("undone")?
    }
    Ok(CommandStatus::Success)
}

fn edits(database: &Database, out: &Printer) -> anyhow::Result<CommandStatus> {
    let edits = database.snapshot().concept_edits()?;
    if out.json {
        for edit in &edits {
            out.json_line(edit)?;
        }
        return Ok(CommandStatus::Success);
    }
    let row = |edit: &ConceptEdit| {
        let documents = if edit.documents.is_empty() {
            "all".to_owned()
        } else {
            edit.documents.join(", ")
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
    Ok(CommandStatus::Success)
}

fn print(concept: &ShownConcept, out: &Printer) -> anyhow::Result<()> {
    out.line(&format!(
        "{}  ({} mentions in {} documents)",
        concept.name,
        concept.mentions.unwrap_or_default(),
        concept.documents.unwrap_or_default()
    ))?;
    if !concept.description.is_empty() {
        out.line(&concept.description)?;
    }
    for (label, listed) in [
        ("Also", &concept.synonyms),
        ("Learn first", &concept.prerequisites),
    ] {
        if !listed.is_empty() {
            out.line(&format!("{label}: {}", listed.join(", ")))?;
        }
    }
    if let Some(finest) = concept.communities.last() {
        out.line(&format!(
            "Together with: {} (community {}, {} concepts)",
            finest.members.join(", "),
            finest.id,
            finest.size
        ))?;
    }
    if !concept.relations.is_empty() {
        relations(&concept.relations, out)?;
    }
    let row = |of: &Mention| vec![of.chunk.clone(), of.label.clone(), of.text.clone()];
    let rows: Vec<Vec<String>> = concept.chunks.iter().map(row).collect();
    out.table(&["chunk", "place", "text"], &rows)
}
