//! `loci eval`: asks the questions of a prepared data folder and evaluates the answers.
//!
//! Start reading at [`run`].

use std::time::Instant;

use loci_benches::eval::{self, Comparison, Evaluation, LostInTheMiddle, StrategyRun, Timing};
use loci_benches::folder::Folder;
use loci_benches::load::{self, Embedder};
use loci_benches::metrics::Judgements;
use locidb::{Database, SearchRequest, Strategy};
use serde_json::json;

use super::data::{concepts, embedder};
use super::{open_or_create, options};
use crate::args::{ConceptsArg, Eval};
use crate::output::{Printer, note};
use crate::progress::Bar;
use crate::{CommandStatus, UsageError};

type Options = Vec<(String, String)>;

/// The results, collected for tables.
#[derive(Default)]
struct EvalReport {
    evaluations: Vec<Vec<String>>,
    comparisons: Vec<Vec<String>>,
    lost_in_the_middle: Vec<LostInTheMiddle>,
    timing: Option<Timing>,
}

pub(crate) fn run(args: &Eval, out: &Printer) -> anyhow::Result<CommandStatus> {
    let started = Instant::now();
    let set = options::parse("--set", &args.set)?;
    let against = options::parse("--against", &args.against)?;
    let folder = Folder::open(&args.data)?;
    if folder.queries.is_empty() {
        return Err(UsageError(format!("{} has no queries.jsonl to ask", folder.name)).into());
    }
    let embedder = embedder(args.embedder, &folder);
    let strategies = strategies(args, embedder, &folder)?;
    let temporary = tempfile::tempdir()?;
    let path = args.db.as_deref().unwrap_or(temporary.path());
    let database = open_or_create(path)?;
    let is_loaded = database.stats().documents == 0;
    if is_loaded {
        let bar = Bar::new();
        load::load(&database, &folder, embedder, concepts(args.concepts), &bar)?;
    }
    let is_judged = |of: &Judgements| of.values().any(|&gain| gain > 0.0);
    if !folder.judgements.iter().any(is_judged) {
        let why =
            "no question has a relevant chunk: qrels.tsv is missing, or names none of the chunks";
        return Err(UsageError(format!("{}: {why}", folder.name)).into());
    }
    // A corpus can be too small for the built-in embedder.
    let has_vectors = database.snapshot().snapshot().active_space().is_some();
    let lacks = |strategy: &Strategy| *strategy == Strategy::Vector && !has_vectors;
    if args.strategy.is_empty() && strategies.iter().any(lacks) {
        note!("loci: the store has no vectors, so the strategy vector is left out");
    }
    let selected = strategies
        .into_iter()
        .filter(|strategy| !args.strategy.is_empty() || !lacks(strategy));
    let mut report = EvalReport::default();
    let has_given_vectors = embedder == Embedder::Given;
    if args.timing {
        let started = Some(started).filter(|_| is_loaded);
        let timing = eval::timing::timing(&database, &folder, has_given_vectors, started)?;
        if out.json {
            out.json_line(&json!({ "timing": timing }))?;
        }
        report.timing = Some(timing);
    }
    for strategy in selected {
        let template = SearchRequest {
            k: args.k,
            strategy,
            ..SearchRequest::default()
        };
        let one = ask_side(&database, &folder, &template, &set, has_given_vectors)?;
        report.add_evaluation(&one, &set, out)?;
        if args.lost_in_the_middle {
            let lost = eval::lost_in_the_middle(&database.snapshot(), &folder, &one)?;
            if out.json {
                out.json_line(&json!({ "lost_in_the_middle": lost }))?;
            }
            report.lost_in_the_middle.push(lost);
        }
        if !against.is_empty() {
            let both = with_overrides(&set, &against);
            let other = ask_side(&database, &folder, &template, &both, has_given_vectors)?;
            report.add_evaluation(&other, &both, out)?;
            report.add_comparison(&eval::compare(&one, &other), out)?;
        }
    }
    if !out.json {
        report.print(out)?;
    }
    database.close();
    Ok(CommandStatus::Success)
}

/// `set` overridden by `against`.
fn with_overrides(set: &Options, against: &Options) -> Options {
    let unchanged = set
        .iter()
        .filter(|(name, _)| against.iter().all(|(other, _)| other != name));
    unchanged.chain(against).cloned().collect()
}

/// All questions, asked with these options.
fn ask_side(
    database: &Database,
    folder: &Folder,
    template: &SearchRequest,
    set: &Options,
    has_given_vectors: bool,
) -> anyhow::Result<StrategyRun> {
    let template = options::apply(template, set).map_err(locidb::Error::from)?;
    Ok(eval::ask(database, folder, &template, has_given_vectors)?)
}

impl EvalReport {
    fn add_evaluation(
        &mut self,
        answers: &StrategyRun,
        set: &Options,
        out: &Printer,
    ) -> anyhow::Result<()> {
        let evaluation = answers.evaluation(set);
        if out.json {
            out.json_line(&evaluation)?;
        }
        self.evaluations.push(row(&evaluation));
        Ok(())
    }

    fn add_comparison(&mut self, lines: &[Comparison], out: &Printer) -> anyhow::Result<()> {
        for line in lines {
            if out.json {
                out.json_line(&json!({ "compare": line }))?;
            }
            self.comparisons.push(vec![
                line.strategy.clone(),
                line.metric.into(),
                format_percent(line.a),
                format_percent(line.b),
                format!("{:+.1}", line.difference * 100.0),
                format_interval(line.ci95),
                line.better.to_string(),
                line.worse.to_string(),
                line.same.to_string(),
            ]);
        }
        Ok(())
    }

    fn print(&self, out: &Printer) -> anyhow::Result<()> {
        let header = [
            "strategy",
            "queries",
            "recall@2",
            "recall@5",
            "95 %",
            "recall@10",
            "ndcg@10",
            "95 %",
            "mrr@10",
            "cited",
            "p50_us",
            "p99_us",
        ];
        out.table(&header, &self.evaluations)?;
        if !self.comparisons.is_empty() {
            let header = [
                "strategy", "metric", "a", "b", "b - a", "95 %", "better", "worse", "same",
            ];
            out.line("")?;
            out.table(&header, &self.comparisons)?;
        }
        for lost in &self.lost_in_the_middle {
            out.line("")?;
            print_lost(lost, out)?;
        }
        if let Some(timing) = &self.timing {
            out.line("")?;
            print_timing(timing, out)?;
        }
        Ok(())
    }
}

fn print_lost(lost: &LostInTheMiddle, out: &Printer) -> anyhow::Result<()> {
    let recall = |value: Option<f64>| value.map_or_else(|| "-".into(), format_percent);
    let mut rows = Vec::new();
    for (fifth, of) in (1..).zip(&lost.by_position) {
        let what = format!("{fifth}. fifth of the document");
        rows.push(vec![what, of.relevant.to_string(), recall(of.recall_5)]);
    }
    for of in &lost.by_length {
        let (from, to) = of.chars.unwrap_or_default();
        let what = format!("documents of {from} to {to} characters");
        rows.push(vec![what, of.relevant.to_string(), recall(of.recall_5)]);
    }
    out.table(&[&lost.strategy, "relevant", "recall@5"], &rows)?;
    if lost.single_chunk_documents {
        out.line("Each relevant chunk is its whole document, so its position is not meaningful.")?;
    }
    Ok(())
}

fn print_timing(timing: &Timing, out: &Printer) -> anyhow::Result<()> {
    if let Some((whole, each)) = timing.file_to_queryable_s.zip(timing.per_document_ms) {
        out.line(&format!(
            "{} documents from files to the first answer in {whole:.2} s, {each:.2} ms each",
            timing.documents
        ))?;
    }
    if let Some(embed) = timing.embed_1000_chunks_s {
        out.line(&format!("1,000 chunks are embedded in {embed:.2} s"))?;
    }
    Ok(())
}

/// The strategies in the arguments; without any, those that the data allow.
fn strategies(
    args: &Eval,
    embedder: Embedder,
    folder: &Folder,
) -> Result<Vec<Strategy>, UsageError> {
    let named = |name: &String| {
        let unknown = || {
            let names = Strategy::ALL.map(Strategy::name).join(", ");
            UsageError(format!("--strategy {name}: give one of {names}"))
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
        (Strategy::Auto, true),
    ];
    Ok(all
        .into_iter()
        .filter(|(_, possible)| *possible)
        .map(|(strategy, _)| strategy)
        .collect())
}

fn format_percent(value: f64) -> String {
    format!("{:.1}", value * 100.0)
}

fn format_interval(ends: [f64; 2]) -> String {
    let [low, high] = ends.map(format_percent);
    format!("{low}..{high}")
}

fn row(e: &Evaluation) -> Vec<String> {
    let strategy = if e.options.is_empty() {
        e.strategy.clone()
    } else {
        format!("{} {}", e.strategy, e.options.join(" "))
    };
    vec![
        strategy,
        e.queries.to_string(),
        format_percent(e.recall_2),
        format_percent(e.recall_5),
        format_interval(e.recall_5_ci),
        format_percent(e.recall_10),
        format_percent(e.ndcg_10),
        format_interval(e.ndcg_10_ci),
        format_percent(e.mrr_10),
        e.citation_exact.map_or_else(|| "-".into(), format_percent),
        format!("{:.0}", e.p50_us),
        format!("{:.0}", e.p99_us),
    ]
}
