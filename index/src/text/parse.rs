//! The language of text questions.
//!
//! | written | finds chunks |
//! | --- | --- |
//! | `water level` | with either word; with both, better |
//! | `"water level"`, `"water level"~2` | with the words in this order; at most 2 places out of it |
//! | `+water -level` | with the one, without the other |
//! | `water AND level`, `water OR level`, `NOT level` | with both; with either; without it |
//! | `title:water` | with the word in the title; also `headings`, `body`, `code`, `key` |
//! | `wat*`, `w*r` | with a word that reads so |
//! | `[1990 TO 1999]`, `[m TO *]` | with a word from the one to the other, both included, in the order of their bytes |
//! | `watre~`, `watre~2` | with a word that differs by 1 or 2 letters, swapped neighbours counting one |
//! | `(water OR sand) level` | as the parts say |
//! | `water^3` | for which the word counts three times |
//! | `\+water` | with the sign taken literally |
//!
//! `AND` binds closer than `OR`, and both closer than mere neighbourhood. `+` and `-` are signs before a
//! word alone: `state-of-the-art` and `C++` are words.

use super::Field;

/// Parts of a question, and parentheses inside each other, at most.
const CLAUSES_MAX: usize = 1024;
const DEPTH_MAX: usize = 32;

/// Why a text question cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {what}")]
pub struct SyntaxError {
    /// The character, from 1.
    pub column: usize,
    /// What is wrong there, and what would be right.
    pub what: String,
}

/// A text question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextQuery {
    pub(super) clauses: Vec<Clause>,
}

/// One part of a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clause {
    pub(super) occur: Occur,
    /// How often it counts: above 0.
    pub(super) boost: f32,
    pub(super) node: Node,
}

/// Whether a part has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occur {
    Should,
    Must,
    MustNot,
}

/// What a part asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Words(Option<Field>, String),
    Phrase(Option<Field>, String, u32),
    Wildcard(Option<Field>, String),
    Fuzzy(Option<Field>, String, u8),
    /// `None` for an open end.
    Range(Option<Field>, Option<String>, Option<String>),
    Group(Vec<Clause>),
}

impl TextQuery {
    /// Reads a question.
    ///
    /// # Errors
    /// [`SyntaxError`].
    pub fn parse(text: &str) -> Result<TextQuery, SyntaxError> {
        let mut parser = Parser {
            chars: text.chars().collect(),
            at: 0,
            clauses: 0,
        };
        let clauses = parser.clauses(0)?;
        match parser.peek() {
            None => Ok(TextQuery { clauses }),
            Some(_) => parser.fail(parser.at, "this parenthesis closes nothing"),
        }
    }

    /// A question of mere words, whatever signs are in it.
    pub fn words(text: &str) -> TextQuery {
        TextQuery {
            clauses: vec![Clause {
                occur: Occur::Should,
                boost: 1.0,
                node: Node::Words(None, text.to_owned()),
            }],
        }
    }
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    clauses: usize,
}

/// A word between clauses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    And,
    Or,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn fail<T>(&self, at: usize, what: impl Into<String>) -> Result<T, SyntaxError> {
        Err(SyntaxError {
            column: at + 1,
            what: what.into(),
        })
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    /// Clauses up to the end or a closing parenthesis.
    fn clauses(&mut self, depth: usize) -> Result<Vec<Clause>, SyntaxError> {
        let mut all = Vec::new();
        loop {
            self.skip_spaces();
            match self.peek() {
                None | Some(')') => return Ok(all),
                Some(_) => all.push(self.disjunction(depth)?),
            }
        }
    }

    /// `a AND b OR c …`, or a clause alone.
    fn disjunction(&mut self, depth: usize) -> Result<Clause, SyntaxError> {
        let mut sides = vec![self.conjunction(depth)?];
        while self.join(Join::Or)? {
            sides.push(self.conjunction(depth)?);
        }
        if sides.len() == 1 {
            return Ok(sides.remove(0));
        }
        // Either side is enough, also one that is the lack of something.
        let side = |side: Clause| match side.occur {
            Occur::Should => side,
            Occur::Must | Occur::MustNot => group(Occur::Should, vec![side]),
        };
        Ok(group(Occur::Should, sides.into_iter().map(side).collect()))
    }

    fn conjunction(&mut self, depth: usize) -> Result<Clause, SyntaxError> {
        let mut sides = vec![self.clause(depth)?];
        while self.join(Join::And)? {
            sides.push(self.clause(depth)?);
        }
        if sides.len() == 1 {
            return Ok(sides.remove(0));
        }
        for side in &mut sides {
            if side.occur == Occur::Should {
                side.occur = Occur::Must;
            }
        }
        Ok(group(Occur::Should, sides))
    }

    /// Takes the word `join` if it comes next, with something after it.
    fn join(&mut self, join: Join) -> Result<bool, SyntaxError> {
        let before = self.at;
        self.skip_spaces();
        let word = match join {
            Join::And => "AND",
            Join::Or => "OR",
        };
        if !self.is_word_here(word) {
            self.at = before;
            return Ok(false);
        }
        let at = self.at;
        self.at += word.len();
        self.skip_spaces();
        match self.peek() {
            None | Some(')') => self.fail(at, format!("{word} needs something after it")),
            Some(_) => Ok(true),
        }
    }

    fn is_word_here(&self, word: &str) -> bool {
        let end = self.at + word.len();
        let ends = |c: Option<&char>| c.is_none_or(|&c| c.is_whitespace() || "()".contains(c));
        let here = self.chars.get(self.at..end);
        here.is_some_and(|here| here.iter().copied().eq(word.chars())) && ends(self.chars.get(end))
    }

    fn clause(&mut self, depth: usize) -> Result<Clause, SyntaxError> {
        self.clauses += 1;
        if self.clauses > CLAUSES_MAX {
            return self.fail(
                self.at,
                format!("more than {CLAUSES_MAX} parts; ask for fewer"),
            );
        }
        for word in ["AND", "OR"] {
            if self.is_word_here(word) {
                return self.fail(self.at, format!("{word} needs something before it"));
            }
        }
        let occur = self.occur()?;
        let node = self.node(depth)?;
        let boost = self.boost()?;
        Ok(Clause { occur, boost, node })
    }

    fn occur(&mut self) -> Result<Occur, SyntaxError> {
        let at = self.at;
        if self.is_word_here("NOT") {
            self.at += 3;
            self.skip_spaces();
            return match self.peek() {
                None | Some(')') => self.fail(at, "NOT needs something after it"),
                Some(_) => Ok(Occur::MustNot),
            };
        }
        let occur = match self.peek() {
            Some('+') => Occur::Must,
            Some('-') => Occur::MustNot,
            _ => return Ok(Occur::Should),
        };
        let after = self.chars.get(self.at + 1);
        if after.is_some_and(|&c| !c.is_whitespace() && c != ')') {
            self.at += 1;
            return Ok(occur);
        }
        // A sign by itself is text.
        Ok(Occur::Should)
    }

    fn node(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        let field = self.field()?;
        match self.peek() {
            Some('(') if field.is_none() => self.group(depth),
            Some('(') => self.fail(
                self.at,
                "a field is of one word or phrase; repeat it for each",
            ),
            Some('"') => self.phrase(field),
            Some('[') => match self.range(field)? {
                Some(range) => Ok(range),
                None => self.word(field),
            },
            _ => self.word(field),
        }
    }

    fn group(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        let open = self.at;
        if depth == DEPTH_MAX {
            return self.fail(
                open,
                format!("more than {DEPTH_MAX} parentheses inside each other"),
            );
        }
        self.at += 1;
        let clauses = self.clauses(depth + 1)?;
        if self.peek() != Some(')') {
            return self.fail(open, "this parenthesis is not closed");
        }
        self.at += 1;
        Ok(Node::Group(clauses))
    }

    /// `name:` before something else than a space.
    fn field(&mut self) -> Result<Option<Field>, SyntaxError> {
        let rest = &self.chars[self.at..];
        let len = rest.iter().take_while(|c| c.is_ascii_alphabetic()).count();
        let is_field = len > 0
            && rest.get(len) == Some(&':')
            && rest
                .get(len + 1)
                .is_some_and(|&c| !c.is_whitespace() && c != ')');
        if !is_field {
            return Ok(None);
        }
        let name: String = rest[..len].iter().collect();
        let field = match &*name.to_ascii_lowercase() {
            "title" => Field::Title,
            "heading" | "headings" => Field::Headings,
            "body" => Field::Body,
            "code" => Field::Code,
            "key" | "keys" => Field::KeyTerms,
            _ => {
                let what = format!(
                    "there is no field \"{name}\"; title, headings, body, code and key are. Write \\: for a colon"
                );
                return self.fail(self.at, what);
            }
        };
        self.at += len + 1;
        Ok(Some(field))
    }

    fn phrase(&mut self, field: Option<Field>) -> Result<Node, SyntaxError> {
        let open = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                None => return self.fail(open, "this quotation mark is not closed"),
                Some('"') => break,
                Some('\\') if self.at + 1 < self.chars.len() => {
                    self.at += 1;
                    text.push(self.chars[self.at]);
                }
                Some(c) => text.push(c),
            }
            self.at += 1;
        }
        self.at += 1;
        let slop = match self.peek() {
            Some('~') => self.number(100)?.unwrap_or(1),
            _ => 0,
        };
        Ok(Node::Phrase(field, text, slop))
    }

    /// `[a TO b]`; anything else in brackets is text.
    fn range(&mut self, field: Option<Field>) -> Result<Option<Node>, SyntaxError> {
        let rest = &self.chars[self.at + 1..];
        let Some(len) = rest.iter().position(|&c| c == ']') else {
            let words: String = rest.iter().collect();
            let is_range = words.split_whitespace().nth(1) == Some("TO");
            return if is_range {
                self.fail(self.at, "this range is not closed; write \\[ for a bracket")
            } else {
                Ok(None)
            };
        };
        let inside: String = rest[..len].iter().collect();
        let words: Vec<&str> = inside.split_whitespace().collect();
        let [from, "TO", to] = words[..] else {
            return Ok(None);
        };
        if to != "*" && from.to_lowercase() > to.to_lowercase() {
            let what = format!("nothing lies between {from} and {to}: the lesser comes first");
            return self.fail(self.at, what);
        }
        let bound = |word: &str| (word != "*").then(|| word.to_owned());
        self.at += len + 2;
        Ok(Some(Node::Range(field, bound(from), bound(to))))
    }

    fn word(&mut self, field: Option<Field>) -> Result<Node, SyntaxError> {
        let start = self.at;
        let (mut text, mut has_star) = (String::new(), false);
        while let Some(c) = self.peek() {
            let next = self.chars.get(self.at + 1).copied();
            match c {
                c if c.is_whitespace() => break,
                '(' | ')' => break,
                // Marks inside a word are text: 5'10".
                '"' if text.is_empty() => break,
                '\\' if next.is_some() => {
                    self.at += 1;
                    text.extend(next);
                }
                '~' | '^' if !text.is_empty() && self.is_suffix() => break,
                _ => {
                    has_star |= c == '*';
                    text.push(c);
                }
            }
            self.at += 1;
        }
        let is_misspelt = self.peek() == Some('~');
        if has_star && text.chars().any(|c| c != '*') {
            if is_misspelt {
                return self.fail(self.at, "a word is either a pattern or misspelt");
            }
            return Ok(Node::Wildcard(field, text));
        }
        if is_misspelt {
            let at = self.at;
            let distance = self.number(9)?.unwrap_or(1);
            return match u8::try_from(distance) {
                Ok(distance @ 1..=2) => Ok(Node::Fuzzy(field, text, distance)),
                _ => self.fail(at, "a word may be misspelt by 1 or 2 letters"),
            };
        }
        if self.at == start {
            // A quotation mark or parenthesis that `node` did not take cannot start a word.
            self.at += 1;
        }
        Ok(Node::Words(field, text))
    }

    /// Whether `~`, `~2` or `^2` ends the word here.
    fn is_suffix(&self) -> bool {
        let is_boost = self.peek() == Some('^');
        let rest = &self.chars[self.at + 1..];
        let is_number = |c: &&char| c.is_ascii_digit() || (is_boost && **c == '.');
        let digits = rest.iter().take_while(is_number).count();
        let ends = |c: Option<&char>| c.is_none_or(|c| c.is_whitespace() || "()^".contains(*c));
        (digits > 0 || !is_boost) && ends(rest.get(digits))
    }

    /// The number after a sign, if there is one, up to `most`.
    fn number(&mut self, most: u32) -> Result<Option<u32>, SyntaxError> {
        let at = self.at;
        self.at += 1;
        let digits: String = self.chars[self.at..]
            .iter()
            .take_while(|c| c.is_ascii_digit())
            .collect();
        self.at += digits.len();
        if digits.is_empty() {
            return Ok(None);
        }
        match digits.parse() {
            Ok(number) if number <= most => Ok(Some(number)),
            _ => self.fail(at, format!("at most {most} is possible")),
        }
    }

    fn boost(&mut self) -> Result<f32, SyntaxError> {
        if self.peek() != Some('^') {
            return Ok(1.0);
        }
        let at = self.at;
        self.at += 1;
        let number: String = self.chars[self.at..]
            .iter()
            .take_while(|c| c.is_ascii_digit() || **c == '.')
            .collect();
        self.at += number.len();
        match number.parse::<f32>() {
            Ok(boost) if (0.01..=100.0).contains(&boost) => Ok(boost),
            _ => self.fail(at, "a word counts 0.01 to 100 times"),
        }
    }
}

fn group(occur: Occur, clauses: Vec<Clause>) -> Clause {
    Clause {
        occur,
        boost: 1.0,
        node: Node::Group(clauses),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A question as one line, so that cases are easy to read.
    fn render(clauses: &[Clause]) -> String {
        let one = |clause: &Clause| {
            let sign = match clause.occur {
                Occur::Should => "",
                Occur::Must => "+",
                Occur::MustNot => "-",
            };
            let of = |field: &Option<Field>| field.map_or(String::new(), |f| format!("{f:?}:"));
            let node = match &clause.node {
                Node::Words(field, text) => format!("{}{text}", of(field)),
                Node::Phrase(field, text, slop) => format!("{}<{text}>{slop}", of(field)),
                Node::Wildcard(field, text) => format!("{}/{text}/", of(field)),
                Node::Fuzzy(field, text, by) => format!("{}{text}~{by}", of(field)),
                Node::Range(field, from, to) => {
                    let end = |end: &Option<String>| end.clone().unwrap_or_default();
                    format!("{}[{}..{}]", of(field), end(from), end(to))
                }
                Node::Group(clauses) => format!("({})", render(clauses)),
            };
            let boost = match clause.boost {
                1.0 => String::new(),
                boost => format!("^{boost}"),
            };
            format!("{sign}{node}{boost}")
        };
        clauses.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn query_syntax_parses_as_documented() {
        let cases = [
            ("", ""),
            ("water level", "water level"),
            ("\"water level\" x", "<water level>0 x"),
            ("\"a b\"~2^3", "<a b>2^3"),
            ("+water -level", "+water -level"),
            ("a - b + c", "a - b + c"),
            ("state-of-the-art C++", "state-of-the-art C++"),
            ("a AND b", "(+a +b)"),
            ("a OR b c", "(a b) c"),
            ("a AND b OR c", "((+a +b) c)"),
            ("a AND NOT b", "(+a -b)"),
            ("a OR NOT b", "(a (-b))"),
            ("NOT b", "-b"),
            ("[1990 TO 1999]^2 +[* TO b]", "[1990..1999]^2 +[..b]"),
            ("title:[a TO *]", "Title:[a..]"),
            ("[1,2] [a TO] [", "[1,2] [a TO] ["),
            ("key:water", "KeyTerms:water"),
            ("title:water", "Title:water"),
            ("Heading:\"a b\"", "Headings:<a b>0"),
            ("note: water", "note: water"),
            ("wat* w*r *", "/wat*/ /w*r/ *"),
            ("watre~ watre~2 a~b", "watre~1 watre~2 a~b"),
            ("(water OR sand) level", "((water sand)) level"),
            ("+(a b)^2", "+(a b)^2"),
            ("water^3.5 x^y", "water^3.5 x^y"),
            ("\\+water a\\:b \\\"x", "+water a:b \"x"),
            ("5'10\"", "5'10\""),
            ("What is sand?", "What is sand?"),
        ];
        for (text, expected) in cases {
            let query = TextQuery::parse(text).unwrap();
            assert_eq!(render(&query.clauses), expected, "{text}");
        }
    }

    #[test]
    fn syntax_errors_name_the_column() {
        let cases = [
            ("a \"b", 3, "quotation mark"),
            ("(a", 1, "not closed"),
            ("a) b", 2, "closes nothing"),
            ("a OR", 3, "OR needs something after"),
            ("AND b", 1, "AND needs something before"),
            ("x https://a", 3, "no field \"https\""),
            ("a~3", 2, "1 or 2"),
            ("a^0", 2, "0.01 to 100"),
            ("title:(a b)", 7, "one word or phrase"),
            ("x [a TO b", 3, "not closed"),
            ("[b TO A]", 1, "the lesser comes first"),
        ];
        for (text, column, what) in cases {
            let error = TextQuery::parse(text).unwrap_err();
            assert_eq!(error.column, column, "{text}: {error}");
            assert!(error.what.contains(what), "{text}: {error}");
        }
        let deep = "(".repeat(40);
        assert!(TextQuery::parse(&deep).unwrap_err().what.contains("32"));
        assert!(
            TextQuery::parse(&"a ".repeat(1025))
                .unwrap_err()
                .what
                .contains("1024")
        );
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails(text in "[ab +\\-\"():~^*\\\\0-9]{0,30}|\\PC{0,30}") {
            if let Err(error) = TextQuery::parse(&text) {
                prop_assert!((1..=text.chars().count() + 1).contains(&error.column));
            }
        }

        #[test]
        fn plain_words_are_unchanged(words in prop::collection::vec("[a-z]{1,8}", 0..6)) {
            let query = TextQuery::parse(&words.join(" ")).unwrap();
            prop_assert_eq!(render(&query.clauses), words.join(" "));
        }
    }
}
