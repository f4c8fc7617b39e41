//! Which way a segment is searched: what each would cost.
//!
//! Costs are in distances between codes, the unit that all ways share. The constants are rounded ratios
//! of counts and times at 384 dimensions: a walk with ef 32 measures some 450 distances, one with ef 64
//! some 780. What comes of them is in `benches/RESULTS.md`.

use std::fmt;

/// How the nearest of a segment are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStrategy {
    /// All vectors that may be found are compared at full precision.
    Exact,
    /// The codes of all vectors that may be found are compared.
    Scan,
    /// A walk over all vectors, from which those that may be found are taken.
    Walk {
        /// Candidates that are expanded on average.
        ef: usize,
    },
    /// A walk over the vectors that may be found.
    FilteredWalk {
        /// Candidates that are expanded on average.
        ef: usize,
    },
}

impl fmt::Display for SearchStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SearchStrategy::Exact => f.write_str("exact scan"),
            SearchStrategy::Scan => f.write_str("scan of codes"),
            SearchStrategy::Walk { ef } => write!(f, "walk with ef {ef}"),
            SearchStrategy::FilteredWalk { ef } => write!(f, "filtered walk with ef {ef}"),
        }
    }
}

/// What a plan looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanInput {
    /// Vectors of the segment.
    pub(super) count: usize,
    /// Those that may be found; an estimate.
    pub(super) eligible: usize,
    /// Candidates that the effort asks for.
    pub(super) ef: usize,
    /// Links of a node.
    pub(super) degree_max: usize,
}

/// Vectors that are compared at full precision at once: no detour is shorter.
const EXACT_MAX: usize = 64;
/// What a walk does for each candidate that it keeps, besides a fixed way down.
const CANDIDATE_COST: f64 = 18.0;
const DESCENT_COST: f64 = 80.0;
/// What keeping a candidate among others costs, for each of the others.
const CANDIDATE_ORDER_COST: f64 = 0.04;
/// Candidates of a walk under a wide filter, beyond those that the filter removes on average.
const UNFILTERED_EF_MARGIN: f64 = 1.15;
/// Asking whether a node may be found, its links read on the way.
const FILTER_CHECK_COST: f64 = 0.8;
/// A share above which a filtered walk would pass over too little to pay.
const UNFILTERED_SHARE_MIN: f64 = 0.5;
/// Candidates of a filtered walk for each that was asked for: it sees fewer ways to each.
const FILTERED_CANDIDATES: f64 = 1.5;

/// The cheapest way.
pub(super) fn plan(facts: PlanInput) -> SearchStrategy {
    let PlanInput {
        count,
        eligible,
        ef,
        degree_max,
    } = facts;
    if eligible <= EXACT_MAX.max(ef / 8) {
        return SearchStrategy::Exact;
    }
    let share = (eligible as f64 / count as f64).clamp(1e-9, 1.0);
    let margin = if share < 1.0 {
        UNFILTERED_EF_MARGIN
    } else {
        1.0
    };
    let wide_ef = (ef as f64 / share * margin).ceil();
    let each = |list_len: f64| CANDIDATE_COST + list_len * CANDIDATE_ORDER_COST;
    let walk = DESCENT_COST + wide_ef * each(wide_ef);
    let filtered_ef = ef as f64 * FILTERED_CANDIDATES;
    let filter_checks = (degree_max as f64 / share).min((degree_max * degree_max) as f64);
    let filtered =
        DESCENT_COST + filtered_ef * (each(filtered_ef) + filter_checks * FILTER_CHECK_COST);
    let scan = eligible as f64;
    if scan <= walk.min(filtered) {
        SearchStrategy::Scan
    } else if walk <= filtered || share >= UNFILTERED_SHARE_MIN {
        SearchStrategy::Walk {
            ef: wide_ef as usize,
        }
    } else {
        SearchStrategy::FilteredWalk {
            ef: filtered_ef as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategy_depends_on_the_eligible_share() {
        let strategy = |count, eligible| {
            plan(PlanInput {
                count,
                eligible,
                ef: 64,
                degree_max: 32,
            })
        };
        let cases = [
            (
                "everything",
                1_000_000,
                1_000_000,
                SearchStrategy::Walk { ef: 64 },
            ),
            ("half", 1_000_000, 500_000, SearchStrategy::Walk { ef: 148 }),
            (
                "a tenth",
                1_000_000,
                100_000,
                SearchStrategy::FilteredWalk { ef: 96 },
            ),
            ("a thousandth", 1_000_000, 1_000, SearchStrategy::Scan),
            ("a tenth of few", 10_000, 1_000, SearchStrategy::Scan),
            ("a handful", 1_000_000, 50, SearchStrategy::Exact),
            ("nothing", 1_000_000, 0, SearchStrategy::Exact),
        ];
        for (what, count, eligible, want) in cases {
            assert_eq!(strategy(count, eligible), want, "{what}");
        }
    }
}
