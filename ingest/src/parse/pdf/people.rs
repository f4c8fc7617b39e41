//! Who wrote a paper: the lines below its title, where they are plainly names, and what the file says.
//!
//! A wrong author is worse than none, so anything in doubt is no author: a line with a word that is none of a name, a name
//! that may have been cut at a line's end, a second row of names below the affiliations of the first, a phrase whose words
//! the text writes in small letters elsewhere (`Deep Learning`).
//!
//! Start reading at [`shown`].

use std::collections::HashSet;

use super::Facts;
use super::front::{self, TEXT_LEN_MAX};
use super::heading::title_drafts;
use super::layout::{Gap, Line};
use super::paragraph::{Draft, Sort};
use crate::lexicon;

const AUTHORS_MAX: usize = 60;
/// Longest list of authors, in bytes.
const LIST_LEN_MAX: usize = 3_000;
const NAME_WORDS_MAX: usize = 5;
const WORD_CHARS_MAX: usize = 24;
/// Drafts below the title that are looked at for more rows of names.
const BELOW_MAX: usize = 16;
/// Stands for the mark of a note or an affiliation.
const MARK: char = '†';
const PARTICLES: &[&str] = &[
    "van", "von", "de", "der", "den", "del", "della", "di", "da", "dos", "du", "la", "le", "ter",
    "ten", "zu", "bin", "al", "el", "y",
];
const SUFFIXES: &[&str] = &["Jr", "Jr.", "Sr", "Sr.", "II", "III", "IV"];
/// Words that stand in names of institutions, places and programs, in what is written on title pages, but hardly in
/// names of people.
const NO_NAMES: &[&str] = &[
    "abstract",
    "academic",
    "acrobat",
    "adobe",
    "ag",
    "amazon",
    "america",
    "analytics",
    "and",
    "apple",
    "article",
    "australia",
    "author",
    "authors",
    "avenue",
    "business",
    "canada",
    "chapter",
    "china",
    "city",
    "clinic",
    "co",
    "collaboration",
    "college",
    "company",
    "computer",
    "computing",
    "consortium",
    "contributors",
    "core",
    "corp",
    "corporation",
    "data",
    "deepmind",
    "design",
    "developers",
    "draft",
    "edition",
    "editor",
    "engineering",
    "facebook",
    "france",
    "germany",
    "gmbh",
    "google",
    "group",
    "guide",
    "hospital",
    "html",
    "ibm",
    "inc",
    "india",
    "information",
    "intel",
    "introduction",
    "italy",
    "japan",
    "kingdom",
    "korea",
    "lab",
    "labs",
    "laboratories",
    "laboratory",
    "latex",
    "letters",
    "limited",
    "ltd",
    "manual",
    "mathematics",
    "media",
    "medical",
    "medicine",
    "meta",
    "microsoft",
    "national",
    "netherlands",
    "network",
    "networks",
    "notes",
    "nvidia",
    "office",
    "openai",
    "page",
    "paper",
    "pdf",
    "physics",
    "preprint",
    "press",
    "proceedings",
    "project",
    "publisher",
    "publishing",
    "report",
    "research",
    "science",
    "sciences",
    "services",
    "shanghai",
    "singapore",
    "software",
    "solutions",
    "spain",
    "states",
    "street",
    "studies",
    "supplementary",
    "sweden",
    "switzerland",
    "system",
    "systems",
    "team",
    "technical",
    "technologies",
    "technology",
    "tex",
    "the",
    "title",
    "tokyo",
    "trust",
    "united",
    "universidad",
    "universität",
    "université",
    "university",
    "unknown",
    "usa",
    "user",
    "users",
    "version",
    "volume",
    "windows",
    "word",
    "workshop",
    "york",
];

/// The authors below the title on the first page; empty where they are not plain.
pub(super) fn shown(drafts: &[Draft], facts: &Facts) -> Vec<String> {
    found(drafts, facts).unwrap_or_default()
}

fn found(drafts: &[Draft], facts: &Facts) -> Option<Vec<String>> {
    let title = title_drafts(drafts, facts)?;
    let page = drafts[title.start].first().page;
    let below: Vec<&Draft> = drafts[title.end..]
        .iter()
        .take(BELOW_MAX)
        .take_while(|draft| draft.first().page == page && !begins_text(draft))
        .collect();
    let (byline, rest) = below.split_first()?;
    let is_text = matches!(byline.sort, Sort::Prose | Sort::Heading(_));
    let list = list(&byline.lines).filter(|_| is_text)?;
    let under: Vec<&Line> = byline.lines[list.lines..]
        .iter()
        .chain(rest.iter().flat_map(|draft| &draft.lines))
        .collect();
    let is_whole = list.is_joined || !under.iter().any(|line| is_row_of_others(line, &list.names));
    let is_told = list.names.len() > 1
        || list.is_marked
        || has_initial(&list.names)
        || names_institution(under.first());
    let is_plain = !are_phrases(&list.names, drafts);
    (is_whole && is_told && is_plain).then_some(list.names)
}

/// Whether a draft is the abstract or what comes behind it.
fn begins_text(draft: &Draft) -> bool {
    let text = draft.text().to_lowercase();
    [
        "abstract",
        "summary",
        "introduction",
        "1 introduction",
        "1. introduction",
        "contents",
    ]
    .iter()
    .any(|start| text.starts_with(start))
        || draft.lines.len() > 6
}

/// Names as a list.
struct List {
    names: Vec<String>,
    /// How many lines it takes.
    lines: usize,
    /// Whether commas or *and* join the names, so that there are no others.
    is_joined: bool,
    /// Whether they have marks of affiliations.
    is_marked: bool,
}

/// The names that some lines begin with.
fn list(lines: &[Line]) -> Option<List> {
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        text.push_str(&marked_text(line)?);
        if text.len() > LIST_LEN_MAX {
            return None;
        }
        let parts = parts(&text);
        let next = lines.get(i + 1).map(Line::text).unwrap_or_default();
        if is_open(&text, &parts) || next.starts_with("and ") {
            text.push(' ')
        } else {
            return whole_list(&parts, &text, i + 1, lines.get(i + 1));
        }
    }
    None
}

fn whole_list(parts: &[Part], text: &str, lines: usize, next: Option<&Line>) -> Option<List> {
    let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    let are_names =
        !names.is_empty() && names.len() <= AUTHORS_MAX && names.iter().all(|name| is_name(name));
    let is_joined =
        names.len() > 1 && (text.contains(',') || text.contains(" and ") || text.contains(" & "));
    let has_end = text.contains(" and ")
        || text.contains(" & ")
        || parts.last().is_some_and(|part| part.is_marked);
    // Without its end a list may go on in the next line, in the midst of a name.
    let may_go_on = is_joined && !has_end && next.is_some_and(|next| !is_affiliation(next));
    let repeats = names.iter().collect::<HashSet<_>>().len() < names.len();
    (are_names && !may_go_on && !repeats).then_some(List {
        names,
        lines,
        is_joined,
        is_marked: parts.iter().any(|part| part.is_marked),
    })
}

/// What stands between separators.
struct Part {
    name: String,
    is_marked: bool,
}

/// A line with [`MARK`] for what is small or a sign, and `|` for wide gaps; `None` for an address of e-mail and for
/// what is longer than any line of a page.
fn marked_text(line: &Line) -> Option<String> {
    if front::len(line) > TEXT_LEN_MAX {
        return None;
    }
    let mut text = String::new();
    for piece in &line.pieces {
        match piece.gap {
            Gap::Cell => text.push('|'),
            Gap::None => {}
            Gap::Space | Gap::Spaces(_) => text.push(' '),
        }
        if piece.is_small {
            text.push(MARK);
            // The comma behind a mark may be set as small as the mark.
            text.push_str(if piece.text.trim_end().ends_with(',') {
                ","
            } else {
                ""
            });
            continue;
        }
        let is_sign = |c: char| {
            c.is_numeric() || matches!(c, '*' | '∗' | '⋆' | '‡' | '§' | '¶' | '#' | '✉' | '^' | '°')
        };
        text.extend(
            piece
                .text
                .chars()
                .map(|c| if is_sign(c) { MARK } else { c }),
        );
    }
    let text = without_signs(&text);
    let text = text
        .strip_prefix("by ")
        .or(text.strip_prefix("By "))
        .unwrap_or(&text);
    (!text.contains(['@', '/', ':', '(', '[', '{'])).then(|| text.trim().to_owned())
}

/// Brackets without a letter as [`MARK`]: what stood between them is a sign.
fn without_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['(', '[']) {
        let inside = &rest[open + 1..];
        out.push_str(&rest[..open]);
        match inside.find(|c: char| c.is_alphanumeric() || matches!(c, ')' | ']')) {
            Some(end) if inside[end..].starts_with([')', ']']) => {
                out.push(MARK);
                rest = &inside[end + 1..];
            }
            _ => {
                out.push_str(&rest[open..=open]);
                rest = inside;
            }
        }
    }
    out.push_str(rest);
    out
}

fn parts(text: &str) -> Vec<Part> {
    let list = text.replace(" and ", ",").replace(" & ", ",");
    let list = list
        .trim_start_matches("and ")
        .trim_end_matches(" and")
        .trim_end_matches('&');
    let mut parts: Vec<Part> = Vec::new();
    for piece in list.split([',', ';', '|', '·', '•']) {
        // A mark also ends a name that no comma does.
        for name in piece.split_inclusive(MARK) {
            let is_marked = name.ends_with(MARK);
            let name = name.trim_matches(|c: char| c == MARK || c.is_whitespace());
            match parts.last_mut() {
                Some(last) if SUFFIXES.contains(&name) => {
                    last.name = format!("{}, {name}", last.name)
                }
                Some(last) if name.is_empty() => last.is_marked |= is_marked,
                _ if name.is_empty() => {}
                _ => parts.push(Part {
                    name: name.split_whitespace().collect::<Vec<_>>().join(" "),
                    is_marked,
                }),
            }
        }
    }
    parts
}

/// Whether a list goes on in the next line: behind a comma or *and*, or where the last name has no mark as the others do.
fn is_open(text: &str, parts: &[Part]) -> bool {
    let text = text.trim_end();
    let joins = [",", ";", "&", " and", "·"]
        .iter()
        .any(|end| text.ends_with(end));
    let marked = parts.iter().filter(|part| part.is_marked).count();
    let last = parts.last();
    let is_unmarked =
        last.is_some_and(|last| !last.is_marked) && marked > 0 && 2 * marked >= parts.len() - 1;
    let is_single = last.is_some_and(|last| !last.name.contains(' ')) && parts.len() > 1;
    joins || is_unmarked || is_single
}

/// Whether a text is the name of a person: `Robert J. Moss`, `Ludwig van Beethoven`, `J.-P. Serre`.
pub(super) fn is_name(text: &str) -> bool {
    let name = text
        .split_once(", ")
        .filter(|(_, rest)| SUFFIXES.contains(rest));
    let words: Vec<&str> = name
        .map_or(text, |(name, _)| name)
        .split_whitespace()
        .collect();
    let is_particle = |word: &&str| PARTICLES.contains(word);
    let fits = |word: &&str| is_particle(word) || is_initials(word) || is_name_word(word);
    let is_full = |word: &&str| is_name_word(word) && !is_initials(word);
    (2..=NAME_WORDS_MAX).contains(&words.len())
        && words.iter().all(fits)
        && words.last().is_some_and(is_full)
        && !words
            .first()
            .is_some_and(|word| ["y", "al", "and"].contains(word))
}

/// Whether the words of a file's own statement name a person, also surname first: `Lee, Ann`, or in a script without
/// capitals.
pub(super) fn is_stated_name(text: &str) -> bool {
    let turned = text
        .split_once(',')
        .map(|(family, given)| format!("{} {}", given.trim(), family.trim()));
    let is_uncased = |c: char| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase();
    let is_of_other_script =
        (2..=20).contains(&text.chars().count()) && text.chars().all(|c| is_uncased(c) || c == ' ');
    is_name(text) || turned.is_some_and(|name| is_name(&name)) || is_of_other_script
}

/// `J.`, `J.-P.`, `JP`
fn is_initials(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let are_capitals = word
        .chars()
        .all(|c| c.is_uppercase() || matches!(c, '.' | '-'));
    (1..=3).contains(&letters) && are_capitals && (word.contains('.') || letters <= 2)
}

fn is_name_word(word: &str) -> bool {
    let lower = word.to_lowercase();
    let fits =
        |c: char| c.is_alphabetic() || matches!(c, '\'' | '’' | '-' | '‐' | '\u{300}'..='\u{36f}');
    (2..=WORD_CHARS_MAX).contains(&word.chars().count())
        && word.starts_with(char::is_uppercase)
        && word.chars().all(fits)
        && !NO_NAMES.contains(&&lower[..])
        && !lexicon::is_institution(&lower)
        && !lexicon::is_stop(&lower)
        && !lexicon::is_month(&lower)
}

fn has_initial(names: &[String]) -> bool {
    let initial = |word: &str| is_initials(word) && word.contains('.');
    names.iter().any(|name| name.split(' ').any(initial))
}

/// Whether a line is names that are not among `names`: a second row of authors, or an institution that reads as a name.
fn is_row_of_others(line: &Line, names: &[String]) -> bool {
    let text = marked_text(line).unwrap_or_default();
    let parts = parts(&text);
    let is_other = |part: &Part| !names.contains(&part.name);
    !parts.is_empty() && parts.iter().all(|part| is_name(&part.name)) && parts.iter().any(is_other)
}

fn names_institution(line: Option<&&Line>) -> bool {
    line.is_some_and(|line| is_affiliation(line))
}

/// Whether a line says where authors work or are written to.
fn is_affiliation(line: &Line) -> bool {
    let text = line.text();
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphabetic());
    text.contains('@')
        || begins_with_mark(line)
        || words.any(|word| {
            NO_NAMES.contains(&word) && word != "and" && word != "the"
                || lexicon::is_institution(word)
        })
}

fn begins_with_mark(line: &Line) -> bool {
    let first = line.pieces.first();
    first
        .is_some_and(|piece| piece.is_small || piece.text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether the text writes the first and the last word of one of `names` in small letters.
fn are_phrases(names: &[String], drafts: &[Draft]) -> bool {
    let ends = |name: &String| {
        let mut words = name
            .split([' ', ','])
            .filter(|word| is_name_word(word) && !is_initials(word));
        let first = words.next()?.to_lowercase();
        let last = words
            .next_back()
            .map_or_else(|| first.clone(), str::to_lowercase);
        Some((first, last))
    };
    let wanted: Vec<(String, String)> = names.iter().filter_map(ends).collect();
    let all: HashSet<&str> = wanted.iter().flat_map(|(a, b)| [&a[..], &b[..]]).collect();
    let mut small: HashSet<String> = HashSet::new();
    // Addresses of e-mail write names in small letters.
    let is_address = |line: &&Line| line.pieces.iter().any(|piece| piece.text.contains('@'));
    let lines = drafts.iter().flat_map(|draft| &draft.lines);
    for piece in lines
        .filter(|line| !is_address(line))
        .flat_map(|line| &line.pieces)
    {
        let words = piece.text.split(|c: char| !c.is_alphabetic());
        small.extend(words.filter(|word| all.contains(word)).map(str::to_owned));
    }
    wanted
        .iter()
        .any(|(first, last)| small.contains(first) && small.contains(last))
}

#[cfg(test)]
mod tests {
    use super::super::tests::line_of;
    use super::*;

    #[test]
    fn what_is_longer_than_any_list_is_not_looked_at() {
        let read = |lines: &[Line]| list(lines).map(|list| list.names.len());
        for part in ["Ann Lee and ", "A B, II, ", "("] {
            let long = line_of(&part.repeat((1 << 20) / part.len()));
            assert!(marked_text(&long).is_none() && !is_row_of_others(&long, &[]));
            assert_eq!(read(&[long]), None);
        }
        let of_words = |len: usize| {
            let lines = (b'A'..=b'Z').map(|c| {
                let word = format!("{}{}", char::from(c), "a".repeat(len));
                let end = if c == b'Z' { "" } else { " and" };
                line_of(&format!(
                    "Ann {}, Bo {word} {word}{end}",
                    [&word[..]; 3].join(" ")
                ))
            });
            lines.collect::<Vec<Line>>()
        };
        assert_eq!(read(&of_words(9)), Some(52));
        assert_eq!(read(&of_words(23)), None);
    }

    #[test]
    fn names_are_told_from_other_capitalised_words() {
        let cases: &[(&str, bool)] = &[
            ("Ann Lee", true),
            ("Robert J. Moss", true),
            ("Ludwig van Beethoven", true),
            ("J.-P. Serre", true),
            ("W. N. Venables", true),
            ("ANN LEE", true),
            ("Martin Luther King, Jr.", true),
            ("Siobhán O’Brien-Müller", true),
            ("Ann", false),
            ("J. P.", false),
            ("Brown University", false),
            ("Google Brain", false),
            ("the R Core Team", false),
            ("Notes on R", false),
            ("New York", false),
            ("May Report", false),
            ("ann lee", false),
            ("Ann Lee2", false),
            ("", false),
        ];
        for (text, want) in cases {
            assert_eq!(is_name(text), *want, "{text}");
        }
        for (text, want) in [
            ("Lee, Ann", true),
            ("村上春樹", true),
            ("FAA", false),
            ("jsmith", false),
            ("Microsoft Office User", false),
        ] {
            assert_eq!(is_stated_name(text), want, "{text}");
        }
    }

    #[test]
    fn parts_of_a_list_end_at_commas_and_marks() {
        let cases: &[(&str, &[(&str, bool)], bool)] = &[
            (
                "Ann Lee†, Bo Ek†,†, and Cy Ode†",
                &[("Ann Lee", true), ("Bo Ek", true), ("Cy Ode", true)],
                false,
            ),
            (
                "Ann Lee† Bo Ek†",
                &[("Ann Lee", true), ("Bo Ek", true)],
                false,
            ),
            (
                "Ann Lee†, Bo Charles",
                &[("Ann Lee", true), ("Bo Charles", false)],
                true,
            ),
            (
                "Ann Lee, Bo Ek and",
                &[("Ann Lee", false), ("Bo Ek", false)],
                true,
            ),
            (
                "Ann Lee, Jr. and Bo Ek",
                &[("Ann Lee, Jr.", false), ("Bo Ek", false)],
                false,
            ),
            (
                "Ann Lee|Bo Ek",
                &[("Ann Lee", false), ("Bo Ek", false)],
                false,
            ),
        ];
        for (text, want, open) in cases {
            let got = parts(text);
            let told: Vec<(&str, bool)> =
                got.iter().map(|it| (&it.name[..], it.is_marked)).collect();
            assert_eq!(told, *want, "{text}");
            assert_eq!(is_open(text, &got), *open, "{text}");
        }
    }
}
