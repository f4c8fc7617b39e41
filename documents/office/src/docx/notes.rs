//! Notes at the foot of a page or the end of the text, and comments: where they are, and which are due.

use std::collections::{HashMap, HashSet};

use roxmltree::{Document, Node};

use crate::xml::node::{attribute, children};

/// All notes and comments of a document.
#[derive(Debug)]
pub(super) struct Notes<'t> {
    footnotes: HashMap<&'t str, Node<'t, 't>>,
    endnotes: HashMap<&'t str, Node<'t, 't>>,
    comments: HashMap<&'t str, Node<'t, 't>>,
    /// Numbers of the notes that the text has referred to, in one sequence.
    numbers: HashMap<(NoteKind, &'t str), usize>,
    comments_seen: HashSet<&'t str>,
    /// Notes of the section that is being read.
    pending: Vec<(usize, Node<'t, 't>)>,
}

/// Where a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NoteKind {
    Footnote,
    Endnote,
}

impl<'t> Notes<'t> {
    pub(super) fn new(
        footnotes: &'t Document<'t>,
        endnotes: &'t Document<'t>,
        comments: &'t Document<'t>,
    ) -> Notes<'t> {
        Notes {
            footnotes: by_id(footnotes, "footnote"),
            endnotes: by_id(endnotes, "endnote"),
            comments: by_id(comments, "comment"),
            numbers: HashMap::new(),
            comments_seen: HashSet::new(),
            pending: Vec::new(),
        }
    }

    /// The number of a note that the text refers to. It is due at the end of the section from its first reference on.
    pub(super) fn refer(&mut self, kind: NoteKind, id: &'t str) -> Option<usize> {
        let notes = match kind {
            NoteKind::Footnote => &self.footnotes,
            NoteKind::Endnote => &self.endnotes,
        };
        let note = *notes.get(id)?;
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry((kind, id)).or_insert(next);
        if number == next {
            self.pending.push((number, note));
        }
        Some(number)
    }

    /// The notes that are due, which are then no longer.
    pub(super) fn take_pending(&mut self) -> Vec<(usize, Node<'t, 't>)> {
        std::mem::take(&mut self.pending)
    }

    /// A comment, the first time that it is asked for.
    pub(super) fn comment(&mut self, id: &'t str) -> Option<Node<'t, 't>> {
        let comment = self.comments.get(id)?;
        self.comments_seen.insert(id).then_some(*comment)
    }
}

fn by_id<'t>(tree: &'t Document<'t>, name: &'t str) -> HashMap<&'t str, Node<'t, 't>> {
    // The lines that part notes from the text are notes of other types.
    let is_note = |note: &Node<'_, '_>| matches!(attribute(*note, "type"), None | Some("normal"));
    children(tree.root_element(), name)
        .filter(is_note)
        .filter_map(|note| Some((attribute(note, "id")?, note)))
        .collect()
}
