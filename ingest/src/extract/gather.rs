//! Candidates: every name that something in the file speaks for, with what speaks for it.

use std::collections::BTreeMap;

use super::define::{self, Definition};
use super::name::{self, core, is_name, key};
use super::proper;
use super::reading::{Line, WordUsage};
use crate::chunk::numbering;
use crate::text::lexicon;
use crate::text::prose::{self, Word};
use crate::text::terms;

/// What speaks for a name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidate {
    /// Sentences that define it: (rank, line). The best is its description.
    pub(crate) definitions: Vec<(u8, usize)>,
    /// Whether the file is called so, by its title and by a heading.
    pub(crate) is_title: bool,
    /// Headings that are it.
    pub(crate) headings: u32,
    /// Emphasised runs that are it.
    pub(crate) emphasised: u32,
    /// Marked as code.
    pub(crate) code: u32,
    /// Capitalised inside a sentence.
    pub(crate) capitalised: u32,
    /// Quoted.
    pub(crate) quoted: u32,
    /// How often it is a phrase of its own in running text.
    pub(crate) phrase: u32,
    /// What it is defined as: keys, and the line that says so.
    pub(crate) genera: Vec<(String, usize)>,
    /// Other names, as written.
    pub(crate) synonyms: Vec<String>,
    /// The first line that emphasises it.
    pub(crate) first_emphasis_line: Option<usize>,
}

/// Candidates by key.
#[derive(Debug, Default)]
pub(crate) struct Candidates(pub(crate) BTreeMap<String, Candidate>);

impl Candidates {
    /// Gathers from all lines; `title` is the document's.
    pub(crate) fn gather(
        title: Option<&str>,
        lines: &[Line],
        words: &[Vec<Word<'_>>],
        usage: &WordUsage,
    ) -> Candidates {
        let mut all = Candidates::default();
        if let Some(title) = title {
            all.add_heading(title, usage);
        }
        for (i, (line, words)) in lines.iter().zip(words).enumerate() {
            if line.is_contents_or_references {
                continue;
            }
            if line.is_heading {
                all.add_heading(&line.text, usage);
                if title == Some(line.text.as_str()) {
                    all.add_title(&line.text, usage);
                }
                continue;
            }
            all.add_marks(i, line, usage);
            all.add_proper_names(words, usage);
            all.add_definition(i, words, usage);
            all.add_synonyms(&line.text, words, usage);
            all.add_phrases(words, usage);
        }
        all
    }

    fn entry(&mut self, words: &[Word<'_>]) -> &mut Candidate {
        self.0.entry(key(words)).or_default()
    }

    fn add_heading(&mut self, text: &str, usage: &WordUsage) {
        for part in heading_names(text) {
            let words = prose::words(&part);
            let run = core(&words);
            if is_name(run, usage) {
                self.entry(run).headings += 1;
            }
        }
    }

    /// The title of the file, without what brackets at its end add.
    fn add_title(&mut self, title: &str, usage: &WordUsage) {
        let title = match title.rfind(" (") {
            Some(at) if title.ends_with(')') => &title[..at],
            _ => title,
        };
        let words = prose::words(title);
        let article = words
            .first()
            .is_some_and(|w| lexicon::is_determiner(&w.surface.to_lowercase()));
        let whole = &words[usize::from(article)..];
        if proper::is_title(whole) {
            let candidate = self.entry(whole);
            candidate.is_title = true;
            candidate.headings += 1;
        } else if is_name(core(whole), usage) {
            self.entry(core(whole)).is_title = true;
        }
    }

    fn add_marks(&mut self, at: usize, line: &Line, usage: &WordUsage) {
        for text in &line.emphasised {
            let words = prose::words(text);
            let run = core(&words);
            // A label such as `Note:` is not a term; neither is a whole sentence in italics.
            if is_name(run, usage) && run.len() <= 4 && !text.ends_with([':', '.', '!', '?']) {
                let candidate = self.entry(run);
                candidate.emphasised += 1;
                candidate.first_emphasis_line.get_or_insert(at);
            }
        }
        for text in line.code.iter().filter_map(|text| name::identifier(text)) {
            let words = prose::words(text);
            if let [word] = words.as_slice()
                && (!lexicon::is_stop(&text.to_lowercase()) || word.is_capitalised())
            {
                self.entry(&words).code += 1;
            }
        }
        for text in terms::quoted(&line.text) {
            let words = prose::words(text);
            let run = core(&words);
            if run.len() >= 2 && run.len() <= 4 && is_name(run, usage) {
                self.entry(run).quoted += 1;
            }
        }
    }

    fn add_proper_names(&mut self, words: &[Word<'_>], usage: &WordUsage) {
        for run in proper::names(words, usage) {
            self.entry(&words[run]).capitalised += 1;
        }
    }

    fn add_definition(&mut self, line: usize, words: &[Word<'_>], usage: &WordUsage) {
        let Some(Definition {
            subject,
            genus,
            rank,
        }) = define::definition(words, usage)
        else {
            return;
        };
        let genus = genus.map(|run| key(&words[run]));
        let subject = core(&words[subject]);
        let candidate = self.entry(subject);
        candidate.definitions.push((rank, line));
        candidate.genera.extend(genus.map(|genus| (genus, line)));
    }

    fn add_synonyms(&mut self, text: &str, words: &[Word<'_>], usage: &WordUsage) {
        for (name, other) in define::synonyms(text, words, usage) {
            let (name, other) = (core(&words[name]), core(&words[other]));
            if name.is_empty() || other.is_empty() || key(name) == key(other) {
                continue;
            }
            let written_other = surface_text(other);
            let candidate = self.entry(name);
            if !candidate.synonyms.contains(&written_other) {
                candidate.synonyms.push(written_other);
            }
        }
    }

    /// Runs of two to four content words between function words and punctuation, as in RAKE (Rose
    /// et al., "Automatic keyword extraction from individual documents", 2010).
    fn add_phrases(&mut self, words: &[Word<'_>], usage: &WordUsage) {
        let mut start = 0;
        for end in 1..=words.len() {
            let closes =
                end == words.len() || words[end].gap_before || !is_inside(&words[end], usage);
            if !closes {
                continue;
            }
            let from = if is_inside(&words[start], usage) {
                start
            } else {
                start + 1
            };
            let before = from.checked_sub(1).map(|at| &words[at]);
            let run = after_auxiliary(before, &words[from..end]);
            start = end;
            let run = core(before_object(run, words.get(end)));
            if (1..=4).contains(&run.len()) && is_name(run, usage) {
                self.entry(run).phrase += 1;
            }
        }
    }
}

/// A word that a phrase may run through.
fn is_inside(word: &Word<'_>, usage: &WordUsage) -> bool {
    let lower = word.surface.to_lowercase();
    word.is_acronym()
        || !(lexicon::is_stop(&lower) || lexicon::is_adverb(&lower) || usage.acts_as_verb(&lower))
}

/// Leaves out the first word of a run where it is a verb that the word before calls for.
fn after_auxiliary<'w, 'a>(before: Option<&Word<'_>>, run: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let called = before.is_some_and(Word::precedes_verb);
    match run {
        [first, rest @ ..]
            if called && !first.gap_before && lexicon::is_verb(&first.surface.to_lowercase()) =>
        {
            rest
        }
        _ => run,
    }
}

/// Leaves out the last word of a run that is followed by an article: it is a verb there.
fn before_object<'w, 'a>(run: &'w [Word<'a>], next: Option<&Word<'_>>) -> &'w [Word<'a>] {
    let object =
        next.is_some_and(|w| !w.gap_before && lexicon::is_determiner(&w.surface.to_lowercase()));
    match run {
        [rest @ .., _] if object && rest.len() >= 2 => rest,
        _ => run,
    }
}

/// The run as the sentence has it, words joined by blanks.
fn surface_text(words: &[Word<'_>]) -> String {
    words
        .iter()
        .map(|w| w.surface)
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a heading may name: itself, without its number, and its parts around `and`, `:` or a dash.
fn heading_names(heading: &str) -> Vec<String> {
    let title = numbering::parse(heading).title;
    let bare = title.trim_end_matches(['?', '!', '.', ':']);
    let bare = match bare.find(" (") {
        Some(at) if bare.ends_with(')') => &bare[..at],
        _ => bare,
    };
    let openings = [
        "what is ",
        "what are ",
        "introduction to ",
        "an introduction to ",
        "introducing ",
        "overview of ",
        "understanding ",
        "example: ",
        "code: ",
        "defining ",
        "working with ",
        "more on ",
        "real world: ",
        "the ",
    ];
    let lower = bare.to_lowercase();
    let opening = openings
        .iter()
        .find(|o| lower.starts_with(**o))
        .map_or(0, |o| o.len());
    let bare = bare.get(opening..).unwrap_or(bare);
    let mut names = vec![bare.to_owned()];
    for joint in [" and ", ": ", " — ", " – ", " vs. "] {
        if let Some((a, b)) = bare.split_once(joint) {
            names.extend([a.to_owned(), b.to_owned()]);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_give_their_names() {
        let names = |heading| heading_names(heading);
        assert_eq!(names("4.1 What Is Ownership?"), ["Ownership"]);
        assert_eq!(
            names("References and Borrowing"),
            ["References and Borrowing", "References", "Borrowing"]
        );
        assert_eq!(names("Ed Wood (film)"), ["Ed Wood"]);
    }
}
