//! A plan run over one view: embed, analyse, filter, arms, fuse, rank, fetch, cite, assemble.
//!
//! | module | what |
//! | --- | --- |
//! | `execution` | a plan while it runs: operators in turn, then the answer |
//! | `question` | the question's vector, terms and concepts |
//! | `arms` | text, vector and graph search over one filter |
//! | `walk` | where graph search starts |
//! | `concept_similarity` | concepts near to a question that names none |
//! | `communities` | digests that answer |
//! | `rerank` | operators that reorder fused chunks |
//! | `fetch` | rows of the hits, with their citations |
//! | `highlights` | the question's words in the hits; spelling suggestions |
//! | `partial` | what a search lacks, and why |
//! | `trace` | what each operator did |
//!
//! Always true: everything in an answer is of one generation; redb is read only for the chunks
//! that are returned, their parents and documents, and the concepts that are named.
//!
//! Start reading at [`Searcher::search`], then `Execution::step`.

mod arms;
mod communities;
mod concept_similarity;
mod execution;
mod fetch;
mod highlights;
mod partial;
mod question;
mod rerank;
mod trace;
mod walk;

use std::fmt;
use std::time::Instant;

use loci_types::answer::Answer;
use loci_types::search::SearchRequest;
use parking_lot::Mutex;

use crate::error::QueryError;
use crate::plan::{Plan, plan};
use crate::tokens::{TokenCounter, estimate};
use crate::view::ReadView;
use execution::{Scratch, run};
use trace::Trace;

/// Answers questions. Holds scratch that is used again; share one between threads.
pub struct Searcher {
    pool: Mutex<Vec<Scratch>>,
    counter: Box<dyn Fn(&str) -> usize + Send + Sync>,
}

/// One whose budgets are estimates.
impl Default for Searcher {
    fn default() -> Self {
        Searcher::new(Box::new(estimate))
    }
}

impl fmt::Debug for Searcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Searcher")
    }
}

impl Searcher {
    /// One whose budgets are in the tokens of `counter`.
    pub fn new(counter: Box<dyn Fn(&str) -> usize + Send + Sync>) -> Searcher {
        Searcher {
            pool: Mutex::default(),
            counter,
        }
    }

    /// What its budgets are counted by.
    pub fn counter(&self) -> TokenCounter<'_> {
        &*self.counter
    }

    /// Answers `request` over `view`: plans, and runs the plan.
    ///
    /// # Errors
    /// [`QueryError::NoVector`] when the vector strategy has no vector, [`QueryError::Embed`] when the embedder cannot
    /// make one for it;
    /// [`QueryError::NoDigests`] when the global one has no digests; [`QueryError::Option`] for a number that is out of the
    /// bounds of its field;
    /// [`QueryError::Vector`] for one of another dimension or with a number that is not finite; the other
    /// variants when an index cannot be read.
    pub fn search(&self, view: &ReadView, request: SearchRequest) -> Result<Answer, QueryError> {
        let started = Instant::now();
        let plan = self.plan(view, request)?;
        let mut trace = Trace::new(plan.request.explain, started);
        trace.record("plan", plan.operators.len());
        let mut answer = self.run_traced(view, &plan, trace)?;
        answer.took_us = elapsed_us(started);
        Ok(answer)
    }

    /// What [`Searcher::search`] would do for `request` over `view`.
    ///
    /// # Errors
    /// [`QueryError::Option`] for a number that is out of the bounds of its field; [`QueryError::Facets`] when the
    /// facets cannot be read.
    pub fn plan(&self, view: &ReadView, request: SearchRequest) -> Result<Plan, QueryError> {
        request.check()?;
        let names_concepts = |question: &str| {
            let segments = view.graph_segments();
            !view.graph(&segments).link_question(question).is_empty()
        };
        Ok(plan(request, &view.capabilities()?, names_concepts))
    }

    /// Runs `plan` over `view`. The same plan over the same view gives the same answer, but for the times.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn run(&self, view: &ReadView, plan: &Plan) -> Result<Answer, QueryError> {
        let started = Instant::now();
        let trace = Trace::new(plan.request.explain, started);
        let mut answer = self.run_traced(view, plan, trace)?;
        answer.took_us = elapsed_us(started);
        Ok(answer)
    }

    fn run_traced(&self, view: &ReadView, plan: &Plan, trace: Trace) -> Result<Answer, QueryError> {
        let mut scratch = self.pool.lock().pop().unwrap_or_default();
        let answer = run(view, plan, trace, self.counter(), &mut scratch);
        self.pool.lock().push(scratch);
        answer
    }
}

/// Microseconds since `started`, rounded as those of operators are.
fn elapsed_us(started: Instant) -> u64 {
    (started.elapsed().as_nanos() as u64 + 500) / 1000
}
