//! The outline of a document: its headings as a tree, from the paths of its chunks.

use maud::{Markup, html};

use loci_views::documents::ListedChunk;

/// Entries that are shown at most; of more, the deepest are left out.
const ENTRIES_MAX: usize = 400;

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// How many headings are above it.
    pub(super) depth: usize,
    pub(super) title: String,
    /// The first chunk below it, as a place among the document's chunks.
    pub(super) chunk: usize,
}

/// The headings of these chunks, which are those of a document in their order; where there are none, the labels of
/// `spine`, which are places among them.
pub(super) fn entries(chunks: &[ListedChunk], spine: &[usize]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut open: &[String] = &[];
    for (chunk, listed) in chunks.iter().enumerate() {
        let path = listed.citation.path.get(1..).unwrap_or_default();
        let shared = path.iter().zip(open).take_while(|(a, b)| a == b).count();
        let new = path.iter().enumerate().skip(shared);
        entries.extend(new.map(|(depth, title)| Entry {
            depth,
            title: title.clone(),
            chunk,
        }));
        // What follows the last subheading is still below the one above.
        if shared < path.len() {
            open = path;
        }
    }
    if entries.is_empty() && spine.len() > 1 {
        let label = |chunk: &usize| {
            chunks
                .get(*chunk)
                .map(|listed| (*chunk, listed.citation.label.clone()))
        };
        let labels = spine.iter().filter_map(label);
        entries = labels
            .map(|(chunk, title)| Entry {
                depth: 0,
                title,
                chunk,
            })
            .collect();
    }
    within_bounds(entries)
}

/// Those that are shown: as many levels as there is room for, and of the first as many as there is room for.
fn within_bounds(mut entries: Vec<Entry>) -> Vec<Entry> {
    let deepest = entries.iter().map(|entry| entry.depth).max().unwrap_or(0);
    let mut counts = vec![0; deepest + 1];
    for entry in &entries {
        counts[entry.depth] += 1;
    }
    let sums = counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    let levels = sums.take_while(|sum| *sum <= ENTRIES_MAX).count().max(1);
    entries.retain(|entry| entry.depth < levels);
    entries.truncate(ENTRIES_MAX);
    entries
}

/// The tree as nested lists. `current`: the entry that is being read; what leads to it is open. `link`: where a chunk is
/// read.
pub(super) fn tree(
    entries: &[Entry],
    current: Option<usize>,
    link: &dyn Fn(usize) -> String,
) -> Markup {
    subtree(entries, 0, current, link)
}

/// The tree of some entries, the first of which is number `first` of all.
fn subtree(
    entries: &[Entry],
    first: usize,
    current: Option<usize>,
    link: &dyn Fn(usize) -> String,
) -> Markup {
    let depth = entries.first().map_or(0, |entry| entry.depth);
    let tops = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.depth <= depth);
    let tops: Vec<usize> = tops.map(|(at, _)| at).collect();
    let ends = tops.iter().skip(1).copied().chain([entries.len()]);
    html! {
        ol {
            @for (top, end) in tops.iter().zip(ends) {
                @let entry = &entries[*top];
                @let below = &entries[top + 1..end];
                @let number = first + top;
                @let is_current = (current == Some(number)).then_some("location");
                li {
                    a href=(link(entry.chunk)) aria-current=[is_current] lang="" { (entry.title) }
                    @if !below.is_empty() {
                        details open[current.is_some_and(|at| (number..first + end).contains(&at))] {
                            summary { span class="unseen" { "Below " (entry.title) } }
                            (subtree(below, number + 1, current, link))
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use locidb::query::cite::Citation;
    use locidb::storage::records::{ChunkType, Level};

    use super::*;

    fn listed(path: &[&str]) -> ListedChunk {
        let path = ["Title"].iter().chain(path).map(|&part| part.to_owned());
        ListedChunk {
            chunk: "k#0".into(),
            parent: None,
            level: Level::Paragraph,
            chunk_type: ChunkType::Other,
            tokens: 1,
            images: Vec::new(),
            citation: Citation {
                label: "Page 1".into(),
                path: path.collect(),
                ..Citation::default()
            },
        }
    }

    fn outline_of(paths: &[&[&str]]) -> Vec<(usize, String, usize)> {
        let chunks: Vec<ListedChunk> = paths.iter().map(|path| listed(path)).collect();
        let spine: Vec<usize> = (0..chunks.len()).collect();
        let entries = entries(&chunks, &spine);
        entries
            .into_iter()
            .map(|entry| (entry.depth, entry.title, entry.chunk))
            .collect()
    }

    #[test]
    fn each_heading_appears_once_in_the_outline() {
        let want = |expected: &[(usize, &str, usize)]| -> Vec<(usize, String, usize)> {
            expected
                .iter()
                .map(|(depth, title, chunk)| (*depth, (*title).to_owned(), *chunk))
                .collect()
        };
        assert_eq!(
            outline_of(&[
                &[],
                &["A"],
                &["A"],
                &["A", "B"],
                &["A"],
                &["A", "B"],
                &["C", "D"],
                &["C", "E"]
            ]),
            want(&[
                (0, "A", 1),
                (1, "B", 3),
                (0, "C", 6),
                (1, "D", 6),
                (1, "E", 7)
            ])
        );
        assert_eq!(
            outline_of(&[&[], &[]]),
            want(&[(0, "Page 1", 0), (0, "Page 1", 1)])
        );
        assert_eq!(outline_of(&[&[]]), Vec::new());
    }

    #[test]
    fn deepest_headings_are_dropped_when_there_are_too_many() {
        let entry = |depth| Entry {
            depth,
            title: "x".into(),
            chunk: 0,
        };
        let few: Vec<Entry> = (0..3).map(|_| entry(0)).collect();
        let many = [few.clone(), (0..ENTRIES_MAX).map(|_| entry(1)).collect()].concat();
        assert_eq!(within_bounds(many), few);
        assert_eq!(
            within_bounds((0..2 * ENTRIES_MAX).map(|_| entry(0)).collect()).len(),
            ENTRIES_MAX
        );
    }

    #[test]
    fn ancestors_of_the_current_entry_are_expanded() {
        let entry = |depth, title: &str| Entry {
            depth,
            title: title.into(),
            chunk: 0,
        };
        let entries = [entry(0, "A"), entry(1, "<B>"), entry(0, "C"), entry(1, "D")];
        let html = tree(&entries, Some(1), &|_| "#c0".into()).into_string();
        assert_eq!(html.matches("<details open>").count(), 1, "{html}");
        assert_eq!(html.matches("<details>").count(), 1, "{html}");
        assert!(
            html.contains("aria-current=\"location\" lang=\"\">&lt;B&gt;</a>"),
            "{html}"
        );
    }
}
