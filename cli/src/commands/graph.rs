//! `loci graph`: exports the concept graph to files of other programs, and imports theirs.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use loci_ingest::exchange::{Neo4jImport, cypher, graphml};
use loci_ingest::import::{self, ImportError};
use locidb::Database;
use locidb::storage::DocumentKey;
use serde_json::json;

use super::open;
use super::partial_file::PartialFile;
use crate::args::{GraphExport, GraphFormat, GraphImport};
use crate::output::{Printer, note};
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

pub(crate) fn export(args: &GraphExport, out: &Printer) -> anyhow::Result<CommandStatus> {
    let database = open(&args.db)?;
    let extension = args.out.extension().and_then(|of| of.to_str());
    let named = match extension {
        Some("cypher" | "cql") => GraphFormat::Cypher,
        _ => GraphFormat::Graphml,
    };
    // An existing file is replaced only when the new one is complete.
    let failed = || format!("writing {}", args.out.display());
    if args.out.exists() && !args.out.is_file() {
        let why = format!("{} is not a file", args.out.display());
        return Err(UsageError(why).into());
    }
    let unfinished = PartialFile::create(&args.out)?;
    let mut file = BufWriter::new(unfinished.file());
    let view = database.snapshot();
    let (concepts, relations) = match args.format.unwrap_or(named) {
        GraphFormat::Graphml => graphml(&view, &mut file)?,
        GraphFormat::Cypher => cypher(&view, &mut file)?,
    };
    file.flush().with_context(failed)?;
    drop(file);
    unfinished.publish_over(&args.out).with_context(failed)?;
    if out.json {
        out.json_line(&json!({ "concepts": concepts, "relations": relations }))?
    } else {
        out.line(&format!("{concepts} concepts and {relations} relations"))?
    }
    Ok(CommandStatus::Success)
}

pub(crate) fn import(args: &GraphImport, out: &Printer) -> anyhow::Result<CommandStatus> {
    let delimiter = match args.delimiter.as_bytes() {
        [one] => *one,
        b"TAB" | b"\\t" => b'\t',
        _ => return Err(UsageError("--delimiter takes one character, or TAB".into()).into()),
    };
    let mut graph = Neo4jImport::default();
    let groups = [&args.all, &args.nodes, &args.relationships];
    for files in groups.into_iter().flatten() {
        let paths: Vec<PathBuf> = files.split(',').map(PathBuf::from).collect();
        graph.read(&paths, delimiter)?;
    }
    let (nodes, relationships) = graph.len();
    let named = DocumentKey::new("", &args.collection[..], &args.key[..])?;
    let documents = graph.documents(&named)?;
    if documents.is_empty() {
        note!("loci: {}", ImportError::Empty);
        return Ok(CommandStatus::ProblemsFound);
    }
    let database = Database::open(&args.db)?;
    let bar = Bar::new();
    let imported = import::import(&database, &named, documents, &bar);
    drop(bar);
    database.close();
    match imported {
        Err(error @ ImportError::KeyConflict(_)) => {
            note!("loci: {error}");
            return Ok(CommandStatus::ProblemsFound);
        }
        imported => imported?,
    }
    if out.json {
        out.json_line(&json!({ "nodes": nodes, "relationships": relationships }))?
    } else {
        out.line(&format!("{nodes} nodes and {relationships} relationships"))?
    }
    Ok(CommandStatus::Success)
}
