//! How deep a page nests, estimated from its tags before any tree is built.
//!
//! Counts start tags less the end tags of the same name, leaving out elements that are void or whose end
//! tag is often left out. So an honest page stays far below any bound, and one of a million `<div>`
//! does not.
//!
//! Elements that only format, and are open when a block ends, are made once more in the next: a page may so
//! ask for far more elements than it has tags. These are counted, too.

use std::collections::HashMap;

use crate::parse::ParseError;
use crate::parse::bounds::within;

/// Elements that are void, or that close by themselves.
const UNCOUNTED: &[&str] = &[
    "area", "base", "basefont", "bgsound", "body", "br", "caption", "col", "colgroup", "dd", "dt",
    "embed", "frame", "head", "hr", "html", "img", "input", "keygen", "li", "link", "meta",
    "optgroup", "option", "p", "param", "rb", "rp", "rt", "rtc", "source", "tbody", "td", "tfoot",
    "th", "thead", "tr", "track", "wbr",
];

/// Elements whose content is not markup.
const RAW: &[&str] = &[
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed",
];

/// Elements that are opened again in the block after the one in which they were left open.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Elements that may be made once more.
const REPEATED_MAX: usize = 4_000_000;

/// What the tags of a page ask for.
#[derive(Debug, Default)]
struct Estimate {
    /// The deepest nesting, more or less.
    deepest: usize,
    /// How many elements are made once more, at most.
    repeated: usize,
}

/// Refuses a page whose tree would be too deep or too large.
pub(super) fn check(html: &str, depth_max: usize) -> Result<(), ParseError> {
    let estimate = estimate(html);
    within("levels of nesting", estimate.deepest, depth_max)?;
    within(
        "elements that are left open",
        estimate.repeated,
        REPEATED_MAX,
    )
}

fn estimate(html: &str) -> Estimate {
    let bytes = html.as_bytes();
    let (mut depth, mut formatting, mut at) = (0_usize, 0_usize, 0);
    let mut open: HashMap<String, usize> = HashMap::new();
    let mut found = Estimate::default();
    while let Some(tag) = find(bytes, at, b"<") {
        at = tag + 1;
        if bytes[at..].starts_with(b"!--") {
            at = find(bytes, at + 3, b"-->").unwrap_or(bytes.len());
            continue;
        }
        let is_end = bytes.get(at) == Some(&b'/');
        let name = name_at(html, at + usize::from(is_end));
        let is_formatting = FORMATTING.contains(&name.as_str());
        if !is_formatting {
            found.repeated = found.repeated.saturating_add(formatting);
        }
        if name.is_empty() || UNCOUNTED.contains(&name.as_str()) {
            continue;
        }
        if is_end {
            // An end tag of what is not open means nothing.
            let count = open.get_mut(&name).filter(|count| **count > 0);
            let Some(count) = count else { continue };
            *count -= 1;
            depth -= 1;
            formatting -= usize::from(is_formatting);
        } else if RAW.contains(&name.as_str()) {
            at = end_of_raw(html, at, &name);
        } else if is_formatting || !closes_itself(bytes, at) {
            depth += 1;
            formatting += usize::from(is_formatting);
            found.deepest = found.deepest.max(depth);
            *open.entry(name).or_default() += 1;
        }
    }
    found
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

/// Whether the tag that starts at `at` ends in `/>`, as foreign (SVG, MathML) elements do.
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

    #[test]
    fn only_what_stays_open_counts() {
        let cases: &[(&str, usize)] = &[
            ("", 0),
            ("<div><div></div></div><div></div>", 2),
            ("<p>a<p>b<li>c<br>", 0),
            ("<script>'<div><div>'</script><b>x</b>", 1),
            ("<!-- <div><div> --><i>x</i>", 1),
            ("<path d='0'/><path/>", 0),
            ("<", 0),
            ("</div></div><div>", 1),
            ("<script><div>", 0),
        ];
        for (html, want) in cases {
            assert_eq!(estimate(html).deepest, *want, "{html}");
        }
        assert_eq!(estimate(&"<div>".repeat(5000)).deepest, 5000);
    }

    #[test]
    fn end_tags_of_what_is_not_open_do_not_hide_how_deep_a_page_is() {
        for end in ["</x>", "</b>", "</>", "</p>"] {
            let html = format!("<div>{end}").repeat(5000);
            assert_eq!(estimate(&html).deepest, 5000, "{end}");
        }
    }

    #[test]
    fn formatting_that_every_block_repeats_is_counted() {
        let open: String = (0..1000).map(|n| format!("<b x={n}>")).collect();
        let bomb = format!("<p>{open}</p>{}", "<p>x</p>".repeat(100_000));
        assert!(check(&bomb, 2000).is_err());
        let sloppy = format!(
            "<p>{}{}",
            "<font size=2>".repeat(100),
            "<p>x</p>".repeat(10_000)
        );
        assert!(check(&sloppy, 2000).is_ok());
    }
}
