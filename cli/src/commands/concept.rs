//! `loci concept`: what the store knows of a concept; merges and splits by hand.

use locidb::storage::{DocumentKey, EditId};
use locidb::{ConceptEdit, Database};
use serde_json::json;

use super::open;
use crate::Done;
use crate::args::Concept;
use crate::output::{Out, note};
use loci_server::views::Reader;
use loci_server::views::concepts::{Mention, ShownConcept, ShownRelation, Way};

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
    let Some(concept) = Reader::of_all(&view).concept(asked)? else {
        note!("loci: no concept {asked:?}");
        return Ok(Done::Wrong);
    };
    if out.json {
        out.json_line(&concept)?
    } else {
        print(&concept, out)?
    }
    Ok(Done::Well)
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
    let path = match Reader::of_all(&view).path(from, to, kinds)? {
        Way::Found(path) => path,
        Way::Unknown(name) => {
            note!("loci: no concept {name:?}");
            return Ok(Done::Wrong);
        }
        Way::Apart => {
            note!("loci: no relations lead from {from:?} to {to:?}");
            return Ok(Done::Wrong);
        }
        Way::Bounded(visited) => {
            note!("loci: no way from {from:?} to {to:?} among {visited} concepts");
            return Ok(Done::Wrong);
        }
    };
    if out.json {
        out.json_line(&path)?;
        return Ok(Done::Well);
    }
    out.line(&path.path.join(" - "))?;
    relations(&path.relations, out)?;
    Ok(Done::Well)
}

fn relations(relations: &[ShownRelation], out: &Out) -> anyhow::Result<()> {
    let row = |of: &ShownRelation| vec![of.source.clone(), of.kind.clone(), of.target.clone()];
    let rows: Vec<Vec<String>> = relations.iter().map(row).collect();
    out.table(&["source", "relation", "target"], &rows)
}

fn edited(edit: EditId, out: &Out) -> anyhow::Result<Done> {
    if out.json {
        out.json_line(&json!({ "edit": edit.0 }))?
    } else {
        out.line(&format!("done: --undo {} takes it back", edit.0))?
    }
    Ok(Done::Well)
}

fn undo(database: &Database, id: u64, out: &Out) -> anyhow::Result<Done> {
    if !database.write(move |tx| tx.undo_concept_edit(EditId(id)))? {
        note!("loci: no merge or split {id}, or it was undone: --edits lists them");
        return Ok(Done::Wrong);
    }
    if out.json {
        out.json_line(&json!({ "undone": id }))?
    } else {
        out.line("undone")?
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
    Ok(Done::Well)
}

fn print(told: &ShownConcept, out: &Out) -> anyhow::Result<()> {
    out.line(&format!(
        "{}  ({} mentions in {} documents)",
        told.name,
        told.mentions.unwrap_or_default(),
        told.documents.unwrap_or_default()
    ))?;
    if !told.description.is_empty() {
        out.line(&told.description)?;
    }
    for (label, listed) in [
        ("Also", &told.synonyms),
        ("Learn first", &told.prerequisites),
    ] {
        if !listed.is_empty() {
            out.line(&format!("{label}: {}", listed.join(", ")))?;
        }
    }
    if let Some(finest) = told.communities.last() {
        out.line(&format!(
            "Together with: {} (community {}, {} concepts)",
            finest.members.join(", "),
            finest.id,
            finest.size
        ))?;
    }
    if !told.relations.is_empty() {
        relations(&told.relations, out)?;
    }
    let row = |of: &Mention| vec![of.chunk.clone(), of.label.clone(), of.text.clone()];
    let rows: Vec<Vec<String>> = told.chunks.iter().map(row).collect();
    out.table(&["chunk", "place", "text"], &rows)
}
