//! Proper names in a sentence: runs of capitalised words with what joins them.
//!
//! ```text
//! David H. Scofield            an initial does not end a name
//! Men's Studies Press          nor does a possessive that a capital follows
//! Register of Historic Places  `of`, `for` and particles join, `in` does not
//! Ministry of Trade and Labour `and` joins what an institution is for
//! 2008 Summer Olympics         a number may open a name
//! West Virginia Route 28       or close it
//! ```
//!
//! A word that opens the sentence belongs to a name where a capital follows and the file never
//! writes it small. Names of months and days are left to [`super::dates`].

use std::ops::Range;

use super::dates;
use super::name::{has_only_word_chars, letters};
use super::reading::WordUsage;
use crate::text::lexicon;
use crate::text::prose::Word;

/// The most words that a proper name has.
pub(crate) const PROPER_WORDS_MAX: usize = 8;

/// Small words that join the parts of a name in languages other than English.
const PARTICLES: &[&str] = &[
    "de", "del", "della", "der", "den", "di", "da", "do", "dos", "das", "du", "des", "la", "las",
    "le", "les", "los", "el", "al", "van", "von", "zu", "zum", "zur", "und", "ten", "ter", "y",
    "e", "et", "bin", "ibn", "av", "af", "og", "och",
];

/// The proper names of a sentence, in order. None in a line whose words are all capitalised, such
/// as a title.
pub(crate) fn names(words: &[Word<'_>], usage: &WordUsage) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if is_title_case(words) {
        return found;
    }
    let mut at = 0;
    while at < words.len() {
        if !opens_sentence(words, at, usage) {
            at += 1;
            continue;
        }
        let end = name_end(words, at);
        let run = trimmed(words, at..end);
        if is_name(&words[run.clone()], usage) {
            found.push(run);
        }
        at = end;
    }
    found
}

/// Whether a line is written as a title: capitals mean nothing in it. Commas between them do.
fn is_title_case(words: &[Word<'_>]) -> bool {
    let capitals = words.iter().filter(|w| w.is_capitalised()).count();
    let gaps = words.iter().filter(|w| w.gap_before).count();
    words.len() > 4 && capitals * 3 > words.len() * 2 && gaps * 5 < words.len()
}

/// Whether a name may start at `at`.
fn opens_sentence(words: &[Word<'_>], at: usize, usage: &WordUsage) -> bool {
    let word = &words[at];
    let capital = |i: usize| {
        words
            .get(i)
            .is_some_and(|next| !next.gap_before && is_capital(next))
    };
    if is_ordinal(word.surface) {
        return capital(at + 1);
    }
    if is_year(word.surface) {
        // `2008 Summer Olympics`, but `the 1993 American film` and `in 1843 Ada Lovelace`.
        let dated = at > 0 && dates::precedes_year(&words[at - 1].surface.to_lowercase());
        return capital(at + 1) && capital(at + 2) && !dated;
    }
    if !is_capital(word) {
        return false;
    }
    let lower = word.surface.to_lowercase();
    let stop = lexicon::is_stop(&lower) && !word.is_acronym();
    match at {
        0 if usage.is_proper(&lower) || word.is_acronym() => !stop,
        0 => capital(1) && !stop && !is_ordinary(&lower, usage),
        _ => !stop || capital(at + 1) && lower != "i",
    }
}

/// Whether a word that opens a sentence may well have its capital from there.
fn is_ordinary(lower: &str, usage: &WordUsage) -> bool {
    usage.is_lowercase(lower)
        || lexicon::is_weak(lower)
        || lexicon::is_adverb(lower)
        || lexicon::is_participle(lower)
        || lexicon::is_month(lower)
}

/// Where the name ends that starts at `start`.
fn name_end(words: &[Word<'_>], start: usize) -> usize {
    let mut end = start + 1;
    while let Some(next) = words.get(end).filter(|next| !next.gap_before) {
        if is_capital(next) {
            end += 1;
            continue;
        }
        if is_number(next.surface) && takes_number(&words[start..end]) {
            return end + 1;
        }
        match joined_name_end(words, start, end) {
            0 => break,
            length => end += length + 1,
        }
    }
    end
}

/// Whether a number may close a name: `Apollo 11`, but `Theorem 3`.
fn takes_number(run: &[Word<'_>]) -> bool {
    let last = &run[run.len() - 1];
    let part = run.len() == 1 && lexicon::is_numbered(&last.singular);
    is_capital(last) && !last.is_possessive && !part
}

/// How many small words at `end` join what follows to the name that starts at `start`; 0 where they
/// join nothing.
fn joined_name_end(words: &[Word<'_>], start: usize, end: usize) -> usize {
    let small = words[end..]
        .iter()
        .take_while(|w| !w.gap_before && !w.is_capitalised());
    let small: Vec<&str> = small.take(3).map(|w| w.surface).collect();
    let joins = match small[..] {
        ["of" | "for"] => true,
        // `Order of the Garter`, but `Mike Smith of the Phoenix Coyotes`.
        ["of", "the"] => end == start + 1,
        ["and" | "&"] => {
            words[start..end]
                .iter()
                .any(|w| w.surface == "of" || w.surface == "for")
                && words[start..end]
                    .iter()
                    .any(|w| lexicon::is_institution(&w.singular))
        }
        [particle] => PARTICLES.contains(&particle),
        [first, second] => PARTICLES.contains(&first) && PARTICLES.contains(&second),
        _ => false,
    };
    let named = words
        .get(end + small.len())
        .is_some_and(|w| !w.gap_before && is_capital(w));
    if joins && named && !words[end - 1].is_possessive {
        small.len()
    } else {
        0
    }
}

/// Without function words at its end, and without an article or the like before it: a store leaves
/// them out, too.
fn trimmed(words: &[Word<'_>], mut run: Range<usize>) -> Range<usize> {
    let is_small = |at: usize| {
        let word: &Word<'_> = &words[at];
        lexicon::is_stop(&word.surface.to_lowercase()) && !word.is_acronym() && word.surface != "I"
    };
    while run.len() > 1 && is_small(run.end - 1) {
        run.end -= 1;
    }
    let opens_small = |at: usize| lexicon::is_determiner(&words[at].surface.to_lowercase());
    while run.len() > 1 && (opens_small(run.start) || run.len() == 2 && is_small(run.start)) {
        run.start += 1;
    }
    run
}

/// Whether a word has a capital that no month or day calls for.
fn is_capital(word: &Word<'_>) -> bool {
    word.is_capitalised() && !lexicon::is_month(&word.surface.to_lowercase())
}

/// `28`, `2008`: a number of up to four digits.
fn is_number(word: &str) -> bool {
    (1..=4).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}

fn is_year(word: &str) -> bool {
    word.len() == 4 && is_number(word)
}

/// `1st`, `125th`.
fn is_ordinal(word: &str) -> bool {
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|end| word.strip_suffix(end));
    digits.is_some_and(is_number)
}

/// Whether a run of capitalised words names something.
pub(crate) fn is_name(run: &[Word<'_>], usage: &WordUsage) -> bool {
    let fit = |w: &Word<'_>| {
        is_number(w.surface)
            || is_ordinal(w.surface)
            || has_only_word_chars(w.surface)
                && !lexicon::is_citation_word(&w.surface.to_lowercase())
    };
    match run {
        [] => false,
        [word] => is_single(word, usage),
        [first, ..]
            if !first.is_capitalised()
                && !is_number(first.surface)
                && !is_ordinal(first.surface) =>
        {
            false
        }
        _ => {
            let long = run
                .iter()
                .filter(|w| is_capital(w) && letters(w.surface) > 2)
                .count();
            run.len() <= PROPER_WORDS_MAX
                && run.iter().all(fit)
                && (long > 1 || run.iter().any(is_distinctive))
        }
    }
}

/// Whether a word may carry a name of several: `York` in `New York`, but not `Part` in `Part B`.
fn is_distinctive(word: &Word<'_>) -> bool {
    letters(word.surface) >= 2
        && !lexicon::is_general(&word.singular)
        && !lexicon::is_stop(&word.surface.to_lowercase())
}

/// Whether a title names something, such as a work: short, without a break, and most words with a
/// capital, the first and the last among them.
pub(crate) fn is_title(words: &[Word<'_>]) -> bool {
    let capitals = words.iter().filter(|w| w.is_capitalised()).count();
    let ends = |w: Option<&Word<'_>>| w.is_some_and(|w| w.is_capitalised() || is_number(w.surface));
    (2..=PROPER_WORDS_MAX).contains(&words.len())
        && capitals * 2 > words.len()
        && ends(words.first())
        && ends(words.last())
        && words[1..].iter().all(|w| !w.gap_before)
        && words
            .iter()
            .all(|w| is_number(w.surface) || has_only_word_chars(w.surface))
        && words
            .iter()
            .any(|w| !lexicon::is_general(&w.singular) && letters(w.surface) > 2)
}

fn is_single(word: &Word<'_>, usage: &WordUsage) -> bool {
    let lower = word.surface.to_lowercase();
    let long = letters(word.surface) >= 3 || letters(word.surface) == 2 && word.is_acronym();
    let proper = usage.is_proper(&lower) || word.is_acronym();
    long && proper
        && has_only_word_chars(word.surface)
        && !lexicon::is_citation_word(&lower)
        && (!lexicon::is_stop(&lower) || word.is_acronym())
        && !lexicon::is_numbered(&word.singular)
        && !lexicon::is_vague(&word.singular)
        && !lexicon::is_weak(&lower)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::prose;

    fn found(text: &str) -> Vec<String> {
        let words = prose::words(text);
        let usage = WordUsage::new(std::slice::from_ref(&words));
        let runs = names(&words, &usage);
        let written =
            |run: Range<usize>| text[words[run.start].start..words[run.end - 1].end()].to_owned();
        runs.into_iter().map(written).collect()
    }

    fn check(cases: &[(&str, &[&str])]) {
        for (text, expected) in cases {
            assert_eq!(found(text), *expected, "in {text:?}");
        }
    }

    #[test]
    fn initials_titles_and_possessives_do_not_end_a_name() {
        check(&[
            (
                "It was written by David H. Scofield.",
                &["David H. Scofield"],
            ),
            (
                "He met Mr. Bruner in the U.S. Senate.",
                &["Mr. Bruner", "U.S. Senate"],
            ),
            ("It left Men's Studies Press.", &["Men's Studies Press"]),
            ("It is Scofield's horse.", &["Scofield"]),
        ]);
    }

    #[test]
    fn particles_join_a_name_where_capitals_stand_on_both_sides() {
        check(&[
            (
                "He left the University of Oregon.",
                &["University of Oregon"],
            ),
            (
                "She played Ludwig van Beethoven.",
                &["Ludwig van Beethoven"],
            ),
            ("The Order of the Garter fell.", &["Order of the Garter"]),
            (
                "So Mike Smith of the Phoenix Coyotes won.",
                &["Mike Smith", "Phoenix Coyotes"],
            ),
            ("He saw Paris in France.", &["Paris", "France"]),
        ]);
    }

    #[test]
    fn and_joins_only_what_an_institution_is_for() {
        check(&[
            (
                "The Ministry of Trade and Labour paid.",
                &["Ministry of Trade and Labour"],
            ),
            (
                "We saw Kings of France and Spain.",
                &["Kings of France", "Spain"],
            ),
            ("We saw France and Spain.", &["France", "Spain"]),
        ]);
    }

    #[test]
    fn numbers_open_and_close_names_but_count_no_parts_of_a_text() {
        check(&[
            (
                "It took the 2008 Summer Olympics.",
                &["2008 Summer Olympics"],
            ),
            ("It met the 125th Session.", &["125th Session"]),
            ("A 1993 American film.", &["American"]),
            ("It is on Route 28 now.", &["Route 28"]),
            ("By Theorem 3 and Part B and in Figure 7.", &[]),
        ]);
    }

    #[test]
    fn a_first_word_is_part_of_a_name_unless_the_file_writes_it_small() {
        check(&[
            ("Jazeera Airways flies.", &["Jazeera Airways"]),
            ("Former Queen Anne came.", &["Queen Anne"]),
            ("Players Jones and Brown were players.", &["Jones", "Brown"]),
            ("The United States of Italy.", &["United States of Italy"]),
        ]);
    }

    #[test]
    fn lists_of_names_are_read_and_titles_are_not() {
        check(&[
            (
                "With Harry Baur, Annie Ducaux, Jany Holt.",
                &["Harry Baur", "Annie Ducaux", "Jany Holt"],
            ),
            ("How To Build A Fast Compiler", &[]),
        ]);
    }

    #[test]
    fn months_and_days_are_no_names() {
        check(&[(
            "It was in January on Monday with Ada Lovelace.",
            &["Ada Lovelace"],
        )]);
    }
}
