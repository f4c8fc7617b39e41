//! Formulas of a page, as the source that they are set from where the page has it.

use scraper::ElementRef;

/// A formula.
#[derive(Debug)]
pub(super) struct Formula {
    /// TeX, or whatever the page says in its place.
    pub(super) text: String,
    /// Whether it is on a line of its own.
    pub(super) is_display: bool,
}

impl Formula {
    /// The formula that an element is, if it is one: MathML, a picture of TeX, or a script for
    /// MathJax.
    pub(super) fn from_element(element: ElementRef<'_>) -> Option<Formula> {
        let value = element.value();
        let is_of = |class: &str| value.classes().any(|c| c == class);
        let is_tex =
            |class: &str| class.starts_with("mwe-math") || matches!(class, "tex" | "latex");
        let (text, is_display) = match value.name() {
            "math" => (source(element), value.attr("display") == Some("block")),
            "img" if value.classes().any(is_tex) => (
                value.attr("alt")?.to_owned(),
                is_of("mwe-math-fallback-image-display"),
            ),
            "script" => {
                let kind = value.attr("type")?.strip_prefix("math/tex")?;
                (element.text().collect(), kind.contains("mode=display"))
            }
            _ => return None,
        };
        let mut around = element.ancestors().take(4).filter_map(ElementRef::wrap);
        let is_block = around.any(|e| e.value().classes().any(|c| c == "katex-display"));
        Some(Formula {
            text: bare(&text),
            is_display: is_display || is_block,
        })
    }
}

/// What a formula in MathML is set from: its alternative text, else its TeX, else its glyphs.
fn source(math: ElementRef<'_>) -> String {
    if let Some(text) = math.attr("alttext").filter(|text| !text.trim().is_empty()) {
        return text.to_owned();
    }
    let mut below = math.descendent_elements();
    let tex = below.find(|e| {
        let encoding = e.attr("encoding").unwrap_or_default();
        e.value().name() == "annotation" && encoding.to_ascii_lowercase().contains("tex")
    });
    if let Some(tex) = tex {
        return tex.text().collect();
    }
    let is_glyph =
        |e: &ElementRef<'_>| matches!(e.value().name(), "mi" | "mn" | "mo" | "mtext" | "ms");
    let glyphs = math.descendent_elements().filter(is_glyph);
    glyphs.flat_map(|e| e.text()).collect::<Vec<_>>().join(" ")
}

/// TeX without the braces that only set its size: `{\displaystyle x}` is `x`.
fn bare(text: &str) -> String {
    let text = text.trim();
    let inner = text
        .strip_prefix("{\\displaystyle")
        .or_else(|| text.strip_prefix("{\\textstyle"))
        .and_then(|inner| inner.strip_suffix('}'));
    inner.unwrap_or(text).trim().to_owned()
}
