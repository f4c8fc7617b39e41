//! What of a file is not in its document, in sentences that its owner can act on.
//!
//! A file that can be read in part is stored in part, and its warnings name what is missing: a page that is a picture, a
//! chapter that the archive lacks. They are reported once, when the file is stored, and kept nowhere.
//!
//! Always true: at most [`WARNINGS_MAX`] of them and one that counts the others, each one line of at most [`BYTES_MAX`]
//! bytes without control characters, whatever the file says.
//!
//! Start reading at [`Warnings::add`].

/// Warnings of one document that are reported.
pub const WARNINGS_MAX: usize = 20;
/// Bytes of a warning.
pub const BYTES_MAX: usize = 600;
/// Names, or runs of pages, that one sentence lists.
const LISTED_MAX: usize = 8;
/// Bytes of these names, the first excepted: what to do about them is behind.
const LISTED_BYTES_MAX: usize = 200;
/// Characters of a name within a sentence.
const NAME_CHARS_MAX: usize = 60;

/// The warnings of one document, each sentence once, in the order in which they came up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    sentences: Vec<String>,
    omitted: usize,
}

impl Warnings {
    /// Adds a sentence: what is missing, then what to do about it. One that counts others, as [`Warnings::finish`] writes
    /// it, counts for as many.
    pub fn add(&mut self, sentence: impl AsRef<str>) {
        let sentence = one_line(sentence.as_ref(), BYTES_MAX);
        if let Some(count) = omitted_count(&sentence) {
            self.omitted = self.omitted.saturating_add(count);
            return;
        }
        if sentence.is_empty() || self.sentences.contains(&sentence) {
            return;
        }
        if self.sentences.len() < WARNINGS_MAX {
            self.sentences.push(sentence)
        } else {
            self.omitted = self.omitted.saturating_add(1)
        }
    }

    /// Adds all of `sentences`, which may come from anywhere.
    pub fn extend(&mut self, sentences: impl IntoIterator<Item = impl AsRef<str>>) {
        sentences.into_iter().for_each(|it| self.add(it));
    }

    /// The sentences, and how many more there were.
    pub fn finish(mut self) -> Vec<String> {
        if self.omitted > 0 {
            self.sentences.push(omitted_sentence(self.omitted));
        }
        self.sentences
    }
}

/// The sentence that counts the others.
fn omitted_sentence(count: usize) -> String {
    format!("and {}", count_noun(count, "more warning"))
}

/// How many others a sentence counts, where it is the one that does.
fn omitted_count(sentence: &str) -> Option<usize> {
    let (count, _) = sentence.strip_prefix("and ")?.split_once(' ')?;
    let count = count.parse().ok()?;
    (sentence == omitted_sentence(count)).then_some(count)
}

/// `text` on one line, white space and control characters as single spaces, cut at `most` bytes.
pub fn one_line(text: &str, bytes_max: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > bytes_max {
            let end = (0..=bytes_max).rev().find(|at| line.is_char_boundary(*at));
            line.truncate(end.unwrap_or(0));
            return line;
        }
    }
    line
}

/// Names in a sentence: `a.png, b.png and 3 more`. Few where they are long.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names = names.into_iter().peekable();
    let (mut shown, mut bytes) = (Vec::new(), 0);
    while let Some(name) = names.peek().map(|name| shortened(name)) {
        bytes += name.len();
        let is_full = shown.len() >= LISTED_MAX || bytes > LISTED_BYTES_MAX;
        if is_full && !shown.is_empty() {
            break;
        }
        shown.push(name);
        names.next();
    }
    and_more(shown, names.count())
}

/// Numbers of pages in a sentence: `page 3`, `pages 3-7 and 12`. `pages` ascend.
pub fn pages(pages: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for page in pages {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*page) => *last = *page,
            _ => runs.push((*page, *page)),
        }
    }
    let rest = runs.iter().skip(LISTED_MAX);
    let rest = rest.map(|(first, last)| (last - first) as usize + 1).sum();
    let shown = runs.iter().take(LISTED_MAX).map(|run| match run {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    });
    let noun = if pages.len() == 1 { "page" } else { "pages" };
    format!("{noun} {}", and_more(shown.collect(), rest))
}

/// `1 picture`, `2 pictures`.
pub fn count_noun(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// `1 picture is`, `2 pictures are`.
pub fn count_noun_is(count: usize, noun: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", count_noun(count, noun))
}

fn shortened(name: &str) -> String {
    let line = one_line(name, name.len());
    match line.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn and_more(shown: Vec<String>, rest: usize) -> String {
    match (rest, &shown[..]) {
        (0, [first @ .., last]) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (0, _) => shown.concat(),
        _ => format!("{} and {rest} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_pages_are_reported_as_ranges() {
        let cases: &[(&[u32], &str)] = &[
            (&[3], "page 3"),
            (&[3, 4], "pages 3-4"),
            (&[3, 4, 5, 6, 7, 12], "pages 3-7 and 12"),
            (&[1, 3, 5], "pages 1, 3 and 5"),
            (
                &[1, 3, 5, 7, 9, 11, 13, 15, 17, 18],
                "pages 1, 3, 5, 7, 9, 11, 13, 15 and 2 more",
            ),
            (&[u32::MAX - 1, u32::MAX], "pages 4294967294-4294967295"),
        ];
        for (numbers, want) in cases {
            assert_eq!(pages(numbers), *want);
        }
    }

    #[test]
    fn warnings_are_few_short_and_harmless() {
        let mut warnings = Warnings::default();
        warnings.add("a\u{1b}[31m\n b");
        warnings.add("a [31m b");
        warnings.add(" \n");
        warnings.extend((0..WARNINGS_MAX + 4).map(|n| format!("{n} {}", "é".repeat(BYTES_MAX))));
        let sentences = warnings.finish();
        assert_eq!(sentences.len(), WARNINGS_MAX + 1);
        assert_eq!(sentences[0], "a [31m b");
        assert_eq!(sentences[WARNINGS_MAX], "and 5 more warnings");
        assert!(sentences.iter().all(|it| it.len() <= BYTES_MAX));
        assert_eq!(Warnings::default().finish(), Vec::<String>::new());
    }

    #[test]
    fn names_are_listed_and_cut() {
        assert_eq!(listed(["a"]), "a");
        assert_eq!(listed(["a", "b\n", "c"]), "a, b and c");
        let many: Vec<String> = (0..LISTED_MAX + 2).map(|n| n.to_string()).collect();
        let text = listed(many.iter().map(String::as_str));
        assert_eq!(text, "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
        let long = "é".repeat(NAME_CHARS_MAX + 1);
        assert_eq!(listed([&long[..]]).chars().count(), NAME_CHARS_MAX + 1);
    }

    #[test]
    fn long_names_are_few() {
        let name = "x".repeat(NAME_CHARS_MAX);
        let text = listed([&name[..]; LISTED_MAX]);
        assert_eq!(text, format!("{name}, {name}, {name} and 5 more"));
        // The first is reported however long it is.
        let long = "𝛼".repeat(NAME_CHARS_MAX);
        let text = listed([&long[..], "b"]);
        assert_eq!(text, format!("{long} and 1 more"));
    }

    #[test]
    fn those_that_were_counted_stay_counted() {
        let mut warnings = Warnings::default();
        warnings.extend((0..WARNINGS_MAX + 80).map(|n| n.to_string()));
        let sentences = warnings.finish();
        assert_eq!(sentences[WARNINGS_MAX], "and 80 more warnings");
        let mut warnings = Warnings::default();
        warnings.extend(&sentences);
        assert_eq!(warnings.clone().finish(), sentences);
        warnings.extend(["another", "and 1 more warning"]);
        assert_eq!(
            warnings.clone().finish()[WARNINGS_MAX],
            "and 82 more warnings"
        );
        let most = format!("and {} more warnings", usize::MAX);
        warnings.extend([&most, &most]);
        assert_eq!(warnings.finish()[WARNINGS_MAX], most);
        let mut one = Warnings::default();
        one.extend((0..=WARNINGS_MAX).map(|n| n.to_string()));
        assert_eq!(one.finish()[WARNINGS_MAX], "and 1 more warning");
    }
}
