//! G11, G12: labels, paths, ranges, links.

use locidb::SearchRequest;

use crate::stores::{ask, document, paragraph, section, store};

#[test]
fn citation_has_location_label_and_numbers() {
    let text = "Die Welle ist überall zugleich.";
    let passage = paragraph(text).with_record(|record| {
        record.heading_path = vec!["3 Quanten".into(), "Wave Functions".into()];
        record.section_number = Some("3.2".into());
        record.section_title = Some("Wave Functions".into());
        record.location.pages = Some((42, 42));
    });
    let mut book = document(
        "a/b c.pdf",
        vec![section(
            "Wave Functions",
            vec![paragraph("Vorab: ümlaut."), passage],
        )],
    );
    book.record.title = Some("Waves".into());
    book.record.collection = "physics".into();
    let whole = String::from_utf8(book.original.clone()).unwrap();
    let store = store(vec![book]);
    let answer = ask(&store, &SearchRequest::new("Welle"));
    let hit = &answer.hits[0];
    assert_eq!(hit.citation.label, "Page 42, 3.2 Wave Functions");
    assert_eq!(hit.citation.path, ["Waves", "3 Quanten", "Wave Functions"]);
    assert_eq!(hit.citation.page, Some(42));
    let (start, end) = hit.citation.chars;
    let cited: String = whole
        .chars()
        .skip(start as usize)
        .take((end - start) as usize)
        .collect();
    assert_eq!((&cited[..], &hit.text[..]), (text, text));
    let parts: Vec<&str> = hit.citation.link.split('/').collect();
    assert!(
        matches!(parts[..], ["", "note", _, "chunk", _]),
        "{}",
        hit.citation.link
    );
    assert!(hit.citation.link.is_ascii() && !hit.citation.link.contains(' '));
    let methods = hit.methods.text.unwrap();
    assert_eq!(methods.rank, 1);
    assert_eq!(
        hit.parent.as_ref().unwrap().text,
        whole,
        "the parent is the section"
    );
}
