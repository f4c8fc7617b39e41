//! Typed views of a store: documents, chunks, concepts and citations, as they are printed and sent.
//!
//! Each view is a function from one committed state to plain values that become JSON. The command line, the wire
//! protocol, HTTP, MCP and the pages all use these values, so their output agrees. Every read goes through a
//! [`Reader`]: for a reader that is bound to a user, documents of other users do not exist.
//!
//! Start reading at [`Reader`], then at the module of what you read. [`View`] is the trait of every such value;
//! [`faults`] maps errors of the library to faults of a call.

pub mod citations;
pub mod communities;
pub mod concepts;
pub mod documents;
pub mod faults;
mod interruptible;
pub mod items;
mod json;
mod view;

use locidb::storage::records::DocumentRecord;
use locidb::storage::{DocumentId, Rows, StoreError, Table};
use locidb::{DatabaseSnapshot, Error};

pub use interruptible::InterruptibleRows;
pub use json::{answer_json, parse_request, prompt_json};
pub use view::{ReadCall, View};

/// A committed state, as one reader may see it.
#[derive(Clone, Copy)]
pub struct Reader<'v> {
    view: &'v DatabaseSnapshot,
    rows: &'v dyn Rows,
    /// The user whose documents alone are there; `None` for all.
    user: Option<&'v str>,
}

impl<'v> Reader<'v> {
    /// A reader that sees everything.
    pub fn unrestricted(view: &'v DatabaseSnapshot) -> Reader<'v> {
        Reader {
            view,
            rows: view.snapshot().rows(),
            user: None,
        }
    }

    /// A reader of the documents of `user` alone, if there is one, over rows that can be interrupted.
    pub fn for_user(
        view: &'v DatabaseSnapshot,
        rows: &'v InterruptibleRows<'v>,
        user: Option<&'v str>,
    ) -> Reader<'v> {
        Reader { view, rows, user }
    }

    /// The user that the reader is bound to.
    pub fn user(&self) -> Option<&'v str> {
        self.user
    }

    fn rows(&self) -> &'v dyn Rows {
        self.rows
    }

    /// Whether the documents of `user` are there for this reader.
    pub fn can_see(&self, user: &str) -> bool {
        self.user.is_none_or(|own| own == user)
    }

    /// A document that must be there, and is seen or not.
    fn document(&self, id: DocumentId) -> Result<Option<DocumentRecord>, Error> {
        let found = self.rows().document(id)?;
        let document = found.ok_or_else(|| missing(Table::Documents, format!("{}", id.0)))?;
        Ok(Some(document).filter(|document| self.can_see(&document.user)))
    }
}

/// A row that something else promises, and that is not there.
fn missing(table: Table, key: String) -> Error {
    let table = table.name();
    StoreError::MissingRow { table, key }.into()
}

/// `text` on one line, cut after `chars` characters.
pub fn shorten(text: &str, chars: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= chars {
        return flat;
    }
    let cut: String = flat.chars().take(chars.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(shorten("a\n  b", 10), "a b");
        assert_eq!(shorten("äöüß", 3), "äö…");
    }
}
