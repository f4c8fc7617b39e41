//! How deep a page nests, and how large its tree is, estimated from its tags before any tree is built.
//!
//! Follows the rules of HTML (13.2.6) as far as they decide what stays open: an end tag closes all that is open in
//! its element, one of what is not open means nothing, none reaches out of a table, and a slash closes no element.
//! Elements that are void or whose end tag is often left out are not counted. So an honest page stays far below any
//! bound, and one of a million `<div>` does not.
//!
//! Elements that only format, and are open when a block ends, are made once more in the next: a page may so
//! ask for far more elements than it has tags. These are counted, too.

use std::collections::HashMap;

use crate::parse::ParseError;
use crate::parse::bounds::within;

/// Elements that are void, or that close by themselves.
const UNCOUNTED: &[&str] = &[
    "area", "base", "basefont", "bgsound", "body", "br", "caption", "col", "colgroup", "embed",
    "frame", "head", "hr", "html", "img", "input", "keygen", "link", "meta", "optgroup", "option",
    "p", "param", "rb", "rp", "rt", "rtc", "source", "tbody", "td", "tfoot", "th", "thead", "tr",
    "track", "wbr",
];

/// Elements whose content is not markup.
const RAW: &[&str] = &[
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed",
];

/// Elements that are opened again in the block after the one in which they were left open.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Elements that end tags of elements of other names do not reach out of.
const BOUNDARIES: &[&str] = &["applet", "marquee", "object", "table", "template"];

/// Elements that end tags of elements without a meaning of their own do not reach out of.
const SPECIAL: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "button",
    "center",
    "dd",
    "details",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h",
    "header",
    "hgroup",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "pre",
    "section",
    "select",
    "summary",
    "ul",
];

/// Elements that may be made once more.
const REPEATED_MAX: usize = 4_000_000;
/// Formatting elements with the same tag that are remembered.
const ALIKE_MAX: usize = 3;

/// Refuses a page whose tree would be too deep or too large.
pub(super) fn check(html: &str, depth_max: usize) -> Result<(), ParseError> {
    let mut page = Page::default();
    page.read(html, depth_max);
    within("levels of nesting", page.deepest, depth_max)?;
    within("elements that are left open", page.repeated, REPEATED_MAX)
}

/// What the tags of a page leave open.
#[derive(Debug, Default)]
struct Page<'h> {
    /// Elements that are open, outermost first.
    open: Vec<&'h str>,
    /// How many of each name.
    counts: HashMap<&'h str, usize>,
    /// Formatting that each block repeats: names and tags, in order.
    formatting: Vec<(&'h str, &'h str)>,
    /// How many of each tag.
    alike: HashMap<&'h str, usize>,
    /// The deepest nesting, more or less.
    deepest: usize,
    /// How many elements are made once more, at most.
    repeated: usize,
}

impl<'h> Page<'h> {
    /// Reads all tags, or as many as it takes to be too deep or too large.
    fn read(&mut self, html: &'h str, depth_max: usize) {
        let bytes = html.as_bytes();
        let mut at = 0;
        while let Some(tag) = find(bytes, at, b"<") {
            at = tag + 1;
            if bytes[at..].starts_with(b"!--") {
                at = find(bytes, at + 3, b"-->").unwrap_or(bytes.len());
                continue;
            }
            let is_end = bytes.get(at) == Some(&b'/');
            let lower = name_at(html, at + usize::from(is_end));
            let Some(name) = canonical(html, at + usize::from(is_end), &lower) else {
                continue;
            };
            let is_formatting = FORMATTING.contains(&name);
            if !is_formatting {
                self.repeated = self.repeated.saturating_add(self.formatting.len());
            }
            if UNCOUNTED.contains(&name) {
                continue;
            }
            match is_end {
                true if is_formatting => self.end_formatting(name),
                true => self.end(name),
                false if RAW.contains(&name) => at = end_of_raw(html, at, &lower),
                false if self.is_foreign() && closes_itself(bytes, at) => {}
                false => {
                    self.start(name);
                    if is_formatting {
                        self.format(name, tag_at(html, tag));
                    }
                }
            }
            self.deepest = self.deepest.max(self.open.len());
            if self.deepest > depth_max || self.repeated > REPEATED_MAX {
                return;
            }
        }
    }

    fn is_open(&self, name: &str) -> bool {
        self.counts.get(name).is_some_and(|count| *count > 0)
    }

    /// Whether a formula or drawing is open, where a slash closes an element.
    fn is_foreign(&self) -> bool {
        self.is_open("svg") || self.is_open("math")
    }

    fn start(&mut self, name: &'h str) {
        match name {
            // An item ends the one before it, a link the one around it.
            "li" => self.end_item(&["li"]),
            "dd" | "dt" => self.end_item(&["dd", "dt"]),
            "a" => self.end_formatting("a"),
            _ => {}
        }
        self.open.push(name);
        *self.counts.entry(name).or_default() += 1;
    }

    fn end_item(&mut self, names: &[&str]) {
        for (at, open) in self.open.iter().enumerate().rev() {
            if names.contains(open) {
                return self.truncate(at);
            }
            let is_passed = matches!(*open, "address" | "div");
            if (SPECIAL.contains(open) && !is_passed) || BOUNDARIES.contains(open) {
                return;
            }
        }
    }

    /// Ends an element and all that is open in it.
    fn end(&mut self, name: &str) {
        if !self.is_open(name) {
            return;
        }
        let is_special = SPECIAL.contains(&name) || BOUNDARIES.contains(&name);
        for (at, open) in self.open.iter().enumerate().rev() {
            if *open == name {
                return self.truncate(at);
            }
            let stops = BOUNDARIES.contains(open) && !BOUNDARIES.contains(&name);
            if stops || (!is_special && SPECIAL.contains(open)) {
                return;
            }
        }
    }

    fn truncate(&mut self, len: usize) {
        for name in self.open.drain(len..) {
            if let Some(count) = self.counts.get_mut(name) {
                *count -= 1;
            }
        }
    }

    fn format(&mut self, name: &'h str, tag: &'h str) {
        let alike = self.alike.entry(tag).or_default();
        if *alike < ALIKE_MAX {
            *alike += 1;
            self.formatting.push((name, tag));
        }
    }

    /// Ends formatting alone: blocks that began in it go on.
    fn end_formatting(&mut self, name: &str) {
        if self.is_open(name)
            && let Some(at) = self.open.iter().rposition(|open| *open == name)
        {
            let name = self.open.remove(at);
            if let Some(count) = self.counts.get_mut(name) {
                *count -= 1;
            }
        }
        if let Some(at) = self.formatting.iter().rposition(|(open, _)| *open == name) {
            let (_, tag) = self.formatting.remove(at);
            if let Some(alike) = self.alike.get_mut(tag) {
                *alike -= 1;
            }
        }
    }
}

/// The name in lower case, as the lists have it or as it stands in the page; all headings are alike.
fn canonical<'h>(html: &'h str, at: usize, lower: &str) -> Option<&'h str> {
    if lower.is_empty() {
        return None;
    }
    if matches!(lower, "h1" | "h2" | "h3" | "h4" | "h5" | "h6") {
        return Some("h");
    }
    let lists = [UNCOUNTED, RAW, FORMATTING, BOUNDARIES, SPECIAL, FOREIGN];
    let known = lists.iter().flat_map(|list| list.iter());
    let mut known = known.filter(|name| **name == lower);
    known
        .next()
        .copied()
        .or_else(|| html.get(at..at + lower.len()))
}

/// The elements in which other rules hold.
const FOREIGN: &[&str] = &["math", "svg"];

/// A tag with its attributes.
fn tag_at(html: &str, at: usize) -> &str {
    let rest = &html[at..];
    &rest[..rest.find('>').unwrap_or(rest.len())]
}

fn name_at(html: &str, at: usize) -> String {
    let longest = 12; // no name in the lists is longer; a longer one counts all the same
    html.as_bytes()[at.min(html.len())..]
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric())
        .take(longest)
        .map(|b| char::from(b.to_ascii_lowercase()))
        .collect()
}

/// Whether the tag that starts at `at` ends in `/>`, as foreign (SVG, MathML) elements may.
fn closes_itself(bytes: &[u8], at: usize) -> bool {
    let end = bytes[at..].iter().take(4096).position(|&b| b == b'>');
    end.is_some_and(|end| end > 0 && bytes[at + end - 1] == b'/')
}

fn end_of_raw(html: &str, at: usize, name: &str) -> usize {
    let mut from = at;
    while let Some(end) = find(html.as_bytes(), from, b"</") {
        if name_at(html, end + 2) == name {
            return end + 2;
        }
        from = end + 2;
    }
    html.len()
}

fn find(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    let tail = bytes.get(from..)?;
    let at = tail.windows(needle.len()).position(|w| w == needle)?;
    Some(from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(html: &str) -> usize {
        let mut page = Page::default();
        page.read(html, usize::MAX);
        page.deepest
    }

    #[test]
    fn only_what_stays_open_counts() {
        let cases: &[(&str, usize)] = &[
            ("", 0),
            ("<div><div></div></div><div></div>", 2),
            ("<p>a<p>b<br>", 0),
            ("<li>a<li>b<li>c", 1),
            ("<dl><dt>a<dd>b<ul><li>c</ul><dt>d<dd>e</dl>", 4),
            ("<script>'<div><div>'</script><b>x</b>", 1),
            ("<!-- <div><div> --><i>x</i>", 1),
            ("<svg><path d='0'/><path/></svg>", 1),
            ("<div><span><zz></div><div><span><zz></div>", 3),
            ("<h1>a</h2><h1>b</h3>", 1),
            ("<a name=x>a<a name=y>b<A name=z>c", 1),
            ("<DIV></div><div></DIV>", 1),
            ("<b><div></b></div><b><div></b></div>", 2),
            ("<", 0),
            ("</div></div><div>", 1),
            ("<script><div>", 0),
        ];
        for (html, want) in cases {
            assert_eq!(depth(html), *want, "{html}");
        }
    }

    #[test]
    fn no_trick_with_tags_hides_how_deep_a_page_is() {
        for trick in [
            "<div>",
            "<div/>",
            "<zz/>",
            "<div></x>",
            "<div></b>",
            "<div></>",
            "<div></p>",
            "<li><dt>",
            "<li><dt><ul></ul>",
            "<div><table></div></table>",
            "<zz><div></zz>",
            "<ul><li><object></ul></object>",
        ] {
            let html = trick.repeat(3000);
            assert!(depth(&html) >= 3000, "{trick}");
            assert!(check(&html, 2000).is_err(), "{trick}");
        }
    }

    #[test]
    fn formatting_that_every_block_repeats_is_counted() {
        let open: String = (0..1000).map(|n| format!("<b x={n}>")).collect();
        let bomb = format!("<p>{open}</p>{}", "<p>x</p>".repeat(100_000));
        assert!(check(&bomb, 2000).is_err());
        let sloppy = format!(
            "<div>{}</div>{}",
            "<font size=2>".repeat(1000),
            "<p>x</p>".repeat(100_000)
        );
        assert!(check(&sloppy, 2000).is_ok());
    }
}
