//! Hits assembled into one text, for a reader or a model.
//!
//! Grouped by document, the best document first; within it sections in reading order. The words of
//! the hits come first: only when all that fit are in, sections are filled up to their whole text,
//! best hit first. Text that one chunk shares with another is shown once.
//!
//! Always true: the text never costs more tokens than the budget.
//!
//! Start reading at [`assemble`].

use std::collections::HashMap;
use std::fmt::Write;

pub use loci_types::answer::{Context, ContextSection};

use crate::tokens::{TokenCounter, is_unspaced_script};

/// Hits in a row that do not fit a budget, after which no more are tried.
const MISSES_MAX: usize = 32;

/// A hit, as the assembly needs it.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'a> {
    /// Its rank, from 1.
    pub rank: u32,
    /// The document's public key.
    pub document: &'a str,
    /// What a reader calls the document.
    pub title: &'a str,
    /// The hit itself.
    pub own: TextSpan<'a>,
    /// What it climbs to: its section, or in `full-doc` mode the document. `None` for a hit that
    /// is alone.
    pub section: Option<TextSpan<'a>>,
}

/// A run of a document.
#[derive(Clone, Copy, Debug)]
pub struct TextSpan<'a> {
    /// The chunk's public key.
    pub chunk: &'a str,
    /// Characters `start..end` of the document's text; none where it is not known which.
    pub chars: (u64, u64),
    /// Exactly that text.
    pub text: &'a str,
    /// Its location.
    pub label: &'a str,
}

impl TextSpan<'_> {
    /// Whether the characters of `inner`, a run of the same document, are among its own.
    fn contains(&self, inner: &TextSpan<'_>) -> bool {
        let is_placed = |of: &TextSpan<'_>| of.chars.0 < of.chars.1;
        if is_placed(self) && is_placed(inner) {
            self.chars.0 <= inner.chars.0 && inner.chars.1 <= self.chars.1
        } else {
            self.chunk == inner.chunk
        }
    }

    /// Whether both are the same run of the same document.
    fn is_same(&self, other: &TextSpan<'_>) -> bool {
        self.contains(other) && other.contains(self)
    }
}

/// Assembles `hits`, best first, into a text of at most `budget` tokens.
///
/// When not even the best
/// hit fits, its beginning is shown, cut between words.
///
/// Costs an estimate of the whole text for every doubling of the hits that fit, and some for each that does not;
/// after `MISSES_MAX` in a row that do not fit, the rest are left out.
pub fn assemble(hits: &[Passage<'_>], budget: usize, counter: TokenCounter<'_>) -> Context {
    let mut plan = ContextLayout::default();
    let mut best: HashMap<&str, usize> = HashMap::new();
    for (place, hit) in hits.iter().enumerate() {
        best.entry(hit.document).or_insert(place);
    }
    let fits = |plan: &ContextLayout| counter(&plan.render(hits, &best).text) <= budget;
    plan.improve(hits.len(), fits, |plan, hit| plan.show(hits, hit));
    plan.improve(hits.len(), fits, |plan, hit| plan.fill(hits, hit));
    let mut context = plan.render(hits, &best);
    if plan.groups.is_empty() && !hits.is_empty() {
        context = truncate_to_fit(&hits[0], |context| counter(&context.text) <= budget);
    }
    context.tokens = counter(&context.text);
    context
}

/// Which hits are shown, and how.
#[derive(Clone, Default)]
struct ContextLayout {
    groups: Vec<SectionGroup>,
}

/// One section: all of it, or what the hits in it show.
#[derive(Clone)]
struct SectionGroup {
    /// The hit whose section it is.
    first: usize,
    is_whole: bool,
    /// Hits in it, best first.
    hits: Vec<usize>,
}

impl ContextLayout {
    /// Makes a change for each of the first `count` hits, best first, where the text still fits; ends when
    /// [`MISSES_MAX`] in a row did not. Changes are tried many at once, as all fit where their sum does.
    fn improve(
        &mut self,
        count: usize,
        fits: impl Fn(&ContextLayout) -> bool,
        change: impl Fn(&mut ContextLayout, usize),
    ) {
        let (mut at, mut step, mut misses) = (0, 1, 0);
        while at < count && misses < MISSES_MAX {
            let end = (at + step).min(count);
            let mut changed = self.clone();
            for hit in at..end {
                change(&mut changed, hit);
            }
            match (fits(&changed), end - at) {
                (true, _) => {
                    *self = changed;
                    (at, step, misses) = (end, step * 2, 0);
                }
                (false, 1) => {
                    (at, step) = (end, 1);
                    misses += 1;
                }
                (false, tried) => step = tried / 2,
            }
        }
    }

    /// Shows a hit's own words in its section.
    fn show(&mut self, hits: &[Passage<'_>], hit: usize) {
        let is_of_document =
            |group: &SectionGroup| hits[group.first].document == hits[hit].document;
        let shows = |group: &SectionGroup| {
            is_of_document(group)
                && shown_spans(group, hits).any(|extent| extent.contains(&hits[hit].own))
        };
        let own = section(&hits[hit]);
        let is_own = |group: &SectionGroup| {
            is_of_document(group) && section(&hits[group.first]).is_same(&own)
        };
        let at = self.groups.iter().position(shows);
        let at = at.or_else(|| self.groups.iter().position(is_own));
        let at = at.unwrap_or(self.groups.len());
        if at == self.groups.len() {
            self.groups.push(SectionGroup {
                first: hit,
                is_whole: false,
                hits: Vec::new(),
            });
        }
        self.groups[at].hits.push(hit);
        self.absorb(hits, at, hits[hit].own);
    }

    /// Shows the whole section of a hit that is shown.
    fn fill(&mut self, hits: &[Passage<'_>], hit: usize) {
        let Some(at) = self
            .groups
            .iter()
            .position(|group| group.hits.contains(&hit))
        else {
            return;
        };
        let group = &mut self.groups[at];
        group.is_whole = true;
        let shown = section(&hits[group.first]);
        self.absorb(hits, at, shown);
    }

    /// Takes the groups of the same document whose section lies in `shown` into group `at`.
    fn absorb(&mut self, hits: &[Passage<'_>], at: usize, shown: TextSpan<'_>) {
        let document = hits[self.groups[at].first].document;
        let mut absorbed: Vec<usize> = Vec::new();
        let mut place = 0;
        self.groups.retain(|group| {
            let first = &hits[group.first];
            let inside = first.document == document && shown.contains(&section(first));
            let keep = place == at || !inside;
            if !keep {
                absorbed.extend(&group.hits);
            }
            place += 1;
            keep
        });
        // Groups before `at` may be gone; its own hits are still the same, and in one group only.
        if let Some(group) = self.groups.iter_mut().find(|group| {
            hits[group.first].document == document
                && shown_spans(group, hits).any(|extent| extent.is_same(&shown))
        }) {
            group.hits.extend(absorbed);
            group.hits.sort_unstable();
        }
    }

    /// `best`: the place of the best hit of each document.
    fn render(&self, hits: &[Passage<'_>], best: &HashMap<&str, usize>) -> Context {
        let mut groups: Vec<&SectionGroup> = self.groups.iter().collect();
        let best = |group: &SectionGroup| best[hits[group.first].document];
        groups.sort_by_key(|group| (best(group), section(&hits[group.first]).chars));
        let sections = groups.iter().map(|group| group.render(hits)).collect();
        with_headings(sections)
    }
}

impl SectionGroup {
    fn render(&self, hits: &[Passage<'_>]) -> ContextSection {
        let mut extents: Vec<TextSpan<'_>> = shown_spans(self, hits).collect();
        extents.sort_by_key(|extent| (extent.chars.0, std::cmp::Reverse(extent.chars.1)));
        let mut section = empty_section(&hits[self.first]);
        section.hits = self.hits.iter().map(|&hit| hits[hit].rank).collect();
        let (mut end, mut len) = (None, 0u64);
        let mut starts: Vec<(TextSpan<'_>, u64, u64)> = Vec::new(); // (what is shown, where in `text`, how many characters)
        for extent in extents {
            if starts.iter().any(|(shown, ..)| shown.contains(&extent)) {
                continue;
            }
            let gap = if end == Some(extent.chars.0) && extent.chars.1 > 0 {
                ""
            } else {
                "\n…\n"
            };
            let gap = if end.is_some() { gap } else { "" };
            len += gap.chars().count() as u64;
            let count = extent.text.chars().count() as u64;
            starts.push((extent, len, count));
            section.text.push_str(gap);
            section.text.push_str(extent.text);
            len += count;
            end = Some(extent.chars.1);
        }
        let own = self.hits.iter().map(|&hit| hits[hit].own);
        let placed = own.filter_map(|own| {
            let &(shown, at, count) = starts.iter().find(|(shown, ..)| shown.contains(&own))?;
            if own.is_same(&shown) {
                return Some((at, at + count));
            }
            // The parts of a text that was rephrased have no location.
            let (own, shown) = (own.chars, shown.chars);
            let is_verbatim = shown.1 - shown.0 == count;
            is_verbatim.then(|| (at + own.0 - shown.0, at + own.1 - shown.0))
        });
        section.highlights = placed.collect();
        section.highlights.sort_unstable();
        section.highlights.dedup();
        section
    }
}

/// What a group shows: its section, or its hits.
fn shown_spans<'p>(
    group: &'p SectionGroup,
    hits: &'p [Passage<'p>],
) -> impl Iterator<Item = TextSpan<'p>> + 'p {
    let whole = group.is_whole.then(|| section(&hits[group.first]));
    let parts = group
        .hits
        .iter()
        .filter(|_| !group.is_whole)
        .map(|&hit| hits[hit].own);
    whole.into_iter().chain(parts)
}

fn section<'a>(hit: &Passage<'a>) -> TextSpan<'a> {
    hit.section.unwrap_or(hit.own)
}

fn empty_section(hit: &Passage<'_>) -> ContextSection {
    let extent = section(hit);
    ContextSection {
        document: hit.document.to_owned(),
        title: hit.title.to_owned(),
        chunk: extent.chunk.to_owned(),
        label: extent.label.to_owned(),
        ..ContextSection::default()
    }
}

/// The sections as one text, under headings.
fn with_headings(sections: Vec<ContextSection>) -> Context {
    let mut text = String::new();
    let mut document = None;
    for section in &sections {
        if document != Some(&section.document) {
            document = Some(&section.document);
            let gap = if text.is_empty() { "" } else { "\n\n" };
            write!(text, "{gap}# {}", section.title).expect("writing to a string does not fail");
        }
        write!(text, "\n\n## {}", section.label).expect("writing to a string does not fail");
        for rank in &section.hits {
            write!(text, " [{rank}]").expect("writing to a string does not fail");
        }
        text.push('\n');
        text.push_str(section.text.trim_end());
    }
    Context {
        tokens: 0,
        text,
        sections,
    }
}

/// The longest beginning of a hit that fits, cut between words, in scripts that do not part them between
/// characters; empty when not one word fits.
fn truncate_to_fit(hit: &Passage<'_>, fits: impl Fn(&Context) -> bool) -> Context {
    let text = hit.own.text;
    let first = text.len() - text.trim_start().len();
    let cuts: Vec<usize> = text
        .char_indices()
        .filter(|&(at, c)| at > first && (c.is_whitespace() || is_unspaced_script(c)))
        .map(|(at, _)| at)
        .collect();
    let cut = |at: usize| {
        let mut section = empty_section(hit);
        section.hits = vec![hit.rank];
        section.text = format!("{}…", text[..at].trim_end());
        section.highlights = vec![(0, section.text.chars().count() as u64 - 1)];
        with_headings(vec![section])
    };
    let fitting = cuts.partition_point(|&at| fits(&cut(at)));
    match fitting.checked_sub(1) {
        Some(last) => cut(cuts[last]),
        None => Context::default(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokens::sample::superadditive_counter;

    const TEXT: &str = "One a. Two b. Three c. Four d. Five e. Six f.";

    fn words(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn extent(chunk: &'static str, chars: (u64, u64)) -> TextSpan<'static> {
        TextSpan {
            chunk,
            chars,
            text: &TEXT[chars.0 as usize..chars.1 as usize],
            label: chunk,
        }
    }

    fn hit(rank: u32, own: (u64, u64), section: Option<(u64, u64)>) -> Passage<'static> {
        let section = section.map(|chars| extent("section", chars));
        Passage {
            rank,
            document: "d",
            title: "Doc",
            own: extent("own", own),
            section,
        }
    }

    #[test]
    fn whole_sections_are_shown_and_hits_marked_when_they_fit() {
        let hits = [
            hit(1, (7, 14), Some((0, 23))),
            hit(2, (0, 7), Some((0, 23))),
        ];
        let context = assemble(&hits, 100, &words);
        assert_eq!(
            context.text,
            "# Doc\n\n## section [1] [2]\nOne a. Two b. Three c."
        );
        assert_eq!(context.sections.len(), 1);
        assert_eq!(context.sections[0].highlights, [(0, 7), (7, 14)]);
        assert_eq!(context.tokens, words(&context.text));
    }

    #[test]
    fn invalid_offsets_and_paraphrased_texts_do_not_panic() {
        let odd = |rank, chars, text| {
            let mut odd = hit(rank, (0, 7), Some((0, 23)));
            odd.own = TextSpan {
                chars,
                text,
                ..odd.own
            };
            odd
        };
        // A row of a hostile store may end before it begins.
        let backwards = [odd(1, (7, 2), "One a.")];
        assert!(
            assemble(&backwards, 100, &words).sections[0]
                .highlights
                .is_empty()
        );
        let mut paraphrased = odd(1, (0, 7), "The number one is a.");
        paraphrased.section = None;
        let context = assemble(&[paraphrased], 100, &words);
        assert_eq!(context.sections[0].highlights, [(0, 20)]);
    }

    #[test]
    fn hits_take_the_budget_before_surrounding_text() {
        let hits = [
            hit(1, (0, 7), Some((0, 23))),
            hit(2, (39, 45), Some((23, 45))),
        ];
        let context = assemble(&hits, 12, &words);
        let shown: Vec<&str> = context
            .sections
            .iter()
            .map(|section| &section.text[..])
            .collect();
        assert_eq!(shown, ["One a. ", "Six f."]);
    }

    #[test]
    fn omitted_text_is_marked() {
        let hits = [
            hit(1, (0, 7), Some((0, 45))),
            hit(2, (39, 45), Some((0, 45))),
        ];
        let context = assemble(&hits, 11, &words);
        assert_eq!(context.sections[0].text, "One a. \n…\nSix f.");
        assert_eq!(context.sections[0].highlights, [(0, 7), (10, 16)]);
    }

    #[test]
    fn shared_text_is_shown_once() {
        // A sentence in a paragraph that is itself a hit, in a section that is one too.
        let hits = [
            hit(1, (7, 14), Some((0, 23))),
            hit(2, (0, 23), Some((0, 45))),
            hit(3, (0, 45), None),
        ];
        let context = assemble(&hits, 100, &words);
        assert_eq!(context.sections.len(), 1);
        assert_eq!(context.sections[0].text, TEXT);
        assert_eq!(context.sections[0].hits, [1, 2, 3]);
    }

    #[test]
    fn documents_are_ordered_by_their_best_hit() {
        let other = Passage {
            document: "e",
            title: "Other",
            ..hit(1, (0, 7), None)
        };
        let context = assemble(
            &[other, hit(2, (23, 31), None), hit(3, (0, 7), None)],
            100,
            &words,
        );
        let order: Vec<(&str, u32)> = context
            .sections
            .iter()
            .map(|s| (&s.document[..], s.hits[0]))
            .collect();
        assert_eq!(order, [("e", 1), ("d", 3), ("d", 2)]);
    }

    #[test]
    fn best_hit_is_truncated_when_nothing_fits() {
        let context = assemble(&[hit(1, (0, 45), None)], 9, &words);
        assert_eq!(context.sections[0].text, "One a. Two b.…");
        assert_eq!(
            assemble(&[hit(1, (0, 45), None)], 3, &words),
            Context::default()
        );
        assert_eq!(assemble(&[], 100, &words), Context::default());
    }

    fn any_hits() -> impl Strategy<Value = Vec<Passage<'static>>> {
        let range = || (0u64..45, 1u64..46).prop_map(|(a, b)| (a.min(b - 1), b.max(a + 1)));
        let one = (range(), prop::option::of(range()), prop::bool::ANY);
        prop::collection::vec(one, 0..8).prop_map(|hits| {
            let one = |(rank, (own, section, other)): (usize, ((u64, u64), Option<_>, bool))| {
                let around =
                    section.map(|(start, end): (u64, u64)| (start.min(own.0), end.max(own.1)));
                let document = if other { "e" } else { "d" };
                Passage {
                    document,
                    ..hit(rank as u32 + 1, own, around)
                }
            };
            hits.into_iter().enumerate().map(one).collect()
        })
    }

    proptest! {
        #[test]
        fn the_budget_holds_and_every_sentence_is_in_the_document(
            hits in any_hits(), budget in 0usize..80,
        ) {
            let context = assemble(&hits, budget, &words);
            prop_assert!(context.tokens <= budget);
            prop_assert_eq!(context.tokens, words(&context.text));
            prop_assert!(superadditive_counter(&assemble(&hits, budget, &superadditive_counter).text) <= budget);
            let mut ranks: Vec<u32> = context.sections.iter().flat_map(|s| s.hits.clone()).collect();
            ranks.sort_unstable();
            let all = ranks.len();
            ranks.dedup();
            prop_assert_eq!(ranks.len(), all, "a hit stands twice");
            for section in &context.sections {
                for piece in section.text.split('…') {
                    prop_assert!(TEXT.contains(piece.trim()), "{:?}", piece);
                }
                let chars: Vec<char> = section.text.chars().collect();
                for &(start, end) in &section.highlights {
                    let marked: String = chars[start as usize..end as usize].iter().collect();
                    let own = |hit: &Passage<'_>| hit.own.text.starts_with(marked.trim_end());
                    prop_assert!(hits.iter().any(own), "{:?}", marked);
                }
            }
        }

        #[test]
        fn with_room_for_all_every_hit_is_shown(hits in any_hits()) {
            let context = assemble(&hits, usize::MAX, &words);
            let shown: usize = context.sections.iter().map(|section| section.hits.len()).sum();
            prop_assert_eq!(shown, hits.len());
        }
    }
}
