//! Where things are on a slide, and in which order they are read.
//!
//! Things are read in rows from the top, each from the left. Two things are in a row when the tops of both lie within
//! half the height of the lower one of the two. A group is one thing; what it holds is read within it.

use roxmltree::Node;

use loci_parsing::xml::node::{below, number};

/// A rectangle, in whatever unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) left: i64,
    pub(super) top: i64,
    pub(super) height: i64,
}

impl Rect {
    /// The place that an element's properties state.
    pub(super) fn from_node(node: Node<'_, '_>) -> Option<Rect> {
        const PATHS: [&[&str]; 3] = [&["spPr", "xfrm"], &["grpSpPr", "xfrm"], &["xfrm"]];
        let transform = PATHS.iter().find_map(|path| below(node, path))?;
        let offset = below(transform, &["off"])?;
        let extent = below(transform, &["ext"]);
        Some(Rect {
            left: number(offset, "x")?,
            top: number(offset, "y")?,
            height: extent.and_then(|extent| number(extent, "cy"))?.max(0),
        })
    }

    fn is_in_row_with(self, first: Rect) -> bool {
        let apart = self.top.saturating_sub(first.top);
        apart <= self.height.min(first.height) / 2
    }
}

/// Brings `things` into the order of reading. A thing without a place is read after the one before it.
pub(super) fn sort_by_position<T>(things: Vec<(Option<Rect>, T)>) -> Vec<T> {
    let mut last = Rect {
        left: i64::MIN,
        top: i64::MIN,
        height: 0,
    };
    let mut positioned: Vec<(Rect, T)> = Vec::with_capacity(things.len());
    for (rect, thing) in things {
        last = rect.unwrap_or(last);
        positioned.push((last, thing));
    }
    positioned.sort_by_key(|(place, _)| (place.top, place.left));
    let mut row_start = 0;
    for i in 0..=positioned.len() {
        let is_in_row = |at: &(Rect, T)| at.0.is_in_row_with(positioned[row_start].0);
        if !positioned.get(i).is_some_and(is_in_row) {
            positioned[row_start..i].sort_by_key(|(place, _)| (place.left, place.top));
            row_start = i;
        }
    }
    positioned.into_iter().map(|(_, thing)| thing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_from_the_top_and_each_from_the_left() {
        type Thing = (&'static str, Option<[i64; 3]>);
        let cases: &[(&str, &[Thing], &str)] = &[
            ("nothing", &[], ""),
            ("no places", &[("a", None), ("b", None)], "ab"),
            (
                "from the top",
                &[("a", Some([0, 9, 2])), ("b", Some([5, 1, 2]))],
                "ba",
            ),
            (
                "columns whose tops differ a little",
                &[("a", Some([50, 10, 90])), ("b", Some([0, 14, 90]))],
                "ba",
            ),
            (
                "a picture beside three boxes",
                &[
                    ("a", Some([50, 50, 20])),
                    ("b", Some([49, 75, 20])),
                    ("c", Some([0, 10, 100])),
                    ("d", Some([51, 12, 20])),
                ],
                "cdab",
            ),
            (
                "one without a place follows the one before it",
                &[
                    ("a", Some([0, 50, 5])),
                    ("b", None),
                    ("c", Some([0, 10, 5])),
                ],
                "cab",
            ),
            (
                "far off",
                &[
                    ("a", Some([0, i64::MAX, 1])),
                    ("b", Some([0, i64::MIN, i64::MAX])),
                ],
                "ba",
            ),
        ];
        for (name, things, want) in cases {
            let place = |at: &[i64; 3]| Rect {
                left: at[0],
                top: at[1],
                height: at[2],
            };
            let things = things
                .iter()
                .map(|(thing, at)| (at.as_ref().map(place), *thing));
            assert_eq!(sort_by_position(things.collect()).concat(), *want, "{name}");
        }
    }
}
