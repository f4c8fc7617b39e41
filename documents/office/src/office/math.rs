//! Formulas (OMML; ECMA-376, part 1, 22.1) as a line of text: `(a+b)/2`, `x_1^2`, `√(x+1)`, `∑_(i=1)^n i`.
//!
//! The form is that of "UnicodeMath, a nearly plain-text encoding of mathematics" (Unicode Technical Note 28), where it
//! is readable.

use roxmltree::Node;

use super::is_on;
use crate::writing::running::collapsed;
use crate::xml::node::{child, children, value};

/// The formula in `node`, which may be any element of a formula. Recursive: the depth of the tree is bounded.
pub(crate) fn linear(node: Node<'_, '_>) -> String {
    let mut line = String::new();
    for child in node.children().filter(Node::is_element) {
        line.push_str(&element(child));
    }
    line
}

/// A displayed formula: its lines, apart.
pub(crate) fn display(node: Node<'_, '_>) -> String {
    let lines = children(node, "oMath").map(|formula| collapsed(&linear(formula)));
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

fn element(node: Node<'_, '_>) -> String {
    let of = |name| child(node, name).map(linear).unwrap_or_default();
    match node.tag_name().name() {
        "t" => node.text().unwrap_or_default().to_owned(),
        "f" => fraction(node),
        "sSup" => format!("{}^{}", tied(&of("e")), tied(&of("sup"))),
        "sSub" => format!("{}_{}", tied(&of("e")), tied(&of("sub"))),
        "sSubSup" => scripts(tied(&of("e")), &of("sub"), &of("sup")),
        "sPre" => scripts(String::new(), &of("sub"), &of("sup")) + &tied(&of("e")),
        "rad" => root(node),
        "nary" => {
            let sign = property(node, "naryPr", "chr").unwrap_or("∫");
            scripts(sign.to_owned(), &of("sub"), &of("sup")) + " " + &of("e")
        }
        "d" => fenced(node),
        "func" => format!("{} {}", of("fName"), tied(&of("e"))),
        "limLow" => format!("{}_{}", tied(&of("e")), tied(&of("lim"))),
        "limUpp" => format!("{}^{}", tied(&of("e")), tied(&of("lim"))),
        "acc" => accented(
            &of("e"),
            property(node, "accPr", "chr").unwrap_or("\u{302}"),
        ),
        "bar" => accented(&of("e"), "\u{305}"),
        "m" => matrix(node),
        "eqArr" => {
            let lines: Vec<String> = children(node, "e").map(linear).collect();
            lines.join("; ")
        }
        // Properties say how it looks, deletions are gone.
        name if name.ends_with("Pr") || matches!(name, "del" | "moveFrom") => String::new(),
        _ => linear(node),
    }
}

fn property<'a>(node: Node<'a, '_>, group: &str, name: &str) -> Option<&'a str> {
    value(child(node, group)?, name)
}

fn fraction(node: Node<'_, '_>) -> String {
    let of = |name| child(node, name).map(linear).unwrap_or_default();
    let (over, under) = (of("num"), of("den"));
    match property(node, "fPr", "type") {
        Some("noBar") => format!("({over} ¦ {under})"),
        _ => format!("{}/{}", tied(&over), tied(&under)),
    }
}

fn scripts(mut base: String, sub: &str, sup: &str) -> String {
    for (sign, script) in [('_', sub), ('^', sup)] {
        if !script.trim().is_empty() {
            base.push(sign);
            base.push_str(&tied(script));
        }
    }
    base
}

fn root(node: Node<'_, '_>) -> String {
    let of = |name| child(node, name).map(linear).unwrap_or_default();
    let hide = child(node, "radPr").and_then(|properties| child(properties, "degHide"));
    let hides = hide.is_some_and(is_on);
    let degree = of("deg");
    match degree.trim() {
        degree if hides || degree.is_empty() => format!("√({})", of("e")),
        degree => format!("√[{degree}]({})", of("e")),
    }
}

fn fenced(node: Node<'_, '_>) -> String {
    let sign = |name, usual| property(node, "dPr", name).unwrap_or(usual);
    let parts: Vec<String> = children(node, "e").map(linear).collect();
    let inside = parts.join(sign("sepChr", "|"));
    format!("{}{inside}{}", sign("begChr", "("), sign("endChr", ")"))
}

fn accented(base: &str, accent: &str) -> String {
    let base = base.trim();
    match base.chars().count() {
        1 => format!("{base}{accent}"),
        _ => format!("({base}){accent}"),
    }
}

fn matrix(node: Node<'_, '_>) -> String {
    let rows = children(node, "mr").map(|row| {
        let cells: Vec<String> = children(row, "e").map(linear).collect();
        cells.join(", ")
    });
    rows.collect::<Vec<_>>().join("; ")
}

/// In parentheses, unless it holds together by itself.
fn tied(part: &str) -> String {
    let part = part.trim();
    let is_word = part
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '.' | '′'));
    if is_word || part.chars().count() == 1 || is_fenced(part) {
        part.to_owned()
    } else {
        format!("({part})")
    }
}

/// Whether the parenthesis that opens `part` closes at its end.
fn is_fenced(part: &str) -> bool {
    let mut depth = 0_usize;
    for (at, c) in part.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at > 0 && at + c.len_utf8() == part.len();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use roxmltree::Document;

    #[test]
    fn formulas_become_a_line() {
        let run = |text: &str| format!("<r><t>{text}</t></r>");
        let (x, sum) = (run("x"), run("a+b"));
        let cases: &[(String, &str)] = &[
            (format!("<f><num>{sum}</num><den>{x}</den></f>"), "(a+b)/x"),
            (
                format!("<f><fPr><type val='noBar'/></fPr><num>{x}</num><den>{x}</den></f>"),
                "(x ¦ x)",
            ),
            (
                format!("<sSup><e>{x}</e><sup>{}</sup></sSup>", run("2")),
                "x^2",
            ),
            (
                format!(
                    "<sSubSup><e>{x}</e><sub>{}</sub><sup>{sum}</sup></sSubSup>",
                    run("1")
                ),
                "x_1^(a+b)",
            ),
            (format!("<rad><deg/><e>{sum}</e></rad>"), "√(a+b)"),
            (
                format!("<rad><deg>{}</deg><e>{x}</e></rad>", run("3")),
                "√[3](x)",
            ),
            (
                format!(
                    "<nary><naryPr><chr val='∑'/></naryPr><sub>{}</sub><sup>{}</sup><e>{x}</e></nary>",
                    run("i=1"),
                    run("n")
                ),
                "∑_(i=1)^n x",
            ),
            (format!("<d><e>{x}</e><e>{sum}</e></d>"), "(x|a+b)"),
            (
                format!("<d><dPr><begChr val='['/><endChr val=']'/></dPr><e>{x}</e></d>"),
                "[x]",
            ),
            (
                format!("<sSup><e><d><e>{sum}</e></d></e><sup>{x}</sup></sSup>"),
                "(a+b)^x",
            ),
            (
                format!("<func><fName>{}</fName><e>{x}</e></func>", run("sin")),
                "sin x",
            ),
            (format!("<acc><e>{x}</e></acc>"), "x\u{302}"),
            (
                format!("<m><mr><e>{x}</e><e>{x}</e></mr><mr><e>{x}</e><e>{sum}</e></mr></m>"),
                "x, x; x, a+b",
            ),
            (format!("<eqArr><e>{x}</e><e>{sum}</e></eqArr>"), "x; a+b"),
            (
                format!("<del>{x}</del><rPr>{x}</rPr><box><e>{x}</e></box>"),
                "x",
            ),
            ("<f/><rad/><d/><acc/><nary/>".into(), "/√()()()\u{302}∫ "),
        ];
        for (source, want) in cases {
            let source = format!("<oMath>{source}</oMath>");
            let tree = Document::parse(&source).unwrap();
            assert_eq!(linear(tree.root_element()), *want, "{source}");
        }
    }
}
