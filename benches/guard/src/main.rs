//! `guard`: LociDB beside other crates, task by task, and a failure where a committed ratio got worse.
//!
//! A ratio is LociDB's time divided by its rival's for the same work on the same data, measured in this process in
//! alternating rounds, so that noise of the machine affects both. It is processor time for searches and wall time for
//! commits, which wait for the disk. The median of the rounds counts. `ratios.json` holds the accepted ratios; a ratio
//! more than 15 % above its accepted value is a failure (exit status 1): repair it, or accept it with a reason.
//!
//! Start reading at [`main`], then [`TASKS`].

mod data;
mod glue;
mod loci;
#[path = "../../rivals/src/tokenizer.rs"]
mod tokenizer;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use cpu_time::ProcessTime;
use locidb::SearchRequest;
use serde_json::{Map, Value, json};

use crate::data::Data;
use crate::glue::Glue;
use crate::loci::Loci;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Hits of an answer.
pub(crate) const K: usize = 10;
/// Hits of each of text, vector and graph search.
pub(crate) const LEG: usize = 20;
/// Candidates of a search for vectors.
pub(crate) const EF: usize = 64;
/// The factor by which a ratio may exceed the accepted one.
const SLACK: f64 = 1.15;
/// Commits in a round.
const COMMITS: u64 = 50;

#[derive(Debug, Parser)]
#[command(about = "Compare LociDB with its rivals, and fail where a committed ratio got worse")]
struct Args {
    /// Rounds of each side
    #[arg(long, default_value_t = 41)]
    rounds: usize,
    /// Chunks of the data set
    #[arg(long, default_value_t = 20_000)]
    chunks: usize,
    /// Questions of a round
    #[arg(long, default_value_t = 300)]
    questions: usize,
    /// Only these tasks
    #[arg(long, value_delimiter = ',')]
    tasks: Vec<String>,
    /// File of the accepted ratios
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/ratios.json"))]
    ratios: PathBuf,
    /// Write the ratios of this run to that file
    #[arg(long)]
    accept: bool,
}

/// Both sides, and their questions.
struct Sides {
    data: Data,
    loci: Loci,
    glue: Glue,
    default: Vec<SearchRequest>,
    hybrid: Vec<SearchRequest>,
    commits: u64,
}

/// One turn of one side.
type Turn = fn(&mut Sides) -> Result<()>;

/// Name, LociDB's turn, the rival's, and whether wall time counts.
const TASKS: [(&str, Turn, Turn, bool); 6] = [
    (
        "text",
        |sides| {
            each(sides, |sides, at| {
                sides.loci.text(&sides.data.questions[at])
            })
        },
        |sides| {
            each(sides, |sides, at| {
                Ok(sides.glue.text(&sides.data.questions[at])?.len())
            })
        },
        false,
    ),
    (
        "vector",
        |sides| {
            each(sides, |sides, at| {
                sides.loci.vector(&sides.data.questions[at])
            })
        },
        |sides| {
            each(sides, |sides, at| {
                Ok(sides.glue.vector(&sides.data.questions[at])?.len())
            })
        },
        false,
    ),
    (
        "graph",
        |sides| {
            each(sides, |sides, at| {
                sides.loci.graph(&sides.data.questions[at])
            })
        },
        |sides| {
            each(sides, |sides, at| {
                Ok(sides.glue.graph(&sides.data.questions[at])?.len())
            })
        },
        false,
    ),
    (
        "hybrid",
        |sides| each(sides, |sides, at| sides.loci.search(&sides.hybrid[at])),
        |sides| {
            each(sides, |sides, at| {
                sides.glue.hybrid(&sides.data.questions[at])
            })
        },
        false,
    ),
    (
        "search",
        |sides| each(sides, |sides, at| sides.loci.search(&sides.default[at])),
        |sides| {
            each(sides, |sides, at| {
                sides.glue.hybrid(&sides.data.questions[at])
            })
        },
        false,
    ),
    (
        "commit",
        |sides| commits(sides, |sides, number| sides.loci.commit(number)),
        |sides| commits(sides, |sides, number| sides.glue.commit(number)),
        true,
    ),
];

fn each(sides: &mut Sides, ask: impl Fn(&mut Sides, usize) -> Result<usize>) -> Result<()> {
    for at in 0..sides.data.questions.len() {
        let hits = ask(sides, at)?;
        ensure!(
            hits > 0,
            "question {at} has no hits: {}",
            sides.data.questions[at].text
        );
    }
    Ok(())
}

fn commits(sides: &mut Sides, commit: impl Fn(&Sides, u64) -> Result<()>) -> Result<()> {
    for number in 0..COMMITS {
        commit(sides, sides.commits + number)?;
    }
    Ok(())
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    ensure!(
        args.rounds > 0 && args.chunks >= 100 && args.questions > 0,
        "give positive numbers"
    );
    for task in &args.tasks {
        ensure!(
            TASKS.iter().any(|(name, ..)| name == task),
            "there is no task {task}"
        );
    }
    let accepted = accepted(&args)?;
    let mut sides = Sides::build(&args)?;
    let (mut measured, mut is_worse) = (accepted.clone(), false);
    for (name, ours, theirs, is_wall) in TASKS {
        if !args.tasks.is_empty() && !args.tasks.iter().any(|task| task == name) {
            continue;
        }
        let line = measure(&mut sides, (ours, theirs), is_wall, args.rounds)?;
        let ratio = line["ratio"].as_f64().context("a ratio is a number")?;
        let before = accepted.get(name).and_then(Value::as_f64);
        ensure!(
            before.is_some() || args.accept,
            "no ratio of {name} is accepted yet: run with --accept"
        );
        let failed = before.is_some_and(|before| ratio > before * SLACK);
        is_worse |= failed;
        let mut line = line;
        line["task"] = json!(name);
        line["reached"] = json!(before);
        line["worse"] = json!(failed);
        println!("{line}");
        measured.insert(name.into(), json!((ratio * 1000.0).round() / 1000.0));
    }
    if args.accept {
        let text = serde_json::to_string_pretty(&measured)? + "\n";
        std::fs::write(&args.ratios, text).with_context(|| args.ratios.display().to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if is_worse {
        eprintln!(
            "A ratio is more than {:.0} % above the accepted one ({}). Run again on a quiet machine; if it \
             stays, find the change that caused it, or accept the new ratios with --accept and say why.",
            (SLACK - 1.0) * 100.0,
            args.ratios.display()
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The ratios of the file; none where there is no file and it is to be written.
fn accepted(args: &Args) -> Result<Map<String, Value>> {
    if !args.ratios.exists() {
        ensure!(
            args.accept,
            "there is no {}: --accept writes it",
            args.ratios.display()
        );
        return Ok(Map::new());
    }
    let text = std::fs::read_to_string(&args.ratios)?;
    let value: Value =
        serde_json::from_str(&text).with_context(|| args.ratios.display().to_string())?;
    value
        .as_object()
        .cloned()
        .context("the file of ratios is not a JSON object")
}

impl Sides {
    fn build(args: &Args) -> Result<Sides> {
        let data = Data::new(args.chunks, args.questions);
        eprintln!("building both sides over {} chunks", data.chunks.len());
        let loci = Loci::build(&data)?;
        let glue = Glue::build(&data)?;
        let questions = data.questions.iter();
        let default = questions
            .clone()
            .map(|question| loci.default_request(question));
        let hybrid = questions.map(|question| loci.hybrid_request(question));
        Ok(Sides {
            default: default.collect(),
            hybrid: hybrid.collect(),
            data,
            loci,
            glue,
            commits: 0,
        })
    }
}

/// Alternating rounds of both sides, after one that is not counted.
fn measure(
    sides: &mut Sides,
    (ours, theirs): (Turn, Turn),
    is_wall: bool,
    rounds: usize,
) -> Result<Value> {
    let mut took: [Vec<f64>; 2] = Default::default();
    let mut ratios = Vec::with_capacity(rounds);
    for round in 0..=rounds {
        let mut both = [0.0; 2];
        for (side, turn) in [ours, theirs].into_iter().enumerate() {
            let (wall, cpu) = (Instant::now(), ProcessTime::now());
            turn(sides)?;
            let spent = if is_wall {
                wall.elapsed()
            } else {
                cpu.elapsed()
            };
            both[side] = spent.as_secs_f64() * 1e6;
        }
        sides.commits += COMMITS;
        if round > 0 {
            ratios.push(both[0] / both[1].max(1e-9));
            took.iter_mut()
                .zip(both)
                .for_each(|(took, us)| took.push(us));
        }
    }
    let count = if is_wall {
        COMMITS as usize
    } else {
        sides.data.questions.len()
    };
    let [ours, theirs] = took.map(|took| median(took) / count as f64);
    ratios.sort_unstable_by(f64::total_cmp);
    Ok(json!({
        "ratio": median(ratios.clone()),
        "ratio_least": ratios.first(),
        "ratio_most": ratios.last(),
        "loci_us": ours,
        "rival_us": theirs,
        "rounds": rounds,
    }))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
