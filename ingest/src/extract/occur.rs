//! Where names occur: in every sentence, the longest name first.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::reading::{Line, WordUsage};
use crate::text::lexicon;
use crate::text::prose::Word;

/// One occurrence of a name in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Occurrence {
    /// The name's number.
    pub(crate) name: usize,
    /// Its words in the line.
    pub(crate) words: Range<usize>,
}

/// Finds a fixed set of names in lines of words.
#[derive(Debug, Default)]
pub(crate) struct NameFinder {
    /// By first word: the words of each name, longest first.
    by_first: HashMap<String, Vec<(Vec<String>, usize)>>,
    /// Names that count only where they are written in this way.
    required_forms: BTreeMap<usize, RequiredForm>,
}

/// How a name must be written to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequiredForm {
    /// In any way.
    Any,
    /// With a capital.
    Capital,
    /// Marked as code.
    Code,
}

impl NameFinder {
    /// Adds a name by its key.
    pub(crate) fn add(&mut self, key: &str, name: usize, writing: RequiredForm) {
        let words: Vec<String> = key.split(' ').map(str::to_owned).collect();
        let Some(first) = words.first().cloned() else {
            return;
        };
        let same = self.by_first.entry(first).or_default();
        same.push((words, name));
        same.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.1.cmp(&b.1)));
        if writing != RequiredForm::Any {
            self.required_forms.insert(name, writing);
        }
    }

    /// Occurrences in a line, in order, none overlapping another.
    pub(crate) fn find(&self, line: &Line, words: &[Word<'_>]) -> Vec<Occurrence> {
        let mut found = Vec::new();
        let mut i = 0;
        while i < words.len() {
            let fitting = self.by_first.get(&words[i].singular).into_iter().flatten();
            let mut fitting = fitting.filter(|(name, _)| matches(&words[i..], name));
            let hit = fitting
                .find(|(name, id)| self.has_required_form(*id, line, &words[i..i + name.len()]));
            match hit {
                Some((name, id)) => {
                    found.push(Occurrence {
                        name: *id,
                        words: i..i + name.len(),
                    });
                    i += name.len();
                }
                None => i += 1,
            }
        }
        found
    }

    fn has_required_form(&self, name: usize, line: &Line, words: &[Word<'_>]) -> bool {
        match self.required_forms.get(&name) {
            Some(RequiredForm::Capital) => words.iter().all(Word::is_capitalised),
            Some(RequiredForm::Code) => {
                line.code.iter().any(|code| code.contains(words[0].surface))
            }
            _ => true,
        }
    }
}

fn matches(words: &[Word<'_>], name: &[String]) -> bool {
    words.len() >= name.len()
        && words
            .iter()
            .zip(name)
            .all(|(word, part)| word.singular == *part)
        && words[1..name.len()].iter().all(|word| !word.gap_before)
}

/// How often each way of writing a name occurs. A capital that only the start of a sentence calls
/// for is undone.
#[derive(Clone, Debug, Default)]
pub(crate) struct SurfaceForms(BTreeMap<String, u32>);

impl SurfaceForms {
    /// Counts one occurrence.
    pub(crate) fn add(
        &mut self,
        text: &str,
        words: &[Word<'_>],
        opens_sentence: bool,
        usage: &WordUsage,
    ) {
        let mut form = text[words[0].start..words[words.len() - 1].end()].to_owned();
        let first = &words[0];
        let proper = usage.is_proper(&first.surface.to_lowercase()) || first.is_acronym();
        let inner = first
            .surface
            .chars()
            .skip(1)
            .any(|c| c.is_uppercase() || c == ':' || c == '_');
        let titled = words.get(1).is_some_and(Word::is_capitalised);
        if opens_sentence && !proper && !inner && !titled {
            form.replace_range(..first.surface.len(), &first.surface.to_lowercase());
        }
        *self.0.entry(form).or_default() += 1;
    }

    /// The way to write the name of `key`: in the singular where that occurs, else the commonest.
    pub(crate) fn best(&self, key: &str) -> Option<String> {
        let singular = |form: &str| form.to_lowercase() == key;
        let mut forms: Vec<(&String, &u32)> = self.0.iter().collect();
        forms.sort_by(|a, b| {
            singular(b.0)
                .cmp(&singular(a.0))
                .then(b.1.cmp(a.1))
                .then(a.0.cmp(b.0))
        });
        forms.first().map(|(form, _)| to_singular(form, key))
    }
}

/// A form whose last word is an ordinary plural, with that word as the key has it.
fn to_singular(form: &str, key: &str) -> String {
    let (head, last) = form
        .rsplit_once(' ')
        .map_or(("", form), |(head, last)| (head, last));
    let singular = key.rsplit(' ').next().unwrap_or(key);
    let ordinary = last.chars().all(|c| c.is_ascii_lowercase()) && last.len() > singular.len();
    match (ordinary, head.is_empty()) {
        (false, _) => form.to_owned(),
        (true, true) => singular.to_owned(),
        (true, false) => format!("{head} {singular}"),
    }
}

/// How a name must be written to count: a proper name with its capital; a code name that is an
/// ordinary word, as code.
pub(crate) fn required_form(key: &str, is_code: bool, is_proper: bool) -> RequiredForm {
    let ordinary = lexicon::is_stop(key)
        || lexicon::is_verb(key)
        || lexicon::is_general(key)
        || lexicon::is_weak(key)
        || key.ends_with("ed");
    match (is_code, is_proper) {
        (true, _) if !key.contains(' ') && ordinary => RequiredForm::Code,
        (_, true) => RequiredForm::Capital,
        _ => RequiredForm::Any,
    }
}
