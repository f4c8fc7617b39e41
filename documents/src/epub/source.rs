//! XHTML as a reader of HTML understands it.

/// Elements that have no end tag in HTML.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// `source` with `<a id="x"/>` as `<a id="x"></a>`: in HTML the slash means nothing, and all that follows would be in the
/// element.
pub(super) fn with_end_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + source.len() / 16);
    let mut rest = source;
    while let Some(at) = rest.find('<') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = tag_end(rest);
        let tag = &rest[..end];
        out.push_str(tag);
        rest = &rest[end..];
        if let Some(name) = empty_element(tag) {
            // `<p/>` becomes `<p/></p>`.
            out.push_str("</");
            out.push_str(name);
            out.push('>');
        }
    }
    out.push_str(rest);
    out
}

/// Where the tag, comment or the like that `markup` starts with ends.
fn tag_end(markup: &str) -> usize {
    for (start, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")] {
        if markup.starts_with(start) {
            return markup.find(end).map_or(markup.len(), |at| at + end.len());
        }
    }
    let mut quote = None;
    for (at, byte) in markup.bytes().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return at + 1,
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    markup.len()
}

/// The name of the element, where `tag` opens and ends one that HTML does not end.
fn empty_element(tag: &str) -> Option<&str> {
    let inside = tag.strip_prefix('<')?.strip_suffix("/>")?;
    let name = inside
        .split(|c: char| c.is_whitespace() || c == '/')
        .next()?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_void = VOID.contains(&&name.to_ascii_lowercase()[..]);
    (is_name && !is_void).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_elements_get_an_end_tag() {
        let cases: &[(&str, &str)] = &[
            ("", ""),
            ("a < b", "a < b"),
            ("<a id='x'/>b", "<a id='x'/></a>b"),
            ("<title/><p>a<br/>b</p>", "<title/></title><p>a<br/>b</p>"),
            ("<p title='a/>b'/>c", "<p title='a/>b'/></p>c"),
            ("<!-- <a/> --><?x <a/>?>", "<!-- <a/> --><?x <a/>?>"),
            (
                "<svg><path d=\"0\"/></svg>",
                "<svg><path d=\"0\"/></path></svg>",
            ),
            ("<a", "<a"),
            ("</>", "</>"),
        ];
        for (source, want) in cases {
            assert_eq!(with_end_tags(source), *want, "{source}");
        }
    }
}
