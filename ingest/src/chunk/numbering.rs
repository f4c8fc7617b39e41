//! Chapter and section numbers as printed in headings.
//!
//! ```text
//! heading                      number   title
//! Chapter 3: Wave Functions    3        Wave Functions     a chapter
//! Appendix A. Tables           A        Tables             a chapter
//! Section 3.2: Operators       3.2      Operators
//! 3.2.1 Commutators            3.2.1    Commutators
//! 3 Wave Functions             3        Wave Functions     a chapter above `3.x`
//! IV. Results                  IV       Results
//! ```

/// A heading taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumberedHeading {
    /// `Chapter`, `Part` and `Appendix` say so.
    pub(crate) is_chapter: bool,
    /// The number as printed, without the full stop after it.
    pub(crate) number: Option<String>,
    /// The heading without its number.
    pub(crate) title: String,
}

/// Chapter and section of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SectionNumbers {
    pub(crate) chapter_number: Option<String>,
    pub(crate) chapter_title: Option<String>,
    pub(crate) section_number: Option<String>,
    pub(crate) section_title: Option<String>,
}

/// Takes a heading apart.
pub(crate) fn parse(heading: &str) -> NumberedHeading {
    let heading = heading.trim();
    let (word, rest) = heading
        .split_once(char::is_whitespace)
        .unwrap_or((heading, ""));
    let named = match word.to_lowercase().as_str() {
        "chapter" | "appendix" | "part" => Some(true),
        "section" | "lesson" | "unit" | "module" | "§" => Some(false),
        _ => None,
    };
    if let Some(is_chapter) = named
        && let Some((number, title)) = split_number(rest, true)
    {
        return NumberedHeading {
            is_chapter,
            number: Some(number),
            title,
        };
    }
    match split_number(heading, false) {
        Some((number, title)) => NumberedHeading {
            is_chapter: false,
            number: Some(number),
            title,
        },
        None => NumberedHeading {
            title: heading.to_owned(),
            ..NumberedHeading::default()
        },
    }
}

/// `3.2: Title` → (`3.2`, `Title`). `named`: a word such as `Chapter` is before it, so that a
/// letter or a number without a title will do.
fn split_number(text: &str, named: bool) -> Option<(String, String)> {
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, ':' | '—' | '–'))
        .unwrap_or(text.len());
    let number = text[..end].trim_end_matches(['.', ')']);
    let closed = number.len() < end || text[end..].starts_with(':');
    let title = text[end..]
        .trim_start_matches(|c: char| c.is_whitespace() || ":.—–-".contains(c))
        .trim();
    let digits = is_dotted(number);
    let roman = is_roman(number) && (named || closed);
    let letter = number.len() == 1 && number.starts_with(|c: char| c.is_ascii_uppercase()) && named;
    let lettered = number.len() > 2 && is_lettered(number);
    let sane = named || title.starts_with(char::is_alphabetic) || title.starts_with(is_quote);
    ((digits || roman || letter || lettered) && sane).then(|| (number.to_owned(), title.to_owned()))
}

fn is_quote(c: char) -> bool {
    matches!(c, '“' | '"' | '‘' | '\'' | '(')
}

/// `3`, `3.2`, `3.2.1`; up to three digits a part, so that a year is no number.
fn is_dotted(number: &str) -> bool {
    let part = |p: &str| (1..=3).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit());
    !number.is_empty() && number.split('.').all(part)
}

/// `A.1`, `B.2.3`.
fn is_lettered(number: &str) -> bool {
    number.split_once('.').is_some_and(|(letter, rest)| {
        letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_uppercase()) && is_dotted(rest)
    })
}

fn is_roman(number: &str) -> bool {
    (1..=5).contains(&number.len()) && number.bytes().all(|b| b"IVXLC".contains(&b))
}

/// Reads chapter and section off a heading path, outermost first.
///
/// The chapter is the innermost heading that says it is one. The section is below it: the innermost heading with a
/// number, else the innermost. Directly under a chapter there is none; what is above it, such as the title of the
/// book, is never the section.
pub(crate) fn section_numbers(path: &[String]) -> SectionNumbers {
    let parsed: Vec<NumberedHeading> = path.iter().map(|heading| parse(heading)).collect();
    let chapter_at = parsed.iter().rposition(|n| n.is_chapter);
    let below = &parsed[chapter_at.map_or(0, |at| at + 1)..];
    let section = below.iter().rfind(|n| n.number.is_some()).or(below.last());
    let section_number = section.and_then(|s| s.number.clone());
    let major = section_number
        .as_deref()
        .and_then(|n| n.split_once('.'))
        .map(|(major, _)| major);
    let is_major = |n: &&NumberedHeading| major.is_some() && n.number.as_deref() == major;
    let chapter = chapter_at
        .map(|at| &parsed[at])
        .or_else(|| parsed.iter().find(is_major));
    let title = |n: &NumberedHeading| (!n.title.is_empty()).then(|| n.title.clone());
    SectionNumbers {
        chapter_number: chapter
            .and_then(|c| c.number.clone())
            .or_else(|| major.map(str::to_owned)),
        chapter_title: chapter.and_then(title),
        section_title: section.and_then(title),
        section_number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_printed() {
        let cases: &[(&str, bool, Option<&str>, &str)] = &[
            (
                "Chapter 3: Wave Functions",
                true,
                Some("3"),
                "Wave Functions",
            ),
            ("Chapter 12", true, Some("12"), ""),
            ("CHAPTER IV — The Return", true, Some("IV"), "The Return"),
            ("Appendix A. Tables", true, Some("A"), "Tables"),
            ("Section 3.2: Operators", false, Some("3.2"), "Operators"),
            ("3.2.1 Commutators", false, Some("3.2.1"), "Commutators"),
            ("3. Results", false, Some("3"), "Results"),
            ("IV. Results", false, Some("IV"), "Results"),
            ("A.1 Proofs", false, Some("A.1"), "Proofs"),
            ("I think so", false, None, "I think so"),
            ("A Tale", false, None, "A Tale"),
            ("2024 in review", false, None, "2024 in review"),
            ("Ownership", false, None, "Ownership"),
            ("Part of it", false, None, "Part of it"),
        ];
        for &(heading, is_chapter, number, title) in cases {
            let expected = NumberedHeading {
                is_chapter,
                number: number.map(str::to_owned),
                title: title.to_owned(),
            };
            assert_eq!(parse(heading), expected, "of {heading:?}");
        }
    }

    #[test]
    fn a_path_tells_chapter_and_section() {
        let shown = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|s| (*s).to_owned()).collect();
            let p = section_numbers(&path);
            [
                p.chapter_number,
                p.chapter_title,
                p.section_number,
                p.section_title,
            ]
            .map(Option::unwrap_or_default)
        };
        assert_eq!(
            shown(&["Chapter 3: Waves", "3.2 Functions"]),
            ["3", "Waves", "3.2", "Functions"]
        );
        assert_eq!(
            shown(&["3 Waves", "3.2 Functions", "Remark"]),
            ["3", "Waves", "3.2", "Functions"]
        );
        assert_eq!(shown(&["3 Waves"]), ["", "", "3", "Waves"]);
        assert_eq!(
            shown(&["Title", "Ownership Rules"]),
            ["", "", "", "Ownership Rules"]
        );
        assert_eq!(shown(&["3.2 Functions"]), ["3", "", "3.2", "Functions"]);
        assert_eq!(shown(&[]), ["", "", "", ""]);
    }

    #[test]
    fn what_stands_above_a_chapter_is_no_section_of_it() {
        let cases: &[(&[&str], Option<&str>, Option<&str>)] = &[
            (&["A Book", "Chapter V Ice"], Some("Ice"), None),
            (
                &["A Book", "Chapter V Ice", "Skates"],
                Some("Ice"),
                Some("Skates"),
            ),
            (&["1 A Book", "Chapter V Ice"], Some("Ice"), None),
            (&["Part I Snow", "Chapter V Ice"], Some("Ice"), None),
            (
                &["Part I Snow", "Winter", "Chapter V Ice", "5.1 Skates"],
                Some("Ice"),
                Some("Skates"),
            ),
            (&["A Book", "Preface"], None, Some("Preface")),
            (&["A Book"], None, Some("A Book")),
        ];
        for (path, chapter, section) in cases {
            let path: Vec<String> = path.iter().map(|s| (*s).to_owned()).collect();
            let got = section_numbers(&path);
            assert_eq!(got.chapter_title.as_deref(), *chapter, "{path:?}");
            assert_eq!(got.section_title.as_deref(), *section, "{path:?}");
        }
    }
}
