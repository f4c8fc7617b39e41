use proptest::prelude::*;

use super::*;
use crate::packed::packed;
use loci_parsing::facts::TextMetrics;
use loci_parsing::tree::BlockKind;

const CONTAINER: &str =
    "<container><rootfiles><rootfile full-path='O/book.opf'/></rootfiles></container>";
const METADATA: &str = "<metadata xmlns:dc='d' xmlns:opf='o'>
    <dc:title id='t2'>Aside</dc:title><dc:title id='t'>On Ducks</dc:title><meta refines='#t' property='title-type'>main</meta>
    <dc:creator opf:role='trl'>Tr</dc:creator><dc:creator id='a'>Ann Lee</dc:creator><meta refines='#a' property='role'>aut</meta>
    <dc:date opf:event='modification'>2024</dc:date><dc:date>1999-01-02</dc:date><dc:language>en</dc:language>
    <dc:publisher>Press</dc:publisher><dc:identifier>urn:isbn:978-3-16-148410-0</dc:identifier>
    <dc:subject>Birds</dc:subject><dc:subject>Ponds</dc:subject>
    <dc:description>&lt;p&gt;About &lt;b&gt;ducks&lt;/b&gt;.&lt;/p&gt;</dc:description></metadata>";
const NCX: &str = "<?xml version='1.0'?><!DOCTYPE ncx PUBLIC '-//NISO//DTD ncx 2005-1//EN' 'x.dtd'><ncx><navMap>
    <navPoint><navLabel><text>One</text></navLabel><content src='a%20b.xhtml#x'/>
    <navPoint><navLabel><text>Part  of</text></navLabel><content src='c.xhtml'/></navPoint></navPoint></navMap></ncx>";
const NAV: &str = "<html><body><nav epub:type='landmarks' xmlns:epub='e'><ol><li><a href='c.xhtml'>Start</a></li></ol></nav>
    <nav xmlns:epub='e' epub:type='toc'><ol><li><a href='a%20b.xhtml'>One</a><ol><li><a href='c.xhtml#x'>Part <i>of</i></a></li></ol></li></ol></nav></body></html>";

/// A book of files of text, with more files.
fn book(pages: &[(&str, &str)], more: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut items, mut spine) = (String::new(), String::new());
    for (i, (path, _)) in pages.iter().enumerate() {
        let href = path.replace(' ', "%20");
        items += &format!("<item id='i{i}' href='{href}' media-type='application/xhtml+xml'/>");
        spine += &format!("<itemref idref='i{i}'/>");
    }
    let nav =
        "<item id='nav' href='nav.xhtml' media-type='application/xhtml+xml' properties='nav'/>";
    let ncx = "<item id='ncx' href='toc.ncx' media-type='application/x-dtbncx+xml'/>";
    let guide = "<guide><reference type='toc' href='toc.xhtml'/></guide>";
    let package = format!(
        "<package>{METADATA}<manifest>{items}{nav}{ncx}</manifest><spine toc='ncx'><itemref idref='nav'/><itemref idref='none'/>{spine}</spine>{guide}</package>"
    );
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("META-INF/container.xml".into(), CONTAINER.into()),
        ("O/book.opf".into(), package.into()),
    ];
    for (path, text) in pages {
        files.push((format!("O/{path}"), text.as_bytes().to_vec()));
    }
    for (path, bytes) in more {
        files.push(((*path).to_owned(), bytes.to_vec()));
    }
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (&path[..], &bytes[..]))
        .collect();
    packed(&files)
}

fn check(bytes: &[u8], want: &[(BlockKind, &str)]) -> ParsedDocument {
    let document = parse(bytes, &Limits::default()).unwrap();
    document.validate().unwrap();
    let blocks = document.blocks.iter();
    let got: Vec<_> = blocks
        .map(|block| (block.kind.clone(), &document.text[block.range.clone()]))
        .collect();
    assert_eq!(got, want);
    document
}

#[test]
fn files_follow_the_spine_and_lone_ones_get_their_title() {
    use BlockKind::{Heading, ListItem, Paragraph};
    let pages = [
        (
            "a b.xhtml",
            "<?xml version='1.0'?><html><head><title/></head><body><a id='x'/><p>one <i/>two</p></body></html>",
        ),
        (
            "c.xhtml",
            "<html><body><p>PART of</p><p>more</p></body></html>",
        ),
        (
            "d.xhtml",
            "<html><body><h2>Own</h2><nav>kept</nav></body></html>",
        ),
        (
            "toc.xhtml",
            "<html><body><h1>Contents</h1><ul><li><a href='d.xhtml'>Own and long</a></li></ul></body></html>",
        ),
        ("empty.xhtml", "<html><body/></html>"),
    ];
    let want = [
        (Heading(1), "One"),
        (Paragraph, "one two"),
        (Heading(2), "PART of"),
        (Paragraph, "more"),
        (Heading(2), "Own"),
        (Paragraph, "kept"),
    ];
    let by_ncx = book(&pages, &[("O/toc.ncx", NCX.as_bytes())]);
    check(&by_ncx, &want);
    let by_nav = book(&pages, &[("O/nav.xhtml", NAV.as_bytes())]);
    check(&by_nav, &want);
    // Without a table of contents, or with a damaged one, the files speak for themselves.
    let without = [&want[1..2], &[(Paragraph, "PART of")], &want[3..]].concat();
    check(&book(&pages, &[]), &without);
    check(&book(&pages, &[("O/toc.ncx", b"<ncx>")]), &without);
    let page_with_more =
        "<ul><li><a href='d.xhtml'>Own</a></li></ul><p>And a long word of welcome.</p>";
    let expected = [
        (ListItem, "Own"),
        (Paragraph, "And a long word of welcome."),
    ];
    check(&book(&[("toc.xhtml", page_with_more)], &[]), &expected);
}

#[test]
fn pictures_are_figures_with_their_bytes() {
    use BlockKind::{Caption, Figure, Heading, Paragraph};
    let page = "<h1><img src='t.png' alt='Drawn title'/></h1><svg><image xlink:href='../i/a%20b.png'/></svg>
        <p>word <img src='../i/a%20b.png' alt='A  duck'/> more</p><figure><img src='http://x/y.png'/><figcaption>c</figcaption></figure>
        <table><tr><td>x<img src='data:image/png;base64,AA' alt='dot'/></td></tr></table><img src='data:x'/>";
    let bytes = book(&[("t/a.xhtml", page)], &[("O/i/a b.png", b"png")]);
    let document = check(
        &bytes,
        &[
            (Heading(1), "Drawn title"),
            (Figure, "Drawn title"),
            (Figure, "a b.png"),
            (Paragraph, "word more"),
            (Figure, "A duck"),
            (Figure, "y.png"),
            (Caption, "c"),
            (Paragraph, "x"),
            (Figure, "dot"),
        ],
    );
    assert_eq!(document.blocks[2].images, ["O/i/a b.png"]);
    assert_eq!(document.blocks[5].images, ["http://x/y.png"]);
    assert!(document.blocks[8].images.is_empty());
    assert_eq!(document.assets.len(), 1);
    assert_eq!(document.assets[0].name, "O/i/a b.png");
}

#[test]
fn a_book_states_what_it_is() {
    let document = parse(&book(&[("a.xhtml", "<p>x</p>")], &[]), &Limits::default()).unwrap();
    assert_eq!(document.title.as_deref(), Some("On Ducks"));
    assert_eq!(document.authors, ["Ann Lee"]);
    assert_eq!(document.year, Some(1999));
    let facts = TextMetrics {
        language: Some("en".to_owned()),
        venue: Some("Press".to_owned()),
        keywords: Some("Birds, Ponds".to_owned()),
        description: Some("About ducks.".to_owned()),
        other: [("isbn".to_owned(), "9783161484100".to_owned())].into(),
        ..TextMetrics::default()
    };
    assert_eq!(document.facts, facts);
}

#[test]
fn a_book_is_encrypted_when_more_than_its_fonts_are() {
    let data = |scheme: &str, path: &str| {
        format!(
            "<encryption><EncryptedData><EncryptionMethod Algorithm='{scheme}'/><CipherData><CipherReference URI='{path}'/></CipherData></EncryptedData></encryption>"
        )
    };
    let cases = [
        (data("http://www.idpf.org/2008/embedding", "O/f.bin"), false),
        (data("http://x/aes256-cbc", "O/f.OTF"), false),
        (data("http://x/aes256-cbc", "O/a.xhtml"), true),
        ("<encryption/>".to_owned(), false),
    ];
    for (source, is_encrypted) in cases {
        let bytes = book(
            &[("a.xhtml", "<p>x</p>")],
            &[("META-INF/encryption.xml", source.as_bytes())],
        );
        let result = parse(&bytes, &Limits::default());
        assert_eq!(
            result == Err(ParseError::Encrypted { kind: Kind::Epub }),
            is_encrypted,
            "{source}"
        );
    }
}

#[test]
fn missing_or_damaged_chapters_are_reported_and_the_others_are_read() {
    let page = "<p>Ducks.</p><img src='none.png'/>";
    let whole = book(&[("a.xhtml", page), ("b.xhtml", "\0\0")], &[]);
    let bytes = book(
        &[("a.xhtml", page), ("b.xhtml", "\0\0"), ("c.xhtml", "")],
        &[],
    );
    // The name in the directory and before the file: the archive has another file then.
    let name = b"O/c.xhtml";
    let at: Vec<usize> = (0..bytes.len() - name.len())
        .filter(|at| bytes[*at..].starts_with(name))
        .collect();
    let mut bytes = bytes.clone();
    at.iter().for_each(|at| bytes[*at + 2] = b'z');
    for (bytes, want) in [
        (whole, &["1 part that", "1 chapter file is damaged"][..]),
        (
            bytes,
            &[
                "1 part that",
                "1 chapter file is missing in the book, and not stored (O/c.xhtml)",
                "(O/b.xhtml)",
            ],
        ),
    ] {
        let document = parse(&bytes, &Limits::default()).unwrap();
        assert!(document.text.contains("Ducks."));
        let warnings = document.warnings;
        assert_eq!(warnings.len(), want.len() + 1, "{warnings:?}");
        for (warning, want) in warnings.iter().zip(want) {
            assert!(warning.contains(want), "{warning}");
        }
        assert!(
            warnings[want.len()].contains("(O/none.png)"),
            "{warnings:?}"
        );
    }
}

#[test]
fn hostile_books_are_refused() {
    let limit = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        parse(
            &book(
                &[("a.xhtml", "<p>one</p><p>two</p>"), ("b.xhtml", "<p>x")],
                &[],
            ),
            &limits,
        )
    };
    for change in [
        (|limits| limits.pages_max = 1) as fn(&mut Limits),
        |limits| limits.blocks_max = 2,
        |limits| limits.text_max = 9,
        |limits| limits.unpacked_max = 500,
    ] {
        assert!(matches!(limit(change), Err(ParseError::TooLarge { .. })));
    }
    let deep = "<div>".repeat(100_000);
    let result = parse(&book(&[("a.xhtml", &deep)], &[]), &Limits::default());
    assert!(matches!(result, Err(ParseError::TooLarge { .. })));
    let bomb = "<!DOCTYPE a [<!ENTITY b 'bb'>]><container><rootfiles><rootfile full-path='&b;'/></rootfiles></container>";
    for container in [bomb, "<container/>", "<container>", ""] {
        let result = parse(
            &packed(&[("META-INF/container.xml", container.as_bytes())]),
            &Limits::default(),
        );
        assert!(
            matches!(result, Err(ParseError::Malformed { .. })),
            "{container}: {result:?}"
        );
    }
    let points = [
        "<ncx><navMap>",
        &"<navPoint>".repeat(5_000),
        &"</navPoint>".repeat(5_000),
        "</navMap></ncx>",
    ]
    .concat();
    let bytes = book(
        &[("a.xhtml", "<p>x</p>")],
        &[("O/toc.ncx", points.as_bytes())],
    );
    check(&bytes, &[(BlockKind::Paragraph, "x")]);
}

#[test]
fn every_cut_is_an_error_or_a_smaller_document() {
    let bytes = book(&[("a.xhtml", "<p>x</p>")], &[("O/toc.ncx", NCX.as_bytes())]);
    for len in 0..bytes.len() {
        if let Ok(document) = parse(&bytes[..len], &Limits::default()) {
            document.validate().unwrap();
        }
    }
    let page = "<html><body><h1>é</h1><p>x <img src='a.png' alt='b'/><br/></p><svg><image href='b'/></svg></body></html>";
    for len in (0..page.len()).filter(|len| page.is_char_boundary(*len)) {
        let document = parse(&book(&[("a.xhtml", &page[..len])], &[]), &Limits::default()).unwrap();
        document.validate().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn pages_of_any_tags_never_panic(parts in prop::collection::vec(prop::sample::select(vec![
        "<p>", "</p>", "<p/>", "<img src='a.png' alt='x'/>", "<svg>", "</svg>", "<image href='b'/>", "<table>", "<td>", "</table>",
        "<h1>", "</h1>", "<pre>", "</pre>", "<a href='x'>", "</a>", "é ", "word ", "<![CDATA[", "]]>", "<!--", "-->", "<", "'", "<br/>",
    ]), 0..40)) {
        let page = parts.concat();
        let document = parse(&book(&[("a.xhtml", &page), ("a b.xhtml", &page)], &[("O/toc.ncx", NCX.as_bytes())]), &Limits::default()).unwrap();
        prop_assert_eq!(document.validate(), Ok(()));
    }

    #[test]
    fn changed_bytes_never_panic(at in any::<prop::sample::Index>(), byte: u8) {
        let mut ncx = NCX.as_bytes().to_vec();
        let len = ncx.len();
        ncx[at.index(len)] = byte;
        let mut bytes = book(&[("a.xhtml", "<p>x</p>")], &[("O/toc.ncx", &ncx)]);
        let _ = parse(&bytes, &Limits::default());
        let len = bytes.len();
        bytes[at.index(len)] = byte;
        let _ = parse(&bytes, &Limits::default());
    }
}
