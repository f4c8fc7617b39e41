//! Dates in a sentence: days, months of a year, years, decades and centuries.
//!
//! ```text
//! 7 July 1937 · August 8, 1892 · January 1841 · 10 July · 2013-01-16
//! in 1963 · (1963) · 1909–1942 · 1972–73
//! the 1980s · the late 19th century · 300 BC
//! ```
//!
//! A bare number is a year only where nothing speaks against it: no noun behind it that it counts
//! (`1500 words`), no word before it that it numbers (`port 1883`).

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use locidb::NewConcept;

use super::reading::Line;
use super::select::{SelectedConcept, is_short};
use super::{ExtractSettings, best_per_leaf};
use crate::text::lexicon;
use crate::text::prose::{self, Word};

/// The type of a concept that is a date.
const KIND: &str = "date";

/// What was seen of one date.
#[derive(Debug)]
struct DateOccurrences<'a> {
    written: &'a str,
    mentions: BTreeMap<u32, u32>,
    lines: u32,
}

/// The dates of a file as concepts, those first that are mentioned most. A date inside a name
/// (`2008 Summer Olympics`) is none. In a long file a date has to recur.
pub(crate) fn concepts(
    lines: &[Line],
    words: &[Vec<Word<'_>>],
    chosen: &[SelectedConcept],
    settings: &ExtractSettings,
) -> Vec<NewConcept> {
    let named = name_ranges_by_line(chosen);
    let mut seen: BTreeMap<String, DateOccurrences<'_>> = BTreeMap::new();
    for (at, (line, words)) in lines.iter().zip(words).enumerate() {
        if line.is_heading || line.is_contents_or_references {
            continue;
        }
        for run in dates(&line.text, words) {
            let overlaps = |name: &&Range<usize>| name.start < run.end && run.start < name.end;
            if named
                .get(&at)
                .is_some_and(|names| names.iter().any(|t| overlaps(&t)))
            {
                continue;
            }
            let run = &words[run];
            let date = seen
                .entry(super::name::key(run))
                .or_insert_with(|| DateOccurrences {
                    written: &line.text[run[0].start..run[run.len() - 1].end()],
                    mentions: BTreeMap::new(),
                    lines: 0,
                });
            date.lines += 1;
            line.leaves
                .iter()
                .for_each(|&leaf| *date.mentions.entry(leaf).or_default() += 1);
        }
    }
    let often = if is_short(lines) { 1 } else { 2 };
    let mut dates: Vec<DateOccurrences<'_>> = seen
        .into_values()
        .filter(|date| date.lines >= often)
        .collect();
    retain_best(&mut dates, settings.entities_per_chunk.div_ceil(2));
    dates.into_iter().map(concept).collect()
}

/// The words of each line that belong to a name.
fn name_ranges_by_line(chosen: &[SelectedConcept]) -> HashMap<usize, Vec<Range<usize>>> {
    let mut named: HashMap<usize, Vec<Range<usize>>> = HashMap::new();
    for (&line, runs) in chosen.iter().flat_map(|name| &name.occurrences) {
        named.entry(line).or_default().extend_from_slice(runs);
    }
    named
}

/// Keeps the mentions of the `limit` dates of every passage that are mentioned most, whole days
/// before years.
fn retain_best(dates: &mut Vec<DateOccurrences<'_>>, limit: usize) {
    dates.sort_by_key(|date| std::cmp::Reverse((date.lines, prose::words(date.written).len())));
    let mut contents: BTreeMap<u32, Vec<(f32, usize)>> = BTreeMap::new();
    for (i, date) in dates.iter().enumerate() {
        for &leaf in date.mentions.keys() {
            contents
                .entry(leaf)
                .or_default()
                .push((date.lines as f32, i));
        }
    }
    let retained = best_per_leaf(&contents, limit);
    for (i, date) in dates.iter_mut().enumerate() {
        date.mentions
            .retain(|&leaf, _| retained.contains(&(leaf, i)));
    }
    dates.retain(|date| !date.mentions.is_empty());
}

fn concept(date: DateOccurrences<'_>) -> NewConcept {
    NewConcept {
        name: date.written.to_owned(),
        kind: KIND.to_owned(),
        description: String::new(),
        synonyms: Vec::new(),
        mentions: date.mentions.into_iter().collect(),
    }
}

/// The dates of a sentence, in order, each with the words that write it. `text` is the sentence.
pub(crate) fn dates(text: &str, words: &[Word<'_>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        match date_len(text, words, at) {
            0 => at += 1,
            length => {
                found.push(at..at + length);
                at += length;
            }
        }
    }
    found
}

/// How many words from `at` write a date; 0 where none starts there.
fn date_len(text: &str, words: &[Word<'_>], at: usize) -> usize {
    let rest = &words[at..];
    let first = rest[0].surface;
    if !first.starts_with(|c: char| c.is_ascii_digit()) && !is_month(first) {
        return 0;
    }
    let joined = |i: usize| i < rest.len() && matches!(between(text, rest, i), " " | ", ");
    let month = |i: usize| joined(i) && is_month(rest[i].surface);
    let year = |i: usize| usize::from(joined(i) && year(rest[i].surface).is_some());
    if is_month(first) {
        return match joined(1) && is_day(rest[1].surface) {
            true => 2 + year(2),
            false if year(1) == 1 => 2,
            false => 0,
        };
    }
    if is_day(first) && month(1) {
        return 2 + year(2);
    }
    if is_ordinal(first)
        && joined(1)
        && matches!(rest[1].singular.as_str(), "century" | "millennium")
    {
        return 2 + usize::from(joined(2) && is_era(rest[2].surface));
    }
    if first.bytes().all(|b| b.is_ascii_digit()) && joined(1) && is_era(rest[1].surface) {
        return 2;
    }
    if is_decade(first) || is_calendar_day(first) {
        return 1;
    }
    years(text, words, at)
}

/// What is between a word and the one before it.
fn between<'a>(text: &'a str, words: &[Word<'_>], i: usize) -> &'a str {
    &text[words[i - 1].end()..words[i].start]
}

/// 1 for a year, 2 for a span of years, 0 where the number at `at` is neither.
fn years(text: &str, words: &[Word<'_>], at: usize) -> usize {
    let word = &words[at];
    let span = at + 1 < words.len()
        && matches!(between(text, words, at + 1), "–" | " – " | "−" | "-")
        && year(word.surface).is_some()
        && is_later(word.surface, words[at + 1].surface);
    let hyphenated = word
        .surface
        .split_once('-')
        .is_some_and(|(from, to)| is_later(from, to));
    let length = 1 + usize::from(span);
    let found = span || hyphenated || year(word.surface).is_some();
    let outright = (span || hyphenated) && !text[..word.start].ends_with(['–', '-']);
    let is_date = found && (outright || is_year_in_context(text, words, at));
    if is_date && is_not_quantity(words, at + length) {
        length
    } else {
        0
    }
}

/// Whether `to` is the year, or its last two digits, that ends a span from `from`.
fn is_later(from: &str, to: &str) -> bool {
    let (Some(start), Ok(number)) = (year(from), to.parse::<u32>()) else {
        return false;
    };
    match to.len() {
        2 => number > start % 100 || start % 100 == 99,
        4 => year(to).is_some_and(|end| end > start),
        _ => false,
    }
}

/// Whether what is before a number lets it be a year.
fn is_year_in_context(text: &str, words: &[Word<'_>], at: usize) -> bool {
    let before = text[..words[at].start].trim_end_matches(' ');
    let after = &text[words[at].end()..];
    let attached = !text[..words[at].start].ends_with([' ', '(', '[', '–', '—', '"', '“'])
        && words[at].start > 0;
    let decimal = after.starts_with(['%', '°', '€', '–', '/'])
        || after.starts_with([',', '.']) && after[1..].starts_with(|c: char| c.is_ascii_digit());
    if attached
        || decimal
        || is_cited(text, words, at)
        || before.ends_with(['$', '€', '£', '=', '#', '<', '>', '×', '+', '*'])
    {
        return false;
    }
    let modern = year(words[at].surface).is_some_and(|year| (1500..2050).contains(&year));
    let Some(previous) = at.checked_sub(1).map(|i| &words[i]) else {
        return modern;
    };
    if words[at].gap_before {
        return modern;
    }
    let lower = previous.surface.to_lowercase();
    match lower.as_str() {
        "of" => {
            modern
                && at >= 2
                && (words[at - 2].is_capitalised() || is_part_of_year(words[at - 2].surface))
        }
        _ if precedes_year(&lower) => true,
        "early" | "late" | "mid" | "year" | "spring" | "summer" | "autumn" | "fall" | "winter" => {
            true
        }
        "after" | "before" | "from" | "to" | "and" | "or" | "around" | "about" | "between"
        | "on" | "for" | "the" | "through" | "its" | "his" | "her" | "their" | "a" => modern,
        _ => false,
    }
}

/// Whether a number behind the lower-case word is a year rather than part of a name.
pub(crate) fn precedes_year(lower: &str) -> bool {
    matches!(
        lower,
        "in" | "since" | "until" | "till" | "by" | "during" | "circa" | "c" | "ca"
    )
}

/// Whether the year is that of a work: `(Lovelace, 1843)`, `Lovelace et al. (1843)`.
fn is_cited(text: &str, words: &[Word<'_>], at: usize) -> bool {
    let Some(previous) = at.checked_sub(1).map(|i| &words[i]) else {
        return false;
    };
    let closed = text[words[at].end()..].starts_with([')', ';', ']']);
    let named = match between(text, words, at) {
        ", " => {
            closed
                && previous.is_capitalised()
                && !lexicon::is_month(&previous.surface.to_lowercase())
        }
        _ => false,
    };
    named || previous.surface == "al"
}

#[rustfmt::skip]
fn is_part_of_year(word: &str) -> bool {
    matches!(
        word,
        "spring" | "summer" | "autumn" | "fall" | "winter" | "end" | "beginning" | "start"
        | "election" | "elections"
    )
}

/// Whether no noun follows that a number before it would count.
fn is_not_quantity(words: &[Word<'_>], next: usize) -> bool {
    words.get(next).is_none_or(|word| {
        let lower = word.surface.to_lowercase();
        let plural = word.singular != lower && !lexicon::is_verb(&lower);
        word.gap_before
            || lexicon::is_stop(&lower)
            || word.is_capitalised()
            || !plural && !is_unit(&lower)
    })
}

fn is_unit(lower: &str) -> bool {
    lower.len() <= 3
        || matches!(
            lower,
            "feet" | "people" | "byte" | "percent" | "million" | "men" | "women"
        )
}

fn is_month(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
        && lexicon::is_month(&word.to_lowercase())
        && !word.ends_with("day")
}

fn is_day(word: &str) -> bool {
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| word.strip_suffix(end))
        .unwrap_or(word);
    digits.len() <= 2
        && digits
            .parse::<u32>()
            .is_ok_and(|day| (1..=31).contains(&day))
}

fn is_ordinal(word: &str) -> bool {
    ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| word.strip_suffix(end))
        .is_some_and(|digits| digits.len() <= 2 && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn is_era(word: &str) -> bool {
    matches!(word, "BC" | "BCE" | "AD" | "CE")
}

/// `1980s`.
fn is_decade(word: &str) -> bool {
    word.strip_suffix('s')
        .is_some_and(|years| years.ends_with('0') && year(years).is_some())
}

/// `2013-01-16`.
fn is_calendar_day(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    matches!(parts[..], [y, m, d] if year(y).is_some() && m.len() == 2 && d.len() == 2 && is_day(m) && is_day(d))
}

/// The year that four digits write.
fn year(word: &str) -> Option<u32> {
    let digits = word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    word.parse()
        .ok()
        .filter(|year| digits && (1000..2100).contains(year))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::prose::words;

    fn found(text: &str) -> Vec<&str> {
        let words = words(text);
        let runs = dates(text, &words);
        runs.into_iter()
            .map(|run| &text[words[run.start].start..words[run.end - 1].end()])
            .collect()
    }

    #[test]
    fn days_months_years_decades_and_centuries_are_dates() {
        let cases: &[(&str, &[&str])] = &[
            ("It began on 7 July 1937 and ended.", &["7 July 1937"]),
            (
                "On August 8, 1892, in January 1841.",
                &["August 8, 1892", "January 1841"],
            ),
            (
                "Every 10 July and on July 4 they met.",
                &["10 July", "July 4"],
            ),
            ("Built in 1963 (rebuilt 1970), sold 2001.", &["1963"]),
            (
                "A film (1963) of 1909–1942 and 1972-73.",
                &["1963", "1909–1942", "1972-73"],
            ),
            (
                "In the 1980s and the late 19th century.",
                &["1980s", "19th century"],
            ),
            ("The Revolution of 1848 came after 1789.", &["1848", "1789"]),
            ("About 300 BC, on 2013-01-16.", &["300 BC", "2013-01-16"]),
        ];
        for (text, expected) in cases {
            assert_eq!(found(text), *expected, "in {text:?}");
        }
    }

    #[test]
    fn numbers_that_count_or_number_things_are_no_dates() {
        for text in [
            "In 1500 words.",
            "Use port 1883 here.",
            "It takes 2000 bytes of 1024.",
            "It costs $1999 or 1,999 or 1999.5 today.",
            "With n = 2000 it ends.",
            "You may 5 times march on.",
            "A pool of 1536 cells.",
            "See RFC 1950 and line 1812.",
        ] {
            assert_eq!(found(text), [""; 0], "in {text:?}");
        }
    }
}
