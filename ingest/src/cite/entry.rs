//! One entry of a list of references, taken apart: label, authors, year, title, venue, DOI.
//!
//! ```text
//! Knuth, D. E. (1997). The Art of Computer Programming. Addison-Wesley.      APA, Harvard
//! [12] D. E. Knuth, “Structured programming,” Computing Surveys, 1974.       IEEE
//! 12. Knuth, D.: The errors of TeX. Software 19(7), 607–685 (1989)           Springer
//! Knuth DE. 1989. The errors of TeX. Software 19:607-685.                    life sciences
//! D. E. Knuth. The errors of TeX. Software, 19(7):607–685, 1989.             plain BibTeX
//! ```

use std::ops::Range;

use loci_documents::Reference;

/// Takes an entry apart; what it lacks stays empty.
pub(super) fn parse(text: &str) -> Reference {
    let (label, body) = match label(text) {
        Some((label, rest)) => (label, rest),
        None => (String::new(), text),
    };
    let doi = doi(body);
    let found = year(body);
    let (authors, rest) = split_authors(body, found.clone());
    let (title, venue) = title(rest);
    Reference {
        label,
        text: text.to_owned(),
        title,
        authors,
        year: found.and_then(|range| body[range].parse().ok()),
        venue,
        doi,
    }
}

/// The number or key that an entry begins with, and the rest: `[12]`, `12.`, `(12)`, `[Knu97]`, `^12`, `[^12]:`.
pub(super) fn label(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches(['-', '*', '•', ' ']);
    for (open, close) in [("[^", "]"), ("[", "]"), ("(", ")"), ("", "."), ("", ")")] {
        let Some((inside, rest)) = text
            .strip_prefix(open)
            .and_then(|text| text.split_once(close))
        else {
            continue;
        };
        let digits =
            !inside.is_empty() && inside.bytes().all(|b| b.is_ascii_digit()) && inside.len() <= 4;
        let key = open.starts_with('[')
            && (1..=12).contains(&inside.len())
            && inside.chars().all(|c| c.is_alphanumeric() || c == '+');
        let parted = rest.starts_with([' ', ':', '\u{a0}']) || !open.is_empty();
        if (digits || key) && parted && !(open == "(" && inside.len() == 4) {
            return Some((
                inside.to_owned(),
                rest.trim_start_matches([':', ' ', '\u{a0}']),
            ));
        }
    }
    None
}

/// `10.1000/182`, without what closes the sentence around it. A line's end may part it behind `10.` or the slash.
pub(super) fn doi(text: &str) -> Option<String> {
    let (prefix, rest) = text.match_indices("10.").find_map(|(at, _)| {
        let fresh = !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
        let after = text[at + 3..].trim_start_matches(' ');
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let rest = after[digits..].strip_prefix('/')?;
        ((4..=9).contains(&digits) && fresh).then(|| (&after[..digits], rest))
    })?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '”' | ']' | '}');
    let mut suffix =
        rest[..rest.find(ends).unwrap_or(rest.len())].trim_end_matches(['.', ',', ';', ':']);
    // A bracket that closes what opened before the DOI.
    while suffix.ends_with(')') && suffix.matches(')').count() > suffix.matches('(').count() {
        suffix = suffix[..suffix.len() - 1].trim_end_matches(['.', ',', ';']);
    }
    (!suffix.is_empty()).then(|| format!("10.{prefix}/{suffix}"))
}

/// The year of publication: one in brackets, else the first that is alone behind the names, else the last.
pub(super) fn year(text: &str) -> Option<Range<usize>> {
    let is_year = |at: usize| {
        let year = text.get(at..at + 4)?;
        let digits = year.bytes().all(|b| b.is_ascii_digit());
        let plausible = digits && ("1500".."2101").contains(&year);
        let before = text[..at].chars().next_back();
        let after = text[at + 4..].chars().next();
        let parted = |c: Option<char>| {
            c.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '/' | '-' | '–' | ':' | '_'))
        };
        let lettered = after.is_some_and(|c| c.is_ascii_lowercase())
            && !text[at + 5..].starts_with(char::is_alphanumeric);
        let free = before.is_none_or(|c| {
            !c.is_alphanumeric() && !matches!(c, '/' | '-' | '–' | ':' | '.' | '_')
        }) && (parted(after) || lettered);
        (plausible && free).then_some(at..at + 4)
    };
    let all: Vec<Range<usize>> = text
        .char_indices()
        .filter(|(_, c)| c.is_ascii_digit())
        .filter_map(|(at, _)| is_year(at))
        .collect();
    let bracketed = |range: &&Range<usize>| text[..range.start].ends_with('(');
    let stopped = |range: &&Range<usize>| {
        text[..range.start].ends_with(". ")
            && text[range.end..]
                .trim_start_matches(|c: char| c.is_ascii_lowercase())
                .starts_with(". ")
    };
    let bracket = all.iter().find(bracketed);
    let alone = all.iter().find(stopped);
    bracket.or(alone).or(all.last()).cloned()
}

/// Authors, and what follows them.
fn split_authors(body: &str, year: Option<Range<usize>>) -> (Vec<String>, &str) {
    // APA and the life sciences: the year is behind the authors.
    if let Some(year) = &year {
        let before = body[..year.start].trim_end_matches(['(', ' ']);
        let after = body[year.end..].trim_start_matches(|c: char| c.is_ascii_lowercase());
        let after = after
            .split_once(['.', ')', ':'])
            .filter(|(gap, _)| gap.chars().count() < 20);
        let is_names = before.chars().count() < 2_000
            && !before.contains('“')
            && !before.contains(": ")
            && looks_like_names(before);
        if let (true, Some((_, rest))) = (is_names, after) {
            let rest = rest.trim_start_matches([')', '.', ',', ':', ' ']);
            return (names(before), rest);
        }
    }
    // IEEE: the title is in quotation marks.
    if let Some(open) = body.find(['“', '"']) {
        return (names(&body[..open]), &body[open..]);
    }
    // Springer: a colon behind the authors.
    if let Some((before, rest)) = body
        .split_once(": ")
        .filter(|(before, _)| looks_like_names(before))
    {
        return (names(before), rest);
    }
    match sentence_end(body, 0) {
        Some(end) if looks_like_names(&body[..end]) => {
            (names(&body[..end]), body[end + 1..].trim_start())
        }
        _ => (Vec::new(), body),
    }
}

/// Where a full stop ends a part of an entry: not behind an initial, nor an abbreviation.
fn sentence_end(text: &str, from: usize) -> Option<usize> {
    let mut ends = text[from..]
        .match_indices(['.', '?', '!'])
        .map(|(at, mark)| (from + at, mark));
    ends.find(|&(at, _)| {
        let word = text[..at]
            .rsplit(|c: char| c.is_whitespace() || matches!(c, '.' | '-' | '(' | ','))
            .next()
            .unwrap_or("");
        let initial = word.chars().count() <= 1 && word.chars().all(char::is_uppercase);
        let abbreviated = [
            "al", "vol", "no", "pp", "eds", "ed", "proc", "conf", "int", "univ", "vs", "jr", "st",
            "dr", "inc",
        ]
        .contains(&&word.to_lowercase()[..]);
        let next = text[at + 1..].chars().next();
        !initial && !abbreviated && next.is_none_or(char::is_whitespace)
    })
    .map(|(at, _)| at)
}

/// Whether a text is a list of people: capitals, commas, `and`, `et al.`; hardly any other word.
fn looks_like_names(text: &str) -> bool {
    let words: Vec<&str> = text
        .split([' ', ',', '&', ';', '\u{a0}'])
        .filter(|word| !word.is_empty())
        .collect();
    let lower = |word: &&&str| {
        word.starts_with(char::is_lowercase)
            && ![
                "and", "et", "al", "al.", "van", "von", "de", "der", "den", "del", "di", "da",
                "la", "le", "others", "others.", "ter", "eds.", "ed.",
            ]
            .contains(word)
    };
    !words.is_empty()
        && words.iter().filter(lower).count() == 0
        && words[0].chars().count() < 40
        && text.chars().any(char::is_alphabetic)
}

/// The people in a list, each as written.
fn names(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches([',', ':', '(']);
    let last = text.rsplit(' ').next().unwrap_or("");
    let text = if last.chars().count() > 2 {
        text.trim_end_matches('.')
    } else {
        text
    };
    let text = text
        .replace(" and ", ", ")
        .replace('&', ", ")
        .replace(" et al", ", ")
        .replace("others", "");
    let parts = text
        .split([',', ';'])
        .map(|part| part.trim().trim_end_matches("(eds").trim());
    let parts: Vec<&str> = parts
        .filter(|part| part.chars().any(char::is_alphabetic))
        .collect();
    let is_initials = |part: &str| {
        let letters = part
            .split(['.', ' ', '-', '\u{a0}'])
            .filter(|word| !word.is_empty());
        part.chars().count() <= 12
            && letters.clone().count() <= 5
            && letters.clone().all(|word| word.chars().count() <= 2)
            || ["Jr", "Jr.", "Sr", "III", "II"].contains(&part)
    };
    let mut people: Vec<String> = Vec::new();
    for part in parts {
        match people.last_mut() {
            Some(last) if is_initials(part) && !last.contains(',') => {
                last.push_str(", ");
                last.push_str(part);
            }
            _ => people.push(part.to_owned()),
        }
    }
    people
}

/// Title and venue of what follows the authors.
fn title(rest: &str) -> (Option<String>, Option<String>) {
    let rest = rest.trim();
    let quoted = rest.strip_prefix(['“', '"']).and_then(|rest| {
        let (title, after) = rest.split_once(['”', '"'])?;
        Some((
            title.trim_end_matches(['.', ',']),
            after.trim_start_matches([',', '.', ' ']),
        ))
    });
    let (title, after) = quoted.unwrap_or_else(|| match sentence_end(rest, 0) {
        Some(end) => {
            let keep = if rest[end..].starts_with('.') {
                end
            } else {
                end + 1
            };
            (&rest[..keep], rest[end + 1..].trim_start())
        }
        None => (rest, ""),
    });
    let title = title.trim().trim_matches(['*', '_']);
    let after = after
        .strip_prefix("In: ")
        .or(after.strip_prefix("In "))
        .unwrap_or(after);
    let end = after
        .find(|c: char| c == ',' || c == '(' || c == ':' || c.is_ascii_digit())
        .unwrap_or(after.len());
    let stop = sentence_end(after, 0).unwrap_or(after.len());
    let venue = after[..end.min(stop)].trim().trim_matches(['*', '_', '.']);
    let is_link = venue.starts_with("http") || venue.to_lowercase().starts_with("doi");
    let some = |text: &str| {
        (text.chars().filter(|c| c.is_alphabetic()).count() > 2).then(|| text.to_owned())
    };
    (some(title), some(venue).filter(|_| !is_link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doi_is_found_where_a_line_parts_it() {
        for (text, want) in [
            (
                "https://doi.org/10. 2514/6.2024-4545",
                Some("10.2514/6.2024-4545"),
            ),
            (
                "https://doi.org/10.1038/ nature14236",
                Some("10.1038/nature14236"),
            ),
            ("(see doi:10.1000/a(b)c).", Some("10.1000/a(b)c")),
            ("Version 10.1234 of 2001", None),
            ("10.1000/", None),
        ] {
            assert_eq!(doi(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn entries_of_every_style_are_taken_apart() {
        type Want = (
            &'static str,
            &'static [&'static str],
            Option<i32>,
            Option<&'static str>,
            Option<&'static str>,
            Option<&'static str>,
        );
        let cases: &[(&str, Want)] = &[
            (
                "Bezanson, J., Edelman, A., & Shah, V. B. (2017). Julia: A fresh approach to numerical computing. SIAM Review, 59(1), 65–98. https://doi.org/10.1137/141000671",
                (
                    "",
                    &["Bezanson, J.", "Edelman, A.", "Shah, V. B."],
                    Some(2017),
                    Some("Julia: A fresh approach to numerical computing"),
                    Some("SIAM Review"),
                    Some("10.1137/141000671"),
                ),
            ),
            (
                "[12] D. E. Knuth, “Structured programming with go to statements,” Computing Surveys, vol. 6, 1974.",
                (
                    "12",
                    &["D. E. Knuth"],
                    Some(1974),
                    Some("Structured programming with go to statements"),
                    Some("Computing Surveys"),
                    None,
                ),
            ),
            (
                "7. Knuth, D.: The errors of TeX. Software 19(7), 607–685 (1989)",
                (
                    "7",
                    &["Knuth, D."],
                    Some(1989),
                    Some("The errors of TeX"),
                    Some("Software"),
                    None,
                ),
            ),
            (
                "Knuth DE, Plass MF. 1981. Breaking paragraphs into lines. Software 11:1119-1184. doi:10.1002/spe.4380111102.",
                (
                    "",
                    &["Knuth DE", "Plass MF"],
                    Some(1981),
                    Some("Breaking paragraphs into lines"),
                    Some("Software"),
                    Some("10.1002/spe.4380111102"),
                ),
            ),
            (
                "D. E. Knuth and M. F. Plass. Breaking paragraphs into lines. Software, 11(11):1119–1184, 1981.",
                (
                    "",
                    &["D. E. Knuth", "M. F. Plass"],
                    Some(1981),
                    Some("Breaking paragraphs into lines"),
                    Some("Software"),
                    None,
                ),
            ),
            ("", ("", &[], None, None, None, None)),
        ];
        for (text, (label, authors, year, title, venue, doi)) in cases {
            let got = parse(text);
            assert_eq!(got.label, *label, "{text}");
            assert_eq!(got.authors, *authors, "{text}");
            assert_eq!(got.year, *year, "{text}");
            assert_eq!(got.title.as_deref(), *title, "{text}");
            assert_eq!(got.venue.as_deref(), *venue, "{text}");
            assert_eq!(got.doi.as_deref(), *doi, "{text}");
        }
    }
}
