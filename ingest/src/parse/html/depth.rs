//! How deep a page nests, estimated from its tags before any tree is built.
//!
//! Counts start tags less end tags, leaving out elements that are void or whose end tag is often
//! left out. So an honest page stays far below any bound, and one of a million `<div>` does not.

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

/// The deepest nesting that the tags of `html` ask for, more or less.
pub(super) fn estimate(html: &str) -> usize {
    let bytes = html.as_bytes();
    let (mut depth, mut deepest, mut at) = (0_usize, 0, 0);
    while let Some(open) = find(bytes, at, b"<") {
        at = open + 1;
        if bytes[at..].starts_with(b"!--") {
            at = find(bytes, at + 3, b"-->").unwrap_or(bytes.len());
            continue;
        }
        let is_end = bytes.get(at) == Some(&b'/');
        let name = name_at(html, at + usize::from(is_end));
        if name.is_empty() || UNCOUNTED.contains(&name.as_str()) {
            continue;
        }
        if is_end {
            depth = depth.saturating_sub(1);
        } else if RAW.contains(&name.as_str()) {
            at = end_of_raw(html, at, &name);
        } else if !closes_itself(bytes, at) {
            depth += 1;
            deepest = deepest.max(depth);
        }
    }
    deepest
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
            assert_eq!(estimate(html), *want, "{html}");
        }
        assert_eq!(estimate(&"<div>".repeat(5000)), 5000);
    }
}
