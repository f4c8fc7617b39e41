//! Fields (ECMA-376, part 1, 17.16): a code, and what it came to when the document was last calculated.
//!
//! Their three marks (begin, separate, end) are in runs and may lie paragraphs apart. The code is no text of the document;
//! the result is, but for a table of contents.

/// Fields open at once; Word allows twenty.
const OPEN_MAX: usize = 64;
/// Bytes of a code that are looked at.
const CODE_MAX: usize = 64;

/// The fields that are open.
#[derive(Debug, Default)]
pub(super) struct Fields {
    open: Vec<Field>,
    /// Open ones beyond [`OPEN_MAX`].
    beyond: usize,
}

#[derive(Debug, Default)]
struct Field {
    code: String,
    is_result: bool,
    /// Characters of text that were hidden while it was open.
    hidden: usize,
}

impl Fields {
    pub(super) fn begin(&mut self) {
        if self.open.len() < OPEN_MAX {
            self.open.push(Field::default())
        } else {
            self.beyond += 1
        }
    }

    /// A part of the code of the innermost field.
    pub(super) fn code(&mut self, part: &str) {
        if let Some(field) = self.open.last_mut()
            && !field.is_result
            && field.code.len() < CODE_MAX
        {
            field.code.extend(part.chars().take(CODE_MAX));
        }
    }

    pub(super) fn separate(&mut self) {
        if let Some(field) = self.open.last_mut() {
            field.is_result = true;
        }
    }

    pub(super) fn end(&mut self) {
        match self.beyond {
            0 => drop(self.open.pop()),
            _ => self.beyond -= 1,
        }
    }

    /// Whether text here is a code, or of a table of contents.
    pub(super) fn hides(&self) -> bool {
        self.open.iter().any(Field::hides)
    }

    /// Counts text that is left out here.
    pub(super) fn hide(&mut self, text: &str) {
        if let Some(field) = self.open.iter_mut().find(|field| field.hides()) {
            field.hidden += text.chars().count();
        }
    }

    /// Characters that the fields hide which are open: at the end of the text, those that lack their end.
    pub(super) fn hidden(&self) -> usize {
        self.open.iter().map(|field| field.hidden).sum()
    }

    /// Whether text here is a link.
    pub(super) fn is_link(&self) -> bool {
        self.open.iter().any(|field| field.is("HYPERLINK"))
    }

    /// Whether text here is a list of references.
    pub(super) fn is_bibliography(&self) -> bool {
        let is_list = |field: &Field| {
            let makers = [
                "ADDIN ZOTERO_BIBL",
                "ADDIN EN.REFLIST",
                "ADDIN Mendeley Bibliography",
            ];
            field.is("BIBLIOGRAPHY") || makers.iter().any(|maker| field.is(maker))
        };
        self.open.iter().any(is_list)
    }

    /// A heading ends a table of contents whose end is missing.
    pub(super) fn end_contents(&mut self) {
        if self.open.iter().any(Field::is_contents) {
            *self = Fields::default();
        }
    }
}

impl Field {
    fn is(&self, name: &str) -> bool {
        let code = self.code.trim_start();
        code.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    }

    fn hides(&self) -> bool {
        !self.is_result || self.is_contents()
    }

    fn is_contents(&self) -> bool {
        let name = self.code.split_whitespace().next();
        name.is_some_and(|name| name.eq_ignore_ascii_case("TOC"))
    }
}
