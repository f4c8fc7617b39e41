//! Algorithms in the commands of `algorithmic` and `algpseudocode`: lines of code in plain words.

use std::ops::Range;

use super::walk::Walk;
use loci_parsing::limits::ParseError;
use loci_parsing::tree::BlockKind;
use loci_parsing::writing::running::RunningText;

/// Commands that begin a line: their word before what they are given, the word after it, and the change of indentation.
const LINES: &[(&str, &str, &str, i32)] = &[
    ("state", "", "", 0),
    ("statex", "", "", 0),
    ("return", "return", "", 0),
    ("print", "print", "", 0),
    ("if", "if", "then", 1),
    ("elsif", "else if", "then", 0),
    ("elseif", "else if", "then", 0),
    ("else", "else", "", 0),
    ("endif", "end if", "", -1),
    ("for", "for", "do", 1),
    ("forall", "for all", "do", 1),
    ("foreach", "for each", "do", 1),
    ("endfor", "end for", "", -1),
    ("while", "while", "do", 1),
    ("endwhile", "end while", "", -1),
    ("repeat", "repeat", "", 1),
    ("until", "until", "", -1),
    ("loop", "loop", "", 1),
    ("endloop", "end loop", "", -1),
    ("function", "function", "", 1),
    ("endfunction", "end function", "", -1),
    ("procedure", "procedure", "", 1),
    ("endprocedure", "end procedure", "", -1),
    ("require", "require:", "", 0),
    ("ensure", "ensure:", "", 0),
    ("input", "input:", "", 0),
    ("output", "output:", "", 0),
];
const INDENT_MAX: usize = 40;

/// Writes the algorithm in `range` as code.
pub(super) fn write(walk: &mut Walk<'_, '_>, range: Range<usize>) -> Result<(), ParseError> {
    let range = walk.skip_options(range.start, range.end).1..range.end;
    let (mut code, mut indent) = (String::new(), 0_usize);
    walk.is_algorithm = true;
    for (line, change) in lines(walk, range) {
        let words = walk.words(line)?;
        if change < 0 {
            indent = indent.saturating_sub(1);
        }
        if !words.is_empty() {
            let is_else = words.starts_with("else") && change == 0;
            let depth = indent.saturating_sub(usize::from(is_else)).min(INDENT_MAX);
            code.push_str(&"  ".repeat(depth));
            code.push_str(&words);
            code.push('\n');
        }
        indent += usize::from(change > 0);
    }
    walk.is_algorithm = false;
    walk.write(BlockKind::Code(None), RunningText::verbatim(code))
}

/// The lines, each with how it changes the indentation.
fn lines(walk: &Walk<'_, '_>, range: Range<usize>) -> Vec<(Range<usize>, i32)> {
    let text = walk.reader.text;
    let (mut lines, mut start, mut change) = (Vec::new(), range.start, 0);
    let mut at = range.start;
    while let Some(found) = text[at..range.end].find('\\') {
        let (name, after) = walk.reader.name(at + found);
        if let Some((.., by)) = known(name) {
            lines.push((start..at + found, change));
            (start, change) = (at + found, by);
        }
        at = after.min(range.end);
    }
    lines.push((start..range.end, change));
    lines
}

fn known(name: &str) -> Option<(&'static str, &'static str, i32)> {
    let name = name.to_ascii_lowercase();
    let found = LINES.iter().find(|(command, ..)| *command == name)?;
    Some((found.1, found.2, found.3))
}

/// Writes a command's words in place of it; returns where it ends, or `None` for one that is no word.
pub(super) fn word(
    walk: &mut Walk<'_, '_>,
    name: &str,
    after: usize,
    end: usize,
) -> Result<Option<usize>, ParseError> {
    if name.eq_ignore_ascii_case("comment") {
        walk.running.push(" ▷ ");
        return Ok(Some(after));
    }
    let Some((before, behind, _)) = known(name) else {
        return Ok(None);
    };
    walk.running.space();
    walk.running.push(before);
    walk.running.space();
    let mut at = after;
    while let Some((inner, next)) = walk.reader.group(at, end) {
        // `\Function{Name}{arguments}`
        let is_second = at != after;
        walk.running.push(if is_second { "(" } else { "" });
        walk.walk(inner)?;
        walk.running.push(if is_second { ")" } else { "" });
        at = next;
    }
    walk.running.space();
    walk.running.push(behind);
    walk.running.space();
    Ok(Some(at))
}
