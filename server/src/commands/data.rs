//! `loci load`, `loci eval` and `loci bench`: prepared data folders.

use loci_benches::eval::{Evaluation, evaluate};
use loci_benches::folder::Folder;
use loci_benches::graph;
use loci_benches::load::{self, Concepts, Embedder};
use loci_benches::text::{self, TextBench};
use loci_benches::vector::{self, VectorBench};
use locidb::Strategy;
use serde_json::{Value, json};

use super::open_or_create;
use crate::args::{Bench, ConceptsArg, EmbedderArg, Eval, Load, TaskArg};
use crate::output::Out;
use crate::progress::Bar;
use crate::{Done, WrongCall};

pub(crate) fn load(args: &Load, out: &Out) -> anyhow::Result<Done> {
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
    Ok(Done::Well)
}

pub(crate) fn bench(args: &Bench, out: &Out) -> anyhow::Result<Done> {
    let (threads, limit) = (args.threads.into(), args.limit.map(|limit| limit as usize));
    let mut told = Ok(());
    let tell = |line: &Value| {
        if told.is_ok() {
            told = out.json_line(line);
        }
    };
    match args.task {
        TaskArg::Vector => {
            let bench = VectorBench {
                codes: args.variant,
                threads,
                limit,
                filter_shares: args.filter_share.clone(),
            };
            vector::run(&args.data, &bench, tell)?;
        }
        TaskArg::Text => text::run(&args.data, &TextBench { threads, limit }, tell)?,
        TaskArg::Graph => graph::walks(&args.data, threads, tell)?,
        TaskArg::Algorithms => graph::algorithms(&args.data, tell)?,
    }
    told?;
    Ok(Done::Well)
}

pub(crate) fn eval(args: &Eval, out: &Out) -> anyhow::Result<Done> {
    let folder = Folder::open(&args.data)?;
    if folder.queries.is_empty() {
        return Err(WrongCall(format!("{} has no queries.jsonl to ask", folder.name)).into());
    }
    let embedder = embedder(args.embedder, &folder);
    let strategies = strategies(args, embedder, &folder)?;
    let temporary = tempfile::tempdir()?;
    let path = args.db.as_deref().unwrap_or(temporary.path());
    let database = open_or_create(path)?;
    if database.stats().documents == 0 {
        let bar = Bar::new();
        load::load(&database, &folder, embedder, concepts(args.concepts), &bar)?;
    }
    let given = embedder == Embedder::Given;
    let mut rows = Vec::new();
    for strategy in strategies {
        let evaluation = evaluate(&database, &folder, strategy, args.k, given)?;
        if out.json {
            out.json_line(&evaluation)?;
        }
        rows.push(row(&evaluation));
    }
    if !out.json {
        let header = [
            "strategy",
            "queries",
            "recall@2",
            "recall@5",
            "recall@10",
            "ndcg@10",
            "mrr@10",
            "p50_us",
            "p99_us",
        ];
        out.table(&header, &rows)?;
    }
    database.close();
    Ok(Done::Well)
}

fn embedder(asked: Option<EmbedderArg>, folder: &Folder) -> Embedder {
    match asked {
        Some(EmbedderArg::Given) => Embedder::Given,
        Some(EmbedderArg::Builtin) => Embedder::Builtin,
        Some(EmbedderArg::None) => Embedder::None,
        None if folder.chunk_vectors.is_some() => Embedder::Given,
        None => Embedder::Builtin,
    }
}

fn concepts(asked: ConceptsArg) -> Concepts {
    match asked {
        ConceptsArg::Given => Concepts::Given,
        ConceptsArg::Builtin => Concepts::Builtin,
        ConceptsArg::None => Concepts::None,
    }
}

/// The strategies asked for, else those that the data allow.
fn strategies(
    args: &Eval,
    embedder: Embedder,
    folder: &Folder,
) -> Result<Vec<Strategy>, WrongCall> {
    let named = |name: &String| {
        let unknown = || {
            WrongCall(format!(
                "--strategy {name}: give hybrid, text, vector or graph"
            ))
        };
        Strategy::from_name(name).ok_or_else(unknown)
    };
    if !args.strategy.is_empty() {
        return args.strategy.iter().map(named).collect();
    }
    let graph = match args.concepts {
        ConceptsArg::Given => !folder.extracted.is_empty(),
        ConceptsArg::Builtin => true,
        ConceptsArg::None => false,
    };
    let all = [
        (Strategy::Text, true),
        (Strategy::Vector, embedder != Embedder::None),
        (Strategy::Graph, graph),
        (Strategy::Hybrid, true),
    ];
    Ok(all
        .into_iter()
        .filter(|(_, possible)| *possible)
        .map(|(strategy, _)| strategy)
        .collect())
}

fn row(e: &Evaluation) -> Vec<String> {
    let share = |value: f64| format!("{:.1}", value * 100.0);
    vec![
        e.strategy.clone(),
        e.queries.to_string(),
        share(e.recall_2),
        share(e.recall_5),
        share(e.recall_10),
        share(e.ndcg_10),
        share(e.mrr_10),
        format!("{:.0}", e.p50_us),
        format!("{:.0}", e.p99_us),
    ]
}
