//! Text in the encodings that files come in, and bytes that are no text.

use encoding_rs::{BIG5, EUC_KR, GBK, ISO_8859_2, KOI8_R, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};
use proptest::prelude::*;

use super::*;

const FRENCH: &str = "Le café était fermé à midi.\r\nNous avons mangé une crêpe près de la forêt, où les élèves jouaient.\n";
const RUSSIAN: &str =
    "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему.\n";
const JAPANESE: &str = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。\n";
const POLISH: &str = "Zażółć gęślą jaźń. Łódź leży w środkowej Polsce, a Gdańsk nad morzem.\n";
const CHINESE: &str = "道可道，非常道。名可名，非常名。无名天地之始，有名万物之母。\n";
const TAIWANESE: &str = "道可道，非常道。名可名，非常名。無名天地之始，有名萬物之母。\n";
const KOREAN: &str =
    "모든 국민은 인간으로서의 존엄과 가치를 가지며, 행복을 추구할 권리를 가진다.\n";

fn in_encoding(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    let (bytes, _, has_gaps) = encoding.encode(text);
    assert!(!has_gaps, "{text} is not in {}", encoding.name());
    bytes.into_owned()
}

fn in_utf16(unit: fn(u16) -> [u8; 2], text: &str) -> Vec<u8> {
    format!("\u{feff}{text}")
        .encode_utf16()
        .flat_map(unit)
        .collect()
}

#[test]
fn plain_text_is_read_in_the_encoding_that_it_looks_like() {
    let cases: &[(&'static Encoding, &str)] = &[
        (WINDOWS_1252, FRENCH),
        (WINDOWS_1252, "A caf\u{e9}"),
        (
            WINDOWS_1252,
            "“Quotes” – it’s all that is not ASCII here, and nothing else.\n",
        ),
        (WINDOWS_1251, RUSSIAN),
        (KOI8_R, RUSSIAN),
        (SHIFT_JIS, JAPANESE),
        (ISO_8859_2, POLISH),
        (GBK, CHINESE),
        (BIG5, TAIWANESE),
        (EUC_KR, KOREAN),
    ];
    for (encoding, text) in cases {
        let bytes = in_encoding(encoding, text);
        let got = decode_text(&bytes, &Limits::default()).map(|it| it.text);
        assert_eq!(got.as_deref(), Ok(*text), "{}", encoding.name());
        assert_eq!(decode_head(&bytes).as_deref(), Some(*text));
    }
}

/// Some 4 KB of plain ASCII.
fn english() -> String {
    "The tide comes in twice a day, and the harbour fills with boats that wait for it.\n".repeat(50)
}

#[test]
fn a_few_signs_and_letters_are_those_of_windows_1252() {
    let cases = [
        "We measured 5 ± 0.3 mm at 21 °C over 4 µs. ".repeat(50),
        "10 µm and 5 µg of salt ".repeat(50),
        "a,µm,5".to_owned(),
        "It costs £20 or £30. ".repeat(20),
        english() + "Copyright © 2003 by Us ®",
        english() + "a naïve man",
        english() + "a “café”",
        english() + "“CAFÉ”",
        english() + "in Beyoncé’s song",
        "They say “café”—in the café’s window.".to_owned(),
    ];
    for text in cases {
        let bytes = in_encoding(WINDOWS_1252, &text);
        let got = decode_text(&bytes, &Limits::default()).map(|it| it.text);
        assert_eq!(got, Ok(text));
    }
}

#[test]
fn damaged_utf8_is_no_other_encoding() {
    let cases: &[(&[u8], &str)] = &[
        (b"don\xe2\x80", "don\u{fffd}"),
        (b"\xe6\x97", "\u{fffd}"),
        (
            b"don\xe2\x80t and wouldn\x80\x99t",
            "don\u{fffd}t and wouldn\u{fffd}\u{fffd}t",
        ),
        (
            b"\xe2\x80\x9cyes\xe2\x80\x9d caf\xe9 na\xefve r\xe9sum\xe9",
            "“yes” caf\u{fffd} na\u{fffd}ve r\u{fffd}sum\u{fffd}",
        ),
    ];
    for (end, want) in cases {
        let bytes = [english().as_bytes(), end].concat();
        let got = decode(&bytes).map(|it| it.text);
        assert_eq!(got, Ok(english() + want));
    }
}

#[test]
fn a_byte_order_mark_says_what_follows() {
    for text in [FRENCH, RUSSIAN, JAPANESE, "😀"] {
        for bytes in [
            in_utf16(u16::to_le_bytes, text),
            in_utf16(u16::to_be_bytes, text),
        ] {
            let got = decode(&bytes).unwrap();
            assert_eq!((&got.text[..], got.start), (text, 0));
            assert!(decode_head(&bytes[..bytes.len() - 1]).is_some());
        }
        let marked = format!("{BOM}{text}");
        let got = decode(marked.as_bytes()).unwrap();
        assert_eq!((got.text, got.start), (marked, 3));
    }
}

#[test]
fn what_is_no_text_is_refused_and_what_is_damaged_is_replaced() {
    let mixed = [FRENCH.as_bytes(), &in_encoding(WINDOWS_1252, FRENCH)].concat();
    let cut = &FRENCH.as_bytes()[..FRENCH.find('ê').unwrap() + 1];
    let whole = format!("{}\u{fffd}", &FRENCH[..FRENCH.find('ê').unwrap()]);
    let noise: Vec<u8> = (0..2000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8 | 1)
        .collect();
    let cases: &[(&str, &[u8], Option<&str>)] = &[
        ("nothing", b"", Some("")),
        ("plain", b"a\r\nb", Some("a\r\nb")),
        ("half a unit", b"\xff\xfea", None),
        ("half a pair", b"\xff\xfe\0\xd8", None),
        ("zero in UTF-16", b"\xff\xfe\0\0", None),
        ("zero byte", b"a\0b", None),
        ("lone letters", b"\xe9 \xe9 \xe9 \xe9", None),
        (
            "marks in the midst",
            &b"na\xefve \xff\xfe\xfd".repeat(99),
            None,
        ),
        ("control", &b"caf\xe9 \x01\x02 \xff".repeat(9), None),
        ("noise", &noise, None),
        ("two encodings", &mixed, None),
        ("cut inside a letter", cut, Some(&whole)),
        (
            "one broken",
            &FRENCH
                .as_bytes()
                .iter()
                .copied()
                .chain([0xff])
                .collect::<Vec<_>>(),
            Some(&format!("{FRENCH}\u{fffd}")),
        ),
    ];
    for (name, bytes, want) in cases {
        let got = decode(bytes).ok().map(|it| it.text);
        assert_eq!(got.as_deref(), *want, "{name}");
    }
}

#[test]
fn a_page_is_read_as_it_states_where_that_can_be() {
    let page =
        |head: &str, text: &str| format!("<html><head>{head}</head><body>{text}</body></html>");
    let meta = |label: &str| format!("<title>a</title><meta charset={label}>");
    let equiv = "<meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1251\">";
    let comment = format!("<!-- {} -->{}", meta("big5"), meta("shift_jis"));
    let short = "\u{44f}\u{437}\u{44b}\u{43a}";
    let escaped = b"<meta charset=iso-2022-jp>\x1b$B8c\x1b(B";
    let cases: &[(&str, Vec<u8>, &str)] = &[
        (
            "in an attribute",
            in_encoding(WINDOWS_1252, &page(&meta("iso-8859-1"), FRENCH)),
            FRENCH,
        ),
        (
            "in http-equiv",
            in_encoding(WINDOWS_1251, &page(equiv, short)),
            short,
        ),
        (
            "behind a comment",
            in_encoding(SHIFT_JIS, &page(&comment, JAPANESE)),
            JAPANESE,
        ),
        (
            "too late",
            in_encoding(
                WINDOWS_1251,
                &page(&(" ".repeat(2000) + &meta("big5")), RUSSIAN),
            ),
            RUSSIAN,
        ),
        (
            "unknown",
            in_encoding(WINDOWS_1251, &page(&meta("nonsense"), RUSSIAN)),
            RUSSIAN,
        ),
        (
            "wrong, for it is UTF-8",
            page(&meta("iso-8859-1"), JAPANESE).into_bytes(),
            JAPANESE,
        ),
        (
            "wrong, for it is not UTF-8",
            in_encoding(WINDOWS_1252, &page(&meta("utf-8"), FRENCH)),
            FRENCH,
        ),
        (
            "wrong, for it is Japanese",
            in_encoding(SHIFT_JIS, &page(&meta("iso-8859-2"), JAPANESE)),
            JAPANESE,
        ),
        (
            "not declared",
            in_encoding(KOI8_R, &page("", RUSSIAN)),
            RUSSIAN,
        ),
        (
            "with a byte order mark",
            in_utf16(u16::to_le_bytes, &page(&meta("big5"), FRENCH)),
            FRENCH,
        ),
        ("with escapes", escaped.to_vec(), "吾"),
    ];
    for (name, bytes, want) in cases {
        let got = decode_html(bytes).unwrap();
        assert!(got.text.contains(want), "{name}: {}", got.text);
    }
}

#[test]
fn what_a_page_states_is_believed_unless_it_hardly_reads_as_text() {
    let noise: Vec<u8> = (0..2000_u32)
        .map(|i| (i.wrapping_mul(i).wrapping_mul(2_654_435_761) >> 24) as u8)
        .map(|byte| {
            if byte & 0x7f < b' ' || byte == 0x7f {
                byte | 0xa0
            } else {
                byte
            }
        })
        .collect();
    let refused = [&b"<meta charset=koi8-r>"[..], &noise].concat();
    let got = decode_html(&refused).map(|it| it.text);
    assert!(got.is_err(), "{got:?}");

    // A capital in the midst of one word; in Windows-1252 it is `¼le jest byæ mi£y`.
    let page = "<meta charset=iso-8859-2>źle jest być miŁy";
    let got = decode_html(&in_encoding(ISO_8859_2, page)).map(|it| it.text);
    assert_eq!(got.as_deref(), Ok(page));
}

#[test]
fn xml_is_read_as_it_declares() {
    let file = |label: &str| format!("<?xml version='1.0' encoding='{label}'?><a>{FRENCH}</a>");
    let wide: Vec<u8> = file("utf-16")
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    for bytes in [
        in_encoding(WINDOWS_1252, &file("iso-8859-1")),
        file("utf-8").into_bytes(),
        in_utf16(u16::to_le_bytes, &file("utf-16")),
        wide,
    ] {
        assert!(decode_xml(&bytes).unwrap().text.contains(FRENCH));
    }
}

#[test]
fn a_text_is_bounded_by_what_it_is_decoded_to() {
    let cyrillic = in_encoding(WINDOWS_1251, RUSSIAN);
    let wide = in_utf16(u16::to_le_bytes, JAPANESE);
    for (bytes, len) in [(&cyrillic, RUSSIAN.len()), (&wide, JAPANESE.len())] {
        assert!(bytes.len() < len);
        let within = |text_max| {
            decode_text(
                bytes,
                &Limits {
                    text_max,
                    ..Limits::default()
                },
            )
        };
        assert!(within(len).is_ok());
        assert!(matches!(within(len - 1), Err(ParseError::TooLarge { .. })));
    }
}

proptest! {
    #[test]
    fn any_utf8_is_read_as_it_is(text in "[^\0]{0,200}") {
        let bytes = text.as_bytes();
        prop_assert_eq!(&decode(bytes).unwrap().text, &text);
        prop_assert_eq!(&decode_text(bytes, &Limits::default()).unwrap().text, &text);
        prop_assert_eq!(&decode_xml(bytes).unwrap().text, &text);
        if !text.contains('\x1b') {
            let declared = format!("<meta charset=koi8-r>{text}");
            prop_assert_eq!(&decode_html(declared.as_bytes()).unwrap().text, &declared);
        }
    }

    #[test]
    fn any_bytes_are_text_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), from in 1..3usize) {
        let heads: &[&[u8]] = &[b"", b"<meta charset=iso-2022-jp>", b"<?xml encoding='gb18030'?>", b"\xff\xfe"];
        for head in &heads[from - 1..] {
            let bytes = [head, &bytes[..]].concat();
            let read = [decode(&bytes), decode_html(&bytes), decode_xml(&bytes)];
            for decoded in read.into_iter().flatten() {
                prop_assert!(decoded.text.len() <= 3 * bytes.len() && !decoded.text.contains('\0'));
            }
            decode_head(&bytes);
        }
    }

    #[test]
    fn letters_of_one_encoding_come_back(words in prop::collection::vec("[а-я]{3,9}", 8..20)) {
        let text = words.join(" ");
        let bytes = in_encoding(WINDOWS_1251, &format!("<meta charset=cp1251>{text}"));
        prop_assert!(decode_html(&bytes).unwrap().text.ends_with(&text));
    }
}
