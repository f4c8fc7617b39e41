//! The words that a reader sees: markup taken off, white space collapsed, words divided.
//!
//! Chunks keep their text exactly as the file has it; everything that is *concluded* from a text
//! (type, key terms, concepts, similarity) is concluded from what this module makes of it.

use loci_documents::Kind;
use loci_types::text::sentences::is_before_word;

use super::lexicon;

/// `text` as a reader sees it. For Markdown, marks of emphasis, links, quotations, lists, headings,
/// code and HTML are taken off. White space becomes single blanks, also in other formats.
pub(crate) fn visible(text: &str, kind: Kind) -> String {
    match kind {
        Kind::Markdown => collapse_whitespace(&strip_markup(text)),
        _ => collapse_whitespace(text),
    }
}

fn collapse_whitespace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Markdown without its markup.
fn strip_markup(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(strip_line_start).collect();
    let mut out = String::with_capacity(text.len());
    strip_inline(&strip_comments(&lines.join("\n")), &mut out);
    out
}

fn strip_line_start(line: &str) -> &str {
    let mut rest = line.trim_start();
    while let Some(inner) = rest.strip_prefix('>') {
        rest = inner.trim_start();
    }
    if let Some(inner) = rest
        .strip_prefix(['-', '*', '+'])
        .and_then(|r| r.strip_prefix(' '))
    {
        return inner.trim_start();
    }
    let hashes = rest.bytes().take_while(|&b| b == b'#').count();
    if (1..=6).contains(&hashes) && rest[hashes..].starts_with(' ') {
        return rest.trim_start_matches('#').trim().trim_end_matches('#');
    }
    if rest.starts_with("```") || rest.starts_with("~~~") {
        return "";
    }
    rest
}

/// Appends `text` to `out` without emphasis, link targets, tags and back quotes.
fn strip_inline(text: &str, out: &mut String) {
    let mut rest = text;
    let mut previous = ' ';
    let mut code = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let skip = match c {
            '`' => {
                code = !code && head(after, LINK_LEN_MAX).contains('`');
                1
            }
            _ if code => 0,
            '\\' if after.starts_with(|c: char| c.is_ascii_punctuation()) => {
                let escaped = after.chars().next().unwrap_or(' ');
                out.push(escaped);
                previous = escaped;
                rest = &after[escaped.len_utf8()..];
                continue;
            }
            '*' => rest.len() - rest.trim_start_matches('*').len(),
            '_' => emphasis_len(previous, rest),
            '!' if after.starts_with('[') => 1,
            '[' => usize::from(link_tail(after).is_some()),
            ']' => link_target_len(rest),
            '<' => tag_len(rest),
            _ => 0,
        };
        if skip > 0 {
            rest = &rest[skip..];
            continue;
        }
        out.push(c);
        previous = c;
        rest = after;
    }
}

/// Bytes of a run of underscores that marks emphasis; 0 inside a word such as `snake_case`.
fn emphasis_len(previous: char, rest: &str) -> usize {
    let run = rest.len() - rest.trim_start_matches('_').len();
    let next = rest[run..].chars().next().unwrap_or(' ');
    if previous.is_alphanumeric() && next.is_alphanumeric() {
        0
    } else {
        run
    }
}

/// What follows the `]` that closes a bracket, when it makes the bracket a link.
fn link_tail(after: &str) -> Option<&str> {
    let close = head(after, LINK_LEN_MAX).find(']')?;
    let tail = &after[close + 1..];
    (tail.starts_with('(') || tail.starts_with('[')).then_some(tail)
}

/// Bytes of `](target)` or `][name]` at the start of `rest`, else 0.
fn link_target_len(rest: &str) -> usize {
    let close = match rest.as_bytes().get(1) {
        Some(b'(') => ')',
        Some(b'[') => ']',
        _ => return 0,
    };
    let target = head(&rest[2..], LINK_LEN_MAX);
    target.find(close).map_or(0, |n| n + 3)
}

/// Bytes of an HTML tag at the start of `rest`, else 0.
fn tag_len(rest: &str) -> usize {
    let opens = |c: char| c.is_ascii_alphabetic() || c == '/' || c == '!';
    if !rest[1..].starts_with(opens) {
        return 0;
    }
    head(rest, TAG_LEN_MAX).find('>').map_or(0, |n| n + 1)
}

/// Longer runs between angle brackets are no tags, in bytes.
const TAG_LEN_MAX: usize = 1000;
/// Longer runs between brackets are no links, and between back quotes no code, in bytes.
const LINK_LEN_MAX: usize = 4000;

/// The beginning of a text, of at most so many bytes: what closes a mark is not looked for through all of a file.
fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn strip_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("<!--") {
        out.push_str(&rest[..start]);
        rest = rest[start..]
            .find("-->")
            .map_or("", |end| &rest[start + end + 3..]);
    }
    out.push_str(rest);
    out
}

/// A word of a visible text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// As written, without a possessive ending.
    pub(crate) surface: &'a str,
    /// Lower case, in the singular: what words are compared by.
    pub(crate) singular: String,
    /// Where it starts in the text, in bytes.
    pub(crate) start: usize,
    /// Whether anything but one blank parts it from the word before, or the full stop of an initial
    /// or a title such as `Mr.`.
    pub(crate) gap_before: bool,
    /// Whether it had a possessive ending.
    pub(crate) is_possessive: bool,
}

impl Word<'_> {
    /// Where it ends in the text, in bytes.
    pub(crate) fn end(&self) -> usize {
        self.start + self.surface.len()
    }

    /// Whether it starts with a capital letter.
    pub(crate) fn is_capitalised(&self) -> bool {
        self.surface.starts_with(char::is_uppercase)
    }

    /// Whether a verb may come next, as it does behind `to`, a modal verb or a pronoun. `May` is a
    /// month.
    pub(crate) fn precedes_verb(&self) -> bool {
        self.surface != "May" && lexicon::precedes_verb(&self.surface.to_lowercase())
    }

    /// Whether it is all capitals (with digits, or a plural s), two letters or more.
    pub(crate) fn is_acronym(&self) -> bool {
        let core = self.surface.strip_suffix('s').unwrap_or(self.surface);
        let letters = core.chars().filter(|c| c.is_alphabetic()).count();
        letters >= 2
            && core
                .chars()
                .all(|c| c.is_uppercase() || c.is_numeric() || c == '-')
            && core.starts_with(char::is_uppercase)
    }
}

/// The words of `text`, in order. Hyphens, apostrophes, underscores, and full stops or colons
/// between letters (`std::io`, `e.g`) are part of a word.
pub(crate) fn words(text: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut end = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        if !is_word_char(c) {
            continue;
        }
        let mut stop = start + c.len_utf8();
        while let Some(&(at, c)) = rest.peek() {
            if at >= stop {
                let Some(more) = continues(&text[at..], c) else {
                    break;
                };
                stop = at + more;
            }
            rest.next();
        }
        let whole = &text[start..stop];
        let surface = ["'s", "’s"]
            .iter()
            .find_map(|s| whole.strip_suffix(s))
            .unwrap_or(whole);
        let between = &text[end..start];
        let shortened = between == ". " && found.last().is_some_and(is_abbreviated);
        let gap_before = between != " " && !shortened;
        found.push(Word {
            surface,
            singular: singular(surface),
            start,
            gap_before,
            is_possessive: surface.len() < whole.len(),
        });
        end = stop;
    }
    found
}

/// Whether a full stop behind the word belongs to it: `J.`, `U.S.`, `Mr.`.
fn is_abbreviated(word: &Word<'_>) -> bool {
    let mut parts = word.surface.split('.');
    word.is_capitalised()
        && (parts.all(|part| part.chars().count() == 1)
            || is_before_word(&word.surface.to_lowercase()))
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes at the start of `rest` (whose first character is `c`) that continue a word.
fn continues(rest: &str, c: char) -> Option<usize> {
    if is_word_char(c) {
        return Some(c.len_utf8());
    }
    let joint = if rest.starts_with("::") {
        2
    } else {
        c.len_utf8()
    };
    let joins = joint == 2 && c == ':' || matches!(c, '\'' | '’' | '-' | '‑' | '.');
    let next = rest[joint..].chars().next()?;
    (joins && is_word_char(next)).then_some(joint + next.len_utf8())
}

/// Lower case and singular: `Smart Pointers` and `smart pointer` are equal, word by word.
pub(crate) fn singular(word: &str) -> String {
    // The plural of an acronym: `CPUs`.
    let initials = word
        .strip_suffix('s')
        .filter(|core| core.len() > 1 && core.chars().all(char::is_uppercase));
    if let Some(initials) = initials {
        return initials.to_lowercase();
    }
    strip_plural(&word.to_lowercase())
}

/// The singular of a lower-case English word, as far as its ending tells.
fn strip_plural(word: &str) -> String {
    let ends = |s: &str| word.ends_with(s);
    let cut = |n: usize| word[..word.len() - n].to_owned();
    if word.len() < 4 || !ends("s") || !word.is_ascii() || lexicon::is_never_plural(word) {
        return word.to_owned();
    }
    if let Some(singular) = lexicon::irregular_singular(word) {
        return singular.to_owned();
    }
    if ends("ies") && word.len() > 4 {
        return cut(3) + "y";
    }
    if ["sses", "shes", "ches", "xes", "zzes"]
        .iter()
        .any(|s| ends(s))
    {
        return cut(2);
    }
    if ["ss", "us", "is", "as", "os"].iter().any(|s| ends(s)) {
        return word.to_owned();
    }
    cut(1)
}

/// Singular content words of `text`, in order: no function words, no numbers, nothing of one letter.
pub(crate) fn content_words(text: &str) -> Vec<String> {
    let keep = |w: &Word<'_>| {
        w.surface.chars().count() > 1
            && !lexicon::is_stop(&w.surface.to_lowercase())
            && w.surface.chars().any(char::is_alphabetic)
    };
    words(text)
        .into_iter()
        .filter(keep)
        .map(|w| stem(w.singular))
        .collect()
}

/// Cuts the commonest endings off a singular word, so that `borrow`, `borrowed` and `borrowing` meet.
fn stem(word: String) -> String {
    for ending in ["ing", "ed", "ly"] {
        if let Some(base) = word.strip_suffix(ending)
            && base.len() >= 4
        {
            return base.to_owned();
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_read_without_its_markup() {
        let cases: &[(&str, &str)] = &[
            (
                "_Ownership_ is a **set** of rules",
                "Ownership is a set of rules",
            ),
            (
                "a `snake_case` name and snake_case",
                "a snake_case name and snake_case",
            ),
            (
                "see [“Data Types”][data-types]<!-- ignore --> section",
                "see “Data Types” section",
            ),
            ("a [link](http://x.y/z_1) here", "a link here"),
            ("> quoted\n> text", "quoted text"),
            ("- item one", "item one"),
            ("## The `String` Type", "The String Type"),
            ("![alt text](img.png)", "alt text"),
            ("2 \\* 3", "2 * 3"),
            ("an <b>html</b> tag, 1 < 2", "an html tag, 1 < 2"),
            ("[not a link]", "[not a link]"),
            ("`Vec<T>` and `a*b`", "Vec<T> and a*b"),
            ("an <img\nalt=\"x\"\n/> image", "an image"),
        ];
        for &(text, expected) in cases {
            assert_eq!(visible(text, Kind::Markdown), expected, "of {text:?}");
        }
    }

    #[test]
    fn other_formats_keep_their_characters() {
        assert_eq!(visible("a * b\n_c_", Kind::Pdf), "a * b _c_");
    }

    #[test]
    fn words_are_divided() {
        let text = "Rust's smart pointers, e.g. std::rc::Rc — don't";
        let got: Vec<(String, bool)> = words(text)
            .into_iter()
            .map(|w| (w.singular, w.gap_before))
            .collect();
        let expected = [
            ("rust", true),
            ("smart", false),
            ("pointer", false),
            ("e.g", true),
            ("std::rc::rc", true),
            ("don't", true),
        ];
        let expected: Vec<(String, bool)> =
            expected.iter().map(|&(w, g)| (w.to_owned(), g)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn plurals_become_their_singular() {
        let cases: &[(&str, &str)] = &[
            ("Pointers", "pointer"),
            ("copies", "copy"),
            ("classes", "class"),
            ("class", "class"),
            ("boxes", "box"),
            ("status", "status"),
            ("analysis", "analysis"),
            ("matches", "match"),
            ("vertices", "vertex"),
            ("bus", "bus"),
            ("kubernetes", "kubernete"),
            ("CPUs", "cpu"),
        ];
        for &(word, expected) in cases {
            assert_eq!(singular(word), expected);
        }
    }
}
