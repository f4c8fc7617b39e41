//! `rivals`: LociDB's vector index beside other HNSW crates, over the same vectors in the same process.
//!
//! Invariants: unit vectors by inner product or cosine, M 16 (32 links in layer 0), efConstruction 200, one
//! thread that builds and one that searches, the 10 nearest. Systems take turns, round after round, so that
//! a busy machine slows all of them alike; recall is counted from the same answers that were timed.
//! Results are lines of JSON: a `build` for every system, a `search` for every system and ef (medians
//! of the rounds), a `ratio` for every rival.
//!
//! Start reading at [`run`]. Every system implements [`System`] in a file of its own; [`SystemKind`] lists them.

mod compare;
mod data;
mod hannoy;
mod hnsw_rs;
mod loci;
mod measure;
mod registry;
mod system;
mod usearch;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use cpu_time::ProcessTime;
use serde_json::{Value, json};

use crate::compare::Point;
use crate::data::Data;
use crate::measure::{Pass, Trial};
use crate::registry::SystemKind;
use crate::system::System;

/// Measures LociDB's vector index and other HNSW crates on the same vectors.
#[derive(Debug, Parser)]
struct Args {
    /// Folder with vectors.f32, queries.f32, gt10.i32 and meta.json.
    #[arg(long)]
    data: PathBuf,
    /// Takes the first so many vectors alone; right answers are then found by comparing all of them.
    #[arg(long)]
    limit: Option<usize>,
    /// Turns that each system has.
    #[arg(long, default_value_t = 4)]
    rounds: usize,
    /// Candidates that searches keep (efSearch).
    #[arg(long, value_delimiter = ',', default_values_t = [16, 24, 32, 48, 64, 96, 128, 256])]
    ef: Vec<usize>,
    /// Systems to measure.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = SystemKind::DEFAULT)]
    systems: Vec<SystemKind>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    ensure!(args.rounds > 0, "--rounds must be 1 or more");
    ensure!(!args.ef.is_empty(), "--ef needs at least one number");
    // Every system that builds with rayon finds this pool.
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .context("cannot start the thread that builds")?;
    run(&args)
}

/// Builds everything, lets the systems search in turns, compares.
fn run(args: &Args) -> Result<()> {
    let data = Data::read(&args.data, args.limit)?;
    let efs = ascending(&args.ef);
    let mut systems = args
        .systems
        .iter()
        .map(|&kind| build(kind, &data))
        .collect::<Result<Vec<_>>>()?;
    for (kind, system) in &mut systems {
        let widest = efs.last().copied().unwrap_or(data::K);
        system::check_self_recall(system.as_mut(), &data, widest)
            .with_context(|| format!("{kind} gives wrong answers"))?;
    }
    let passes = take_turns(&mut systems, &data, &efs, args.rounds)?;
    let mut curves = Vec::new();
    for (kind, of_system) in args.systems.iter().zip(&passes) {
        curves.push((*kind, report(*kind, &data, &efs, of_system)));
    }
    compare(&data, &curves);
    Ok(())
}

fn ascending(efs: &[usize]) -> Vec<usize> {
    let mut efs = efs.to_vec();
    efs.sort_unstable();
    efs.dedup();
    efs
}

/// Builds one system and prints its build time and size.
fn build(kind: SystemKind, data: &Data) -> Result<(SystemKind, Box<dyn System>)> {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let system = kind
        .build(data)
        .with_context(|| format!("cannot build {kind}"))?;
    let (wall, cpu) = (wall.elapsed(), cpu.elapsed());
    let fields = json!({
        "build_s": wall.as_secs_f64(),
        "cpu_s": cpu.as_secs_f64(),
        "bytes": system.bytes(),
        "simd": system.simd(),
    });
    print("build", kind, data, fields);
    Ok((kind, system))
}

/// All passes: of each system, of each ef, of each round.
fn take_turns(
    systems: &mut [(SystemKind, Box<dyn System>)],
    data: &Data,
    efs: &[usize],
    rounds: usize,
) -> Result<Vec<Vec<Vec<Pass>>>> {
    let mut trial = Trial::new(data);
    let mut passes = vec![vec![Vec::with_capacity(rounds); efs.len()]; systems.len()];
    for _ in 0..rounds {
        for ((kind, system), passes) in systems.iter_mut().zip(&mut passes) {
            let failed = || format!("{kind} cannot search");
            // An unmeasured pass: the caches hold the data of the system before.
            trial.pass(system.as_mut(), efs[0]).with_context(failed)?;
            for (&ef, passes) in efs.iter().zip(passes) {
                passes.push(trial.pass(system.as_mut(), ef).with_context(failed)?);
            }
        }
    }
    Ok(passes)
}

/// Prints the medians of a system, and returns its curve.
fn report(kind: SystemKind, data: &Data, efs: &[usize], passes: &[Vec<Pass>]) -> Vec<Point> {
    let mut curve = Vec::new();
    for (&ef, rounds) in efs.iter().zip(passes) {
        let middle = Pass::median(rounds);
        let fields = json!({
            "ef": ef,
            "rounds": rounds.len(),
            "recall10": middle.recall,
            "qps": middle.qps,
            "cpu_us": middle.cpu_us,
            "p50_us": middle.p50_us,
            "p99_us": middle.p99_us,
        });
        print("search", kind, data, fields);
        curve.push(Point {
            recall: middle.recall,
            qps: middle.qps,
            cpu_us: middle.cpu_us,
        });
    }
    curve
}

/// Prints how LociDB compares with each rival, where both were measured.
fn compare(data: &Data, curves: &[(SystemKind, Vec<Point>)]) {
    let Some((_, ours)) = curves.iter().find(|(kind, _)| *kind == SystemKind::Loci) else {
        return;
    };
    for (kind, theirs) in curves.iter().filter(|(kind, _)| *kind != SystemKind::Loci) {
        print("ratio", *kind, data, compare::ratios(ours, theirs));
    }
}

fn print(result: &str, kind: SystemKind, data: &Data, fields: Value) {
    let mut line = json!({
        "result": result,
        "system": kind.to_string(),
        "set": data.set,
        "n": data.count(),
    });
    if let (Some(line), Value::Object(fields)) = (line.as_object_mut(), fields) {
        line.extend(fields);
    }
    println!("{line}");
}
