//! The first pass: comments and what is printed letter by letter are taken out of the source.
//!
//! Everything after it can trust that a `%` is a percent sign behind a backslash, and that no `\verb` is left. Where
//! something was set aside is [`RAW`], its number and a semicolon.

use super::pairs::name_len;

/// Stands where code was taken out. The character itself is removed from the source first.
pub(super) const CODE_PLACEHOLDER: char = '\u{fffc}';

/// Code that was set aside.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RawCode {
    pub(super) text: String,
    /// Whether it is a block of its own, in which language; `None` within a line.
    pub(super) block: Option<Option<String>>,
}

/// The source without comments and code.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) text: String,
    pub(super) raws: Vec<RawCode>,
}

const VERBATIM: &[&str] = &[
    "verbatim",
    "verbatim*",
    "Verbatim",
    "Verbatim*",
    "BVerbatim",
    "LVerbatim",
    "lstlisting",
    "minted",
    "alltt",
    "semiverbatim",
];
/// Longest options, code within a line, and address, in bytes: a search for their end goes no further.
const INLINE_LEN_MAX: usize = 2_000;
/// Signs that may delimit code at once.
const SHORT_VERBS_MAX: usize = 8;
const HIDDEN: &[&str] = &["comment", "filecontents", "filecontents*"];

pub(super) fn prepare(source: &str) -> Source {
    let source = source
        .replace(CODE_PLACEHOLDER, "")
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    let mut pass = Pass {
        source: &source,
        out: Source::default(),
        short_verbs: Vec::new(),
        has_end_of_if: true,
    };
    let mut at = 0;
    while let Some(step) = pass.step(at) {
        at = step;
    }
    pass.out
}

struct Pass<'s> {
    source: &'s str,
    out: Source,
    /// Characters that `\MakeShortVerb` made delimiters of code.
    short_verbs: Vec<char>,
    /// False once an `\iffalse` was found to have no end, so that no other is searched for.
    has_end_of_if: bool,
}

impl Pass<'_> {
    /// Reads what is at `at`; returns where to go on.
    fn step(&mut self, at: usize) -> Option<usize> {
        let rest = &self.source[at..];
        let c = rest.chars().next()?;
        let next = at + c.len_utf8();
        match c {
            '%' => return Some(self.comment(at)),
            '\\' => return Some(self.command(at)),
            c if self.short_verbs.contains(&c) => {
                if let Some(end) = self.inline_code(next, c) {
                    return Some(end);
                }
            }
            _ => {}
        }
        self.out.text.push(c);
        Some(next)
    }

    /// A comment takes the end of its line with it, and the space before the next.
    fn comment(&mut self, at: usize) -> usize {
        let rest = &self.source[at..];
        let Some(line) = rest.find('\n') else {
            return self.source.len();
        };
        let next = at + line + 1;
        let after = self.source[next..].trim_start_matches([' ', '\t']);
        if after.starts_with('\n') {
            self.out.text.push_str("\n\n");
        }
        self.source.len() - after.len()
    }

    fn command(&mut self, at: usize) -> usize {
        let len = name_len(&self.source[at + 1..]);
        let end = at + 1 + len;
        let name = &self.source[at + 1..end];
        let done = match name {
            "begin" => self.environment(end),
            "verb" => self.verb(end),
            "lstinline" => self.verb(self.after_option(end)),
            "mintinline" => {
                let language = self.after_option(end);
                self.after_group(language).and_then(|at| self.verb(at))
            }
            "iffalse" if self.has_end_of_if => {
                let end_of_if = end_of_if(&self.source[end..]);
                self.has_end_of_if = end_of_if.is_some();
                end_of_if.map(|len| end + len)
            }
            "MakeShortVerb" | "DefineShortVerb" | "lstMakeShortInline" => self.short_verb(end),
            "url" | "href" | "nolinkurl" | "path" => self.address(at, end),
            _ => None,
        };
        done.unwrap_or_else(|| {
            self.out.text.push_str(&self.source[at..end]);
            end
        })
    }

    fn environment(&mut self, at: usize) -> Option<usize> {
        let rest = self.source[at..].strip_prefix('{')?;
        let name = rest.get(..rest.bytes().take(20).position(|b| b == b'}')?)?;
        let start = at + name.len() + "{}".len();
        if HIDDEN.contains(&name) {
            let end = self.end_of(name, start).1;
            return Some(end + usize::from(self.source[end..].starts_with('\n')));
        }
        if !VERBATIM.contains(&name) {
            return None;
        }
        let body = self.after_option(start);
        let options = &self.source[start..body];
        let mut language = option_value(options, "language");
        let mut begin = body;
        if name == "minted" {
            begin = self.after_group(body)?;
            language = Some(self.source[body + 1..begin - 1].trim().to_owned());
        }
        let (stop, end) = self.end_of(name, begin);
        let language = language
            .map(|name| name.to_ascii_lowercase())
            .filter(|name| !name.is_empty());
        let mut text = self.source[begin..stop].to_owned();
        if name == "alltt" || name == "semiverbatim" {
            text = text.replace("\\{", "{").replace("\\}", "}");
        }
        self.extract_code(text, Some(language));
        Some(end)
    }

    /// Where an environment's content stops, and where its end tag does. One that is not closed lasts to the end.
    fn end_of(&self, name: &str, from: usize) -> (usize, usize) {
        let tag = format!("\\end{{{name}}}");
        match self.source[from..].find(&tag) {
            Some(len) => (from + len, from + len + tag.len()),
            None => (self.source.len(), self.source.len()),
        }
    }

    fn verb(&mut self, at: usize) -> Option<usize> {
        let at = at + usize::from(self.source[at..].starts_with('*'));
        let open = self.source[at..].chars().next()?;
        let close = match open {
            '{' => '}',
            c if c.is_alphanumeric() || c.is_whitespace() || c == '\\' => return None,
            c => c,
        };
        self.inline_code(at + open.len_utf8(), close)
    }

    /// Sets aside what is between `at` and the next `close` of the line; returns where it ends.
    fn inline_code(&mut self, at: usize, close: char) -> Option<usize> {
        let rest = self.near(at);
        let len = find_on_line(rest, close)?;
        let code = rest[..len].to_owned();
        self.extract_code(code, None);
        Some(at + len + close.len_utf8())
    }

    fn extract_code(&mut self, text: String, block: Option<Option<String>>) {
        self.out
            .text
            .push_str(&format!("{CODE_PLACEHOLDER}{};", self.out.raws.len()));
        self.out.raws.push(RawCode { text, block });
    }

    fn short_verb(&mut self, at: usize) -> Option<usize> {
        let rest = self.source[at..].trim_start_matches(['{', '\\', '*']);
        let c = rest
            .chars()
            .next()
            .filter(|c| !c.is_alphanumeric() && !c.is_whitespace())?;
        if self.short_verbs.len() < SHORT_VERBS_MAX {
            self.short_verbs.push(c);
        }
        let end = self.source.len() - rest.len() + c.len_utf8();
        Some(end + usize::from(self.source[end..].starts_with('}')))
    }

    /// Addresses may hold a `%` that begins no comment.
    fn address(&mut self, from: usize, at: usize) -> Option<usize> {
        let end = self.after_group(at)?;
        self.out.text.push_str(&self.source[from..at]);
        self.out
            .text
            .push_str(&self.source[at..end].replace("\\%", "%").replace('%', "\\%"));
        Some(end)
    }

    /// What is at `at`, as far as a search may go.
    fn near(&self, at: usize) -> &str {
        let rest = &self.source[at..];
        &rest[..rest.floor_char_boundary(INLINE_LEN_MAX)]
    }

    fn after_option(&self, at: usize) -> usize {
        let rest = self.near(at);
        let end = rest.starts_with('[').then(|| find_on_line(rest, ']'));
        end.flatten().map_or(at, |end| at + end + 1)
    }

    /// The end of a group of one line without groups in it.
    fn after_group(&self, at: usize) -> Option<usize> {
        let rest = self.near(at);
        if !rest.starts_with('{') {
            return None;
        }
        find_on_line(rest, '}').map(|end| at + end + 1)
    }
}

/// Where `c` first is in the first line of `text`.
fn find_on_line(text: &str, c: char) -> Option<usize> {
    // Two searches for one character each are quicker than one for either.
    let line = text.find('\n').map_or(text, |end| &text[..end]);
    line.find(c)
}

fn option_value(options: &str, key: &str) -> Option<String> {
    let options = options.trim_matches(['[', ']']);
    options.split(',').find_map(|option| {
        let (name, value) = option.split_once('=')?;
        let value = value.trim().trim_matches(['{', '}']);
        (name.trim() == key).then(|| value.rsplit(']').next().unwrap_or(value).to_owned())
    })
}

/// The length of what a false condition hides, its end included; `None` where it has no end.
fn end_of_if(source: &str) -> Option<usize> {
    let mut depth = 1;
    for (at, _) in source.match_indices('\\') {
        let rest = &source[at + 1..];
        let name = &rest[..name_len(rest)];
        depth = match name {
            "fi" => depth - 1,
            "iff" => depth,
            name if name.starts_with("if") => depth + 1,
            _ => depth,
        };
        if depth == 0 {
            return Some(at + 1 + name.len());
        }
    }
    None
}
