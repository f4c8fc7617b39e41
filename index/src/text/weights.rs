//! Statistics of a view, and the weights of what a question is scored by.

use std::collections::HashMap;

use loci_storage::SegmentReader;

use super::items::ScoringItem;
use super::read::{Term, TextReader};
use super::{Statistics, TextError};
use crate::analysis::{LanguageCounts, Languages};

/// Among which chunks a term is rare or frequent: in a store of several languages, those in its own.
/// Otherwise the stop words of a language that few documents are in would be rare words. And lest those of
/// another language that it quotes are, all terms of a word weigh what the one weighs that most chunks have.
struct LanguageStatistics {
    all: Statistics,
    /// `None` where all chunks are in one language.
    by_language: Option<LanguageCounts>,
}

impl LanguageStatistics {
    fn new<B: AsRef<[u8]>>(
        segments: &[SegmentReader<'_, TextReader<B>>],
        all: Statistics,
    ) -> LanguageStatistics {
        let readers = || segments.iter().map(|placed| placed.reader.languages());
        let languages = readers().fold(Languages::default(), |all, counts| {
            all.union(counts.languages())
        });
        let several = languages.bits().count_ones() > 1;
        let by_language = several.then(|| {
            let mut sum = LanguageCounts::default();
            for counts in readers() {
                for language in counts.languages().iter() {
                    sum.add(language.into(), counts.get(language));
                }
            }
            sum
        });
        LanguageStatistics { all, by_language }
    }

    fn for_term(&self, term: &str) -> Statistics {
        let counts = self.by_language.as_ref();
        let chunk_count = counts.and_then(|counts| counts.chunk_count_for_term(term));
        Statistics {
            chunk_count: chunk_count.map_or(self.all.chunk_count, |n| n.min(self.all.chunk_count)),
            ..self.all
        }
    }
}

/// The statistics that scores over `segments` rest on.
pub fn statistics<B: AsRef<[u8]>>(segments: &[SegmentReader<'_, TextReader<B>>]) -> Statistics {
    segments
        .iter()
        .fold(Statistics::default(), |sum, placed| Statistics {
            chunk_count: sum.chunk_count + u64::from(placed.reader.chunk_count()),
            // Damaged sections may claim anything.
            total_length: sum
                .total_length
                .saturating_add(placed.reader.total_length()),
        })
}

/// Fills `found` with the terms of `items` in each segment; `None` for what is no term.
pub(super) fn look_up<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    items: &[ScoringItem<'_>],
    found: &mut Vec<Option<Term>>,
) -> Result<(), TextError> {
    found.clear();
    for placed in segments {
        let terms = placed.reader.terms()?;
        for item in items {
            let term = item.term().map(|term| terms.get(term));
            found.push(term.transpose()?.flatten());
        }
    }
    Ok(())
}

/// The weight of each item: its idf times how often it counts.
pub(super) fn term_weights<B: AsRef<[u8]>>(
    segments: &[SegmentReader<'_, TextReader<B>>],
    statistics: Statistics,
    items: &[ScoringItem<'_>],
    found: &[Option<Term>],
) -> Vec<f32> {
    let among = LanguageStatistics::new(segments, statistics);
    let df = |place: usize| -> u64 {
        let in_segments = found.iter().skip(place).step_by(items.len());
        in_segments.flatten().map(|term| u64::from(term.df)).sum()
    };
    // By word, the chunks that have it in the language where most have it, and its idf there.
    let of_words = among.by_language.as_ref().map(|_| {
        let mut of_words: HashMap<u32, (u64, f32)> = HashMap::new();
        for (place, item) in items.iter().enumerate() {
            if let ScoringItem::Term(term, _, Some(word)) = item {
                let df = df(place);
                let idf = term_weight(among.for_term(term), df, 1.0);
                let most = of_words.entry(*word).or_default();
                if df > most.0 || (df == most.0 && idf < most.1) {
                    *most = (df, idf);
                }
            }
        }
        of_words
    });
    let weight = |(place, item): (usize, &ScoringItem<'_>)| match item {
        ScoringItem::Term(term, often, word) => match (df(place), word, &of_words) {
            (0, ..) => 0.0,
            (_, Some(word), Some(of_words)) => of_words[word].1 * often,
            (df, ..) => term_weight(among.for_term(term), df, *often),
        },
        ScoringItem::Matches(matched, often) => term_weight(statistics, matched.df(), *often),
    };
    items.iter().enumerate().map(weight).collect()
}

/// 0 for what no chunk has: it must not make the points of the rest coarse.
fn term_weight(statistics: Statistics, df: u64, often: f32) -> f32 {
    if df == 0 {
        0.0
    } else {
        statistics.idf(df) * often
    }
}
