//! What a page shows that is not its text: menus, banners, buttons, links to share it.
//!
//! Elements and roles say so themselves. Beyond that, the classes of widespread site software are
//! known by name, and words that begin a class or id are trusted where little text is in it.

use scraper::ElementRef;

use super::is_known;

/// What a class or an id of an element that belongs to the site begins with.
const BOILERPLATE_PREFIXES: &[&str] = &[
    "advert",
    "ads-",
    "banner-ad",
    "cookie",
    "consent",
    "gdpr",
    "newsletter",
    "pagination",
    "popup",
    "promo",
    "recommended",
    "related",
    "share",
    "sharing",
    "skip",
    "social",
    "sponsor",
    "subscribe",
];
/// Whatever its class, an element with more text than this holds text of the page, in bytes.
const BOILERPLATE_BYTES_MAX: usize = 1_500;
const BOILERPLATE_ELEMENTS_MAX: usize = 500;
const HEADINGS: &[&str] = &["h1", "h2", "h3", "h4", "h5", "h6"];
/// How far around an element and within it a heading is looked for.
const HEADING_DEPTH_MAX: usize = 4;
const HEADING_WITHIN_MAX: usize = 6;

/// Whether no reader sees the element.
pub(super) fn is_hidden(element: ElementRef<'_>) -> bool {
    let value = element.value();
    let style = value.attr("style").unwrap_or_default();
    value.attr("hidden").is_some()
        || style.contains("display:none")
        || style.contains("display: none")
        || is_known("hidden", value.name())
        // The same formula once more, in glyphs that are set by hand.
        || value.classes().any(|class| class == "katex-html")
}

/// Whether the element belongs to the site rather than to the page. `is_in_header`: a `header` is
/// open around it.
pub(super) fn is_boilerplate(element: ElementRef<'_>, is_in_header: bool) -> bool {
    let value = element.value();
    let name = value.name();
    let is_aside = name == "aside" && value.classes().any(|c| is_known("remark-classes", c));
    (is_known("boilerplate", name) && !is_aside)
        || value.attr("aria-hidden") == Some("true")
        || value.attr("role").is_some_and(|r| is_known("boilerplate-roles", r))
        || value.classes().any(|c| is_known("boilerplate-classes", c))
        // A header that holds the page's title is no mere banner, but its lists are menus.
        || (matches!(name, "ul" | "ol") && is_in_header)
        || (name == "header" && !has_descendant(element, &["h1"]))
        || (name == "a" && is_anchor(element))
        || (starts_like_boilerplate(element) && is_small(element))
}

/// The sign behind a heading that links to it.
fn is_anchor(link: ElementRef<'_>) -> bool {
    let is_inner = link
        .attr("href")
        .is_some_and(|address| address.starts_with('#'));
    is_inner && {
        let mut shown = link
            .text()
            .flat_map(str::chars)
            .filter(|c| !c.is_whitespace());
        let first = shown.next();
        matches!(first, Some('#' | '¶' | '§' | '🔗')) && shown.next().is_none()
    }
}

fn starts_like_boilerplate(element: ElementRef<'_>) -> bool {
    let value = element.value();
    if matches!(value.name(), "html" | "body" | "main" | "article") {
        return false;
    }
    let id = value.id().filter(|id| !is_id_from_heading(element, id));
    let mut names = value.classes().chain(id);
    names.any(|name| {
        let begins = |start: &&str| {
            let head = name.get(..start.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(start))
        };
        BOILERPLATE_PREFIXES.iter().any(begins)
    })
}

/// Whether an id says nothing but what a heading says: it is within one, or of the section under it.
fn is_id_from_heading(element: ElementRef<'_>, id: &str) -> bool {
    let is_heading = |element: ElementRef<'_>| HEADINGS.contains(&element.value().name());
    let around = element.ancestors().filter_map(ElementRef::wrap);
    if is_heading(element) || around.take(HEADING_DEPTH_MAX).any(is_heading) {
        return true;
    }
    let value = element.value();
    if value.name() != "section" && !value.classes().any(|class| class == "section") {
        return false;
    }
    let letters = |text: &str| -> String {
        let expected = text.chars().filter(|c| c.is_alphabetic());
        expected.flat_map(char::to_lowercase).collect()
    };
    let mut within = element.descendent_elements().take(HEADING_WITHIN_MAX);
    let heading = within.find(|below| is_heading(*below));
    heading.is_some_and(|heading| letters(&heading.text().collect::<String>()) == letters(id))
}

fn is_small(element: ElementRef<'_>) -> bool {
    if element
        .descendent_elements()
        .nth(BOILERPLATE_ELEMENTS_MAX)
        .is_some()
    {
        return false;
    }
    let mut left = BOILERPLATE_BYTES_MAX;
    for text in element.text() {
        match left.checked_sub(text.trim().len()) {
            Some(less) => left = less,
            None => return false,
        }
    }
    !has_descendant(element, &["h1", "main", "article", "pre", "math"])
}

pub(super) fn has_descendant(element: ElementRef<'_>, names: &[&str]) -> bool {
    let mut below = element.descendent_elements().skip(1);
    below.any(|e| names.contains(&e.value().name()))
}
