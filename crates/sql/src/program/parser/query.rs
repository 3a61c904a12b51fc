//! Statements with SQL in them.

use std::ops::Range;

use types::{Error, Result, SqlState};

use super::{Parser, Returns};
use crate::program::lexer::Kind;
use crate::program::tree::{Fragment, Into, QuerySource, Statement, Target};

impl Parser<'_> {
    /// A statement of SQL, with INTO perhaps.
    pub(super) fn sql(&mut self) -> Result<Statement> {
        let begin = self.at;
        let may_have = !self.is_word(0, "create") && !self.is_word(0, "import");
        let (mut depth, mut into, mut cursor) = (0_usize, None, None);
        loop {
            match self.peek() {
                None => return Err(self.unexpected()),
                Some(Kind::Sign("(" | "[")) => depth += 1,
                Some(Kind::Sign(")" | "]")) => depth = depth.saturating_sub(1),
                Some(Kind::Sign(";")) if depth == 0 => break,
                Some(Kind::Word(word)) if word == "current" && self.is_word(1, "of") => {
                    cursor = self.current_of().or(cursor);
                }
                Some(Kind::Word(word)) if word == "into" && depth == 0 && may_have => {
                    let is_clause = self.at == begin
                        || matches!(
                            self.tokens.get(self.at - 1).map(|token| &token.kind),
                            Some(Kind::Word(before)) if before == "insert" || before == "merge"
                        );
                    if !is_clause {
                        if into.is_some() {
                            let message = "INTO specified more than once";
                            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                        }
                        let at = self.at;
                        let clause = self.destination()?;
                        into = Some((at, self.at, clause));
                        continue;
                    }
                }
                Some(_) => {}
            }
            self.at += 1;
        }
        let first = self.tokens[begin].start;
        // INTO, if there is one, stands behind the name of a cursor.
        let cursor = cursor.map(|(slot, place)| (slot, place.start - first..place.end - first));
        let (text, into) = match into {
            None => (self.slice(begin, self.at).to_owned(), None),
            Some((from, to, into)) => {
                let (head, tail) = (self.slice(begin, from), self.slice(to, self.at));
                (format!("{head} {tail}"), Some(into))
            }
        };
        Ok(Statement::Sql(Fragment { cursor, ..self.fragment(text) }, into))
    }

    /// The variable that stands behind CURRENT OF, which come next, and its place in the program.
    fn current_of(&self) -> Option<(usize, Range<usize>)> {
        let token = self.tokens.get(self.at + 2)?;
        let (Kind::Word(name) | Kind::Quoted(name)) = &token.kind else { return None };
        let (slot, _) = self.find(std::slice::from_ref(name))?;
        Some((slot, token.start..token.end))
    }

    fn destination(&mut self) -> Result<Into> {
        self.expect_word("into")?;
        let strict = self.word("strict");
        Ok(Into { targets: self.targets()?, strict })
    }

    /// CALL name(arguments).
    pub(super) fn call(&mut self) -> Result<Statement> {
        let begin = self.at;
        let mut targets = Vec::new();
        while self.peek().is_some() && !self.is_sign(0, "(") && !self.is_sign(0, ";") {
            self.at += 1;
        }
        let open = self.at;
        if self.sign("(") && !self.is_sign(0, ")") {
            loop {
                targets.push(self.argument());
                self.skip_to(&[",", ")"])?;
                if !self.sign(",") {
                    break;
                }
            }
        }
        self.at = open;
        self.skip_to(&[";"])?;
        let text = self.slice(begin, self.at).to_owned();
        Ok(Statement::Call(self.fragment(text), targets))
    }

    /// The variable that an argument is, if it is nothing else.
    fn argument(&mut self) -> Option<Target> {
        let begin = self.at;
        let target = self.target().ok();
        let is_whole = self.is_sign(0, ",") || self.is_sign(0, ")");
        if !is_whole {
            self.at = begin;
        }
        target.filter(|_| is_whole)
    }

    pub(super) fn perform(&mut self) -> Result<Statement> {
        self.at += 1;
        Ok(Statement::Perform(self.expression(&[";"])?))
    }

    /// EXECUTE; INTO and USING in any order.
    pub(super) fn dynamic(&mut self) -> Result<Statement> {
        self.at += 1;
        let text = self.expression(&["into", "using", ";"])?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            if self.is_word(0, "into") && into.is_none() {
                into = Some(self.destination()?);
            } else if self.is_word(0, "using") && using.is_empty() {
                using = self.using(&["into", ";"])?;
            } else {
                return Ok(Statement::Execute { text, into, using });
            }
        }
    }

    pub(super) fn give_back(&mut self) -> Result<Statement> {
        self.at += 1;
        let gives_rows = self.checked.is_none_or(|returns| returns == Returns::Rows);
        for what in ["next", "query"] {
            if self.is_word(0, what) && !gives_rows {
                let what = what.to_uppercase();
                let message = format!("cannot use RETURN {what} in a non-SETOF function");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
        }
        if self.word("next") {
            let value = if self.is_sign(0, ";") { None } else { Some(self.expression(&[";"])?) };
            return Ok(Statement::ReturnNext(value));
        }
        if self.word("query") {
            if self.word("execute") {
                let text = self.expression(&["using", ";"])?;
                let using = self.using(&[";"])?;
                return Ok(Statement::ReturnQuery(QuerySource::Dynamic(text, using)));
            }
            let begin = self.at;
            self.skip_to(&[";"])?;
            let text = self.slice(begin, self.at).to_owned();
            return Ok(Statement::ReturnQuery(QuerySource::Static(self.fragment(text))));
        }
        let is_empty = self.is_sign(0, ";");
        if is_empty && self.checked == Some(Returns::Value) {
            let message = "missing expression at or near \";\"";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        if let Some(refusal) = self.checked.and_then(Returns::refusal).filter(|_| !is_empty) {
            return Err(refusal);
        }
        let value = if is_empty { None } else { Some(self.expression(&[";"])?) };
        Ok(Statement::Return(value))
    }
}
