//! From text to [`Expr`], by recursive descent of bounded depth.

use std::str::FromStr;

use super::error::{DEPTH_MAX, FILTER_LEN_MAX, FilterError, Problem};
use super::expr::{Comparison, Expr, FacetValue, Test};
use super::fields::{self, FieldKind, META};
use super::moment;
use super::scan::{self, Token, TokenKind};
use crate::text::language_code;

impl Expr {
    /// Parses an expression.
    ///
    /// # Errors
    /// [`FilterError`] with the column, counted in characters from 1, and what was expected there.
    ///
    /// # Cost
    /// One pass; at most [`FILTER_LEN_MAX`] bytes and [`DEPTH_MAX`] levels.
    pub fn parse(text: &str) -> Result<Expr, FilterError> {
        parse(text)
    }
}

impl FromStr for Expr {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Expr, FilterError> {
        Expr::parse(text)
    }
}

fn parse(text: &str) -> Result<Expr, FilterError> {
    if text.len() > FILTER_LEN_MAX {
        return Err(FilterError {
            column: 1,
            problem: Problem::TooLong { len: text.len() },
        });
    }
    let tokens = scan::scan(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        depth: 0,
    };
    let expr = parser.expression()?;
    match parser.peek().kind {
        TokenKind::End => Ok(expr),
        _ => Err(parser.expected("`and`, `or` or the end")),
    }
}

const OPERATORS: &str = "= != < <= > >= in has or prefix";

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn expression(&mut self) -> Result<Expr, FilterError> {
        let mut parts = vec![self.term()?];
        while self.take_word("or") {
            parts.push(self.term()?);
        }
        Ok(single(parts, Expr::Or))
    }

    fn term(&mut self) -> Result<Expr, FilterError> {
        let mut parts = vec![self.factor()?];
        while self.take_word("and") {
            parts.push(self.factor()?);
        }
        Ok(single(parts, Expr::And))
    }

    fn factor(&mut self) -> Result<Expr, FilterError> {
        let start = self.peek();
        if self.depth == DEPTH_MAX {
            return Err(error(start, Problem::TooDeep));
        }
        self.depth += 1;
        let expr = if self.take_word("not") {
            Expr::Not(Box::new(self.factor()?))
        } else if self.take_mark("(") {
            let inner = self.expression()?;
            self.close(")", start, "the parenthesis")?;
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn comparison(&mut self) -> Result<Expr, FilterError> {
        let (name, kind) = self.field()?;
        if kind == FieldKind::Moment {
            return self.moments(name);
        }
        let operator = self.peek();
        let field = FieldOf { name: &name, kind };
        let test = match &operator.kind {
            TokenKind::Mark(mark @ ("=" | "!=" | "<" | "<=" | ">" | ">=")) => {
                self.at += 1;
                self.order(mark, operator, field)?
            }
            TokenKind::Word(word) if word.eq_ignore_ascii_case("in") => {
                self.at += 1;
                self.among(field, operator)?
            }
            TokenKind::Word(word) if word.eq_ignore_ascii_case("has") => {
                self.at += 1;
                if self.at_value() {
                    Test::Has(self.value(field)?)
                } else {
                    Test::Exists
                }
            }
            TokenKind::Word(word) if word.eq_ignore_ascii_case("prefix") => {
                self.at += 1;
                self.prefix(field, operator)?
            }
            _ => return Err(self.expected(OPERATORS)),
        };
        Ok(Expr::Is(Comparison { field: name, test }))
    }

    /// A comparison with dates, each of which means all moments from its first to its last.
    fn moments(&mut self, name: String) -> Result<Expr, FilterError> {
        let is = |test| {
            let field = name.clone();
            Expr::Is(Comparison { field, test })
        };
        let within = |(first, last)| is(Test::Between(first, last));
        let field = FieldOf {
            name: &name,
            kind: FieldKind::Moment,
        };
        let operator = self.peek();
        self.at += 1;
        Ok(match &operator.kind {
            TokenKind::Mark("=") => within(self.period(field)?),
            TokenKind::Mark("!=") => {
                let other = Expr::Not(Box::new(within(self.period(field)?)));
                Expr::And(vec![is(Test::Exists), other])
            }
            TokenKind::Mark("<") => is(Test::Below(self.period(field)?.0)),
            TokenKind::Mark("<=") => is(Test::AtMost(self.period(field)?.1)),
            TokenKind::Mark(">") => is(Test::Above(self.period(field)?.1)),
            TokenKind::Mark(">=") => is(Test::AtLeast(self.period(field)?.0)),
            TokenKind::Word(word) if word.eq_ignore_ascii_case("has") => {
                if self.at_value() {
                    within(self.period(field)?)
                } else {
                    is(Test::Exists)
                }
            }
            TokenKind::Word(word) if word.eq_ignore_ascii_case("in") => {
                let start = self.peek();
                if let Some(periods) = self.list(|parser| parser.period(field))? {
                    return Ok(single(periods.into_iter().map(within).collect(), Expr::Or));
                }
                let low = self.range_start(|parser| parser.period(field))?.0;
                let high = self.period(field)?.1;
                if low > high {
                    return Err(error(start, Problem::EmptyRange));
                }
                within((low, high))
            }
            TokenKind::Word(word) if word.eq_ignore_ascii_case("prefix") => {
                return Err(error(operator, field.no_prefix()));
            }
            _ => {
                self.at -= 1;
                return Err(self.expected(OPERATORS));
            }
        })
    }

    /// The first and last millisecond of the date at this position.
    fn period(&mut self, field: FieldOf<'_>) -> Result<(i64, i64), FilterError> {
        let (token, text) = self.text()?;
        let unlike = || {
            let dates =
                "a date such as 2026-01-31 or 2026-01-31T09:30, in UTC, or milliseconds since 1970";
            error(token, field.unlike(text, dates.to_owned()))
        };
        moment::parse(text).ok_or_else(unlike)
    }

    fn field(&mut self) -> Result<(String, FieldKind), FilterError> {
        let token = self.peek();
        let TokenKind::Word(word) = &token.kind else {
            return Err(self.expected("a field, `not` or `(`"));
        };
        if scan::is_own(word) {
            return Err(self.expected("a field, `not` or `(`"));
        }
        self.at += 1;
        let mut name = word.clone();
        if word == META
            && let Token {
                glued: true,
                kind: TokenKind::Quoted(key),
                ..
            } = self.peek()
        {
            self.at += 1;
            name.push_str(key);
        }
        fields::lookup(&name).ok_or_else(|| {
            let nearest = fields::nearest(&name);
            error(token, Problem::UnknownField { name, nearest })
        })
    }

    fn order(
        &mut self,
        mark: &str,
        operator: &Token,
        field: FieldOf<'_>,
    ) -> Result<Test, FilterError> {
        if mark == "=" {
            return Ok(Test::Equal(self.value(field)?));
        }
        if mark == "!=" {
            return Ok(Test::NotEqual(self.value(field)?));
        }
        let number = self.number(field, operator)?;
        Ok(match mark {
            "<" => Test::Below(number),
            "<=" => Test::AtMost(number),
            ">" => Test::Above(number),
            _ => Test::AtLeast(number),
        })
    }

    fn among(&mut self, field: FieldOf<'_>, operator: &Token) -> Result<Test, FilterError> {
        let start = self.peek();
        if let Some(values) = self.list(|parser| parser.value(field))? {
            return Ok(Test::OneOf(values));
        }
        let low = self.range_start(|parser| parser.number(field, operator))?;
        let high = self.number(field, operator)?;
        if low > high {
            return Err(error(start, Problem::EmptyRange));
        }
        Ok(Test::Between(low, high))
    }

    /// Values in parentheses or brackets, where one of these opens here.
    fn list<V>(
        &mut self,
        mut value: impl FnMut(&mut Self) -> Result<V, FilterError>,
    ) -> Result<Option<Vec<V>>, FilterError> {
        let start = self.peek();
        for (open, close, what) in [("(", ")", "the parenthesis"), ("[", "]", "the bracket")] {
            if self.take_mark(open) {
                let mut values = vec![value(self)?];
                while self.take_mark(",") {
                    values.push(value(self)?);
                }
                self.close(close, start, what)?;
                return Ok(Some(values));
            }
        }
        Ok(None)
    }

    /// The lower end of a range, and `..` behind it.
    fn range_start<V>(
        &mut self,
        value: impl FnOnce(&mut Self) -> Result<V, FilterError>,
    ) -> Result<V, FilterError> {
        if !self.at_value() {
            return Err(self.expected("a range low..high or a list (a, b, …)"));
        }
        let low = value(self)?;
        if !self.take_mark("..") {
            return Err(self.expected("`..` and the range's end"));
        }
        Ok(low)
    }

    fn prefix(&mut self, field: FieldOf<'_>, operator: &Token) -> Result<Test, FilterError> {
        let is_free = field.kind == FieldKind::Free;
        if !is_free && (!field.kind.is_text() || field.kind == FieldKind::Flag) {
            return Err(error(operator, field.no_prefix()));
        }
        let (_, text) = self.text()?;
        Ok(Test::Prefix(text.to_owned()))
    }

    /// A value that fits the field.
    fn value(&mut self, field: FieldOf<'_>) -> Result<FacetValue, FilterError> {
        let (token, text) = self.text()?;
        field.value(text).map_err(|problem| error(token, problem))
    }

    /// A value that has an order.
    fn number(&mut self, field: FieldOf<'_>, operator: &Token) -> Result<i64, FilterError> {
        if field.kind.is_text() {
            return Err(error(
                operator,
                Problem::NoOrder {
                    field: field.name.to_owned(),
                },
            ));
        }
        let (token, text) = self.text()?;
        field.number(text).map_err(|problem| error(token, problem))
    }

    fn text(&mut self) -> Result<(&'t Token, &'t str), FilterError> {
        if !self.at_value() {
            return Err(self.expected("a value"));
        }
        let token = self.peek();
        self.at += 1;
        match &token.kind {
            TokenKind::Word(text) | TokenKind::Quoted(text) => Ok((token, text)),
            _ => unreachable!("at_value said that a value stands here"),
        }
    }

    fn at_value(&self) -> bool {
        match &self.peek().kind {
            TokenKind::Word(word) => !scan::is_own(word),
            TokenKind::Quoted(_) => true,
            TokenKind::Mark(_) | TokenKind::End => false,
        }
    }

    /// The next piece; at the end, always the end.
    fn peek(&self) -> &'t Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn take_word(&mut self, own: &str) -> bool {
        let taken =
            matches!(&self.peek().kind, TokenKind::Word(word) if word.eq_ignore_ascii_case(own));
        self.at += usize::from(taken);
        taken
    }

    fn take_mark(&mut self, mark: &str) -> bool {
        let taken = matches!(self.peek().kind, TokenKind::Mark(found) if found == mark);
        self.at += usize::from(taken);
        taken
    }

    fn close(&mut self, mark: &str, opened: &Token, what: &'static str) -> Result<(), FilterError> {
        if self.take_mark(mark) {
            return Ok(());
        }
        match self.peek().kind {
            TokenKind::End => Err(error(opened, Problem::NotClosed { what })),
            _ if mark == "]" => Err(self.expected("`,` or `]`")),
            _ => Err(self.expected("`)`, or a word or `,` that goes on")),
        }
    }

    fn expected(&self, what: &'static str) -> FilterError {
        let token = self.peek();
        let found = match &token.kind {
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Quoted(text) => format!("{text:?}"),
            TokenKind::Mark(mark) => format!("`{mark}`"),
            TokenKind::End => "the end".to_owned(),
        };
        error(token, Problem::Expected { what, found })
    }
}

/// A field while its comparison is read.
#[derive(Clone, Copy)]
struct FieldOf<'a> {
    name: &'a str,
    kind: FieldKind,
}

impl FieldOf<'_> {
    fn value(self, text: &str) -> Result<FacetValue, Problem> {
        match self.kind {
            FieldKind::Text | FieldKind::Free => Ok(FacetValue::Text(text.to_owned())),
            FieldKind::Language => {
                let code = language_code(text).map_or_else(|| text.to_owned(), str::to_owned);
                Ok(FacetValue::Text(code))
            }
            FieldKind::Number
            | FieldKind::Share
            | FieldKind::Moment
            | FieldKind::Span
            | FieldKind::Seconds => self.number(text).map(FacetValue::Integer),
            FieldKind::OneOf(names) => {
                let name = names.iter().find(|name| name.eq_ignore_ascii_case(text));
                let name = name.ok_or_else(|| self.unlike(text, names.join(", ")))?;
                Ok(FacetValue::Text((*name).to_owned()))
            }
            FieldKind::Flag => match &text.to_ascii_lowercase()[..] {
                "true" | "yes" | "1" => Ok(FacetValue::Text("true".to_owned())),
                "false" | "no" | "0" => Ok(FacetValue::Text("false".to_owned())),
                _ => Err(self.unlike(text, "true or false".to_owned())),
            },
        }
    }

    fn number(self, text: &str) -> Result<i64, Problem> {
        let (number, expected) = match self.kind {
            FieldKind::Share => (share(text), "a number from 0 to 1"),
            FieldKind::Seconds => (moment::seconds_ms(text), "a number of seconds, or h:mm:ss"),
            _ => (text.parse().ok(), "a whole number"),
        };
        number.ok_or_else(|| self.unlike(text, expected.to_owned()))
    }

    fn no_prefix(self) -> Problem {
        Problem::NoPrefix {
            field: self.name.to_owned(),
        }
    }

    fn unlike(self, value: &str, expected: String) -> Problem {
        Problem::Value {
            field: self.name.to_owned(),
            value: value.to_owned(),
            expected,
        }
    }
}

/// The thousandths of a number in 0..=1, to the nearest.
fn share(text: &str) -> Option<i64> {
    let share: f64 = text.parse().ok()?;
    (0.0..=1.0)
        .contains(&share)
        .then(|| (share * 1000.0).round() as i64)
}

/// The only part, or all of them joined.
fn single(mut parts: Vec<Expr>, join: fn(Vec<Expr>) -> Expr) -> Expr {
    match parts.len() {
        1 => parts.remove(0),
        _ => join(parts),
    }
}

fn error(token: &Token, problem: Problem) -> FilterError {
    FilterError {
        column: token.column,
        problem,
    }
}
