//! How much work it is to look for the pictures of a page.
//!
//! A page paints pictures and forms by name, a form does so in turn, and each time it is read again: a file of a few
//! hundred bytes may ask for 10^12 of them. The work is therefore reckoned before it is done, from above: each call of
//! a page or form as dear as the dearest that it may be. What a document may cost in all is bounded.

use std::collections::HashSet;

use pdf_oxide::PdfDocument;
use pdf_oxide::object::Object;

/// Bytes of content that are read to find the pictures of one document.
const EFFORT_MAX: u64 = 512 << 20;
/// What a call costs beside what it calls, and each colour space that it may look at.
const OF_CALL: u64 = 1_000;
const OF_COLOUR: u64 = 100;
/// Pictures and forms that are looked at on one page, and forms within each other.
const VISITS_MAX: usize = 4_000;
const DEPTH_MAX: usize = 12;
/// Longest name of a picture or form.
const NAME_MAX: usize = 128;

/// The work that is left for a document.
pub(super) struct Effort<'f> {
    file: &'f PdfDocument,
    is_encrypted: bool,
    left: u64,
    visits: usize,
}

/// What a page or form costs, and whether it may paint a picture.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    bytes: u64,
    has_picture: bool,
}

impl<'f> Effort<'f> {
    pub(super) fn new(file: &'f PdfDocument) -> Effort<'f> {
        let trailer = file.trailer().as_dict();
        Effort {
            file,
            is_encrypted: trailer.is_some_and(|trailer| trailer.contains_key("Encrypt")),
            left: EFFORT_MAX,
            visits: 0,
        }
    }

    /// Whether the page has pictures that can be looked for; takes what that costs off what is left.
    pub(super) fn allows(&mut self, index: usize) -> bool {
        self.visits = 0;
        let cost = self.of_page(index).unwrap_or_default();
        let left = self.left.checked_sub(cost.bytes);
        self.left = left.unwrap_or(self.left);
        left.is_some() && cost.has_picture
    }

    /// Quick for a page that names neither pictures nor forms, as most do.
    fn of_page(&mut self, index: usize) -> Option<Cost> {
        let page = self.file.get_page(index).ok()?;
        let resources = self.entry(&page, "Resources")?;
        let objects = self.entry(&resources, "XObject")?;
        if objects.as_dict()?.is_empty() {
            return None;
        }
        let content = self.file.get_page_content_data(index).ok()?;
        self.of(&content, &resources, DEPTH_MAX)
    }

    /// Recursive: `depth` bounds it. `None`: too much to be reckoned.
    fn of(&mut self, content: &[u8], resources: &Object, depth: usize) -> Option<Cost> {
        let calls = content.windows(2).filter(|two| two == b"Do").count() as u64;
        let mut cost = Cost {
            bytes: content.len() as u64,
            has_picture: false,
        };
        let objects = self.entry(resources, "XObject");
        let Some(objects) = objects.as_ref().and_then(Object::as_dict) else {
            return Some(cost);
        };
        let colours = self.entry(resources, "ColorSpace");
        let colours = colours.as_ref().and_then(Object::as_dict);
        let colours = colours.map_or(0, |colours| colours.len() as u64);
        let mut dearest = OF_CALL + OF_COLOUR * colours;
        if calls == 0 {
            return Some(cost);
        }
        let called = called(content);
        let may_be = |name: &str| called.as_ref().is_none_or(|called| called.contains(name));
        for (_, object) in objects.iter().filter(|(name, _)| may_be(name)) {
            self.visits += 1;
            if self.visits > VISITS_MAX {
                return None;
            }
            let Ok(object) = self.file.resolve_object(object) else {
                continue;
            };
            let subtype = object.as_dict().and_then(|dict| dict.get("Subtype"));
            match subtype.and_then(Object::as_name) {
                Some("Image") => cost.has_picture = true,
                Some("Form") => {
                    let form = self.of_form(&object, resources, depth.checked_sub(1)?)?;
                    cost.has_picture |= form.has_picture;
                    dearest = dearest.max(form.bytes);
                }
                _ => {}
            }
        }
        cost.bytes = cost.bytes.checked_add(calls.checked_mul(dearest)?)?;
        Some(cost)
    }

    fn of_form(&mut self, form: &Object, around: &Object, depth: usize) -> Option<Cost> {
        // What calls are in an encrypted form is not known before it is read.
        if self.is_encrypted {
            return None;
        }
        let content = form.decode_stream_data().ok()?;
        self.left = self.left.checked_sub(content.len() as u64)?;
        let own = self.entry(form, "Resources");
        // A form without resources has those of what calls it.
        self.of(&content, own.as_ref().unwrap_or(around), depth)
    }

    fn entry(&self, object: &Object, name: &str) -> Option<Object> {
        let found = object.as_dict()?.get(name)?;
        self.file.resolve_object(found).ok()
    }
}

/// The names that content calls; `None` where what calls is not plainly a name.
fn called(content: &[u8]) -> Option<HashSet<&str>> {
    let mut names = HashSet::new();
    for (at, _) in content
        .windows(2)
        .enumerate()
        .filter(|(_, two)| two == b"Do")
    {
        let before = content[..at].trim_ascii_end();
        let start = before
            .iter()
            .rev()
            .take(NAME_MAX)
            .position(|b| *b == b'/')?;
        let name = str::from_utf8(&before[before.len() - start..]).ok()?;
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'+');
        if name.is_empty() || !name.bytes().all(is_plain) {
            return None;
        }
        names.insert(name);
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_called_are_found_or_not_plain() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("", Some(&[])),
            ("q /Im1 Do Q /Fm.2\nDo", Some(&["Im1", "Fm.2"])),
            ("/A#31 Do", None),
            ("/A % a remark\n Do", None),
            ("(What Do we) Tj", None),
        ];
        for (content, want) in cases {
            let want = want.map(|names| names.iter().copied().collect());
            assert_eq!(called(content.as_bytes()), want, "{content}");
        }
    }
}
