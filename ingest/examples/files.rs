//! The whole main job, embedded: files in, cited answers out.
//!
//! `cargo run -p loci-ingest --example files -- FOLDER "a question"`

use std::ops::ControlFlow;
use std::path::PathBuf;

use loci_ingest::pipeline::{IngestOptions, Outcome, Reporter, ingest};
use loci_ingest::runner::InProcess;
use locidb::{Database, Progress, SearchRequest};

/// Prints what happens.
struct Print;

impl Progress for Print {
    fn report(&self, _: &str, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Reporter for Print {
    fn report_outcome(&self, outcome: &Outcome) {
        println!(
            "{:?} {}: {} chunks",
            outcome.status, outcome.document, outcome.chunks
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(folder), Some(question)) = (args.next(), args.next()) else {
        return Err("give a folder and a question".into());
    };
    let database = Database::open("files.loci")?;
    let paths = [PathBuf::from(folder)];
    ingest(
        &database,
        &paths,
        &IngestOptions::default(),
        &InProcess::default(),
        &Print,
    )?;
    for hit in database.search(&SearchRequest::new(question))?.hits {
        println!(
            "{}. {} — {}\n   {}\n",
            hit.rank, hit.citation.label, hit.chunk, hit.text
        );
    }
    database.close();
    Ok(())
}
