//! Paths from their text.
//!
//! ```text
//! or -> and -> not, comparison -> sum -> product -> sign -> value with its accessors
//! ```
//! Each level gives a value or a predicate; PostgreSQL's grammar says which of them it takes.

use std::ops::Range;

use super::lex::{Token, tokens};
use super::{
    ArithmeticOp, Chain, JsonPath, Levels, PathMethod, PathMode, PathPattern, Predicate, Step,
    Subscript, malformed,
};
use crate::json::{RECURSION_MAX, too_deep};
use crate::wide::Wide;
use crate::{CompareOp, Error, Result, SqlState, stack};

impl JsonPath {
    /// The path that `text` denotes.
    ///
    /// # Errors
    /// 22P02 for no path at all, 42601 for a malformed one, 22P05, 22003, 54001.
    pub fn parse(text: &str) -> Result<Self> {
        let tokens = tokens(text)?;
        if tokens.len() == 1 {
            let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
            return Err(Error::new(SqlState::INVALID_TEXT, message));
        }
        let mut parser =
            Parser { text, tokens, at: 0, depth: 0, place: Place { filters: 0, subscripts: 0 } };
        let mode = if parser.take_word("strict") {
            PathMode::Strict
        } else {
            parser.take_word("lax");
            PathMode::Lax
        };
        let steps = match parser.either()? {
            Operand::Value(steps) => steps,
            Operand::Test(predicate) => vec![Step::Predicate(Box::new(predicate))],
        };
        match parser.peek() {
            Token::End => Ok(Self { mode, steps }),
            _ => Err(parser.unexpected()),
        }
    }
}

/// Result of a level of the grammar.
enum Operand {
    Value(Chain),
    Test(Predicate),
}

/// Where the next token stands.
#[derive(Clone, Copy)]
struct Place {
    filters: usize,
    subscripts: usize,
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
    place: Place,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.peek_behind(0)
    }

    fn peek_behind(&self, count: usize) -> &Token {
        self.tokens.get(self.at + count).map_or(&Token::End, |(token, _)| token)
    }

    /// 42601 at the next token.
    fn unexpected(&self) -> Error {
        match self.tokens.get(self.at) {
            None | Some((Token::End, _)) => malformed("syntax error at end"),
            Some((_, range)) => {
                let near = &self.text[range.clone()];
                malformed(format!("syntax error at or near \"{near}\""))
            }
        }
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(next) if *next == sign)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(name) if name.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.is_word(word);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn value(&self, operand: Operand) -> Result<Chain> {
        match operand {
            Operand::Value(chain) => Ok(chain),
            Operand::Test(_) => Err(self.unexpected()),
        }
    }

    fn test(&self, operand: Operand) -> Result<Predicate> {
        match operand {
            Operand::Test(predicate) => Ok(predicate),
            Operand::Value(_) => Err(self.unexpected()),
        }
    }

    /// A value or a predicate, at any depth.
    fn either(&mut self) -> Result<Operand> {
        self.depth += 1;
        if self.depth > RECURSION_MAX {
            return Err(too_deep());
        }
        let operand = stack::deep(|| self.either_of());
        self.depth -= 1;
        operand
    }

    fn predicate(&mut self) -> Result<Predicate> {
        let operand = self.either()?;
        self.test(operand)
    }

    fn expression(&mut self) -> Result<Chain> {
        let operand = self.either()?;
        self.value(operand)
    }

    fn either_of(&mut self) -> Result<Operand> {
        let mut left = self.both_of()?;
        while self.is_sign("||") {
            let first = self.test(left)?;
            self.at += 1;
            let second = self.both_of()?;
            left = Operand::Test(Predicate::Or(Box::new((first, self.test(second)?))));
        }
        Ok(left)
    }

    fn both_of(&mut self) -> Result<Operand> {
        let mut left = self.compared()?;
        while self.is_sign("&&") {
            let first = self.test(left)?;
            self.at += 1;
            let second = self.compared()?;
            left = Operand::Test(Predicate::And(Box::new((first, self.test(second)?))));
        }
        Ok(left)
    }

    fn compared(&mut self) -> Result<Operand> {
        let left = self.sum()?;
        if let Token::Sign(sign) = self.peek()
            && let Some(op) = comparison(sign)
        {
            let left = self.value(left)?;
            self.at += 1;
            let right = self.sum()?;
            return Ok(Operand::Test(Predicate::Compare(op, left, self.value(right)?)));
        }
        if self.is_word("starts") {
            let left = self.value(left)?;
            self.at += 1;
            self.expect_word("with")?;
            let start = match self.next() {
                Token::String(text) => Step::String(text),
                Token::Variable(name) => Step::Variable(name),
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected());
                }
            };
            return Ok(Operand::Test(Predicate::StartsWith(left, vec![start])));
        }
        if self.is_word("like_regex") {
            let left = self.value(left)?;
            self.at += 1;
            let pattern = self.string()?;
            let flags = if self.take_word("flag") { self.string()? } else { String::new() };
            let pattern = flagged(pattern, &flags)?;
            return Ok(Operand::Test(Predicate::LikeRegex(left, pattern)));
        }
        Ok(left)
    }

    fn string(&mut self) -> Result<String> {
        match self.peek() {
            Token::String(text) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn sum(&mut self) -> Result<Operand> {
        let mut left = self.product()?;
        loop {
            let op = match self.peek() {
                Token::Sign("+") => ArithmeticOp::Add,
                Token::Sign("-") => ArithmeticOp::Subtract,
                _ => return Ok(left),
            };
            let first = self.value(left)?;
            self.at += 1;
            let second = self.product()?;
            let operands = Box::new((first, self.value(second)?));
            left = Operand::Value(vec![Step::Arithmetic(op, operands)]);
        }
    }

    fn product(&mut self) -> Result<Operand> {
        let mut left = self.signed()?;
        loop {
            let op = match self.peek() {
                Token::Sign("*") => ArithmeticOp::Multiply,
                Token::Sign("/") => ArithmeticOp::Divide,
                Token::Sign("%") => ArithmeticOp::Modulo,
                _ => return Ok(left),
            };
            let first = self.value(left)?;
            self.at += 1;
            let second = self.signed()?;
            let operands = Box::new((first, self.value(second)?));
            left = Operand::Value(vec![Step::Arithmetic(op, operands)]);
        }
    }

    fn signed(&mut self) -> Result<Operand> {
        let mut signs = Vec::new();
        while self.is_sign("-") || self.is_sign("+") {
            signs.push(self.is_sign("-"));
            self.at += 1;
        }
        if signs.is_empty() {
            return self.primary();
        }
        if self.depth + signs.len() > RECURSION_MAX {
            return Err(too_deep());
        }
        let operand = self.primary()?;
        let mut chain = self.value(operand)?;
        for is_minus in signs.into_iter().rev() {
            chain = match chain.as_slice() {
                [Step::Number(_)] if !is_minus => chain,
                [Step::Number(number)] => {
                    vec![Step::Number(printed(&Wide::parse(number)?.negated()))]
                }
                _ if is_minus => vec![Step::Minus(chain)],
                _ => vec![Step::Plus(chain)],
            };
        }
        Ok(Operand::Value(chain))
    }

    fn primary(&mut self) -> Result<Operand> {
        if self.take("!") {
            if self.is_word("exists") {
                let exists = self.exists()?;
                return Ok(Operand::Test(Predicate::Not(Box::new(exists))));
            }
            self.expect("(")?;
            let inner = self.predicate()?;
            self.expect(")")?;
            return Ok(Operand::Test(Predicate::Not(Box::new(inner))));
        }
        if self.take("(") {
            let inner = self.either()?;
            self.expect(")")?;
            return self.parenthesised(inner);
        }
        if self.is_word("exists") {
            return self.exists().map(Operand::Test);
        }
        let head = self.head()?;
        let mut chain = vec![head];
        self.accessors(&mut chain)?;
        Ok(Operand::Value(chain))
    }

    /// Reads on behind a value or predicate in parentheses.
    fn parenthesised(&mut self, inner: Operand) -> Result<Operand> {
        let mut chain = match inner {
            Operand::Test(predicate) if self.take_word("is") => {
                self.expect_word("unknown")?;
                return Ok(Operand::Test(Predicate::IsUnknown(Box::new(predicate))));
            }
            Operand::Test(predicate) if !self.is_accessor() => {
                return Ok(Operand::Test(predicate));
            }
            Operand::Test(predicate) => vec![Step::Predicate(Box::new(predicate))],
            Operand::Value(chain) => chain,
        };
        self.accessors(&mut chain)?;
        Ok(Operand::Value(chain))
    }

    fn exists(&mut self) -> Result<Predicate> {
        self.expect_word("exists")?;
        self.expect("(")?;
        let inner = self.expression()?;
        self.expect(")")?;
        Ok(Predicate::Exists(inner))
    }

    /// The first step of a chain.
    fn head(&mut self) -> Result<Step> {
        let step = match self.peek() {
            Token::String(text) => Step::String(text.clone()),
            Token::Variable(name) => Step::Variable(name.clone()),
            Token::Integer(text) | Token::Decimal(text) => {
                Step::Number(printed(&Wide::parse(text)?))
            }
            Token::Sign("$") => Step::Root,
            Token::Sign("@") if self.place.filters == 0 => {
                let message = "@ is not allowed in root expressions";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            Token::Sign("@") => Step::Current,
            // These three are keywords in lower case alone.
            Token::Name(name) if name == "null" => Step::Null,
            Token::Name(name) if name == "true" => Step::Boolean(true),
            Token::Name(name) if name == "false" => Step::Boolean(false),
            Token::Name(name) if name.eq_ignore_ascii_case("last") => {
                if self.place.subscripts == 0 {
                    let message = "LAST is allowed only in array subscripts";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
                Step::Last
            }
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(step)
    }

    fn is_accessor(&self) -> bool {
        self.is_sign(".") || self.is_sign("[") || self.is_sign("?")
    }

    fn accessors(&mut self, chain: &mut Chain) -> Result<()> {
        while self.is_accessor() {
            let Token::Sign(sign) = self.next() else { return Err(self.unexpected()) };
            let step = match sign {
                "." => self.member()?,
                "[" => self.subscripts()?,
                _ => {
                    self.expect("(")?;
                    let outer = self.place;
                    self.place.filters += 1;
                    let predicate = self.predicate();
                    self.place = outer;
                    let predicate = predicate?;
                    self.expect(")")?;
                    Step::Filter(Box::new(predicate))
                }
            };
            chain.push(step);
        }
        Ok(())
    }

    /// Reads the step behind a dot.
    fn member(&mut self) -> Result<Step> {
        match self.next() {
            Token::Sign("*") => Ok(Step::AnyField),
            Token::Sign("**") => self.levels().map(Step::AnyLevel),
            Token::String(name) => Ok(Step::Field(name)),
            Token::Name(name) if self.is_sign("(") => {
                let method = name.to_ascii_lowercase();
                if method == "datetime" {
                    self.expect("(")?;
                    let template = match self.peek() {
                        Token::String(_) => Some(self.string()?),
                        _ => None,
                    };
                    self.expect(")")?;
                    return Ok(Step::DateTime(template));
                }
                let Some(method) = PathMethod::named(&method) else {
                    return Err(self.unexpected());
                };
                self.expect("(")?;
                self.expect(")")?;
                Ok(Step::Method(method))
            }
            Token::Name(name) => Ok(Step::Field(name)),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    fn levels(&mut self) -> Result<Levels> {
        if !self.take("{") {
            return Ok(Levels { first: 0, last: Levels::LAST });
        }
        let first = self.level()?;
        let last = if self.take_word("to") { self.level()? } else { first };
        self.expect("}")?;
        Ok(Levels { first, last })
    }

    fn level(&mut self) -> Result<u32> {
        let level = match self.peek() {
            Token::Integer(text) => match text.parse::<i32>() {
                Ok(level) => level.unsigned_abs(),
                Err(_) => {
                    let message = format!("value \"{text}\" is out of range for type integer");
                    return Err(Error::new(SqlState::NUMERIC_OUT_OF_RANGE, message));
                }
            },
            Token::Name(name) if name.eq_ignore_ascii_case("last") => Levels::LAST,
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(level)
    }

    fn subscripts(&mut self) -> Result<Step> {
        if self.is_sign("*") && matches!(self.peek_behind(1), Token::Sign("]")) {
            self.at += 2;
            return Ok(Step::AnyElement);
        }
        let outer = self.place;
        self.place.subscripts += 1;
        let list = self.subscript_list();
        self.place = outer;
        let list = list?;
        self.expect("]")?;
        Ok(Step::Elements(list))
    }

    fn subscript_list(&mut self) -> Result<Vec<Subscript>> {
        let mut list = Vec::new();
        loop {
            let from = self.expression()?;
            let to = if self.take_word("to") { Some(self.expression()?) } else { None };
            list.push(Subscript { from, to });
            if !self.take(",") {
                return Ok(list);
            }
        }
    }
}

fn comparison(sign: &str) -> Option<CompareOp> {
    Some(match sign {
        "==" => CompareOp::Equal,
        "!=" | "<>" => CompareOp::NotEqual,
        "<" => CompareOp::Less,
        "<=" => CompareOp::LessEqual,
        ">" => CompareOp::Greater,
        ">=" => CompareOp::GreaterEqual,
        _ => return None,
    })
}

/// A number as NUMERIC prints it.
fn printed(number: &Wide) -> String {
    let mut out = Vec::new();
    number.format(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A regular expression with its flags.
fn flagged(pattern: String, flags: &str) -> Result<PathPattern> {
    let has = |flag: char| flags.contains(flag);
    if let Some(unknown) = flags.chars().find(|flag| !"ismxq".contains(*flag)) {
        let message = "invalid input syntax for type jsonpath";
        let detail = format!("Unrecognized flag character \"{unknown}\" in LIKE_REGEX predicate.");
        return Err(Error::new(SqlState::SYNTAX_ERROR, message).with_detail(detail));
    }
    if has('x') && !has('q') {
        let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    Ok(PathPattern {
        pattern,
        is_case_insensitive: has('i'),
        dot_matches_line_end: has('s'),
        is_multi_line: has('m'),
        is_expanded: has('x'),
        is_literal: has('q'),
    })
}
