//! What a passage shows of itself: key terms, equations, figures, keywords, and one line of summary.
//!
//! Everything is read off the passage alone. Keywords and summary are made for passages of more
//! than [`DESCRIBED_ABOVE`] tokens only: shorter ones say it themselves.

use std::collections::BTreeMap;

use super::lexicon;
use super::prose::{self, Word};
use loci_documents::MarkKind;

/// Passages of more tokens than this get keywords and a summary.
pub(crate) const DESCRIBED_TOKENS_MIN: u32 = 256;
/// The most key terms that a passage lists.
pub(crate) const KEY_TERMS_MAX: usize = 16;
const EQUATIONS_MAX: usize = 16;
const FIGURES_MAX: usize = 16;
const KEYWORDS_MAX: usize = 5;
const SUMMARY_CHARS_MAX: usize = 240;

/// Words before the number of a figure.
#[rustfmt::skip]
const FIGURE_WORDS: &[&str] = &[
    "Figure", "Figures", "Fig.", "Figs.", "figure", "figures", "fig.", "Diagram", "Plate",
    "Illustration", "FIGURE",
];

/// First words of a sentence that cannot stand alone.
#[rustfmt::skip]
const CONTEXT_WORDS: &[&str] = &[
    "it", "this", "these", "those", "they", "he", "she", "but", "however", "so", "and", "also",
    "thus", "therefore", "that", "then", "such", "first", "second", "finally", "otherwise",
    "hence", "instead",
];

/// A passage as a reader sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassageText {
    /// Its sentences of prose, without markup.
    pub(crate) sentences: Vec<String>,
    /// Emphasised runs, without markup.
    pub(crate) marked: Vec<String>,
    /// Displayed equations, as written.
    pub(crate) displayed: Vec<String>,
    /// Whether it contains a caption.
    pub(crate) has_figure: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PassageTerms {
    /// Emphasised, quoted and capitalised phrases, in that order, each once.
    pub(crate) key_terms: Vec<String>,
    /// Equations as written.
    pub(crate) equations: Vec<String>,
    /// `Figure 3.1`, as written.
    pub(crate) figure_refs: Vec<String>,
    /// Whether it shows or mentions a diagram.
    pub(crate) has_diagrams: bool,
    /// Three to five telling words or phrases, best first.
    pub(crate) keywords: Vec<String>,
    /// Its most central sentence.
    pub(crate) summary: Option<String>,
}

/// Whether a mark makes its text a key term: emphasis does, a link does not.
pub(crate) fn is_key_term_mark(kind: MarkKind) -> bool {
    matches!(kind, MarkKind::Emphasis | MarkKind::Strong | MarkKind::Code)
}

/// Reads the terms of a passage of `token_count` tokens. Linear in its text.
pub(crate) fn terms(passage: &PassageText, token_count: u32) -> PassageTerms {
    let figure_refs = figure_refs(&passage.sentences);
    let mentions = |word: &str| {
        passage
            .sentences
            .iter()
            .any(|s| s.to_lowercase().contains(word))
    };
    let has_diagrams = !figure_refs.is_empty()
        || passage.has_figure
        || ["diagram", "illustration", "flowchart"]
            .iter()
            .any(|word| mentions(word));
    let described = token_count > DESCRIBED_TOKENS_MIN;
    let words: Vec<Vec<Word<'_>>> = passage.sentences.iter().map(|s| prose::words(s)).collect();
    let weights = TermWeights::new(&words);
    PassageTerms {
        key_terms: key_terms(passage, &words),
        equations: equations(passage),
        figure_refs,
        has_diagrams,
        keywords: if described {
            weights.keywords()
        } else {
            Vec::new()
        },
        summary: if described {
            weights.summary(&passage.sentences, &words)
        } else {
            None
        },
    }
}

fn key_terms(passage: &PassageText, words: &[Vec<Word<'_>>]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |term: &str| {
        let term = term
            .trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | '>' | '+' | '#'));
        let known = found.iter().any(|t| t.eq_ignore_ascii_case(term));
        if found.len() < KEY_TERMS_MAX && is_term(term) && !known {
            found.push(term.to_owned());
        }
    };
    passage.marked.iter().for_each(|term| add(term));
    passage
        .sentences
        .iter()
        .flat_map(|s| quoted(s))
        .for_each(&mut add);
    for (sentence, words) in passage.sentences.iter().zip(words) {
        capitalised(words)
            .into_iter()
            .for_each(|run| add(&sentence[run[0].start..run[run.len() - 1].end()]));
    }
    found
}

/// A phrase of up to six words that is not made of function words.
fn is_term(term: &str) -> bool {
    let words: Vec<&str> = term.split_whitespace().collect();
    let telling =
        |w: &&str| w.chars().any(char::is_alphabetic) && !lexicon::is_stop(&w.to_lowercase());
    (1..=6).contains(&words.len()) && term.chars().count() > 1 && words.iter().any(telling)
}

/// What is in double quotes.
pub(crate) fn quoted(sentence: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = sentence;
    while let Some(open) = rest.find(['“', '"', '«']) {
        let (opener, after) = match rest[open..].chars().next() {
            Some(c) => (c, &rest[open + c.len_utf8()..]),
            None => break,
        };
        let closer = match opener {
            '“' => '”',
            '«' => '»',
            c => c,
        };
        let Some(close) = after.find(closer) else {
            break;
        };
        found.push(after[..close].trim_end_matches([',', '.', ';', '!', '?']));
        rest = &after[close + closer.len_utf8()..];
    }
    found
}

/// Runs of capitalised words inside a sentence; its first word counts only as part of a longer run.
pub(crate) fn capitalised<'w, 'a>(words: &'w [Word<'a>]) -> Vec<&'w [Word<'a>]> {
    let mut runs = Vec::new();
    let mut i = 0;
    while i < words.len() {
        let start = i;
        let named =
            |w: &Word<'_>| w.is_capitalised() && !lexicon::is_stop(&w.surface.to_lowercase());
        let follows = |i: usize| words.get(i).is_some_and(|w| !w.gap_before && named(w));
        while i < words.len() && (i == start && named(&words[i]) || i > start && follows(i)) {
            // `University of Oregon` is one name.
            let joined = words
                .get(i + 1)
                .is_some_and(|w| !w.gap_before && w.surface == "of");
            i += if joined && follows(i + 2) { 2 } else { 1 };
        }
        let run = &words[start..i];
        let only_first = start == 0 && run.len() == 1 && !run[0].is_acronym();
        if (1..=6).contains(&run.len())
            && !only_first
            && run.iter().any(|w| w.surface.chars().count() > 1)
        {
            runs.push(run);
        }
        i = i.max(start + 1);
    }
    runs
}

/// Displayed equations, LaTeX between dollars, and runs of symbols around a sign of equality.
fn equations(passage: &PassageText) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let inline = passage
        .sentences
        .iter()
        .flat_map(|s| match dollar_equations(s) {
            latex if latex.is_empty() => plain_equations(s),
            latex => latex,
        });
    for equation in passage.displayed.iter().cloned().chain(inline) {
        if found.len() < EQUATIONS_MAX && !found.contains(&equation) {
            found.push(equation);
        }
    }
    found
}

/// `$…$` with an operator or a command in it, so that two prices are no equation.
fn dollar_equations(sentence: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut parts = sentence.split('$').skip(1);
    while let (Some(inner), true) = (parts.next(), found.len() < EQUATIONS_MAX) {
        let mathematical = inner.contains(['=', '^', '_', '\\', '+', '<', '>', '≤', '≥']);
        if mathematical && !inner.is_empty() && inner.len() < 300 {
            found.push(inner.trim().to_owned());
            parts.next();
        }
    }
    found
}

/// Runs of symbols, numbers and short names around a sign of equality.
fn plain_equations(sentence: &str) -> Vec<String> {
    let tokens: Vec<&str> = sentence.split(' ').collect();
    let mut found = Vec::new();
    let mut done = 0;
    for (i, token) in tokens.iter().enumerate() {
        if i < done || !token.contains(['=', '≈', '≤', '≥']) || is_code(token) {
            continue;
        }
        let start = (done..i)
            .rev()
            .take_while(|&j| is_symbol(tokens[j]))
            .last()
            .unwrap_or(i);
        let end = (i + 1..tokens.len())
            .take_while(|&j| is_symbol(tokens[j]))
            .last()
            .map_or(i + 1, |j| j + 1);
        let run = tokens[start..end].join(" ");
        let run = run.trim_matches([',', '.', ';', ':', '(', '“', '”']).trim();
        let sides: Vec<&str> = run.splitn(2, ['=', '≈', '≤', '≥']).collect();
        if let [left, right] = sides[..]
            && left.chars().any(char::is_alphanumeric)
            && right.chars().any(char::is_alphanumeric)
            && run.len() <= 120
            && !tokens[start..end].iter().any(|token| is_code(token))
        {
            found.push(run.to_owned());
        }
        done = end;
    }
    found
}

/// Signs of a programming language rather than of mathematics.
fn is_code(token: &str) -> bool {
    [
        "==", "=>", "!=", ":=", "::", "+=", "-=", "//", "\"", "&", "{", ";", "</", "=\"",
    ]
    .iter()
    .any(|sign| token.contains(sign))
        || matches!(token, "let" | "var" | "const" | "int" | "mut")
}

/// Whether a token may be part of an equation: no longer word but a function.
fn is_symbol(token: &str) -> bool {
    let bare = token.trim_matches(|c: char| !c.is_alphanumeric());
    let letters = bare.chars().filter(|c| c.is_alphabetic()).count();
    let ended = token.ends_with(['.', ',', ';', ':'])
        && !bare.is_empty()
        && bare.chars().all(char::is_alphabetic);
    let short =
        letters <= 2 && !lexicon::is_stop(&bare.to_lowercase()) || bare == "a" && token == "a";
    let function = matches!(
        bare,
        "sin" | "cos" | "tan" | "log" | "exp" | "max" | "min" | "lim" | "mod" | "sqrt" | "det"
    );
    (short || function || bare.contains(['^', '_', '/', '(', '+', '*'])) && !(ended && letters > 2)
}

/// References to figures and diagrams, as written.
fn figure_refs(sentences: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for sentence in sentences {
        let tokens: Vec<&str> = sentence.split(' ').collect();
        for pair in tokens.windows(2) {
            let word = pair[0].trim_start_matches(|c: char| !c.is_alphabetic());
            let is_figure = FIGURE_WORDS.contains(&word);
            let number = pair[1].trim_start_matches('(');
            let end = number
                .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '–')))
                .unwrap_or(number.len());
            let number = number[..end].trim_end_matches(['.', '-', '–']);
            let sane = number.len() <= 8 && number.contains(|c: char| c.is_ascii_digit());
            let reference = format!("{word} {number}");
            if is_figure && sane && found.len() < FIGURES_MAX && !found.contains(&reference) {
                found.push(reference);
            }
        }
    }
    found
}

/// How telling each content word of a passage is: how often it occurs.
struct TermWeights {
    counts: BTreeMap<String, u32>,
    pairs: BTreeMap<(String, String), u32>,
    /// Most frequent way of writing a word.
    surfaces: BTreeMap<String, BTreeMap<String, u32>>,
}

impl TermWeights {
    fn new(sentences: &[Vec<Word<'_>>]) -> TermWeights {
        let mut weights = TermWeights {
            counts: BTreeMap::new(),
            pairs: BTreeMap::new(),
            surfaces: BTreeMap::new(),
        };
        for words in sentences {
            for (i, word) in words
                .iter()
                .enumerate()
                .filter(|(_, word)| is_content(word))
            {
                *weights.counts.entry(word.singular.clone()).or_default() += 1;
                let surface = if word.is_acronym() {
                    word.surface.to_owned()
                } else {
                    word.surface.to_lowercase()
                };
                *weights
                    .surfaces
                    .entry(word.singular.clone())
                    .or_default()
                    .entry(surface)
                    .or_default() += 1;
                if let Some(next) = words
                    .get(i + 1)
                    .filter(|next| !next.gap_before && is_content(next))
                {
                    *weights
                        .pairs
                        .entry((word.singular.clone(), next.singular.clone()))
                        .or_default() += 1;
                }
            }
        }
        weights
    }

    fn surface(&self, singular: &str) -> String {
        let forms = self.surfaces.get(singular).into_iter().flatten();
        let best = forms.max_by(|a, b| {
            a.1.cmp(b.1)
                .then(b.0.len().cmp(&a.0.len()))
                .then(b.0.cmp(a.0))
        });
        best.map_or_else(|| singular.to_owned(), |(surface, _)| surface.clone())
    }

    fn keywords(&self) -> Vec<String> {
        let mut ranked: Vec<(f32, Vec<&str>)> = Vec::new();
        for (word, &n) in &self.counts {
            let general = lexicon::is_general(word);
            ranked.push((n as f32 * if general { 0.3 } else { 1.0 }, vec![word]));
        }
        for ((a, b), &n) in self.pairs.iter().filter(|&(_, &n)| n >= 2) {
            ranked.push((n as f32 * 1.8, vec![a, b]));
        }
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut chosen: Vec<Vec<&str>> = Vec::new();
        for (_, words) in ranked {
            let covered = chosen.iter().any(|c| words.iter().any(|w| c.contains(w)));
            if !covered && chosen.len() < KEYWORDS_MAX {
                chosen.push(words);
            }
        }
        let shown = |words: Vec<&str>| {
            words
                .iter()
                .map(|w| self.surface(w))
                .collect::<Vec<_>>()
                .join(" ")
        };
        chosen.into_iter().map(shown).collect()
    }

    /// The sentence whose words are most frequent in the passage; early ones and those that define
    /// something are favoured. None when no sentence is fit to stand alone.
    fn summary(&self, sentences: &[String], words: &[Vec<Word<'_>>]) -> Option<String> {
        let mut best: Option<(f32, usize)> = None;
        for (i, words) in words.iter().enumerate() {
            let content: Vec<&Word<'_>> = words.iter().filter(|w| is_content(w)).collect();
            let whole = sentences[i].ends_with(['.', '!', '”', '"', ')']);
            let fit = whole && (6..=45).contains(&words.len()) && content.len() >= 3;
            if !fit || depends_on_context(words) || is_list(&sentences[i], words) {
                continue;
            }
            let total: f32 = content
                .iter()
                .map(|w| (1.0 + self.counts[&w.singular] as f32).ln())
                .sum();
            let early = 1.0 + 0.5 / (1.0 + i as f32);
            let score = total / (content.len() as f32).sqrt() * early;
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, i));
            }
        }
        best.map(|(_, i)| truncate(&sentences[i], SUMMARY_CHARS_MAX))
    }
}

fn is_content(word: &Word<'_>) -> bool {
    let lower = word.surface.to_lowercase();
    word.surface.chars().count() > 2
        && word.surface.starts_with(char::is_alphabetic)
        && !lexicon::is_stop(&lower)
        && !lexicon::is_verb(&lower)
        && !lexicon::is_adverb(&lower)
}

/// Whether a sentence is a line of a table, of contents or of references rather than prose.
fn is_list(sentence: &str, words: &[Word<'_>]) -> bool {
    let numbers = words
        .iter()
        .filter(|w| !w.surface.contains(char::is_alphabetic))
        .count();
    sentence.contains(". . ") || sentence.contains("```") || numbers * 6 > words.len()
}

/// Whether a sentence is fit to be read without those around it.
pub(crate) fn is_self_contained(sentence: &str) -> bool {
    let words = prose::words(sentence);
    let whole = sentence.ends_with(['.', '!', '”', '"', ')', '。']);
    let fits = whole && (6..=45).contains(&words.len());
    fits && !depends_on_context(&words) && !is_list(sentence, &words)
}

/// Whether a sentence starts with a word that points back.
fn depends_on_context(words: &[Word<'_>]) -> bool {
    let first = words
        .first()
        .map(|w| w.surface.to_lowercase())
        .unwrap_or_default();
    CONTEXT_WORDS.contains(&first.as_str())
}

/// At most `max` characters of `text`, cut at a word.
pub(crate) fn truncate(text: &str, max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(max) else {
        return text.to_owned();
    };
    let cut = text[..end].rfind(' ').unwrap_or(end);
    format!("{}…", text[..cut].trim_end_matches([',', ';', ':', ' ']))
}

#[cfg(test)]
mod tests {
    use loci_types::text::sentences::{SentenceRule, sentences};

    use super::*;

    fn terms_of(text: &str) -> PassageTerms {
        let spans = sentences(text, SentenceRule::Reader);
        let sentences = spans
            .into_iter()
            .map(|span| text[span].to_owned())
            .collect();
        terms(
            &PassageText {
                sentences,
                ..PassageText::default()
            },
            300,
        )
    }

    #[test]
    fn equations_are_found_as_written() {
        let cases: &[(&str, &[&str])] = &[
            ("Newton says F = ma holds here.", &["F = ma"]),
            ("Then $E = mc^2$ and $x_1$ follow.", &["E = mc^2", "x_1"]),
            ("We get a^2 + b^2 = c^2.", &["a^2 + b^2 = c^2"]),
            ("It costs $5 or $10 today.", &[]),
            ("Write let x = 5; then go.", &[]),
            ("Nothing here.", &[]),
            ("If a == b then stop.", &[]),
        ];
        for &(text, expected) in cases {
            assert_eq!(terms_of(text).equations, expected, "in {text:?}");
        }
    }

    #[test]
    fn figures_are_found_as_written() {
        let found = terms_of(
            "See Figure 3.1 and (Fig. 2). The figure 8 is drawn. Figure out why. Figures 4-2 and more.",
        );
        assert_eq!(
            found.figure_refs,
            ["Figure 3.1", "Fig. 2", "figure 8", "Figures 4-2"]
        );
        assert!(found.has_diagrams);
        assert!(!terms_of("No picture at all.").has_diagrams);
        assert!(terms_of("The diagram shows it.").has_diagrams);
    }

    #[test]
    fn key_terms_are_quoted_or_capitalised() {
        let found = terms_of(
            "The “borrow checker” and Guido van Rossum met. Today the Wave Function was there.",
        );
        assert_eq!(
            found.key_terms,
            ["borrow checker", "Guido", "Rossum", "Wave Function"]
        );
    }

    #[test]
    fn keywords_are_frequent_and_the_summary_is_central() {
        let found = terms_of(
            "It rained. The page table maps a virtual address to a physical page. Each page table has entries. \
                        The hardware walks the page table. A kernel sets up the page table of a process.",
        );
        assert_eq!(found.keywords[0], "page table");
        assert_eq!(
            found.summary.as_deref(),
            Some("The page table maps a virtual address to a physical page.")
        );
    }
}
