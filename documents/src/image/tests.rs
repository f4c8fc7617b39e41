use proptest::prelude::*;

use super::*;
use crate::tests_of::check_cut_and_corrupted;

fn chunk(kind: &[u8], body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32).to_be_bytes();
    [&len[..], kind, body, &[0; 4]].concat()
}

fn png() -> Vec<u8> {
    let size = [
        &640_u32.to_be_bytes()[..],
        &480_u32.to_be_bytes(),
        &[8, 2, 0, 0, 0],
    ]
    .concat();
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &size),
        chunk(b"tEXt", b"Title\0Crab  Nebula"),
        chunk(b"tEXt", b"Software\0x"),
        chunk(b"iTXt", "Description\0\0\0en\0\0Überrest".as_bytes()),
        chunk(b"iTXt", b"Author\0\x01\0\0\0packed"),
        chunk(b"tEXt", b"Author\0Ann Lee"),
        chunk(b"IDAT", &[0; 20]),
        chunk(b"IEND", b""),
    ]
    .concat()
}

fn tiff() -> Vec<u8> {
    let field = |tag: u16, kind: u16, len: u32, value: u32| {
        [
            &tag.to_le_bytes()[..],
            &kind.to_le_bytes(),
            &len.to_le_bytes(),
            &value.to_le_bytes(),
        ]
        .concat()
    };
    let fields = [
        field(0x100, 3, 1, 30),
        field(0x101, 4, 1, 20),
        field(0x10e, 2, 8, 62),
        field(0x132, 2, 3, u32::from_le_bytes(*b"99\0\0")),
    ];
    [
        &b"II*\0\x08\0\0\0\x04\0"[..],
        &fields.concat(),
        &[0; 4],
        b"A duck.\0",
    ]
    .concat()
}

fn jpeg() -> Vec<u8> {
    let segment = |marker: u8, body: &[u8]| {
        let len = (body.len() as u16 + 2).to_be_bytes();
        [&[0xff, marker][..], &len, body].concat()
    };
    let exif = [&b"Exif\0\0"[..], &tiff()].concat();
    let frame = [8, 0x01, 0xe0, 0x02, 0x80, 3];
    [
        vec![0xff, 0xd8],
        segment(0xe1, &exif),
        vec![0xff],
        segment(0xfe, b"A comment"),
        segment(0xc4, &[0; 5]),
        segment(0xc0, &frame),
        segment(0xda, &[]),
    ]
    .concat()
}

fn webp(kind: &[u8], body: &[u8]) -> Vec<u8> {
    [b"RIFF\0\0\0\0WEBP", kind, &[0; 4], body].concat()
}

fn fact<'d>(document: &'d ParsedDocument, name: &str) -> Option<&'d str> {
    let facts = &document.facts;
    match name {
        "created" => facts.created.as_deref(),
        _ => facts.other.get(name).map(String::as_str),
    }
}

#[test]
fn headers_tell_size_and_words() {
    let gif = b"GIF89a\x05\0\x07\0".to_vec();
    let bmp = [
        &b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0"[..],
        &9_i32.to_le_bytes(),
        &(-4_i32).to_le_bytes(),
    ]
    .concat();
    let cases: &[(&str, Vec<u8>, Option<(&str, &str)>, &str)] = &[
        (
            "crab-nebula_2.png",
            png(),
            Some(("640", "480")),
            "crab nebula 2. Crab Nebula. Überrest",
        ),
        ("a.b.jpg", jpeg(), Some(("640", "480")), "a b. A duck."),
        ("duck.tiff", tiff(), Some(("30", "20")), "duck. A duck."),
        ("x.gif", gif, Some(("5", "7")), "x"),
        ("x.bmp", bmp, Some(("9", "4")), "x"),
        (
            "x.webp",
            webp(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 7, 0, 9, 0]),
            Some(("7", "9")),
            "x",
        ),
        (
            "x.webp",
            webp(b"VP8L", &[0x2f, 6, 0, 2, 0]),
            Some(("7", "9")),
            "x",
        ),
        (
            "x.webp",
            webp(b"VP8X", &[0, 0, 0, 0, 6, 0, 0, 8, 0, 0]),
            Some(("7", "9")),
            "x",
        ),
        ("__.gif", b"GIF87a".to_vec(), None, "__.gif"),
    ];
    for (name, bytes, size, words) in cases {
        let document = parse(bytes, Some(name), &Limits::default()).unwrap();
        document.validate().unwrap();
        assert_eq!(document.text, *words, "{name}");
        assert_eq!(
            fact(&document, "width").zip(fact(&document, "height")),
            *size,
            "{name}"
        );
        assert_eq!(document.blocks[0].kind, BlockKind::Figure);
        assert_eq!(document.blocks[0].images, [*name]);
        assert_eq!(
            (&document.assets[0].name[..], &document.assets[0].bytes),
            (*name, bytes)
        );
    }
    let document = parse(&png(), None, &Limits::default()).unwrap();
    assert_eq!(document.assets[0].name, "image.png");
    assert_eq!(
        (document.title.as_deref(), &document.authors[..]),
        (Some("Crab Nebula"), &["Ann Lee".to_owned()][..])
    );
}

#[test]
fn a_large_picture_is_named_and_not_kept() {
    let limits = Limits {
        assets_max: 10,
        ..Limits::default()
    };
    let document = parse(&png(), Some("a.png"), &limits).unwrap();
    assert_eq!(
        (document.assets.len(), &document.blocks[0].images[0][..]),
        (0, "a.png")
    );
    assert!(matches!(
        parse(b"no", Some("a.png"), &limits),
        Err(ParseError::Malformed { .. })
    ));
}

#[test]
fn a_cut_file_has_fewer_facts() {
    for bytes in [
        png(),
        jpeg(),
        tiff(),
        webp(b"VP8X", &[0, 0, 0, 0, 6, 0, 0, 8, 0, 0]),
    ] {
        check_cut_and_corrupted(Kind::Image, &bytes);
    }
}

proptest! {
    #[test]
    fn any_bytes_behind_a_signature_are_taken(
        signature in prop::sample::select(vec![&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"GIF89a", b"II*\0", b"MM\0*", b"RIFF0000WEBP", b"BM00000000"]),
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = [signature, &rest].concat();
        let result = crate::parse::parse(Kind::Image, &bytes, Some("x"));
        prop_assert!(!matches!(result, Err(ParseError::Invalid { .. })), "{result:?}");
    }
}
