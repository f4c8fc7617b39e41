//! The shortest part of a list that still fails: delta debugging.
//!
//! Source: Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
//! Transactions on Software Engineering 28(2), 2002: complements only, then single elements.

/// A part of `list` for which `fails` holds and of which no run of elements, whatever its length tried,
/// can be left out. `list` itself fails.
///
/// Asks at most `budget` times.
pub fn shrink<T: Clone>(list: &[T], budget: usize, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut remaining = list.to_vec();
    let mut attempts = 0;
    let mut run = remaining.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut removed = false;
        while at < remaining.len() && attempts < budget {
            let end = (at + run).min(remaining.len());
            let rest = [&remaining[..at], &remaining[end..]].concat();
            attempts += 1;
            if fails(&rest) {
                remaining = rest;
                removed = true;
            } else {
                at = end;
            }
        }
        if attempts >= budget || (run == 1 && !removed) {
            return remaining;
        }
        run = if removed && run == 1 {
            1
        } else {
            (run / 2).max(1)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_what_is_left() {
        let list: Vec<u32> = (0..400).collect();
        let needed = [3, 4, 170, 399];
        let fails = |part: &[u32]| needed.iter().all(|element| part.contains(element));
        assert_eq!(shrink(&list, 10_000, fails), needed);
        assert!(
            fails(&shrink(&list, 5, fails)),
            "a small budget leaves more, but it fails"
        );
    }
}
