//! Which pictures of a page say something.

use percent_encoding::percent_decode_str;
use scraper::ElementRef;

use crate::writing::running::collapsed;

/// Pictures at most this wide or high are icons, in pixels.
const ICON_PX_MAX: u32 = 40;
/// What the class or the address of a picture without meaning holds.
const ICONS: &[&str] = &[
    "icon",
    "logo",
    "avatar",
    "badge",
    "sprite",
    "spacer",
    "pixel",
    "emoji",
    "shields.io",
];

/// A picture, as the page names it.
#[derive(Debug)]
pub(super) struct Picture {
    /// What the page says of it; may be empty.
    pub(super) alt_text: String,
    /// Its address as written; may be empty in a book.
    pub(super) address: String,
}

impl Picture {
    /// What `img`, or an `svg` that shows one, is.
    pub(super) fn from_element(element: ElementRef<'_>) -> Option<Picture> {
        let address = match element.value().name() {
            "img" => address(element),
            _ => element.descendent_elements().find_map(address),
        };
        let attributes = ["alt", "title", "aria-label"];
        let mut values = attributes.iter().filter_map(|name| element.attr(name));
        let text = values
            .find(|value| !value.trim().is_empty())
            .unwrap_or_default();
        let picture = Picture {
            alt_text: collapsed(text),
            address: address.unwrap_or_default(),
        };
        (!picture.alt_text.is_empty() || !picture.address.is_empty()).then_some(picture)
    }

    /// What its block says: what the page says of it, else its file's name.
    pub(super) fn text(&self) -> String {
        if !self.alt_text.is_empty() {
            return self.alt_text.clone();
        }
        let path = self.address.split(['?', '#']).next().unwrap_or_default();
        let name = path.trim_end_matches('/').rsplit('/').next();
        let name = name.unwrap_or_default();
        let decoded = percent_decode_str(name).decode_utf8();
        without_width(&decoded.unwrap_or(name.into())).to_owned()
    }

    /// Whether a reader would miss it: no icon, and no link without a word on it. `is_in_link`,
    /// `has_caption`: what is around it.
    pub(super) fn is_informative(
        &self,
        element: ElementRef<'_>,
        is_in_link: bool,
        has_caption: bool,
    ) -> bool {
        let is_small = |side: &str| {
            let pixels = element
                .attr(side)
                .and_then(|px| px.trim_end_matches("px").parse().ok());
            pixels.is_some_and(|px: u32| px <= ICON_PX_MAX)
        };
        let class = element
            .attr("class")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let address = self.address.to_ascii_lowercase();
        let is_icon = |word: &&str| class.contains(*word) || address.contains(*word);
        // The words of an address are chance: a caption outweighs them.
        let is_icon = !has_caption && ICONS.iter().any(is_icon);
        let is_silent = self.alt_text.is_empty() && is_in_link && !has_caption;
        let is_plain = element.attr("role") == Some("presentation")
            || element.attr("aria-hidden") == Some("true");
        !self.address.is_empty()
            && !is_silent
            && !is_plain
            && !is_icon
            && !is_small("width")
            && !is_small("height")
    }
}

/// The address of an image; pictures that are loaded late name theirs elsewhere.
fn address(element: ElementRef<'_>) -> Option<String> {
    let value = element.value();
    if !matches!(value.name(), "img" | "image") {
        return None;
    }
    let named = ["src", "data-src", "data-original", "data-lazy-src"];
    let of_image = value
        .attrs()
        .find(|(name, _)| matches!(*name, "href" | "xlink:href"))
        .map(|(_, address)| address);
    let mut all = named
        .iter()
        .filter_map(|name| value.attr(name))
        .chain(of_image);
    let address = all.find(|address| !address.is_empty() && !address.starts_with("data:"))?;
    Some(address.trim().to_owned())
}

/// A file's name without the width that encyclopedias put before it: `220px-Duck.jpg`.
fn without_width(name: &str) -> &str {
    match name.split_once("px-") {
        Some((width, rest)) if width.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => name,
    }
}
