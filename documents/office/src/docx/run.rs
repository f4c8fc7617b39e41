//! The walk over a paragraph: runs of text, and what is among them.

use roxmltree::Node;

use super::body::{Reader, block};
use super::drawing::DeferredBlock;
use super::notes::NoteKind;
use crate::limits::ParseError;
use crate::office::{is_on, math};
use crate::tree::{BlockKind, MarkKind};
use crate::xml::node::{attribute, branch, child, value};

/// Letters of the font Symbol at the places of a to z and A to Z.
const SYMBOL_LOWER: &str = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ";
const SYMBOL_UPPER: &str = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ";
/// Other signs of that font.
const SYMBOL_SIGNS: &[(u32, char)] = &[
    (0xa3, '≤'),
    (0xa5, '∞'),
    (0xae, '→'),
    (0xb0, '°'),
    (0xb1, '±'),
    (0xb3, '≥'),
    (0xb4, '×'),
    (0xb6, '∂'),
    (0xb7, '•'),
    (0xb9, '≠'),
    (0xbb, '≈'),
    (0xd6, '√'),
    (0xe5, '∑'),
    (0xf2, '∫'),
];

impl<'t> Reader<'t, '_> {
    /// Reads what is in a paragraph, link or the like.
    pub(super) fn runs(&mut self, parent: Node<'t, 't>) -> Result<(), ParseError> {
        for node in parent.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "r" => self.run(node)?,
                "hyperlink" => {
                    self.state.link_depth += 1;
                    self.runs(node)?;
                    self.state.link_depth -= 1;
                }
                "fldSimple" => {
                    self.fields.begin();
                    self.fields
                        .code(attribute(node, "instr").unwrap_or_default());
                    self.fields.separate();
                    self.runs(node)?;
                    self.fields.end();
                }
                "sdt" => self.control(node, Self::runs)?,
                "AlternateContent" => {
                    if let Some(branch) = branch(node) {
                        self.runs(branch)?;
                    }
                }
                "ins" | "moveTo" | "customXml" | "smartTag" | "dir" | "bdo" => self.runs(node)?,
                "oMathPara" => self.displayed(node)?,
                "oMath" => self.formula(node),
                _ => {}
            }
        }
        self.writer.mark(&[]);
        Ok(())
    }

    fn run(&mut self, run: Node<'t, 't>) -> Result<(), ParseError> {
        let properties = child(run, "rPr");
        let style = properties.and_then(|properties| value(properties, "rStyle"));
        let style = self.styles.get(style);
        let switch = |name: &str, of_style: bool| {
            let property = properties.and_then(|properties| child(properties, name));
            property.map_or(of_style, is_on)
        };
        let (strong, emphasis) = (
            switch("b", style.is_strong),
            switch("i", style.is_emphasised),
        );
        let is_hidden = switch("vanish", style.is_hidden);
        let is_code = style.role == super::style::Role::Code;
        let is_link = self.state.link_depth > 0 || self.fields.is_link();
        let marks = [
            (is_link, MarkKind::Link),
            (strong, MarkKind::Strong),
            (emphasis, MarkKind::Emphasis),
            (is_code, MarkKind::Code),
        ];
        let marks = marks.iter().filter(|(is_on, _)| *is_on);
        self.writer
            .mark(&marks.map(|(_, kind)| *kind).collect::<Vec<_>>());
        self.parts(run, is_hidden)
    }

    /// The parts of a run. Of a hidden one, only what fields begin and end there counts.
    fn parts(&mut self, run: Node<'t, 't>, is_hidden: bool) -> Result<(), ParseError> {
        for part in run.children().filter(Node::is_element) {
            match part.tag_name().name() {
                "fldChar" => match attribute(part, "fldCharType") {
                    Some("begin") => self.fields.begin(),
                    Some("separate") => self.fields.separate(),
                    Some("end") => self.fields.end(),
                    _ => {}
                },
                "instrText" => self.fields.code(part.text().unwrap_or_default()),
                "lastRenderedPageBreak" => self.pages.rendered_break(),
                "br" if attribute(part, "type") == Some("page") => self.pages.explicit_break(),
                "AlternateContent" => {
                    if let Some(branch) = branch(part) {
                        self.parts(branch, is_hidden)?;
                    }
                }
                _ if is_hidden || self.state.is_skipped => {}
                _ if self.fields.hides() => {
                    let text = (part.tag_name().name() == "t").then(|| part.text());
                    self.fields.hide(text.flatten().unwrap_or_default());
                }
                _ => self.part(part)?,
            }
        }
        Ok(())
    }

    fn part(&mut self, part: Node<'t, 't>) -> Result<(), ParseError> {
        match part.tag_name().name() {
            "t" => self.push(part.text().unwrap_or_default()),
            "tab" if self.state.is_verbatim => self.writer.inline.push_raw("\t"),
            "tab" | "ptab" => self.writer.inline.space(),
            "br" | "cr" if self.state.in_cell > 0 => self.writer.inline.space(),
            "br" | "cr" => self.writer.inline.line_break(),
            "noBreakHyphen" => self.push("-"),
            "sym" => {
                if let Some(sign) = symbol(part) {
                    self.push(sign.encode_utf8(&mut [0; 4]));
                }
            }
            "footnoteReference" => self.refer(NoteKind::Footnote, part),
            "endnoteReference" => self.refer(NoteKind::Endnote, part),
            "commentReference" if !self.state.in_note => {
                let id = attribute(part, "id");
                let comment = id.and_then(|id| self.notes.comment(id));
                self.deferred.extend(comment.map(DeferredBlock::Comment));
            }
            "drawing" | "pict" | "object" if !self.state.in_note => self.drawing(part),
            "ruby" => {
                if let Some(base) = child(part, "rubyBase") {
                    self.runs(base)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn is_suppressed(&self) -> bool {
        self.state.is_skipped || self.fields.hides()
    }

    fn push(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.pages.extend_block();
        }
        if self.state.is_verbatim {
            self.writer.inline.push_raw(text)
        } else {
            self.writer.inline.push(text)
        }
    }

    /// The mark of a note. A note refers to no other.
    fn refer(&mut self, kind: NoteKind, reference: Node<'t, 't>) {
        let id = attribute(reference, "id").filter(|_| !self.state.in_note);
        if let Some(number) = id.and_then(|id| self.notes.refer(kind, id)) {
            self.push(&format!("[^{number}]"));
        }
    }

    fn formula(&mut self, formula: Node<'t, 't>) {
        if !self.is_suppressed() {
            self.writer.inline.space();
            self.push(&math::linear(formula));
            self.writer.inline.space();
        }
    }

    /// A displayed formula: a block that parts the paragraph, but not within a cell.
    fn displayed(&mut self, formulas: Node<'t, 't>) -> Result<(), ParseError> {
        let text = math::display(formulas);
        if self.is_suppressed() || text.is_empty() {
            return Ok(());
        }
        if self.state.in_cell > 0 {
            self.writer.inline.space();
            self.push(&text);
            self.writer.inline.space();
            return Ok(());
        }
        let kind = self.state.kind.clone();
        self.flush_text()?;
        self.state.kind = kind;
        let equation = block(BlockKind::Equation, self.pages.current_pages());
        self.add(equation, &text)
    }
}

/// A sign that a run names by its font and place. Signs of fonts that only draw are left out.
fn symbol(sign: Node<'_, '_>) -> Option<char> {
    let code = u32::from_str_radix(attribute(sign, "char")?, 16).ok()?;
    let font = attribute(sign, "font").unwrap_or_default();
    if !(0xf000..0xf100).contains(&code) {
        return char::from_u32(code).filter(|c| !c.is_control());
    }
    if font != "Symbol" {
        return None;
    }
    let place = code - 0xf000;
    let letter = u8::try_from(place).ok()?;
    match letter {
        b'a'..=b'z' => SYMBOL_LOWER.chars().nth(usize::from(letter - b'a')),
        b'A'..=b'Z' => SYMBOL_UPPER.chars().nth(usize::from(letter - b'A')),
        b' '..=b'~' => Some(char::from(letter)),
        _ => SYMBOL_SIGNS
            .iter()
            .find(|(at, _)| *at == place)
            .map(|(_, sign)| *sign),
    }
}
