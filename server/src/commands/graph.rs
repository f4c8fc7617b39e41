//! `loci graph`: the concept graph out to files of other programs, and in from theirs.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use loci_ingest::exchange::{Neo4j, PARSER, cypher, graphml};
use locidb::Database;
use locidb::storage::DocumentKey;
use serde_json::json;

use super::open;
use crate::args::{GraphExport, GraphFormat, GraphImport};
use crate::output::Out;
use crate::progress::Bar;
use crate::{Done, WrongCall};

pub(crate) fn export(args: &GraphExport, out: &Out) -> anyhow::Result<Done> {
    let database = open(&args.db)?;
    let extension = args.out.extension().and_then(|of| of.to_str());
    let named = match extension {
        Some("cypher" | "cql") => GraphFormat::Cypher,
        _ => GraphFormat::Graphml,
    };
    // A file that is there is replaced only when all of the new one is written.
    let unfinished = args.out.with_added_extension("part");
    let file = File::create(&unfinished).with_context(|| unfinished.display().to_string())?;
    let mut file = BufWriter::new(file);
    let view = database.view();
    let (concepts, relations) = match args.format.unwrap_or(named) {
        GraphFormat::Graphml => graphml(&view, &mut file)?,
        GraphFormat::Cypher => cypher(&view, &mut file)?,
    };
    file.flush()?;
    drop(file);
    fs::rename(&unfinished, &args.out).with_context(|| args.out.display().to_string())?;
    match out.json {
        true => out.json_line(&json!({ "concepts": concepts, "relations": relations }))?,
        false => out.line(&format!("{concepts} concepts and {relations} relations"))?,
    }
    Ok(Done::Well)
}

pub(crate) fn import(args: &GraphImport, out: &Out) -> anyhow::Result<Done> {
    let delimiter = match args.delimiter.as_bytes() {
        [one] => *one,
        b"TAB" | b"\\t" => b'\t',
        _ => return Err(WrongCall("--delimiter takes one character, or TAB".into()).into()),
    };
    let mut graph = Neo4j::default();
    let groups = [&args.all, &args.nodes, &args.relationships];
    for files in groups.into_iter().flatten() {
        let paths: Vec<PathBuf> = files.split(',').map(PathBuf::from).collect();
        graph.read(&paths, delimiter)?;
    }
    let (nodes, relationships) = graph.len();
    let documents = graph.documents(&args.key, &args.collection)?;
    let keys = documents.iter().map(|document| {
        let record = &document.record;
        DocumentKey::new(&record.user[..], &record.collection[..], &record.key[..])
    });
    let keys: Vec<DocumentKey> = keys.collect::<Result<_, _>>()?;
    if nodes == 0 {
        eprintln!("loci: no node was read; nothing is changed");
        return Ok(Done::Wrong);
    }
    let database = Database::open(&args.db)?;
    for key in &keys {
        if let Some(false) = is_import(&database, key)? {
            eprintln!("loci: {key} is a document of another kind: give another --key");
            return Ok(Done::Wrong);
        }
    }
    let others = others(&database, args, &keys)?;
    database.write(move |tx| {
        for document in documents {
            tx.put_document(document)?;
        }
        others
            .iter()
            .try_for_each(|key| tx.delete_document(key).map(drop))
    })?;
    let bar = Bar::new();
    database.finish(&bar)?;
    drop(bar);
    database.close();
    match out.json {
        true => out.json_line(&json!({ "nodes": nodes, "relationships": relationships }))?,
        false => out.line(&format!("{nodes} nodes and {relationships} relationships"))?,
    }
    Ok(Done::Well)
}

/// Whether an import made a document; `None` when it is not stored.
fn is_import(database: &Database, key: &DocumentKey) -> anyhow::Result<Option<bool>> {
    let view = database.view();
    let rows = view.snapshot().rows();
    let Some(id) = rows.document_id(key)? else {
        return Ok(None);
    };
    Ok(rows.document(id)?.map(|of| of.parser == PARSER))
}

/// The documents that an import before made beyond those of this one.
fn others(
    database: &Database,
    args: &GraphImport,
    keys: &[DocumentKey],
) -> anyhow::Result<Vec<DocumentKey>> {
    let of = |key: String| DocumentKey::new("", &args.collection[..], key);
    let mut others = vec![of(args.key.clone())?];
    for at in 0.. {
        let key = of(format!("{}/{at}", args.key))?;
        if is_import(database, &key)? != Some(true) {
            break;
        }
        others.push(key);
    }
    let mut gone = Vec::new();
    for key in others {
        if !keys.contains(&key) && is_import(database, &key)? == Some(true) {
            gone.push(key);
        }
    }
    Ok(gone)
}
