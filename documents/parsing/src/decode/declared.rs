//! The encoding that a file states in its first bytes.
//!
//! HTML: the prescan of the HTML standard ("Prescan a byte stream to determine its encoding", WHATWG), which looks for
//! `<meta charset>` and `<meta http-equiv=content-type content="…; charset=…">` in the first 1,024 bytes, then for an XML
//! declaration. XML: its declaration. Labels are those of the Encoding standard; one that it does not know states nothing.

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// How far an encoding is looked for.
const HEAD_LEN_MAX: usize = 1024;

/// The encoding that an HTML page states.
pub(super) fn by_html(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(HEAD_LEN_MAX)];
    utf16_without_bom(head)
        .or_else(|| Scan { head, at: 0 }.encoding())
        .or_else(|| xml_declaration(head))
}

/// The encoding that an XML file states.
pub(super) fn by_xml(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(HEAD_LEN_MAX)];
    utf16_without_bom(head).or_else(|| xml_declaration(head))
}

/// UTF-16 without a byte order mark shows in how an XML declaration begins.
fn utf16_without_bom(head: &[u8]) -> Option<&'static Encoding> {
    match head {
        [b'<', 0, b'?', 0, b'x', 0, ..] => Some(UTF_16LE),
        [0, b'<', 0, b'?', 0, b'x', ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// `<?xml version="1.0" encoding="ISO-8859-1"?>`
fn xml_declaration(head: &[u8]) -> Option<&'static Encoding> {
    let start = head.strip_prefix(b"<?xml")?;
    let declaration = &start[..start.iter().position(|byte| *byte == b'>')?];
    let name = b"encoding";
    let at = declaration.windows(name.len()).position(|it| it == name)?;
    let value = declaration[at + name.len()..].trim_ascii_start();
    let value = value.strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first().filter(|(it, _)| is_quote(**it))?;
    let end = value.iter().position(|byte| byte == quote)?;
    encoding_for_label(&value[..end])
}

/// The encoding of a label. One that is UTF-16 is not, for its label was read as ASCII.
fn encoding_for_label(label: &[u8]) -> Option<&'static Encoding> {
    match Encoding::for_label(label)? {
        it if it == UTF_16LE || it == UTF_16BE => Some(UTF_8),
        it if it == X_USER_DEFINED => Some(WINDOWS_1252),
        it if it == REPLACEMENT => None,
        it => Some(it),
    }
}

fn is_quote(byte: u8) -> bool {
    byte == b'"' || byte == b'\''
}

/// White space of HTML, which has no vertical tabulator.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

/// The head of a page as it is read.
struct Scan<'h> {
    head: &'h [u8],
    at: usize,
}

/// Name and value, lower case.
type Attribute = (Vec<u8>, Vec<u8>);

impl<'h> Scan<'h> {
    fn encoding(mut self) -> Option<&'static Encoding> {
        while let Some(open) = self.rest().iter().position(|byte| *byte == b'<') {
            self.at += open;
            let rest = self.rest();
            let name = rest[1..].strip_prefix(b"/").unwrap_or(&rest[1..]);
            if rest.starts_with(b"<!--") {
                self.skip_comment();
            } else if is_meta(rest) {
                self.at += b"<meta".len();
                if let Some(found) = self.meta() {
                    return Some(found);
                }
            } else if name.first().is_some_and(u8::is_ascii_alphabetic) {
                self.skip(|byte| !is_space(byte) && byte != b'>');
                while self.attribute().is_some() {}
            } else if rest[1..].starts_with(b"!")
                || rest[1..].starts_with(b"/")
                || rest[1..].starts_with(b"?")
            {
                self.skip(|byte| byte != b'>');
            } else {
                self.at += 1;
            }
        }
        None
    }

    fn rest(&self) -> &'h [u8] {
        self.head.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        let rest = self.rest();
        let count = rest.iter().position(|byte| !is_skipped(*byte));
        self.at += count.unwrap_or(rest.len());
    }

    /// The dashes that end a comment may be those that open it.
    fn skip_comment(&mut self) {
        let inside = &self.rest()[2..];
        let end = inside.windows(3).position(|it| it == b"-->");
        self.at += end.map_or(self.rest().len(), |end| 2 + end + 3);
    }

    /// What the attributes of a `meta` element state together.
    fn meta(&mut self) -> Option<&'static Encoding> {
        let mut attributes: Vec<Attribute> = Vec::new();
        while let Some(next) = self.attribute() {
            if attributes.iter().all(|(name, _)| *name != next.0) {
                attributes.push(next);
            }
        }
        let of = |attribute_name: &[u8]| {
            let found = attributes.iter().find(|(name, _)| name == attribute_name);
            found.map(|(_, value)| &value[..])
        };
        if let Some(label) = of(b"charset") {
            return encoding_for_label(label);
        }
        let is_pragma = of(b"http-equiv") == Some(b"content-type");
        encoding_for_label(charset_in(of(b"content").filter(|_| is_pragma)?)?)
    }

    /// The next attribute of the tag that is open; `None` behind its end.
    fn attribute(&mut self) -> Option<Attribute> {
        self.skip(|byte| is_space(byte) || byte == b'/');
        let start = self.at;
        if matches!(self.rest().first(), None | Some(b'>')) {
            return None;
        }
        // An equals sign that a name begins with is a part of it.
        self.at += 1;
        self.skip(|byte| !is_space(byte) && !matches!(byte, b'=' | b'/' | b'>'));
        let name = self.head[start..self.at].to_ascii_lowercase();
        self.skip(is_space);
        if self.rest().first() != Some(&b'=') {
            return Some((name, Vec::new()));
        }
        self.at += 1;
        self.skip(is_space);
        Some((name, self.value()?.to_ascii_lowercase()))
    }

    /// `None` where the head ends before the value does.
    fn value(&mut self) -> Option<&'h [u8]> {
        let quote = *self.rest().first()?;
        if !is_quote(quote) {
            let start = self.at;
            self.skip(|byte| !is_space(byte) && byte != b'>');
            return (self.at < self.head.len()).then(|| &self.head[start..self.at]);
        }
        self.at += 1;
        let start = self.at;
        self.skip(|byte| byte != quote);
        let value = &self.head[start..self.at];
        let is_whole = self.at < self.head.len();
        self.at += 1;
        is_whole.then_some(value)
    }
}

fn is_meta(rest: &[u8]) -> bool {
    let name = rest.get(..5).unwrap_or_default();
    let next = rest.get(5).copied();
    name.eq_ignore_ascii_case(b"<meta") && next.is_some_and(|byte| is_space(byte) || byte == b'/')
}

/// The label in `text/html; charset=…`, in lower case.
fn charset_in(content: &[u8]) -> Option<&[u8]> {
    let name = b"charset";
    let mut rest = content;
    loop {
        let at = rest.windows(name.len()).position(|it| it == name)?;
        rest = &rest[at + name.len()..];
        let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") else {
            continue;
        };
        let value = value.trim_ascii_start();
        let (quote, quoted) = value.split_first()?;
        if is_quote(*quote) {
            let end = quoted.iter().position(|byte| byte == quote)?;
            return Some(&quoted[..end]);
        }
        let ends = |byte: &u8| is_space(*byte) || *byte == b';';
        return Some(&value[..value.iter().position(ends).unwrap_or(value.len())]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_page_states_its_encoding_in_its_head() {
        let late = format!("{}<meta charset=koi8-r>", " ".repeat(HEAD_LEN_MAX));
        let cases: &[(&str, Option<&str>)] = &[
            ("", None),
            ("<meta charset=koi8-r>", Some("KOI8-R")),
            ("<META CharSet = ' KOI8-R '>", Some("KOI8-R")),
            ("<meta/charset=\"latin1\"/>", Some("windows-1252")),
            (
                "<!doctype html><html lang=fr><head><title>a</title><meta name=a content=b><meta charset=sjis>",
                Some("Shift_JIS"),
            ),
            (
                "<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>",
                Some("windows-1251"),
            ),
            (
                "<meta content='text/html;charset = \"euc-kr\" ' http-equiv=content-type>",
                Some("EUC-KR"),
            ),
            ("<meta content='text/html; charset=koi8-r'>", None),
            (
                "<meta http-equiv=refresh content='text/html; charset=koi8-r'>",
                None,
            ),
            (
                "<!-- <meta charset=koi8-r> --><meta charset=big5>",
                Some("Big5"),
            ),
            ("<!--><meta charset=koi8-r>", Some("KOI8-R")),
            (
                "<p title='<meta charset=koi8-r>'><meta charset=big5>",
                Some("Big5"),
            ),
            ("<metaphor charset=koi8-r>", None),
            ("<meta charset=nonsense><meta charset=gbk>", Some("GBK")),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<meta charset=x-user-defined>", Some("windows-1252")),
            ("<meta charset=hz-gb-2312>", None),
            ("<meta charset=koi8-r", None),
            ("<meta charset='koi8-r", None),
            (
                "<?xml version='1.0' encoding='iso-8859-2'?><html>",
                Some("ISO-8859-2"),
            ),
            (
                "<?xml version='1.0' encoding='iso-8859-2'?><meta charset=koi8-r>",
                Some("KOI8-R"),
            ),
            ("< meta charset=koi8-r>", None),
            (&late, None),
        ];
        for (page, want) in cases {
            let got = by_html(page.as_bytes()).map(Encoding::name);
            assert_eq!(got, *want, "{page}");
        }
    }

    #[test]
    fn xml_states_its_encoding_in_its_declaration() {
        let cases: &[(&[u8], Option<&str>)] = &[
            (
                b"<?xml version=\"1.0\" encoding = \"ISO-8859-1\" ?><a/>",
                Some("windows-1252"),
            ),
            (b"<?xml version='1.0'?><a encoding='koi8-r'/>", None),
            (b"<?xml encoding='koi8-r", None),
            (b"<meta charset=koi8-r>", None),
            (b"<\0?\0x\0m\0l\0", Some("UTF-16LE")),
            (b"\0<\0?\0x\0m\0l", Some("UTF-16BE")),
        ];
        for (file, want) in cases {
            assert_eq!(by_xml(file).map(Encoding::name), *want, "{file:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_looked_at(page in "[<>!/?a=\"' ;-]{0,40}(<meta |charset|content|http-equiv)[<>!/?a=\"' ;-]{0,40}") {
            by_html(page.as_bytes());
            by_xml(page.as_bytes());
        }
    }
}
