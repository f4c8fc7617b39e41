//! What each operator of a search did, for `explain`.

use std::time::Instant;

use loci_types::answer::ExplainStep;

use crate::error::QueryError;

/// What each operator did, if the request has `explain`. An operator's time begins where that of the one before it
/// ended, so the times add up to the whole.
#[derive(Default)]
pub(super) struct Trace {
    /// When the request began; `None` without `explain`.
    started: Option<Instant>,
    /// Microseconds since then that are accounted for.
    accounted_us: u64,
    pub(super) steps: Vec<ExplainStep>,
}

impl Trace {
    /// A trace of a request that began at `started`.
    pub(super) fn new(explain: bool, started: Instant) -> Trace {
        Trace {
            started: explain.then_some(started),
            ..Trace::default()
        }
    }

    /// Whether operators are recorded.
    pub(super) fn is_on(&self) -> bool {
        self.started.is_some()
    }

    /// Runs one operator and records how many candidates it gave and how long it took.
    pub(super) fn step<T>(
        &mut self,
        operator: &'static str,
        run: impl FnOnce() -> Result<T, QueryError>,
        candidates: impl FnOnce(&T) -> usize,
    ) -> Result<T, QueryError> {
        let result = run()?;
        if self.started.is_some() {
            self.record(operator, candidates(&result));
        }
        Ok(result)
    }

    /// Records an operator that ended just now.
    pub(super) fn record(&mut self, operator: &'static str, candidates: usize) {
        let Some(started) = self.started else { return };
        // Rounded from the beginning on, so that roundings do not add up.
        let until_us = (started.elapsed().as_nanos() as u64 + 500) / 1000;
        self.steps.push(ExplainStep {
            operator: operator.into(),
            candidates: candidates as u64,
            took_us: until_us - self.accounted_us,
            detail: None,
        });
        self.accounted_us = until_us;
    }

    /// Says more of the last operator.
    pub(super) fn detail(&mut self, detail: String) {
        if let Some(step) = self.steps.last_mut().filter(|_| self.started.is_some()) {
            step.detail = Some(detail).filter(|detail| !detail.is_empty());
        }
    }
}
