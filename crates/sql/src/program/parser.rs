//! Blocks, declarations, and the steps that all statements are read with.
//!
//! Elsewhere: statements (`control`, `raise`), those with SQL in them (`query`), cursors
//! (`cursor`).

mod control;
mod cursor;
mod query;
mod raise;

use types::{Error, Result, SqlState, budget, stack};

use super::lexer::{Kind, Token, tokens};
use super::tree::{
    Block, Condition, Declared, Fragment, Handler, NameConflict, Program, Scope, Statement, Target,
    Variable,
};
use crate::words::RelationName;

/// Name and parameters that a body is read with.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'a> {
    /// Name that leads to its parameters, as a label does.
    pub name: &'a str,
    /// Names of the parameters in order, also reached as `$1`...; empty where there is none.
    pub parameters: &'a [String],
    /// Other variables that the caller fills.
    pub others: &'a [&'a str],
    /// Result, where the body is checked: its RETURNs, and the texts of its SQL, which are kept.
    pub checked: Option<Returns>,
}

/// Result of a body for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// The value of RETURN.
    Value,
    /// Nothing: VOID.
    Nothing,
    /// Nothing: a procedure.
    NothingOfProcedure,
    /// Rows.
    Rows,
    /// The values of the parameters that come out.
    Outputs,
}

impl Returns {
    /// 42804, of a procedure 42601, for RETURN with a value, where it cannot have one.
    fn refusal(self) -> Option<Error> {
        let of = match self {
            Self::Value => return None,
            Self::Nothing => "function returning void",
            Self::NothingOfProcedure => "a procedure",
            Self::Rows => "function returning set",
            Self::Outputs => "function with OUT parameters",
        };
        let message = format!("RETURN cannot have a parameter in {of}");
        let state = match self {
            Self::NothingOfProcedure => SqlState::SYNTAX_ERROR,
            _ => SqlState::DATATYPE_MISMATCH,
        };
        let error = Error::new(state, message);
        Some(match self {
            Self::Rows => error.with_hint("Use RETURN NEXT or RETURN QUERY."),
            _ => error,
        })
    }
}

/// The program that `text` is: its first slots are those of the parameters and the others, in
/// order.
///
/// # Errors
/// 42601 for what is no statement; 0A000 for statements that are not there; where it is checked,
/// 42804 for RETURN of something else than it says.
pub fn parse(text: &str, signature: Signature<'_>) -> Result<Program> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        at: 0,
        variables: Vec::new(),
        scopes: vec![Scope { label: Some(signature.name.to_lowercase()), ..Scope::default() }],
        scope: 0,
        fragments: 0,
        labels: Vec::new(),
        loops: 0,
        checked: signature.checked,
        texts: Vec::new(),
    };
    for (number, name) in signature.parameters.iter().enumerate() {
        let slot = parser.declare(name, Declared::Parameter);
        parser.name(&format!("${}", number + 1), slot);
    }
    for name in signature.others {
        parser.declare(name, Declared::Parameter);
    }
    let found = parser.declare("found", Declared::Type("boolean".to_owned()));
    let conflict = parser.directives()?;
    let label = parser.label()?;
    if !parser.is_block() {
        return Err(parser.unexpected());
    }
    let body = parser.block(label)?;
    parser.sign(";");
    if parser.peek().is_some() {
        return Err(parser.unexpected());
    }
    let Parser { variables, scopes, fragments, texts, .. } = parser;
    Ok(Program { variables, scopes, body, fragments, texts, found, conflict })
}

/// Words and signs that end a fragment.
pub(super) type Ends<'a> = &'a [&'a str];

pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    variables: Vec<Variable>,
    scopes: Vec<Scope>,
    /// The innermost scope here.
    scope: usize,
    fragments: usize,
    /// Labels of the blocks and loops around.
    labels: Vec<String>,
    /// Loops around.
    loops: usize,
    checked: Option<Returns>,
    /// Texts of the fragments, where the body is checked.
    texts: Vec<String>,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Kind> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.at + ahead).map(|token| &token.kind)
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.peek_at(ahead), Some(Kind::Word(found)) if found == word)
    }

    fn is_sign(&self, ahead: usize, sign: &str) -> bool {
        matches!(self.peek_at(ahead), Some(Kind::Sign(found)) if *found == sign)
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(0, word);
        self.at += usize::from(found);
        found
    }

    fn words(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(ahead, word)| self.is_word(ahead, word));
        self.at += if found { words.len() } else { 0 };
        found
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(0, sign);
        self.at += usize::from(found);
        found
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_sign(&mut self, sign: &str) -> Result<()> {
        if self.sign(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// 42601 at the next token.
    fn unexpected(&self) -> Error {
        let message = match self.tokens.get(self.at) {
            Some(token) => {
                format!("syntax error at or near \"{}\"", &self.text[token.start..token.end])
            }
            None => "syntax error at end of input".to_owned(),
        };
        Error::new(SqlState::SYNTAX_ERROR, message)
    }

    fn identifier(&mut self) -> Result<String> {
        let name = match self.peek() {
            Some(Kind::Word(name) | Kind::Quoted(name)) => name.clone(),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(name)
    }

    fn string(&mut self) -> Result<String> {
        let text = match self.peek() {
            Some(Kind::Text(text)) => text.clone(),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(text)
    }

    fn whole_number(&mut self) -> Result<usize> {
        let number = match self.peek() {
            Some(Kind::Number) => self.text_at(self.at).parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected())?;
        self.at += 1;
        Ok(number)
    }

    /// Adds a variable with a name in the innermost scope.
    fn declare(&mut self, name: &str, declared: Declared) -> usize {
        let slot = self.variables.len();
        self.name(name, slot);
        self.variables.push(Variable {
            name: name.to_owned(),
            declared,
            collate: None,
            is_constant: false,
            not_null: false,
            default: None,
            cursor: None,
        });
        slot
    }

    fn name(&mut self, name: &str, slot: usize) {
        if let (false, Some(scope)) = (name.is_empty(), self.scopes.get_mut(self.scope)) {
            scope.names.push((name.to_owned(), slot));
        }
    }

    /// Runs `work` in a scope of its own.
    fn scoped<T>(
        &mut self,
        label: Option<String>,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.scope;
        self.scopes.push(Scope { parent: Some(before), label, names: Vec::new() });
        self.scope = self.scopes.len() - 1;
        let result = work(self);
        self.scope = before;
        result
    }

    /// The slot that a name leads to here, and how many of its parts did.
    fn find(&self, parts: &[String]) -> Option<(usize, usize)> {
        find(&self.scopes, self.scope, parts)
    }

    /// Lines such as `#variable_conflict use_column`.
    fn directives(&mut self) -> Result<NameConflict> {
        let mut conflict = NameConflict::Error;
        while matches!(self.peek(), Some(Kind::Other)) && self.text_at(self.at) == "#" {
            self.at += 1;
            let option = self.identifier()?;
            let value = self.identifier()?;
            conflict = match (option.as_str(), value.as_str()) {
                ("variable_conflict", "error") => NameConflict::Error,
                ("variable_conflict", "use_column") => NameConflict::Column,
                ("variable_conflict", "use_variable") => NameConflict::Variable,
                ("option", "dump") | ("print_strict_params", "on" | "off") => conflict,
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected());
                }
            };
        }
        Ok(conflict)
    }

    fn text_at(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &self.text[token.start..token.end])
    }

    /// `<<name>>`.
    fn label(&mut self) -> Result<Option<String>> {
        if !self.sign("<<") {
            return Ok(None);
        }
        let name = self.identifier()?;
        self.expect_sign(">>")?;
        Ok(Some(name))
    }

    fn is_block(&self) -> bool {
        self.is_word(0, "declare") || self.is_word(0, "begin")
    }

    /// [DECLARE] BEGIN ... [EXCEPTION] END [label].
    fn block(&mut self, label: Option<String>) -> Result<Block> {
        budget::check()?;
        stack::deep(|| {
            self.scoped(label.clone(), |parser| {
                let first = parser.variables.len();
                while parser.word("declare") {
                    parser.declarations()?;
                }
                let declares = (first..parser.variables.len()).collect();
                parser.expect_word("begin")?;
                parser.labels.extend(label.clone());
                let body = parser.statements(&["end", "exception"])?;
                let mut handlers = Vec::new();
                if parser.word("exception") {
                    while parser.word("when") {
                        handlers.push(parser.handler()?);
                    }
                }
                parser.expect_word("end")?;
                parser.end_label(label.as_deref())?;
                if label.is_some() {
                    parser.labels.pop();
                }
                Ok(Block { label, declares, body, handlers })
            })
        })
    }

    /// The label that may stand behind END.
    fn end_label(&mut self, label: Option<&str>) -> Result<()> {
        let Some(Kind::Word(name) | Kind::Quoted(name)) = self.peek() else { return Ok(()) };
        if label == Some(name.as_str()) {
            self.at += 1;
            return Ok(());
        }
        let message = match label {
            Some(label) => format!("end label \"{name}\" differs from block's label \"{label}\""),
            None => format!("end label \"{name}\" specified for unlabeled block"),
        };
        Err(Error::new(SqlState::SYNTAX_ERROR, message))
    }

    fn handler(&mut self) -> Result<Handler> {
        let mut conditions = Vec::new();
        loop {
            conditions.extend(self.conditions()?);
            if !self.word("or") {
                break;
            }
        }
        self.expect_word("then")?;
        self.scoped(None, |parser| {
            let text = || Declared::Type("text".to_owned());
            let told = [parser.declare("sqlstate", text()), parser.declare("sqlerrm", text())];
            let body = parser.statements(&["when", "end"])?;
            Ok(Handler { conditions, told, body })
        })
    }

    fn conditions(&mut self) -> Result<Vec<Condition>> {
        let name = self.identifier()?;
        if name == "others" {
            return Ok(vec![Condition::Others]);
        }
        if name == "sqlstate" {
            let code = self.string()?;
            let state = SqlState::from_code(&code)
                .ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code"))?;
            return Ok(vec![Condition::State(state)]);
        }
        let found: Vec<Condition> = SqlState::named(&name).map(Condition::State).collect();
        if found.is_empty() {
            let message = format!("unrecognized exception condition \"{name}\"");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
        Ok(found)
    }

    fn declarations(&mut self) -> Result<()> {
        while !self.is_word(0, "begin") && !self.is_word(0, "declare") {
            let name = self.identifier()?;
            let scope = self.scopes.get(self.scope);
            if scope.is_some_and(|scope| scope.names.iter().any(|(known, _)| *known == name)) {
                let message = format!("duplicate declaration at or near \"{name}\"");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            if self.words(&["alias", "for"]) {
                let parts = match self.peek() {
                    Some(Kind::Parameter(number)) => {
                        let parts = vec![number.clone()];
                        self.at += 1;
                        parts
                    }
                    _ => vec![self.identifier()?],
                };
                let Some((slot, _)) = self.find(&parts) else {
                    let message = format!("variable \"{}\" does not exist", parts.join("."));
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                };
                self.name(&name, slot);
                self.expect_sign(";")?;
                continue;
            }
            self.variable(name)?;
        }
        Ok(())
    }

    fn variable(&mut self, name: String) -> Result<()> {
        if self.is_bound_cursor() {
            return self.bound_cursor(&name);
        }
        let is_constant = self.word("constant");
        let declared = self.declared_type()?;
        let collate = if self.word("collate") { Some(self.dotted_name()?) } else { None };
        let not_null = self.words(&["not", "null"]);
        let has_default = self.word("default") || self.sign(":=") || self.sign("=");
        let default = if has_default { Some(self.expression(&[";"])?) } else { None };
        self.expect_sign(";")?;
        if not_null && default.is_none() {
            let message = format!(
                "variable \"{name}\" must have a default value, since it's declared NOT NULL"
            );
            return Err(Error::new(SqlState::NULL_NOT_ALLOWED, message));
        }
        let slot = self.declare(&name, declared);
        if let Some(variable) = self.variables.get_mut(slot) {
            (variable.is_constant, variable.not_null) = (is_constant, not_null);
            (variable.default, variable.collate) = (default, collate);
        }
        Ok(())
    }

    /// A name with its schema, quoted.
    fn dotted_name(&mut self) -> Result<String> {
        let quoted = |name: String| RelationName::public(&name).quoted();
        let mut name = quoted(self.identifier()?);
        while self.sign(".") {
            name = format!("{name}.{}", quoted(self.identifier()?));
        }
        Ok(name)
    }

    fn declared_type(&mut self) -> Result<Declared> {
        let begin = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                None => return Err(self.unexpected()),
                Some(Kind::Sign("(" | "[")) => depth += 1,
                Some(Kind::Sign(";" | ":=" | "=" | "," | ")")) if depth == 0 => break,
                Some(Kind::Sign(")" | "]")) => depth = depth.saturating_sub(1),
                Some(Kind::Word(word))
                    if depth == 0
                        && self.at > begin
                        && matches!(word.as_str(), "default" | "not" | "collate") =>
                {
                    break;
                }
                Some(_) => {}
            }
            self.at += 1;
        }
        if self.at == begin {
            return Err(self.unexpected());
        }
        let parts = || -> Vec<String> {
            self.tokens[begin..self.at - 2]
                .iter()
                .filter_map(|token| match &token.kind {
                    Kind::Word(name) | Kind::Quoted(name) => Some(name.clone()),
                    _ => None,
                })
                .collect()
        };
        let ends_in = |word: &str| {
            self.at >= begin + 3
                && self.text_at(self.at - 2) == "%"
                && self.text_at(self.at - 1).eq_ignore_ascii_case(word)
        };
        if ends_in("type") {
            return Ok(Declared::Like(parts(), self.scope));
        }
        if ends_in("rowtype") {
            return Ok(Declared::Row(parts()));
        }
        let text = self.slice(begin, self.at);
        Ok(match text.to_ascii_lowercase().as_str() {
            "record" => Declared::Record,
            _ => Declared::Type(text.to_owned()),
        })
    }

    /// The text of the tokens from `begin` on, before `end`.
    fn slice(&self, begin: usize, end: usize) -> &str {
        match (self.tokens.get(begin), end.checked_sub(1).and_then(|last| self.tokens.get(last))) {
            (Some(first), Some(last)) if end > begin => &self.text[first.start..last.end],
            _ => "",
        }
    }

    /// Goes to the first of `ends` that stands in no parentheses and no CASE; how many tokens
    /// there are before it.
    fn skip_to(&mut self, ends: Ends<'_>) -> Result<usize> {
        let begin = self.at;
        let (mut depth, mut cases) = (0_usize, 0_usize);
        loop {
            match self.peek() {
                None => return Err(self.unexpected()),
                Some(Kind::Sign(sign)) => match *sign {
                    "(" | "[" => depth += 1,
                    sign @ (")" | "]") if depth == 0 && ends.contains(&sign) => break,
                    ")" | "]" => depth = depth.saturating_sub(1),
                    ";" => {
                        if ends.contains(&";") && depth == 0 {
                            break;
                        }
                        return Err(self.unexpected());
                    }
                    sign if depth == 0 && cases == 0 && ends.contains(&sign) => break,
                    _ => {}
                },
                Some(Kind::Word(word)) if depth == 0 => match word.as_str() {
                    word if cases == 0 && ends.contains(&word) => break,
                    "case" => cases += 1,
                    "end" => cases = cases.saturating_sub(1),
                    _ => {}
                },
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(self.at - begin)
    }

    /// A fragment of the SQL statement `text`, whose names are seen from here.
    fn fragment(&mut self, text: String) -> Fragment {
        let (number, scope) = (self.fragments, self.scope);
        self.fragments += 1;
        if self.checked.is_some() {
            self.texts.push(text.clone());
        }
        Fragment { text, number, scope, cursor: None }
    }

    /// The expression up to one of `ends`.
    fn expression(&mut self, ends: Ends<'_>) -> Result<Fragment> {
        let begin = self.at;
        if self.skip_to(ends)? == 0 {
            return Err(self.unexpected());
        }
        let text = format!("SELECT {}", self.slice(begin, self.at));
        Ok(self.fragment(text))
    }

    /// Expressions between commas up to one of `ends`.
    fn expressions(&mut self, ends: Ends<'_>) -> Result<Vec<Fragment>> {
        let all: Vec<&str> = ends.iter().copied().chain([","]).collect();
        let mut list = vec![self.expression(&all)?];
        while self.sign(",") {
            list.push(self.expression(&all)?);
        }
        Ok(list)
    }

    /// A variable, or a part of one.
    fn target(&mut self) -> Result<Target> {
        let mut parts = Vec::new();
        match self.peek() {
            Some(Kind::Parameter(number)) => {
                parts.push(number.clone());
                self.at += 1;
            }
            _ => parts.push(self.identifier()?),
        }
        while self.is_sign(0, ".") {
            self.at += 1;
            parts.push(self.identifier()?);
        }
        let Some((slot, used)) = self.find(&parts) else {
            let message = format!("\"{}\" is not a known variable", parts.join("."));
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        let fields = parts.split_off(used);
        let mut subscripts = Vec::new();
        while self.sign("[") {
            subscripts.push(self.expression(&["]"])?);
            self.expect_sign("]")?;
        }
        Ok(Target { slot, fields, subscripts })
    }

    fn targets(&mut self) -> Result<Vec<Target>> {
        let mut list = vec![self.target()?];
        while self.sign(",") {
            list.push(self.target()?);
        }
        Ok(list)
    }

    /// Statements up to one of the words, which stays.
    fn statements(&mut self, ends: Ends<'_>) -> Result<Vec<Statement>> {
        let mut list = Vec::new();
        while !ends.iter().any(|end| self.is_word(0, end)) || self.is_assignment() {
            if self.peek().is_none() {
                return Err(self.unexpected());
            }
            list.push(stack::deep(|| self.statement())?);
        }
        Ok(list)
    }
}

/// The slot that `parts` lead to from `scope`, and how many of them did: the others are fields.
pub(super) fn find(scopes: &[Scope], scope: usize, parts: &[String]) -> Option<(usize, usize)> {
    let first = parts.first()?;
    let mut here = Some(scope);
    while let Some(at) = here {
        let scope = scopes.get(at)?;
        let named = |name: &String| {
            scope.names.iter().rev().find(|(known, _)| known == name).map(|(_, slot)| *slot)
        };
        if let Some(slot) = named(first) {
            return Some((slot, 1));
        }
        if scope.label.as_ref() == Some(first)
            && let Some(slot) = parts.get(1).and_then(named)
        {
            return Some((slot, 2));
        }
        here = scope.parent;
    }
    None
}

impl Program {
    /// The slot that `parts` lead to from a scope, and how many of them did: the others are fields.
    pub fn find(&self, scope: usize, parts: &[String]) -> Option<(usize, usize)> {
        find(&self.scopes, scope, parts)
    }
}
