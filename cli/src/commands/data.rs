//! `loci load` and `loci bench`: prepared data folders.

use std::path::Path;
use std::process::Command;

use loci_benches::folder::Folder;
use loci_benches::graph;
use loci_benches::hybrid::{self, HybridBench};
use loci_benches::load::{self, Concepts, Embedder};
use loci_benches::search::{self, SearchBench};
use loci_benches::store;
use loci_benches::text::{self, TextBench};
use loci_benches::vector::{self, VectorBench};
use serde_json::{Value, json};

use super::open_or_create;
use crate::args::{Bench, ConceptsArg, EmbedderArg, First, Load, TaskArg};
use crate::output::Printer;
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

pub(crate) fn load(args: &Load, out: &Printer) -> anyhow::Result<CommandStatus> {
    let folder = Folder::open(&args.data)?;
    let database = open_or_create(&args.db)?;
    let embedder = embedder(args.embedder, &folder);
    let bar = Bar::new();
    let loaded = load::load(&database, &folder, embedder, concepts(args.concepts), &bar)?;
    drop(bar);
    database.close();
    if out.json {
        out.json_line(&json!({ "set": folder.name, "loaded": loaded }))?;
    } else {
        out.line(&format!(
            "{}: {} documents, {} chunks in {:.2} s",
            folder.name, loaded.documents, loaded.chunks, loaded.load_s
        ))?;
    }
    Ok(CommandStatus::Success)
}

pub(crate) fn bench(args: &Bench, out: &Printer) -> anyhow::Result<CommandStatus> {
    let (threads, limit) = (args.threads.into(), args.limit.map(|limit| limit as usize));
    let mut result = Ok(());
    let print = |line: &Value| {
        if result.is_ok() {
            result = out.json_line(line);
        }
    };
    if let (TaskArg::Search, Some(store), Some(questions)) = (args.task, &args.db, &args.questions)
    {
        let bench = search_bench(args);
        search::run_store(store, questions, &bench, print)?;
        result?;
        return Ok(CommandStatus::Success);
    }
    let data = args.data.as_ref();
    let data = data.ok_or_else(|| UsageError("--db: only --task search uses a store".into()))?;
    match args.task {
        TaskArg::Search => search::run(data, &search_bench(args), print)?,
        TaskArg::Vector => {
            let bench = VectorBench {
                codes: args.variant,
                threads,
                limit,
                filter_shares: args.filter_share.clone(),
            };
            vector::run(data, &bench, print)?;
        }
        TaskArg::Text => text::run(data, &TextBench { threads, limit }, print)?,
        TaskArg::Graph => graph::walks(data, threads, print)?,
        TaskArg::Algorithms => graph::algorithms(data, print)?,
        TaskArg::Hybrid => hybrid::run(data, &HybridBench { threads, limit }, print)?,
        TaskArg::Load => store::load(data, &HybridBench { threads, limit }, print)?,
        TaskArg::Open => {
            let program = std::env::current_exe()?;
            let process = |store: &Path, question: &Path| {
                let mut process = Command::new(&program);
                process.arg("__first").arg(store).arg(question);
                process
            };
            store::open(data, &HybridBench { threads, limit }, process, print)?;
        }
    }
    result?;
    Ok(CommandStatus::Success)
}

fn search_bench(args: &Bench) -> SearchBench {
    SearchBench {
        threads: args.threads.into(),
        limit: args.limit.map(|limit| limit as usize),
        embedder: args.embedder.map(from_arg),
        concepts: concepts(args.concepts),
    }
}

/// The work of a process of `bench --task open`.
pub(crate) fn first(args: &First, out: &Printer) -> anyhow::Result<CommandStatus> {
    out.json_line(&store::first(&args.store, &args.question)?)?;
    Ok(CommandStatus::Success)
}

pub(super) fn embedder(arg: Option<EmbedderArg>, folder: &Folder) -> Embedder {
    match arg {
        Some(arg) => from_arg(arg),
        None if folder.chunk_vectors.is_some() => Embedder::Given,
        None => Embedder::Builtin,
    }
}

fn from_arg(arg: EmbedderArg) -> Embedder {
    match arg {
        EmbedderArg::Given => Embedder::Given,
        EmbedderArg::Builtin => Embedder::Builtin,
        EmbedderArg::None => Embedder::None,
    }
}

pub(super) fn concepts(arg: ConceptsArg) -> Concepts {
    match arg {
        ConceptsArg::Given => Concepts::Given,
        ConceptsArg::Builtin => Concepts::Builtin,
        ConceptsArg::None => Concepts::None,
    }
}
