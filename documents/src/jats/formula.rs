//! Formulas: their TeX where the article has it, else their MathML as one readable line.

use roxmltree::Node;

use super::{below, text_of};
use crate::writing::running::collapsed;

/// The formula of an element (`disp-formula`, `inline-formula`, `alternatives`, `tex-math`, `math`), without delimiters.
pub(super) fn text<'x>(node: Node<'x, 'x>) -> Option<String> {
    let tex = below_or_self(node, "tex-math").map(|tex| from_tex(&text_of(tex)));
    let formula = tex.filter(|tex| !tex.is_empty()).or_else(|| {
        let mut line = String::new();
        linear(below_or_self(node, "math")?, &mut line);
        Some(collapsed(&line))
    });
    formula.filter(|formula| !formula.is_empty())
}

/// Whether the formula is TeX, which is written between dollars in running text.
pub(super) fn is_tex<'x>(node: Node<'x, 'x>) -> bool {
    below_or_self(node, "tex-math").is_some()
}

fn below_or_self<'x>(node: Node<'x, 'x>, name: &str) -> Option<Node<'x, 'x>> {
    if node.has_tag_name(name) {
        Some(node)
    } else {
        below(node, name)
    }
}

/// The formula in a document of its own, as publishers wrap it: preamble and delimiters go.
fn from_tex(source: &str) -> String {
    let body = match source.split_once("\\begin{document}") {
        Some((_, body)) => body.split("\\end{document}").next().unwrap_or_default(),
        None => source,
    };
    let mut body = body.trim();
    for (open, close) in [("$$", "$$"), ("$", "$"), ("\\[", "\\]"), ("\\(", "\\)")] {
        let inner = body
            .strip_prefix(open)
            .and_then(|inner| inner.strip_suffix(close));
        body = inner.unwrap_or(body).trim();
    }
    body.to_owned()
}

/// Writes MathML as a line: `x^2`, `(a + b)/c`, `√(x)`. Recursion is bounded by the depth of the file.
fn linear<'x>(node: Node<'x, 'x>, out: &mut String) {
    let parts: Vec<Node<'x, 'x>> = node.children().filter(Node::is_element).collect();
    match (node.tag_name().name(), &parts[..]) {
        ("mi" | "mn" | "mtext" | "ms", _) => out.push_str(&text_of(node)),
        ("mo", _) => operator(&text_of(node), out),
        ("msup" | "mover", [base, above]) => {
            linear(*base, out);
            script('^', *above, out);
        }
        ("msub" | "munder", [base, below]) => {
            linear(*base, out);
            script('_', *below, out);
        }
        ("msubsup" | "munderover", [base, below, above]) => {
            linear(*base, out);
            script('_', *below, out);
            script('^', *above, out);
        }
        ("mfrac", [over, under]) => {
            grouped(*over, out);
            out.push('/');
            grouped(*under, out);
        }
        ("msqrt", _) => {
            out.push_str("√(");
            parts.iter().for_each(|part| linear(*part, out));
            out.push(')');
        }
        ("mroot", [base, index]) => {
            grouped(*index, out);
            out.push('√');
            grouped(*base, out);
        }
        ("mfenced", _) => fenced(node, &parts, out),
        ("mtr" | "mlabeledtr", _) => joined(&parts, ", ", out),
        ("mtable", _) => {
            out.push('[');
            joined(&parts, "; ", out);
            out.push(']');
        }
        ("mspace", _) => out.push(' '),
        ("annotation" | "annotation-xml" | "mphantom", _) => {}
        _ => parts.iter().for_each(|part| linear(*part, out)),
    }
}

/// Relations and sums are apart from their neighbours; brackets, commas and the invisible do not.
fn operator(sign: &str, out: &mut String) {
    match sign {
        "\u{2061}" | "\u{2062}" | "\u{2063}" | "\u{2064}" => {}
        "," | ";" => {
            out.push_str(sign);
            out.push(' ');
        }
        _ if sign.chars().all(|c| "()[]{}|‖⌊⌋⌈⌉!′′.^_˙¯~".contains(c)) => {
            out.push_str(sign)
        }
        _ => {
            out.push(' ');
            out.push_str(sign);
            out.push(' ');
        }
    }
}

fn script<'x>(sign: char, node: Node<'x, 'x>, out: &mut String) {
    out.push(sign);
    grouped(node, out);
}

/// In brackets when it is more than one letter or number.
fn grouped<'x>(node: Node<'x, 'x>, out: &mut String) {
    let mut inner = String::new();
    linear(node, &mut inner);
    let inner = inner.trim();
    if inner.chars().all(char::is_alphanumeric) || inner.chars().count() == 1 {
        out.push_str(inner)
    } else {
        out.push('(');
        out.push_str(inner);
        out.push(')');
    }
}

fn fenced<'x>(node: Node<'x, 'x>, parts: &[Node<'x, 'x>], out: &mut String) {
    out.push_str(node.attribute("open").unwrap_or("("));
    joined(parts, ", ", out);
    out.push_str(node.attribute("close").unwrap_or(")"));
}

fn joined<'x>(parts: &[Node<'x, 'x>], by: &str, out: &mut String) {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.push_str(by);
        }
        linear(*part, out);
    }
}
