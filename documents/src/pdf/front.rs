//! The identifiers on the first page of a paper: DOI, arXiv number.
//!
//! Running headers and footers are looked at as well, for that is where journals say it. What is not plain stays unsaid: a
//! paper with a false DOI would be taken for another one that somebody cites.

use std::collections::BTreeSet;

use super::layout::Line;

/// Lines of the page that are looked at.
const LINES_MAX: usize = 2_000;
/// Longest text that a paper is told by, in bytes. No line of a page is as long.
pub(super) const TEXT_LEN_MAX: usize = 2_000;
const DOI_LEN_MAX: usize = 200;
/// The part of a page's height above which a line is of the header.
const TOP: f32 = 0.14;
/// Lines of one note that are looked at above a DOI.
const NOTE_LINES: usize = 3;
/// Who gives DOIs to data and programs, which papers name on their first page: Zenodo, figshare, Dryad, OSF.
const DATA_PREFIXES: &[&str] = &["10.5281", "10.6084", "10.5061", "10.17605"];
/// The first page of a file, above its references.
#[derive(Debug, Default)]
pub(super) struct Front {
    lines: Vec<Line>,
    /// What is upright or aslant.
    stamps: String,
}

/// A paper on arXiv.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arxiv {
    /// Without version.
    pub(super) id: String,
    /// Of the first version.
    pub(super) year: i32,
}

impl Front {
    pub(super) fn new(lines: &[Line], stamps: String) -> Front {
        let is_list = |line: &&Line| {
            let text = line.text().to_lowercase();
            ["references", "bibliography", "literature cited"].contains(&text.trim_end_matches(':'))
        };
        let above = lines
            .iter()
            .take(LINES_MAX)
            .filter(|line| len(line) <= TEXT_LEN_MAX)
            .take_while(|line| !is_list(line));
        Front {
            lines: above.cloned().collect(),
            stamps,
        }
    }

    /// The DOI, where one and no other is behind its label or as a link.
    pub(super) fn doi(&self) -> Option<String> {
        let mut found = BTreeSet::new();
        for (at, line) in self.lines.iter().enumerate() {
            let text = line.text();
            let mut labels = after_labels(&text).peekable();
            if labels.peek().is_none() || self.is_note(at) {
                continue;
            }
            for label in labels {
                found.insert(doi(label, is_full(line))?.to_lowercase());
            }
        }
        let is_data = |doi: &String| {
            let prefix = doi.split('/').next().unwrap_or_default();
            DATA_PREFIXES.contains(&prefix)
        };
        found.retain(|doi| !is_data(doi));
        found.pop_first().filter(|_| found.is_empty())
    }

    /// Whether a line is one of a note or of an entry of a list, which begin with a number or a mark.
    fn is_note(&self, at: usize) -> bool {
        let line = &self.lines[at];
        let is_header = line.bottom < TOP * line.page_size.1;
        let mut above = (at.saturating_sub(NOTE_LINES)..=at)
            .rev()
            .map(|at| &self.lines[at]);
        let mut below = line.base;
        !is_header
            && above.any(|other| {
                let is_near = other.flow == line.flow && below - other.base < 2.0 * line.size;
                below = below.min(other.base);
                is_near && begins_note(&other.text())
            })
    }

    /// The number that arXiv stamps on the left edge, or above the title.
    pub(super) fn arxiv(&self) -> Option<Arxiv> {
        let stamped = |text: &str| arxiv(&text[text.find("arXiv:")? + 6..]);
        let headed = |line: &Line| {
            let text = line.text();
            arxiv(
                text.strip_prefix("arXiv:")
                    .filter(|rest| rest.contains('['))?,
            )
        };
        stamped(&self.stamps).or_else(|| self.lines.iter().find_map(headed))
    }
}

/// Bytes of a line's pieces, with one for each gap.
pub(super) fn len(line: &Line) -> usize {
    line.pieces.iter().map(|piece| 1 + piece.text.len()).sum()
}

/// Whether a line reaches the right edge of its column, so that a word may go on in the next one.
fn is_full(line: &Line) -> bool {
    line.column.1 - line.x1 < 2.0 * line.size
}

/// What is behind each `doi:`, `DOI` or `https://doi.org/`, from `10.`.
pub(super) fn after_labels(text: &str) -> impl Iterator<Item = &str> {
    const LABEL: &str = "doi";
    let starts = text.char_indices().filter(|(at, _)| {
        let label = text.as_bytes().get(*at..at + LABEL.len());
        let is_fresh = !text[..*at].ends_with(|c: char| c.is_alphanumeric());
        is_fresh && label.is_some_and(|label| label.eq_ignore_ascii_case(LABEL.as_bytes()))
    });
    starts.filter_map(|(at, _)| {
        let mut rest = &text[at + LABEL.len()..];
        rest = rest.strip_prefix(".org/").unwrap_or(rest);
        rest = rest.trim_start_matches([':', ' ']);
        for start in ["https://", "http://", "dx.", "doi.org/"] {
            rest = rest.strip_prefix(start).unwrap_or(rest);
        }
        rest.starts_with("10.").then_some(rest)
    })
}

/// The DOI that a text begins with; `None` where it may go on behind a space or a line's end, and where it is longer than
/// any.
pub(super) fn doi(text: &str, is_full: bool) -> Option<String> {
    let digits = text
        .strip_prefix("10.")?
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    let suffix = text[3 + digits..].strip_prefix('/')?;
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '<' | '>' | '”' | ']' | '}' | '|');
    let len = suffix.find(ends).unwrap_or(suffix.len());
    if len > DOI_LEN_MAX {
        return None;
    }
    let (raw, rest) = suffix.split_at(len);
    let mut suffix = raw.trim_end_matches(['.', ',', ';', ':']);
    while suffix.ends_with(')') && suffix.matches(')').count() > suffix.matches('(').count() {
        suffix = suffix[..suffix.len() - 1].trim_end_matches(['.', ',', ';']);
    }
    let rest = rest.trim_start();
    let goes_on = if rest.is_empty() {
        is_full && raw.ends_with('.')
    } else {
        raw.ends_with('.') && rest.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit())
    };
    let is_cut = raw.ends_with(['/', '-', '_', '(']) || goes_on;
    ((4..=9).contains(&digits) && !suffix.is_empty() && !is_cut)
        .then(|| format!("{}/{suffix}", &text[..3 + digits]))
}

/// `12 Knuth, …`, `[12] Knuth`, `* Supported by`
fn begins_note(text: &str) -> bool {
    let bare = text.strip_prefix('[').unwrap_or(text);
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = bare[digits..].trim_start_matches([']', '.', ')', ' ']);
    text.starts_with(['*', '†', '‡', '§'])
        || (1..=3).contains(&digits) && rest.starts_with(char::is_alphabetic)
}

/// `2401.12345v2 [cs.CL] 3 Jan 2024`, `hep-th/9901001v1`
fn arxiv(text: &str) -> Option<Arxiv> {
    let text = text.trim_start();
    let end = text.find(|c: char| c.is_whitespace() || c == '[');
    let whole = &text[..end.unwrap_or(text.len())];
    let id = whole
        .rfind('v')
        .map_or(whole, |at| match whole[at + 1..].parse::<u16>() {
            Ok(_) => &whole[..at],
            Err(_) => whole,
        });
    let are_digits = |part: &str, len: std::ops::RangeInclusive<usize>| {
        len.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    let year = match (id.split_once('.'), id.split_once('/')) {
        (_, Some((archive, number))) => {
            let is_archive = archive.starts_with(|c: char| c.is_ascii_lowercase())
                && archive
                    .bytes()
                    .all(|b| b.is_ascii_alphabetic() || b == b'-' || b == b'.');
            let year: i32 = number.get(..2)?.parse().ok()?;
            (is_archive && are_digits(number, 7..=7)).then_some(if year > 90 {
                1900 + year
            } else {
                2000 + year
            })
        }
        (Some((month, number)), None) => {
            let is_id = are_digits(month, 4..=4) && are_digits(number, 4..=5);
            let year: i32 = month.get(..2)?.parse().ok()?;
            (is_id && ("01".."13").contains(&month.get(2..)?)).then_some(2000 + year)
        }
        _ => None,
    }?;
    let id = id.to_owned();
    Some(Arxiv { id, year })
}

/// The years in a text, each standing by itself.
pub(super) fn years(text: &str) -> impl Iterator<Item = i32> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let years = words.filter(|word| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit()));
    years
        .filter_map(|year| year.parse().ok())
        .filter(|year| (1600..2100).contains(year))
}

#[cfg(test)]
mod tests {
    use super::super::tests::line_of;
    use super::*;

    #[test]
    fn what_is_longer_than_any_line_or_doi_is_not_looked_at() {
        for part in ["doi:10.1000/", "doi:10.1000/x)", "("] {
            let long = part.repeat((1 << 20) / part.len());
            let short = line_of("https://doi.org/10.1000/1");
            let front = Front::new(&[line_of(&long), short], String::new());
            assert_eq!(front.lines.len(), 1);
            assert_eq!(front.doi().as_deref(), Some("10.1000/1"));
        }
        for end in ["x", ")"] {
            let of_len = |len: usize| doi(&format!("10.1000/1{}", end.repeat(len)), false);
            assert_eq!(of_len(1 << 20), None);
            assert!(of_len(DOI_LEN_MAX - 1).is_some());
        }
    }

    #[test]
    fn a_doi_is_read_behind_its_label() {
        let cases: &[(&str, Option<&str>)] = &[
            (
                "https://doi.org/10.1145/3292500.3330701",
                Some("10.1145/3292500.3330701"),
            ),
            ("DOI 10.1000/xyz.", Some("10.1000/xyz")),
            ("Cite as doi: 10.1000/a(b)c). More", Some("10.1000/a(b)c")),
            ("DOI: http://dx.doi.org/10.1000/182; 3", Some("10.1000/182")),
            ("10.1000/182", None),
            ("DOI: 10.xxxxxx/draft", None),
            ("doi:10.1016/j. cell.2019", None),
            ("doi:10.1016/j.cell-", None),
            ("avoidoi:10.1000/1", None),
        ];
        for (text, want) in cases {
            let got = after_labels(text).next().and_then(|rest| doi(rest, false));
            assert_eq!(got.as_deref(), *want, "{text}");
        }
        assert_eq!(doi("10.1016/j.cell.", true), None);
    }

    #[test]
    fn a_number_of_arxiv_has_its_year() {
        let cases: &[(&str, Option<(&str, i32)>)] = &[
            (
                "2401.12345v2 [cs.CL] 3 Jan 2024",
                Some(("2401.12345", 2024)),
            ),
            (" 0704.0001[math]", Some(("0704.0001", 2007))),
            (
                "hep-th/9901001v3 5 Jan 1999",
                Some(("hep-th/9901001", 1999)),
            ),
            ("math.GT/0309136", Some(("math.GT/0309136", 2003))),
            ("2413.12345", None),
            ("2401.123", None),
            ("ü", None),
            ("", None),
        ];
        for (text, want) in cases {
            let got = arxiv(text);
            assert_eq!(
                got.as_ref().map(|it| (&it.id[..], it.year)),
                *want,
                "{text}"
            );
        }
    }
}
