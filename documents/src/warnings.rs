//! What of a file is not in its document, in sentences that its owner can act on.
//!
//! A file that can be read in part is stored in part, and its warnings name what is missing: a page that is a picture, a
//! chapter that the archive lacks. They are told once, when the file is stored, and kept nowhere.
//!
//! Always true: at most [`WARNINGS_MAX`] of them and one that counts the others, each one line of at most [`BYTES_MAX`]
//! bytes without control characters, whatever the file says.
//!
//! Start reading at [`Warnings::add`].

/// Warnings of one document that are told.
pub const WARNINGS_MAX: usize = 20;
/// Bytes of a warning.
pub const BYTES_MAX: usize = 600;
/// Names, or runs of pages, that one sentence lists.
const LISTED_MAX: usize = 8;
/// Bytes of these names, the first excepted: what to do about them stands behind.
const LISTED_BYTES_MAX: usize = 200;
/// Characters of a name within a sentence.
const NAME_CHARS_MAX: usize = 60;

/// The warnings of one document, each sentence once, in the order in which they came up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    told: Vec<String>,
    untold: usize,
}

impl Warnings {
    /// Adds a sentence: what is missing, then what to do about it. One that counts others, as [`Warnings::finish`] writes
    /// it, counts for as many.
    pub fn add(&mut self, sentence: impl AsRef<str>) {
        let sentence = one_line(sentence.as_ref(), BYTES_MAX);
        if let Some(untold) = untold(&sentence) {
            self.untold = self.untold.saturating_add(untold);
            return;
        }
        if sentence.is_empty() || self.told.contains(&sentence) {
            return;
        }
        if self.told.len() < WARNINGS_MAX {
            self.told.push(sentence)
        } else {
            self.untold = self.untold.saturating_add(1)
        }
    }

    /// Adds all of `sentences`, which may come from anywhere.
    pub fn extend(&mut self, sentences: impl IntoIterator<Item = impl AsRef<str>>) {
        sentences.into_iter().for_each(|it| self.add(it));
    }

    /// The sentences, and how many more there were.
    pub fn finish(mut self) -> Vec<String> {
        if self.untold > 0 {
            self.told.push(others(self.untold));
        }
        self.told
    }
}

/// The sentence that counts the others.
fn others(count: usize) -> String {
    format!("and {}", counted(count, "more warning"))
}

/// How many others a sentence counts, where it is the one that does.
fn untold(sentence: &str) -> Option<usize> {
    let (count, _) = sentence.strip_prefix("and ")?.split_once(' ')?;
    let count = count.parse().ok()?;
    (sentence == others(count)).then_some(count)
}

/// `text` on one line, white space and control characters as single spaces, cut at `most` bytes.
pub fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most {
            let end = (0..=most).rev().find(|at| line.is_char_boundary(*at));
            line.truncate(end.unwrap_or(0));
            return line;
        }
    }
    line
}

/// Names in a sentence: `a.png, b.png and 3 more`. Few where they are long.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names = names.into_iter().peekable();
    let (mut told, mut bytes) = (Vec::new(), 0);
    while let Some(name) = names.peek().map(|name| short(name)) {
        bytes += name.len();
        let is_full = told.len() >= LISTED_MAX || bytes > LISTED_BYTES_MAX;
        if is_full && !told.is_empty() {
            break;
        }
        told.push(name);
        names.next();
    }
    and_more(told, names.count())
}

/// Numbers of pages in a sentence: `page 3`, `pages 3-7 and 12`. `pages` ascend.
pub(crate) fn pages(pages: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for page in pages {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*page) => *last = *page,
            _ => runs.push((*page, *page)),
        }
    }
    let rest = runs.iter().skip(LISTED_MAX);
    let rest = rest.map(|(first, last)| (last - first) as usize + 1).sum();
    let told = runs.iter().take(LISTED_MAX).map(|run| match run {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    });
    let noun = if pages.len() == 1 { "page" } else { "pages" };
    format!("{noun} {}", and_more(told.collect(), rest))
}

/// `1 picture`, `2 pictures`.
pub fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// `1 picture is`, `2 pictures are`.
pub(crate) fn are(count: usize, noun: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, noun))
}

fn short(name: &str) -> String {
    let line = one_line(name, name.len());
    match line.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn and_more(told: Vec<String>, rest: usize) -> String {
    match (rest, &told[..]) {
        (0, [first @ .., last]) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        (0, _) => told.concat(),
        _ => format!("{} and {rest} more", told.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_in_runs() {
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
        let told = warnings.finish();
        assert_eq!(told.len(), WARNINGS_MAX + 1);
        assert_eq!(told[0], "a [31m b");
        assert_eq!(told[WARNINGS_MAX], "and 5 more warnings");
        assert!(told.iter().all(|it| it.len() <= BYTES_MAX));
        assert_eq!(Warnings::default().finish(), Vec::<String>::new());
    }

    #[test]
    fn names_are_listed_and_cut() {
        assert_eq!(listed(["a"]), "a");
        assert_eq!(listed(["a", "b\n", "c"]), "a, b and c");
        let many: Vec<String> = (0..LISTED_MAX + 2).map(|n| n.to_string()).collect();
        let told = listed(many.iter().map(String::as_str));
        assert_eq!(told, "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
        let long = "é".repeat(NAME_CHARS_MAX + 1);
        assert_eq!(listed([&long[..]]).chars().count(), NAME_CHARS_MAX + 1);
    }

    #[test]
    fn long_names_are_few() {
        let name = "x".repeat(NAME_CHARS_MAX);
        let told = listed([&name[..]; LISTED_MAX]);
        assert_eq!(told, format!("{name}, {name}, {name} and 5 more"));
        // The first is told however long it is.
        let long = "𝛼".repeat(NAME_CHARS_MAX);
        let told = listed([&long[..], "b"]);
        assert_eq!(told, format!("{long} and 1 more"));
    }

    #[test]
    fn those_that_were_counted_stay_counted() {
        let mut warnings = Warnings::default();
        warnings.extend((0..WARNINGS_MAX + 80).map(|n| n.to_string()));
        let told = warnings.finish();
        assert_eq!(told[WARNINGS_MAX], "and 80 more warnings");
        let mut warnings = Warnings::default();
        warnings.extend(&told);
        assert_eq!(warnings.clone().finish(), told);
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
