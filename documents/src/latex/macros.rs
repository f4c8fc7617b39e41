//! The second pass: the file's own commands and environments are written out.
//!
//! Definitions (`\newcommand`, `\def` with plain parameters, `\newenvironment`, `\DeclareMathOperator`) leave the text
//! and hold from where they are, whatever group they are in. What a command writes is read again, as LaTeX does.
//!
//! Hostile files define commands that write themselves. Such a command stays as it is below [`DEPTH_MAX`] expansions
//! within one another; all expansions together are at most [`EXPANSIONS_MAX`], and what they write is bounded as the
//! text is.

use std::collections::HashMap;
use std::rc::Rc;

use super::pairs::{name_in_braces, name_len};
use crate::limits::within;
use crate::limits::{Limits, ParseError};

const DEPTH_MAX: usize = 40;
/// Definitions count too: reading one costs as much.
const EXPANSIONS_MAX: usize = 500_000;
/// Bytes of one argument or definition; a search for its end goes no further.
const ARGUMENT_LEN_MAX: usize = 10_000;

pub(super) fn expand(source: &str, limits: &Limits) -> Result<String, ParseError> {
    let mut pass = Pass {
        limits,
        commands: HashMap::new(),
        environments: HashMap::new(),
        frames: vec![Frame {
            text: Rc::from(source),
            at: 0,
            depth: 0,
        }],
        out: String::with_capacity(source.len()),
        count: 0,
        written: 0,
    };
    while let Some(frame) = pass.frames.last() {
        let (text, at, depth) = (Rc::clone(&frame.text), frame.at, frame.depth);
        pass.step(&text, at, depth)?;
    }
    Ok(pass.out)
}

/// Text that is being read: the file, or what a command wrote.
struct Frame {
    text: Rc<str>,
    at: usize,
    depth: usize,
}

#[derive(Clone)]
struct Macro {
    parameters: usize,
    /// What the first parameter is when no `[…]` is given.
    default: Option<String>,
    body: Rc<str>,
}

struct Pass<'a> {
    limits: &'a Limits,
    commands: HashMap<String, Macro>,
    /// What an environment begins with and ends with.
    environments: HashMap<String, (Macro, Rc<str>)>,
    frames: Vec<Frame>,
    out: String,
    count: usize,
    written: usize,
}

impl Pass<'_> {
    fn step(&mut self, text: &str, at: usize, depth: usize) -> Result<(), ParseError> {
        let Some(found) = text[at..].find('\\') else {
            self.out.push_str(&text[at..]);
            self.frames.pop();
            return self.limits.check_text(self.out.len());
        };
        let command = at + found;
        self.out.push_str(&text[at..command]);
        self.limits.check_text(self.out.len())?;
        let end = command + 1 + name_len(&text[command + 1..]);
        let name = &text[command + 1..end];
        if let Some(after) = self.definition(text, name, end) {
            self.go_to(after);
            return self.spend();
        }
        let is_deep = depth >= DEPTH_MAX;
        let environment = name_in_braces(text, end).filter(|_| !is_deep);
        match (name, environment) {
            ("begin", Some(of)) if self.environments.contains_key(&text[of.clone()]) => {
                let (begin, _) = self.environments[&text[of.clone()]].clone();
                self.go_to(of.end + 1);
                self.write(&begin, depth)
            }
            ("end", Some(of)) if self.environments.contains_key(&text[of.clone()]) => {
                let body = Rc::clone(&self.environments[&text[of.clone()]].1);
                self.go_to(of.end + 1);
                self.push(&body, depth)
            }
            _ => match self.commands.get(name).filter(|_| !is_deep).cloned() {
                Some(command) => {
                    let space = if command.parameters == 0 {
                        space_len(&text[end..])
                    } else {
                        0
                    };
                    self.go_to(end + space);
                    self.write(&command, depth)
                }
                None => {
                    self.out.push_str(&text[command..end]);
                    // What is behind the command that wrote this is no part of its name.
                    let is_word = name.ends_with(|c: char| c.is_ascii_alphabetic());
                    if is_word && end == text.len() && self.frames.len() > 1 {
                        self.out.push(' ');
                    }
                    self.go_to(end);
                    Ok(())
                }
            },
        }
    }

    fn go_to(&mut self, at: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.at = at;
        }
    }

    /// Reads the command's arguments, and lets what it writes be read next.
    fn write(&mut self, command: &Macro, depth: usize) -> Result<(), ParseError> {
        let mut arguments: Vec<String> = Vec::with_capacity(command.parameters);
        if let Some(default) = &command.default {
            arguments.push(self.option().unwrap_or_else(|| default.clone()));
        }
        while arguments.len() < command.parameters
            && let Some(argument) = self.argument()
        {
            arguments.push(argument);
        }
        let given: usize = arguments.iter().map(String::len).sum();
        let uses = command.body.matches('#').count();
        let most = command
            .body
            .len()
            .saturating_add(uses.saturating_mul(given));
        self.limits.check_text(self.written.saturating_add(most))?;
        let body = filled(&command.body, &arguments);
        self.push(&body, depth)
    }

    fn push(&mut self, body: &str, depth: usize) -> Result<(), ParseError> {
        self.spend()?;
        self.written += body.len();
        self.limits.check_text(self.written)?;
        self.frames.push(Frame {
            text: Rc::from(body),
            at: 0,
            depth: depth + 1,
        });
        Ok(())
    }

    fn spend(&mut self) -> Result<(), ParseError> {
        self.count += 1;
        within("expansions of commands", self.count, EXPANSIONS_MAX)
    }

    /// The frame that has more to read, and what that is, after space. Frames that are done are left.
    fn upcoming(&mut self) -> Option<(Rc<str>, usize)> {
        loop {
            let frame = self.frames.last_mut()?;
            frame.at += space_len(&frame.text[frame.at..]);
            if frame.at < frame.text.len() {
                return Some((Rc::clone(&frame.text), frame.at));
            }
            self.frames.pop();
        }
    }

    fn option(&mut self) -> Option<String> {
        let (text, at) = self.upcoming()?;
        let (inner, end) = delimited(&text, at, b'[', b']')?;
        self.go_to(end);
        Some(inner.to_owned())
    }

    fn argument(&mut self) -> Option<String> {
        let (text, at) = self.upcoming()?;
        let (argument, end) = argument(&text, at);
        self.go_to(end);
        (end > at).then(|| argument.to_owned())
    }

    /// Takes note of a definition that `name` begins; returns where it ends.
    fn definition(&mut self, text: &str, name: &str, at: usize) -> Option<usize> {
        match name {
            "newcommand" | "renewcommand" | "providecommand" | "DeclareRobustCommand" => {
                let at = at + usize::from(text[at..].starts_with('*'));
                let (command, at) = argument(text, at + space_len(&text[at..]));
                let (parameters, default, at) = signature(text, at);
                let (body, end) = argument(text, at + space_len(&text[at..]));
                let of_other =
                    name == "providecommand" && self.commands.contains_key(bare(command));
                if !of_other {
                    self.define(bare(command), parameters, default, body);
                }
                Some(end)
            }
            "DeclareMathOperator" => {
                let at = at + usize::from(text[at..].starts_with('*'));
                let (command, at) = argument(text, at);
                let (body, end) = argument(text, at + space_len(&text[at..]));
                self.define(bare(command), 0, None, &format!("\\operatorname{{{body}}}"));
                Some(end)
            }
            "def" | "gdef" | "edef" | "xdef" => self.plain_definition(text, at),
            "newenvironment" | "renewenvironment" => {
                let at = at + usize::from(text[at..].starts_with('*'));
                let (name, at) = argument(text, at);
                let (parameters, default, at) = signature(text, at);
                let (begin, at) = argument(text, at + space_len(&text[at..]));
                let (end, after) = argument(text, at + space_len(&text[at..]));
                let begin = Macro {
                    parameters,
                    default,
                    body: Rc::from(begin),
                };
                self.environments
                    .insert(name.to_owned(), (begin, Rc::from(end)));
                Some(after)
            }
            _ => None,
        }
    }

    /// `\def\name#1#2{…}`. One whose parameters are delimited otherwise is forgotten.
    fn plain_definition(&mut self, text: &str, at: usize) -> Option<usize> {
        let at = at + space_len(&text[at..]);
        let len = name_len(text[at..].strip_prefix('\\')?);
        let (name, after) = (&text[at + 1..at + 1 + len], at + 1 + len);
        let longest = 80;
        let brace = text[after..]
            .bytes()
            .take(longest)
            .position(|b| b == b'{')?;
        let pattern = text.get(after..after + brace)?;
        let (body, end) = argument(text, after + brace);
        let is_plain = |(i, digit): (usize, &str)| digit.trim().parse() == Ok(i + 1);
        let parameters: Vec<&str> = pattern.split('#').skip(1).collect();
        if parameters.iter().copied().enumerate().all(is_plain) {
            self.define(name, parameters.len(), None, body);
        }
        Some(end)
    }

    fn define(&mut self, name: &str, parameters: usize, default: Option<String>, body: &str) {
        // These are read by the walk, which knows more of them than their definition tells.
        let is_known = super::commands::SECTIONS.contains(&name)
            || matches!(
                name,
                "item" | "caption" | "footnote" | "cite" | "label" | "ref" | "maketitle"
            );
        if name.is_empty() || is_known {
            return;
        }
        let body = Rc::from(body);
        self.commands.insert(
            name.to_owned(),
            Macro {
                parameters,
                default,
                body,
            },
        );
    }
}

/// The `[2][default]` of a definition, and where it ends.
fn signature(text: &str, at: usize) -> (usize, Option<String>, usize) {
    let at = at + space_len(&text[at..]);
    let Some((count, at)) = delimited(text, at, b'[', b']') else {
        return (0, None, at);
    };
    let parameters = count.trim().parse().unwrap_or(0).min(9);
    match delimited(text, at, b'[', b']') {
        Some((default, at)) if parameters > 0 => (parameters, Some(default.to_owned()), at),
        _ => (parameters, None, at),
    }
}

/// The body of a command with its arguments in their places.
fn filled(body: &str, arguments: &[String]) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some(at) = rest.find('#') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digit = rest.bytes().next().filter(u8::is_ascii_digit);
        match digit.and_then(|digit| arguments.get(usize::from(digit - b'0').wrapping_sub(1))) {
            Some(argument) => {
                out.push_str(argument);
                rest = &rest[1..];
            }
            None if digit.is_some() => rest = &rest[1..],
            None => out.push('#'),
        }
    }
    out.push_str(rest);
    out
}

/// The argument at `at`: the inside of a group, a command, or one character; and where it ends.
fn argument(text: &str, at: usize) -> (&str, usize) {
    if let Some(found) = delimited(text, at, b'{', b'}') {
        return found;
    }
    let rest = &text[at..];
    let len = match rest.strip_prefix('\\') {
        Some(name) => 1 + name_len(name),
        // An unclosed group or the end of one is no argument.
        None if rest.starts_with(['{', '}']) => 0,
        None => rest.chars().next().map_or(0, char::len_utf8),
    };
    (&rest[..len], at + len)
}

/// What is between `open` at `at` and its `close`, and where that ends.
fn delimited(text: &str, at: usize, open: u8, close: u8) -> Option<(&str, usize)> {
    let bytes = text.as_bytes().get(at..)?;
    if bytes.first() != Some(&open) {
        return None;
    }
    let (mut depth, mut braces, mut i) = (0_usize, 0_usize, 0);
    while i < bytes.len().min(ARGUMENT_LEN_MAX) {
        match bytes[i] {
            b'\\' => i += 1,
            b if b == close && (braces == 0 || close == b'}') => {
                depth -= 1;
                if depth == 0 {
                    return Some((text.get(at + 1..at + i)?, at + i + 1));
                }
            }
            b if b == open && (braces == 0 || open == b'{') => depth += 1,
            b'{' => braces += 1,
            b'}' if braces == 0 => return None,
            b'}' => braces -= 1,
            _ => {}
        }
        i += 1;
    }
    None
}

fn bare(command: &str) -> &str {
    command.trim().trim_start_matches('\\')
}

/// The length of space that does not end a paragraph.
pub(super) fn space_len(text: &str) -> usize {
    let after = text.trim_start_matches([' ', '\t']);
    let Some(line) = after.strip_prefix('\n') else {
        return text.len() - after.len();
    };
    if super::pairs::is_blank(line.as_bytes()) {
        text.len() - after.len()
    } else {
        text.len() - line.trim_start_matches([' ', '\t']).len()
    }
}
