//! C as it is before its macros are expanded: decorations that no grammar knows are blanked out.
//!
//! ```text
//! ZEXTERN int ZEXPORT deflate OF((z_streamp strm));
//!         int         deflate    (z_streamp strm) ;
//! class EXPORT Stack : public Base { … };
//! class        Stack : public Base { … };
//! ```
//!
//! A decoration is a word in capitals that stands where C has room for none. Every byte keeps its
//! place, so a tree of the masked text is one of the text.

use std::ops::Range;

/// A word, or one character of anything else; comments, strings and lines of the preprocessor are
/// left out.
struct Token<'s> {
    text: &'s str,
    range: Range<usize>,
}

impl Token<'_> {
    fn is_word(&self) -> bool {
        self.text.starts_with(is_word_start)
    }

    fn is_capitals(&self) -> bool {
        let letters = self.text.bytes().filter(u8::is_ascii_uppercase).count();
        letters >= 2 && self.is_word() && !self.text.bytes().any(|b| b.is_ascii_lowercase())
    }

    fn is_qualifier(&self) -> bool {
        matches!(self.text, "const" | "volatile" | "restrict")
    }
}

/// Words before which no type has been named yet.
const OPENING: &[&str] = &[
    "struct",
    "enum",
    "union",
    "extern",
    "static",
    "inline",
    "const",
    "typedef",
    "return",
    "else",
    "case",
    "goto",
    "new",
    "delete",
    "sizeof",
    "throw",
    "virtual",
    "explicit",
    "constexpr",
    "volatile",
    "typename",
    "class",
    "do",
    "public",
    "private",
    "protected",
];

/// Whether a header says what only C++ says.
pub(super) fn is_plainly_cpp(source: &str) -> bool {
    let tokens = tokens(source);
    let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    texts.windows(3).any(|three| match *three {
        ["template", "<", _] | ["public" | "private" | "protected", ":", _] => true,
        ["namespace", "{", _] | ["namespace", _, "{" | ":"] => true,
        ["class", name, "{" | ":" | ";"] => name.starts_with(is_word_start),
        ["std", ":", ":"] | ["using", "namespace", _] => true,
        _ => false,
    })
}

/// `source` with its decorations blanked out, or `None` where it has none.
pub(super) fn masked(source: &str) -> Option<String> {
    let tokens = tokens(source);
    let mut blanks: Vec<Range<usize>> = Vec::new();
    for at in 0..tokens.len() {
        if is_decoration(&tokens, at) {
            blanks.push(tokens[at].range.clone());
        } else if let Some(close) = doubled_parentheses(&tokens, at) {
            blanks.push(tokens[at].range.start..tokens[at + 1].range.end);
            blanks.push(tokens[close].range.clone());
        }
    }
    if blanks.is_empty() {
        return None;
    }
    blanks.sort_by_key(|blank| blank.start);
    let mut masked = String::with_capacity(source.len());
    for blank in blanks {
        let start = blank.start.max(masked.len());
        masked.push_str(&source[masked.len()..start]);
        masked.extend(blank_of(&source[start..blank.end.max(start)]));
    }
    masked.push_str(&source[masked.len()..]);
    Some(masked)
}

/// As many bytes of white space, with the same line ends.
fn blank_of(text: &str) -> impl Iterator<Item = char> {
    text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' })
}

fn is_decoration(tokens: &[Token<'_>], at: usize) -> bool {
    let token = &tokens[at];
    if !token.is_capitals() || !tokens.get(at + 1).is_some_and(Token::is_word) {
        return false;
    }
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    let after = tokens.get(at + 2).map(|after| after.text);
    match before.map(|before| before.text) {
        Some("class") => true,
        Some("struct") => matches!(after, Some("{" | ":" | "final")),
        Some(word) if OPENING.contains(&word) => begins_type(&tokens[at + 1..]),
        _ if before.is_some_and(|b| b.is_word() || b.text == "*") => {
            after == Some("(") || doubled_parentheses(tokens, at + 2).is_some()
        }
        _ => begins_type(&tokens[at + 1..]),
    }
}

/// Whether a type and a name follow, so that what stands before is neither.
fn begins_type(tokens: &[Token<'_>]) -> bool {
    let words = tokens.iter().take_while(|token| token.is_word());
    let mut count = 0;
    let mut used = 0;
    for word in words.take(8) {
        used += 1;
        count += usize::from(!word.is_qualifier() && !word.is_capitals());
    }
    let points = tokens.get(used).is_some_and(|token| token.text == "*");
    count >= 2 || (count == 1 && points)
}

/// Where the `)` stands that closes a list of parameters in a macro for old compilers:
/// `f OF((int x))`.
fn doubled_parentheses(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let macro_name = tokens.get(at)?;
    let before = &tokens[at.checked_sub(1)?];
    let follows_name = before.text == ")" || (before.is_word() && !OPENING.contains(&before.text));
    let is_macro = macro_name.is_word() && !macro_name.text.bytes().any(|b| b.is_ascii_lowercase());
    let opens = |at: usize| tokens.get(at).is_some_and(|token| token.text == "(");
    if !follows_name || !is_macro || !opens(at + 1) || !opens(at + 2) {
        return None;
    }
    let mut depth = 0_usize;
    for (i, token) in tokens
        .iter()
        .enumerate()
        .skip(at + 1)
        .take(PARAMETER_TOKENS_MAX)
    {
        match token.text {
            "(" => depth += 1,
            ")" if depth == 1 => return tokens.get(i - 1).filter(|t| t.text == ")").map(|_| i),
            ")" => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Longer lists of parameters are none.
const PARAMETER_TOKENS_MAX: usize = 300;

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut is_line_start = true;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let len = match first {
            '\n' => 1,
            '#' if is_line_start => directive_len(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' | '\'' => quoted_len(rest, first),
            c if c.is_whitespace() => c.len_utf8(),
            c if is_word_start(c) => {
                let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
                rest.find(is_end).unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        if is_word_start(first) || (first.is_ascii_punctuation() && len == 1) {
            tokens.push(Token {
                text: &rest[..len],
                range: at..at + len,
            });
        }
        is_line_start = first == '\n' || (is_line_start && first.is_whitespace());
        at += len;
    }
    tokens
}

/// A line of the preprocessor with the lines that it goes on in.
fn directive_len(rest: &str) -> usize {
    let mut len = 0;
    for line in rest.split_inclusive('\n') {
        len += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    // The line end stays, for what follows begins a line.
    rest[..len].trim_end_matches('\n').len().max(1)
}

fn quoted_len(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorations_are_blanked_and_types_are_not() {
        let cases: &[(&str, &str)] = &[
            (
                "ZEXTERN int ZEXPORT f(int x);",
                "        int         f(int x);",
            ),
            ("int ZEXPORT f OF((int x));", "int         f    (int x) ;"),
            (
                "API const char * API f(void);",
                "    const char *     f(void);",
            ),
            ("typedef int (*f) OF((int));", "typedef int (*f)    (int) ;"),
            ("class EXPORT A : B {};", "class        A : B {};"),
            ("static API int f();", "static     int f();"),
            ("DWORD x;", "DWORD x;"),
            ("DWORD f(void);", "DWORD f(void);"),
            ("extern DWORD f(void);", "extern DWORD f(void);"),
            ("FILE *f;", "FILE *f;"),
            ("UINT8 const *p;", "UINT8 const *p;"),
            ("struct FOO f(int);", "struct FOO f(int);"),
            ("x = MAX((a), (b));", "x = MAX((a), (b));"),
            ("return MAX((a), (b));", "return MAX((a), (b));"),
            (
                "/* API int f(); */ \"API int f()\"",
                "/* API int f(); */ \"API int f()\"",
            ),
            (
                "#define API int f()\n#if API \\\nAPI int f",
                "#define API int f()\n#if API \\\nAPI int f",
            ),
            ("é API int f();", "é     int f();"),
            ("/*", "/*"),
            ("'", "'"),
            ("F OF((", "F OF(("),
        ];
        for (source, want) in cases {
            let got = masked(source);
            assert_eq!(got.as_deref().unwrap_or(source), *want);
        }
    }
}
