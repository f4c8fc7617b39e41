//! Which way a segment is searched: what each would cost.
//!
//! Costs are in distances between codes, the unit that all ways share. The constants are rounded ratios
//! of counts and times at 384 dimensions: a walk with ef 32 measures some 450 distances, one with ef 64
//! some 780. What comes of them is in `benches/RESULTS.md`.

use std::fmt;

/// How the nearest of a segment are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
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

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Exact => f.write_str("exact scan"),
            Way::Scan => f.write_str("scan of codes"),
            Way::Walk { ef } => write!(f, "walk with ef {ef}"),
            Way::FilteredWalk { ef } => write!(f, "filtered walk with ef {ef}"),
        }
    }
}

/// What a plan looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
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
const DISTANCES_PER_CANDIDATE: f64 = 18.0;
const WAY_DOWN: f64 = 80.0;
/// What keeping a candidate among others costs, for each of the others.
const ORDER_PER_CANDIDATE: f64 = 0.04;
/// Candidates of a walk under a wide filter, beyond those that the filter removes on average.
const MARGIN: f64 = 1.15;
/// Asking whether a node may be found, its links read on the way.
const QUESTION: f64 = 0.8;
/// A share above which a filtered walk would pass over too little to pay.
const WIDE: f64 = 0.5;
/// Candidates of a filtered walk for each that was asked for: it sees fewer ways to each.
const FILTERED_CANDIDATES: f64 = 1.5;

/// The cheapest way.
pub(super) fn plan(facts: Facts) -> Way {
    let Facts {
        count,
        eligible,
        ef,
        degree_max,
    } = facts;
    if eligible <= EXACT_MAX.max(ef / 8) {
        return Way::Exact;
    }
    let share = (eligible as f64 / count as f64).clamp(1e-9, 1.0);
    let margin = if share < 1.0 { MARGIN } else { 1.0 };
    let wide_ef = (ef as f64 / share * margin).ceil();
    let each = |kept: f64| DISTANCES_PER_CANDIDATE + kept * ORDER_PER_CANDIDATE;
    let walk = WAY_DOWN + wide_ef * each(wide_ef);
    let filtered_ef = ef as f64 * FILTERED_CANDIDATES;
    let asked = (degree_max as f64 / share).min((degree_max * degree_max) as f64);
    let filtered = WAY_DOWN + filtered_ef * (each(filtered_ef) + asked * QUESTION);
    let scan = eligible as f64;
    if scan <= walk.min(filtered) {
        Way::Scan
    } else if walk <= filtered || share >= WIDE {
        Way::Walk {
            ef: wide_ef as usize,
        }
    } else {
        Way::FilteredWalk {
            ef: filtered_ef as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategy_depends_on_the_eligible_share() {
        let way = |count, eligible| {
            plan(Facts {
                count,
                eligible,
                ef: 64,
                degree_max: 32,
            })
        };
        let cases = [
            ("everything", 1_000_000, 1_000_000, Way::Walk { ef: 64 }),
            ("half", 1_000_000, 500_000, Way::Walk { ef: 148 }),
            ("a tenth", 1_000_000, 100_000, Way::FilteredWalk { ef: 96 }),
            ("a thousandth", 1_000_000, 1_000, Way::Scan),
            ("a tenth of few", 10_000, 1_000, Way::Scan),
            ("a handful", 1_000_000, 50, Way::Exact),
            ("nothing", 1_000_000, 0, Way::Exact),
        ];
        for (what, count, eligible, want) in cases {
            assert_eq!(way(count, eligible), want, "{what}");
        }
    }
}
