//! How much work it is to look for the pictures of a page.
//!
//! A page paints pictures and forms by name, a form does so in turn, and each time it is read again: a file of a few
//! hundred bytes may ask for 10^12 of them. The work is therefore reckoned before it is done, from above: each call of
//! a page or form as dear as the dearest that it may be. What a document may cost in all is bounded, and what is read
//! to reckon it counts as well, whether or not it can be reckoned.

use std::collections::{HashMap, HashSet};

use pdf_oxide::PdfDocument;
use pdf_oxide::object::{Object, ObjectRef};

/// Bytes of content that are read to find the pictures of one document.
const WORK_BYTES_MAX: u64 = 512 << 20;
/// What a call costs beside what it calls, and each colour space that it may look at.
const CALL_COST: u64 = 1_000;
const COLOUR_SPACE_COST: u64 = 100;
/// What it costs to look at a picture or form, and at a page.
const VISIT_COST: u64 = 100;
/// What each entry of a list of pictures, forms or the like costs, called or not.
const ENTRY_COST: u64 = 10;
/// What a page or form costs that cannot be read: how far reading came is not known.
const UNREADABLE_COST: u64 = 32 << 20;
/// Pictures and forms that are looked at on one page, and forms within each other.
const VISITS_MAX: usize = 4_000;
const DEPTH_MAX: usize = 12;
/// Longest name of a picture or form.
const NAME_MAX: usize = 128;

/// The work that is left for a document.
pub(super) struct WorkBudget<'f> {
    file: &'f PdfDocument,
    is_encrypted: bool,
    bytes_left: u64,
    visits: usize,
    /// What is called by reference, but for forms that have the resources of what calls them.
    costs: HashMap<ObjectRef, Cost>,
}

/// What a page or form costs, and whether it may paint a picture.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    bytes: u64,
    has_picture: bool,
    /// How many forms are within each other.
    form_depth: usize,
}

impl<'f> WorkBudget<'f> {
    pub(super) fn new(file: &'f PdfDocument) -> WorkBudget<'f> {
        let trailer = file.trailer().as_dict();
        WorkBudget {
            file,
            is_encrypted: trailer.is_some_and(|trailer| trailer.contains_key("Encrypt")),
            bytes_left: WORK_BYTES_MAX,
            visits: 0,
            costs: HashMap::new(),
        }
    }

    /// Whether the page has pictures that can be looked for; takes what that costs off what is left.
    pub(super) fn try_spend_page(&mut self, index: usize) -> bool {
        self.visits = 0;
        if self.bytes_left == 0 {
            return false;
        }
        let cost = self.page_cost(index).unwrap_or_default();
        if !cost.has_picture || cost.bytes > self.bytes_left {
            return false;
        }
        self.bytes_left -= cost.bytes;
        true
    }

    /// Counts work that ended in a panic.
    pub(super) fn spend_failed(&mut self) {
        self.bytes_left = self.bytes_left.saturating_sub(UNREADABLE_COST);
    }

    /// Takes work that has been done off what is left; `None` if that was less.
    fn spend(&mut self, bytes: u64) -> Option<()> {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.unwrap_or(0);
        left.map(|_| ())
    }

    /// Quick for a page that names neither pictures nor forms, as most do.
    fn page_cost(&mut self, index: usize) -> Option<Cost> {
        self.spend(VISIT_COST)?;
        let page = self.file.get_page(index).ok()?;
        let resources = self.entry(&page, "Resources")?;
        let objects = self.entry(&resources, "XObject")?;
        if objects.as_dict()?.is_empty() {
            return None;
        }
        let Ok(content) = self.file.get_page_content_data(index) else {
            self.spend(UNREADABLE_COST)?;
            return None;
        };
        self.spend(content.len() as u64)?;
        self.content_cost(&content, &resources, DEPTH_MAX)
    }

    /// Recursive: `depth` bounds it. `None`: too much to be reckoned.
    fn content_cost(&mut self, content: &[u8], resources: &Object, depth: usize) -> Option<Cost> {
        let calls = content.windows(2).filter(|two| two == b"Do").count() as u64;
        let mut cost = Cost {
            bytes: content.len() as u64,
            ..Cost::default()
        };
        let objects = self.entry(resources, "XObject");
        let Some(objects) = objects.as_ref().and_then(Object::as_dict) else {
            return Some(cost);
        };
        let colours = self.entry(resources, "ColorSpace");
        let colours = colours.as_ref().and_then(Object::as_dict);
        let colours = colours.map_or(0, |colours| colours.len() as u64);
        let mut dearest = CALL_COST + COLOUR_SPACE_COST * colours;
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
            self.spend(VISIT_COST)?;
            let called = self.object_cost(object, resources, depth)?;
            cost.has_picture |= called.has_picture;
            cost.form_depth = cost.form_depth.max(called.form_depth);
            dearest = dearest.max(called.bytes);
        }
        cost.bytes = cost.bytes.checked_add(calls.checked_mul(dearest)?)?;
        Some(cost)
    }

    /// A picture, which costs no more than its call, or a form.
    fn object_cost(&mut self, object: &Object, around: &Object, depth: usize) -> Option<Cost> {
        let reference = object.as_reference();
        if let Some(cost) = reference.and_then(|reference| self.costs.get(&reference)) {
            return Some(*cost).filter(|cost| cost.form_depth <= depth);
        }
        let object = self.file.resolve_object(object).unwrap_or(Object::Null);
        let dict = object.as_dict();
        let subtype = dict.and_then(|dict| dict.get("Subtype"));
        let is_form = subtype.and_then(Object::as_name) == Some("Form");
        let cost = if is_form {
            self.form_cost(&object, around, depth.checked_sub(1)?)?
        } else {
            Cost {
                has_picture: subtype.and_then(Object::as_name) == Some("Image"),
                ..Cost::default()
            }
        };
        let is_own = !is_form || self.entry(&object, "Resources").is_some();
        if let Some(reference) = reference.filter(|_| is_own) {
            self.costs.insert(reference, cost);
        }
        Some(cost)
    }

    fn form_cost(&mut self, form: &Object, around: &Object, depth: usize) -> Option<Cost> {
        // What calls are in an encrypted form is not known before it is read.
        if self.is_encrypted {
            return None;
        }
        let Ok(content) = form.decode_stream_data() else {
            self.spend(UNREADABLE_COST)?;
            return None;
        };
        self.spend(content.len() as u64)?;
        let own = self.entry(form, "Resources");
        // A form without resources has those of what calls it.
        let mut cost = self.content_cost(&content, own.as_ref().unwrap_or(around), depth)?;
        cost.form_depth += 1;
        Some(cost)
    }

    fn entry(&mut self, object: &Object, name: &str) -> Option<Object> {
        let found = object.as_dict()?.get(name)?;
        let found = self.file.resolve_object(found).ok()?;
        let entries = found.as_dict().map_or(0, HashMap::len);
        self.spend(ENTRY_COST * entries as u64)?;
        Some(found)
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

    /// A file of pages that each call one form, whose content starts as given and goes on for a MiB. Calls of `P` paint a
    /// picture.
    fn pages_of_one_form(count: usize, form: &str, entries: &str) -> PdfDocument {
        let form = format!("{form}{}", " ".repeat(1 << 20));
        let stream = |entries: &str, content: &str| {
            let length = content.len();
            format!("<< {entries} /Length {length} >>\nstream\n{content}\nendstream")
        };
        let resources = "/Resources << /XObject << /F 4 0 R /P 5 0 R >> >>";
        let is_form = format!("/Type /XObject /Subtype /Form /BBox [0 0 9 9] {entries}");
        let is_picture = "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 \
                          /ColorSpace /DeviceGray";
        let pages: String = (0..count).map(|i| format!("{} 0 R ", 6 + i)).collect();
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Count {count} /Kids [{pages}] >>"),
            stream("", "/F Do"),
            stream(&is_form, &form),
            stream(is_picture, "0"),
        ];
        objects.extend((0..count).map(|_| {
            let place = "/Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 3 0 R";
            format!("<< {place} {resources} >>")
        }));
        let numbered: Vec<_> = (1..).zip(objects).collect();
        PdfDocument::from_bytes(crate::pdf::tests::write(&numbered)).unwrap()
    }

    const OWN: &str = "/Resources << /XObject << /F 4 0 R /P 5 0 R >> >>";

    #[test]
    fn a_form_that_many_pages_call_is_read_once_to_be_reckoned() {
        let file = pages_of_one_form(30, "", OWN);
        let mut effort = WorkBudget::new(&file);
        assert!((0..30).all(|page| !effort.try_spend_page(page)));
        let spent = WORK_BYTES_MAX - effort.bytes_left;
        assert!((1 << 20..2 << 20).contains(&spent), "{spent}");
    }

    #[test]
    fn pages_with_pictures_cost_what_looking_for_them_costs() {
        let file = pages_of_one_form(3, "/P Do", OWN);
        let mut effort = WorkBudget::new(&file);
        assert!((0..3).all(|page| effort.try_spend_page(page)));
        let spent = WORK_BYTES_MAX - effort.bytes_left;
        assert!((4 << 20..5 << 20).contains(&spent), "{spent}");
    }

    #[test]
    fn what_cannot_be_reckoned_costs_what_was_read() {
        // It calls itself without end; with the resources of its caller, and with its own.
        for own in ["", OWN] {
            let file = pages_of_one_form(2, "/F Do", own);
            let mut effort = WorkBudget::new(&file);
            for page in 0..2 {
                let before = effort.bytes_left;
                assert!(!effort.try_spend_page(page));
                let spent = before - effort.bytes_left;
                assert!(spent > (DEPTH_MAX as u64) << 20, "{spent}");
            }
        }
    }

    #[test]
    fn what_is_known_of_a_form_does_not_let_forms_be_deeper() {
        let file = pages_of_one_form(1, "/P Do", OWN);
        let mut effort = WorkBudget::new(&file);
        assert!(effort.try_spend_page(0));
        let form = file.get_page(0).unwrap().as_dict().unwrap()["Resources"].clone();
        let form = form.as_dict().unwrap()["XObject"].as_dict().unwrap()["F"].clone();
        let mut at_depth = |depth| effort.object_cost(&form, &Object::Null, depth).is_some();
        assert!(at_depth(1) && !at_depth(0));
    }

    #[test]
    fn a_form_that_cannot_be_read_is_dear() {
        let file = pages_of_one_form(1, "not packed", "/Filter /FlateDecode");
        let mut effort = WorkBudget::new(&file);
        assert!(!effort.try_spend_page(0));
        assert!(WORK_BYTES_MAX - effort.bytes_left >= UNREADABLE_COST);
    }

    #[test]
    fn once_nothing_is_left_no_form_is_read() {
        let file = pages_of_one_form(2, "/P Do", "");
        let mut effort = WorkBudget::new(&file);
        effort.bytes_left = 10_000;
        assert!(!effort.try_spend_page(0));
        assert_eq!(effort.bytes_left, 0);
        assert!(!effort.try_spend_page(1));
        assert_eq!(effort.visits, 0);
    }
}
