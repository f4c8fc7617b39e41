//! Where a text cites the entries of its list.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use loci_documents::{BlockKind, InTextCitation, Kind, ParsedDocument, Reference};

use super::entry::year;
use super::list::begins_entry;

/// Characters between the brackets of a citation.
const GROUP_CHARS_MAX: usize = 400;
/// Works that one citation names, so that `[1-9999]` is a range of numbers and no citation.
const RANGE_MAX: u32 = 60;
/// Citations of one document.
const CITATIONS_MAX: usize = 100_000;
/// Bytes of the names before a year in brackets.
const NAMES_LEN_MAX: usize = 200;
/// Share of numbers in brackets that must be of the list, where it has no labels.
const NUMBERED_MAJORITY_FACTOR: usize = 2;

/// The citations outside of the list of references, ascending.
pub(super) fn citations(parsed: &ParsedDocument, list: &Range<usize>) -> Vec<InTextCitation> {
    let works = ReferenceIndex::new(&parsed.references);
    let mut found = Vec::new();
    let blocks = parsed.blocks.iter().filter(|block| {
        let is_prose = !matches!(
            block.kind,
            BlockKind::Code(_)
                | BlockKind::Definition { .. }
                | BlockKind::Equation
                | BlockKind::Reference(_)
        );
        let text = || &parsed.text[block.range.clone()];
        // A heading that is none may have ended the list too early.
        let is_behind = || block.range.start >= list.end && !begins_as_entry(text());
        is_prose && (block.range.end <= list.start || is_behind())
    });
    for block in blocks {
        let text = &parsed.text[block.range.clone()];
        let is_markdown = parsed.kind == Kind::Markdown;
        // The mark that a footnote begins with is its own.
        let is_own =
            |one: &InTextCitation| block.kind == BlockKind::Footnote && one.range.start == 0;
        let start = block.range.start;
        for one in in_text(text, &works, is_markdown) {
            if !is_own(&one) && found.len() < CITATIONS_MAX {
                let range = start + one.range.start..start + one.range.end;
                found.push(InTextCitation { range, ..one });
            }
        }
    }
    found
}

/// Whether a block begins as an entry of a list does: with its label, or with a name and initials.
fn begins_as_entry(text: &str) -> bool {
    text.starts_with('[') || begins_entry(text)
}

/// The entries by what a text calls them.
struct ReferenceIndex {
    /// By number or key.
    labels: HashMap<String, u32>,
    /// Whether numbers in brackets are citations.
    is_numbered: bool,
    /// By [`surname_key`] of the first author: place, second surname, year with its letter, how many authors.
    surnames: BTreeMap<String, Vec<AuthorYear>>,
}

struct AuthorYear {
    reference: u32,
    other_surnames: Vec<String>,
    year: Option<String>,
}

impl ReferenceIndex {
    fn new(references: &[Reference]) -> ReferenceIndex {
        let mut labels = HashMap::new();
        let mut surnames: BTreeMap<String, Vec<AuthorYear>> = BTreeMap::new();
        for (place, reference) in (0u32..).zip(references) {
            if !reference.label.is_empty() {
                labels.entry(reference.label.clone()).or_insert(place);
            }
            let mut people = reference.authors.iter().map(|author| surname(author));
            let Some(first) = people.next() else { continue };
            let others = people.collect();
            let year = year(&reference.text).map(|range| {
                let letter = reference.text[range.end..]
                    .chars()
                    .next()
                    .filter(char::is_ascii_lowercase);
                let mut year = reference.text[range].to_owned();
                year.extend(letter);
                year
            });
            let year = year.or_else(|| reference.year.map(|year| year.to_string()));
            surnames.entry(first).or_default().push(AuthorYear {
                reference: place,
                other_surnames: others,
                year,
            });
        }
        let numbers = labels
            .keys()
            .filter(|label| label.parse::<u32>().is_ok())
            .count();
        ReferenceIndex {
            is_numbered: numbers * NUMBERED_MAJORITY_FACTOR > references.len(),
            labels,
            surnames,
        }
    }

    /// The work of an author and year; where the letter is missing, all of that year.
    fn by_name(&self, first: &str, second: Option<&str>, year: &str) -> Vec<u32> {
        let Some(known) = self.surnames.get(first) else {
            return Vec::new();
        };
        let digits = year.get(..4).unwrap_or(year);
        let of_year = |known: &&AuthorYear| {
            known.year.as_deref().is_some_and(|own| {
                own == year || own.get(..4) == Some(digits) && (own.len() == 4 || year.len() == 4)
            })
        };
        let matching: Vec<&AuthorYear> = known.iter().filter(of_year).collect();
        let exact: Vec<&&AuthorYear> = matching
            .iter()
            .filter(|known| known.year.as_deref() == Some(year))
            .collect();
        let pick = |from: Vec<&AuthorYear>| -> Vec<u32> {
            let with_second = |known: &&&AuthorYear| match second {
                Some(second) => known
                    .other_surnames
                    .first()
                    .is_some_and(|other| other == second),
                None => true,
            };
            let named: Vec<u32> = from
                .iter()
                .filter(with_second)
                .map(|known| known.reference)
                .collect();
            if named.is_empty() {
                from.iter().map(|known| known.reference).collect()
            } else {
                named
            }
        };
        let works = if exact.is_empty() {
            pick(matching)
        } else {
            pick(exact.into_iter().copied().collect())
        };
        // Of so many it is not known which is meant.
        if works.len() > RANGE_MAX as usize {
            Vec::new()
        } else {
            works
        }
    }
}

/// A surname without marks, in lower case: `van Rossum, G.` and `G. van Rossum` are `rossum`.
fn surname(author: &str) -> String {
    let family = match author.split_once(',') {
        Some((family, _)) => family,
        None => {
            let words: Vec<&str> = author.split_whitespace().collect();
            let is_initials = |word: &&&str| {
                word.chars()
                    .all(|c| c.is_uppercase() || c == '.' || c == '-')
                    && word.chars().filter(|c| c.is_alphabetic()).count() <= 3
            };
            let last = words.iter().rev().find(|word| !is_initials(word));
            last.copied().unwrap_or(author)
        }
    };
    let last = family.split_whitespace().next_back().unwrap_or(family);
    surname_key(last)
}

fn surname_key(word: &str) -> String {
    locidb::graph::normalise(word.trim_matches(|c: char| !c.is_alphanumeric()))
}

fn in_text(text: &str, works: &ReferenceIndex, is_markdown: bool) -> Vec<InTextCitation> {
    let mut found: Vec<InTextCitation> = Vec::new();
    let mut at = 0;
    while let Some(next) = text[at..].find(['[', '(']).map(|next| at + next) {
        let is_square = text[next..].starts_with('[');
        let close = if is_square { ']' } else { ')' };
        let inside_at = next + 1;
        let reach = text[inside_at..]
            .char_indices()
            .nth(GROUP_CHARS_MAX)
            .map_or(text.len(), |(len, _)| inside_at + len);
        let Some(end) = text[inside_at..reach]
            .find(close)
            .map(|end| inside_at + end)
        else {
            at = inside_at;
            continue;
        };
        let inside = &text[inside_at..end];
        let is_link = is_markdown && is_square && text[end + 1..].starts_with(['(', '[', ':']);
        let group = if is_square && !is_link {
            by_label(inside, works)
        } else {
            Vec::new()
        };
        let lead = found.last().map_or(0, |last| last.range.end);
        let cited = match () {
            () if is_link => Vec::new(),
            () if !group.is_empty() => vec![InTextCitation {
                range: next..end + 1,
                references: group,
            }],
            // `Knuth (1997)`: the names are before the bracket.
            () => match narrative(&text[lead..next], inside, works) {
                Some((back, references)) => vec![InTextCitation {
                    range: next - back..end + 1,
                    references,
                }],
                None => parenthetical(text, next, end, works),
            },
        };
        at = match cited.last() {
            Some(last) => last.range.end.max(inside_at),
            None => inside_at,
        };
        found.extend(cited);
    }
    found
}

/// `3, 5–7` or `Knu97`.
fn by_label(inside: &str, works: &ReferenceIndex) -> Vec<u32> {
    let inside = inside.trim_start_matches('^');
    if let Some(&place) = works
        .labels
        .get(inside)
        .filter(|_| inside.parse::<u32>().is_err())
    {
        return vec![place];
    }
    if !works.is_numbered {
        return Vec::new();
    }
    let mut places = Vec::new();
    for part in inside.split([',', ';']).map(str::trim) {
        // `[3, p. 12]`
        if !places.is_empty() && part.starts_with(['p', 'c', 's', 'C', 'S', 'T', 'F', '§']) {
            continue;
        }
        let numbers: Vec<Option<u32>> = part
            .split(['-', '–', '—'])
            .map(|number| number.trim().parse().ok())
            .collect();
        let range = match numbers[..] {
            [Some(one)] => one..=one,
            [Some(from), Some(to)] if from < to && to - from <= RANGE_MAX => from..=to,
            _ => return Vec::new(),
        };
        for number in range {
            match works.labels.get(&number.to_string()) {
                Some(&place) if !places.contains(&place) => places.push(place),
                Some(_) => {}
                None => return Vec::new(),
            }
        }
    }
    places
}

/// `(Knuth, 1997; see also Liang et al., 2018a, 2019)`: each of its parts that is a citation.
fn parenthetical(
    text: &str,
    open: usize,
    close: usize,
    works: &ReferenceIndex,
) -> Vec<InTextCitation> {
    let mut found: Vec<InTextCitation> = Vec::new();
    let mut start = open + 1;
    for part in text[open + 1..close].split(';') {
        let references = names_and_years(part, works);
        if !references.is_empty() {
            let skipped = part.len() - part.trim_start().len();
            found.push(InTextCitation {
                range: start + skipped..start + part.trim_end().len().max(skipped),
                references,
            });
        }
        start += part.len() + 1;
    }
    // A bracket that is nothing but citations is cited with its brackets.
    if let [one] = &mut found[..]
        && text[open + 1..close].trim().len() == one.range.len()
    {
        one.range = open..close + 1;
    }
    found
}

/// `see Knuth and Plass, 1981a, 1984`: the works.
fn names_and_years(part: &str, works: &ReferenceIndex) -> Vec<u32> {
    let years = years(part);
    let Some(first_year) = years.first() else {
        return Vec::new();
    };
    let (first, second) = names(&part[..first_year.0]);
    let Some(first) = first else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for (_, year) in years {
        for place in works.by_name(&first, second.as_deref(), &year) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// Years with their letters, and where they are. `1981a,b` is two.
fn years(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let words = text.split_inclusive([' ', ',', ';', '\u{a0}']);
    let mut at = 0;
    for word in words {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
        let rest = &bare[digits..];
        let is_year = digits == 4 && ("1500".."2101").contains(&&bare[..4]);
        let lettered = rest.len() <= 1 && rest.chars().all(|c| c.is_ascii_lowercase());
        let last_year = found.last().map(|(_, year)| year[..4].to_owned());
        if is_year && lettered {
            found.push((at, bare.to_owned()));
        } else if let Some(year) = last_year
            .filter(|_| bare.len() == 1 && bare.starts_with(|c: char| c.is_ascii_lowercase()))
        {
            found.push((at, format!("{year}{bare}")));
        }
        at += word.len();
    }
    found
}

/// The surnames of the first and the second author in a list of names that ends before a year.
fn names(text: &str) -> (Option<String>, Option<String>) {
    let text = text.trim().trim_end_matches([',', '(', ' ']);
    let text = text.split(" et al").next().unwrap_or(text);
    let mut people: Vec<String> = Vec::new();
    for part in text.split([',', '&']).flat_map(|part| part.split(" and ")) {
        // `see`, `e.g.` stand before the names; initials and particles are not the surname.
        let mut words = part
            .split_whitespace()
            .filter(|word| word.starts_with(char::is_uppercase) && !word.ends_with('.'));
        people.extend(
            words
                .next_back()
                .map(surname_key)
                .filter(|name| !name.is_empty()),
        );
    }
    let mut people = people.into_iter();
    (people.next(), people.next())
}

/// `… Knuth and Plass (1981)`: how many bytes before the bracket are its names, and the works.
fn narrative(before: &str, inside: &str, works: &ReferenceIndex) -> Option<(usize, Vec<u32>)> {
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(NAMES_LEN_MAX))..];
    let years = years(inside);
    let starts_with_year = years.first().is_some_and(|(at, _)| *at == 0);
    if !starts_with_year {
        return None;
    }
    let trimmed = before.trim_end();
    let bare = trimmed
        .strip_suffix("’s")
        .or(trimmed.strip_suffix("'s"))
        .unwrap_or(trimmed);
    let (people, is_many) = match bare.strip_suffix("et al.").or(bare.strip_suffix("et al")) {
        Some(people) => (people.trim_end().trim_end_matches(','), true),
        None => (bare, false),
    };
    // The last word, and with `and` or `&` before it the one before that.
    let words: Vec<(usize, &str)> = preceding_words(people, 6);
    let (last_at, last) = *words.first()?;
    let joined = words
        .get(1)
        .is_some_and(|(_, word)| *word == "and" || *word == "&");
    let (start, first, second) = match words.get(2).filter(|_| joined && !is_many) {
        Some(&(at, first)) => (at, surname_key(first), Some(surname_key(last))),
        None => (last_at, surname_key(last), None),
    };
    if !people[start..].starts_with(char::is_uppercase) {
        return None;
    }
    let mut places = Vec::new();
    for (_, year) in &years {
        for place in works.by_name(&first, second.as_deref(), year) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    (!places.is_empty()).then(|| (before.len() - start, places))
}

/// The last words of a text, the last one first, with where they start.
fn preceding_words(text: &str, count: usize) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut end = text.len();
    while words.len() < count {
        let rest = text[..end].trim_end();
        if rest.is_empty() {
            break;
        }
        let start = rest.rfind(char::is_whitespace).map_or(0, |at| {
            at + rest[at..].chars().next().map_or(1, char::len_utf8)
        });
        words.push((start, &rest[start..]));
        end = start;
    }
    words
}
