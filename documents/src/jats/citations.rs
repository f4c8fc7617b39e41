//! In-text citations: which works an `<xref ref-type="bibr">` means, and what readers see of it.
//!
//! Publishers write a range of works in several ways: all of its ids in one element (`rid="r3 r4 r5"`), elements
//! without text for the works between, or only its two ends (`<xref>3</xref>–<xref>5</xref>`). All three become one
//! citation whose text is the whole range.

use roxmltree::Node;

use super::walk::Walk;
use crate::limits::ParseError;

/// Works that one range may mean.
const RANGE_MAX: u32 = 200;

pub(super) fn write<'x>(walk: &mut Walk<'_, 'x>, xref: Node<'x, 'x>) -> Result<(), ParseError> {
    let from = walk.running.len();
    walk.children(xref)?;
    let ids = xref.attribute("rid").unwrap_or_default().split_whitespace();
    let mut works: Vec<u32> = ids
        .filter_map(|id| walk.reference_list.by_id.get(id).copied())
        .collect();
    let visible = walk.running.as_str().get(from..).unwrap_or_default().trim();
    if visible.is_empty() {
        if let Some((last, _)) = walk.running.last_citation() {
            add(&mut last.references, works);
        }
        return Ok(());
    }
    if let ([first], Some((low, high))) = (&works[..], range_in(visible)) {
        let last = first.saturating_add(high - low);
        if (last as usize) < walk.reference_list.references.len() {
            works = (*first..=last).collect();
        }
    }
    if works.is_empty() || joins_range(walk, from, &works) {
        return Ok(());
    }
    walk.running.cite(from, works);
    Ok(())
}

/// Lets the citation before reach to this one where both are the ends of a range.
fn joins_range(walk: &mut Walk<'_, '_>, from: usize, works: &[u32]) -> bool {
    let Some((before, tail)) = walk.running.last_citation() else {
        return false;
    };
    let start = before.range.start;
    let (len, between) = (before.range.len(), from.checked_sub(start));
    let Some((seen, here)) = between.and_then(|at| tail.split_at_checked(at)) else {
        return false;
    };
    let is_range = seen.get(len..).is_some_and(is_dash);
    let (low, high) = (last_number(seen), first_number(here));
    let (Some(low), Some(high), true) = (low, high, is_range) else {
        return false;
    };
    let (Some(&first), Some(&last)) = (before.references.first(), works.first()) else {
        return false;
    };
    let is_in_order = last > first && high > low && last - first == high - low;
    if !is_in_order || last - first > RANGE_MAX {
        return false;
    }
    let end = start + tail.trim_end().len();
    let all = (first..=last).chain(works.iter().copied());
    before.range.end = end;
    add(&mut before.references, all);
    true
}

/// Adds works that are not there yet. Citations of many works are few, so a search costs little.
fn add(references: &mut Vec<u32>, works: impl IntoIterator<Item = u32>) {
    for work in works {
        if !references.contains(&work) && references.len() < 2 * RANGE_MAX as usize {
            references.push(work);
        }
    }
}

fn is_dash(text: &str) -> bool {
    let inner = text.trim_matches(|c: char| c.is_whitespace() || "[]()".contains(c));
    matches!(inner, "-" | "–" | "—" | "−" | "‐" | "‑")
}

/// The ends of a range that is within one element: `3–5`.
fn range_in(visible: &str) -> Option<(u32, u32)> {
    let inner = visible.trim_matches(['[', ']', '(', ')', ' ']);
    let (low, high) = inner.split_once(['-', '–', '—', '−'])?;
    let (low, high): (u32, u32) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low < high && high - low <= RANGE_MAX).then_some((low, high))
}

fn first_number(text: &str) -> Option<u32> {
    let text = text.trim_start_matches(['[', '(', ' ']);
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text[..digits].parse().ok()
}

/// The number that `text` ends in, before a dash and brackets.
fn last_number(text: &str) -> Option<u32> {
    let text = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let rest = text.trim_end_matches(|c: char| c.is_ascii_digit());
    text[rest.len()..].parse().ok()
}
